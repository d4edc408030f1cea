"""Metric multidimensional scaling: positions and stress are those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import smacof as of_sklearn

from attnwidget.kernels import scaling
from attnwidget.kernels.scaling import minimize_stress, smacof
from attnwidget.metrics import clustering
from attnwidget.metrics.clustering import embed_distances


def distances_of(n: int, dimensions: int = 5) -> np.ndarray:
    points = np.random.default_rng(n).normal(size=(n, dimensions))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return distances / distances.max()


@pytest.mark.parametrize("cells", [64 * 1024, 100])
def test_every_iteration_is_that_of_scikit_learn(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scaling, "_CELLS_AT_ONCE", cells)
    distances = distances_of(23)
    start = np.random.default_rng(0).random((23, 2))
    expected, _ = of_sklearn(
        distances, init=start, n_init=1, max_iter=7, eps=0, normalized_stress=False
    )
    positions, found = smacof(distances, start, max_iterations=7, tolerance=0)
    np.testing.assert_allclose(positions, expected - expected.mean(0), atol=1e-10)
    # Versions of scikit-learn before 1.7 return the stress of the iteration before.
    apart = np.linalg.norm(expected[:, None] - expected, axis=-1)
    assert found == pytest.approx(np.square(distances - apart).sum() / 2, rel=1e-9)


def test_points_at_the_same_place_have_a_finite_stress() -> None:
    start = np.zeros((4, 2))
    start[3] = 1
    distances = 1 - np.eye(4)
    positions, stress = smacof(distances, start, max_iterations=300)
    assert np.isfinite(positions).all()
    apart = np.linalg.norm(positions[:, None] - positions, axis=-1)
    assert stress == pytest.approx(np.square(distances - apart).sum() / 2)


def test_both_ways_end_at_the_same_minimum() -> None:
    distances = distances_of(40)
    start, _ = smacof(distances, np.random.default_rng(0).random((40, 2)), max_iterations=50)
    expected, stress = smacof(distances, start, max_iterations=5000)
    positions, found = minimize_stress(distances, start, max_iterations=1000)
    assert found == pytest.approx(stress, rel=1e-5)
    np.testing.assert_allclose(positions, expected, atol=1e-2)


def test_many_points_continue_the_best_start(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = distances_of(60)
    _, stress, raw = embed_distances(distances)
    monkeypatch.setattr(clustering, "_MANY", 50)
    positions, of_best_start, of_many = embed_distances(distances)
    assert positions.shape == (60, 2)
    assert stress <= of_best_start < 1.05 * stress
    assert raw <= of_many
