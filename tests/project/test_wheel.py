"""What `pip install attnwidget` brings: all that a first run needs and nothing of the workshop."""

from __future__ import annotations

import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
#: Bytes. Larger wheels take long on slow connections.
LARGEST = 16_000_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A freshly built wheel."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run = subprocess.run([*build, "--outdir", out, ROOT], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def wheel(path: Path) -> dict[str, int]:
    """File name -> size of everything in the wheel."""
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist()}


def test_it_is_small(path: Path) -> None:
    assert path.stat().st_size < LARGEST, "docs/packaging/wheel_content.py prints what is in it"


def test_holds_every_bundle(wheel: dict[str, int]) -> None:
    static = ROOT / "attnwidget" / "widgets" / "static"
    assert list(static.glob("*.js"))
    for path in static.iterdir():
        assert wheel[f"attnwidget/widgets/static/{path.name}"] == path.stat().st_size


def test_has_the_files_of_the_repository_and_the_licences(path: Path) -> None:
    script = ROOT / "docs" / "packaging" / "released_files.py"
    assert runpy.run_path(str(script))["faults"](path) == []


def test_has_every_module_and_says_that_it_is_typed(wheel: dict[str, int]) -> None:
    sources = (ROOT / "attnwidget").rglob("*.py")
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= wheel.keys()
    stubs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "attnwidget").rglob("*.pyi")}
    assert len(stubs) == 6
    assert {"attnwidget/py.typed", "attnwidget/__init__.pyi", *stubs} <= wheel.keys()


def test_holds_nothing_else(wheel: dict[str, int]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"attnwidget"}
    assert not [name for name in wheel if name.endswith((".ts", ".pyc", ".map", ".ipynb"))]
    # The scripts that made the embedded models are in docs/models.
    demo = {name for name in wheel if name.startswith("attnwidget/demo/")}
    assert {Path(name).name for name in demo if name.endswith(".py")} == {
        "__init__.py",
        "drawn_shapes.py",
        "training_steps.py",
    }
