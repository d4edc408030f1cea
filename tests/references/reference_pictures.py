"""Slow and simple versions of the metrics of pictures: loops over patches, small cells counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import Box, Place

Array = NDArray[Any]


def grid(rows: int, columns: int, width: float = 4, height: float = 4) -> list[Box]:
    """Boxes of a picture row by row."""
    return [
        Box(0, c * width, r * height, (c + 1) * width, (r + 1) * height)
        for r in range(rows)
        for c in range(columns)
    ]


def shifted(rows: int, columns: int, right: int) -> Array:
    """Weights of a head that looks some patches to the right, or at itself at the right edge."""
    n = rows * columns
    weights = np.zeros((n, n))
    for r in range(rows):
        for c in range(columns):
            to = c + right if 0 <= c + right < columns else c
            weights[r * columns + c, r * columns + to] = 1
    return weights


def center(box: Box) -> tuple[float, float]:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def attention_distance(weights: Array, places: Sequence[Place | None]) -> tuple[float, float]:
    """Mean distance in pixels and in patches."""
    pixels, patches = [], []
    for i, query in enumerate(places):
        if not isinstance(query, Box):
            continue
        total = in_pixels = in_patches = 0.0
        for j, key in enumerate(places):
            if not isinstance(key, Box) or key.picture != query.picture:
                continue
            dx = center(key)[0] - center(query)[0]
            dy = center(key)[1] - center(query)[1]
            total += weights[i, j]
            in_pixels += weights[i, j] * math.hypot(dx, dy)
            width, height = query.right - query.left, query.bottom - query.top
            in_patches += weights[i, j] * math.hypot(dx / width, dy / height)
        if total > 0:
            pixels.append(in_pixels / total)
            patches.append(in_patches / total)
    return float(np.mean(pixels)), float(np.mean(patches))


def inside(box: Box, regions: Sequence[Box], cells: int = 200) -> float:
    """The share of a box that is in any of the regions, by counting small cells."""
    x = box.left + (np.arange(cells) + 0.5) * (box.right - box.left) / cells
    y = box.top + (np.arange(cells) + 0.5) * (box.bottom - box.top) / cells
    hit = np.zeros((cells, cells), bool)
    for region in regions:
        if region.picture == box.picture:
            across = (x > region.left) & (x < region.right)
            down = (y > region.top) & (y < region.bottom)
            hit |= down[:, None] & across
    return float(hit.mean())


def offset_means(weights: Array, rows: int, columns: int) -> Array:
    """Mean weight by offset, [2R - 1, 2C - 1], over the pairs of patches with that offset."""
    total = np.zeros((2 * rows - 1, 2 * columns - 1))
    count = np.zeros_like(total)
    for i in range(rows * columns):
        for j in range(rows * columns):
            down = j // columns - i // columns + rows - 1
            right = j % columns - i % columns + columns - 1
            total[down, right] += weights[i, j]
            count[down, right] += 1
    return total / count
