"""Where the patches of pictures are: centres, rows and columns, and the parts in given regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import Box, Place

Floats = NDArray[np.float64]

# Share of a patch by which the edges of a raster may differ from equal steps: boxes of processors
# are found to a fraction of a pixel.
_UNEVEN = 0.05


@dataclass(frozen=True, eq=False)
class Patches:
    """The tokens of an axis that are parts of pictures.

    Attributes:
        tokens: Numbers of these tokens on their axis, int64 [P].
        pictures: Number of the picture of each, int64 [P].
        edges: Left, top, right and lower edge of each in pixels, [P, 4].

    Example:
        >>> from attnwidget.text.places import Box
        >>> from attnwidget.text.patch_geometry import Patches
        >>> patches = Patches.of([None, Box(0, 0, 0, 4, 2), Box(0, 4, 0, 8, 2)])
        >>> patches.tokens.tolist(), patches.centres.tolist(), patches.sizes.tolist()
        ([1, 2], [[2.0, 1.0], [6.0, 1.0]], [[4.0, 2.0], [4.0, 2.0]])
    """

    tokens: NDArray[np.int64]
    pictures: NDArray[np.int64]
    edges: Floats

    @classmethod
    def of(cls, places: Sequence[Place | None]) -> Patches:
        """Return the patches among the places of an axis."""
        boxes = [(token, place) for token, place in enumerate(places) if isinstance(place, Box)]
        edges = [(box.left, box.top, box.right, box.bottom) for _, box in boxes]
        return cls(
            np.array([token for token, _ in boxes], np.int64),
            np.array([box.picture for _, box in boxes], np.int64),
            np.array(edges, np.float64).reshape(-1, 4),
        )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def centres(self) -> Floats:
        """Column and row of the centre of each patch in pixels, [P, 2]."""
        return (self.edges[:, :2] + self.edges[:, 2:]) / 2

    @property
    def sizes(self) -> Floats:
        """Width and height of each patch in pixels, [P, 2]."""
        return self.edges[:, 2:] - self.edges[:, :2]

    def rasters(self) -> NDArray[np.int64]:
        """Return the raster, the row and the column of each patch, int64 [P, 3].

        Patches of one picture and of equal size are a raster. The tiles of a picture and the small
        version of the whole picture are two rasters.

        Raises:
            ValueError: Patches of a raster are not in rows and columns of equal steps.

        Example:
            >>> from attnwidget.text.places import Box
            >>> from attnwidget.text.patch_geometry import Patches
            >>> boxes = [Box(0, x, y, x + 4, y + 4) for y in (0, 4) for x in (0, 4)]
            >>> Patches.of(boxes).rasters().tolist()
            [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
        """
        found = np.zeros((len(self), 3), np.int64)
        unknown = np.ones(len(self), bool)
        number = 0
        while unknown.any():
            first = int(np.argmax(unknown))
            size = self.sizes[first]
            alike = np.all(np.abs(self.sizes - size) <= _UNEVEN * size, axis=1)
            members = unknown & alike & (self.pictures == self.pictures[first])
            columns = _steps(self.edges[members, 0], size[0])
            rows = _steps(self.edges[members, 1], size[1])
            cells = None if rows is None or columns is None else np.stack((rows, columns), axis=1)
            if cells is None or len(np.unique(cells, axis=0)) < len(cells):
                raise ValueError(
                    f"the patches of picture {self.pictures[first]} of {size[0]:.4g} × "
                    f"{size[1]:.4g} pixels are not in rows and columns of equal steps, so that "
                    "offsets in patches are not defined: measure 'attention_distance', which needs "
                    "no rows and columns"
                )
            found[members, 0] = number
            found[members, 1:] = cells
            unknown &= ~members
            number += 1
        return found

    def inside(self, region: Region) -> Floats:
        """Return the share of the area of each patch that is in a region, [P].

        The shares are exact, also for patches that a mask or a box cuts between pixels.

        Example:
            >>> from attnwidget.text.places import Box
            >>> from attnwidget.text.patch_geometry import Patches, Region
            >>> patches = Patches.of([Box(0, 0, 0, 4, 4), Box(0, 4, 0, 8, 4)])
            >>> patches.inside(Region.of([Box(0, 3, 0, 6, 2), Box(0, 3, 0, 5, 2)])).tolist()
            [0.125, 0.25]
        """
        area = np.zeros(len(self))
        for rectangles, picture, mask in region.parts:
            if mask is None:
                overlap = np.minimum(self.edges[:, None, 2:], rectangles[:, 2:])
                overlap = overlap - np.maximum(self.edges[:, None, :2], rectangles[:, :2])
                part = overlap.clip(min=0).prod(2).sum(1)
            else:
                part = _mask_area(mask, self.edges)
            area += np.where(self.pictures == picture, part, 0)
        whole = self.sizes.prod(1)
        return np.divide(area, whole, out=np.zeros(len(self)), where=whole > 0)


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the pictures of an input: boxes that may overlap, or a mask.

    Attributes:
        parts: Of each picture, disjoint rectangles [K, 4], the number of the picture, and a mask in
            place of rectangles, bool [H, W], or None.
    """

    parts: tuple[tuple[Floats, int, NDArray[np.bool_] | None], ...]

    @classmethod
    def of(cls, given: Any) -> Region:
        """Return the region of a box, of several boxes, or of a mask of picture 0.

        Raises:
            TypeError: `given` is neither boxes nor a mask.
            ValueError: There is no box, or the mask is empty or has no rows and columns.
        """
        if isinstance(given, Box):
            given = [given]
        if isinstance(given, np.ndarray):
            if given.dtype != np.bool_ or given.ndim != 2:
                raise ValueError(
                    "a mask is an array of bool [height, width] of the picture, got "
                    f"{given.dtype} {list(given.shape)}"
                )
            if not given.any():
                raise ValueError("a mask marks at least one pixel, got False everywhere")
            return cls(((np.zeros((0, 4)), 0, given),))
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            raise TypeError(
                f"a place is a Box, a list of boxes or a mask, got {type(given).__name__}"
            )
        wrong = next((box for box in given if not isinstance(box, Box)), None)
        if wrong is not None:
            raise TypeError(f"a place is a Box, a list of boxes or a mask, got {wrong!r} in a list")
        if not given:
            raise ValueError("the place of a picture is at least one box, got an empty list")
        pictures = sorted({box.picture for box in given})
        return cls(
            tuple(
                (_apart([box for box in given if box.picture == picture]), picture, None)
                for picture in pictures
            )
        )

    def scaled(self, width: float, height: float) -> Region:
        """Return the region in a picture that is wider and higher by these factors."""
        factors = np.array([width, height, width, height])
        parts = []
        for rectangles, picture, mask in self.parts:
            if mask is not None:
                rectangles, mask = _pixels_of(mask), None
            parts.append((rectangles * factors, picture, mask))
        return Region(tuple(parts))


def _steps(edges: Floats, size: float) -> NDArray[np.int64] | None:
    """Return the number of each edge in steps from the first; None if the steps are not equal."""
    order = np.argsort(edges, kind="stable")
    # Edges of a row differ by less than a patch: a gap begins the next row.
    begins = np.diff(edges[order]) > _UNEVEN * size
    line = np.zeros(len(edges), np.int64)
    line[order[1:]] = begins.cumsum()
    lines = np.bincount(line, edges) / np.bincount(line)
    if len(lines) == 1:
        return line
    gaps = np.diff(lines)
    step = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
    steps = np.rint((edges - lines[0]) / step)
    uneven = np.abs(edges - lines[0] - steps * step).max()
    return steps.astype(np.int64) if uneven <= 2 * _UNEVEN * size else None


def _apart(boxes: Sequence[Box]) -> Floats:
    """Return rectangles that cover what the boxes cover, without overlap, [K, 4]."""
    edges = np.array([(box.left, box.top, box.right, box.bottom) for box in boxes])
    if len(edges) == 1:
        return edges
    x = np.unique(edges[:, [0, 2]])
    y = np.unique(edges[:, [1, 3]])
    left, top = np.meshgrid(x[:-1], y[:-1])
    right, bottom = np.meshgrid(x[1:], y[1:])
    cells = np.stack((left, top, right, bottom), axis=-1).reshape(-1, 4)
    within = (cells[:, None, :2] >= edges[:, :2]) & (cells[:, None, 2:] <= edges[:, 2:])
    return cells[np.any(within.all(2), 1)]


def _pixels_of(mask: NDArray[np.bool_]) -> Floats:
    """Return the pixels of a mask as rectangles, one for each run of pixels in a row."""
    padded = np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)
    rows, left = np.nonzero(change == 1)
    right = np.nonzero(change == -1)[1]
    return np.stack((left, rows, right, rows + 1), axis=1).astype(np.float64)


def _mask_area(mask: NDArray[np.bool_], edges: Floats) -> Floats:
    """Return the area of a mask within each of the rectangles, [P] in square pixels.

    The integral of a mask from the upper left corner is bilinear within each pixel.
    """
    height, width = mask.shape
    whole = np.zeros((height + 1, width + 1))
    whole[1:, 1:] = mask.cumsum(0).cumsum(1)

    def until(x: Floats, y: Floats) -> Floats:
        x, y = x.clip(0, width), y.clip(0, height)
        column = np.minimum(x.astype(np.int64), width - 1)
        row = np.minimum(y.astype(np.int64), height - 1)
        across, down = x - column, y - row
        upper = whole[row, column] * (1 - across) + whole[row, column + 1] * across
        lower = whole[row + 1, column] * (1 - across) + whole[row + 1, column + 1] * across
        return upper * (1 - down) + lower * down

    left, top, right, bottom = edges.T
    return until(right, bottom) - until(left, bottom) - until(right, top) + until(left, top)
