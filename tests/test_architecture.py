"""Imports run one way: a room knows the rooms below it and nothing of those above."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "attnwidget"
BELOW = {
    "text": set(),
    "kernels": set(),
    "capture": {"text", "kernels"},
    "figures": set(),
    "studies": {"text", "kernels", "capture", "figures"},
    "widgets": {"text", "kernels", "capture", "studies", "figures"},
    # The model as data, and the scripts that made it, which nobody imports.
    "demo": {"text", "kernels", "capture", "figures", "studies"},
}
# What a room stays free of, so that it can be read and tested without it.
FOREIGN = {
    "text": {"torch", "transformers", "anywidget", "ipywidgets"},
    "kernels": {"transformers", "anywidget", "ipywidgets", "pandas"},
    "capture": {"anywidget", "ipywidgets", "altair"},
    "studies": {"anywidget", "ipywidgets"},
    "figures": {"torch", "transformers", "anywidget", "ipywidgets"},
    "widgets": {"transformers"},
    "demo": {"anywidget", "ipywidgets"},
}


def imports(source: Path, package: Path) -> Iterator[str]:
    """Every module that a file names in an import, wherever in the file, as an absolute name."""
    parts = source.relative_to(package.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[: -node.level]) if node.level else ""
            stem = ".".join(filter(None, [base, node.module or ""]))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def violations(package: Path) -> list[str]:
    """One line for each import that goes up, sideways or outside."""
    found = []
    for source in sorted(package.glob("*/**/*.py")):
        room = source.relative_to(package).parts[0]
        for name in imports(source, package):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            above = top == package.name and target not in {room, *BELOW.get(room, ())}
            if above or top in FOREIGN.get(room, ()):
                found.append(f"{source.relative_to(package)} imports {name}")
    return found


def test_imports_run_one_way() -> None:
    assert violations(PACKAGE) == []


def test_every_module_lives_in_a_known_room() -> None:
    rooms = {source.relative_to(PACKAGE).parts[0] for source in PACKAGE.glob("*/**/*.py")}
    assert rooms <= BELOW.keys(), "a new room: say in BELOW what it may import"
    assert [source.name for source in PACKAGE.glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("text", "from attnwidget.kernels.words import word_map"),
        ("kernels", "import attnwidget.text.tokens"),
        ("kernels", "from ..capture import head"),
        ("capture", "def f():\n    from attnwidget.widgets.head_grid import HeadGrid"),
        ("figures", "from attnwidget import Head"),
        ("widgets", "import attnwidget.demo"),
        ("text", "import torch.nn"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, room: str, line: str) -> None:
    package = tmp_path / "attnwidget"
    (package / room).mkdir(parents=True)
    (package / room / "wrong.py").write_text(line)
    assert len(violations(package)) == 1


def test_importing_the_package_does_not_import_torch() -> None:
    heavy = ("torch", "transformers", "pandas", "altair", "anywidget")
    code = f"import sys, attnwidget; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parent,
    )
    assert run.stdout.strip() == "[]"
