"""The probe of pairs: what it reads, a planted head, labels without sense, baselines, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tqdm.std import tqdm

from attnwidget import HeadGrid, Sentence, load_model, load_probe
from attnwidget.charts.accuracy_bars import accuracy_bars
from attnwidget.demo import demo_treebank
from attnwidget.probes import train_pair_probe
from attnwidget.probes.features import extract_features
from attnwidget.probes.pairs.pair_classifiers import PairClassifier, right, train_classifiers
from attnwidget.probes.pairs.pair_examples import FARTHEST, PairExamples, dependency_pairs
from attnwidget.probes.pairs.pair_result import PairProbe, pair_scores
from attnwidget.probes.pairs.train_pair_probe import relation_counts
from attnwidget.text.word_vectors import WordVectors
from attnwidget.words.relation_results import DIRECTIONS
from fixtures.annotated_sentences import SENTENCES, maps_of
from refusals import naming

N_HEADS = 6
RELATIONS = ("a", "b", "c")


def random_sentences(n: int, seed: int, relations: Sequence[str] = RELATIONS) -> list[Sentence]:
    """Sentences with random trees and relations, from two words on."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(n):
        m = int(random.integers(2, 12))
        order = random.permutation(m)
        governors = np.zeros(m, int)
        for place in range(1, m):
            governors[order[place]] = order[random.integers(0, place)] + 1
        labels = tuple(random.choice(relations, m).tolist())
        words = tuple(f"w{i}" for i in range(m))
        made.append(Sentence(words, tuple(governors.tolist()), labels, name=f"{seed}-{number}"))
    return made


def noise(sentence: Sentence, random: np.random.Generator) -> np.ndarray:
    """Maps [H, m + 2, m + 2] that know nothing."""
    m = len(sentence) + 2
    return random.dirichlet(np.ones(m), (N_HEADS, m)).astype(np.float16)


def probed(
    train: PairExamples, dev: PairExamples, n_relations: int = len(RELATIONS)
) -> tuple[dict[tuple[str, str], PairClassifier], np.ndarray, np.ndarray, np.ndarray]:
    found, _ = train_classifiers(train, n_relations, epochs=5, seed=0, bar=tqdm(disable=True))
    return found, *pair_scores(found, dev, n_relations, draws=200)


def examples(
    sentences: list[Sentence], maps: list[np.ndarray], directions: tuple[str, ...] = DIRECTIONS
) -> PairExamples:
    return PairExamples(sentences, maps, RELATIONS, directions, 0)


def test_a_vector_is_the_weights_between_two_words(tmp_path: Any) -> None:
    model = load_model()
    read = extract_features(model, SENTENCES, tmp_path, dtype="float32", progress=False)
    one = PairExamples(SENTENCES, read, ["obj"], DIRECTIONS, 0)
    [block] = one.blocks([0])
    pairs = one.pairs[0]
    maps, groups, _ = maps_of(model, SENTENCES[0].words)
    for row in range(len(pairs.related)):
        dependent = groups[pairs.dependents[row]]
        governor = groups[pairs.governors[row]]
        slow = [
            maps[:, :, a][..., b].sum(-1).mean(-1).ravel()
            for a, b in ((dependent, governor), (governor, dependent))
        ]
        # Rounding of a batch and of one sentence, which differs between processors.
        np.testing.assert_allclose(block.vectors["attention"][row], np.concatenate(slow), atol=3e-6)
        assert block.vectors["offset"][row].argmax() - FARTHEST == (
            pairs.governors[row] - pairs.dependents[row]
        )
    assert block.vectors["attention"].shape == (16, 2 * 72)
    assert pairs.relations.tolist().count(0) == 1, "the one object"


def test_pairs_without_a_dependency_are_drawn_evenly_and_as_many() -> None:
    sentence = Sentence(tuple("abcd"), (2, 0, 2, 3), ("dep",) * 4)
    drawn = Counter[Any]()
    for seed in range(300):
        found = dependency_pairs(sentence, {"dep": 0}, np.random.default_rng(seed))
        assert found.balanced and found.related.tolist() == [True] * 3 + [False] * 3
        assert found.dependents[:3].tolist() == [0, 2, 3] and found.governors[:3].tolist() == [
            1,
            1,
            2,
        ]
        pairs = list(zip(found.dependents[3:].tolist(), found.governors[3:].tolist(), strict=True))
        assert len({*pairs}) == 3 and found.relations.tolist() == [0, 0, 0, -1, -1, -1]
        drawn.update(pairs)
    free = {(0, 2), (2, 0), (0, 3), (3, 0), (1, 3), (3, 1)}
    assert {*drawn} == free and all(110 < count < 190 for count in drawn.values())
    two = dependency_pairs(
        Sentence(("a", "b"), (0, 1), ("root", "dep")), {"dep": 0}, np.random.default_rng(0)
    )
    assert not two.balanced and two.related.tolist() == [True] and two.relations.tolist() == [0]
    alone = dependency_pairs(Sentence(("a",), (0,), ("root",)), {}, np.random.default_rng(0))
    assert not alone.balanced and not len(alone.related)


@pytest.mark.slow
def test_one_heads_large_weight_is_found_and_named() -> None:
    random = np.random.default_rng(0)
    parts = []
    for seed, n in ((1, 80), (2, 40)):
        sentences = random_sentences(n, seed)
        maps = [noise(one, random) * np.float16(0.3) for one in sentences]
        for sentence, own in zip(sentences, maps, strict=True):
            for word, governor in enumerate(sentence.governors):
                if governor:  # head 4, from the governor to its dependent
                    own[4, governor, word + 1] = 0.9
        parts.append(examples(sentences, maps))
    found, accuracies, counts, _ = probed(*parts)
    # No pair is wrong; the interval has the share of wrong pairs that few sentences can hide.
    accuracy, low, high = accuracies[0, 0].tolist()
    assert accuracy == high == 1 and 0.9 < low < 1
    assert np.abs(found["dependency", "attention"].weights).argmax() == N_HEADS + 4
    assert found["dependency", "attention"].weights[0, N_HEADS + 4] > 0
    assert accuracies[0, 3, 0] == 0.5 and counts[0] % 2 == 0
    assert accuracies[0, 1, 0] < 0.8 and accuracies[0, 2, 0] < 0.8


@pytest.mark.slow
def test_each_relation_is_found_by_its_head() -> None:
    random = np.random.default_rng(0)
    parts = []
    for seed, n in ((1, 80), (2, 40)):
        sentences = random_sentences(n, seed)
        maps = [noise(one, random) * np.float16(0.3) for one in sentences]
        for sentence, own in zip(sentences, maps, strict=True):
            for word, governor in enumerate(sentence.governors):
                if governor:
                    head = RELATIONS.index(sentence.relations[word]) + 1
                    own[head, word + 1, governor] = 0.9
        parts.append(examples(sentences, maps, (DIRECTIONS[0],)))
    found, accuracies, counts, confusion = probed(*parts)
    assert accuracies[1, 0, 0] > 0.99
    assert found["relation", "attention"].weights.argmax(1).tolist() == [1, 2, 3]
    assert confusion.sum() == counts[1] and np.trace(confusion) == accuracies[1, 0, 0] * counts[1]


@pytest.mark.slow
def test_a_probe_on_random_maps_is_at_chance() -> None:
    random = np.random.default_rng(0)
    parts = []
    for seed, n in ((1, 120), (2, 100)):
        sentences = random_sentences(n, seed)
        parts.append(examples(sentences, [noise(one, random) for one in sentences]))
    _, accuracies, counts, _ = probed(*parts)
    # Dirichlet rows of longer sentences are smaller, which no pair of one sentence tells apart.
    assert abs(accuracies[0, 0, 0] - 0.5) < 4 * 0.5 / np.sqrt(counts[0])
    assert abs(accuracies[1, 0, 0] - 1 / 3) < 4 * 0.5 / np.sqrt(counts[1])
    low, high = accuracies[0, 0, 1:]
    assert low < accuracies[0, 0, 0] < high


def test_two_sentences_with_one_direction_of_offsets_are_told_by_the_offset() -> None:
    chains = [
        Sentence(tuple("abcdefg"), (2, 3, 4, 5, 6, 7, 0), tuple("abcabca"), name=str(i))
        for i in range(40)
    ]
    random = np.random.default_rng(0)
    parts = [
        examples(own, [noise(one, random) for one in own]) for own in (chains[:30], chains[30:])
    ]
    _, accuracies, _, _ = probed(*parts)
    assert accuracies[0, 1, 0] == 1 and 0.5 < accuracies[0, 0, 0] < 1
    # The next word is no offset of a pair without a dependency, nor is the one before.
    assert accuracies[0, 2, 0] == 1


def test_right_is_judged_by_the_pairs_of_the_task() -> None:
    sentences = random_sentences(5, 0)
    random = np.random.default_rng(0)
    one = examples(sentences, [noise(own, random) for own in sentences])
    [block] = one.blocks(range(5))
    always = PairClassifier(
        np.zeros((1, 2 * FARTHEST + 1)), np.array([1.0]), np.arange(2), np.ones(21), 1e-3
    )
    correct = right(always, block, "dependency", "offset")
    assert len(correct) == block.balanced.sum() and correct.mean() == 0.5


@pytest.fixture(scope="module")
def probe() -> PairProbe:
    trees = demo_treebank()
    return train_pair_probe(load_model(), trees[:60], trees[60:80], min_count=40, progress=False)


@pytest.mark.slow
def test_the_result_of_a_model(probe: PairProbe) -> None:
    n = len(probe.relations)
    assert probe.relations[:2] == ("punct", "det") and (probe.relation_counts >= 40).all() and n > 3
    assert probe.dependency_weights.shape == (2, 6, 12)
    assert probe.relation_weights.shape == (n, 2, 6, 12)
    frame = probe.to_frame()
    assert frame["predictor"].tolist() == ["attention", "offset", "distance", "majority"] * 2
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all()
    value = frame.set_index(["task", "predictor"])["value"]
    assert value["dependency", "attention"] > value["dependency", "offset"] > 0.6
    assert value["dependency", "majority"] == 0.5
    assert value["relation", "attention"] > value["relation", "offset"] > 0.3
    assert probe.confusions().loc["det", "det"] > 10
    assert probe.confusion.sum() == probe.counts[1]
    assert set(frame["alpha"].dropna()) <= {1e-6, 1e-5, 1e-4, 1e-3, 1e-2}
    assert "det" in str(probe.confusions()) and repr(probe).startswith("PairProbe(small BERT")
    heads = probe.heads()
    assert len(heads) == 2 * (n + 1)
    own = heads["dependency, governor to dependent"]
    assert (own == probe.dependency_weights[1]).all()
    drawn = probe.chart().to_dict()
    assert "offset alone" in str(drawn) and f"which of {n} relations" in str(drawn)
    with pytest.raises(TypeError, match=naming("DataFrame", "list")):
        accuracy_bars([], title="x")  # type: ignore[arg-type]


@pytest.mark.slow
def test_its_coefficients_color_a_grid(probe: PairProbe) -> None:
    grid = HeadGrid(load_model().attend("The cat sat."), metrics=probe)
    assert {*grid.metrics["self"]} == {*probe.heads()}
    grid.close()


def test_two_relations_and_one_direction() -> None:
    trees = demo_treebank()
    found = train_pair_probe(
        load_model(), trees[:20], trees[20:30], direction="governor to dependent",
        min_count=36, epochs=2, progress=False,
    )  # fmt: skip
    assert len(found.relations) == 2
    np.testing.assert_array_equal(found.relation_weights[0], -found.relation_weights[1])
    assert {*found.heads()} == {"dependency", *found.relations}


def test_a_treebank_of_one_relation_is_refused_with_a_way_out() -> None:
    for relations, relation in ((("a",), "relation 'a'"), ((), "no relation")):
        sentences = random_sentences(3, 0, relations) if relations else []
        with pytest.raises(ValueError, match=naming("train", relation, "probe_relations")):
            relation_counts(sentences, 1)


@pytest.mark.slow
def test_it_is_saved_and_refuses_another_model(probe: PairProbe, tmp_path: Path) -> None:
    path = probe.save(tmp_path / "pairs.npz")
    again = load_probe(path, load_model())
    assert isinstance(again, PairProbe) and again.to_frame().equals(probe.to_frame())
    assert (again.directions, again.relations) == (probe.directions, probe.relations)
    for title, weights in probe.heads().items():
        np.testing.assert_array_equal(again.heads()[title], weights)
    assert (again.confusions() == probe.confusions()).all(axis=None) and repr(again) == repr(probe)
    with pytest.raises(ValueError, match=naming("trained on", "other weights")):
        load_probe(path, load_model("attnwidget/genre"))
    with pytest.raises(TypeError, match=naming("pairs", "vectors")):
        load_probe(path, vectors=WordVectors(["a"], [[1, 2]]))
    with pytest.raises(ValueError, match=naming("pairs.npz", "'pairs.txt'")):
        probe.save(tmp_path / "pairs.txt")


HOW: dict[str, Any] = {"min_count": 30, "epochs": 3, "progress": False}


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ctrl-C comes when so many blocks were read."""
    blocks = PairExamples.blocks
    left = [0]

    def interrupted(self: PairExamples, order: Sequence[int]) -> Any:
        for block in blocks(self, order):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            yield block

    monkeypatch.setattr(PairExamples, "blocks", interrupted)
    return left


@pytest.mark.slow
@pytest.mark.parametrize("epochs_done", [1, 2])
def test_each_restart_makes_the_same_bits(
    tmp_path: Path, stops: list[int], epochs_done: int
) -> None:
    given = load_model(), demo_treebank()[:40], demo_treebank()[60:]
    options: Any = {"min_count": 10, "epochs": 3, "cache": tmp_path / "maps", "progress": False}
    whole = train_pair_probe(*given, **options)
    stops[0] = epochs_done + 2  # one block finds the spread, and each epoch has one block
    resume = tmp_path / "pairs.npz"
    assert not train_pair_probe(*given, resume=resume, **options).complete
    again = train_pair_probe(*given, resume=resume, **options)
    for name, values in vars(whole).items():
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(getattr(again, name), values, err_msg=name)


@pytest.mark.slow
def test_a_restart_makes_the_same_bits(tmp_path: Path, stops: list[int]) -> None:
    given = load_model(), demo_treebank()[:20], demo_treebank()[20:30]
    whole = train_pair_probe(*given, **HOW)
    stops[0] = 4  # one that finds the spread, one an epoch
    resume = tmp_path / "pairs.npz"
    half = train_pair_probe(*given, resume=resume, **HOW)
    assert not half.complete and "interrupted" in repr(half) + str(half.chart().to_dict())
    again = train_pair_probe(*given, resume=resume, **HOW)
    assert again.complete and again.to_frame().equals(whole.to_frame())
    for name in ("dependency_weights", "relation_weights"):
        assert (getattr(again, name) == getattr(whole, name)).all()
        assert (getattr(half, name) != getattr(whole, name)).any()
    with pytest.raises(ValueError, match=naming("pairs.npz", "seed", "1", "another")):
        train_pair_probe(*given, resume=resume, **HOW | {"seed": 1})
    stops[0] = 2
    with pytest.raises(KeyboardInterrupt):
        train_pair_probe(*given, **HOW)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"direction": "up"}, ("direction", "'dependent to governor'", "'up'")),
        ({"min_count": 0}, ("min_count", "got 0")),
        ({"epochs": 0}, ("epochs", "0", "least")),
        ({"min_count": 1000}, ("0 relations", "1,000 dependencies", "min_count", "4")),
        ({"dev": demo_treebank()[:3]}, ("1 of the 3", "dev", "train")),
        ({"dev": [SENTENCES[2]]}, ("dev", "three words")),
        ({"train": []}, ("train", "no sentences")),
        ({"train": demo_treebank()[2:3]}, ("0 sentences", "'dependency'")),
    ],
)
def test_arguments_that_cannot_be(change: dict[str, Any], parts: tuple[str, ...]) -> None:
    trees = demo_treebank()
    given: dict[str, Any] = {"train": trees[2:4], "dev": trees[6:8], "min_count": 1} | change
    with pytest.raises(ValueError, match=naming(*parts)):
        train_pair_probe(
            load_model(), given.pop("train"), given.pop("dev"), progress=False, **given
        )
