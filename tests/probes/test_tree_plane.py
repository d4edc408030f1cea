"""Words of a sentence in a plane with the edges of their tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnwidget import Sentence
from attnwidget.charts.tree_plane import tree_plane
from attnwidget.demo import demo_probe, demo_treebank


@pytest.fixture(scope="module")
def trees() -> list[Any]:
    probe = demo_probe("trees")
    return [probe.predictions(sentence) for sentence in demo_treebank()[36:40]]


def test_the_plane_shows_the_largest_part_of_the_distances(trees: list[Any]) -> None:
    for tree in trees:
        words = np.flatnonzero(np.isfinite(tree.plane[:, 0]))
        assert {*words} == {tree.gold_root, *(word for edge in tree.gold_edges for word in edge)}
        # The vectors whose squared distances these are, up to a rotation, by their own formula.
        distances = tree.distances[np.ix_(words, words)]
        first = distances[0]
        products = (first[:, None] + first[None] - distances) / 2
        values, vectors = np.linalg.eigh(products)
        places = vectors * np.sqrt(values.clip(min=0))
        places -= places.mean(0)
        singular = np.linalg.svd(places, compute_uv=False)
        assert tree.plane_share == pytest.approx((singular[:2] ** 2).sum() / (singular**2).sum())
        plane = tree.plane[words]
        np.testing.assert_allclose(np.linalg.svd(plane, compute_uv=False), singular[:2], rtol=1e-6)


def test_the_chart_has_the_edges_with_their_lengths(trees: list[Any]) -> None:
    for tree in trees:
        drawn = tree.chart(width=320).to_dict()
        data = {
            layer["mark"]["type"] + str(i): drawn["datasets"][layer["data"]["name"]]
            for i, layer in enumerate(drawn["layer"])
        }
        wrong, edges, points = data["rule0"], data["rule1"], data["point2"]
        lengths = sorted(tree.distances[edge] for edge in tree.gold_edges)
        np.testing.assert_allclose(sorted(row["length"] for row in edges), lengths, rtol=1e-6)
        assert len(wrong) == len({*tree.edges} - {*tree.gold_edges})
        n_right = len({*tree.edges} & {*tree.gold_edges})
        assert f"{n_right} of {len(edges)} edges" in tree.finding
        assert " ".join(drawn["title"]["text"]) == tree.finding
        words = [row["word"] for row in data["text3"] + data["text4"]]
        assert sorted(words) == sorted(row["word"] for row in points)
        for row in data["text3"] + data["text4"]:
            assert 0 <= row["x"] <= 320 and 0 <= row["y"] <= 320


def test_a_sentence_without_edges_is_refused() -> None:
    tree = demo_probe("trees").predictions(
        Sentence(("Stop", "."), (0, 1), ("root", "punct"), ("VERB", "PUNCT"), ("VB", "."))
    )
    assert tree.finding == "The sentence has no edge between two words"
    with pytest.raises(ValueError, match=r"'Stop \.' has no edge between two words"):
        tree.chart()
    with pytest.raises(ValueError, match=r"a position \[2\] for each of 2 words"):
        tree_plane(["a", "b"], [[0, 1]], [], [], title="Two")
