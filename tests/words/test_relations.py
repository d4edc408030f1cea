"""The relation probe against word-by-word loops, and its rules by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnwidget import AttentionModel, load_model
from attnwidget.kernels.governors import GovernorHits, predicted_governors
from attnwidget.kernels.word_maps import WordMaps
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words.relations import (
    DIRECTIONS,
    RelationAccuracies,
    RelationHits,
    probe_relations,
)
from attnwidget.words.word_segments import WordSegmenter
from fixtures.probed_sentences import SENTENCES, reader
from fixtures.tiers import only_first_is_fast
from fixtures.vocabularies import byte_level, sentencepiece, wordpiece
from references import reference_language as reference

VOCABULARIES: dict[str, Callable[[], Any]] = {
    "wordpiece": wordpiece,
    "byte level": lambda: byte_level(prefix=True),
    "roberta": lambda: byte_level(roberta=True),
    "sentencepiece": sentencepiece,
    "spaces marked": lambda: sentencepiece(split=False),
}


@pytest.fixture(scope="module", params=VOCABULARIES)
def model(request: pytest.FixtureRequest) -> AttentionModel:
    return reader(VOCABULARIES[request.param]())


def reference_maps(
    model: AttentionModel, sentences: Sequence[Sentence], unit: str
) -> list[list[list[np.ndarray]]]:
    """For each sentence, layer and head the map between words, from `attend` and loops."""
    maps = []
    for sentence in sentences:
        attention = model.attend(list(sentence.words))
        axis = attention.stacks["self"].query
        weights = attention.weights()
        words = dict.fromkeys(word for word in axis.words if word is not None)
        groups = [[i for i, own in enumerate(axis.words) if own == word] for word in words]
        maps.append(
            [
                [reference.word_map(head.astype("f8"), groups, unit) for head in layer]
                for layer in weights
            ]
        )
    return maps


def check(
    found: RelationAccuracies, maps: Any, sentences: Sequence[Sentence], possessive: str | None
) -> None:
    """Every head, direction, relation and offset of `found` against the loops."""
    n_layers, n_heads = found.correct.shape[:2]
    by_offset = {
        offset: [
            reference.judged(reference.offset_governors(len(s), offset), s, possessive)
            for s in sentences
        ]
        for offset in found.offsets
    }
    hits: dict[str, dict[tuple[int, int, int], int]] = {}
    for place in np.ndindex(n_layers, n_heads, 2):
        layer, head, direction = place
        right = [
            reference.judged(reference.governors(own[layer][head], direction), s, possessive)
            for own, s in zip(maps, sentences, strict=True)
        ]
        rows = reference.count(right, sentences)
        assert set(rows) == set(found.relations)
        for r, name in enumerate(found.relations):
            assert (found.correct[(*place, r)], found.counts[r]) == rows[name]
            hits.setdefault(name, {})[layer, head, direction] = rows[name][0]
        for o, offset in enumerate(found.offsets):
            shared = [
                [a and b for a, b in zip(*pair, strict=True)]
                for pair in zip(right, by_offset[offset], strict=True)
            ]
            both = reference.count(shared, sentences)
            assert [both[name][0] for name in found.relations] == list(
                found.both_correct[(*place, o)]
            )
    best = found.best(1, skip=()).set_index("relation")
    for name in found.relations:
        row = best.loc[name]
        right, offset = reference.best_offset(sentences, name, found.offsets, possessive)
        assert (row["baseline"] * row["n"], row["offset"]) == (pytest.approx(right), offset)
        top, place = reference.best_head(hits[name])
        assert (row["layer"], row["head"], DIRECTIONS.index(row["direction"])) == place
        assert row["accuracy"] == top / row["n"]


@pytest.mark.parametrize("unit", only_first_is_fast(["words", "first", "tokens"]))
@pytest.mark.parametrize("possessive", ["clark", None])
def test_the_probe_equals_the_loops(model: AttentionModel, unit: Any, possessive: Any) -> None:
    found = probe_relations(
        model, SENTENCES, unit=unit, possessive=possessive, batch_size=3, progress=False
    )
    check(found, reference_maps(model, SENTENCES, unit), SENTENCES, possessive)
    assert found.relations[:2] == ("all", "det")
    assert "nsubj (all)" in found.relations and "aux (all)" not in found.relations
    assert (found.n_sentences, found.n_skipped, found.complete) == (7, 0, True)


@pytest.mark.slow
@pytest.mark.data
def test_the_probe_equals_the_loops_on_a_treebank(data: Path) -> None:
    sentences = load_treebank(data / "ewt/en_ewt-ud-dev.conllu.gz")[::40][:50]
    model = load_model()
    found = probe_relations(model, sentences, batch_size=1, progress=False)
    maps = []
    for sentence in sentences:
        weights = model.attend(list(sentence.words))
        axis = WordSegmenter(model)(sentence.running)
        pooling = np.zeros((len(axis.words) + 2, len(sentence)))
        pooling[np.arange(len(axis.words)) + 1, axis.words] = 1
        maps.append((pooling / pooling.sum(0)).T @ weights.weights().astype("f8") @ pooling)
    check(found, maps, sentences, "clark")


def test_a_batch_changes_nothing(model: AttentionModel) -> None:
    alone = probe_relations(model, SENTENCES, batch_size=1, progress=False)
    together = probe_relations(model, SENTENCES[::-1], batch_size=7, progress=False)
    assert alone.relations == together.relations
    np.testing.assert_array_equal(alone.correct, together.correct)
    np.testing.assert_array_equal(alone.both_correct, together.both_correct)


@pytest.mark.slow
def test_predictions_of_a_sentence(model: AttentionModel) -> None:
    found = probe_relations(model, SENTENCES, progress=False)
    for sentence, maps in zip(SENTENCES, reference_maps(model, SENTENCES, "words"), strict=True):
        predicted = found.predictions(sentence)
        assert predicted.governors.shape == predicted.weights.shape == (2, 4, 2, len(sentence))
        for layer, head in np.ndindex(2, 4):
            own = maps[layer][head]
            np.testing.assert_allclose(predicted.map(layer, head), own, atol=1e-6)
            for direction in range(2):
                expected = reference.governors(own, direction)
                assert predicted.governors[layer, head, direction].tolist() == expected
                for word, governor in enumerate(expected):
                    pair = (word, governor - 1) if direction == 0 else (governor - 1, word)
                    weight = predicted.weights[layer, head, direction, word]
                    assert weight == pytest.approx(own[pair], abs=1e-6)
    assert "8 words" in repr(found.predictions(SENTENCES[-1]))


@given(seed=st.integers(0, 2**31 - 1), m=st.integers(1, 7))
def test_the_first_of_equals_is_predicted(seed: int, m: int) -> None:
    maps = np.random.default_rng(seed).integers(0, 3, (2, m, m)) / 4  # ties, rows of zeros
    got = predicted_governors(torch.from_numpy(maps.copy())).numpy() + 1
    for own, predicted in zip(maps, got, strict=True):
        for direction in range(2):
            assert predicted[direction].tolist() == reference.governors(own, direction)


@given(seed=st.integers(0, 2**31 - 1), m=st.integers(1, 7))
def test_hits_are_where_predictions_are_the_governors(seed: int, m: int) -> None:
    random = np.random.default_rng(seed)
    maps = torch.from_numpy(random.integers(0, 3, (2, 3, m, m)).astype("f4") / 4)
    maps[1] *= 1e-40  # the smallest floats there are keep their order as well
    governors = torch.from_numpy(random.integers(-2, m, (2, m)))
    expected = predicted_governors(maps.clone()) == governors[:, None, None]
    assert torch.equal(GovernorHits(governors)(maps), expected)


@given(seed=st.integers(0, 2**31 - 1), words=st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_word_maps_equal_the_reference(seed: int, words: list[int]) -> None:
    owner = np.repeat(np.arange(len(words)), words)
    weights = np.random.default_rng(seed).random((1, 2, len(owner) + 3, len(owner) + 3))
    owners = torch.full((2, len(owner) + 3), -1)
    owners[0, np.arange(len(owner)) + 1] = torch.from_numpy(
        owner
    )  # one special token before, two after
    owners[1, :2] = torch.tensor([0, len(words)])  # another text has a word more
    got = WordMaps(owners)(torch.from_numpy(weights).float().repeat(2, 1, 1, 1)).numpy()
    assert not got[0, ..., -1].any() and not got[0, :, -1].any()  # no word: padding
    groups = [list(np.flatnonzero(owner == k) + 1) for k in range(len(words))]
    for head in range(2):
        expected = reference.word_map(weights[0, head], groups)
        np.testing.assert_allclose(got[0, head, :-1, :-1], expected, atol=1e-5)


def judge(sentence: Sentence, predicted: list[int], possessive: Any = "clark") -> list[bool]:
    batch = RelationHits(
        [sentence],
        [[0] * len(sentence)],
        n_labels=1,
        offsets=[1],
        possessive=possessive,
        n_words=len(sentence),
        device=torch.device("cpu"),
    )
    return batch.right(torch.tensor([predicted]) - 1)[0].tolist()


@pytest.mark.parametrize(
    ("words", "relation", "predicted", "possessor_right"),
    [
        ("the cat 's mat sat", "poss", [2, 1, 4, 5, 1], True),  # by what the clitic has
        ("the cat 's mat sat", "nmod:poss", [2, 1, 4, 5, 1], True),
        ("the cat 's mat sat", "nmod:poss", [2, 4, 1, 5, 1], False),  # right itself, not asked
        ("the cat 's mat sat", "nmod:poss", [2, 5, 4, 5, 1], False),  # itself says the last word
        ("the cat ' mat sat", "poss", [2, 4, 1, 5, 1], True),  # no such clitic
        ("the cat 's mat sat", "nmod", [2, 4, 1, 5, 1], True),  # no such relation
        ("the cat 'S mat sat", "poss", [2, 1, 4, 5, 1], False),
    ],
)
def test_possessors(words: str, relation: str, predicted: list[int], possessor_right: bool) -> None:
    relations = ["det", relation, "case", "nsubj", "root"]
    sentence = Sentence.from_lists(words.split(), [2, 4, 2, 5, 0], relations)
    assert judge(sentence, predicted)[1] is possessor_right
    assert judge(sentence, predicted) == reference.judged(predicted, sentence, "clark")
    assert judge(sentence, predicted, None) == reference.judged(predicted, sentence, None)


def test_a_possessor_at_the_end() -> None:
    last = Sentence.from_lists(["mat", "cat"], [0, 1], ["root", "poss"])
    assert judge(last, [2, 1]) == [False, True]


def test_a_relation_that_is_always_right_stays() -> None:
    found = probe_relations(reader(wordpiece()), SENTENCES[3:4], offsets=[1, -1], progress=False)
    assert found.relations == ("all", "case", "nmod:poss", "nsubj", "root")
    assert found.baseline.tolist() == [0.25, 1, 0, 1, 0]
    assert found.baseline_offset.tolist() == [1, -1, 1, 1, 1]  # the larger of equals


def test_negative_offsets_can_name_the_root() -> None:
    found = probe_relations(reader(wordpiece()), SENTENCES[5:6], progress=False)
    assert found.baseline.tolist() == [1, 1]
    assert found.baseline_offset.tolist() == [-1, -1]
    assert not found.correct.any()


def test_special_tokens_as_answers_are_wrong(model: AttentionModel) -> None:
    found = probe_relations(model, SENTENCES, special_tokens=True, possessive=None, progress=False)
    without = probe_relations(model, SENTENCES, possessive=None, progress=False)
    right = np.zeros(found.correct.shape[:3], int)
    for sentence in SENTENCES:
        attention = model.attend(list(sentence.words))
        axis = attention.stacks["self"].query
        owners = [word for word in axis.words if word is not None]
        is_text = [word is not None for word in axis.words]
        first, last = is_text.index(True), len(is_text) - is_text[::-1].index(True)
        words = list(dict.fromkeys(owners))
        groups = [list(range(first))] if first else []
        groups += [[i for i, own in enumerate(axis.words) if own == word] for word in words]
        groups += [list(range(last, len(is_text)))] if last < len(is_text) else []
        offset = 1 if first else 0
        for layer, head in np.ndindex(attention.weights().shape[:2]):
            weights = attention.weights(layer, head).astype("f8")
            between = reference.word_map(weights, groups, "words")
            np.fill_diagonal(between, 0)
            for word, governor in enumerate(sentence.governors):
                row, column = between[word + offset], between[:, word + offset]
                for direction, values in enumerate((row, column)):
                    predicted = int(np.argmax(values)) - offset
                    right[layer, head, direction] += governor > 0 and predicted == governor - 1
    assert found.special_tokens and found.other_texts is None
    np.testing.assert_array_equal(found.correct[..., 0], right)
    np.testing.assert_array_equal(found.baseline_correct, without.baseline_correct)
    assert (found.correct <= without.correct).all()
