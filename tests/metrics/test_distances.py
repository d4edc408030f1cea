"""Distances between heads, their picture and clusters, and what heads are called."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attnwidget.kernels.divergence as divergence
from attnwidget import load_model
from attnwidget.corpus.segmenting import make_segments
from attnwidget.kernels.divergence import js_between, js_divergences
from attnwidget.metrics.clark_labels import clark_labels
from attnwidget.metrics.clustering import cluster_tree, cut_tree, embed_distances
from attnwidget.metrics.head_distances import Distances, HeadDistances
from attnwidget.metrics.measure_heads import measure
from fixtures.random_batches import random_batch, random_maps, seen
from references import reference_heads as reference
from refusals import naming

seeds = st.integers(0, 2**31 - 1)


def maps(seed: int, heads: int, n: int, peaked: float = 3.0, causal: bool = False) -> torch.Tensor:
    scores = np.exp(np.random.default_rng(seed).normal(size=(heads, n, n)) * peaked)
    scores = scores * np.tril(np.ones((n, n))) if causal else scores
    return torch.from_numpy((scores / scores.sum(-1, keepdims=True)).astype("f4"))


def blobs(seed: int, heads: int = 12) -> np.ndarray:
    """Distances in the plane between heads of two groups, far from each other."""
    points = np.random.default_rng(seed).normal(size=(heads, 2))
    points[heads // 2 :] += 20
    return np.linalg.norm(points[:, None] - points, axis=-1)


def made(distances: np.ndarray, layers: int, n_tokens: int = 1) -> HeadDistances:
    return HeadDistances(
        distances * n_tokens,
        n_tokens,
        1,
        layers,
        len(distances) // layers,
        "self",
        model_name="made",
    )


@given(
    seed=seeds,
    heads=st.integers(1, 5),
    n=st.integers(1, 7),
    peaked=st.sampled_from([0.1, 1.0, 3.0, 20.0]),
    causal=st.booleans(),
)
def test_divergences_equal_the_reference(
    seed: int, heads: int, n: int, peaked: float, causal: bool
) -> None:
    weights = maps(seed, heads, n, peaked, causal)
    found = js_divergences(weights).numpy()
    np.testing.assert_allclose(found, reference.js_divergences(weights.numpy()), atol=1e-6 * n)
    assert (found >= 0).all() and (found.diagonal() == 0).all()
    np.testing.assert_array_equal(found, found.T)
    assert found.max() <= n * np.log(2)


@given(
    seed=seeds,
    heads=st.integers(1, 5),
    others=st.integers(1, 20),
    n=st.integers(1, 7),
    causal=st.booleans(),
)
def test_divergences_between_two_sides_are_those_of_all_pairs(
    seed: int, heads: int, others: int, n: int, causal: bool
) -> None:
    weights = maps(seed, heads + others, n, 3.0, causal)
    weights[-1] = weights[0]  # the same map on both sides
    first, second = weights.split([heads, others])
    found = js_between(first, second).numpy()
    expected = js_divergences(weights).numpy()[:heads, heads:]
    np.testing.assert_allclose(found, expected, atol=1e-6 * n)
    assert (found >= 0).all() and found[0, -1] == 0


def test_two_sides_are_maps_of_one_input() -> None:
    with pytest.raises(ValueError, match=naming("[2, 3, 3]", "[2, 4, 4]")):
        js_between(maps(0, 2, 3), maps(0, 2, 4))
    with pytest.raises(ValueError, match=naming("smoothing", "got 0")):
        js_between(maps(0, 2, 3), maps(0, 2, 3), smoothing=0)


@pytest.mark.parametrize("numpy_log", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_threads_and_logarithms_agree(
    monkeypatch: pytest.MonkeyPatch, numpy_log: bool, threads: int
) -> None:
    """More heads than a block, more cells than one, in either library's logarithm."""
    weights = maps(0, 19, 20)
    expected = js_divergences(weights)
    monkeypatch.setattr(divergence, "_NUMPY_LOG", numpy_log)
    monkeypatch.setattr(divergence, "_HEADS", 4)
    monkeypatch.setattr(divergence, "_CELLS", 128)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    found = js_divergences(weights)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    assert torch.equal(found, js_divergences(weights))


def test_relative_error_of_long_maps_is_below_1e_4() -> None:
    weights = maps(1, 24, 128)
    p = 0.999 * weights.double().numpy() + 0.001 / 128
    found = js_divergences(weights).numpy()
    own = -(p * np.log(p)).sum((1, 2))
    for a in range(24):
        for b in range(a):
            m = (p[a] + p[b]) / 2
            exact = -(m * np.log(m)).sum() - (own[a] + own[b]) / 2
            assert abs(found[a, b] - exact) < 1e-5 * exact


def test_smoothing_is_checked() -> None:
    with pytest.raises(ValueError, match=naming("smoothing", "got 0")):
        js_divergences(maps(0, 2, 3), smoothing=0)
    with pytest.raises(ValueError, match=naming("smoothing", "got 1")):
        Distances(smoothing=1)


def test_the_accumulator_sums_over_documents_and_tokens() -> None:
    lengths = [4, 7]
    batch = random_batch(3, lengths, padding=2)
    weights = random_maps(3, lengths, padding=2)
    result = seen(Distances(), batch, weights).compute()
    expected = sum(
        reference.js_divergences(weights[:, d, :, :n, :n].reshape(6, n, n).numpy())
        for d, n in enumerate(lengths)
    )
    np.testing.assert_allclose(result.distances, expected, atol=1e-5)
    assert (result.n_tokens, result.n_documents) == (11, 2)
    np.testing.assert_allclose(result.mean, expected / 11, atol=1e-6)


def test_no_maps_are_kept_between_batches() -> None:
    accumulator = seen(Distances(), random_batch(0, [5]), random_maps(0, [5]))
    assert accumulator._maps == []


def test_means_within_and_between_layers() -> None:
    result = made(blobs(0, 6), layers=2, n_tokens=4)
    frame = result.pairs()
    same = frame["layer"] == frame["other_layer"]
    assert len(frame) == 15
    np.testing.assert_allclose(
        result.within_layer(), frame[same].groupby("layer")["distance"].mean()
    )
    np.testing.assert_allclose(result.between_layers()[0, 1], frame[~same]["distance"].mean())
    np.testing.assert_array_equal(result.between_layers(), result.between_layers().T)
    nearest = result.heads()["distance to nearest head"]
    assert nearest[0, 0] == pytest.approx(np.sort(result.mean[0])[1])
    assert np.isnan(made(blobs(0, 2), layers=2).within_layer()).all()


@pytest.mark.slow
@settings(max_examples=5)
@given(seed=st.integers(0, 1000))
def test_a_plane_is_embedded_well_and_principal_axes_are_its_axes(seed: int) -> None:
    distances = blobs(seed, 8)
    positions, stress, raw = embed_distances(distances, n_init=2)
    assert (stress, raw) == pytest.approx(reference.stress(distances, positions), abs=1e-9)
    assert stress < 0.01
    np.testing.assert_allclose(positions.mean(0), 0, atol=1e-9)
    spread = positions.T @ positions
    assert spread[0, 0] >= spread[1, 1] and abs(spread[0, 1]) < 1e-6 * spread[0, 0]


@pytest.mark.slow
def test_an_embedding_is_seeded_and_warns_of_nothing() -> None:
    result = made(np.random.default_rng(0).uniform(1, 2, (8, 8)), layers=2)
    result.distances[:] = (result.distances + result.distances.T) / 2
    np.fill_diagonal(result.distances, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = result.embed()
        again = result.embed()
        other = result.embed(seed=1)
    np.testing.assert_array_equal(first.positions, again.positions)
    assert not np.array_equal(first.positions, other.positions)
    assert first.positions.shape == (2, 4, 2)
    assert 0 < first.stress < 1 and first.raw_stress > 0 and "stress 0." in repr(first)
    assert f"stress {first.stress:.2f}" in result.chart().to_dict()["title"]["subtitle"][0]


def test_equal_heads_are_placed_at_the_same_point() -> None:
    embedding = made(np.zeros((4, 4)), layers=2).embed()
    assert embedding.stress == 0
    np.testing.assert_allclose(embedding.positions, 0, atol=1e-9)


def test_clusters_are_the_groups() -> None:
    result = made(blobs(2), layers=3)
    clusters = result.cluster(2)
    np.testing.assert_array_equal(clusters.ravel(), [0] * 6 + [1] * 6)
    assert clusters.shape == (3, 4)
    assert len(np.unique(result.cluster(12))) == 12
    assert result.tree().shape == (11, 4)
    assert not result.cluster(1, method="complete").any()
    with pytest.raises(ValueError, match=naming("12 heads", "13", "clusters")):
        result.cluster(13)
    with pytest.raises(ValueError, match=naming("method", "'ward'", "'average'")):
        cluster_tree(result.mean, "ward")  # type: ignore[arg-type]
    assert cut_tree(cluster_tree(blobs(0, 4)), 2).tolist() == [0, 0, 1, 1]


def test_behaviors_follow_the_rules_of_figure_6_and_the_later_wins() -> None:
    heads = {
        "next token": np.array([[0.6, 0.0, 0.0, 0.6]]),
        "previous token": np.array([[0.6, 0.5, 0.0, 0.0]]),
        "entropy": np.array([[0.0, 3.8, 3.9, 0.0]]),
        "to [CLS]": np.array([[0.0, 0.0, 0.0, 0.6]]),
        "to [SEP]": np.array([[0.0, 0.0, 0.61, 0.0]]),
        "to . ,": np.array([[0.0, 0.0, 0.61, 0.0]]),
    }
    found = clark_labels(heads)
    assert found.tolist() == [["previous token", "other", "to . ,", "next token"]]
    heads["to . ,"][:] = 0
    assert clark_labels(heads)[0, 2] == "to [SEP]"
    heads["to [SEP]"][:] = 0
    assert clark_labels(heads)[0, 2] == "attends broadly"
    assert clark_labels(heads, broad_entropy=4)[0, 2] == "other"
    assert clark_labels({"to first token": np.array([[0.9]])}).tolist() == [["to first token"]]
    with pytest.raises(ValueError, match=naming("'confidence'", "'next token'", "measure")):
        clark_labels({"confidence": np.ones((1, 1))})


@pytest.mark.slow
def test_a_model_is_measured_and_drawn() -> None:
    model = load_model()
    texts = ["The captain told his men.", ("Who is it?", "It is the old captain.")]
    found = measure(
        model,
        make_segments(texts, model),
        ["distances", "position", "classes", "entropy"],
        batch_size=1,
        progress=False,
    )
    distances = found["distances"]
    assert isinstance(distances, HeadDistances)
    maps = model.attend(texts[0]).weights().reshape(72, -1)
    n = int(np.sqrt(maps.shape[1]))
    other = model.attend(*texts[1]).weights().reshape(72, -1)
    m = int(np.sqrt(other.shape[1]))
    some = [3, 40, 70]
    expected = reference.js_divergences(maps[some].reshape(3, n, n))
    expected += reference.js_divergences(other[some].reshape(3, m, m))
    np.testing.assert_allclose(distances.distances[np.ix_(some, some)], expected, rtol=1e-4)
    assert distances.n_tokens == n + m and distances.stack == "self"
    labels = clark_labels(found)
    assert labels.shape == (6, 12)
    assert "72" not in repr(distances) and "6×12 heads" in repr(distances)
    headings = {"By layer", f"By name: {(labels != 'other').sum()} of 72 heads have one"}
    assert headings <= texts_of(distances.chart(labels).to_dict())
    with pytest.raises(ValueError, match=naming("[6, 12]", "[12, 6]", "atlas.names")):
        distances.chart(labels.T)
    assert "encoding" in distances.chart().to_dict(), "one panel without labels"


def texts_of(spec: dict[str, Any]) -> set[str]:
    return {
        str(row.get("text")) for part in spec["layer"] for row in part["data"].get("values", ())
    } | {str(row.get("text")) for rows in spec["datasets"].values() for row in rows}


def two_groups(n_layers: int = 5, n_heads: int = 8) -> tuple[HeadDistances, np.ndarray]:
    """Heads of two groups, a far pair with one name, and a head with a name of its own."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n_layers * n_heads, 2)) + 12 * (np.arange(40) >= 20)[:, None]
    names = np.where(np.arange(40) < 20, "rests on [CLS]", "attends broadly").astype(object)
    names[[1, 30]] = "previous token"
    names[2] = "determiner to its noun"
    names[3:5] = ""
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return made(distances, n_layers), names.reshape(n_layers, n_heads).astype(str)


@pytest.mark.parametrize("width", [219, 455, 640])
def test_names_stand_once_at_their_groups_and_lie_on_no_other(width: int) -> None:
    distances, names = two_groups()
    spec = distances.chart(names, width=width).to_dict()
    assert spec["width"] == width - 16 and "legend" not in str(spec["layer"]).replace(
        "'legend': None", ""
    )
    (labels,) = (
        rows for rows in spec["datasets"].values() if rows and {"text", "group"} <= rows[0].keys()
    )
    by_group: dict[str, list[str]] = {}
    for row in labels:
        by_group.setdefault(row["group"], []).append(row["text"])
    written = {group: " ".join(lines) for group, lines in by_group.items()}
    assert written["rests on [CLS]"] == "rests on [CLS] (16)", "one name, not sixteen"
    assert written["determiner to its noun"] == "determiner to its noun"
    # The two heads are in different groups, so each has the name.
    assert written["previous token"].count("previous") == 2
    boxes = np.array(
        [
            (
                row["x"] - 2.4 * len(row["text"]),
                row["y"] - 5,
                row["x"] + 2.4 * len(row["text"]),
                row["y"] + 5,
            )
            for row in labels
        ]
    )
    across = np.minimum.outer(boxes[:, 2], boxes[:, 2]) - np.maximum.outer(boxes[:, 0], boxes[:, 0])
    down = np.minimum.outer(boxes[:, 3], boxes[:, 3]) - np.maximum.outer(boxes[:, 1], boxes[:, 1])
    overlaps = (across > 0) & (down > 0)
    np.fill_diagonal(overlaps, False)
    assert not overlaps.any()


def test_groups_are_outlined_and_both_panels_have_the_same_positions() -> None:
    distances, names = two_groups()
    spec = distances.chart(names).to_dict()
    outlines = [part for part in spec["layer"] if part["mark"]["type"] == "line"]
    assert len(outlines) == 2, "no outline of one or two heads"
    first, second = (
        spec["datasets"][part["data"]["name"]]
        for part in spec["layer"]
        if part["encoding"].get("text", {}).get("field") == "layer"
    )
    assert len(first) == len(second) == 40
    shifts = {
        (round(b["x"] - a["x"], 6), round(b["y"] - a["y"], 6))
        for a, b in zip(first, second, strict=True)
    }
    assert len(shifts) == 1 and {row["group"] for row in first} == {
        *np.unique(names[names != ""]).tolist(),
        "no name",
    }
    corners = np.array([(r["x"], r["y"]) for r in spec["datasets"][outlines[0]["data"]["name"]]])
    edges = np.roll(corners, -1, axis=0) - corners
    next_edges = np.roll(edges, -1, axis=0)
    turns = edges[:, 0] * next_edges[:, 1] - edges[:, 1] * next_edges[:, 0]
    assert (turns > 0).all() or (turns < 0).all(), "corners are in order and convex"
