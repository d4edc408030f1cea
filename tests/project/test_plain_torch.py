"""Public functions that read a model or an attention ignore the modes of torch around the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import attnwidget
from attnwidget import (
    AttentionModel,
    behaviours,
    interventions,
    load_model,
    mechanisms,
    metrics,
    probes,
    words,
)
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics import measure_checkpoints

# These functions split texts into tokens, and compute nothing.
TOKENS_ALONE = {"make_segments", "read_segments"}
PUBLIC = {
    name: getattr(module, name)
    for module in (attnwidget, behaviours, interventions, mechanisms, metrics, probes, words)
    for name in module.__all__
}
READERS = {
    name: function
    for name, function in PUBLIC.items()
    if inspect.isfunction(function)
    and name not in TOKENS_ALONE
    and {"model", "attention", "a", "models"} & set(inspect.signature(function).parameters)
}


def is_plain(function: Callable[..., Any]) -> bool:
    @in_plain_torch
    def plain() -> None: ...

    return function.__code__ is plain.__code__


@pytest.mark.parametrize("name", READERS)
def test_functions_that_read_a_model_run_in_plain_torch(name: str) -> None:
    assert is_plain(READERS[name]), (
        f"{name} needs the decorator in_plain_torch: without it, torch.autocast, "
        "torch.no_grad and torch.inference_mode of the user's program change its numbers"
    )


def test_the_functions_that_read_a_model_are_found() -> None:
    assert {"load_model", "measure", "compare", "ablate", "explain_link"} <= READERS.keys()


@pytest.mark.parametrize(
    "name", ["attend", "attend_batch", "generate", "predict", "replay", "question", "read_again"]
)
def test_methods_that_read_the_model_run_in_plain_torch(name: str) -> None:
    assert is_plain(getattr(AttentionModel, name))


def test_a_warning_names_the_line_of_the_call() -> None:
    model = load_model("attnwidget/induction", device="cpu")
    with pytest.warns(UserWarning, match="equal weights") as warned:
        measure_checkpoints([("a", model), ("b", model)], n_sequences=2, progress=False)
    assert warned[0].filename == __file__
