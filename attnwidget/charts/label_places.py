"""Places of labels in a plane: near their points, without touching each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 80
_GAP = 1.0
"""Pixels between two labels."""


def spread_in_plane(
    places: NDArray[np.float64], sizes: NDArray[np.float64], *, most: float
) -> NDArray[np.float64]:
    """Return places of labels that touch less: pairs that overlap move apart, half each.

    Args:
        places: Middles of the labels in pixels, [N, 2].
        sizes: Widths and heights of the labels in pixels, [N, 2].
        most: Pixels that a label moves at most; in dense places labels can still touch.

    Returns:
        Float64 [N, 2]. Labels without an overlap keep their places.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.label_places import spread_in_plane
        >>> places = np.array([[0.0, 0.0], [4.0, 0.0], [50.0, 0.0]])
        >>> spread_in_plane(places, np.full((3, 2), 9.0), most=8)
        array([[-3.,  0.],
               [ 7.,  0.],
               [50.,  0.]])
    """
    now = places.astype(np.float64, copy=True)
    needed = (sizes[:, None] + sizes[None]) / 2 + _GAP
    # Labels at one point move apart in the order of their rows.
    order = np.sign(np.arange(len(now))[:, None] - np.arange(len(now))[None]).astype(np.float64)
    for _ in range(_ROUNDS):
        apart = now[:, None] - now[None]
        overlap = needed - np.abs(apart)
        touches: NDArray[np.bool_] = np.all(overlap > 1e-9, axis=-1)
        np.fill_diagonal(touches, False)
        if not touches.any():
            break
        is_across = overlap[..., 0] <= overlap[..., 1]
        way = np.where(apart == 0, order[..., None], np.sign(apart))
        step = np.where(touches[..., None], way * overlap / 2, 0.0)
        step[..., 0] *= is_across
        step[..., 1] *= ~is_across
        moved = now + step.sum(1) / np.maximum(1, touches.sum(1))[:, None]
        shift = moved - places
        length = np.linalg.norm(shift, axis=1, keepdims=True)
        now = places + shift * np.minimum(1.0, most / np.maximum(length, 1e-9))
    return now
