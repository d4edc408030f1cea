"""Figures changed by several threads, closed by the dozen, and used after a fork."""

from __future__ import annotations

import gc
import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attnwidget import (
    AttentionModel,
    HeadGrid,
    HeadView,
    LinkView,
    explore,
    link_figures,
    load_model,
    make_segments,
    measure,
)
from attnwidget.widgets.wire.values import in_unit
from fixtures import zoo
from fixtures.recording import on_page
from fixtures.vocabularies import word_tokenizer
from robustness.leaks import TEXT, Held, made_and_closed, makers

pytestmark = pytest.mark.slow

KINDS = (
    "HeadGrid",
    "HeadGrid, heads off",
    "HeadView",
    "HeadView, two",
    "HeadGrid, a word",
    "HeadScatter",
    "RelationTable",
    "DependencyArcs",
    "CoreferenceView",
    "ProbeView",
    "linked",
    "AtlasView",
    "LinkView",
    "PredictionView",
    "Explorer",
)
SHARED = ("selected", "layer", "tokens", "hidden", "unit", "scale", "disabled", "method")


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


def small() -> AttentionModel:
    return load_model(zoo.build("bert"), word_tokenizer())


def test_what_is_changed_while_a_link_gives_is_not_lost() -> None:
    attention = small().attend("w1 w2 w3")
    grid = HeadGrid(attention)
    view = HeadView(attention)
    other = HeadGrid(attention)
    link_figures(grid, other, view)  # what the first two have is given before the third holds it up
    amid = threading.Event()
    go_on = threading.Event()

    def hold(_: object) -> None:
        amid.set()
        assert go_on.wait(30)

    view.observe(hold, "selected")
    thread = threading.Thread(target=setattr, args=(grid, "selected", [(1, 1)]))
    thread.start()
    assert amid.wait(30)
    view.unobserve(hold, "selected")
    other.selected = [(2, 3)]
    go_on.set()
    thread.join(30)
    assert [str(one.head) for one in (grid, other, view)] == ["L2 H3"] * 3, "the later change"
    assert grid.layer == view.layer == other.layer
    for widget in (grid, view, other):
        widget.close()


def changing(widgets: list[Any]) -> Callable[[random.Random], None]:
    """One change of one of linked figures."""

    def change(draw: random.Random) -> None:
        name = draw.choice(SHARED)
        heads = [(draw.randrange(3), draw.randrange(4))]
        values = {
            "selected": [heads],
            "layer": [0, 1, 2],
            "tokens": [[("query", 1)], [("key", 2)], []],
            "hidden": [[], ["cls"], ["cls", "sep"]],
            "unit": ["tokens", "words"],
            "scale": ["linear", "sqrt", "log"],
            "disabled": [[], heads],
            "method": ["uniform", "zero"],
        }
        setattr(draw.choice(widgets), name, draw.choice(values[name]))

    return change


@pytest.mark.parametrize("kind", ["linked", "explorer"])
def test_four_threads_change_figures_while_studies_run(kind: str) -> None:
    """No error, no wrong number, no lock that is never free, and figures that follow on."""
    model = small()
    text = "w1 w2 w3 w4"
    intact = model.attend(text)
    segments = make_segments([text, "w7 w8 w9"], model)
    wanted = measure(model, segments, ["entropy"], progress=False)["entropy"].entropy
    with model.disabled([(0, 3)]):
        without = model.attend(text).weights()
    explorer = None
    if kind == "linked":
        figures: list[Any] = [HeadGrid(intact), HeadView(intact), LinkView(intact)]
        link_figures(*figures)
    else:
        explorer = explore(model, text, treebank=False)
        assert explorer.wait()
        figures = [explorer, explorer.grid, explorer.view, explorer.why]

    def study(_: random.Random) -> None:
        found = measure(model, segments, ["entropy"], progress=False)["entropy"].entropy
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        np.testing.assert_allclose(model.attend(text).weights(), intact.weights(), atol=1e-6)

    def switch_off(_: random.Random) -> None:
        with model.disabled([(0, 3)]):
            np.testing.assert_allclose(model.attend(text).weights(), without, atol=1e-6)

    errors: list[Exception] = []

    def repeat(one: Callable[[random.Random], None], seed: int, count: int) -> None:
        draw = random.Random(seed)
        try:
            for _ in range(count):
                one(draw)
        except Exception as error:
            errors.append(error)

    work = [(changing(figures), seed, 25) for seed in range(4)]
    work += [(study, 4, 6), (switch_off, 5, 12)]
    threads = [threading.Thread(target=repeat, args=one, daemon=True) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not [thread.name for thread in threads if thread.is_alive()], "locked for ever"
    assert not errors
    if explorer is not None:
        assert explorer.wait()
    # Two that were changed at the same moment may differ until the next change.
    settled: dict[str, tuple[Any, Any]] = {
        "selected": ([(0, 0)], [(2, 1)]),
        "tokens": ([], [("query", 1)]),
        "hidden": ([], ["sep"]),
        "unit": ("words", "tokens"),
        "scale": ("linear", "log"),
        "disabled": ([], [(1, 1)]),
        "method": ("zero", "uniform"),
    }
    for name, values in settled.items():
        for value in values:
            setattr(figures[1], name, value)
        assert len({str(getattr(one, name)) for one in figures}) == 1, name
    grid = figures[-3]
    view = figures[-2]
    off = model.disabled(grid.disabled, method=grid.method) if grid.disabled else nullcontext()
    with off:
        shown = model.attend(text if explorer is None else explorer.text)
    assert [one.attention.edits for one in figures] == [shown.edits] * len(figures)
    expected = in_unit(shown, view.unit).weights(*view.head[:2])
    np.testing.assert_allclose(view.weights, expected)
    drawn = np.frombuffer(on_page(view, "tile")["values"]["view"], np.float32)
    np.testing.assert_allclose(drawn, view.weights.ravel(), atol=1e-6)
    for one in figures if explorer is None else [explorer]:
        one.close()


@pytest.fixture(scope="module")
def made_by(model: AttentionModel) -> Iterator[dict[str, Callable[[], list[Any]]]]:
    made = makers(model)
    gc.collect()
    gc.freeze()  # what is there by now is not looked at again each time
    yield made
    gc.unfreeze()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_closed_is_gone(kind: str, model: AttentionModel, made_by: Any) -> None:
    make = made_by[kind]
    opened = make()
    assert Held.now(model, [weakref.ref(one) for one in opened]).widgets > 0
    for one in opened:
        one.close()
    del opened, one
    before = Held.now(model, [])
    made = made_and_closed(make, 3 if kind in ("LinkView", "PredictionView", "Explorer") else 30)
    deadline = time.monotonic() + 120
    while (more := Held.now(model, made).beyond(before)) and time.monotonic() < deadline:
        time.sleep(0.1)  # a thread that was told to end goes on for a moment
    assert not more


def hooks(model: Any) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def held_by(model: Any) -> list[Any]:
    """All that reading a model touches, in it and in transformers."""
    return [
        hooks(model),
        [vars(module).get("forward") for module in model.modules()],
        [module.training for module in model.modules()],
        model.config._attn_implementation,
        sorted(ALL_ATTENTION_FUNCTIONS.keys()),
        torch.overrides._get_current_function_mode_stack(),
        torch.is_grad_enabled(),
    ]


class FaultError(Exception):
    """What a user's own hook raises."""


@pytest.mark.parametrize("name", ["bert", "mpnet", "t5"])
@pytest.mark.parametrize("layer", [0, 2])
def test_a_fault_in_the_model_leaves_nothing(name: str, layer: int) -> None:
    model = load_model(zoo.build(name).train(), word_tokenizer())
    segments = make_segments(["w1 w2 w3"], model)
    given = {"target": "w4 w5"} if name == "t5" else {}
    stack = "cross" if name == "t5" else "self"
    intact = model.attend("w1 w2 w3", **given).weights(stack=stack)
    before = held_by(model.hf_model)

    def fail(*_: object) -> None:
        raise FaultError

    modules = dict(model.hf_model.named_modules())
    last = [path for path in modules if path.endswith((f"layer.{layer}", f"block.{layer}"))]
    hook = modules[last[0]].register_forward_hook(fail)
    head, other = ((1, i, "encoder" if name == "t5" else "self") for i in (1, 2))
    asked: list[Callable[[], Any]] = [
        lambda: model.attend("w1 w2 w3", **given),
        lambda: model.attend("w1 w2 w3", loss=lambda output: output[0].mean((1, 2)), **given),
        lambda: measure(model, segments, ["entropy"], progress=False),
    ]
    for one in asked:
        with pytest.raises(FaultError):
            one()
        with pytest.raises(FaultError), model.disabled([head]), model.disabled([other]):
            one()
    assert model.edits.digest == ""
    hook.remove()
    assert held_by(model.hf_model) == before
    np.testing.assert_array_equal(model.attend("w1 w2 w3", **given).weights(stack=stack), intact)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_reads_and_draws_as_its_parent() -> None:
    model = load_model(device="cpu")
    attention = model.attend(TEXT)
    view = HeadView(attention, 2, 8)
    svg = view.figure().svg
    weights = attention.weights()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "fell"
        try:
            same = view.figure().svg == svg
            same &= bool(np.array_equal(model.attend(TEXT).weights(), weights))
            with model.disabled([(1, 3)]):
                same &= not np.array_equal(model.attend(TEXT).weights(), weights)
            same &= HeadView(load_model(device="cpu").attend(TEXT), 2, 8).figure().svg == svg
            said = "same" if same else "other"
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    deadline = time.monotonic() + 120
    while os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert said == "same"
    assert view.figure().svg == svg
    view.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forks_load_models() -> None:
    load_model(device="cpu").attend(TEXT)
    for _ in range(20):  # without care one in thirty fell
        child = os.fork()
        if child == 0:
            fell = True
            try:
                load_model(device="cpu")
                fell = False
            finally:
                os._exit(fell)
        assert os.waitpid(child, 0)[1] == 0
