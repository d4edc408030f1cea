"""Hooks of modules: what they change, in which thread, and that they end with their block."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from attnwidget import load_model
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.mechanisms import head_vocabulary
from fixtures.interrupts import interrupted_lines


class Scaled(nn.Module):
    """A module with a named argument, which may fail."""

    def forward(self, x: torch.Tensor, *, factor: float = 1.0) -> torch.Tensor:
        if factor < 0:
            raise ArithmeticError("negative")
        return factor * x


def test_functions_change_arguments_and_output_of_each_module() -> None:
    modules = [Scaled(), Scaled()]
    called: list[nn.Module] = []

    def doubled(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        called.append(module)
        return args, {**kwargs, "factor": 2 * kwargs["factor"]}

    def with_one(_: object, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        assert kwargs["factor"] == 6 and args[0] == 1
        return output + 1

    one = torch.ones(1)
    with hooked(modules, before=doubled, after=with_one):
        assert [module(one, factor=3).item() for module in modules] == [7, 7]
    assert called == modules
    assert [module(one, factor=3).item() for module in modules] == [3, 3]


def test_passes_of_other_threads_call_no_function() -> None:
    module = Scaled()
    called: list[str] = []
    with (
        ThreadPoolExecutor(1) as pool,
        hooked(
            [module],
            before=lambda *_: called.append("before"),
            after=lambda *_: called.append("after"),
        ),
    ):
        pool.submit(module, torch.ones(1)).result()
        assert not called
        module(torch.ones(1))
    assert called == ["before", "after"]


def test_a_failed_forward_is_reported_if_asked_for_and_hooks_end_with_the_block() -> None:
    module = Scaled()
    outputs: list[Any] = []

    def note(*arguments: Any) -> None:
        outputs.append(arguments[-1])

    for always, expected in ((False, []), (True, [None])):
        outputs.clear()
        with pytest.raises(ArithmeticError), hooked([module], after=note, always=always):
            module(torch.ones(1), factor=-1)
        assert outputs == expected
        module(torch.ones(1))
        assert outputs == expected


def test_copies_of_a_hooked_module_call_no_function() -> None:
    module = Scaled()
    called: list[nn.Module] = []
    with hooked([module], before=lambda hooked_module, *_: called.append(hooked_module)):
        for copied in (deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert copied(torch.ones(1), factor=2).item() == 2
        assert not called
        module(torch.ones(1))
    assert called == [module]


def test_ctrl_c_while_hooks_are_removed_leaves_the_model_as_it_was() -> None:
    config = GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=8192)
    model = load_model(GPT2LMHeadModel(config), load_model(device="cpu").tokenizer, device="cpu")
    expected = model.attend("The cat sat.").weights()
    count = 0
    for place in interrupted_lines(
        lambda: head_vocabulary(model, 1, 1, words=["the"]), ["hooked.py"], step=67
    ):
        count += 1
        modules = model.hf_model.modules()
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in modules), place
    assert count >= 3
    np.testing.assert_array_equal(model.attend("The cat sat.").weights(), expected)
