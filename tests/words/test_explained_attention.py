"""Explained attention on planted heads, and against an independent regression of one head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy
import torch
from sklearn.linear_model import PoissonRegressor
from transformers import LlamaConfig, LlamaModel

from attnwidget import AttentionModel, Sentence, load_model
from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.demo import demo_treebank
from attnwidget.results import ExplainedAttention
from attnwidget.words import explained_attention
from attnwidget.words.explained_attention import ExplainedAttentionFrom
from attnwidget.words.word_segments import WordSegment
from fixtures.vocabularies import byte_level
from refusals import naming

SENTENCES = list(demo_treebank())[:60]


def planted(heads: Sequence[Any], sentences: Sequence[Sentence] = SENTENCES) -> ExplainedAttention:
    """Return the shares of heads whose maps are functions of a sentence, [n, n]."""
    study = ExplainedAttentionFrom(sentences)
    study.start(Subject(1, len(heads), model_name="planted"))
    for index, sentence in enumerate(sentences):
        n = len(sentence)
        maps = np.stack([head(sentence) for head in heads]).astype(np.float32)
        batch = Batch(
            segments=[WordSegment(("x",) * n, words=tuple(range(n)), index=index)],
            tokens=[],
            inputs={},
            lengths=torch.tensor([n]),
            real=torch.ones(1, n, dtype=torch.bool),
            row_weights=torch.full((1, n), 1 / n),
            classes={},
        )
        study.update(LayerBatch(batch, 0, torch.from_numpy(maps)[None], None))
        study.end_batch(batch)
    return study.compute()


def even(sentence: Sentence) -> np.ndarray:
    n = len(sentence)
    return np.full((n, n), 1 / n)


def previous(sentence: Sentence) -> np.ndarray:
    n = len(sentence)
    maps = np.eye(n, k=-1)
    maps[0, 0] = 1
    return 0.95 * maps + 0.05 * even(sentence)


def to_governor(sentence: Sentence) -> np.ndarray:
    """Weights of determiners, subjects and prepositions on their governors; even elsewhere."""
    maps = even(sentence)
    for word, (relation, governor) in enumerate(
        zip(sentence.relations, sentence.governors, strict=True)
    ):
        if relation in ("det", "nsubj", "case"):
            maps[word] *= 0.05
            maps[word, governor - 1] += 0.95
    return maps


def same_word(sentence: Sentence) -> np.ndarray:
    maps = even(sentence)
    words = [word.lower() for word in sentence.words]
    for i, word in enumerate(words):
        copies = [j for j, other in enumerate(words) if other == word and j != i]
        if copies:
            maps[i] *= 0.05
            maps[i, copies] += 0.95 / len(copies)
    return maps


def mixture(sentence: Sentence) -> np.ndarray:
    return 0.5 * previous(sentence) + 0.5 * to_governor(sentence)


def noise(sentence: Sentence) -> np.ndarray:
    """Weights that depend on nothing."""
    n = len(sentence)
    random = np.random.default_rng(sum(map(len, sentence.words)))
    return random.dirichlet(np.ones(n), n)


def test_planted_heads_have_the_shares_of_their_rules() -> None:
    heads = (previous, to_governor, same_word, mixture, noise, even)
    shares = planted(heads).shares[:, 0]
    of = {head.__name__: shares[:, i] for i, head in enumerate(heads)}
    assert of["previous"][0] > 0.97
    assert of["to_governor"][1] > 0.6
    assert of["same_word"][2] > 0.9
    assert of["mixture"][0] > 0.25
    assert of["mixture"][1] > 0.15
    assert np.abs(of["noise"][:3]).max() < 0.05
    assert np.isnan(of["even"]).all()
    assert np.allclose(np.nansum(shares[:, :5], 0), 1)


def test_grammar_explains_nothing_if_annotations_are_shuffled() -> None:
    found = planted((previous, to_governor, mixture, noise))
    assert np.abs(found.control).max() < 0.05
    assert found.shares[1, 0, 1] > found.control[0, 1] + 0.5


def reference_features(sentence: Sentence, i: int, j: int, factors: int) -> set[tuple[Any, ...]]:
    """Features of one pair of words, written a second time."""
    features: set[tuple[Any, ...]] = {("o", int(np.clip(j - i, -8, 8)))}
    if j == 0:
        features.add(("first",))
    if factors > 1 and i != j and sentence.words[i].lower() == sentence.words[j].lower():
        features.add(("same",))
    if factors > 2:
        pair = (sentence.tags[i], sentence.tags[j]) if i != j else (sentence.tags[i],)
        features.add(("t", *pair))
        if sentence.governors[i] == j + 1:
            features.add(("up", sentence.relations[i]))
        if sentence.governors[j] == i + 1:
            features.add(("down", sentence.relations[j]))
    return features


def reference_shares(
    model: AttentionModel, sentences: Sequence[Sentence], layer: int, head: int, minimizer: str
) -> list[float]:
    """Shares of one head: a dense design, and a general minimizer, fold by fold."""
    maps = []
    for sentence in sentences:
        attention = model.attend(list(sentence.words))
        axis = attention.stacks["self"].query
        weights = attention.weights()[layer, head].astype(np.float64)
        own = np.array([-1 if word is None else word for word in axis.words])
        own = np.where(own >= 0, own - own[own >= 0].min(), -1)
        members = np.stack([own == word for word in range(len(sentence))])
        summed = weights @ members.T
        maps.append(np.stack([summed[rows].mean(0) for rows in members]))
    total = sum(one.sum() for one in maps)
    n_words = sum(map(len, sentences))
    causal = all(np.triu(one, 1).max() == 0 for one in maps)
    explained = []
    for factors in (1, 2, 3):
        names = sorted(
            {
                feature
                for s in sentences
                for i in range(len(s))
                for j in range(len(s))
                for feature in reference_features(s, i, j, factors)
            },
            key=repr,
        )
        columns = {name: number for number, name in enumerate(names)}
        rows = []
        for number, sentence in enumerate(sentences):
            for i in range(len(sentence)):
                keys = range(i + 1 if causal else len(sentence))
                design = np.zeros((len(keys), len(columns)))
                for j in keys:
                    for feature in reference_features(sentence, i, j, factors):
                        design[j, columns[feature]] = 1
                weights = maps[number][i, : len(keys)] * n_words / total
                rows.append((number % 3, design, weights))

        def cross_entropy(theta: np.ndarray, chosen: list[Any]) -> tuple[float, np.ndarray]:
            value, gradient = 0.0, np.zeros(len(theta))
            for _, design, weights in chosen:
                log_p = scipy.special.log_softmax(design @ theta)
                value -= weights @ log_p
                gradient -= design.T @ (weights - weights.sum() * np.exp(log_p))
            return value, gradient

        gain = gap = 0.0
        for fold in range(3):
            fitted = [row for row in rows if row[0] != fold]
            held_out = [row for row in rows if row[0] == fold]

            def penalized(theta: np.ndarray, fitted: Any = fitted) -> tuple[float, np.ndarray]:
                value, gradient = cross_entropy(theta, fitted)
                return value + theta @ theta / 2, gradient + theta

            if minimizer == "SciPy":
                theta = scipy.optimize.minimize(
                    penalized,
                    np.zeros(len(columns)),
                    jac=True,
                    method="L-BFGS-B",
                    options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-7},
                ).x
            else:
                theta = poisson_coefficients([row[1] for row in fitted], [row[2] for row in fitted])
            equal = cross_entropy(np.zeros(len(columns)), held_out)[0]
            entropy = sum(
                w.sum() * scipy.special.entr(w / w.sum()).sum() for _, _, w in held_out if w.sum()
            )
            gain += equal - cross_entropy(theta, held_out)[0]
            gap += equal - entropy
        explained.append(gain / gap)
    first, second, third = explained
    return [first, third - second, second - first, 1 - third]


def poisson_coefficients(
    designs: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> np.ndarray:
    """Coefficients of the same regression by scikit-learn.

    A Poisson regression with a constant for each row has the coefficients of the softmax over rows
    (Baker 1994). The constants are large columns, so that their penalty is next to nothing.
    """
    sizes = [len(design) for design in designs]
    constants = np.repeat(1000 * np.eye(len(designs)), sizes, axis=0)
    design = np.hstack([np.concatenate(designs), constants])
    model = PoissonRegressor(
        alpha=1 / len(design), fit_intercept=False, solver="newton-cholesky", tol=1e-9
    )
    model.fit(design, np.concatenate(weights))
    return np.array(model.coef_[: designs[0].shape[1]])


def random_llama() -> AttentionModel:
    tokenizer = byte_level(prefix=True)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
    )
    model = LlamaModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.4)
    return load_model(model, tokenizer)


@pytest.mark.parametrize("name", ["embedded model", "random Llama"])
def test_shares_equal_those_of_another_minimizer(name: str) -> None:
    model = load_model(device="cpu") if name == "embedded model" else random_llama()
    sentences = [s.with_spaces() for s in SENTENCES if 4 <= len(s) <= 12][:9]
    found = explained_attention(model, sentences, progress=False)
    for layer, head in [(0, 2), (1, 3)]:
        expected = reference_shares(model, sentences, layer, head, "SciPy")
        assert np.allclose(found.shares[:, layer, head], expected, atol=2e-4)


@pytest.mark.parametrize("name", ["embedded model", "random Llama"])
def test_shares_equal_those_of_scikit_learn(name: str) -> None:
    model = load_model(device="cpu") if name == "embedded model" else random_llama()
    sentences = [s.with_spaces() for s in SENTENCES if 4 <= len(s) <= 10][:6]
    found = explained_attention(model, sentences, progress=False)
    expected = reference_shares(model, sentences, 1, 3, "scikit-learn")
    assert np.allclose(found.shares[:, 1, 3], expected, atol=5e-4)


def test_heads_of_a_random_model_have_small_shares() -> None:
    sentences = [sentence.with_spaces() for sentence in SENTENCES[:40]]
    random = explained_attention(random_llama(), sentences, progress=False)
    # A random head prefers some words, which are all words of their part of speech.
    assert np.abs(random.shares[[0, 2]]).max() < 0.1
    assert random.shares[1].max() < 0.25
    assert random.shares[3].min() > 0.7


def test_the_result_has_a_table_a_chart_and_a_sentence() -> None:
    found = planted((previous, to_governor, same_word, mixture))
    frame = found.to_frame()
    assert frame[frame.metric == "position"].value.max() == found.shares[0].max()
    bars = found.chart().to_dict()
    colors = bars["encoding"]["color"]["scale"]["range"]
    assert colors == ["#0f7d62", "#b5661a", "#3f74b8", "#d3d5d9"]
    bar = [row["value"] for row in rows_of(found.chart()) if row["name"] == "L0 H3"]
    assert np.isclose(sum(bar), 1)
    assert "L0" in {row["name"] for row in rows_of(found.chart(by="layer"))}
    assert found.finding.startswith("Of 4 heads, more than half of the deviance is explained by")
    assert "position in 2 (most in L0 H0" in found.finding


def rows_of(chart: Any) -> list[dict[str, Any]]:
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_sentences_without_parts_of_speech_are_refused() -> None:
    bare = Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"], name="cats")
    with pytest.raises(ValueError, match=naming("'cats'", "tags=")):
        explained_attention(load_model(device="cpu"), [bare] * 3, progress=False)
    with pytest.raises(ValueError, match=naming("2", "more sentences")):
        explained_attention(load_model(device="cpu"), SENTENCES[:2], progress=False)
