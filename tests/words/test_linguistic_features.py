"""Attention to features, and looking away: means over sentences of the references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.resume_from import resume_from
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.linguistic_features import FEATURES, feature_words
from attnwidget.text.treebank import Sentence
from attnwidget.words.annotated_links import subject_verb_links
from attnwidget.words.linguistic_features import LinguisticFeatures, probe_features
from attnwidget.words.no_op import TARGETS, NoOpWeightsFrom, probe_no_op
from attnwidget.words.word_links import Links
from attnwidget.words.word_segments import WordSegmenter
from fixtures.annotated_sentences import SENTENCES, maps_of, over_heads, small_model
from references import reference_features as reference
from refusals import naming


@pytest.fixture(scope="module")
def small() -> Any:
    return small_model()


EXPECTED_WORDS = {
    "NOUN": [["captain", "men", "ships"], [], [], ["Antananarivo"]],
    "PRON": [[], ["She", "him", "it"], [], ["her"]],
    "VERB": [["saw"], ["was", "seen", "sleep"], [], ["Did", "reward", "helped"]],
    "SUBJ": [["men"], ["She", "him", "it"], [], ["Antananarivo"]],
    "OBJ": [["ships"], [], [], ["whoever", "her"]],
    "NEG": [["never"], [], [], ["n't"]],
    "PUNCT": [["."], [], ["!"], ["?"]],
}


@pytest.mark.parametrize("feature", FEATURES)
def test_words_of_features(feature: str) -> None:
    found = [[one.words[w] for w in feature_words(one, feature)] for one in SENTENCES]
    assert found == EXPECTED_WORDS[feature]


def test_features_by_universal_tags_alone() -> None:
    plain = [Sentence(s.words, s.governors, s.relations, s.tags) for s in SENTENCES]
    words = [[s.words[w] for w in feature_words(s, "VERB")] for s in plain]
    assert words == [["saw"], ["was", "seen", "should", "sleep"], [], ["Did", "reward", "helped"]]
    assert [plain[3].words[w] for w in feature_words(plain[3], "PRON")] == ["whoever", "her"]
    assert [s.words[w] for s in plain for w in feature_words(s, "PUNCT")] == [".", "!", "?"]


def test_features_that_cannot_be_told_are_refused() -> None:
    bare = Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"])
    assert feature_words(bare, "SUBJ") == [0]
    with pytest.raises(ValueError, match=naming("'Cats purr'", "tags", "NOUN")):
        feature_words(bare, "NOUN")
    with pytest.raises(ValueError, match=naming("'ADJ'", "NEG")):
        feature_words(bare, "ADJ")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["model", "small"])
@pytest.mark.parametrize("variant", ["skip absent", "released"])
def test_feature_weights_equal_the_reference(
    which: str, variant: Any, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(which)
    found = probe_features(model, SENTENCES, variant=variant, batch_size=3, progress=False)
    for number, name in enumerate(found.features):
        scores = []
        from_first = []
        for one in SENTENCES:
            maps, groups, axis = maps_of(model, one.words)
            if name in FEATURES:
                positions = [t for w in feature_words(one, name) for t in groups[w]]
            else:
                kind = name.strip("[]").lower()
                positions = [i for i, special in enumerate(axis.special) if special == kind]
            absent = np.zeros(maps.shape[:2]) if not positions else None
            if positions:
                by_mean = lambda a, p=positions: reference.feature_score(a, p)  # noqa: E731
                by_first = lambda a, p=positions: reference.first_score(a, p)  # noqa: E731
                scores.append(over_heads(maps, by_mean))
                from_first.append(over_heads(maps, by_first))
            elif variant == "released" and name != "NEG":
                scores.append(absent)
        assert found.counts[number] == len(from_first)
        assert np.allclose(found.weights[number], np.mean(scores, axis=0), atol=1e-6)
        assert np.allclose(found.from_first[number], np.mean(from_first, axis=0), atol=1e-6)


@pytest.mark.slow
def test_feature_result(model: Any) -> None:
    found = probe_features(model, SENTENCES[1:3], progress=False)
    heads = found.heads()
    assert "feature NOUN" not in heads and "feature VERB from [CLS]" in heads
    assert np.isnan(found.weights[0]).all() and found.counts.tolist() == [0, 1, 1, 1, 0, 0, 1, 2, 2]
    assert len(found.to_frame()) == len(heads) * 72
    last = found.last_layer()
    assert last.loc["VERB", 3] == heads["feature VERB from [CLS]"][-1, 3]
    for chart in (found.chart(), found.chart(from_first=True)):
        panels = [panel for row in chart.to_dict()["vconcat"] for panel in row["hconcat"]]
        assert [p["title"]["text"].split(" ")[0] for p in panels] == list(
            dict.fromkeys(n for n, c in zip(found.features, found.counts, strict=True) if c)
        )


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"features": ["NOUN", "ADJ"]}, ("'ADJ'", "NEG")),
        ({"features": []}, ("features", "[]")),
        ({"features": ["NOUN", "NOUN"]}, ("features", "'NOUN'", "once")),
        ({"variant": "paper"}, ("variant", "'skip absent'", "'released'", "'paper'")),
        ({"sentences": []}, ("no texts",)),
        ({"sentences": [Sentence.from_lists(["a"], [0], ["root"])]}, ("'a'", "tags", "NOUN")),
        (
            {"sentences": [Sentence.from_lists(["\u200b"], [0], ["root"], tags=["X"])]},
            ("word 1", "'\\u200b'", "skip_unaligned=True", "tokens"),
        ),
        (
            {"sentences": [Sentence.from_lists(["a"] * 10_000, range(10_000), ["dep"] * 10_000,
                                               tags=["X"] * 10_000)]},
            ("10,000 words", "510", "skip_unaligned=True"),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused(
    model: Any, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        probe_features(model, **{"sentences": SENTENCES, "progress": False} | options)


def test_sentences_that_do_not_fit_are_left_out_and_counted(model: Any) -> None:
    odd = Sentence.from_lists(["\u200b"], [0], ["root"], tags=["X"])
    whole = probe_features(model, SENTENCES, progress=False)
    found = probe_features(model, [odd, *SENTENCES], skip_unaligned=True, progress=False)
    assert (found.n_skipped, found.n_sentences, found.complete) == (1, 4, True)
    assert np.allclose(found.weights, whole.weights, equal_nan=True)
    away = probe_no_op(model, [odd, *SENTENCES], "obj", skip_unaligned=True, progress=False)
    assert (away.n_skipped, away.counts) == (1, (3, 25))


def test_a_resume_file_goes_on_and_knows_its_study(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "study.npz"
    with resume_from(path):
        first = probe_features(model, SENTENCES, progress=False)
        again = probe_features(model, SENTENCES, progress=False)
        assert np.array_equal(first.weights, again.weights, equal_nan=True)
        with pytest.raises(
            ValueError, match=naming("'features'", "variant", "study.npz", "another")
        ):
            probe_features(model, SENTENCES, variant="released", progress=False)


WITH_RELATION = {
    ("obj", "dependent to governor"): [{7}, set(), set(), {4, 6}],
    ("obj", "governor to dependent"): [{5}, set(), set(), {3, 5}],
    ("nsubj (all)", "dependent to governor"): [{3}, {0, 6}, set(), {2}],
    ("nsubj:pass", "dependent to governor"): [set(), {0}, set(), set()],
    ("root", "dependent to governor"): [{5}, {2}, {0}, {3}],
}


@pytest.mark.parametrize("which", ["model", "small"])
@pytest.mark.parametrize(("relation", "direction"), WITH_RELATION)
def test_looking_away_equals_the_reference(
    relation: str, direction: str, which: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(which)
    found = probe_no_op(
        model, SENTENCES, relation, direction=direction, batch_size=3, progress=False
    )
    has = WITH_RELATION[relation, direction]
    n_with = sum(map(len, has))
    assert found.counts == (n_with, 28 - n_with)
    sums = np.zeros((2, 3, model.n_layers, model.n_heads))
    for one, with_it in zip(SENTENCES, has, strict=True):
        maps, groups, axis = maps_of(model, one.words)
        targets = [
            [i for i, kind in enumerate(axis.special) if kind == name] for name in ("sep", "cls")
        ]
        targets.append([t for w in feature_words(one, "PUNCT") for t in groups[w]])
        for layer, head in np.ndindex(maps.shape[:2]):
            sums[..., layer, head] += reference.no_op(maps[layer, head], groups, with_it, targets)
    expected = sums / np.array(found.counts)[:, None, None, None]
    assert np.allclose(found.weights, expected, atol=1e-6)


@pytest.mark.slow
def test_looking_away_result(model: Any) -> None:
    found = probe_no_op(model, SENTENCES, "obj", progress=False)
    heads = found.heads()
    assert list(heads)[:2] == [
        "to [SEP] with obj as dependent",
        "to [SEP] without obj as dependent",
    ]
    table = found.head(3, 4)
    assert list(table.index) == list(TARGETS)
    assert table.iloc[0, 1] == heads["to [SEP] without obj as dependent"][3, 4]
    chart = found.chart().to_dict()
    assert len(chart["vconcat"][0]["hconcat"]) == 3 and "3 words with it, 25 without" in str(
        chart["title"]
    )


@pytest.mark.parametrize(
    ("relation", "options", "parts"),
    [
        ("dobj", {}, ("0 of 28", "'dobj'", "advmod")),
        ("obj", {"direction": "up"}, ("direction", "'dependent to governor'", "'up'")),
        ("nsubj:pass", {"sentences": SENTENCES[:1]}, ("0 of 9", "'nsubj:pass'")),
    ],
)
def test_a_comparison_needs_two_sides(
    model: Any, relation: str, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    given: dict[str, Any] = {"sentences": SENTENCES, "progress": False}
    with pytest.raises(ValueError, match=naming(*parts)):
        probe_no_op(model, relation=relation, **given | options)


def accumulators(sentences: list[Sentence]) -> list[Accumulator[Any]]:
    words = [[feature_words(one, name) for name in FEATURES] for one in sentences]
    punctuation = [frozenset(feature_words(one, "PUNCT")) for one in sentences]
    has = [frozenset(feature_words(one, "SUBJ")) for one in sentences]
    return [
        LinguisticFeatures(FEATURES, words),
        Links(subject_verb_links(sentences)),
        NoOpWeightsFrom(has, punctuation, "SUBJ", "dependent to governor"),
    ]


def test_studies_of_parts_add_up_to_that_of_the_whole(model: Any) -> None:
    segmenter = WordSegmenter(model)
    segments = [segmenter(one.running, i) for i, one in enumerate(SENTENCES)]
    whole, first, rest = (accumulators(SENTENCES) for _ in range(3))
    read = measure(model, segments, whole, progress=False)
    measure(model, segments[:2], first, progress=False)
    measure(model, segments[2:], rest, progress=False)
    for one, other in zip(rest, first, strict=True):
        one.merge(other)
        for title, values in one.compute().heads().items():
            assert np.allclose(values, read[one.name].heads()[title], atol=1e-6), title
