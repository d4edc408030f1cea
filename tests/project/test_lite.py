"""The part of Pyodide that the page with Python in the browser has."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from refusals import naming

FILE = Path(__file__).parents[2] / "docs" / "lite" / "pyodide_parts.py"
COMPILED = "numpy-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl"
LISTED = {
    "numpy": {"version": "1.0", "file_name": COMPILED, "depends": [], "sha256": "of Pyodide"},
    "other-name": {
        "version": "2",
        "file_name": "other_name-2-py3-none-any.whl",
        "depends": [],
        "sha256": "",
    },
    "unused": {"version": "3", "file_name": "unused.whl", "depends": ["numpy"], "sha256": ""},
}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_pyodide_parts", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as files:
        contents = dict.fromkeys(module._CORE_FILES, b"core")
        contents[module._LIST] = json.dumps({"info": {}, "packages": LISTED}).encode()
        for name, content in contents.items():
            about = tarfile.TarInfo(f"package/{name}")
            about.size = len(content)
            files.addfile(about, io.BytesIO(content))
    monkeypatch.setattr(module, "_fetched", lambda url: archive.getvalue())
    digest = hashlib.sha512(archive.getvalue()).hexdigest()
    monkeypatch.setattr(module, "_CORE_SHA512", digest)
    return module


def test_only_what_is_imported_is_there(
    parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "compiled"
    compiled.mkdir()
    (compiled / COMPILED).write_bytes(b"built here")
    monkeypatch.setenv("PYODIDE_WHEELS", str(compiled))
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name, version in (("my-figures", "0.1"), ("other-name", "2")):
        (folder / parts.wheel_name(name, version)).write_bytes(name.encode())
    further = {"my-figures": parts.Package("0.1", ("numpy", "other_name"))}
    names = parts.write_parts(folder, ["my-figures"], further)
    assert names == ["my-figures", "numpy", "other-name"]
    assert (folder / "pyodide.mjs").read_bytes() == b"core"
    listed = json.loads((folder / "pyodide-lock.json").read_text("utf-8"))["packages"]
    assert listed["my-figures"]["imports"] == ["my_figures"]
    assert listed["numpy"]["sha256"] == hashlib.sha256(b"built here").hexdigest()
    assert sorted(path.name for path in folder.glob("*.whl")) == [
        "my_figures-0.1-py3-none-any.whl",
        COMPILED,
        "other_name-2-py3-none-any.whl",
    ]


def test_another_file_is_refused(
    parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYODIDE_WHEELS", raising=False)
    with pytest.raises(ValueError, match=naming(COMPILED, "SHA-256")):
        parts.write_parts(tmp_path, ["numpy"], {})
    monkeypatch.setattr(parts, "_CORE_SHA512", "0" * 128)
    with pytest.raises(ValueError, match=naming("SHA-512", "0000000000000000")):
        parts.write_parts(tmp_path, ["numpy"], {})
