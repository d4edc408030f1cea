"""Noise of the size of a training as a control, and features before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import compare, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.comparison.noise_copy import noise_copy
from attnwidget.demo import demo_treebank
from attnwidget.results import FeatureChanges, ModelComparison
from attnwidget.text.linguistic_features import feature_words
from attnwidget.words import probe_features
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

TEXTS = ["The captain spoke to his men.", "She had left the letter there.", "It rained."]
SENTENCES = demo_treebank()[:6]


@pytest.fixture(scope="module")
def tuned() -> AttentionModel:
    return load_model("attnwidget/genre")


@pytest.fixture(scope="module")
def found(model: AttentionModel, tuned: AttentionModel) -> ModelComparison:
    return compare(
        model, tuned, SENTENCES, unit="words", metrics=["features"], control="noise", progress=False
    )


def rows_of(
    spec: dict[str, Any], part: dict[str, Any], panel: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the data of a chart layer. A layer without data uses the data of its panel."""
    data = part.get("data") or (panel or spec)["data"]
    rows: list[dict[str, Any]]
    rows = spec["datasets"][data["name"]] if "name" in data else data["values"]
    return rows


def n_points(features: FeatureChanges) -> int:
    spec = features.last_layer_chart().to_dict()
    return len(rows_of(spec, spec["layer"][0]))


def backbone(model: AttentionModel) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.hf_model.base_model.named_parameters()}


def test_noise_has_the_size_and_the_rank_of_each_change(
    model: AttentionModel, tuned: AttentionModel
) -> None:
    before, after = backbone(model), backbone(tuned)
    noisy = backbone(noise_copy(model, tuned))
    assert all(torch.equal(before[name], value) for name, value in backbone(model).items())
    n_changed = 0
    for name, weight in before.items():
        if name not in after:
            continue
        change, noise = after[name] - weight, noisy[name] - weight
        assert float(noise.norm()) == pytest.approx(float(change.norm()), rel=1e-3, abs=1e-9)
        if not change.any():
            assert torch.equal(noisy[name], weight)
        elif change.ndim == 2:
            n_changed += 1
            values = torch.linalg.svdvals(change.double())[:4]
            by_noise = torch.linalg.svdvals(noise.double())
            np.testing.assert_allclose(by_noise[:4], values, rtol=1e-3)
            assert by_noise[4] < 1e-3 * values[0]
            overlap = (change * noise).sum() / change.norm() / noise.norm()
            assert abs(float(overlap)) < 0.1
    assert n_changed == 36


def test_the_control_is_the_comparison_with_the_noise(
    model: AttentionModel, tuned: AttentionModel
) -> None:
    controlled = compare(model, tuned, TEXTS, control="noise", progress=False)
    noise = compare(model, noise_copy(model, tuned), TEXTS, progress=False)
    alone = compare(model, tuned, TEXTS, progress=False)
    assert controlled.control is not None and alone.control is None
    assert alone.weight_change is None
    np.testing.assert_array_equal(controlled.cosine, alone.cosine)
    np.testing.assert_array_equal(controlled.control.cosine, noise.cosine)
    assert (controlled.control.cosine.mean(1) > controlled.cosine.mean(1)).all()
    by_noise = (1 - noise.cosine).mean(1).max()
    assert controlled.finding == (
        f"{alone.finding}; noise of the same size changes no layer by more than {by_noise:.3f}"
    )


def test_change_of_weights_by_layer(model: AttentionModel, found: ModelComparison) -> None:
    before, after = backbone(model), backbone(load_model("attnwidget/genre"))
    assert found.weight_change is not None
    for layer, share in enumerate(found.weight_change):
        names = [name for name in before if name.startswith(f"encoder.layer.{layer}.")]
        change = sum(float((after[n] - before[n]).double().square().sum()) for n in names)
        size = sum(float(before[n].double().square().sum()) for n in names)
        assert share == pytest.approx(np.sqrt(change / size), rel=1e-4)


def test_curves_have_the_noise_and_the_weights(found: ModelComparison) -> None:
    spec = found.curves().to_dict()
    maps, weights = spec["vconcat"][0]["hconcat"]
    # The lines of the maps, of which each series has one.
    lines = next(part for part in maps["layer"] if part["mark"]["type"] == "line")
    series = {row["series"] for row in rows_of(spec, lines, maps)}
    assert series == {"all tokens", "without special tokens", "noise of the same size"}
    values = [
        row["value"]
        for part in weights["layer"]
        if part["mark"]["type"] == "line"
        for row in rows_of(spec, part, weights)
    ]
    assert found.weight_change is not None
    assert values == pytest.approx(found.weight_change.tolist())


def test_features_are_those_of_each_model(
    model: AttentionModel, tuned: AttentionModel, found: ModelComparison
) -> None:
    features = found.features
    models = {"before": model, "after": tuned, "noise": noise_copy(model, tuned)}
    for when, one in models.items():
        alone = probe_features(one, SENTENCES, progress=False)
        measured = getattr(features, when)
        np.testing.assert_allclose(measured.weights, alone.weights, atol=2e-6)
        np.testing.assert_allclose(measured.from_first, alone.from_first, atol=2e-6)
        assert measured.counts.tolist() == alone.counts.tolist()
    changes = features.heads()
    np.testing.assert_allclose(
        changes["feature NOUN change"], found.heads()["feature NOUN change"], atol=1e-9
    )
    low, high = found.intervals["feature NOUN change"]
    assert (low <= high).all() and low.shape == (6, 12)


def test_a_feature_equals_a_plain_loop(tuned: AttentionModel, found: ModelComparison) -> None:
    scores = []
    for sentence in SENTENCES:
        attention = tuned.attend(list(sentence.words))
        words = feature_words(sentence, "NOUN")
        if places := token_places(attention, words):
            scores.append(attention.weights()[:, :, :, places].mean(2).max(-1))
    index = found.features.after.features.index("NOUN")
    np.testing.assert_allclose(found.features.after.weights[index], np.mean(scores, 0), atol=1e-6)


def token_places(attention: Any, words: list[int]) -> list[int]:
    """Positions of the tokens of words: pieces begin with ##."""
    word = -1
    places = []
    for position, token in enumerate(attention.tokens[1:-1], 1):
        word += not token.startswith("##")
        if word in words:
            places.append(position)
    return places


def test_features_have_a_table_and_figures(found: ModelComparison) -> None:
    features = found.features
    assert features.features[:2] == ("[CLS]", "[SEP]")
    table = features.table().set_index("Feature")
    frame = features.to_frame()
    cls = frame[frame["feature"] == "[CLS]"]
    assert len(cls) == 72 and table.loc["[CLS]", "Before"] == round(cls["before"].mean(), 3)
    last = cls[cls["layer"] == 5]
    assert table.loc["[CLS]", "After (from [CLS])"] == round(last["after_from_first"].mean(), 3)
    size = (cls["after"] - cls["before"]).abs().mean()
    assert features.finding.startswith(f"The attention to [CLS] changes most, by {size:.3f}")
    spec = features.chart().to_dict()
    cells = [
        row
        for part in spec["layer"]
        for row in rows_of(spec, part)
        if row.get("name") == "[CLS], change: L5 H0"
    ]
    change = float((last["after"] - last["before"]).iloc[0])
    assert cells[0]["value"] == pytest.approx(change, abs=1e-4)
    assert n_points(features) == len(features.features) * 3 * 12


def test_features_without_a_control(model: AttentionModel, tuned: AttentionModel) -> None:
    options: dict[str, Any] = {"unit": "words", "metrics": ["features"], "progress": False}
    alone = compare(model, tuned, SENTENCES, **options).features
    assert alone.noise is None and "noise" not in alone.finding
    assert [c for c in alone.table().columns if "Noise" in c] == []
    assert n_points(alone) == len(alone.features) * 2 * 12
    assert isinstance(alone, FeatureChanges)


def test_other_metrics_have_results_before_and_after(
    model: AttentionModel, tuned: AttentionModel
) -> None:
    both = compare(model, tuned, TEXTS, metrics=["entropy"], progress=False)
    difference = (
        both.after["entropy"].heads()["entropy"] - both.before["entropy"].heads()["entropy"]
    )
    np.testing.assert_array_equal(difference, both.changes["entropy"])
    with pytest.raises(ValueError, match=naming("features", 'unit="words"')):
        _ = both.features


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"b": "list", "control": "noise"}, ("control", "one model")),
        ({"control": "nois"}, ("control", "'nois'", "'noise'")),
        ({"b": "same", "control": "noise"}, ("equal", "control")),
        ({"metrics": ["features"]}, ("features", 'unit="words"', "load_treebank")),
        ({"metrics": ["features"], "unit": "words", "texts": "words"}, ("features", "treebank")),
    ],
)
def test_what_has_no_control_or_features_is_refused(
    model: AttentionModel, tuned: AttentionModel, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    others: dict[str, Any] = {"list": [tuned], "same": model}
    b = others.get(options.pop("b", ""), tuned)
    texts: Any = [text.split() for text in TEXTS] if options.pop("texts", "") else TEXTS
    with pytest.raises(ValueError, match=naming(*parts)):
        compare(model, b, texts, progress=False, **options)


def test_models_without_common_weights_have_no_control() -> None:
    first = load_model(build("bert"), word_tokenizer())
    second = load_model(build("distilbert"), word_tokenizer())
    with pytest.raises(ValueError, match=naming("attention layers", "control=None")):
        noise_copy(first, second)
