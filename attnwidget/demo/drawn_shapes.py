"""Pictures of one colored shape among dots, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.places import Box
from attnwidget.text.whole_number import whole_number

#: Side length of a picture in pixels.
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

# Smallest and largest half size of a shape in pixels.
_RADIUS = (3.6, 4.9)
_DOTS = 14
# Side length of a dot in pixels, and smallest gap between a dot and the shape.
_DOT, _GAP = 2, 1


@dataclass(frozen=True, eq=False, repr=False)
class DrawnShapes:
    """Pictures with one shape each.

    Attributes:
        images: Red, green and blue values, uint8 [n, 32, 32, 3].
        labels: Label number of color and shape, int64 [n]. `names` has the names.
        boxes: Box of each shape in its picture, in pixels. The picture number of a box is 0,
            because a model processes one picture at a time.

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
        """Label of each picture as text, such as "red circle"."""
        return tuple(LABELS[label] for label in self.labels)

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        names = ", ".join(self.names[:3]) + (", ..." if len(self) > 3 else "")
        plural = "picture" if len(self) == 1 else "pictures"
        return f"DrawnShapes({len(self)} {plural} of {SIDE} × {SIDE} pixels: {names})"


@hides_frames
def drawn_shapes(n: int, seed: int = 0) -> DrawnShapes:
    """Draw pictures of one colored shape among dots, with the label and the box of the shape.

    A picture has a noisy gray background, a circle, square, triangle or cross of 8 to 10 pixels at
    a random position, and 14 dots of 2 x 2 pixels outside of the shape. The colors of shape and
    dots are drawn from five, and the dots' colors give no information about the shape's color.
    The bundled model `load_model("attnwidget/shapes")` was trained on such pictures.

    Args:
        n: Number of pictures.
        seed: Seed of the drawing. The training of the bundled model used no seed below 1,000,000.

    Returns:
        Pictures, labels and boxes. The same `n` and `seed` give the same pictures.

    Raises:
        ValueError: If `n` is not a positive number, or `seed` is negative.

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
    is_inside = _inside(labels // len(COLORS), random)
    ink = colors[labels % len(COLORS)][:, None, None]
    ink = np.clip(ink + random.normal(0, 12, (n, 1, 1, 3)), 0, 255)
    pictures = np.where(is_inside[..., None], ink, pictures)
    left, right = _first_and_last(np.any(is_inside, axis=1))
    top, bottom = _first_and_last(np.any(is_inside, axis=2))
    for _ in range(_DOTS):
        x, y = random.integers(SIDE - _DOT + 1, size=(2, n))
        dot_colors = colors[random.integers(len(colors), size=n)]
        free = (x + _DOT + _GAP <= left) | (x >= right + _GAP)
        free |= (y + _DOT + _GAP <= top) | (y >= bottom + _GAP)
        picture_indices = np.nonzero(free)[0]
        for across in range(_DOT):
            for down in range(_DOT):
                pictures[
                    picture_indices, y[picture_indices] + down, x[picture_indices] + across
                ] = dot_colors[picture_indices]
    edges = np.stack((left, top, right, bottom), axis=1).tolist()
    return DrawnShapes(
        images=pictures.astype(np.uint8),
        labels=labels.astype(np.int64),
        boxes=tuple(Box(0, *map(float, box)) for box in edges),
    )


def _inside(shapes: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.bool_]:
    """Return whether pixels are in the shapes, [n, SIDE, SIDE], at random positions."""
    n = len(shapes)
    radius = random.uniform(*_RADIUS, n)[:, None, None]
    center_x, center_y = radius + random.random((2, n, 1, 1)) * (SIDE - 2 * radius)
    pixel = np.arange(SIDE) + 0.5
    dx = pixel - center_x
    dy = pixel[:, None] - center_y
    wide, high = np.abs(dx), np.abs(dy)
    shape_masks = np.stack(
        (
            dx**2 + dy**2 < radius**2,
            (wide < 0.85 * radius) & (high < 0.85 * radius),
            (dy > -radius) & (dy < 0.8 * radius) & (wide < 0.6 * (dy + radius)),
            ((wide < 0.34 * radius) & (high < radius)) | ((high < 0.34 * radius) & (wide < radius)),
        )
    )
    return shape_masks[shapes, np.arange(n)]


def _first_and_last(marked: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first marked column of each row of [n, SIDE], and the column after the last."""
    return marked.argmax(1), SIDE - marked[:, ::-1].argmax(1)
