"""The structural probe: against a slow reference, on vectors that are trees, interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tqdm.std import tqdm

from attnwidget import Sentence, load_model, load_probe
from attnwidget.charts.score_panels import score_panels
from attnwidget.demo import demo_treebank
from attnwidget.kernels.minimum_spanning_tree import spanning_edges
from attnwidget.kernels.tree_distances import tree_depths, tree_distances
from attnwidget.probes import train_structural_probe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.probes.structural.structural_runs import StructuralRun, StructuralRuns, scores_of
from attnwidget.probes.structural.structural_scores import (
    MEASURES,
    GoldTree,
    TreeScores,
    chain_scores,
    punctuation_rule,
)
from attnwidget.probes.structural.structural_training import (
    MapDescent,
    StructuralTraining,
    TreeBatch,
    VectorTrees,
)
from attnwidget.probes.untrained_model import untrained_like
from references import reference_structural as reference
from refusals import naming

TREES = demo_treebank()
TAGS = ["NN", "VB", ".", ",", "-LRB-", "$", "HYPH"]


def random_sentences(
    n: int, most: int, seed: int = 0, *, least: int = 1, root: bool = False
) -> list[Sentence]:
    """Sentences whose trees are of every shape, with some punctuation, the root too or never."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(n):
        m = int(random.integers(least, most + 1))
        order = random.permutation(m)
        governors = np.zeros(m, int)
        for place in range(1, m):
            governors[order[place]] = order[random.integers(0, place)] + 1
        tags = random.choice(TAGS, m).tolist()
        if root:
            tags[order[0]] = "NN"
        made.append(
            Sentence(
                tuple(f"w{i}" for i in range(m)),
                tuple(governors.tolist()),
                ("dep",) * m,
                xpos=tuple(tags),
                name=f"{seed}-{number}",
            )
        )
    return made


def tree_vectors(sentence: Sentence, dim: int) -> np.ndarray:
    """[m, dim]: an axis an edge, 1 where the edge is on the way from the root to the word."""
    vectors = np.zeros((len(sentence), dim))
    for word in range(len(sentence)):
        at = word + 1
        while sentence.governors[at - 1]:
            vectors[word, at - 1] = 1
            at = sentence.governors[at - 1]
    return vectors


def random_trees(n: int, dim: int, n_layers: int, seed: int) -> VectorTrees:
    random = np.random.default_rng(seed)
    sentences = random_sentences(n, 9, seed)
    return VectorTrees(sentences, [random.normal(size=(n_layers, len(s), dim)) for s in sentences])


def trained(
    train: VectorTrees, dev: VectorTrees, *, rank: int, epochs: int, **how: Any
) -> StructuralRun:
    made = StructuralRuns(
        epochs=epochs, file=None, bar=tqdm(disable=True), **{"batch_size": 20, "rate": 0.001} | how
    ).run("probe", (train, dev), rank, 0)
    assert made is not None
    return made


def test_distances_and_depths_of_random_trees() -> None:
    for sentence in random_sentences(50, 30):
        assert (tree_distances(sentence.governors) == reference.distances(sentence.governors)).all()
        assert (tree_depths(sentence.governors) == reference.depths(sentence.governors)).all()


def test_loss_and_gradient_are_those_of_the_paper() -> None:
    trees = random_trees(7, 5, 2, 0)
    random = np.random.default_rng(1)
    maps = random.normal(size=(2, 5, 3))
    batch = trees.batch(range(7), torch.float64)
    assert isinstance(batch, TreeBatch) and len({*trees.lengths}) > 2
    for task, slow in enumerate([reference.distance_loss, reference.depth_loss]):
        given = torch.tensor(maps, requires_grad=True)
        losses = batch.losses(task, [0, 1], given)
        losses.mean(-1).sum().backward()
        for layer in range(2):
            own = [
                slow(trees.vectors[i][layer], trees.gold[i][task], maps[layer]) for i in range(7)
            ]
            np.testing.assert_allclose(losses[layer].detach(), [loss for loss, _ in own], rtol=1e-9)
            slope = np.mean([slope for _, slope in own], axis=0)
            assert given.grad is not None
            np.testing.assert_allclose(given.grad[layer], slope, rtol=1e-6, atol=1e-9)


def test_a_layer_alone_is_as_among_others() -> None:
    batch = random_trees(4, 5, 3, 0).batch(range(4))
    maps = torch.ones(3, 5, 2)
    together = batch.losses(0, [0, 1, 2], maps)
    torch.testing.assert_close(batch.losses(0, [2], maps[2:]), together[2:])


def test_the_rate_falls_whenever_the_loss_does_not_and_the_best_map_is_kept() -> None:
    descent = MapDescent(torch.zeros(2, 1), 0.1)
    rates = []
    for epoch, loss in enumerate([3.0, 2.0, 2.5, 1.99999, 1.0]):
        descent.map.data += 1
        descent.after_epoch(epoch, loss)
        rates.append(descent.rate)
    # By less than a ten-thousandth is no fall.
    np.testing.assert_allclose(rates, [0.1, 0.1, 0.01, 0.001, 0.001])
    assert descent.best_loss == 1 and (descent.best == 5).all() and not descent.done


def test_a_layer_ends_when_its_best_is_too_long_ago_and_keeps_it() -> None:
    falling, level = (MapDescent(torch.zeros(1, 1), 1.0) for _ in range(2))
    for epoch in range(6):
        for one, loss in ((falling, 1.0 - 0.1 * epoch), (level, 1.0 - 1e-5 * epoch)):
            one.map.data += 1
            one.after_epoch(epoch, loss)
    assert (falling.done, level.done) == (False, True)
    assert (float(falling.best), float(level.best)) == (6, 1)


def test_scores_are_those_of_the_reference() -> None:
    sentences = random_sentences(40, 12, least=2)
    random = np.random.default_rng(0)
    gold = [GoldTree.from_sentence(one, "xpos") for one in sentences]
    scores = TreeScores(gold, 2)
    slow = []
    for index, sentence in enumerate(sentences):
        m = len(sentence)
        # Whole numbers, so that there are ties.
        distances = random.integers(1, 6, (2, m, m)).astype(float)
        distances = np.triu(distances, 1) + np.triu(distances, 1).mT
        depths = random.normal(size=(2, m))
        scores.add(index, distances, depths)
        slow.append({"governors": sentence.governors, "xpos": sentence.xpos,
                     "distances": distances[1], "depths": depths[1]})  # fmt: skip
    found = scores.estimates(draws=200)
    np.testing.assert_allclose(found[0, :, 1], reference.scores(slow), rtol=1e-9)
    assert (found[1] < found[0]).all() and (found[0] < found[2]).all()


def test_the_chain_knows_trees_that_are_chains() -> None:
    chain = Sentence(tuple("abcdef"), (0, 1, 2, 3, 4, 5), ("dep",) * 6, xpos=("NN",) * 6)
    other = Sentence(tuple("abcdef"), (2, 3, 4, 5, 6, 0), ("dep",) * 6, xpos=("NN",) * 6)
    found = chain_scores(
        [GoldTree.from_sentence(one, "xpos") for one in (chain, other)]
    ).estimates()
    np.testing.assert_allclose(found[0, :, 0], [1, 1, 0.5, 0])


def test_what_is_not_counted_is_no_number() -> None:
    short = Sentence(("a", "b"), (0, 1), ("root", "dep"), xpos=("NN", "."))
    found = chain_scores([GoldTree.from_sentence(short, "xpos")]).estimates()
    assert np.isnan(found[0, [0, 1, 3], 0]).all() and found[0, 2, 0] == 1


def test_vectors_that_are_trees_are_read_without_error() -> None:
    dim = 12
    sentences = random_sentences(30, dim, least=2, root=True)
    vectors = [np.stack([tree_vectors(one, dim)] * 2) for one in sentences]
    dev = VectorTrees(sentences, vectors)
    identity = np.stack([np.eye(dim, dtype=np.float32)] * 2)
    run = StructuralRun(dim, 0, 1, identity, identity, np.zeros((2, 2)), True)
    gold = [GoldTree.from_sentence(one, "xpos") for one in sentences]
    estimates, deviations = scores_of([run], dev, gold)
    values, low, high = estimates
    np.testing.assert_allclose(values, 1)
    np.testing.assert_allclose(high, 1)
    # Of 30 sentences, none is wrong. Another one may be wrong: UUAS and roots are shares.
    assert (low[[0, 2]] < 0.95).all() and (low[[0, 2]] > 0.85).all()
    np.testing.assert_allclose(low[[1, 3]], 1)
    assert np.isnan(deviations).all()


@pytest.mark.slow
def test_training_finds_trees_behind_a_rotation() -> None:
    dim = 8
    random = np.random.default_rng(0)
    turned = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    parts = []
    for seed, n in ((1, 160), (2, 40)):
        sentences = random_sentences(n, dim, seed, least=3, root=True)
        noise = [random.normal(size=(len(one), dim)) for one in sentences]
        made = [
            np.stack([tree_vectors(s, dim) @ turned, x])
            for s, x in zip(sentences, noise, strict=True)
        ]
        parts.append(VectorTrees(sentences, made))
    train, dev = parts
    run = trained(train, dev, rank=dim, epochs=30, rate=0.02, batch_size=10)
    gold = [GoldTree.from_sentence(one, "xpos") for one in dev.sentences]
    estimates, _ = scores_of([run], dev, gold)
    assert (estimates[0, :, 0] > 0.9).all(), "the layer that has the tree"
    assert (estimates[0, :, 1] < 0.7).all(), "the layer of noise"
    assert (run.dev_losses[:, 0] < 0.1).all()


def test_ties_go_to_the_first_pair_and_words_may_fall_together() -> None:
    random = np.random.default_rng(0)
    for _ in range(30):
        distances = random.integers(0, 3, (7, 7))
        distances = np.triu(distances, 1) + np.triu(distances, 1).T
        kept = random.random(7) < 0.8
        tags = ["NN" if own else "." for own in kept]
        assert spanning_edges(distances, kept) == reference.spanning_edges(distances, tags)


def test_what_tells_punctuation() -> None:
    plain = Sentence(("Hi", "!"), (0, 1), ("root", "punct"))
    assert punctuation_rule(TREES) == "xpos"
    assert punctuation_rule([plain]) == "relation"
    universal = Sentence(("Hi", "!"), (0, 1), ("root", "punct"), ("INTJ", "PUNCT"), ("ITJ", "PUN"))
    assert punctuation_rule([universal, universal]) == "upos"
    for sentence, rule in ((plain, "relation"), (universal, "upos")):
        assert GoldTree.from_sentence(sentence, rule).kept.tolist() == [True, False]  # type: ignore[arg-type]
    alone = Sentence(("!", "?"), (2, 0), ("punct", "root"), xpos=(".", "."))
    assert GoldTree.from_sentence(alone, "xpos").root_of(np.array([1, 0])) == 1


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> StructuralProbe:
    return train_structural_probe(
        load_model(), TREES[:20], TREES[40:56], layers=[1, 4], rank=[None, 3], seeds=2, epochs=2,
        untrained=True, progress=False,
        resume=tmp_path_factory.mktemp("structural") / "trained.npz",
    )  # fmt: skip


@pytest.mark.slow
def test_the_result_has_every_rank_layer_and_baseline(probe: StructuralProbe) -> None:
    assert (probe.layers, probe.ranks, probe.n_seeds) == ((1, 4), (3, 240), 2)
    assert probe.scores.shape == (2, 3, 4, 2) and probe.complete
    assert [(run.rank, run.seed, run.epochs) for run in probe.runs] == [
        (3, 0, 2),
        (240, 0, 2),
        (3, 1, 2),
        (240, 1, 2),
    ]
    frame = probe.to_frame()
    assert len(frame) == (2 + 1) * 2 * 4 + 4 and frame.attrs["model"] == probe.model_name
    row = frame[(frame["rank"] == 3) & (frame["layer"] == 4) & (frame["measure"] == "UUAS")]
    assert row["value"].item() == probe.uuas[0, 1] and row["deviation"].item() >= 0
    chain = frame[frame["predictor"] == "chain"]
    assert chain["layer"].isna().all() and chain["measure"].tolist() == [*MEASURES]
    assert probe.untrained is not None and not np.allclose(probe.untrained[0], probe.scores[1, 0])
    for named, place in (("dspr", 1), ("root_accuracy", 2), ("nspr", 3)):
        assert (getattr(probe, named) == probe.scores[:, 0, place]).all()
    assert "240" in repr(probe) and "chain" in repr(probe)


@pytest.mark.slow
def test_charts_by_layer_and_by_rank(probe: StructuralProbe) -> None:
    by_rank = probe.chart().to_dict()
    by_layer = probe.chart("layer", rank=3).to_dict()
    assert "rank (logarithmic)" in str(by_rank) and "untrained" not in str(by_rank)
    assert "untrained" not in str(by_layer), "which has the largest rank alone"
    assert "untrained" in str(probe.chart("layer").to_dict()) and "rank 3" in str(by_layer)
    assert str(by_layer).count("chain 0.") == 4
    with pytest.raises(ValueError, match=naming("by", "'head'", "'layer'")):
        probe.chart("head")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=naming("DataFrame")):
        score_panels([], title="x")  # type: ignore[arg-type]


@pytest.mark.slow
def test_predictions_are_what_was_scored(probe: StructuralProbe) -> None:
    shared = edges = 0
    for sentence in TREES[40:56]:
        found = probe.predictions(sentence, layer=1, rank=3)
        shared += len({*found.edges} & {*found.gold_edges})
        edges += len(found.gold_edges)
        assert (found.gold_distances == reference.distances(sentence.governors)).all()
        assert sentence.governors[found.gold_root] == 0
        assert found.depths.argmin() == found.root or sentence.xpos[found.depths.argmin()] in ".,:"
    # That of the first seed, where the score is the mean over two.
    assert abs(shared / edges - probe.uuas[0, 0]) <= 2 * probe.deviations[0, 0, 0] + 1e-9
    assert probe.predictions(TREES[0]).rank == 240
    with pytest.raises(ValueError, match=naming("layer", "4", "got 2")):
        probe.predictions(TREES[0], layer=2)
    with pytest.raises(TypeError, match=naming("list", "str", "load_treebank")):
        probe.predictions("Cats purr")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_saved_probe_is_the_same_and_refuses_another_model(
    probe: StructuralProbe, tmp_path: Path
) -> None:
    path = probe.save(tmp_path / "probe.npz")
    with np.load(path, allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored.files)
    again = load_probe(path, load_model())
    assert repr(again) == repr(probe) and again.to_frame().equals(probe.to_frame())
    before, after = (one.predictions(TREES[50]) for one in (probe, again))
    assert (before.distances == after.distances).all() and before.edges == after.edges
    with pytest.raises(
        ValueError, match=naming("'small BERT (in the package)'", "load_probe", "for_model")
    ):
        load_probe(path).predictions(TREES[50])
    with pytest.raises(ValueError, match=naming("trained on", "other weights")):
        load_probe(path, untrained_like(load_model()))
    with (
        probe.model.disabled([(0, 0)]),
        pytest.raises(ValueError, match=naming("without L0 H0", "trained on")),
    ):  # type: ignore[union-attr]
        probe.predictions(TREES[50])
    np.savez(tmp_path / "other.npz", a=np.ones(2))
    with pytest.raises(ValueError, match=naming("other.npz", "holds no probe", "save()")):
        load_probe(tmp_path / "other.npz")
    with pytest.raises(ValueError, match=naming("probe.npz", "'probe.zip'")):
        probe.save(tmp_path / "probe.zip")


HOW: dict[str, Any] = {"layers": [3], "rank": 4, "progress": False}


@pytest.mark.slow
def test_a_restart_makes_the_same_bits(tmp_path: Path) -> None:
    given = load_model(), TREES[:20], TREES[20:26]
    whole = train_structural_probe(*given, epochs=4, **HOW)
    file = tmp_path / "half.npz"
    cache = tmp_path / "vectors"
    train_structural_probe(*given, epochs=2, resume=file, cache=cache, **HOW)
    resumed = train_structural_probe(*given, epochs=4, resume=file, cache=cache, **HOW)
    assert (resumed.runs[0].distance == whole.runs[0].distance).all()
    assert (resumed.runs[0].depth == whole.runs[0].depth).all() and resumed.runs[0].epochs == 4
    assert (resumed.scores == whole.scores).all() and any(cache.iterdir())
    with pytest.raises(ValueError, match=naming("half.npz", "layers", "[2]", "another")):
        train_structural_probe(*given, resume=file, **HOW | {"layers": [2]})


@pytest.mark.slow
def test_an_interruption_keeps_what_was_best_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    run_epoch = StructuralTraining.run_epoch
    calls = []

    def interrupted(self: StructuralTraining) -> None:
        calls.append(self.epoch)
        if len(calls) == stop:
            raise KeyboardInterrupt
        run_epoch(self)

    monkeypatch.setattr(StructuralTraining, "run_epoch", interrupted)
    given = (load_model(), TREES[:10], TREES[20:24])
    stop = 3
    found = train_structural_probe(*given, epochs=4, seeds=3, untrained=True, **HOW)
    assert not found.complete and found.runs[0].epochs == 2 and not found.runs[0].complete
    assert len(found.runs) == 1 and found.untrained is None and "interrupted" in repr(found)
    assert "training was interrupted" in str(found.chart().to_dict())
    calls.clear()
    stop = 1
    with pytest.raises(KeyboardInterrupt):
        train_structural_probe(*given, epochs=4, **HOW)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"layers": [6]}, ("layer 6", "5", "there")),
        ({"layers": "last"}, ("layers", "'all'", "list", "'last'")),
        ({"layers": []}, ("layers", "[]")),
        ({"rank": 241}, ("rank", "240", "241")),
        ({"rank": [4, 4]}, ("rank", "[4, 4]", "once")),
        ({"seeds": 0}, ("seeds", "0", "least")),
        ({"epochs": 0}, ("epochs", "0", "least")),
        ({"train": []}, ("train", "no sentences")),
        (
            {"dev": TREES[3:6]},
            ("1 of the 3", "dev", "train", "'news-04'"),
        ),
    ],
)
def test_arguments_that_cannot_be(change: dict[str, Any], parts: tuple[str, ...]) -> None:
    given: dict[str, Any] = {"train": TREES[:4], "dev": TREES[4:6], **HOW} | change
    with pytest.raises(ValueError, match=naming(*parts)):
        train_structural_probe(load_model(), given.pop("train"), given.pop("dev"), **given)


def test_what_has_no_trees_is_refused() -> None:
    with pytest.raises(TypeError, match=naming("load_treebank", "str")):
        train_structural_probe(load_model(), ["Cats purr"], TREES[:2])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=naming("load_model", "str")):
        train_structural_probe("bert", TREES[:2], TREES[2:4])  # type: ignore[arg-type]
