"""Dependency probes find what was planted, compute what is defined, and survive being killed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Sentence, load_model, load_probe, resume_from
from attnwidget.demo import demo_probe, demo_treebank
from attnwidget.kernels.spanning_tree import best_tree
from attnwidget.probes import train_dependency_probe
from attnwidget.probes.dependency import probe_fitting as fitting
from attnwidget.probes.dependency import train_dependency_probe as dependency
from attnwidget.probes.dependency.dependency_form import Form
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.dependency.probe_fitting import Fits, TrainingExamples, train_on
from attnwidget.probes.parse_scores import JudgedWords, control_governors, judged
from attnwidget.probes.untrained_model import untrained_like
from attnwidget.text.treebank import tree_fault
from attnwidget.text.word_vectors import WordVectors
from fixtures.planted_probes import HEADS, LAYERS, PlantedFeatures, sentences
from fixtures.probed_sentences import SENTENCES, reader
from fixtures.vocabularies import MAKERS
from references import reference_probes as reference
from refusals import naming

KINDS: list[Any] = ["attention", "attention+words", "distances+words"]
TRAIN = sentences(100)
DEV = sentences(25, seed=1)
WORDS = [f"w{i}" for i in range(40)]
VECTORS = WordVectors(WORDS, np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32), "v")


def planted(monkeypatch: pytest.MonkeyPatch, where: tuple[int, int] | None) -> Any:
    """`train_dependency_probe` of a model whose maps are planted."""
    monkeypatch.setattr(
        dependency,
        "extract_features",
        lambda model, given, folder, **options: PlantedFeatures(given, where),
    )

    def trained(kind: Any = "attention", **options: Any) -> DependencyProbe:
        return train_dependency_probe(load_model(), TRAIN, DEV, kind, progress=False, **options)

    return trained


# What is defined


def example(kind: str, seed: int = 0) -> tuple[Form, dict[str, torch.Tensor], Any, Any, list[int]]:
    """A form, its parameters for two seeds, maps and vectors, all in float64."""
    random = np.random.default_rng(seed)
    form = Form(kind, 6, 5 if kind != "attention" else 0)
    named = {
        name: torch.from_numpy(random.normal(size=(2, *shape)))
        for name, shape in form.shapes.items()
    }
    maps = torch.from_numpy(random.dirichlet(np.ones(6), (6, 6)))
    vectors = torch.from_numpy(random.normal(size=(4, 5)))
    return form, named, maps, vectors, [2, 0, 2, 3]


def by_definition(kind: str, own: dict[str, np.ndarray], maps: Any, vectors: Any) -> np.ndarray:
    if kind == "attention":
        return reference.attention(maps.numpy(), **own)
    if kind == "attention+words":
        return reference.attention_words(maps.numpy(), vectors.numpy(), **own)
    return reference.distances_words(vectors.numpy(), **own)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_definition(kind: str) -> None:
    form, named, maps, vectors, _ = example(kind)
    found = form.scores(named, maps, vectors).numpy()
    for seed in range(2):
        own = {name: values[seed].numpy() for name, values in named.items()}
        expected = by_definition(kind, own, maps, vectors)
        np.testing.assert_allclose(found[seed], expected, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_definition(kind: str) -> None:
    form, named, maps, vectors, governors = example(kind)
    flat = torch.cat([values.reshape(2, -1) for values in named.values()], 1).requires_grad_()
    adam = torch.optim.SGD([flat], lr=1.0)
    before = flat.detach().clone()
    one = fitting.TrainingExample(maps, vectors, torch.tensor(governors))
    train_on(form, flat, adam, one)  # type: ignore[arg-type]
    gradient = (before - flat.detach()).numpy()
    places = np.random.default_rng(0).choice(gradient.shape[1], 12, replace=False)
    for place in places:

        def loss(step: float, place: int = int(place)) -> float:
            moved = before.clone()
            moved[1, place] += step
            own = {name: values[1].numpy() for name, values in form.named(moved).items()}
            return reference.loss(by_definition(kind, own, maps, vectors), governors)

        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
        assert gradient[1, place] == pytest.approx(slope, abs=1e-6)


def test_the_paper_s_numbers_of_parameters() -> None:
    assert Form("attention", 144).n_parameters == 290
    assert Form("attention+words", 144, 100).n_parameters == 200 * 288 + 288 + 2
    assert Form("distances+words", 144, 100).n_parameters == 209 * 256 + 256 + 256 + 1
    start = Form("attention+words", 144, 100).start([3])
    assert start.shape == (1, 57890)
    named = Form("attention+words", 144, 100).named(start)
    assert not named["bias"].any() and named["root"].tolist() == [[1, 1]]
    reach = (6 / 488) ** 0.5
    assert 0.95 * reach < float(named["weights"].abs().max()) <= reach


def test_zero_word_vectors_give_the_attention_probe() -> None:
    form, named, maps, vectors, _ = example("attention+words")
    alone = Form("attention", 6).scores(
        {"weights": named["bias"], "root": named["root"]}, maps, None
    )
    own = named | {"weights": torch.zeros_like(named["weights"])}
    torch.testing.assert_close(form.scores(own, maps, vectors), alone)


@pytest.mark.slow
def test_seeds_that_are_trained_together_are_as_if_alone() -> None:
    examples = TrainingExamples(
        TRAIN, [one.governors for one in TRAIN], PlantedFeatures(TRAIN), VECTORS
    )
    form = Form("attention+words", 6, 5)
    options = {"epochs": 1, "learning_rate": 0.01}
    fits = Fits({}, progress=False)
    both = fits.fit("both", form, examples, seeds=[4, 9], **options)
    alone = fits.fit("alone", form, examples, seeds=[9], **options)
    torch.testing.assert_close(both.parameters[1:], alone.parameters, atol=1e-4, rtol=1e-4)


# What was planted


@pytest.mark.parametrize("direction", [0, 1])
def test_a_planted_map_is_found(monkeypatch: pytest.MonkeyPatch, direction: int) -> None:
    probe = planted(monkeypatch, (4, direction))(learning_rate=0.1, seeds=2)
    low, high = probe.scores.interval
    assert probe.uas == 1 and 0.85 < low < 1 and high == 1 and probe.scores.spread == 0
    weights = probe.weights.mean(0)  # [L, H, 2]
    assert np.unravel_index(weights.argmax(), weights.shape) == (1, 1, direction)
    # Whoever is governed is no governor: the other direction speaks against it.
    others = np.delete(np.abs(weights), 4 % HEADS, 1)
    assert weights.max() > 4 * others.max() and weights[1, 1, 1 - direction] < 0
    titles = list(probe.heads())
    assert titles == ["weight, dependent to governor", "weight, governor to dependent"]
    np.testing.assert_allclose(probe.heads()[titles[direction]], weights[..., direction])
    # [CLS] says root, [SEP] says nothing.
    root = probe.named["root"]
    assert (root[:, 0] > 0.5).all()


@pytest.mark.slow
def test_words_find_it_too_and_stand_beside_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = planted(monkeypatch, (2, 0))("attention+words", vectors=VECTORS, learning_rate=0.02)
    assert probe.uas > 0.9
    first, *_, last = probe.baselines
    assert (first, last) == ("right-branching", "distances+words")
    assert probe.baselines["distances+words"].uas < 0.6
    assert np.unravel_index(probe.heads()[DIRECTION].argmax(), (2, 3)) == (0, 2)
    frame = probe.to_frame()
    assert frame["predictor"].tolist() == list(probe.predictors())
    assert {"uas", "low", "high", "spread", "root", "dep"} <= {*frame.columns}
    assert frame["root"][0] == pytest.approx(probe.scores.by_relation()["root"][1])
    chart = probe.chart().to_dict()
    assert "attention+words" in json.dumps(chart)


DIRECTION = "weight, dependent to governor"


@pytest.mark.slow
def test_the_probe_finds_no_structure_in_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = planted(monkeypatch, None)(control=True, description_length=True)
    assert probe.selectivity is not None and probe.control is not None and probe.code is not None
    assert probe.uas < 0.3
    assert probe.selectivity == probe.uas - probe.control.uas < 0.05
    assert 0.95 < probe.code.bits_a_word / probe.code.uniform_bits_a_word < 1.1


@pytest.mark.slow
def test_what_is_found_is_selective_and_cheap_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = planted(monkeypatch, (0, 0))(control=True, description_length=True, learning_rate=0.05)
    assert probe.selectivity is not None and probe.code is not None
    assert probe.selectivity > 0.5
    assert probe.code.bits_a_word < 0.6 * probe.code.uniform_bits_a_word
    # Blocks are coded with what was learned before them.
    bounds = probe.code.bounds
    assert bounds[0] == 0 and bounds[-1] == len(TRAIN) and list(bounds) == sorted({*bounds})
    form = probe.form
    examples = TrainingExamples(
        TRAIN, [one.governors for one in TRAIN], PlantedFeatures(TRAIN, (0, 0)), None
    )
    before = Fits({}, progress=False).fit(
        "first", form, _first(examples, bounds[-2]), seeds=[0, 1, 2], epochs=1, learning_rate=0.05
    )
    bits = fitting.code_length(form, before.parameters, examples, bounds[-2], bounds[-1])
    np.testing.assert_allclose(probe.code.bits[-1], bits)


def _first(examples: TrainingExamples, n: int) -> TrainingExamples:
    return TrainingExamples(
        examples.sentences[:n], examples.governors[:n], examples.features, examples.vectors
    )


# Baselines, scores, trees


def test_scores_are_counted_without_punctuation() -> None:
    words = JudgedWords.from_sentences(SENTENCES[:2])
    governors = [one.governors for one in SENTENCES[:2]]
    guesses = [np.stack([one.governors, np.full(len(one), 3)]) for one in SENTENCES[:2]]
    found = judged(words, governors, guesses)
    threes = [g == 3 for s in SENTENCES[:2] for g, r in zip(s.governors, s.relations, strict=True)]
    kept = [r != "punct" for s in SENTENCES[:2] for r in s.relations]
    np.testing.assert_allclose(found.per_seed, [1, np.array(threes)[kept].mean()])
    assert found.uas == pytest.approx(found.per_seed.mean())
    assert found.uas_with_punctuation == pytest.approx((1 + np.mean(threes)) / 2)
    assert found.by_relation()["det"] == (3, 0.5)
    low, high = found.interval
    assert low < found.uas < high
    assert np.isnan(judged(words, governors, [g[:1] for g in guesses]).spread)


@pytest.mark.slow
def test_best_trees_are_the_best_of_all() -> None:
    random = np.random.default_rng(0)
    for _ in range(150):
        m = int(random.integers(1, 6))
        scores = random.normal(size=(m, m + 1)) * 3
        assert best_tree(scores).tolist() == reference.tree_by_trial(scores)


@pytest.mark.slow
def test_a_tree_is_decoded_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = planted(monkeypatch, None)
    tree = trained(decode="tree", seeds=1)
    words = trained(seeds=1)
    np.testing.assert_array_equal(tree.parameters, words.parameters)
    assert (tree.scores.hits != words.scores.hits).any()


@pytest.mark.slow
def test_the_answer_is_a_tree_when_asked_for(probe: DependencyProbe) -> None:
    sentence = demo_treebank()[82]
    decoded = replace(probe, options={**probe.options, "decode": "tree"}).predictions(sentence)
    assert tree_fault(probe.predictions(sentence).governors.tolist()) is not None
    assert tree_fault(decoded.governors.tolist()) is None


def test_a_control_governor_is_one_of_four_and_of_the_type() -> None:
    drawn: dict[str, set[str]] = {}
    for one in TRAIN:
        m = len(one)
        for i, (word, governor) in enumerate(
            zip(one.words, control_governors(one), strict=True), 1
        ):
            fitting_names = {0: "root", i: "itself", 1: "first", m: "last"}
            assert governor in fitting_names
            options = {
                n
                for g, n in [(0, "root"), (i, "itself"), (1, "first"), (m, "last")]
                if g == governor
            }
            drawn[word] = drawn.get(word, options) & options
    assert len(drawn) == 40 and all(len(kinds) == 1 for kinds in drawn.values())
    assert {next(iter(kinds)) for kinds in drawn.values()} == {"root", "itself", "first", "last"}


# A model


@pytest.fixture(scope="module")
def probe() -> DependencyProbe:
    given = demo_treebank()
    return train_dependency_probe(
        load_model(), given[:80], given[80:], untrained=True, seeds=[5, 6], progress=False
    )


@pytest.mark.slow
def test_votes_sum_to_scores(probe: DependencyProbe) -> None:
    sentence = demo_treebank()[82]
    for seed in range(2):
        found = probe.predictions(sentence, seed=seed)
        assert found.votes is not None
        np.testing.assert_allclose(found.votes.sum((0, 1, 2)), found.scores, atol=1e-9)
        np.testing.assert_allclose(found.probabilities.sum(1), 1)
        assert found.governors.tolist() == found.scores.argmax(1).tolist()
        one = probe.votes(sentence, 2, 0, seed=seed).values
        np.testing.assert_array_equal(one, found.votes[..., 1, 0])
        assert one.shape == (6, 12, 2)
    with pytest.raises(ValueError, match=naming("1 to 17", "governor", "dependent")):
        probe.votes(sentence, 0, 1)
    with pytest.raises(ValueError, match=naming("seed", "2 seeds", "got 2")):
        probe.predictions(sentence, seed=2)


@pytest.mark.slow
def test_predictions_are_those_that_were_judged(probe: DependencyProbe) -> None:
    words = probe.scores.words
    at = 0
    for sentence in demo_treebank()[80:90]:
        right = probe.predictions(sentence).governors == np.array(sentence.governors)
        # Padding moves a weight by a rounding; none of these is as close.
        np.testing.assert_array_equal(right, probe.scores.hits[0, at : at + len(sentence)])
        at += len(sentence)
    assert len(words.relation) == probe.scores.hits.shape[1]


@pytest.mark.slow
def test_an_untrained_model_keeps_its_embeddings_alone(probe: DependencyProbe) -> None:
    model = load_model()
    random = untrained_like(model).hf_model
    state = model.hf_model.state_dict()
    same = [k for k, v in random.state_dict().items() if torch.equal(v, state[k])]
    for name in ("word_embeddings.weight", "position_embeddings.weight"):
        assert any(k.endswith(name) for k in same)
    assert not any(k.endswith("token_type_embeddings.weight") for k in same)
    assert not any("encoder.layer" in k and k.endswith("query.weight") for k in same)
    assert list(probe.baselines)[-1] == "untrained"
    assert probe.baselines["untrained"].uas < probe.uas
    again = untrained_like(model).hf_model.state_dict()
    assert all(torch.equal(v, again[k]) for k, v in random.state_dict().items())


@pytest.mark.slow
def test_a_saved_probe_is_the_same(probe: DependencyProbe, tmp_path: Path) -> None:
    path = probe.save(tmp_path / "probe.npz")
    alone = load_probe(path)
    sentence = demo_treebank()[81]
    with pytest.raises(ValueError, match=naming("load_probe", "for_model")):
        alone.predictions(sentence)
    again = load_probe(path, load_model())
    assert repr(again) == repr(probe) and again.options == probe.options
    assert again.to_frame().equals(probe.to_frame())
    np.testing.assert_array_equal(again.weights, probe.weights)
    np.testing.assert_array_equal(
        again.predictions(sentence).probabilities, probe.predictions(sentence).probabilities
    )
    with pytest.raises(ValueError, match=naming(".npz", "'probe.pkl'")):
        probe.save(tmp_path / "probe.pkl")


@pytest.mark.slow
def test_a_probe_with_all_that_can_be_asked_for_is_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    full = planted(monkeypatch, (0, 0))(
        "attention+words", vectors=VECTORS, control=True, description_length=True, seeds=1
    )
    again = load_probe(full.save(tmp_path / "full.npz"), vectors=VECTORS)
    assert again.selectivity == full.selectivity and again.code is not None
    assert full.code is not None and again.code.bits_a_word == full.code.bits_a_word
    np.testing.assert_array_equal(again.weights, full.weights)
    with pytest.raises(
        ValueError, match=naming("vectors", "5 dimensions", "'word vectors'", "has 2")
    ):
        load_probe(tmp_path / "full.npz", vectors=WordVectors(["w1"], [[1, 2]]))
    with pytest.raises(ValueError, match=naming("'v'", "'word vectors'", "other words")):
        load_probe(tmp_path / "full.npz", vectors=WordVectors(["w1"], [[1, 2, 3, 4, 5]]))


@pytest.mark.slow
def test_another_model_is_refused(probe: DependencyProbe, tmp_path: Path) -> None:
    path = probe.save(tmp_path / "probe.npz")
    other = reader(MAKERS["wordpiece"]())
    with pytest.raises(ValueError, match=naming("6×12 heads", "BertModel", "2×4")):
        load_probe(path, other)
    with pytest.raises(ValueError, match=naming("trained on", "other weights")):
        load_probe(path, load_model("attnwidget/genre"))
    model = load_model()
    again = load_probe(path, model)
    with (
        model.disabled([(0, 0)]),
        pytest.raises(ValueError, match=naming("without L0 H0", "trained on")),
    ):
        again.predictions(demo_treebank()[0])
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=naming("probe.npz", "holds no probe", "save()")):
        load_probe(path)
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    with pytest.raises(ValueError, match=naming("other.npz", "holds no probe", "save()")):
        load_probe(tmp_path / "other.npz")


@pytest.mark.slow
def test_the_probe_of_the_package_repeats_its_stored_scores() -> None:
    probe = demo_probe()
    dev = demo_treebank()[90:]
    hits = [probe.predictions(one).governors == np.array(one.governors) for one in dev]
    np.testing.assert_array_equal(np.concatenate(hits), probe.scores.hits[0])
    assert probe.options["n_train"] == 90 and probe.complete and len(probe.seeds) == 3
    assert probe.selectivity > 0.2 and probe.baselines["untrained"].uas < 0.3 < 0.5 < probe.uas
    assert Path(str(files("attnwidget").joinpath("demo/probe.npz"))).stat().st_size < 60_000


# Interruptions

_SCRIPT = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from attnwidget import resume_from
from attnwidget.probes.dependency import probe_fitting as fitting
from fixtures.planted_probes import PlantedFeatures, sentences

fitting._KEPT_EVERY, fitting._SECONDS_BETWEEN_SAVES = 20, 0
step, steps = fitting.train_on, []

def killed(*given):
    steps.append(1)
    if len(steps) == 75:
        os.kill(os.getpid(), signal.SIGKILL)
    step(*given)

fitting.train_on = killed
train = sentences(100)
governors = [s.governors for s in train]
examples = fitting.TrainingExamples(train, governors, PlantedFeatures(train), None)
with resume_from(sys.argv[1]):
    fits = fitting.Fits({{"kind": "attention"}}, progress=False)
options = {{"seeds": [0, 1], "epochs": 1, "learning_rate": 0.01, "blocks": (0, 10, 70, 100)}}
fits.fit("attention", fitting.Form("attention", 6), examples, **options)
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "probe.npz"
    script = _SCRIPT.format(tests=str(Path(__file__).parents[1]))
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert run.returncode == -9, run.stderr
    given = TRAIN[:100]
    assert sentences(100) == given
    examples = TrainingExamples(
        given, [one.governors for one in given], PlantedFeatures(given), None
    )
    options: dict[str, Any] = {"seeds": [0, 1], "epochs": 1, "learning_rate": 0.01}
    options["blocks"] = (0, 10, 70, 100)
    form = Form("attention", 6)
    whole = Fits({}, progress=False).fit("attention", form, examples, **options)
    trained = fitting.train_on
    steps = []
    monkeypatch.setattr(fitting, "train_on", lambda *g: steps.append(1) or trained(*g))
    with resume_from(path):
        fits = Fits({"kind": "attention"}, progress=False)
    again = fits.fit("attention", form, examples, **options)
    assert len(steps) == 40 and again.complete
    assert torch.equal(again.parameters, whole.parameters)
    np.testing.assert_array_equal(again.bits, whole.bits)
    # What is done is not done again, and another training is refused.
    with resume_from(path):
        Fits({"kind": "attention"}, progress=False).fit("attention", form, examples, **options)
        assert len(steps) == 40
        with pytest.raises(
            ValueError, match=naming("probe.npz", "kind", "'distances+words'", "another")
        ):
            Fits({"kind": "distances+words"}, progress=False)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_KEPT_EVERY", 25)
    step = fitting.train_on
    steps = []

    def interrupted(*given: Any) -> None:
        steps.append(1)
        step(*given)
        if len(steps) == 60:
            raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "train_on", interrupted)
    trained = planted(monkeypatch, (0, 0))
    probe = trained("attention+words", vectors=VECTORS, control=True)
    assert not probe.complete and probe.options["n_steps"] == 50 and len(steps) == 60
    assert "distances+words" not in probe.baselines and probe.control is None
    assert "ended before all was trained" in repr(probe)
    assert "ended before all was trained" in json.dumps(probe.chart().to_dict())
    again = trained("attention+words", vectors=VECTORS)
    monkeypatch.setattr(fitting, "_KEPT_EVERY", 500)
    assert again.complete
    steps.clear()
    with pytest.raises(KeyboardInterrupt):
        trained()


# Refusals


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            {"kind": "words"},
            ("kind", "'words'", "'attention'", "'attention+words'", "'distances+words'"),
        ),
        ({"decode": "best"}, ("decode", "'words'", "'tree'", "'best'")),
        ({"seeds": 0}, ("seeds", "0", "least")),
        ({"seeds": [1, 1]}, ("seeds", "[1, 1]", "once")),
        ({"epochs": 0}, ("epochs", "0", "least")),
        ({"learning_rate": 0}, ("learning_rate", "got 0")),
        ({"vectors": VECTORS}, ("vectors", "leave")),
        ({"kind": "attention+words"}, ("attention+words", "none", "load_vectors")),
        ({"kind": "attention+words", "vectors": {}}, ("dict", "vectors", "load_vectors")),
        (
            {"kind": "distances+words", "vectors": WordVectors(["x"], [[1]], "far")},
            ("'far'", "training"),
        ),
        (
            {"kind": "distances+words", "vectors": VECTORS, "untrained": True},
            ("untrained", "leave"),
        ),
        (
            {"dev": TRAIN[:3] + DEV},
            ("3 of the 28", "dev", "train"),
        ),
        ({"dev": []}, ("dev", "no sentences")),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, options: Any, parts: tuple[str, ...]
) -> None:
    monkeypatch.setattr(dependency, "extract_features", None)
    with pytest.raises(ValueError, match=naming(*parts)):
        train_dependency_probe(
            load_model(), **({"train": TRAIN, "dev": DEV, "progress": False} | options)
        )


def test_texts_without_trees_are_refused() -> None:
    with pytest.raises(TypeError, match=naming("list", "str", "load_treebank")):
        train_dependency_probe(load_model(), ["The cat sat."], DEV)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=naming("str", "load_model")):
        train_dependency_probe("bert", TRAIN, DEV)  # type: ignore[arg-type]


def test_sentences_that_say_the_same_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    same = Sentence(TRAIN[0].words, TRAIN[0].governors, TRAIN[0].relations, name="elsewhere")
    monkeypatch.setattr(
        dependency, "extract_features", lambda m, given, f, **options: PlantedFeatures(given)
    )
    found = train_dependency_probe(load_model(), TRAIN, [*DEV, same], seeds=1, progress=False)
    assert found.options["n_repeated"] == 1


def test_a_long_sentence_is_known_by_its_words() -> None:
    words = tuple(f"w{i}" for i in range(10))
    governors = tuple(range(10))
    long, again = (Sentence(words, governors, ("dep",) * 10, name=name) for name in "ab")
    with pytest.raises(
        ValueError,
        match=naming("1 of the 26", "dev", "'b'", "'a'", "'w0 w1 w2 w3 w4 w5 w6 w7 w8 w9'"),
    ):
        train_dependency_probe(load_model(), [*TRAIN, long], [*DEV, again], progress=False)


@pytest.mark.slow
def test_the_curve_is_of_fewer_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = planted(monkeypatch, (1, 2))
    found = trained(curve=True, seeds=2)
    n = len(TRAIN)
    assert list(found.curve) == [-(-n // every) for every in (16, 8, 4, 2, 1)]
    assert found.curve[n].uas == found.uas > found.curve[7].uas + 0.05
    features = PlantedFeatures(TRAIN)
    eighth = TRAIN[::8]
    read = TrainingExamples(eighth, [one.governors for one in eighth], features, None, 8)
    np.testing.assert_array_equal(read[2].maps, features[16].astype(np.float32))
    frame = found.curve_frame()
    assert frame["sentences"].tolist() == list(found.curve)
    drawn = str(found.chart("sentences").to_dict())
    assert "by the number of sentences" in drawn and "right-branching" in drawn
    again = load_probe(found.save(tmp_path / "probe.npz"))
    assert again.curve_frame().equals(frame)
    with pytest.raises(ValueError, match=naming("curve=True", "train_dependency_probe")):
        trained(seeds=1).chart("sentences")


def test_a_probe_without_attention_weighs_no_head(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planted(monkeypatch, None)("distances+words", vectors=VECTORS, seeds=1)
    assert found.heads() == {} and found.form.n_maps == 0
    with pytest.raises(ValueError, match=naming("distances+words", "weighs")):
        _ = found.weights
    with pytest.raises(ValueError, match=naming("distances+words", "votes")):
        found.votes(DEV[0], 1, 2)
    assert found.predictions(DEV[0]).probabilities.shape == (len(DEV[0]), len(DEV[0]) + 1)
    assert (found.n_layers, found.n_heads) == (LAYERS, HEADS)


@pytest.mark.slow
def test_a_resume_file_keeps_every_probe_of_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = planted(monkeypatch, (0, 0))
    options: dict[str, Any] = {"control": True, "seeds": 2, "resume": tmp_path / "probe.npz"}
    first = trained(**options)
    monkeypatch.setattr(fitting, "train_on", None)  # nothing is trained again
    again = trained(**options)
    np.testing.assert_array_equal(again.parameters, first.parameters)
    assert again.selectivity == first.selectivity and again.complete
    with pytest.raises(ValueError, match=naming("probe.npz", "seeds", "[0, 1, 2]", "another")):
        trained(**options | {"seeds": 3})
    with pytest.raises(FileNotFoundError, match=naming("folder", "'probe.npz'")):
        trained(resume=tmp_path / "none" / "probe.npz")
