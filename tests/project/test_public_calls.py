"""Each public call is in code that readers see and tests run: notebooks, lessons, or pages."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from attnwidget.metrics.measure_heads import metrics_by_name
from attnwidget.public_names import public_homes
from attnwidget.widgets.shared.head_widget import HeadWidget

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
# These notebooks need a model that the package does not include, so most runs skip them.
NEEDS_A_MODEL = re.compile(r"1[12]_")
# The data of FrameNet needs a form of its publisher. The page of links has the call in a block that
# does not run, and tests/words/test_links.py calls it with files of the same form.
NEEDS_DATA = frozenset({"load_framenet_links"})
WORD = re.compile(r"\w+")


def test_every_public_call_is_in_code_that_runs() -> None:
    called = {name for code in shown_code() for name in called_names(code)} | NEEDS_DATA
    calls = {name for name, value in public_values().items() if is_call(name, value)}
    assert len(calls) > 100
    metrics = {metric.__name__ for name, metric in metrics_by_name().items() if name in called}
    missing = sorted(calls - called - metrics)
    assert not missing, (
        "show these calls in a notebook, lesson or tested page, or make them private"
    )


def test_calls_are_functions_figures_and_classes_that_users_construct() -> None:
    values = public_values()
    for name in ("measure", "HeadGrid", "AtlasView", "Sentence", "Box", "Position", "SegmentMeans"):
        assert is_call(name, values[name]), name
    for name in ("Attention", "Atlas", "Stack", "CodeLength", "WordTimes", "options", "Batch"):
        assert not is_call(name, values[name]), name


def test_a_call_counts_and_an_import_or_a_comment_does_not() -> None:
    code = "from attnwidget import measure, compare\nmeasure(model, texts, ['entropy'])  # ablate"
    assert called_names(code) == {"measure", "entropy"}
    assert called_names("class Mine(SegmentMeans[R]): pass") >= {"SegmentMeans"}
    assert called_names("atlas.compare(other)\nattnwidget.ablate(model)") == {"ablate"}
    assert called_names("Document.from_spans(words, spans)") == {"Document"}


def is_call(name: str, value: Any) -> bool:
    """Return whether users call a public name: a function, a figure, or a class they construct.

    A figure that a public function returns, as `explore` does, counts by this function. Users
    construct a class, or extend it, if the example of its docstring does. A class of
    `attnwidget.results` must also be an argument of a public call. All other classes are results
    and types that calls return.
    """
    if not inspect.isclass(value):
        return inspect.isfunction(value)
    if issubclass(value, HeadWidget):
        return name not in returned_types()
    if public_homes()[name] == "attnwidget.results" and name not in argument_types():
        return False
    examples = doctest.DocTestParser().get_examples(value.__doc__ or "")
    return name in called_names("".join(example.source for example in examples))


@cache
def public_values() -> dict[str, Any]:
    return {name: getattr(import_module(home), name) for name, home in public_homes().items()}


@cache
def argument_types() -> frozenset[str]:
    """The words of all annotations of arguments of public functions, and of classes but results."""
    words: set[str] = set()
    for name, value in public_values().items():
        is_error = inspect.isclass(value) and issubclass(value, Exception)
        if callable(value) and public_homes()[name] != "attnwidget.results" and not is_error:
            for parameter in inspect.signature(value).parameters.values():
                words |= set(WORD.findall(str(parameter.annotation)))
    return frozenset(words)


@cache
def returned_types() -> frozenset[str]:
    """The words of the annotations of what public functions return."""
    functions = filter(inspect.isfunction, public_values().values())
    returned = (str(inspect.signature(function).return_annotation) for function in functions)
    return frozenset(word for annotation in returned for word in WORD.findall(annotation))


def shown_code() -> Iterator[str]:
    """The code of notebooks and lessons that need no further model, and of the written pages."""
    for notebook in [*NOTEBOOKS.glob("*.ipynb"), *NOTEBOOKS.glob("lessons/*.ipynb")]:
        if not NEEDS_A_MODEL.match(notebook.name):
            cells = json.loads(notebook.read_text("utf-8"))["cells"]
            yield from ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    page_code = read_page_code()
    for page in (ROOT / "docs" / "pages").rglob("*.md"):
        blocks = page_code.code_blocks(page.read_text("utf-8"))
        yield from (block.code for block in blocks if block.runs)


def called_names(code: str) -> set[str]:
    """Return the names that code calls or extends, and the texts that it contains.

    `Document.from_spans(...)` calls Document, and the text "entropy" names a metric.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
        elif isinstance(node, ast.Call):
            names |= called_name(node.func)
        elif isinstance(node, ast.ClassDef):
            for base in node.bases:
                names |= called_name(base)
    return names


def called_name(function: ast.expr) -> set[str]:
    """Return the public name in the first part of a called expression, if there is one."""
    parts: list[str] = []
    while isinstance(function, (ast.Attribute, ast.Subscript)):
        if isinstance(function, ast.Attribute):
            parts.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        return set()
    if function.id == "attnwidget" and parts:
        return {parts[-1]}
    # A method of a variable, such as `atlas.find(...)`, is no call of a function with its name.
    return {function.id} if not parts or function.id[0].isupper() else set()


def read_page_code() -> ModuleType:
    """Return a module of the docs folder, which is not a package."""
    spec = importlib.util.spec_from_file_location("docs_page_code", ROOT / "docs" / "page_code.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
