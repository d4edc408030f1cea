"""Mechanisms read a model while other threads run it: neither side changes what the other reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from attnwidget import Attention, AttentionModel, load_model
from attnwidget.mechanisms import head_writes, logit_lens, score_at_distances, score_sources

TEXT = "The keys to the cabinet are on the table."


def moved(attention: Attention) -> Tensor:
    return torch.as_tensor(score_at_distances(attention, 0, 3, 8, 2, [1, 3, 5]).weights)


def sources(attention: Attention) -> Tensor:
    return torch.as_tensor(score_sources(attention, 1, 3, 8, 2).matrix)


def writes(attention: Attention) -> Tensor:
    return torch.as_tensor(head_writes(attention, 1, 3, position=8).vectors)


def lens(attention: Attention) -> Tensor:
    return torch.as_tensor(logit_lens(attention, positions=[2]).log_probabilities)


@pytest.mark.parametrize("mechanism", [moved, sources, writes, lens])
def test_a_pass_of_another_thread_within_a_mechanism(
    mechanism: Callable[[Attention], Tensor],
) -> None:
    model: AttentionModel = load_model()
    hf_model: Any = model.hf_model
    other = model.tokenizer("He left.", return_tensors="pt")
    with torch.no_grad():
        alone = hf_model(**other).logits
    expected = mechanism(model.attend(TEXT))

    attention = model.attend(TEXT)
    this_thread = threading.get_ident()
    beside: list[Tensor] = []

    def run_the_other() -> None:
        with torch.no_grad():
            beside.append(hf_model(**other).logits)

    with ThreadPoolExecutor() as pool:

        def meanwhile(*_: Any) -> None:
            if threading.get_ident() == this_thread:
                pool.submit(run_the_other).result(30)

        # All hooks of the mechanism are there when the first embedding runs.
        handle = hf_model.get_input_embeddings().register_forward_pre_hook(meanwhile)
        result = mechanism(attention)
        handle.remove()
    assert beside
    for logits in beside:
        torch.testing.assert_close(logits, alone)
    torch.testing.assert_close(result, expected)
