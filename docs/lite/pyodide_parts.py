"""A part of Pyodide, Python for the browser: the interpreter, and the packages of a notebook."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

#: The release for which JupyterLite's kernel is made (`PACKAGES_lite` in the Makefile).
VERSION = "314.0.6"
_PYTHON = "3.14"
_CORE = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
_CORE_SHA512 = (
    "04a0d327222a1710b8044c4ba9e452ddfe71bd76488ceb7c0b7cc62cdfc273bb"
    "45c52c2f29585591c8504360062ceb51e18ad53881716d5f29a320ce3a65b0c5"
)
_CORE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
_LIST = "pyodide-lock.json"
#: Wheels for WebAssembly, which the package index does not have.
_WHEELS = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full"
#: A folder with such wheels, for a machine that cannot reach `_WHEELS`.
_FOLDER = "PYODIDE_WHEELS"
_PURE = "-none-any.whl"


class Package(NamedTuple):
    """A package that Pyodide does not list: its version, and the packages that it imports."""

    version: str
    depends: tuple[str, ...]


def write_parts(folder: Path, names: Iterable[str], further: Mapping[str, Package]) -> list[str]:
    """Write the interpreter, and the packages `names` with all that they import.

    A notebook imports these packages without an installation.

    Args:
        folder: where JupyterLite looks for Pyodide. Wheels that are there are not fetched.
        names: packages that Pyodide lists, and packages of `further`.
        further: packages that Pyodide does not list, by name. They have no compiled code.

    Returns:
        The names of all packages.

    Raises:
        OSError: A file cannot be fetched. The message says where it is looked for.
        ValueError: A fetched file is not the file that Pyodide lists.
    """
    pyodide = json.loads(_write_core(folder))
    listed: dict[str, Any] = pyodide["packages"]
    listed |= {name: _entry(name, package) for name, package in further.items()}
    wanted = {name: listed[name] for name in _with_imports(names, listed)}
    absent = {
        name: entry for name, entry in wanted.items() if not (folder / entry["file_name"]).is_file()
    }
    pure = [f"{name}=={entry['version']}" for name, entry in absent.items() if _is_pure(entry)]
    if pure:
        download_pure(pure, folder)
    for entry in absent.values():
        if not _is_pure(entry):
            (folder / entry["file_name"]).write_bytes(_compiled_wheel(entry))
    for entry in wanted.values():
        # The package index may have another build of a version than Pyodide.
        entry["sha256"] = hashlib.sha256((folder / entry["file_name"]).read_bytes()).hexdigest()
    pyodide["packages"] = wanted
    (folder / _LIST).write_text(json.dumps(pyodide), "utf-8")
    return sorted(wanted)


def download_pure(requirements: Iterable[str], folder: Path) -> None:
    """Fetch wheels without compiled code from the package index, and not what they depend on."""
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder)]
    platform = ["--only-binary", ":all:", "--platform", "any", "--python-version", _PYTHON]
    subprocess.run([*download, *platform, *requirements], check=True)


def wheel_name(name: str, version: str) -> str:
    """The file name of a wheel without compiled code."""
    return f"{name.replace('-', '_')}-{version}-py3{_PURE}"


def _entry(name: str, package: Package) -> dict[str, Any]:
    """What Pyodide lists of a package."""
    return {
        "name": name,
        "version": package.version,
        "file_name": wheel_name(name, package.version),
        "imports": [name.replace("-", "_")],
        "depends": list(package.depends),
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }


def _is_pure(entry: Mapping[str, Any]) -> bool:
    return str(entry["file_name"]).endswith(_PURE)


def _with_imports(names: Iterable[str], listed: Mapping[str, Any]) -> Iterator[str]:
    """Yield each name and the names of all that it imports, each of them once."""
    waiting = list(names)
    seen = set()
    while waiting:
        name = waiting.pop()
        # Pyodide writes some names with the underscores of their modules.
        name = name if name in listed else name.replace("_", "-")
        if name not in seen:
            seen.add(name)
            waiting += listed[name]["depends"]
            yield name


def _write_core(folder: Path) -> bytes:
    """Write the interpreter, and return the list of all packages of this release."""
    archive = _fetched(_CORE)
    if hashlib.sha512(archive).hexdigest() != _CORE_SHA512:
        raise ValueError(f"{_CORE} has another SHA-512 than {_CORE_SHA512[:16]}…")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:

        def content(name: str) -> bytes:
            member = files.extractfile(f"package/{name}")
            assert member is not None, name
            return member.read()

        for name in _CORE_FILES:
            (folder / name).write_bytes(content(name))
        return content(_LIST)


def _compiled_wheel(entry: Mapping[str, Any]) -> bytes:
    """Return the wheel of a package that is compiled for WebAssembly."""
    file = entry["file_name"]
    if _FOLDER in os.environ:
        return (Path(os.environ[_FOLDER]) / file).read_bytes()
    content = _fetched(f"{_WHEELS}/{file}")
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise ValueError(f"{_WHEELS}/{file} has another SHA-256 than {entry['sha256'][:16]}…")
    return content


def _fetched(url: str) -> bytes:
    try:
        with urlopen(url, timeout=60) as answer:
            content: bytes = answer.read()
    except URLError as error:
        raise OSError(
            f"{url} cannot be fetched ({error.reason}). Build where it can be reached. Instead of "
            f"{_WHEELS}, {_FOLDER} may name a folder that has the wheels."
        ) from error
    return content
