"""The lock of a model: requests of users go before background work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, Head, load_model
from attnwidget.capture.model_lock import (
    ModelLock,
    PassInterrupted,
    background_work,
    give_way,
    stop_if_wanted,
    uninterrupted,
)
from attnwidget.interventions.head_effects import effects_of
from attnwidget.widgets.shared.background import Background, Job

#: Seconds after which a test has failed.
PATIENCE = 300


@contextmanager
def thread(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """A thread that works beside the block, and ends with it."""
    beside = threading.Thread(target=work, daemon=True)
    beside.start()
    yield beside
    beside.join(PATIENCE)
    assert not beside.is_alive()


def until(condition: Callable[[], bool]) -> None:
    """Wait until a thread has done something that no event tells."""
    pause = threading.Event()
    for _ in range(100 * PATIENCE):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it never happened")


def user_waits_for(lock: ModelLock, order: list[str], name: str = "user") -> threading.Thread:
    """Begin a request of a user, and return when it waits."""

    def request() -> None:
        with lock.in_turn():
            order.append(name)

    beside = threading.Thread(target=request, daemon=True)
    beside.start()
    until(lambda: lock.is_wanted)
    return beside


def test_a_lock_is_reentrant_and_belongs_to_its_thread() -> None:
    lock = ModelLock()
    with lock:
        assert lock.acquire()
        lock.release()
        taken: list[bool] = []
        with thread(lambda: taken.append(lock.acquire(blocking=False))):
            pass
        with thread(lambda: taken.append(lock.acquire(timeout=0.01))):
            pass
        assert taken == [False, False]
    with pytest.raises(RuntimeError, match="cannot release"):
        lock.release()
    with thread(lambda: (lock.acquire(), lock.release())):
        pass


def test_a_user_comes_before_background_work_that_waited_longer() -> None:
    lock = ModelLock()
    order: list[str] = []
    begun = threading.Event()

    def work() -> None:
        with background_work():
            begun.set()
            with lock.in_turn():
                order.append("background")

    with lock:
        background = threading.Thread(target=work, daemon=True)
        background.start()
        assert begun.wait(PATIENCE)
        user = user_waits_for(lock, order)
    for beside in (background, user):
        beside.join(PATIENCE)
    assert order == ["user", "background"]


def test_background_work_gives_way_between_passes_and_users_do_not() -> None:
    lock = ModelLock()
    order: list[str] = []
    with background_work(), lock.in_turn(), lock.in_turn():
        user = user_waits_for(lock, order)
        give_way()
        order.append("background")
        user.join(PATIENCE)
    with lock:
        user = user_waits_for(lock, order, "other user")
        give_way()
        order.append("this user")
    user.join(PATIENCE)
    assert order == ["user", "background", "this user", "other user"]


def test_an_interrupted_pass_runs_again_after_the_user() -> None:
    lock = ModelLock()
    order: list[str] = []

    def run() -> int:
        order.append("begins")
        if len(order) == 1:
            user_waits_for(lock, order)
        stop_if_wanted()
        order.append("ends")
        return 3

    with background_work(), lock.in_turn():
        assert uninterrupted(run) == 3
    assert order == ["begins", "user", "begins", "ends"]
    order.clear()
    with lock:  # the pass of a user goes on
        assert uninterrupted(run) == 3
        assert order == ["begins", "ends"]


def test_dropped_work_ends_in_the_middle_of_a_pass() -> None:
    dropped: list[bool] = []
    with background_work(lambda: bool(dropped)):
        stop_if_wanted()
        assert uninterrupted(lambda: 3) == 3

        def run() -> None:
            dropped.append(True)
            stop_if_wanted()

        with pytest.raises(PassInterrupted):
            uninterrupted(run)
        stop_if_wanted()  # not in a pass that can be interrupted


@pytest.fixture(scope="module")
def llama() -> AttentionModel:
    """A model of 30 x 9 heads."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=18,
        intermediate_size=24,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=1024,
    )
    return load_model(transformers.LlamaForCausalLM(config).eval(), device="cpu")


@pytest.mark.parametrize("exact", [False, True])
def test_a_request_is_answered_before_the_next_layer_of_background_effects(
    llama: AttentionModel, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passes over 858 tokens leave the model to a reader at the next layer."""
    reading = llama.attend([number * 7 % 50 for number in range(858)]).reading
    assert reading is not None
    events: list[str] = []
    asked = threading.Event()
    answered = threading.Event()

    def watched() -> None:
        events.append("layer")
        if len(events) == 3:
            asked.set()
            until(lambda: llama.lock.is_wanted)
        stop_if_wanted()

    monkeypatch.setattr("attnwidget.capture.tapping.tap.stop_if_wanted", watched)

    def read() -> None:
        assert asked.wait(PATIENCE)
        with llama.lock.in_turn():
            # The pass that was interrupted has not gone on.
            events.append("answer")
        assert llama.attend([1, 2, 3]).weights().shape == (30, 9, 3, 3)
        answered.set()

    def job() -> Job:
        options = {"stack": "self", "exact": exact, "only": [Head(29, 3)]}
        effects_of(reading, 5, 858, (), "zero", **options, stopped=answered.is_set)
        yield None

    background = Background(["effects"], failed=lambda name, error: None)
    background.add("effects", job())
    with thread(read):
        background.start()
        assert answered.wait(PATIENCE)
        background.close()
    background._thread.join(PATIENCE)
    assert events[:4] == ["layer", "layer", "layer", "answer"]


@pytest.mark.parametrize("exact", [False, True])
def test_interrupted_effects_are_those_of_a_quiet_model(
    llama: AttentionModel, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests at many layers change no number."""
    reading = llama.attend([number * 7 % 50 for number in range(20)]).reading
    assert reading is not None
    only = [Head(layer, 2) for layer in (4, 28)]
    options = {"stack": "self", "exact": exact, "only": only}
    expected = effects_of(reading, 5, 20, **options)
    layers = 0
    order: list[str] = []
    users = []

    def watched() -> None:
        nonlocal layers
        layers += 1
        if layers % 17 == 0 and layers < 200:
            users.append(user_waits_for(llama.lock, order))
        stop_if_wanted()

    with background_work(), monkeypatch.context() as patched:
        patched.setattr("attnwidget.capture.tapping.tap.stop_if_wanted", watched)
        found = effects_of(reading, 5, 20, **options)
    for user in users:
        user.join(PATIENCE)
    assert len(order) == len(users) > 3
    np.testing.assert_array_equal(found, expected)
