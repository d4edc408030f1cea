"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import attnwidget
from attnwidget.capture.maps.word_attention import WordAttention

PUBLIC_MODULES = (
    attnwidget,
    *(value for name in attnwidget.__all__ if inspect.ismodule(value := getattr(attnwidget, name))),
)

MODULES = [
    *(module.name for module in pkgutil.walk_packages(attnwidget.__path__, "attnwidget.")),
    *sorted(script.stem for script in (Path(__file__).parents[2] / "docs" / "models").glob("*.py")),
]


class _Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions too, which are functions of another module."""

    def _from_module(self, module: Any, object: Any) -> bool:
        # typeshed does not know this method, by which doctest leaves out imported functions.
        parent: Any = super()
        found: bool = parent._from_module(module, inspect.unwrap(object))
        return found


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in _Finder().find(importlib.import_module(name), name):
        runner.run(test)
    assert not runner.summarize().failed


def test_examples_of_decorated_functions_are_found() -> None:
    name = "attnwidget.metrics.measure_heads"
    found = {test.name for test in _Finder().find(importlib.import_module(name), name)}
    assert f"{name}.measure" in found


def _public_objects() -> Iterator[tuple[str, Any]]:
    """The public functions, classes and other objects, by their full names."""
    for module in PUBLIC_MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.ismodule(value):
                yield f"{module.__name__}.{name}", value


def _public_methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, also of its bases in this package."""
    for base in inspect.getmro(kind):
        if base.__module__.startswith("attnwidget."):
            for name in vars(base):
                if not name.startswith("_"):
                    yield name, inspect.getattr_static(base, name)


def _public_examples() -> Iterator[tuple[str, str]]:
    """Names and docstrings of everything that `help` shows of the public modules."""
    documented: list[tuple[str, Any]] = [(module.__name__, module) for module in PUBLIC_MODULES]
    for name, value in _public_objects():
        documented.append((name, value))
        if isinstance(value, type):
            documented += [(f"{name}.{method}", one) for method, one in _public_methods(value)]
    for name, value in documented:
        # The docstring of a class method is that of its function.
        docstring = getattr(getattr(value, "__func__", value), "__doc__", None)
        if isinstance(docstring, str):
            yield name, docstring


def _imported_names(docstring: str) -> Iterator[str]:
    """The full names of all modules and objects that the examples of a docstring import."""
    source = "".join(example.source for example in doctest.DocTestParser().get_examples(docstring))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_examples_of_public_objects_import_public_names_only() -> None:
    public: set[str] = set()
    for module in PUBLIC_MODULES:
        public |= {module.__name__, *(f"{module.__name__}.{name}" for name in module.__all__)}
    private = [
        f"{example}: {name}"
        for example, docstring in _public_examples()
        for name in _imported_names(docstring)
        if name.partition(".")[0] == "attnwidget" and name not in public
    ]
    assert private == []


def test_public_names_have_examples() -> None:
    without = [
        name
        for name, value in _public_objects()
        if callable(value) and ">>>" not in (value.__doc__ or "")
    ]
    assert without == []


@pytest.mark.parametrize("kind", [attnwidget.AttentionModel, attnwidget.Attention, WordAttention])
def test_methods_of_models_and_attentions_have_examples(kind: type) -> None:
    methods = {name: getattr(kind, name) for name in vars(kind) if not name.startswith("_")}
    # The figures call this method, users do not.
    internal = {"question"}
    without = [
        name
        for name, method in methods.items()
        if callable(method) and ">>>" not in (method.__doc__ or "")
    ]
    assert set(without) <= internal
