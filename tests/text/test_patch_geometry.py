"""Patches and regions: exact overlaps, rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget.text.patch_geometry import Patches, Region
from attnwidget.text.places import Box, Span
from fixtures.picture_models import SIZES, build, drawn
from references.reference_pictures import grid, inside
from refusals import naming

FAMILIES = [
    "ViT",
    "DINOv2 with registers",
    "SigLIP 2 vision",
    "YOLOS",
    "LLaVA-NeXT",
    "InternVL tiles",
    "Idefics3",
    "Qwen2-VL",
]
RANDOM = np.random.default_rng(0)


def random_box(picture: int = 0) -> Box:
    left, top = RANDOM.uniform(-3, 20, 2)
    width, height = RANDOM.uniform(0.5, 14, 2)
    return Box(picture, left, top, left + width, top + height)


def test_only_tokens_in_pictures_are_patches() -> None:
    patches = Patches.from_regions([None, Box(1, 0, 0, 2, 4), Span(0, 0, 1)])
    assert patches.tokens.tolist() == [1] and patches.pictures.tolist() == [1]
    assert patches.centers.tolist() == [[1, 2]] and len(Patches.from_regions(())) == 0


@pytest.mark.parametrize("n_boxes", [1, 2, 4])
def test_shares_of_boxes_are_the_counts_of_small_cells(n_boxes: int) -> None:
    boxes = [random_box() for _ in range(n_boxes)]
    tokens = [random_box() for _ in range(20)]
    found = Patches.from_regions(tokens).inside(Region.from_boxes(boxes))
    np.testing.assert_allclose(found, [inside(token, boxes) for token in tokens], atol=0.015)
    assert Patches.from_regions([random_box(1)]).inside(Region.from_boxes(boxes)).tolist() == [0]


def test_shares_of_masks_are_the_shares_of_their_pixels() -> None:
    mask = RANDOM.random((17, 23)) < 0.4
    region = Region.from_boxes(mask)
    pixels = Region.from_boxes([Box(0, x, y, x + 1, y + 1) for y, x in np.argwhere(mask).tolist()])
    patches = Patches.from_regions([random_box() for _ in range(20)])
    np.testing.assert_allclose(patches.inside(region), patches.inside(pixels), atol=1e-12)
    whole = Patches.from_regions([Box(0, 0, 0, 23, 17)])
    assert whole.inside(region)[0] == pytest.approx(mask.mean())
    scaled = Patches.from_regions([Box(0, 0, 0, 46, 51)]).inside(region.scaled(2, 3))
    assert scaled[0] == pytest.approx(mask.mean())


def test_rows_and_columns_of_tiles_and_of_the_whole_picture() -> None:
    tiles = grid(4, 6, 2.5, 3)
    whole = grid(2, 3, 5.01, 5.99)
    found = Patches.from_regions([*whole, None, *tiles, Box(1, 0, 0, 2.5, 3)]).rasters()
    assert found[:, 0].tolist() == [0] * 6 + [1] * 24 + [2]
    assert found[:6, 1:].tolist() == [[r, c] for r in range(2) for c in range(3)]
    assert found[6:30, 1:].tolist() == [[r, c] for r in range(4) for c in range(6)]


def test_edges_that_are_known_to_a_fraction_of_a_pixel_are_rows_and_columns() -> None:
    shaken = [
        Box(0, *(edge + RANDOM.uniform(-0.2, 0.2) for edge in (b.left, b.top, b.right, b.bottom)))
        for b in grid(24, 24, 14, 14)
    ]
    found = Patches.from_regions(shaken).rasters()
    assert found[:, 1:].tolist() == [[r, c] for r in range(24) for c in range(24)]


def test_patches_at_any_places_have_no_rows() -> None:
    uneven = [Box(0, x, 0, x + 4, 4) for x in (0, 4, 10, 14)]
    for places in (uneven, [*grid(2, 2), Box(0, 4, 4, 8, 8)]):
        with pytest.raises(ValueError, match=naming("picture 0", "rows")):
            Patches.from_regions(places).rasters()


@pytest.mark.parametrize(
    ("given", "error", "parts"),
    [
        ("box", TypeError, ("str",)),
        ([Box(0, 0, 0, 1, 1), (0, 0, 1, 1)], TypeError, ("(0, 0, 1, 1)", "list")),
        ([], ValueError, ("at least one box",)),
        (np.zeros((2, 2)), ValueError, ("bool", "float64", "[2, 2]")),
        (np.zeros((2, 2), bool), ValueError, ("one pixel",)),
    ],
)
def test_other_places_are_refused(
    given: object, error: type[Exception], parts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        Region.from_boxes(given)  # type: ignore[arg-type]


def test_patches_that_the_edge_cuts_are_in_the_raster_of_the_others() -> None:
    """Tiles of padded pictures: the first and last row are narrow, beside the whole picture."""
    tiles = [
        Box(0, b.left, max(b.top - 7, 0), b.right, min(b.bottom - 7, 41))
        for b in grid(5, 6, 10, 10)
    ]
    whole = grid(2, 3, 20, 20.5)
    patches = Patches.from_regions([*whole, *tiles])
    found = patches.rasters()
    assert found[:, 0].tolist() == [0] * 6 + [1] * 30
    assert found[6:, 1:].tolist() == [[r, c] for r in range(5) for c in range(6)]
    assert patches.units[6:].tolist() == [[10, 10]] * 30
    corner = [
        Box(0, max(b.left - 3, 0), max(b.top - 7, 0), b.right - 3, b.bottom - 7)
        for b in grid(3, 4, 10, 10)
    ]
    cut = Patches.from_regions(corner).rasters()
    assert cut.tolist() == [[0, r, c] for r in range(3) for c in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_rows_and_columns(name: str, size: tuple[int, int]) -> None:
    """The centers of neighbors are a step apart in the picture, in every raster of the family."""
    tokens, _ = build(name).tokens("self", [drawn(*size)])
    patches = Patches.from_regions(tokens.places)
    rasters, centers = patches.rasters(), patches.centers
    assert np.bincount(rasters[:, 0]).min() >= 4
    place = {tuple(key): number for number, key in enumerate(rasters.tolist())}
    neighbors = 0
    for (raster, row, column), number in place.items():
        right = place.get((raster, row, column + 1))
        below = place.get((raster, row + 1, column))
        for other, axis in ((right, 0), (below, 1)):
            if other is not None:
                step = centers[other] - centers[number]
                unit = patches.units[number]
                # The center of a cut patch is nearer.
                assert 0.4 * unit[axis] < step[axis] < 1.1 * unit[axis]
                assert abs(step[1 - axis]) < 0.5 * unit[1 - axis]
                neighbors += 1
    assert neighbors >= len(patches) - 1
