"""What `pip install attnwidget` brings: all that a first run needs and nothing of the workshop."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEMO = [
    "atlas.json",
    "atlas_genre.json",
    "config.json",
    "genre/config.json",
    "genre/model.safetensors",
    "genre/tokenizer.json",
    "genre/tokenizer_config.json",
    "genres.jsonl",
    "packed.safetensors",
    "pairs.jsonl",
    "patterns.safetensors",
    "probe.npz",
    "prose.txt",
    "texts.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "treebank.conllu",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """File name -> size of everything in a freshly built wheel."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run = subprocess.run([*build, "--outdir", out, ROOT], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist()}


def test_holds_every_bundle(wheel: dict[str, int]) -> None:
    static = ROOT / "attnwidget" / "widgets" / "static"
    assert list(static.glob("*.js"))
    for path in static.iterdir():
        assert wheel[f"attnwidget/widgets/static/{path.name}"] == path.stat().st_size


@pytest.mark.parametrize("name", DEMO)
def test_holds_the_demo_model_and_its_texts(wheel: dict[str, int], name: str) -> None:
    assert wheel[f"attnwidget/demo/{name}"] == (ROOT / "attnwidget" / "demo" / name).stat().st_size


def test_holds_every_module_and_says_that_it_is_typed(wheel: dict[str, int]) -> None:
    sources = (ROOT / "attnwidget").rglob("*.py")
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= wheel.keys()
    stubs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "attnwidget").rglob("*.pyi")}
    assert len(stubs) == 6
    assert {"attnwidget/py.typed", "attnwidget/__init__.pyi", *stubs} <= wheel.keys()


def test_holds_the_licence(wheel: dict[str, int]) -> None:
    licences = [
        "LICENSE",
        *(
            f"docs/packaging/licences/{path.name}"
            for path in (ROOT / "docs/packaging/licences").iterdir()
        ),
    ]
    for licence in licences:
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in wheel)


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
