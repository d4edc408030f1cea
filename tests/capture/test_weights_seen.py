"""A model that is closed, moved, converted or trained after it was read: no other number."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import (
    AttentionModel,
    DependencyArcs,
    HeadGrid,
    PredictionView,
    Segment,
    ablate,
    load_model,
    make_segments,
    measure,
)
from attnwidget.capture.maps.whole_maps import shows_products
from attnwidget.model_facts.weights_seen import WeightsSeen
from fixtures import zoo
from fixtures.planted_probes import sentences
from fixtures.recording import on_page
from fixtures.vocabularies import word_tokenizer
from refusals import naming

TEXT = "w1 w2 [MASK] w4 w5"


def read(name: str = "bert") -> AttentionModel:
    return load_model(zoo.build(name), word_tokenizer())


def train(model: Any, **options: Any) -> None:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, **options)
    model(torch.tensor([[5, 6, 7]])).logits.square().sum().backward()
    optimizer.step()


def write_through_data(model: Any) -> None:
    for one in model.parameters():
        one.data += 0.1


CHANGES: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "trained": (train, ("trained",)),
    "trained in one kernel": (lambda model: train(model, fused=True), ("trained",)),
    "written through .data": (write_through_data, ("trained", "weights")),
    "loaded": (lambda model: model.load_state_dict(model.state_dict()), ("weights",)),
    "converted": (lambda model: model.half(), ("float32 on cpu", "float16 on cpu")),
    "converted back": (lambda model: model.half().float(), ("weights",)),
    "moved": (lambda model: model.to("meta"), ("float32 on cpu", "float32 on meta")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_reading_again_is_refused_and_read_maps_stay(change: str) -> None:
    model = read()
    if not shows_products(model.hf_model):
        pytest.skip("this version of transformers shows the weights of BERT alone")
    # Two of each, since maps that were computed once are kept.
    attention, twin = (model.attend(TEXT, loss="masked") for _ in range(2))
    of_long, long_twin = (model.attend(TEXT, long=True) for _ in range(2))

    def numbers(of: Any, long: Any) -> list[Any]:
        maps = [getattr(of, one)() for one in of.quantities]
        return [*maps, of.value_norms(1), long.tile(1, 2, (0, 5), (1, 4))]

    assert attention.quantities == ("weights", "norms", "gradients")
    before = numbers(twin, long_twin)
    kept = attention.disabled([(0, 1)])
    changes, parts = CHANGES[change]
    changes(model.hf_model)
    assert attention.reading is not None
    for asks in (
        lambda: attention.disabled([(0, 1)]),
        lambda: attention.disabled([(1, 2)]),
        lambda: kept.disabled([(1, 2)]),
        lambda: of_long.disabled([(1, 2)]),
        lambda: attention.reading.predict(),
        lambda: attention.reading.predict([(0, 1)]),
    ):
        with pytest.raises(RuntimeError, match=naming("BertForMaskedLM", *parts, "attend(text)")):
            asks()
    for one, other in zip(before, numbers(attention, of_long), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_disabling_heads_of_a_closed_model_changes_nothing() -> None:
    model = read()
    attention = model.attend(TEXT)
    before = [attention.weights(), attention.norms()]
    model.close()
    with pytest.raises(RuntimeError, match=naming("AttentionModel", "closed", "load_model(...)")):
        attention.disabled([(1, 2)])
    del model
    gc.collect()
    for one, other in zip(before, [attention.weights(), attention.norms()], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_mode_or_a_gradient_is_no_change() -> None:
    model = read()
    attention = model.attend(TEXT)
    expected = attention.disabled([(0, 1)]).weights()
    again = model.attend(TEXT)
    model.hf_model.train()
    model.hf_model.requires_grad_(False)
    model.hf_model.to("cpu", torch.float32)
    np.testing.assert_array_equal(again.disabled([(0, 1)]).weights(), expected)


@pytest.mark.parametrize("long", [False, True])
def test_sinks_are_those_that_were_read(long: bool) -> None:
    model = read("gpt-oss")
    # Two, since maps that were computed once are kept.
    attention, twin = (model.attend("w1 w2 w3", long=long) for _ in range(2))
    before = twin.weights(1, 2)
    write_through_data(model.hf_model)
    np.testing.assert_array_equal(attention.weights(1, 2), before)
    assert (model.attend("w1 w2 w3", long=long).weights(1, 2) != before).any()


@pytest.mark.slow
def test_no_study_sums_over_two_models(tmp_path: Path) -> None:
    model = read()
    path = tmp_path / "run.npz"
    segments = make_segments([f"w{i} w{i + 1}" for i in range(80)], model)
    options: dict[str, Any] = {"batch_size": 1, "progress": False}
    expected = measure(model, segments, ["entropy"], **options).heads()

    def changing() -> Iterator[Segment]:
        yield from segments[:70]
        model.hf_model.base_model.embeddings.word_embeddings.weight.data += 1
        yield from segments[70:]

    with pytest.raises(RuntimeError, match=naming("BertModel", "first input", "start over")):
        measure(model, changing(), ["entropy"], resume=path, **options)
    model.hf_model.load_state_dict(zoo.build("bert").state_dict())
    found = measure(model, segments, ["entropy"], resume=path, **options).heads()
    for title, values in expected.items():
        np.testing.assert_array_equal(found[title], values)


def test_no_ablation_scores_two_models() -> None:
    model = read("gpt2")
    calls = []

    def score(output: Any, batch: Any) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 2:
            write_through_data(model.hf_model)
        return output.logits.mean((1, 2))

    with pytest.raises(RuntimeError, match=naming("first pass", "start over")):
        ablate(
            model,
            make_segments(["w1 w2 w3", "w1 w2"], model),
            scoring=score,
            heads=[(0, 1)],
            progress=False,
        )


def test_figures_say_it_in_their_place() -> None:
    model = read()
    attention = model.attend(TEXT)
    grid = HeadGrid(attention)
    answers = PredictionView(attention)
    arcs = DependencyArcs(model, sentences(3), selected=[(1, 2)])
    write_through_data(model.hf_model)
    for figure, option, value in (
        (grid, "disabled", [(0, 1)]),
        (answers, "disabled", [(0, 1)]),
        (arcs, "sentence", 1),
    ):
        with pytest.raises(RuntimeError, match=naming("trained", "weights were changed")):
            setattr(figure, option, value)
        assert "were changed otherwise" in getattr(figure, "_refused", "") + on_page(
            figure, "error"
        )
        figure.close()


def test_weights_of_types_of_their_own_are_looked_at_by_type_alone() -> None:
    class Packed(torch.nn.Parameter):
        pass

    module = torch.nn.Linear(2, 2)
    module.weight = Packed(torch.ones(2, 2))
    seen = WeightsSeen(module)
    module.weight.data = torch.zeros(2, 2)
    seen.refuse_changed(module)
    module.bias.data += 1
    with pytest.raises(RuntimeError, match=naming("Linear", "trained")):
        seen.refuse_changed(module)
