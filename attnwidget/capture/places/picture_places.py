"""Positions of the model's pixels in the user's pictures, by probing the processor."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.inputs.processor import Processor
from attnwidget.kernels.arrays import Float64Array
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.text.places import Box

K = TypeVar("K", bound=Hashable)
F = TypeVar("F")
PixelArray = NDArray[np.uint8]
_Process = Callable[[Sequence[PixelArray]], Tensor]

# Number of picture sizes whose frames are cached.
_KEPT = 256
# Largest error of a straight line through the ramp, relative to the picture side.
_RESIDUAL = 0.01
# Number of rows and columns into which a picture is divided to compare its brightness.
_PARTS = 6
# Number of edge pixels where interpolation bends the ramp.
_RIM = 2
# Slant of the ramps, so that rounding errors differ along an edge and cancel.
_SLANT = 8 / 255
# Largest distance between a line through the ramp and a whole-pixel grid, in picture pixels and as
# a share of a frame pixel. Ramp levels are bytes, which resizing blurs.
_OFF_GRID = 0.2
_OFF_GRID_SHARE = 0.25
# Largest relative difference of the processor's and the model's pixels, as in half precision.
_SAME = 0.02


class NoPlaces(Exception):  # noqa: N818  it is a reason that a note shows, and is not raised to users
    """Reason why the tokens of a picture or a sound have no regions."""


def found_once(known: LatestValues[K, F | str], key: K, find: Callable[[], F]) -> F:
    """Return the cached value for a key, or find and cache it. Reasons are cached too.

    Args:
        known: Cached values; a string is the reason for missing regions.
        key: Key of the value.
        find: Function that finds the value, or raises NoPlaces.

    Raises:
        NoPlaces: `find` raises it, or raised it earlier.

    Example:
        >>> from attnwidget.capture.places.picture_places import found_once
        >>> from attnwidget.model_facts.latest_values import LatestValues
        >>> known = LatestValues(4)
        >>> found_once(known, "side", lambda: 16), found_once(known, "side", lambda: 32)
        (16, 16)
    """

    def find_or_say_why() -> F | str:
        try:
            return find()
        except NoPlaces as reason:
            return str(reason)

    value = known.get_or_make(key, find_or_say_why)
    if isinstance(value, str):
        raise NoPlaces(value)
    return value


@dataclass(frozen=True)
class PictureFrame:
    """Pixels that a processor made from a user's picture, or from a part of it.

    A frame has positions across and down: pixels, or patches if the processor cuts the picture into
    patches. Position x of the frame is `scale * x + start` in pixels of the user's picture.

    Attributes:
        picture: Index of the user's picture.
        size: Width and height of the user's picture in pixels.
        across: Scale and start from left to right.
        down: Scale and start from top to bottom.
        inside: Left, upper, right and lower end of the frame part that shows the picture; padding
            surrounds it.
    """

    picture: int
    size: tuple[int, int]
    across: tuple[float, float]
    down: tuple[float, float]
    inside: tuple[int, int, int, int]

    def box(self, left: float, top: float, right: float, bottom: float) -> Box | None:
        """Return the part of the user's picture that a frame rectangle shows.

        Args:
            left: Left end of the rectangle, as a frame position.
            top: Upper end of the rectangle.
            right: Right end of the rectangle.
            bottom: Lower end of the rectangle.

        Returns:
            The box without padding; None if the entire rectangle is padding.

        Example:
            >>> from attnwidget.capture.places.picture_places import PictureFrame
            >>> frame = PictureFrame(0, (400, 300), (2.0, 50.0), (2.0, 0.0), (0, 0, 150, 150))
            >>> frame.box(0, 0, 10, 10)
            Box(picture=0, left=50.0, top=0.0, right=70.0, bottom=20.0)
        """
        first_x, first_y, last_x, last_y = self.inside
        horizontal = _edges(self.across, max(left, first_x), min(right, last_x), self.size[0])
        vertical = _edges(self.down, max(top, first_y), min(bottom, last_y), self.size[1])
        if horizontal is None or vertical is None:
            return None
        return Box(self.picture, horizontal[0], vertical[0], horizontal[1], vertical[1])

    @property
    def whole(self) -> Box | None:
        """The part of the user's picture in the frame; None if the frame shows no area."""
        return self.box(*self.inside)


@dataclass(frozen=True)
class PictureFrames:
    """Frames in the pixels of one input.

    Attributes:
        frames: Frames in the order of the input; None for a frame that is all padding.
        patches: Frame, row and column of each flat patch, int [n, 3], or -1 for padding, if the
            processor cuts pictures into patches; otherwise None.
        shapes: Numbers of patch rows and patch columns in each frame, if the processor cuts
            pictures into patches.
        black: Values of black pixels, [channels], or [patch values] for flat patches.
        white: Values of white pixels, in the same shape.
    """

    frames: tuple[PictureFrame | None, ...]
    black: Float64Array
    white: Float64Array
    patches: NDArray[np.int64] | None = None
    shapes: tuple[tuple[int, int], ...] = ()

    def brightness(self, pixels: Tensor) -> list[Float64Array]:
        """Return the pixel brightness of each frame, from 0 to 1, [rows, columns] each."""
        numbers = pixels.double().cpu().numpy()
        if self.patches is None:
            shape = (-1, len(self.black), *numbers.shape[-2:])
            above_black = numbers.reshape(shape) - self.black[:, None, None]
            return list((above_black / (self.white - self.black)[:, None, None]).mean(1))
        flat = (numbers.reshape(-1, len(self.black)) - self.black) / (self.white - self.black)
        frames = []
        for frame, shape in enumerate(self.shapes):
            indices = np.flatnonzero(self.patches[:, 0] == frame)
            grid = np.zeros(shape)
            grid[self.patches[indices, 1], self.patches[indices, 2]] = flat[indices].mean(1)
            frames.append(grid)
        return frames


class FrameFinder:
    """Finder of pixel positions in pictures; the result is cached by picture sizes.

    The processor reads pictures of the same sizes whose brightness encodes the position: black,
    white, and ramps from left to right and from top to bottom. Every resulting pixel value then
    gives its position as (ramp - black) / (white - black), even if the processor normalizes values.
    Pixels that are equal for black and white are padding.

    Example:
        >>> import numpy as np
        >>> from transformers import ViTImageProcessor
        >>> from attnwidget.capture.places.picture_places import FrameFinder
        >>> picture = np.zeros((100, 200, 3), dtype=np.uint8)
        >>> processor = ViTImageProcessor(size={"height": 50, "width": 50})
        >>> inputs = processor(images=picture, return_tensors="pt")
        >>> frame = FrameFinder()(processor, [picture], inputs).frames[0]
        >>> box = frame.box(0, 0, 25, 25)
        >>> round(box.right), round(box.bottom)
        (100, 50)
    """

    def __init__(self) -> None:
        self._known = LatestValues[tuple[Any, ...], PictureFrames](_KEPT)
        self._processor: Any = None

    def __call__(
        self, processor: Any, pictures: Sequence[PixelArray], inputs: Mapping[str, Tensor]
    ) -> PictureFrames:
        """Return the positions of an input's pixels in the pictures that a processor read.

        Args:
            processor: Processor of transformers, or its image processor.
            pictures: Pictures of the user, uint8 [height, width, 3] each.
            inputs: Inputs of the model, with `pixel_values` made from `pictures`.

        Raises:
            NoPlaces: The positions cannot be known: the processor makes other pixels from the
                pictures than the model read, or it bends, turns or mixes pictures.
        """
        pixel_values = inputs.get("pixel_values")
        if pixel_values is None:
            raise NoPlaces("the model read no pixel_values")
        process, pixels = _process_of(processor, pictures, pixel_values)
        sizes = [(picture.shape[1], picture.shape[0]) for picture in pictures]
        if processor is not self._processor:
            self._known = LatestValues(_KEPT)
            self._processor = processor
        key = (_options(processor), *sizes, *pixel_values.shape)
        frames = self._known.get_or_make(key, lambda: _frames_of(process, sizes, inputs))
        _check_content(frames, pictures, pixels)
        return frames


def _frames_of(
    process: _Process, sizes: Sequence[tuple[int, int]], inputs: Mapping[str, Tensor]
) -> PictureFrames:
    """Return the frames that a processor makes from pictures of these sizes."""
    pixel_values = inputs["pixel_values"]
    if pixel_values.ndim > 3:
        channels, height, width = pixel_values.shape[-3:]
        if channels not in (1, 3):
            raise NoPlaces(f"its pixels have the shape {list(pixel_values.shape)}, without colors")
        ramps = _Ramps.from_process(process, sizes, (-1, channels, height, width))
        frames = tuple(_frame(ramps, i, sizes) for i in range(len(ramps.covered)))
        return PictureFrames(frames, ramps.black, ramps.white)
    patches = _Ramps.from_process(process, sizes, (-1, pixel_values.shape[-1]))
    order, shapes = _flat_order(patches, inputs)
    ramps_of_frames = [patches.one_frame(order, frame, shape) for frame, shape in enumerate(shapes)]
    frames = tuple(_frame(ramps, 0, sizes) for ramps in ramps_of_frames)
    return PictureFrames(frames, patches.black, patches.white, order, shapes)


def _check_content(frames: PictureFrames, pictures: Sequence[PixelArray], pixels: Tensor) -> None:
    """Check that the frames show the picture parts that the ramps give.

    Raises:
        NoPlaces: The processor treats these pictures differently from ramps, for example because
            it crops white margins.
    """
    for frame, brightness in zip(frames.frames, frames.brightness(pixels), strict=True):
        if frame is None:
            continue
        picture = pictures[frame.picture]
        left, top, right, bottom = frame.inside
        columns = np.unique(np.linspace(left, right, _PARTS + 1).round().astype(int))
        rows = np.unique(np.linspace(top, bottom, _PARTS + 1).round().astype(int))
        pairs = []
        for upper, lower in pairwise(rows.tolist()):
            for first, last in pairwise(columns.tolist()):
                box = frame.box(first, upper, last, lower)
                if box is None:
                    continue
                part = picture[
                    round(box.top) : max(round(box.bottom), round(box.top) + 1),
                    round(box.left) : max(round(box.right), round(box.left) + 1),
                ]
                if part.size:
                    pairs.append((part.mean() / 255, brightness[upper:lower, first:last].mean()))
        if not pairs:
            continue
        expected, measurements = np.array(pairs).T
        error = float(np.abs(expected - measurements).mean())
        if error > 0.02 + float(expected.std()) / 4:
            raise NoPlaces("the processor cuts or alters this picture by its content")


@dataclass(frozen=True)
class _Ramps:
    """Measurements from ramps, for frames of pixels or for flat patches.

    Attributes:
        covered: Whether the picture covers a position, bool [frames, height, width] or [patches].
        picture: 1-based index of the picture at a position, divided by the number of pictures.
        across: Position from left to right, as a share of the width.
        down: Position from top to bottom, as a share of the height.
        black: Usual values of black at one position.
        white: Usual values of white at one position.
    """

    covered: NDArray[np.bool_]
    picture: Float64Array
    across: Float64Array
    down: Float64Array
    black: Float64Array
    white: Float64Array

    @classmethod
    def from_process(
        cls,
        process: _Process,
        sizes: Sequence[tuple[int, int]],
        shape: tuple[int, ...],
    ) -> _Ramps:
        """Pass ramps through a processor; the values along axis 1 of `shape` share a position."""

        def read(level: Callable[[int, int, int], Float64Array]) -> Float64Array:
            gray_pictures = [_gray(level(i, *size), size) for i, size in enumerate(sizes)]
            return process(gray_pictures).double().cpu().numpy().reshape(shape)

        black = read(lambda *_: np.zeros(1))
        span = read(lambda *_: np.ones(1)) - black
        covered = np.abs(span) > np.abs(span).max() / 2
        if not covered.any():
            raise NoPlaces("the processor shows nothing of the picture")

        def share(level: Callable[[int, int, int], Float64Array]) -> Float64Array:
            shares = (read(level) - black) / np.where(covered, span, 1)
            return np.asarray(shares.mean(1))

        def steep(x: Float64Array, y: Float64Array) -> Float64Array:
            return (1 - _SLANT) * x + _SLANT * y

        across = share(lambda _, width, height: steep(_middles(width), _middles(height)[:, None]))
        down = share(lambda _, width, height: steep(_middles(height)[:, None], _middles(width)))
        return cls(
            covered.all(1),
            share(lambda i, *_: np.full(1, (i + 1) / len(sizes))),
            ((1 - _SLANT) * across - _SLANT * down) / (1 - 2 * _SLANT),
            ((1 - _SLANT) * down - _SLANT * across) / (1 - 2 * _SLANT),
            _of_one_place(black, covered),
            _of_one_place(black + span, covered),
        )

    def one_frame(self, order: NDArray[np.int64], frame: int, shape: tuple[int, int]) -> _Ramps:
        """Return flat patches as one frame with rows and columns."""
        indices = np.flatnonzero(order[:, 0] == frame)
        grid = np.zeros(shape, dtype=np.int64)
        grid[order[indices, 1], order[indices, 2]] = indices
        return _Ramps(
            self.covered[grid][None],
            self.picture[grid][None],
            self.across[grid][None],
            self.down[grid][None],
            self.black,
            self.white,
        )


def _of_one_place(numbers: Float64Array, covered: NDArray[np.bool_]) -> Float64Array:
    """Return the usual values along axis 1 at positions with a picture."""
    rows = np.moveaxis(numbers, 1, -1).reshape(-1, numbers.shape[1])
    is_picture = np.moveaxis(covered, 1, -1).reshape(rows.shape).all(1)
    positions = np.flatnonzero(is_picture)
    # Interpolation mixes the edges of a picture with the padding.
    samples = positions[np.linspace(0, len(positions) - 1, 999).astype(int)]
    return np.asarray(np.median(rows[samples], axis=0))


def _middles(count: int) -> Float64Array:
    """Return the pixel centers as shares of a side with `count` pixels."""
    return np.asarray((np.arange(count) + 0.5) / count)


def _gray(level: Float64Array, size: tuple[int, int]) -> PixelArray:
    """Return a gray picture from levels between 0 and 1.

    Large pictures have more pixels than a byte has levels. Noise before rounding keeps the mean
    of neighboring pixels exact.
    """
    width, height = size
    values = np.asarray(level * 255, dtype=np.float32)
    if values.size == 1:
        values = np.rint(values)
    else:
        tile = np.random.default_rng(0).random((61, 67), dtype=np.float32)
        noise = np.tile(tile, (height // 61 + 1, width // 67 + 1))[:height, :width]
        # The factor prevents noise from raising a level to the next integer.
        values = values + noise * 0.999
    channel = np.broadcast_to(values.astype(np.uint8), (height, width))
    return np.stack([channel, channel, channel], axis=2)


def _pictures_of(processor: Any) -> Any:
    """Return the image processor of a processor."""
    parts = Processor.from_object(processor)
    return processor if parts is None or parts.pictures is None else parts.pictures


def _options(processor: Any) -> str:
    """Return the options of an image processor, which the user may change."""
    return str(getattr(_pictures_of(processor), "to_dict", str)())


def _process_of(
    processor: Any, pictures: Sequence[PixelArray], read: Tensor
) -> tuple[_Process, Tensor]:
    """Return a function from pictures to pixels as the model read them, and the pixels."""
    from PIL import Image

    image_processor = _pictures_of(processor)
    hf_processor = getattr(processor, "given", processor)
    kinds = getattr(hf_processor, "valid_processor_kwargs", None)
    options = dict(getattr(kinds, "_defaults", {}).get("images_kwargs", {}))
    refusals: list[str] = []
    for arrange in (list, lambda images: [list(images)]):

        def process(arrays: Sequence[PixelArray], arrange: Callable[..., Any] = arrange) -> Tensor:
            images = arrange([Image.fromarray(array) for array in arrays])
            features = image_processor(images=images, return_tensors="pt", **options)
            pixels: Tensor = features["pixel_values"]
            return pixels.detach().cpu()

        try:
            output_pixels = process(pictures)
        except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
            refusals.append(f"{type(image_processor).__name__} refused them: {error}")
            continue
        if output_pixels.shape != read.shape:
            refusals.append(f"it makes {list(output_pixels.shape)} of them, not {list(read.shape)}")
            continue
        model_pixels = read.detach().to("cpu", output_pixels.dtype)
        if float((output_pixels - model_pixels).abs().max()) <= _SAME * max(
            1.0, float(model_pixels.abs().max())
        ):
            return process, output_pixels
        refusals.append("it makes other pixels of them")
    raise NoPlaces(f"the processor did not make the pixels of the pictures: {refusals[0]}")


def _frame(ramps: _Ramps, number: int, sizes: Sequence[tuple[int, int]]) -> PictureFrame | None:
    """Return the frame that the ramps show; None if it is padding."""
    covered = ramps.covered[number]
    if not covered.any():
        return None
    rows, columns = np.flatnonzero(covered.any(1)), np.flatnonzero(covered.any(0))
    bounds = (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    left, top, right, bottom = bounds
    part = (slice(top, bottom), slice(left, right))
    if not covered[part].all():
        raise NoPlaces("the processor shows a part of a picture that is no rectangle")
    picture_indices = ramps.picture[number][part] * len(sizes) - 1
    picture = round(float(np.median(picture_indices)))
    if float(np.quantile(np.abs(picture_indices - picture), 0.99)) > 0.25:
        raise NoPlaces("the processor shows several pictures in one")
    width, height = sizes[picture]
    if right - left < 2 or bottom - top < 2:
        return None  # There are too few positions to fit a line.
    across = _line(ramps.across[number][part] * width, left, width)
    across = _on_grid(across, left, right, width)
    down = _line(ramps.down[number][part].T * height, top, height)
    down = _on_grid(down, top, bottom, height)
    return PictureFrame(picture, (width, height), across, down, bounds)


def _line(places: Float64Array, start: int, side: int) -> tuple[float, float]:
    """Fit scale and start of `places`, [lines, positions], whose positions begin at `start`."""
    lines, count = places.shape
    rim = _RIM if count > 4 * _RIM else 0
    rim_of_lines = _RIM if lines > 4 * _RIM else 0
    inner = places[rim_of_lines : lines - rim_of_lines, rim : count - rim]
    positions = np.arange(count)[rim : count - rim] + start + 0.5
    scale, offset = np.polyfit(positions, inner.mean(0), 1)
    errors = np.abs(inner - (scale * positions + offset))
    if float(np.quantile(errors, 0.99)) > max(_RESIDUAL * side, 1.0) or scale == 0:
        raise NoPlaces("the processor bends, turns or mixes the pixels of the pictures")
    return float(scale), float(offset)


def _on_grid(line: tuple[float, float], first: int, last: int, side: int) -> tuple[float, float]:
    """Return the line of a resize and a crop by whole pixels, if the measured line agrees with one.

    A processor resizes a side to a whole number of pixels, and then crops or pads it by a whole
    number of pixels. Frames with the entire side, and tiles of equal size, are tried first, because
    their grid is known even if a frame pixel is smaller than the measurement error.

    Args:
        line: Measured scale and start.
        first: First position of the frame that shows the picture.
        last: End of these positions.
        side: Side of the picture in pixels.

    Returns:
        The exact scale and start, or `line` if no grid agrees.
    """
    scale, start = line
    ends = np.array([first, last])
    for unit, tolerance in (
        (last - first, _OFF_GRID),
        (1, min(_OFF_GRID, _OFF_GRID_SHARE * abs(scale))),
    ):
        resized = unit * round(side / scale / unit)
        cropped = unit * round((start / scale + first) / unit) - first
        if resized:
            exact = side / resized, cropped * side / resized
            if np.abs(exact[0] * ends + exact[1] - (scale * ends + start)).max() <= tolerance:
                return exact
    return line


def _edges(
    line: tuple[float, float], first: float, last: float, side: int
) -> tuple[float, float] | None:
    """Return the ends of a picture part, from the ends of a frame part."""
    scale, start = line
    low, high = sorted((scale * first + start, scale * last + start))
    low, high = max(low, 0.0), min(high, float(side))
    return (low, high) if last > first and high > low else None


def _flat_order(
    ramps: _Ramps, inputs: Mapping[str, Tensor]
) -> tuple[NDArray[np.int64], tuple[tuple[int, int], ...]]:
    """Return the frame, row and column of each flat patch, and each frame's grid shape."""
    shapes, starts = _flat_shapes(inputs)
    order = np.full((len(ramps.covered), 3), -1, dtype=np.int64)
    for frame, ((rows, columns), start) in enumerate(zip(shapes, starts, strict=True)):
        part = slice(start, start + rows * columns)
        row = _ranks(ramps.down[part], rows)
        column = _ranks(ramps.across[part], columns)
        if len(row) < rows * columns or len(np.unique(row * columns + column)) < rows * columns:
            raise NoPlaces(f"its patches are no grid of {rows} × {columns}")
        order[part] = np.stack([np.full_like(row, frame), row, column], 1)
    return order, shapes


def _ranks(places: Float64Array, count: int) -> NDArray[np.int64]:
    """Return the nearest of `count` evenly spaced positions for each position."""
    low, high = float(places.min(initial=1)), float(places.max(initial=0))
    spread = max(high - low, 1e-9)
    return np.asarray(np.round((places - low) / spread * (count - 1)), dtype=np.int64)


def _flat_shapes(
    inputs: Mapping[str, Tensor],
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return each picture's grid shape of flat patches, and its first patch."""
    if "image_grid_thw" in inputs:
        grids = [[int(n) for n in grid] for grid in inputs["image_grid_thw"].tolist()]
        if any(frames != 1 for frames, _, _ in grids):
            raise NoPlaces("a picture has several frames")
        counts = [rows * columns for _, rows, columns in grids]
        starts = [sum(counts[:i]) for i in range(len(counts))]
        return tuple((rows, columns) for _, rows, columns in grids), tuple(starts)
    if "spatial_shapes" in inputs and inputs["pixel_values"].ndim == 3:
        shapes = tuple((int(h), int(w)) for h, w in inputs["spatial_shapes"].tolist())
        n_patches = inputs["pixel_values"].shape[1]
        return shapes, tuple(i * n_patches for i in range(len(shapes)))
    raise NoPlaces(
        f"its pixels have the shape {list(inputs['pixel_values'].shape)}, and no input says how "
        "many rows of patches there are"
    )
