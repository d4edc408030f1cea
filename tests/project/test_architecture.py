"""Imports run one way: a folder imports from the folders below it, and no import is circular.

A name that is passed to `import_module` is an import too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest

from refusals import naming

PACKAGE = Path(__file__).parents[2] / "attnwidget"
BELOW = {
    "text": set(),
    "kernels": set(),
    "model_facts": {"text"},
    "inputs": {"text", "kernels", "model_facts"},
    "loading": {"text", "inputs"},
    "capture": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "loading",
        "charts",
    },
    "charts": {"text", "drawing"},
    "drawing": {"text"},
    "corpus": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "charts",
    },
    "metrics": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "charts",
        "corpus",
    },
    "words": {
        "text",
        "kernels",
        "inputs",
        "capture",
        "charts",
        "corpus",
        "metrics",
    },
    "comparison": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "charts",
        "corpus",
        "metrics",
        "words",
    },
    "interventions": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "charts",
        "corpus",
    },
    "probes": {
        "text",
        "kernels",
        "model_facts",
        "capture",
        "charts",
        "corpus",
        "words",
    },
    "mechanisms": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "charts",
        "corpus",
        "interventions",
    },
    "behaviors": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "charts",
        "corpus",
        "metrics",
        "words",
        "interventions",
        "probes",
        "mechanisms",
    },
    "paper_report": {
        "text",
        "kernels",
        "inputs",
        "capture",
        "charts",
        "corpus",
        "metrics",
        "words",
        "comparison",
        "interventions",
        "probes",
        "behaviors",
    },
    "widgets": {
        "text",
        "kernels",
        "model_facts",
        "inputs",
        "capture",
        "drawing",
        "corpus",
        "metrics",
        "words",
        "interventions",
        "probes",
        "mechanisms",
        "behaviors",
    },
    # Models and texts of the package. No folder imports it.
    "demo": {"text", "capture", "probes", "behaviors"},
}
# Libraries that a folder does not import, so that it can be read and tested without them.
FOREIGN = {
    "text": {"torch", "transformers", "anywidget", "ipywidgets"},
    "kernels": {"transformers", "anywidget", "ipywidgets", "pandas"},
    "capture": {"anywidget", "ipywidgets"},
    "corpus": {"anywidget", "ipywidgets"},
    "metrics": {"anywidget", "ipywidgets"},
    "words": {"anywidget", "ipywidgets"},
    "comparison": {"anywidget", "ipywidgets"},
    "interventions": {"anywidget", "ipywidgets"},
    "probes": {"anywidget", "ipywidgets"},
    "mechanisms": {"anywidget", "ipywidgets"},
    "behaviors": {"anywidget", "ipywidgets"},
    "paper_report": {"torch", "transformers", "anywidget", "ipywidgets"},
    "charts": {"torch", "transformers", "anywidget", "ipywidgets"},
    "drawing": {"torch", "transformers", "anywidget", "ipywidgets", "altair"},
    "widgets": {"transformers"},
    "demo": {"anywidget", "ipywidgets"},
}


def imports(source: Path, package: Path) -> Iterator[str]:
    """Every module that a file names in an import, wherever in the file, as an absolute name."""
    parts = source.relative_to(package.parent).with_suffix("").parts
    yield from _imports_of(source.read_text(encoding="utf-8"), parts)


@cache
def _imports_of(text: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The imports of a text as the module of these parts; five tests ask for those of all files."""
    return tuple(_found_imports(text, parts))


def _found_imports(text: str, parts: tuple[str, ...]) -> Iterator[str]:
    def absolute(name: str, level: int) -> str:
        return ".".join(filter(None, [*parts[: -level or None], name])) if level else name

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            stem = absolute(node.module or "", node.level)
            yield from (f"{stem}.{alias.name}" for alias in node.names)
        elif _imports_by_name(node):
            name = _known_name(node.args[0])
            tail = name.lstrip(".")
            yield absolute(tail, len(name) - len(tail))


def _imports_by_name(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a node calls `import_module`."""
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func).rpartition(".")[2]
    return called in {"import_module", "__import__"}


def _known_name(argument: ast.expr) -> str:
    """The module that is imported; of an f-string, the folder before the first value."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    start = argument.values[0] if isinstance(argument, ast.JoinedStr) else None
    if not isinstance(start, ast.Constant):
        raise ValueError(f"no name of a module: import_module({ast.unparse(argument)})")
    text = str(start.value)
    return text[: text.rindex(".")] or "."


def import_graph(package: Path) -> dict[str, set[str]]:
    """By module the modules of the package that it imports, within functions too.

    Importing a module runs the `__init__` of every package above it, so these count as imported;
    those above the importing file itself have run before it.
    """
    modules = {}
    for source in package.rglob("*.py"):
        parts = source.relative_to(package.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = source
    graph = {}
    for module, source in modules.items():
        above = {module[:i] for i, letter in enumerate(module) if letter == "."}
        named = {
            name[: i or None]
            for name in imports(source, package)
            for i in [0, *(i for i, letter in enumerate(name) if letter == ".")]
        }
        graph[module] = (named & modules.keys()) - above - {module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Nodes that reach each other: the strongly connected parts of the graph."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    reach = {node: reached(node) for node in graph}
    parts = {
        frozenset(m for m in reach[n] if n in reach.get(m, ())) for n in graph if n in reach[n]
    }
    return [set(part) for part in parts]


def folder_graph(package: Path) -> dict[str, set[str]]:
    """The folders of the package and the folders that they import from.

    A file beside folders, such as `capture/model.py`, is a node of its own: it is above or below
    them.
    """

    def node(module: str) -> str:
        is_folder = package.parent.joinpath(*module.split(".")).is_dir()
        deep = module.count(".") > 2
        return module if is_folder or not deep else module.rpartition(".")[0]

    graph: dict[str, set[str]] = {}
    for module, imported in import_graph(package).items():
        graph.setdefault(node(module), set()).update(map(node, imported))
    return {name: imported - {name} for name, imported in graph.items()}


def test_no_import_is_circular_not_even_for_type_checkers() -> None:
    assert circles(import_graph(PACKAGE)) == []


def test_no_folders_import_each_other() -> None:
    assert circles(folder_graph(PACKAGE)) == []


def typescript_folders(sources: Path) -> dict[str, set[str]]:
    """The folders of the page's code and the folders that they import from."""
    graph: dict[str, set[str]] = {}
    for source in sources.rglob("*.ts"):
        folder = source.relative_to(sources).parts[0]
        for target in re.findall(r' from "(\.[^"]+)";', source.read_text(encoding="utf-8")):
            other = (source.parent / target).resolve().relative_to(sources.resolve()).parts[0]
            graph.setdefault(folder, set()).update({other} - {folder})
    return graph


def test_no_folders_of_the_page_import_each_other() -> None:
    """Biome checks the files (`noImportCycles`)."""
    graph = typescript_folders(PACKAGE.parent / "js" / "src")
    assert len(graph) > 10 and graph["shared"] == set()
    # Entry points: `js/figure_modules.mjs` generates their imports of figures.
    assert not any({"page", "picture"} & imported for imported in graph.values())
    assert circles(graph) == []


def violations(package: Path) -> list[str]:
    """One line for each import that goes up, sideways or outside."""
    found = []
    for source in sorted(package.glob("*/**/*.py")):
        folder = source.relative_to(package).parts[0]
        for name in imports(source, package):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            # The package itself, "", has the version. `public_names` imports no folder.
            # `hidden_frames` is about tracebacks, and imports nothing of the package.
            allowed = {folder, "", "hidden_frames", *BELOW.get(folder, ())}
            if source.name == "__init__.py":
                allowed.add("public_names")
            above = top == package.name and target not in allowed
            if above or top in FOREIGN.get(folder, ()):
                found.append(f"{source.relative_to(package)} imports {name}")
    return found


def test_imports_run_one_way() -> None:
    assert violations(PACKAGE) == []


def test_every_permission_is_used() -> None:
    used: dict[str, set[str]] = {folder: set() for folder in BELOW}
    for source in PACKAGE.glob("*/**/*.py"):
        folder = source.relative_to(PACKAGE).parts[0]
        names = (name.split(".") for name in imports(source, PACKAGE))
        used[folder] |= {parts[1] for parts in names if parts[0] == PACKAGE.name and parts[1:]}
    assert {folder: used[folder] & BELOW.keys() - {folder} for folder in BELOW} == BELOW


def test_the_page_states_the_permissions() -> None:
    page = PACKAGE.parent / "docs" / "pages" / "about" / "architecture.md"
    table = page.read_text("utf-8").partition("| folder | content | may import |")[2]
    rows = [row.split("|")[1:-1] for row in table.partition("\n\n")[0].splitlines()[2:]]
    stated = {folder.strip(" `"): set(re.findall(r"`(\w+)`", last)) for folder, _, last in rows}
    assert stated == BELOW


def test_the_page_names_files_that_exist() -> None:
    text = (PACKAGE.parent / "docs" / "pages" / "about" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`((?:attnwidget|tests|docs|js)/[\w/.]+)`", text)
    assert len(named) > 10
    assert [name for name in named if not (PACKAGE.parent / name).exists()] == []


def test_every_module_is_in_a_known_folder() -> None:
    folders = {source.relative_to(PACKAGE).parts[0] for source in PACKAGE.glob("*/**/*.py")}
    assert folders <= BELOW.keys(), "new folder: add to BELOW what it may import"
    assert {source.name for source in PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "hidden_frames.py",
        "installed_versions.py",
        "public_names.py",
        "results.py",
    }


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("text", "from attnwidget.kernels.word_maps import word_map"),
        ("kernels", "import attnwidget.text.tokens"),
        ("kernels", "from ..capture import head"),
        ("capture", "def f():\n    from attnwidget.widgets.head_grid import HeadGrid"),
        ("drawing", "from attnwidget import Head"),
        ("widgets", "import attnwidget.demo"),
        ("text", "import torch.nn"),
        ("behaviors", "import_module('attnwidget.widgets.atlas_view.widget')"),
        ("behaviors", "importlib.import_module(f'attnwidget.widgets.{name}.widget')"),
        ("behaviors", "import_module('..widgets', __package__)"),
        ("charts", "__import__('torch')"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, folder: str, line: str) -> None:
    package = tmp_path / "attnwidget"
    (package / folder).mkdir(parents=True)
    (package / folder / "wrong.py").write_text(line)
    assert len(violations(package)) == 1


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        (
            {"a": "from attnwidget.text import b", "b": "import attnwidget.text.a"},
            {"text.a", "text.b"},
        ),
        (
            {"a": "def f():\n    from attnwidget.text.b import g", "b": "from .a import f"},
            {"text.a", "text.b"},
        ),
        (
            {
                "a": "from attnwidget.text.b import x",
                "b": "from attnwidget.text.c import x",
                "c": "class C:\n    def f(self):\n        import attnwidget.text.a",
                "d": "from attnwidget.text.a import x",
            },
            {"text.a", "text.b", "text.c"},
        ),
        (  # what type checkers alone read
            {
                "a": "if TYPE_CHECKING:\n    from attnwidget.text.b import x\nelse:\n    import re",
                "b": "import attnwidget.text.a",
            },
            {"text.a", "text.b"},
        ),
        (
            {
                "a": "import_module('attnwidget.text.b')",
                "b": "def f():\n    importlib.import_module('.a', __package__)",
            },
            {"text.a", "text.b"},
        ),
        (  # the `__init__` of a package runs before what is in it
            {
                "a": "from attnwidget.text.inner.b import x",
                "inner/__init__": "from attnwidget.text.a import y",
                "inner/b": "x = 1",
            },
            {"text.a", "text.inner"},
        ),
    ],
)
def test_a_circle_is_found(tmp_path: Path, files: dict[str, str], circle: set[str]) -> None:
    assert circles(import_graph(_written(tmp_path, files))) == [
        {f"attnwidget.{name}" for name in circle}
    ]


def test_a_name_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    package = _written(tmp_path, {"a": "import_module(name)"})
    with pytest.raises(ValueError, match=naming("import_module(name)")):
        violations(package)


def test_a_package_that_imports_what_is_in_it_makes_no_circle(tmp_path: Path) -> None:
    files = {"inner/__init__": "from . import c", "inner/c": "import attnwidget.text.a", "a": ""}
    assert circles(import_graph(_written(tmp_path, files))) == []


def _written(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "attnwidget"
    for name, text in files.items():
        path = package / "text" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def test_no_figure_imports_another() -> None:
    """Only the explorer and `save_page` import several figures; shared code imports none."""
    widgets = PACKAGE / "widgets"
    found = []
    several = {"explorer", "attention_page", "__init__"}
    for source in sorted(widgets.glob("**/*.py")):
        figure = source.relative_to(widgets).parts[0].removesuffix(".py")
        for name in imports(source, PACKAGE):
            top, _, rest = name.removeprefix("attnwidget.").partition(".")
            other = rest.partition(".")[0]
            if (
                top == "widgets"
                and other not in {figure, "pages", "shared", "wire"}
                and figure not in several
            ):
                found.append(f"{source.relative_to(widgets)} imports {name}")
    assert found == []


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


def test_charts_are_imported_where_they_are_drawn() -> None:
    """Altair takes longer to import than a model to answer, and a figure may never be a chart."""
    found = [
        f"{source.relative_to(PACKAGE)}: {line}"
        for source in sorted(PACKAGE.glob("**/*.py"))
        if source.relative_to(PACKAGE).parts[0] != "charts"
        for line in source.read_text("utf-8").splitlines()
        if line.startswith(("from attnwidget.charts", "import attnwidget.charts", "import altair"))
    ]
    assert found == []
