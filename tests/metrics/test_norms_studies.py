"""Norms and gradients over many segments: the numbers of one segment at a time, averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import load_model
from attnwidget.capture.answers.losses import task_for
from attnwidget.capture.tapping.gradients import attention_gradients
from attnwidget.capture.tapping.projection import Projections
from attnwidget.capture.tapping.tap import tap
from attnwidget.corpus.accumulator import Subject
from attnwidget.metrics.gradients import Gradients
from attnwidget.metrics.measure_heads import measure
from attnwidget.metrics.norms import Norms
from attnwidget.text.segments import Segment
from fixtures import zoo
from references import reference_norms
from refusals import naming

SEGMENTS = [
    Segment(
        ("the", "cat", "sat", "on", "the", "mat", "."), ("it", "slept", ",", "then", "left", ".")
    ),
    Segment(("no", "stop", "here"), ("nor", "here")),
    Segment(("a", "man", "."), ("the", "ship", "went", "to", "sea", ",", "far", "from", "home")),
]


def ids_of(model: Any, segment: Segment) -> dict[str, torch.Tensor]:
    tokenizer = model.tokenizer
    parts = [["[CLS]", *segment.first, "[SEP]"], [*segment.second, "[SEP]"]]
    ids = tokenizer.convert_tokens_to_ids(parts[0] + parts[1])
    types = [0] * len(parts[0]) + [1] * len(parts[1])
    return {
        "input_ids": torch.tensor([ids]),
        "token_type_ids": torch.tensor([types]),
        "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
    }


def classes_of(segment: Segment) -> dict[str, np.ndarray]:
    tokens = ["[CLS]", *segment.first, "[SEP]", *segment.second, "[SEP]"]
    named = {
        "[CLS]": np.array([t == "[CLS]" for t in tokens]),
        "[SEP]": np.array([t == "[SEP]" for t in tokens]),
        ". ,": np.array([t in (".", ",") for t in tokens]),
    }
    return named | {"other tokens": ~np.any(list(named.values()), axis=0)}


def literal(model: Any, segment: Segment) -> dict[str, np.ndarray]:
    """Weights, weighted norms, norms and layer norms of one segment, [C, L, H] or [C, L]."""
    projections = Projections(model.hf_model)
    layers: list[Any] = []
    with torch.no_grad(), tap(model.hf_model, layers.append):
        model.hf_model(**ids_of(model, segment))
    rows: dict[str, list[Any]] = {
        "weights": [],
        "weighted_norms": [],
        "norms": [],
        "layer_norms": [],
    }
    for seen in layers:
        weight = projections._modules[seen.module].weight.detach().numpy()
        weights = seen.weights[0].numpy()
        f = reference_norms.vectors(seen.value[0].numpy(), weight, len(weights))
        norms = reference_norms.norms(f)
        maps = reference_norms.norm_maps(weights, f)
        summed = reference_norms.summed_norm_maps(weights, f)
        members = list(classes_of(segment).values())
        rows["weights"].append([weights[:, :, m].sum(-1).mean(-1) for m in members])
        rows["weighted_norms"].append([maps[:, :, m].sum(-1).mean(-1) for m in members])
        with np.errstate(invalid="ignore"):
            rows["norms"].append([norms[:, m].sum(-1) / m.sum() for m in members])
        rows["layer_norms"].append([summed[:, m].sum(-1).mean() for m in members])
    return {name: np.stack(values, 1) for name, values in rows.items()}


@pytest.mark.slow
def test_norms_are_means_over_documents(model: Any) -> None:
    found = measure(model, SEGMENTS, [Norms(layer_level=True)], progress=False)["norms"]
    assert found.classes == ("[CLS]", "[SEP]", ". ,", "other tokens")
    assert found.documents.tolist() == [3, 3, 2, 3] and found.n_documents == 3
    alone = [literal(model, segment) for segment in SEGMENTS]
    for name in ("weights", "weighted_norms", "layer_norms"):
        expected = np.mean([one[name] for one in alone], axis=0)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-5, rtol=1e-5)
    expected = np.nanmean([one["norms"] for one in alone], axis=0)
    np.testing.assert_allclose(found.norms, expected, atol=1e-5, rtol=1e-5)
    np.testing.assert_array_equal(found.heads()["norm to [SEP]"], found.weighted_norms[1])
    np.testing.assert_allclose(found.weights.sum(0), 1, atol=1e-5)


def test_per_head_norms_alone_are_the_same(model: Any) -> None:
    full = measure(model, SEGMENTS, [Norms(layer_level=True)], progress=False)["norms"]
    heads = measure(model, SEGMENTS, [Norms()], progress=False)["norms"]
    assert heads.layer_norms is None
    np.testing.assert_allclose(heads.weighted_norms, full.weighted_norms, rtol=1e-5)
    np.testing.assert_allclose(heads.norms, full.norms, rtol=1e-5)


def test_the_released_code_has_no_norm_where_a_document_lacks_the_class(model: Any) -> None:
    found = measure(model, SEGMENTS, [Norms(variant="released")], progress=False)["norms"]
    assert np.isnan(found.norms[2]).all() and np.isfinite(found.norms[[0, 1, 3]]).all()
    assert np.isfinite(found.weighted_norms).all()
    with pytest.raises(ValueError, match=naming("variant", "'skip'", "'released'", "'code'")):
        Norms(variant="code")  # type: ignore[arg-type]


@pytest.mark.slow
def test_gradients_are_means_over_documents(model: Any) -> None:
    found = measure(model, SEGMENTS, [Gradients(seed=2)], progress=False)["gradients"]
    assert found.loss_name == "masked-LM" and found.documents.tolist() == [3, 3, 2, 3]
    values = []
    losses = []
    for segment in SEGMENTS:
        task = task_for(model.hf_model, model.tokenizer, ids_of(model, segment), "masked", 2)
        gradients, loss = attention_gradients(model.hf_model, task)
        losses.append(loss.item())
        rows = [
            [
                reference_norms.class_importance(layer.values[0].numpy(), members)
                if members.any()
                else np.full(model.n_heads, np.nan)
                for members in classes_of(segment).values()
            ]
            for layer in gradients
        ]
        values.append(np.swapaxes(rows, 0, 1))
    np.testing.assert_allclose(found.values, np.nanmean(values, axis=0), rtol=1e-4, atol=1e-8)
    assert found.loss == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accumulator", "field"), [(Norms, "weighted_norms"), (Gradients, "values")]
)
def test_batches_and_merging_change_nothing(model: Any, accumulator: Any, field: str) -> None:
    parts = []
    for segments, size in ((SEGMENTS, 3), (SEGMENTS, 1), (SEGMENTS[:1], 1), (SEGMENTS[1:], 2)):
        one = accumulator()
        measure(model, segments, [one], batch_size=size, progress=False)
        parts.append(one)
    whole = getattr(parts[0].compute(), field)
    scale = max(1.0, np.abs(whole).max())
    np.testing.assert_allclose(getattr(parts[1].compute(), field), whole, atol=1e-6 * scale)
    other = accumulator()
    other.start(Subject(model.n_layers, model.n_heads, model=model))
    other.restore(parts[3].state())
    other.merge(parts[2])
    parts[2].merge(parts[3])
    for merged in (parts[2], other):
        np.testing.assert_allclose(getattr(merged.compute(), field), whole, atol=1e-6 * scale)


@pytest.mark.slow
def test_charts_and_tables_carry_every_class(model: Any) -> None:
    found = measure(model, SEGMENTS[:1], [Norms(), Gradients()], progress=False)
    assert len(found["norms"].chart().vconcat[0].hconcat) == 2
    assert "gradient to . ," in set(found.to_frame()["metric"])
    found["gradients"].chart().to_dict()


def test_custom_token_classes_stand_beside_the_other_tokens(model: Any) -> None:
    own = {"nouns": {"cat", "mat", "ship"}}
    found = measure(model, SEGMENTS, [Norms(own)], progress=False)["norms"]
    assert found.classes == ("[CLS]", "[SEP]", ". ,", "nouns", "other tokens")
    np.testing.assert_allclose(found.weights.sum(0), 1, atol=1e-5)


def test_what_cannot_be_measured_says_why(model: Any) -> None:
    config = transformers.ConvBertConfig(
        **zoo._ENCODER | {"vocab_size": len(model.tokenizer)}, embedding_size=32
    )
    other = load_model(transformers.ConvBertForMaskedLM(config), model.tokenizer)
    with pytest.raises(ValueError, match=naming("ConvBertForMaskedLM", "defined")):
        measure(other, SEGMENTS, [Norms()], progress=False)
    config = transformers.BertConfig(**zoo._ENCODER | {"vocab_size": len(model.tokenizer)})
    headless = load_model(transformers.BertModel(config), model.tokenizer)
    with pytest.raises(TypeError, match=naming("BertModel", "language-modeling")):
        measure(headless, SEGMENTS, [Gradients()], progress=False)
