"""Comparing with metrics, several models, seeds, documents, and between words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import compare, load_model, measure, read_segments
from attnwidget.capture.model import AttentionModel
from attnwidget.demo import demo_prose, demo_treebank
from attnwidget.kernels.significance import bootstrap_interval
from attnwidget.metrics import Confidence
from attnwidget.text.segments import Segment
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from references import reference_compare as reference
from refusals import naming

# Models of transformers 4 round otherwise in batches of other sizes; kernels agree to 1e-6.
ROUNDING = 3e-6 if transformers.__version__.startswith("4.") else 1e-6


@pytest.fixture(scope="module")
def embedded() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def tuned() -> AttentionModel:
    return load_model("attnwidget/genre")


def random_bert(seed: int) -> AttentionModel:
    """A model whose tokenizer has the same words whatever the seed, and sharp heads."""
    model = build("bert")
    torch.manual_seed(seed)
    with torch.no_grad():
        for layer in model.base_model.encoder.layer:
            layer.attention.self.query.weight.normal_(0, 6)
    return load_model(model, word_tokenizer(), name=f"seed {seed}")


WORDS = [
    Segment(("w1", "w2", "w3", "w9"), document=0),
    Segment(("w4", "w5"), ("w6",), document=1),
    Segment(("w7", "w1", "w8"), document=1),
    Segment(("w11", "w2"), document=2),
    Segment(("w3", "w12", "w5"), document=3),
    Segment(("w6", "w13"), document=4),
    Segment(("w14", "w15", "w2", "w9"), document=5),
]
DOCUMENTS = [0, 1, 1, 2, 3, 4, 5]


def run(a: AttentionModel, b: Any, given: Any, **options: Any) -> Any:
    return compare(a, b, given, progress=False, **options)


@pytest.mark.slow
def test_metrics_are_those_of_measure_second_minus_first(
    embedded: AttentionModel, tuned: AttentionModel
) -> None:
    segments = read_segments(demo_prose(), embedded, limit=12)
    metrics = ["entropy", "position", Confidence(["[SEP]"])]
    found = run(embedded, tuned, segments, metrics=metrics, batch_size=2)
    before, after = (
        measure(
            model,
            segments,
            ["entropy", "position", Confidence(["[SEP]"])],
            batch_size=2,
            progress=False,
        ).heads()
        for model in (embedded, tuned)
    )
    assert found.changes.keys() == before.keys()
    for title, values in before.items():
        np.testing.assert_allclose(found.changes[title], after[title] - values, atol=1e-12)
        np.testing.assert_allclose(
            found.heads()[f"{title} change"], after[title] - values, atol=1e-6
        )
    frame = found.to_frame()
    one = frame[frame["metric"] == "confidence change"]
    assert len(one) == 72
    assert (one["low"] <= one["value"]).all() and (one["value"] <= one["high"]).all()
    assert (one["low"] < one["high"]).any()
    assert "confidence change" in found.chart("confidence change").to_json()
    with pytest.raises(ValueError, match=naming("'entropies'", "attention_distance")):
        run(embedded, tuned, segments, metrics=["entropies"])


@pytest.mark.slow
def test_intervals_of_metrics_are_those_of_each_segments_difference() -> None:
    models = [random_bert(seed) for seed in range(2)]
    metrics = ["entropy", "classes", "patterns", "distances", "norms"]
    found = run(*models, WORDS, metrics=metrics, batch_size=2)
    alone = [
        [measure(model, [one], metrics[:-2], progress=False).heads() for one in WORDS]
        for model in models
    ]
    for title in ("entropy from [CLS]", "to [SEP]", "[SEP] to [SEP]", "diagonal"):
        values = np.stack([b[title] - a[title] for a, b in zip(*alone, strict=True)], -1)
        np.testing.assert_allclose(found.segments[f"{title} change"], values, atol=1e-6)
        expected = bootstrap_interval(values, groups=DOCUMENTS)
        np.testing.assert_allclose(found.intervals[f"{title} change"], expected, atol=1e-6)
    # Distances of heads are of all segments at once, and have no interval.
    unsure = found.to_frame().query("low.isna()")["metric"].unique()
    assert list(unsure) == ["distance to other heads change", "distance to nearest head change"]
    several = run(models[0], models, WORDS, metrics=["classes"])
    assert (several.intervals["to [SEP] change"][1] >= several.heads()["to [SEP] change"]).all()


@pytest.mark.slow
def test_several_models_are_as_each_alone() -> None:
    first, *others = (random_bert(seed) for seed in range(4))
    found = run(first, others, WORDS, metrics=["entropy"], batch_size=2)
    for one, other in zip(found.each, others, strict=True):
        alone = run(first, other, WORDS, metrics=["entropy"], batch_size=2)
        for title, values in alone.segments.items():
            np.testing.assert_array_equal(one.segments[title], values)
        np.testing.assert_array_equal(one.changes["entropy"], alone.changes["entropy"])
    assert found.names == ["seed 1", "seed 2", "seed 3"] and not found.between
    np.testing.assert_allclose(
        found.heads()["cosine"], np.mean([one.cosine for one in found.each], axis=0), atol=1e-12
    )
    frame = found.to_frame()
    assert set(frame["model"]) == {"seed 1", "seed 2", "seed 3", "all"}
    own = frame[(frame["model"] == "seed 2") & (frame["metric"] == "divergence")]
    np.testing.assert_array_equal(own["value"], found.each[1].divergence.ravel())
    assert "seed 0 → 3 models" in str(found.chart("divergence").to_dict())
    assert "seed 3" in repr(found)
    twice = run(first, [others[0], others[0]], WORDS)
    assert twice.names == ["seed 1 (1)", "seed 1 (2)"]


@pytest.mark.slow
def test_the_change_beyond_seeds_is_what_is_left_of_their_spread(tmp_path: Any) -> None:
    first, *others = (random_bert(seed) for seed in range(4))
    found = run(first, others, WORDS, models_are_seeds=True, batch_size=2)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for title, beyond in [
        ("cosine", "change beyond seeds"),
        ("cosine without special tokens", "change beyond seeds without special tokens"),
        ("divergence", "divergence beyond seeds"),
    ]:
        distance = 1 if title == "divergence" else -1
        moved = np.mean([run(first, one, WORDS).heads()[title] for one in others], axis=0)
        spread = np.mean([run(others[i], others[j], WORDS).heads()[title] for i, j in pairs], 0)
        np.testing.assert_allclose(found.heads()[beyond], distance * (moved - spread), atol=1e-8)
        low, high = found.intervals[beyond]
        assert (low <= found.heads()[beyond]).all() and (found.heads()[beyond] <= high).all()
    assert len(found.between) == 3
    assert "divergence beyond seeds in nats" in found.chart("divergence beyond seeds").to_json()
    # Seeds that are all one model have no spread; those that are the first model have not moved.
    same = run(first, [others[0]] * 3, WORDS, models_are_seeds=True)
    np.testing.assert_allclose(
        same.heads()["change beyond seeds"], 1 - same.heads()["cosine"], atol=1e-12
    )
    twice = run(first, [first, first], WORDS, models_are_seeds=True)
    assert (twice.heads()["change beyond seeds"] == 0).all()
    file = tmp_path / "sums.npz"
    for _ in range(2):
        again = run(first, others, WORDS, models_are_seeds=True, batch_size=2, resume=file)
        for title, values in found.segments.items():
            np.testing.assert_array_equal(again.segments[title], values)
    with pytest.raises(ValueError, match=naming("sums.npz", "another study")):
        run(first, others[:2], WORDS, models_are_seeds=True, batch_size=2, resume=file)
    with pytest.raises(ValueError, match=naming("seeds", "two models")):
        run(first, others[0], WORDS, models_are_seeds=True)
    with pytest.raises(ValueError, match=naming("b", "empty list")):
        run(first, [], WORDS)


@pytest.mark.slow
def test_intervals_draw_whole_documents(embedded: AttentionModel, tuned: AttentionModel) -> None:
    found = run(random_bert(0), random_bert(1), WORDS)
    assert found.drawn == "documents" and found.to_frame().attrs["drawn"] == "documents"
    assert "7 segments of 6 documents" in repr(found)
    expected = bootstrap_interval(found.segments["cosine"], groups=DOCUMENTS)
    np.testing.assert_array_equal(found.intervals["cosine"], expected)
    apart = [Segment(one.first, one.second) for one in WORDS]
    unknown = run(random_bert(0), random_bert(1), apart)
    assert unknown.drawn == "segments" and "7 segments:" in repr(unknown)
    np.testing.assert_array_equal(unknown.cosine, found.cosine)
    one = run(random_bert(0), random_bert(1), WORDS[1:3])
    assert np.isnan(one.to_frame()["low"]).all()
    documents = [["One day.", "It rained."], ["The sun shone.", "Birds sang."]]
    assert sorted(one.document for one in read_segments(documents, embedded)) == [0, 1]


@pytest.mark.slow
def test_a_drawn_document_counts_with_all_its_examples() -> None:
    random = np.random.default_rng(0)
    sizes = [1, 2, 5, 9, 3, 4, 2, 6, 1, 3, 5, 7]
    values = random.normal(size=48)
    groups = np.repeat(np.arange(12), sizes)
    low, high = bootstrap_interval(values, groups=groups, draws=4000)
    parts = [values[groups == one] for one in range(12)]
    drawn = [
        np.concatenate([parts[i] for i in random.integers(0, 12, 12)]).mean() for _ in range(4000)
    ]
    # With an error of their own, draws of twelve documents have a wider interval than percentiles.
    narrow = np.quantile(drawn, [0.025, 0.975])
    assert 1 < (high - low) / (narrow[1] - narrow[0]) < 2.2
    assert low < values.mean() < high
    alone = bootstrap_interval(values, groups=np.arange(48))
    np.testing.assert_array_equal(alone, bootstrap_interval(values))


def word_maps(model: AttentionModel, words: list[str]) -> np.ndarray:
    """[L, H, m, m + 1] by loops: to words, then to all special tokens together."""
    tokens = model.tokenizer(" ".join(words), return_offsets_mapping=True)
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])
    owners = [
        len(words) if end == begin else int(np.searchsorted(starts, begin, "right")) - 1
        for begin, end in tokens["offset_mapping"]
    ]
    weights = model.attend(" ".join(words)).weights()
    found = np.zeros((*weights.shape[:2], len(words), len(words) + 1))
    for row, column in np.ndindex(weights.shape[2:]):
        if owners[row] < len(words):
            share = weights[:, :, row, column] / owners.count(owners[row])
            found[:, :, owners[row], owners[column]] += share
    return found


@pytest.mark.slow
def test_words_of_models_with_other_tokenizers(embedded: AttentionModel) -> None:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    size = {"num_hidden_layers": 6, "num_attention_heads": 12, "hidden_size": 48}
    config = BertConfig(**size, intermediate_size=24, vocab_size=99, initializer_range=0.5)
    other = load_model(BertModel(config), word_tokenizer(), name="words")
    sentences = [["w1", "Captain", "w77"], ["Unfathomable", "w5"], ["w3"]]
    found = run(embedded, other, sentences, unit="words", batch_size=2, matches=True)
    assert found.segments["cosine"].shape == (6, 12, 3)
    for place, words in enumerate(sentences):
        a, b = (word_maps(model, words) for model in (embedded, other))
        for layer, head in [(0, 0), (3, 7), (5, 11)]:
            first = a[layer, head]
            second = b[layer, head]
            numbers = {
                "cosine": reference.cosine(first, second),
                "cosine without special tokens": reference.cosine(first[:, :-1], second[:, :-1]),
                "divergence": reference.divergence(first, second),
            }
            for title, value in numbers.items():
                assert found.segments[title][layer, head, place] == pytest.approx(
                    value, abs=ROUNDING
                )
    np.testing.assert_allclose(found.pairs.diagonal(axis1=1, axis2=2), found.divergence, atol=1e-6)
    trees = demo_treebank()[:3]
    same = run(embedded, embedded, trees, unit="words", metrics=["position"])
    assert (same.cosine == 1).all() and not any(v.any() for v in same.changes.values())
    with pytest.raises(ValueError, match=naming("80 of 80", 'unit="words"')):
        run(embedded, other, read_segments(demo_prose(), embedded, limit=1))
    with pytest.raises(ValueError, match=naming("pad_to", "words")):
        run(embedded, other, sentences, unit="words", pad_to=20)
    with pytest.raises(TypeError, match=naming("Segment", "list of words")):
        run(embedded, other, [Segment(("w1",))], unit="words")
    with pytest.raises(TypeError, match=naming("'one text'", "words")):
        run(embedded, other, ["one text"], unit="words")
    with pytest.raises(ValueError, match=naming("no texts", "0")):
        run(embedded, other, [], unit="words")
    with pytest.raises(ValueError, match=naming("sentence 0", "word 2", "sentence.with_spaces()")):
        run(embedded, other, [["w1", "\u200b"]], unit="words")
    with pytest.raises(ValueError, match=naming("unit", "'tokens'", "'words'", "'word'")):
        run(embedded, other, sentences, unit="word")
