"""Replaced forwards act in their own thread, however the blocks of several threads overlap."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from attnwidget import load_model
from attnwidget.capture.tapping.thread_forwards import replaced_forwards
from attnwidget.interventions.head_effects import effects_of
from attnwidget.mechanisms import score_sources


def adding(number: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda forward: lambda x: forward(x) + number


class Block:
    """A block of replaced forwards in a thread of its own, which ends when asked to."""

    def __init__(self, module: torch.nn.Module, number: int) -> None:
        self._module = module
        self._number = number
        self._opened = threading.Event()
        self._asked = threading.Event()
        self.results: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._opened.wait(60)

    def _run(self) -> None:
        with replaced_forwards({self._module: adding(self._number)}):
            self._opened.set()
            assert self._asked.wait(60)
            self.results.append(self._module(0))
        self.results.append(self._module(0))

    def end(self) -> list[int]:
        self._asked.set()
        self._thread.join()
        return self.results


def test_blocks_of_threads_may_end_in_any_order() -> None:
    module = torch.nn.Identity()
    first = Block(module, 1)
    second = Block(module, 10)
    assert module(0) == 0
    assert first.end() == [1, 0]
    third = Block(module, 100)
    assert second.end() == [10, 0]
    assert third.end() == [100, 0]
    assert "forward" not in vars(module)


def test_blocks_of_one_thread_are_nested() -> None:
    module = torch.nn.Identity()
    own = module.forward = lambda x: x + 0.5
    with replaced_forwards({module: adding(1)}):
        with replaced_forwards({module: adding(10)}):
            assert module(0) == 11.5
        assert module(0) == 1.5
    assert module.forward is own


def test_a_block_that_cannot_be_entered_leaves_all_modules_as_they_were() -> None:
    modules = torch.nn.Identity(), torch.nn.ReLU()

    def fails(_: Callable[..., Any]) -> Callable[..., Any]:
        raise RuntimeError("no replacement")

    with (
        pytest.raises(RuntimeError, match="no replacement"),
        replaced_forwards({modules[0]: adding(1), modules[1]: fails}),
    ):
        pass
    assert not any("forward" in vars(module) for module in modules)


@pytest.mark.slow
def test_effects_of_heads_and_sources_of_scores_may_be_computed_side_by_side() -> None:
    model = load_model(device="cpu")
    attention = model.attend("The woman washed [MASK] hands.")
    assert attention.reading is not None
    asked = (attention.reading, model.tokenizer.vocab["her"], 4)
    wanted = effects_of(*asked, stack="self", exact=True)
    sources = score_sources(attention, 2, 3, query=2, key=1)
    found: list[Any] = []
    errors: list[BaseException] = []

    def repeat(compute: Callable[[], Any]) -> None:
        try:
            found.extend(compute() for _ in range(2))
        except BaseException as error:
            errors.append(error)

    computed = [
        lambda: effects_of(*asked, stack="self", exact=True),
        lambda: score_sources(attention, 2, 3, query=2, key=1).matrix,
        lambda: effects_of(*asked, stack="self", exact=True),
    ]
    threads = [threading.Thread(target=repeat, args=(compute,)) for compute in computed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for result in found:
        expected = wanted if result.shape == wanted.shape else sources.matrix
        assert abs(result - expected).max() < 1e-5
    assert not any("forward" in vars(module) for module in model.hf_model.modules())
