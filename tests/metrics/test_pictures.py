"""Metrics of pictures: against slow references, and heads with a known place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, load_model, measure_attention
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.attention_reader import add_attention, measured_stack, subject_of
from attnwidget.metrics import AttentionDistance, ImageOffsets, MassInPlaces
from attnwidget.text.places import Box, Place
from attnwidget.text.segments import Segment
from references import reference_pictures as reference
from refusals import naming

RANDOM = np.random.default_rng(0)
PICTURES = [np.zeros((40, 60, 3), np.uint8)] * 2


def attention_of(weights: np.ndarray, places: Sequence[Place | None], **options: Any) -> Attention:
    tokens = [f"t{place}" for place in range(len(places))]
    return Attention.from_weights(weights, tokens, places=places, images=PICTURES, **options)


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
    with pytest.raises(ValueError, match=naming("'attention_distance'", "Attention.from_weights")):
        measure_attention(attention, ["attention_distance"])


def test_offsets_are_those_of_a_loop() -> None:
    rows, columns = 3, 5
    places = [None, *reference.grid(rows, columns, 5, 4)]
    weights = random_weights(len(places))
    found = measure_attention(attention_of(weights, places), ["image_offsets"])
    result = found["image_offsets"]
    for layer in range(2):
        for head in range(3):
            expected = reference.offset_means(weights[layer, head, 1:, 1:], rows, columns)
            np.testing.assert_allclose(result.weights[layer, head], expected, atol=1e-6)
    in_picture = weights[..., 1:, 1:].sum(-1).mean(-1)
    np.testing.assert_allclose(result.shares.sum((2, 3)), in_picture, atol=1e-6)
    assert result.max_offset == (rows - 1, columns - 1) and result.even == pytest.approx(1 / 16)
    assert not result.farther.round(6).any()
    near = measure_attention(attention_of(weights, places), [ImageOffsets(2)])["image_offsets"]
    np.testing.assert_allclose(near.weights, result.weights[..., 2:-2], atol=1e-9)
    np.testing.assert_allclose(near.shares.sum((2, 3)) + near.farther, in_picture, atol=1e-6)


def test_offsets_are_within_tiles_and_within_the_whole_picture() -> None:
    places = [*reference.grid(1, 2, 6, 6), *reference.grid(2, 4, 3, 3)]
    right = np.zeros((10, 10))
    right[:2, :2] = reference.shifted(1, 2, 1)
    right[2:, 2:] = reference.shifted(2, 4, 1)
    result = measure_attention(attention_of(right[None, None], places), ["image_offsets"])
    weights = result["image_offsets"].heads()
    assert weights["weight right"].item() == 1 and weights["weight left"].item() == 0
    mixed = np.zeros((10, 10))
    mixed[:2, 2:] = 1 / 8
    mixed[2:, :2] = 1 / 2
    result = measure_attention(attention_of(mixed[None, None], places), ["image_offsets"])
    assert not result["image_offsets"].shares.any()


@pytest.mark.parametrize("down", [0, 1])
def test_a_head_that_looks_to_the_right_is_a_point(down: int) -> None:
    weights = np.roll(reference.shifted(4, 4, 2), 4 * down, axis=1)[None, None]
    attention = attention_of(weights, reference.grid(4, 4))
    result = measure_attention(attention, ["image_offsets"])["image_offsets"]
    assert result.weights[0, 0, 3 + down, 3 + 2] == 1
    assert result.shares[0, 0].max() == result.shares[0, 0, 3 + down, 3 + 2]
    chart = result.chart([(0, 0)]).to_dict()
    assert "L0 H0" in str(chart) and "weights, 1 picture" in str(chart["title"])
    with pytest.raises(ValueError, match=naming("head 5", "'self'")):
        result.chart([(0, 5)])


def test_the_largest_offset_is_a_number_of_patches() -> None:
    with pytest.raises(ValueError, match=naming("max_offset", "0", "patch")):
        ImageOffsets(0)


def measured(
    metric: Accumulator[Any], maps: np.ndarray, places: Sequence[Sequence[Place | None]]
) -> Any:
    """The result of a metric over pictures with maps [N, L, H, n, n]."""
    for number, (weights, of_picture) in enumerate(zip(maps, places, strict=True)):
        attention = with_cls(weights, of_picture)
        stack = measured_stack(attention, [metric])
        if number == 0:
            metric.start(subject_of(stack, "weights", None))
        ids = range(len(of_picture))
        add_attention(attention, stack, [metric], Segment(("p",), index=number), ids)
    return metric.compute()


def with_cls(weights: np.ndarray, places: Sequence[Place | None]) -> Attention:
    names = ["[CLS]", *(f"r{place}" for place in range(1, len(places)))]
    return Attention.from_weights(weights, names, places=places, images=PICTURES)


def test_mass_and_lift_are_those_of_a_loop() -> None:
    places = [None, *reference.grid(4, 5, 6, 5)]
    boxes = [[Box(0, 3, 2, 11.5, 8)], [Box(0, 10, 4, 20, 9), Box(0, 15, 5, 22, 12)], [places[9]]]
    maps = np.stack([random_weights(len(places)) for _ in boxes])
    result = measured(MassInPlaces(boxes), maps, [places] * 3)
    inside = [[reference.inside(patch, regions) for patch in places[1:]] for regions in boxes]
    for layer, head in np.ndindex(2, 3):
        masses, lifts, hits, control, control_hits = [], [], [], [], []
        for number in range(3):
            row = maps[number, layer, head, 0, 1:]
            row = row / row.sum()
            masses.append(row @ inside[number])
            lifts.append(masses[-1] / np.mean(inside[number]))
            hits.append(inside[number][row.argmax()] > 0)
            for other in {0, 1, 2} - {number}:
                control.append(row @ inside[other] / np.mean(inside[other]))
                control_hits.append(inside[other][row.argmax()] > 0)
        assert result.mass[layer, head] == pytest.approx(np.mean(masses), abs=0.01)
        assert result.lift[layer, head] == pytest.approx(np.mean(lifts), abs=0.05)
        assert result.pointing[layer, head] == pytest.approx(np.mean(hits))
        assert result.control_lift[layer, head] == pytest.approx(np.mean(control), abs=0.05)
        assert result.control_pointing[layer, head] == pytest.approx(np.mean(control_hits))
    np.testing.assert_allclose(result.in_picture, maps[..., 0, 1:].sum(-1).mean(0), atol=1e-6)
    assert result.area == pytest.approx(np.mean(inside), abs=0.005)
    assert (result.n_documents, result.n_outside, result.query) == (3, 0, "[CLS]")


@pytest.mark.parametrize("error", [0, -0.0096, 0.0096])
def test_a_place_beside_the_strongest_patch_is_not_pointed_at(error: float) -> None:
    grid = reference.grid(4, 5, 6, 5)
    measured_grid = [
        Box(0, box.left + error, box.top + error, box.right + error, box.bottom + error)
        for box in grid
    ]
    middle = 7
    maps = np.full((1, 1, 1, 21, 21), 0.01)
    maps[..., middle + 1] = 0.8
    mask = np.zeros((20, 30), bool)
    mask[5:10, 6:12] = True  # the patch to the left of the strongest patch
    for place in (*(grid[middle + step] for step in (-6, -5, -4, -1, 1, 4, 5, 6)), mask):
        result = measured(MassInPlaces([place]), maps, [[None, *measured_grid]])
        assert result.pointing.item() == 0
        assert result.mass.item() == pytest.approx(1 / 99, abs=0.003)
    box = grid[middle]
    small = Box(0, box.left + 1, box.top + 1, box.left + 1.2, box.top + 1.2)  # 0.1 % of the patch
    for place in (box, [grid[0], box], small, [small]):
        result = measured(MassInPlaces([place]), maps, [[None, *measured_grid]])
        assert result.pointing.item() == 1


def test_places_of_other_pictures_that_touch_a_patch_are_no_hits() -> None:
    grid = reference.grid(4, 5, 6, 5)
    moved = [Box(0, b.left - 0.009, b.top, b.right - 0.009, b.bottom) for b in grid]
    maps = np.full((2, 1, 1, 21, 21), 0.01)
    maps[..., 8] = 0.8
    result = measured(MassInPlaces([grid[6], grid[8]]), maps, [[None, *moved]] * 2)
    assert result.pointing.item() == 0 == result.control_pointing.item()


def test_a_place_that_touches_what_the_model_sees_is_outside() -> None:
    places = [None, *reference.grid(2, 2)]
    (right,) = {place.right for place in places if place and place.left}
    touching = Box(0, right - 0.009, 0, right + 3, 5)
    maps = np.stack([random_weights(5) for _ in range(2)])
    result = measured(MassInPlaces([places[1], touching]), maps, [places] * 2)
    assert (result.n_documents, result.n_outside) == (1, 1)
    assert np.isfinite(result.lift).all() and result.lift.max() <= 4


def test_rounding_decides_no_sign_test() -> None:
    grid = [None, *reference.grid(7, 7, 32 / 7, 32 / 7)]
    maps = np.full((30, 1, 1, 50, 50), 1 / 50)
    places = [Box(0, 0.1 * i, 1, 0.1 * i + 9, 11) for i in range(30)]
    result = measured(MassInPlaces(places), maps, [grid] * 30)
    assert result.lift.item() == pytest.approx(1)
    assert result.p_values.item() == 1


def test_even_attention_has_the_lift_1() -> None:
    places = [None, *reference.grid(4, 5, 6, 5)]
    maps = np.full((2, 1, 1, 21, 21), 1 / 21)
    result = measured(MassInPlaces([Box(0, 1, 2, 8, 9), places[7]]), maps, [places] * 2)
    assert result.lift.item() == pytest.approx(1) == result.control_lift.item()
    assert result.p_values.item() == 1


def planted(n_pictures: int) -> tuple[np.ndarray, list[Box | None], list[Box]]:
    """Maps of a head that looks at the place, one that looks at the middle, and an even one."""
    places = [None, *reference.grid(5, 5)]
    targets = np.random.default_rng(1).integers(1, 26, n_pictures)
    maps = np.full((n_pictures, 1, 3, 26, 26), 1 / 26)
    for number, target in enumerate(targets):
        maps[number, 0, :2] = 0
        maps[number, 0, 0, :, target] = 1
        maps[number, 0, 1, :, 13] = 1
    return maps, places, [places[target] for target in targets]


def test_a_head_that_looks_for_the_place_is_told_from_one_that_looks_at_the_middle() -> None:
    maps, places, boxes = planted(20)
    result = measured(MassInPlaces(boxes), maps, [places] * 20)
    assert result.lift[0, 0] == 25 and result.pointing[0, 0] == 1 and result.best == (0, 0)
    assert result.p_values[0, 0] < 1e-3 and (result.p_values[0, 1:] > 0.5).all()
    # The middle is the place of as many pictures as in the other pictures.
    assert result.lift[0, 1] == pytest.approx(result.control_lift[0, 1], abs=1)
    assert "lift in other places" in result.heads()
    assert "p < 0.05" in str(result.chart().to_dict()["title"])


def test_one_picture_has_no_control() -> None:
    maps, places, boxes = planted(1)
    attention = with_cls(maps[0], places)
    result = measure_attention(attention, [MassInPlaces(boxes)])["mass_in_places"]
    assert list(result.heads()) == ["lift", "mass", "pointing game"]
    assert np.isnan(result.p_values).all() and np.isnan(result.control_pointing).all()
    assert "p <" not in str(result.chart().to_dict()["title"])
    with pytest.raises(ValueError, match=naming("2", "measure")):
        measure_attention(attention, [MassInPlaces([*boxes, *boxes])])


@pytest.mark.parametrize(("query", "row"), [("last", -1), (3, 3), ("mean", slice(None))])
def test_other_queries(query: str | int, row: int | slice) -> None:
    places = [None, *reference.grid(2, 3)]
    weights = random_weights(7)
    attention = with_cls(weights, places)
    result = measure_attention(attention, [MassInPlaces(places[2], query)])["mass_in_places"]
    rows = weights[:, :, row].reshape(2, 3, -1, 7).mean(2)
    np.testing.assert_allclose(result.mass, rows[..., 2] / rows[..., 1:].sum(-1), atol=1e-6)
    assert result.query in ("the last token", "token 3", "all tokens")


def test_a_mask_is_the_boxes_of_its_pixels() -> None:
    places = [None, *reference.grid(4, 5, 6.5, 5.5)]
    mask = np.zeros((40, 60), bool)
    mask[3:9, 7:16] = True
    attention = with_cls(random_weights(21), places)
    of_mask = measure_attention(attention, [MassInPlaces([mask])])["mass_in_places"]
    of_box = measure_attention(attention, [MassInPlaces([Box(0, 7, 3, 16, 9)])])["mass_in_places"]
    np.testing.assert_allclose(of_mask.lift, of_box.lift, atol=1e-9)
    assert of_mask.area == pytest.approx(of_box.area)


def test_places_of_other_pictures_are_stretched_to_the_picture() -> None:
    small, large = [None, *reference.grid(2, 2, 4, 4)], [None, *reference.grid(2, 2, 10, 6)]
    maps = np.stack([random_weights(5) for _ in range(2)])
    boxes = [small[1], large[4]]
    result = measured(MassInPlaces(boxes, sizes=[(8, 8), (20, 12)]), maps, [small, large])
    shares = maps[:, :, :, 0, 1:] / maps[:, :, :, 0, 1:].sum(-1, keepdims=True)
    np.testing.assert_allclose(
        result.control_lift, (shares[0, ..., 3] + shares[1, ..., 0]) * 2, atol=1e-6
    )


def test_places_outside_of_what_the_model_sees_do_not_count() -> None:
    places = [None, *reference.grid(2, 2)]
    maps = np.stack([random_weights(5) for _ in range(3)])
    inside = [places[1], places[4]]
    outside = Box(0, 30, 30, 35, 35)
    result = measured(MassInPlaces([*inside, outside]), maps, [places] * 3)
    alone = measured(MassInPlaces(inside), maps[:2], [places] * 2)
    assert (result.n_documents, result.n_outside) == (2, 1)
    for title, values in alone.heads().items():
        np.testing.assert_allclose(result.heads()[title], values)
    with pytest.raises(ValueError, match=naming("pixels", "outside")):
        measured(MassInPlaces([outside]), maps[:1], [places])


def test_wrong_places_are_refused() -> None:
    box = Box(0, 0, 0, 4, 4)
    with pytest.raises(
        ValueError, match=naming("'mass_in_places'", "MassInPlaces", "each picture")
    ):
        MassInPlaces()
    with pytest.raises(ValueError, match=naming("place", "empty list")):
        MassInPlaces([])
    with pytest.raises(ValueError, match=naming("query", "'first'")):
        MassInPlaces(box, "first")
    with pytest.raises(ValueError, match=naming("sizes", "1", "got 2")):
        MassInPlaces(box, sizes=[(4, 4), (4, 4)])
    places = reference.grid(1, 2)
    attention = attention_of(random_weights(2), places)
    with pytest.raises(
        ValueError, match=naming("'mass_in_places'", "MassInPlaces", "query='mean'")
    ):
        measure_attention(attention, [MassInPlaces(box)])
    with pytest.raises(ValueError, match=naming("query 2", "1")):
        measure_attention(attention, [MassInPlaces(box, 2)])
    with pytest.raises(ValueError, match=naming("1 places", "picture 1")):
        measured(MassInPlaces(box), np.stack([random_weights(2)] * 2), [[None, box]] * 2)
    first, second = MassInPlaces(box).options, MassInPlaces(Box(0, 0, 0, 4, 5)).options
    assert first["places"] != second["places"]
