"""Ctrl-C at any line of locks, taps and hooks: the model is free and intact afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from attnwidget import load_model
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.tapping import thread_forwards
from attnwidget.interventions.head_effects import effects_of
from attnwidget.model_facts import held_attributes
from fixtures import zoo
from fixtures.interrupts import interrupted_lines
from fixtures.vocabularies import word_tokenizer

#: Seconds after which a thread hangs.
PATIENCE = 60
LOCKS = ("contextlib.py", "model_lock.py", "thread_lock.py")
TAPS = ("tap.py", "hooked.py", "held_attributes.py", "thread_forwards.py", "replay.py", "undo.py")


def test_a_lock_is_free_after_ctrl_c_at_any_line() -> None:
    lock = ModelLock()
    read_by = []

    def read() -> None:
        with lock.in_turn(), lock.in_turn():
            read_by.append(threading.get_ident())

    places = []
    for place in interrupted_lines(read, LOCKS):
        places.append(place)
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"the lock is taken after Ctrl-C at {place}"
        read()
        assert len(read_by) >= 2
        read_by.clear()
    assert len(places) >= 10


@pytest.mark.parametrize("step", [997, pytest.param(4, marks=pytest.mark.slow)])
def test_a_model_is_intact_after_ctrl_c_at_any_line_of_taps_and_hooks(step: int) -> None:
    model = load_model(zoo.build("gpt2"), word_tokenizer())
    expected = model.attend("w1 w2 w3").weights()
    hf_model = model.hf_model.train()
    inputs = model.tokenizer("w1 w2 w3", return_tensors="pt")
    reading = model.attend("w1 w2 w3").reading
    assert reading is not None

    def read() -> None:
        with model.disabled([(0, 1)]):
            model.attend("w1 w2")
        effects_of(reading, 3, 2, stack="self", only=[(1, 1)])

    count = 0
    for place in interrupted_lines(read, TAPS, step=step):
        count += 1
        left = [
            module
            for module in hf_model.modules()
            if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
        ]
        assert not left, f"{place}: {left}"
        assert not held_attributes._held and not thread_forwards._replaced, place
        assert all(module.training for module in hf_model.modules()), place
        assert hf_model.config._attn_implementation != "attnwidget_tap", place
        assert not model.edits.changes, place
    assert count * step > 2000
    np.testing.assert_array_equal(model.attend("w1 w2 w3").weights(), expected)
    hf_model(**inputs)
