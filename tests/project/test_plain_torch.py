"""Public functions that read a model or an attention ignore the modes of torch around the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from attnwidget import AttentionModel, load_model
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics import measure_checkpoints
from attnwidget.public_names import public_homes
from refusals import naming

# These functions split texts into tokens, and compute nothing.
TOKENS_ALONE = {"make_segments", "read_segments"}
# These functions read files of the package. Their `model` is a name.
FILES_ALONE = {"demo_atlas", "demo_probe"}
PUBLIC = {name: getattr(import_module(home), name) for name, home in public_homes().items()}
READERS = {
    name: function
    for name, function in PUBLIC.items()
    if inspect.isfunction(function)
    and name not in TOKENS_ALONE | FILES_ALONE
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
    "name", ["attend", "attend_batch", "generate", "predict", "replay", "question", "_read_again"]
)
def test_methods_that_read_the_model_run_in_plain_torch(name: str) -> None:
    assert is_plain(getattr(AttentionModel, name))


def test_a_warning_names_the_line_of_the_call() -> None:
    model = load_model("attnwidget/induction", device="cpu")
    with pytest.warns(UserWarning, match=naming("'a'", "'b'", "weights")) as warned:
        measure_checkpoints([("a", model), ("b", model)], n_sequences=2, progress=False)
    assert warned[0].filename == __file__
