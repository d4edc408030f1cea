"""Minimal pairs: scores by hand, files of BLiMP, and what heads do for agreement."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import MinimalPair, ablate, load_minimal_pairs, load_model
from attnwidget.interventions import measure_minimal_pairs
from attnwidget.interventions.pair_sentences import PairWords
from capture.test_predict import word_log_probability, words
from fixtures import zoo
from refusals import naming

PAIRS = [
    MinimalPair("The girl washed herself.", "The girl washed himself.", "gender"),
    MinimalPair("Paula references Robert.", "Paula reference Robert.", "number"),
    MinimalPair("The boys are here.", "The boys is here.", "number"),
]


def test_differing_words_are_masked_in_turn() -> None:
    model = load_model(device="cpu")
    found = measure_minimal_pairs(model, PAIRS, progress=False)
    for index, pair in enumerate(PAIRS):
        for text, got in ((pair.good, found.good[index]), (pair.bad, found.bad[index])):
            position = text.split().index(pair.differing[text == pair.bad][0])
            encoded = model.tokenizer(text)
            word = [i for i, own in enumerate(encoded.word_ids()) if own == position]
            expected = word_log_probability(model, encoded["input_ids"], word)
            assert got == pytest.approx(expected, abs=1e-4)
    assert found.accuracy == (found.good > found.bad).mean()


def test_all_words_are_masked_in_turn() -> None:
    model = load_model(device="cpu")
    longer = MinimalPair("The cat sat here.", "The cat sat.")
    pairs = [*PAIRS, longer]
    found = measure_minimal_pairs(model, pairs, words="all", progress=False)
    for index, pair in enumerate(pairs):
        for text, got in ((pair.good, found.good[index]), (pair.bad, found.bad[index])):
            encoded = model.tokenizer(text)
            ids, owners = encoded["input_ids"], encoded.word_ids()
            words = [
                [i for i, owner in enumerate(owners) if owner == word]
                for word in sorted({owner for owner in owners if owner is not None})
            ]
            expected = sum(word_log_probability(model, ids, word) for word in words)
            assert got == pytest.approx(expected, abs=1e-4)
    assert found.words == "all" == found.to_frame().attrs["words"]
    assert "right by all words" in repr(found)
    assert "likelier, by all words" in str(found.chart().to_dict()["title"])
    usual = measure_minimal_pairs(model, PAIRS, progress=False)
    assert usual.words == "differing" and not np.allclose(usual.good, found.good[:3])
    assert "by their differing words" in str(usual.chart().to_dict()["title"])


def test_an_ablation_scores_pairs_in_both_ways() -> None:
    model = load_model(device="cpu")
    heads = [(2, 8)]
    scores: dict[PairWords, str] = {"differing": "minimal pair", "all": "minimal pair, all words"}
    for scored, score in scores.items():
        found = ablate(model, PAIRS, scoring=score, heads=heads, method="zero", progress=False)
        intact = measure_minimal_pairs(model, PAIRS, words=scored, progress=False)
        with model.disabled(heads, method="zero"):
            off = measure_minimal_pairs(model, PAIRS, words=scored, progress=False)
        assert found.intact.tolist() == intact.right.tolist()
        assert found.head_scores[2, 8].tolist() == off.right.tolist()
        assert found.score == score
    assert "Pairs right by all words" in str(found.chart().to_dict()["title"])


def test_a_causal_model_scores_all_words() -> None:
    model = load_model(zoo.build("gpt2"), words())
    pairs = [MinimalPair("w7 w8 w9", "w7 w11 w9 w3")]
    found = measure_minimal_pairs(model, pairs, progress=False)
    assert found.words == "all"
    np.testing.assert_array_equal(
        measure_minimal_pairs(model, pairs, words="all", progress=False).good, found.good
    )
    with pytest.raises(ValueError, match=naming("words='all'", "scores")):
        measure_minimal_pairs(model, pairs, words="differing", progress=False)
    with pytest.raises(ValueError, match=naming("words", "'some'")):
        measure_minimal_pairs(model, pairs, words="some", progress=False)  # type: ignore[arg-type]


def test_a_causal_model_sums_over_the_sentence() -> None:
    model = load_model(zoo.build("gpt2"), words())
    pairs = [MinimalPair("w7 w8 w9", "w7 w11 w9 w3"), MinimalPair("w1 w2", "w1")]
    found = measure_minimal_pairs(model, pairs, progress=False)
    for index, pair in enumerate(pairs):
        assert found.good[index] == pytest.approx(model.predict(pair.good).log_probability)
        assert found.bad[index] == pytest.approx(model.predict(pair.bad).log_probability)


def test_batches_change_no_score_and_results_name_disabled_heads() -> None:
    model = load_model(device="cpu")
    one, all_ = (measure_minimal_pairs(model, PAIRS, batch_size=n, progress=False) for n in (1, 32))
    np.testing.assert_allclose(one.good, all_.good, atol=1e-5)
    with model.disabled((5, 8), method="zero"):
        off = measure_minimal_pairs(model, PAIRS, progress=False)
    assert "without L5 H8 (zero)" in repr(off) and "without" not in repr(all_)
    assert "without L5 H8 (zero)" in str(off.chart().to_dict()["title"])
    assert not np.allclose(off.good, all_.good)
    table = all_.by_phenomenon()
    assert table["phenomenon"].tolist() == ["gender", "number"] and table["n"].tolist() == [1, 2]
    assert len(all_.to_frame()) == 3


def test_files(tmp_path: Path) -> None:
    lines = [
        json.dumps({"sentence_good": p.good, "sentence_bad": p.bad, "UID": p.phenomenon})
        for p in PAIRS
    ]
    plain = tmp_path / "pairs.jsonl"
    packed = tmp_path / "pairs.jsonl.gz"
    plain.write_text("\n".join(lines), encoding="utf-8")
    packed.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert load_minimal_pairs(plain) == load_minimal_pairs(packed) == PAIRS
    plain.write_text('{"sentence_good": "A."}', encoding="utf-8")
    with pytest.raises(ValueError, match=naming("line 1", "pairs.jsonl")):
        load_minimal_pairs(plain)
    plain.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=naming("pairs.jsonl", "minimal pairs")):
        load_minimal_pairs(plain)


@pytest.mark.parametrize(
    ("pairs", "error", "parts"),
    [
        ([], ValueError, ("load_minimal_pairs", "no pairs")),
        (["The cat sat."], TypeError, ("list", "MinimalPair", "str")),
        (
            [MinimalPair("The cat sat here.", "The cat sat.")],
            ValueError,
            ("words='all'", "'The cat sat here.'", "'The cat sat.'"),
        ),
    ],
)
def test_wrong_pairs(pairs: Any, error: type[Exception], parts: tuple[str, ...]) -> None:
    with pytest.raises(error, match=naming(*parts)):
        measure_minimal_pairs(load_model(device="cpu"), pairs, progress=False)


def test_pairs_of_no_two_sentences() -> None:
    with pytest.raises(ValueError, match=naming("'A.'", "both")):
        MinimalPair("A.", "A.")
    with pytest.raises(ValueError, match=naming("' '", "two")):
        MinimalPair("A.", " ")


def test_models_that_score_no_words() -> None:
    with pytest.raises(TypeError, match=naming("BertForSequenceClassification", "masked")):
        measure_minimal_pairs(load_model("attnwidget/genre"), PAIRS, progress=False)
    with pytest.raises(TypeError, match=naming("T5ForConditionalGeneration", "stack")):
        measure_minimal_pairs(load_model(zoo.build("t5"), words()), PAIRS, progress=False)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("paradigm", "head", "before", "after"),
    [
        ("anaphor_number_agreement", (5, 8), 0.846, 0.735),
        ("anaphor_gender_agreement", (5, 8), 0.770, 0.688),
    ],
)
def test_a_head_without_which_anaphors_agree_less(
    data: Path, paradigm: str, head: tuple[int, int], before: float, after: float
) -> None:
    # The first 200 pairs of a paradigm were used to choose the head.
    pairs = load_minimal_pairs(data / "blimp" / f"{paradigm}.jsonl.gz")[200:]
    model = load_model(device="cpu")
    assert measure_minimal_pairs(model, pairs, progress=False).accuracy == pytest.approx(
        before, abs=0.002
    )
    with model.disabled(head, method="zero"):
        assert measure_minimal_pairs(model, pairs, progress=False).accuracy == pytest.approx(
            after, abs=0.002
        )


@pytest.mark.slow
@pytest.mark.data
def test_a_head_without_which_verbs_agree_more(data: Path) -> None:
    path = data / "blimp" / "regular_plural_subject_verb_agreement_1.jsonl.gz"
    pairs = load_minimal_pairs(path)[200:]
    model = load_model(device="cpu")
    intact = measure_minimal_pairs(model, pairs, progress=False)
    with model.disabled((2, 8), method="zero"):
        off = measure_minimal_pairs(model, pairs, progress=False)
    assert intact.accuracy == pytest.approx(0.629, abs=0.003)
    assert off.accuracy == pytest.approx(0.670, abs=0.003)
