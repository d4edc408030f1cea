"""Places of pixels in pictures: what the processor does is measured, not assumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    CLIPImageProcessor,
    Idefics3ImageProcessor,
    LlavaImageProcessor,
    ViTImageProcessor,
)

from attnwidget.capture.places.picture_places import (
    FrameFinder,
    NoPlaces,
    PictureFrame,
    PictureFrames,
)
from attnwidget.text.places import Box
from fixtures.picture_models import Picture, drawn
from refusals import naming


class Altered:
    """A processor that changes the pixels of ViT's processor."""

    def __init__(self, alter: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> None:
        self.inner = ViTImageProcessor(size={"height": 48, "width": 64})
        self.alter = alter

    def __call__(self, images: Any, return_tensors: str) -> dict[str, torch.Tensor]:
        made = self.inner(images=images, return_tensors="np")["pixel_values"]
        return {"pixel_values": torch.from_numpy(np.ascontiguousarray(self.alter(made)))}


def frames_of(processor: Any, *pictures: Picture) -> PictureFrames:
    inputs = processor(images=list(pictures), return_tensors="pt")
    return FrameFinder()(processor, pictures, inputs)


def only(frames: PictureFrames) -> PictureFrame:
    (frame,) = frames.frames
    assert frame is not None
    return frame


def edges_of(box: Box) -> tuple[float, ...]:
    return box.left, box.top, box.right, box.bottom


@pytest.mark.parametrize("size", [(640, 427), (30, 50), (1000, 450), (3001, 2000)])
def test_a_squeezed_picture_has_the_boxes_of_its_grid(size: tuple[int, int]) -> None:
    frame = only(frames_of(ViTImageProcessor(), drawn(*size)))
    box = frame.box(16, 32, 32, 64)
    assert box is not None
    expected = np.array([16, 32, 32, 64]) / 224 * np.tile(size, 2)
    np.testing.assert_allclose(edges_of(box), expected, rtol=1e-12)
    assert frame.whole is not None and edges_of(frame.whole) == pytest.approx((0, 0, *size))


def test_a_cropped_picture_has_the_boxes_of_its_grid() -> None:
    frame = only(frames_of(CLIPImageProcessor(), drawn(640, 427)))
    # The shorter side has 224 pixels, the longer side 335; 55 are cut off on the left.
    whole = frame.whole
    assert whole is not None
    assert (whole.left, whole.right) == pytest.approx((55 / 335 * 640, 279 / 335 * 640))
    assert (whole.top, whole.bottom) == pytest.approx((0, 427))


def test_tiles_of_a_small_picture_have_the_boxes_of_their_grid() -> None:
    processor = Idefics3ImageProcessor()
    (*tiles, small) = frames_of(processor, drawn(30, 50)).frames
    assert len(tiles) == 12 and small is not None
    for number, tile in enumerate(tiles):
        row, column = divmod(number, 3)
        expected = (column * 10, row * 12.5, (column + 1) * 10, (row + 1) * 12.5)
        # A pixel of a tile is 0.03 pixels of the picture, which is less than the error of a ramp.
        assert tile is not None and tile.whole is not None
        assert edges_of(tile.whole) == pytest.approx(expected, abs=1e-9)


def test_a_side_without_a_grid_of_whole_pixels_keeps_its_measured_boxes() -> None:
    # The processor pads the picture to a square of 1,000 pixels, and then resizes the square.
    frame = only(frames_of(LlavaImageProcessor(do_pad=True), drawn(1000, 450)))
    box = frame.box(0, 64, 16, 80)
    assert box is not None
    expected = np.array([0, 64, 16, 80]) * 1000 / 224 - [0, 275, 0, 275]
    assert np.abs(np.array(edges_of(box)) - expected).max() < 0.2


def test_a_changed_option_of_the_processor_changes_the_boxes() -> None:
    find, picture = FrameFinder(), drawn(640, 427)
    processor = CLIPImageProcessor(size={"height": 224, "width": 224})
    squeezed = only(find(processor, [picture], processor(images=picture, return_tensors="pt")))
    processor.size = {"shortest_edge": 224}
    cropped = only(find(processor, [picture], processor(images=picture, return_tensors="pt")))
    assert squeezed.across[0] > 2.8 and cropped.across[0] < 2


def test_padding_has_no_place() -> None:
    def pad(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.pad(pixels, ((0, 0), (0, 0), (10, 6), (0, 0)), constant_values=0.3)

    frame = only(frames_of(Altered(pad), drawn(128, 96)))
    assert frame.inside == (0, 10, 64, 58)
    assert frame.box(0, 0, 16, 8) is None
    box = frame.box(0, 8, 16, 16)
    assert box is not None and abs(box.top) < 0.2 and abs(box.bottom - 12) < 0.2


def test_mirrored_pixels_have_boxes_on_the_other_side() -> None:
    frame = only(frames_of(Altered(lambda pixels: pixels[..., ::-1]), drawn(128, 96)))
    box = frame.box(0, 0, 16, 16)
    assert box is not None and abs(box.right - 128) < 0.2 and abs(box.left - 96) < 0.2


def test_pictures_that_change_places_keep_their_numbers() -> None:
    pictures = [drawn(128, 96, 0), drawn(90, 90, 1), drawn(64, 200, 2)]
    frames = frames_of(Altered(lambda pixels: pixels[[2, 0, 1]]), *pictures)
    assert [frame and frame.picture for frame in frames.frames] == [2, 0, 1]
    assert [frame and frame.size for frame in frames.frames] == [(64, 200), (128, 96), (90, 90)]


@pytest.mark.parametrize(
    ("alter", "parts"),
    [
        (lambda pixels: pixels.swapaxes(2, 3), ("bends", "turns")),
        (lambda pixels: np.sign(pixels) * np.abs(pixels) ** 1.5, ("bends", "turns")),
        (lambda pixels: np.where(np.tri(48, 64, dtype=bool), pixels, 0), ("no rectangle",)),
        (lambda pixels: pixels.reshape(1, 1, -1), ("[1, 1, 9216]", "rows")),
    ],
    ids=["transposed", "bent", "triangle", "flat"],
)
def test_pixels_without_straight_rows_and_columns_have_no_places(
    alter: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]], parts: tuple[str, ...]
) -> None:
    with pytest.raises(NoPlaces, match=naming(*parts)):
        frames_of(Altered(alter), drawn(128, 96))


def test_a_mostly_white_picture_in_blurred_padding_has_places() -> None:
    page = np.full((200, 300, 3), 255, dtype=np.uint8)
    page[50:60, 60:200] = 0
    frame = only(frames_of(LlavaImageProcessor(do_pad=True), page))
    assert frame.inside == (0, 37, 224, 187)


class CutMargins:
    """A processor that cuts off the white margins of a page, as Nougat's does."""

    def __init__(self) -> None:
        self.inner = ViTImageProcessor(size={"height": 48, "width": 64})

    def __call__(self, images: Any, return_tensors: str) -> Any:
        cut = []
        for image in images:
            dark = np.asarray(image).min(2) < 200
            rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
            if len(rows):
                corner = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
                image = Image.fromarray(np.asarray(image)).crop(corner)
            cut.append(image)
        return self.inner(images=cut, return_tensors=return_tensors)


def test_a_processor_that_cuts_margins_of_a_page_has_no_places() -> None:
    page = np.full((120, 160, 3), 255, dtype=np.uint8)
    page[60:100, 80:140] = drawn(60, 40)
    with pytest.raises(NoPlaces, match=naming("picture", "content")):
        frames_of(CutMargins(), page)


def test_several_pictures_in_one_frame_have_no_places() -> None:
    with pytest.raises(NoPlaces, match="several pictures in one"):
        frames_of(
            Altered(lambda pixels: np.concatenate(list(pixels), 2)[None]),
            drawn(128, 96),
            drawn(90, 60, 1),
        )


def test_pixels_that_another_processor_made_have_no_places() -> None:
    picture = drawn(128, 96)
    crop = CLIPImageProcessor()(images=picture, return_tensors="pt")
    with pytest.raises(NoPlaces, match="other pixels"):
        FrameFinder()(ViTImageProcessor(), [picture], crop)
    with pytest.raises(NoPlaces, match=naming("[1, 3, 48, 64]", "[1, 3, 224, 224]")):
        FrameFinder()(Altered(np.asarray), [picture], crop)
    with pytest.raises(NoPlaces, match=naming("'pixel_values'", "refused")):
        FrameFinder()(lambda **_: {}, [picture], crop)
    with pytest.raises(NoPlaces, match=naming("no pixel_values")):
        FrameFinder()(ViTImageProcessor(), [picture], {})
