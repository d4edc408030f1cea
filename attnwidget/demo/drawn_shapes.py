"""Pictures of one colored shape among dots, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import Box
from attnwidget.text.whole_number import whole_number

#: Side of a picture in pixels.
SIDE = 32
SHAPES = ("circle", "square", "triangle", "cross")
COLORS = {
    "red": (220, 40, 40),
    "green": (40, 180, 60),
    "blue": (50, 80, 230),
    "yellow": (230, 210, 40),
    "purple": (160, 60, 190),
}
#: Names of the labels, by number: "red circle" is 0.
LABELS = tuple(f"{color} {shape}" for shape in SHAPES for color in COLORS)

# Half the side of a shape in pixels, at least and at most.
_RADIUS = (3.6, 4.9)
_DOTS = 14
# A dot is a square of 2 pixels, and stays this many pixels away from the shape.
_DOT, _GAP = 2, 1


@dataclass(frozen=True, eq=False, repr=False)
class DrawnShapes:
    """Pictures with one shape each.

    Attributes:
        images: Bytes of red, green and blue, uint8 [n, 32, 32, 3].
        labels: Number of the color and shape, int64 [n]. `names` has the names.
        boxes: The box of each shape in its picture, in pixels. Its picture's number is 0, because
            a model reads one picture at a time.

    Example:
        >>> from attnwidget.demo import drawn_shapes
        >>> drawn_shapes(3)
        DrawnShapes(3 pictures of 32 × 32 pixels: blue cross, blue triangle, red triangle)
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    boxes: tuple[Box, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The label of each picture as text, such as "red circle"."""
        return tuple(LABELS[label] for label in self.labels)

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        names = ", ".join(self.names[:3]) + (", ..." if len(self) > 3 else "")
        plural = "picture" if len(self) == 1 else "pictures"
        return f"DrawnShapes({len(self)} {plural} of {SIDE} × {SIDE} pixels: {names})"


def drawn_shapes(n: int, seed: int = 0) -> DrawnShapes:
    """Draw pictures of one colored shape among dots, with the label and the box of the shape.

    The picture has a noisy gray background, a circle, a square, a triangle or a cross of 8 to 10
    pixels at any place, and 14 dots of 2 x 2 pixels outside the shape. The colors of shape and
    dots are drawn from five, and the colors of a picture do not tell the color of the shape.
    The embedded model `load_model("attnwidget/shapes")` was trained on such pictures.

    Args:
        n: Number of pictures.
        seed: Number of the drawing. The training of the embedded model drew none of the seeds
            below 1,000,000.

    Returns:
        The pictures, labels and boxes. The same `n` and `seed` give the same pictures.

    Raises:
        ValueError: `n` is no positive number, or `seed` is negative.

    Example:
        >>> from attnwidget.demo import drawn_shapes
        >>> drawn = drawn_shapes(4, seed=1)
        >>> drawn.images.shape, drawn.names[0]
        ((4, 32, 32, 3), 'purple square')
        >>> drawn.boxes[0].area < 121
        True
    """
    n = whole_number("n", n, 1, "picture")
    seed = whole_number("seed", seed, 0)
    random = np.random.default_rng(seed)
    labels = random.integers(len(LABELS), size=n)
    colors = np.array(tuple(COLORS.values()), dtype=np.float64)
    gray = random.uniform(150, 235, (n, 1, 1, 1))
    pictures = np.clip(gray + random.normal(0, 14, (n, SIDE, SIDE, 3)), 0, 255)
    inside = _inside(labels // len(COLORS), random)
    ink = colors[labels % len(COLORS)][:, None, None]
    ink = np.clip(ink + random.normal(0, 12, (n, 1, 1, 3)), 0, 255)
    pictures = np.where(inside[..., None], ink, pictures)
    left, right = _first_and_last(np.any(inside, axis=1))
    top, bottom = _first_and_last(np.any(inside, axis=2))
    for _ in range(_DOTS):
        x, y = random.integers(SIDE - _DOT + 1, size=(2, n))
        color = colors[random.integers(len(colors), size=n)]
        free = (x + _DOT + _GAP <= left) | (x >= right + _GAP)
        free |= (y + _DOT + _GAP <= top) | (y >= bottom + _GAP)
        which = np.nonzero(free)[0]
        for across in range(_DOT):
            for down in range(_DOT):
                pictures[which, y[which] + down, x[which] + across] = color[which]
    edges = np.stack((left, top, right, bottom), axis=1).tolist()
    return DrawnShapes(
        images=pictures.astype(np.uint8),
        labels=labels.astype(np.int64),
        boxes=tuple(Box(0, *map(float, box)) for box in edges),
    )


def _inside(shapes: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which pixels are in the shapes, [n, SIDE, SIDE], at places drawn at random."""
    n = len(shapes)
    radius = random.uniform(*_RADIUS, n)[:, None, None]
    center_x, center_y = radius + random.random((2, n, 1, 1)) * (SIDE - 2 * radius)
    pixel = np.arange(SIDE) + 0.5
    dx = pixel - center_x
    dy = pixel[:, None] - center_y
    wide, high = np.abs(dx), np.abs(dy)
    drawn = np.stack(
        (
            dx**2 + dy**2 < radius**2,
            (wide < 0.85 * radius) & (high < 0.85 * radius),
            (dy > -radius) & (dy < 0.8 * radius) & (wide < 0.6 * (dy + radius)),
            ((wide < 0.34 * radius) & (high < radius)) | ((high < 0.34 * radius) & (wide < radius)),
        )
    )
    return drawn[shapes, np.arange(n)]


def _first_and_last(marked: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first marked column of each row of [n, SIDE], and the column after the last."""
    return marked.argmax(1), SIDE - marked[:, ::-1].argmax(1)
