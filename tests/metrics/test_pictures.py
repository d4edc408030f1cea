"""Metrics of pictures: against slow references, and heads with a known place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, load_model, measure_attention
from attnwidget.metrics import AttentionDistance, PictureOffsets
from attnwidget.text.places import Box, Place
from references import reference_pictures as reference

RANDOM = np.random.default_rng(0)
PICTURES = [np.zeros((40, 60, 3), np.uint8)] * 2


def attention_of(weights: np.ndarray, places: Sequence[Place | None], **options: Any) -> Attention:
    tokens = [f"t{place}" for place in range(len(places))]
    return Attention.from_weights(weights, tokens, places=places, pictures=PICTURES, **options)


def random_weights(n: int, layers: int = 2, heads: int = 3) -> np.ndarray:
    weights = RANDOM.random((layers, heads, n, n)) ** 4
    return weights / weights.sum(-1, keepdims=True)


def test_distances_are_those_of_a_loop() -> None:
    places = [None, *reference.grid(3, 4, 5.5, 3), None, Box(1, 0, 0, 9, 9), Box(1, 9, 0, 18, 9)]
    weights = random_weights(len(places))
    found = measure_attention(attention_of(weights, places), [AttentionDistance()])
    result = found["attention_distance"]
    for layer in range(2):
        for head in range(3):
            pixels, patches = reference.attention_distance(weights[layer, head], places)
            assert result.pixels[layer, head] == pytest.approx(pixels, abs=1e-6)
            assert result.patches[layer, head] == pytest.approx(patches, abs=1e-6)
    even = reference.attention_distance(np.ones(weights.shape[2:]), places)
    assert (result.even_pixels, result.even_patches) == pytest.approx(even)
    kept = [i for i, place in enumerate(places) if place is not None]
    in_first = weights[..., kept[:-2], :][..., kept[:-2]].sum(-1)
    in_second = weights[..., kept[-2:], :][..., kept[-2:]].sum(-1)
    expected = np.concatenate([in_first, in_second], -1).mean(-1)
    np.testing.assert_allclose(result.in_picture, expected, atol=1e-6)


@pytest.mark.parametrize("right", [1, 2, -3])
def test_a_head_that_looks_patches_to_the_right_has_that_distance(right: int) -> None:
    rows, columns = 5, 7
    weights = reference.shifted(rows, columns, right)[None, None]
    attention = attention_of(weights, reference.grid(rows, columns, 6, 4))
    result = measure_attention(attention, ["attention_distance"])["attention_distance"]
    # Patches at the edge look at themselves.
    share = (columns - abs(right)) / columns
    assert result.patches[0, 0] == pytest.approx(abs(right) * share)
    assert result.pixels[0, 0] == pytest.approx(6 * abs(right) * share)


def test_even_attention_has_the_mean_distance_of_the_grid() -> None:
    n = 24
    attention = attention_of(np.full((1, 1, n, n), 1 / n), reference.grid(4, 6))
    result = measure_attention(attention, ["attention_distance"])["attention_distance"]
    assert result.pixels[0, 0] == pytest.approx(result.even_pixels, abs=1e-6)
    assert result.patches[0, 0] == pytest.approx(result.even_patches, abs=1e-6)
    assert "even attention" in str(result.chart().to_dict())


def test_patches_without_weight_on_the_picture_do_not_count() -> None:
    places = [None, *reference.grid(1, 2)]
    weights = np.array([[1.0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]])[None, None]
    result = measure_attention(attention_of(weights, places), ["attention_distance"])
    assert result["attention_distance"].patches.item() == 1
    assert result["attention_distance"].in_picture.item() == 0.25


def test_metrics_of_pictures_say_that_a_text_has_none() -> None:
    attention = load_model(device="cpu").attend("The cat sat.")
    with pytest.raises(ValueError, match="'attention_distance' is of pictures, and no token of"):
        measure_attention(attention, ["attention_distance"])


def test_offsets_are_those_of_a_loop() -> None:
    rows, columns = 3, 5
    places = [None, *reference.grid(rows, columns, 5, 4)]
    weights = random_weights(len(places))
    found = measure_attention(attention_of(weights, places), ["picture_offsets"])
    result = found["picture_offsets"]
    for layer in range(2):
        for head in range(3):
            expected = reference.offset_means(weights[layer, head, 1:, 1:], rows, columns)
            np.testing.assert_allclose(result.weights[layer, head], expected, atol=1e-6)
    in_picture = weights[..., 1:, 1:].sum(-1).mean(-1)
    np.testing.assert_allclose(result.shares.sum((2, 3)), in_picture, atol=1e-6)
    assert result.reach == (rows - 1, columns - 1) and result.even == pytest.approx(1 / 16)
    assert not result.farther.round(6).any()
    near = measure_attention(attention_of(weights, places), [PictureOffsets(2)])["picture_offsets"]
    np.testing.assert_allclose(near.weights, result.weights[..., 2:-2], atol=1e-9)
    np.testing.assert_allclose(near.shares.sum((2, 3)) + near.farther, in_picture, atol=1e-6)


def test_offsets_are_within_tiles_and_within_the_whole_picture() -> None:
    places = [*reference.grid(1, 2, 6, 6), *reference.grid(2, 4, 3, 3)]
    right = np.zeros((10, 10))
    right[:2, :2] = reference.shifted(1, 2, 1)
    right[2:, 2:] = reference.shifted(2, 4, 1)
    result = measure_attention(attention_of(right[None, None], places), ["picture_offsets"])
    weights = result["picture_offsets"].heads()
    assert weights["weight right"].item() == 1 and weights["weight left"].item() == 0
    mixed = np.zeros((10, 10))
    mixed[:2, 2:] = 1 / 8
    mixed[2:, :2] = 1 / 2
    result = measure_attention(attention_of(mixed[None, None], places), ["picture_offsets"])
    assert not result["picture_offsets"].shares.any()


@pytest.mark.parametrize("down", [0, 1])
def test_a_head_that_looks_to_the_right_is_a_point(down: int) -> None:
    weights = np.roll(reference.shifted(4, 4, 2), 4 * down, axis=1)[None, None]
    attention = attention_of(weights, reference.grid(4, 4))
    result = measure_attention(attention, ["picture_offsets"])["picture_offsets"]
    assert result.weights[0, 0, 3 + down, 3 + 2] == 1
    assert result.shares[0, 0].max() == result.shares[0, 0, 3 + down, 3 + 2]
    chart = result.chart([(0, 0)]).to_dict()
    assert "L0 H0" in str(chart) and "weights, 1 picture" in str(chart["title"])
    with pytest.raises(ValueError, match="head 5 is not among"):
        result.chart([(0, 5)])


def test_a_reach_is_a_number_of_patches() -> None:
    with pytest.raises(ValueError, match="at least 1 patch, got 0"):
        PictureOffsets(0)
