"""Patch geometry: centers, rows and columns of picture patches, and their overlap with regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import Box, Place

Floats = NDArray[np.float64]

# Share of a patch by which the edges of a raster may differ from equal steps, because the boxes of
# a processor are measured to a fraction of a pixel.
_UNEVEN = 0.05
# Smallest share of a patch in a region, because measured edges have small errors.
_TOUCH = 0.01


@dataclass(frozen=True, eq=False)
class Patches:
    """The P tokens of an axis that are picture patches.

    Attributes:
        tokens: Index of each patch on the token axis, int64 [P].
        pictures: Index of each patch's picture, int64 [P].
        edges: Left, top, right and lower edge of each patch in pixels, [P, 4].

    Example:
        >>> from attnwidget.text.places import Box
        >>> from attnwidget.text.patch_geometry import Patches
        >>> patches = Patches.from_regions([None, Box(0, 0, 0, 4, 2), Box(0, 4, 0, 8, 2)])
        >>> patches.tokens.tolist(), patches.centers.tolist(), patches.sizes.tolist()
        ([1, 2], [[2.0, 1.0], [6.0, 1.0]], [[4.0, 2.0], [4.0, 2.0]])
    """

    tokens: NDArray[np.int64]
    pictures: NDArray[np.int64]
    edges: Floats

    @classmethod
    def from_regions(cls, places: Sequence[Place | None]) -> Patches:
        """Return the patches of an axis.

        Args:
            places: Region of each token in a picture or sound, or None.
        """
        boxes = [(token, region) for token, region in enumerate(places) if isinstance(region, Box)]
        edges = [(box.left, box.top, box.right, box.bottom) for _, box in boxes]
        return cls(
            np.array([token for token, _ in boxes], np.int64),
            np.array([box.picture for _, box in boxes], np.int64),
            np.array(edges, np.float64).reshape(-1, 4),
        )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def centers(self) -> Floats:
        """Horizontal and vertical position of each patch center in pixels, [P, 2]."""
        return (self.edges[:, :2] + self.edges[:, 2:]) / 2

    @property
    def sizes(self) -> Floats:
        """Width and height of each patch in pixels, [P, 2]."""
        return self.edges[:, 2:] - self.edges[:, :2]

    @property
    def units(self) -> Floats:
        """Horizontal and vertical distance to the next patch, in pixels, [P, 2].

        A patch that the picture edge cuts has the unit of the complete patches next to it. If the
        patches are not in rows and columns, the unit of a patch is its size.
        """
        try:
            rasters = self.rasters()[:, 0]
        except ValueError:
            return self.sizes
        units = np.zeros((len(self), 2))
        for raster in np.unique(rasters):
            members = rasters == raster
            units[members] = np.median(self.sizes[members], axis=0)
        return units

    def rasters(self) -> NDArray[np.int64]:
        """Return the raster, row and column of each patch, int64 [P, 3].

        Patches of one picture with equal size form a raster. Patches that the picture edge cuts
        belong to the raster next to them. The tiles of a picture and the reduced version of the
        entire picture are two rasters.

        Raises:
            ValueError: Patches of a raster are not in rows and columns of equal steps.

        Example:
            >>> from attnwidget.text.places import Box
            >>> from attnwidget.text.patch_geometry import Patches
            >>> boxes = [Box(0, x, y, x + 4, y + 4) for y in (0, 4) for x in (0, 4)]
            >>> Patches.from_regions(boxes).rasters().tolist()
            [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
        """
        rasters = np.full((len(self), 3), -1, np.int64)
        for members in self._alike():
            if (rasters[members, 0] >= 0).all():
                continue
            number = int(rasters[:, 0].max()) + 1
            size = np.median(self.sizes[members], axis=0)
            columns = _Lines.from_edges(self.edges[members, 0], size[0])
            rows = _Lines.from_edges(self.edges[members, 1], size[1])
            if columns is None or rows is None or _repeats(rows.numbers, columns.numbers):
                raise ValueError(
                    f"the patches of picture {self.pictures[members][0]} of {size[0]:.4g} × "
                    f"{size[1]:.4g} pixels are not in rows and columns of equal steps, so that "
                    "offsets in patches are not defined: measure 'attention_distance', which needs "
                    "no rows and columns"
                )
            rasters[members] = np.stack(
                (np.full(len(rows.numbers), number), rows.numbers, columns.numbers), axis=1
            )
            unassigned = (rasters[:, 0] < 0) & (self.pictures == self.pictures[members][0])
            for patch in np.flatnonzero(unassigned):
                row = rows.beside(*self.edges[patch, [1, 3]])
                column = columns.beside(*self.edges[patch, [0, 2]])
                if row is not None and column is not None:
                    rasters[patch] = number, row, column
            is_member = rasters[:, 0] == number
            rasters[is_member, 1:] -= rasters[is_member, 1:].min(0)
        # Number the rasters in the order of their first tokens.
        _, first, numbers = np.unique(rasters[:, 0], return_index=True, return_inverse=True)
        rasters[:, 0] = first.argsort().argsort()[numbers]
        return rasters

    def _alike(self) -> list[NDArray[np.bool_]]:
        """Return a mask for each group of patches with equal size, largest group first."""
        groups: list[NDArray[np.bool_]] = []
        ungrouped = np.ones(len(self), bool)
        while ungrouped.any():
            first = int(np.argmax(ungrouped))
            near = np.abs(self.sizes - self.sizes[first]) <= _UNEVEN * self.sizes[first]
            same = self.pictures == self.pictures[first]
            groups.append(ungrouped & same & np.all(near, axis=1))
            ungrouped &= ~groups[-1]
        return sorted(groups, key=lambda members: -int(members.sum()))

    def inside(self, region: Region) -> Floats:
        """Return the share of each patch's area that is in a region, [P].

        The shares are exact, even if a mask or box cuts a patch between pixels.

        Args:
            region: Region of the pictures.

        Example:
            >>> from attnwidget.text.places import Box
            >>> from attnwidget.text.patch_geometry import Patches, Region
            >>> patches = Patches.from_regions([Box(0, 0, 0, 4, 4), Box(0, 4, 0, 8, 4)])
            >>> patches.inside(Region.from_boxes([Box(0, 3, 0, 6, 2), Box(0, 3, 0, 5, 2)])).tolist()
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
        patch_areas = self.sizes.prod(1)
        return np.divide(area, patch_areas, out=np.zeros(len(self)), where=patch_areas > 0)

    def members(self, region: Region) -> NDArray[np.bool_]:
        """Return whether at least 1 % of each patch is in a region, bool [P].

        If the region is smaller than a patch, the patch must contain at least 1 % of the region.
        Patches that only touch the region are outside, even if measured edges overlap by a fraction
        of a pixel.

        Args:
            region: Region of the pictures.

        Example:
            >>> from attnwidget.text.places import Box
            >>> from attnwidget.text.patch_geometry import Patches, Region
            >>> patches = Patches.from_regions([Box(0, 0, 0, 4, 4), Box(0, 4, 0, 8, 4)])
            >>> patches.members(Region.from_boxes(Box(0, 3.999, 0, 8, 4))).tolist()
            [False, True]
            >>> patches.members(Region.from_boxes(Box(0, 3.9, 0, 4, 0.1))).tolist()
            [True, False]
        """
        areas = self.sizes.prod(1)
        smaller = np.zeros(len(self))
        for rectangles, picture, mask in region.parts:
            sides = rectangles[:, 2:] - rectangles[:, :2]
            area = float(sides.prod(1).sum() if mask is None else mask.sum())
            smaller = np.where(self.pictures == picture, np.minimum(areas, area), smaller)
        return (self.inside(region) * areas >= _TOUCH * smaller) & (smaller > 0)


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the input's pictures: boxes that may overlap, or a mask.

    Attributes:
        parts: For each picture, disjoint rectangles [K, 4], the index of the picture, and None or a
            mask that replaces the rectangles, bool [H, W].
    """

    parts: tuple[tuple[Floats, int, NDArray[np.bool_] | None], ...]

    @classmethod
    def from_boxes(cls, given: Any) -> Region:
        """Return the region of one box, several boxes, or a mask of picture 0.

        Args:
            given: A box, a list of boxes, or a mask, bool [H, W].

        Raises:
            TypeError: `given` is neither boxes nor a mask.
            ValueError: There is no box, or the mask is empty or has no rows and columns.
        """
        if isinstance(given, Box):
            given = [given]
        if isinstance(given, np.ndarray):
            if given.dtype != np.bool_ or given.ndim != 2:
                raise ValueError(
                    "a mask must be an array of bool [height, width] of the picture, got "
                    f"{given.dtype} {list(given.shape)}"
                )
            if not given.any():
                raise ValueError("a mask marks at least one pixel, got False everywhere")
            return cls(((np.zeros((0, 4)), 0, given),))
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            raise TypeError(
                f"a place must be a Box, a list of boxes or a mask, got {type(given).__name__}"
            )
        invalid = next((box for box in given if not isinstance(box, Box)), None)
        if invalid is not None:
            raise TypeError(
                f"a place must be a Box, a list of boxes or a mask, got {invalid!r} in a list"
            )
        if not given:
            raise ValueError("the place of a picture must have at least one box, got an empty list")
        pictures = sorted({box.picture for box in given})
        return cls(
            tuple(
                (_apart([box for box in given if box.picture == picture]), picture, None)
                for picture in pictures
            )
        )

    def scaled(self, width: float, height: float) -> Region:
        """Return the region in a scaled picture.

        Args:
            width: Scale factor of the width.
            height: Scale factor of the height.
        """
        factors = np.array([width, height, width, height])
        parts = []
        for rectangles, picture, mask in self.parts:
            if mask is not None:
                rectangles, mask = _pixels_of(mask), None
            parts.append((rectangles * factors, picture, mask))
        return Region(tuple(parts))


@dataclass(frozen=True, eq=False)
class _Lines:
    """The rows or the columns of a raster.

    Attributes:
        numbers: The row of each patch, from 0.
        start: First edge of row 0 in pixels.
        step: Distance between rows in pixels.
        size: Size of a patch in pixels.
    """

    numbers: NDArray[np.int64]
    start: float
    step: float
    size: float

    @classmethod
    def from_edges(cls, edges: Floats, size: float) -> _Lines | None:
        """Return the rows of patches with the given first edges; None if the steps differ."""
        order = np.argsort(edges, kind="stable")
        # Edges of a row differ by less than a patch: a gap begins the next row.
        begins = np.diff(edges[order]) > _UNEVEN * size
        line = np.zeros(len(edges), np.int64)
        line[order[1:]] = begins.cumsum()
        lines = np.bincount(line, edges) / np.bincount(line)
        if len(lines) == 1:
            return cls(line, float(lines[0]), size, size)
        gaps = np.diff(lines)
        step = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
        numbers = np.rint((edges - lines[0]) / step)
        uneven = np.abs(edges - lines[0] - numbers * step).max()
        # If there is a gap between all rows, the patches between them are missing.
        if uneven > 2 * _UNEVEN * size or step > (1 + 2 * _UNEVEN) * size:
            return None
        return cls(numbers.astype(np.int64), float(lines[0]), step, size)

    def beside(self, first: float, last: float) -> int | None:
        """Return the row of a patch, which may be cut, or None if the patch is in no row.

        Args:
            first: First edge of the patch in pixels.
            last: Last edge in pixels.
        """
        tolerance = 2 * _UNEVEN * self.size
        is_complete = abs(last - first - self.size) <= _UNEVEN * self.size
        row = round((first - self.start) / self.step)
        if is_complete or (last - first < self.size and row > self.numbers.max()):
            # The patch is complete, or cut at the end.
            return row if abs(self.start + row * self.step - first) <= tolerance else None
        row = round((last - self.size - self.start) / self.step)
        is_cut_at_start = last - first < self.size and row < self.numbers.min()
        edge = self.start + row * self.step + self.size
        return row if is_cut_at_start and abs(edge - last) <= tolerance else None


def _repeats(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> bool:
    """Return whether two patches are in the same row and column."""
    return len(np.unique(np.stack((rows, columns)), axis=1).T) < len(rows)


def _apart(boxes: Sequence[Box]) -> Floats:
    """Return rectangles that cover the same area as the boxes, without overlap, [K, 4]."""
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
    """Return the pixels of a mask as rectangles, one per run of pixels in a row."""
    padded = np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)
    rows, left = np.nonzero(change == 1)
    right = np.nonzero(change == -1)[1]
    return np.stack((left, rows, right, rows + 1), axis=1).astype(np.float64)


def _mask_area(mask: NDArray[np.bool_], edges: Floats) -> Floats:
    """Return the mask area inside each rectangle, in square pixels, [P].

    The integral of a mask from the upper left corner is bilinear within each pixel.
    """
    height, width = mask.shape
    integral = np.zeros((height + 1, width + 1))
    integral[1:, 1:] = mask.cumsum(0).cumsum(1)

    def until(x: Floats, y: Floats) -> Floats:
        x, y = x.clip(0, width), y.clip(0, height)
        column = np.minimum(x.astype(np.int64), width - 1)
        row = np.minimum(y.astype(np.int64), height - 1)
        across, down = x - column, y - row
        upper = integral[row, column] * (1 - across) + integral[row, column + 1] * across
        lower = integral[row + 1, column] * (1 - across) + integral[row + 1, column + 1] * across
        return upper * (1 - down) + lower * down

    left, top, right, bottom = edges.T
    return until(right, bottom) - until(left, bottom) - until(right, top) + until(left, top)
