"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import attnwidget
from attnwidget.capture.maps.word_attention import WordAttention

MODULES = [
    module.name
    for module in pkgutil.walk_packages(attnwidget.__path__, "attnwidget.")
    if not module.name.endswith("__main__")
]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    results = doctest.testmod(
        importlib.import_module(name),
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert not results.failed


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
