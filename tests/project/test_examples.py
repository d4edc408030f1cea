"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import attnwidget
from attnwidget.capture.maps.word_attention import WordAttention

MODULES = [
    module.name
    for module in pkgutil.walk_packages(attnwidget.__path__, "attnwidget.")
    if not module.name.endswith("__main__")
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
    name = "attnwidget.studies.metrics.measure"
    found = {test.name for test in _Finder().find(importlib.import_module(name), name)}
    assert f"{name}.measure" in found


def test_public_names_have_examples() -> None:
    for name in attnwidget.__all__:
        value = getattr(attnwidget, name)
        if callable(value):
            assert ">>>" in (value.__doc__ or ""), f"{name} has no example"


@pytest.mark.parametrize("kind", [attnwidget.AttentionModel, attnwidget.Attention, WordAttention])
def test_methods_of_models_and_attentions_have_examples(kind: type) -> None:
    methods = {name: getattr(kind, name) for name in vars(kind) if not name.startswith("_")}
    # The figures call these two methods, users do not.
    internal = {"read_again", "question"}
    without = [
        name
        for name, method in methods.items()
        if callable(method) and ">>>" not in (method.__doc__ or "")
    ]
    assert set(without) <= internal
