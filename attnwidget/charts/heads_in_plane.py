"""Scatter plot of heads in the plane, in which heads that attend alike are close together."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, PADDING, WIDTH, publication, text_width

_ROUNDS = 80
_GAP = 1.0
"""Minimum gap between two labels in pixels."""


def spread_in_plane(
    places: NDArray[np.float64], sizes: NDArray[np.float64], *, most: float
) -> NDArray[np.float64]:
    """Move overlapping labels apart; both labels of a pair move equally far.

    Args:
        places: Centers of the labels in pixels, [N, 2].
        sizes: Widths and heights of the labels in pixels, [N, 2].
        most: Maximum movement of a label in pixels. In dense regions labels can still overlap.

    Returns:
        New centers, float64 [N, 2]. Labels without an overlap do not move.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.heads_in_plane import spread_in_plane
        >>> places = np.array([[0.0, 0.0], [4.0, 0.0], [50.0, 0.0]])
        >>> spread_in_plane(places, np.full((3, 2), 9.0), most=8)
        array([[-3.,  0.],
               [ 7.,  0.],
               [50.,  0.]])
    """
    centers = places.astype(np.float64, copy=True)
    min_distance = (sizes[:, None] + sizes[None]) / 2 + _GAP
    # Labels at the same point move apart in the order of their rows.
    order = np.sign(np.arange(len(centers))[:, None] - np.arange(len(centers))[None]).astype(
        np.float64
    )
    for _ in range(_ROUNDS):
        difference = centers[:, None] - centers[None]
        overlap = min_distance - np.abs(difference)
        touches: NDArray[np.bool_] = np.all(overlap > 1e-9, axis=-1)
        np.fill_diagonal(touches, False)
        if not touches.any():
            break
        is_across = overlap[..., 0] <= overlap[..., 1]
        direction = np.where(difference == 0, order[..., None], np.sign(difference))
        step = np.where(touches[..., None], direction * overlap / 2, 0.0)
        step[..., 0] *= is_across
        step[..., 1] *= ~is_across
        new_centers = centers + step.sum(1) / np.maximum(1, touches.sum(1))[:, None]
        shift = new_centers - places
        length = np.linalg.norm(shift, axis=1, keepdims=True)
        centers = places + shift * np.minimum(1.0, most / np.maximum(length, 1e-9))
    return centers


_MOST_MOVED = 9.0
"""Maximum movement of a number in pixels."""


def heads_in_plane(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.Chart:
    """Draw each head at its position as the number of its layer: Clark et al., Figure 6, right.

    Only distances have a meaning, because the axes of multidimensional scaling have no unit and no
    direction. The axes are therefore hidden, and both have the same scale.

    Args:
        frame: Table with the columns layer and head (from 0), x and y.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every position is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.heads_in_plane import heads_in_plane
        >>> frame = pd.DataFrame({"layer": [0, 0], "head": [0, 1], "x": [0, 1], "y": [1, 0]})
        >>> heads_in_plane(frame, title="Two heads").mark.type
        'text'
    """
    table = checked(frame, ["layer", "head", "x", "y"], "heads_in_plane")
    plot = width - 2 * PADDING
    centers, height, is_moved = pixel_positions(table, plot)
    rows = table.assign(name=row_names(table), x=centers[:, 0], y=centers[:, 1])
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, plot], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))
    chart = alt.Chart(inline(rows)).mark_text(fontSize=LABEL, fontWeight=600)
    chart = chart.encode(
        x=x,
        y=y,
        text="layer:N",
        color=layer_color(table),
        tooltip=[alt.Tooltip("name:N", title="head")],
    )
    chart = chart.properties(width=plot, height=height)
    return offline(publication(chart, f"{title}\n{reading(is_moved)}", width))


def reading(is_moved: bool) -> str:
    """Return the remark on how to read the numbers of a map.

    Args:
        is_moved: Whether numbers were moved apart.
    """
    remark = "Each number is a head, written as its layer"
    return remark + "; numbers that would touch are moved apart" if is_moved else remark


def pixel_positions(table: pd.DataFrame, width: float) -> tuple[NDArray[np.float64], int, bool]:
    """Return positions of the numbers in pixels, the height of the map, and whether any moved.

    Args:
        table: Table with the columns layer, x and y; x and y get one scale.
        width: Width of the map in pixels.

    Returns:
        Positions from the top left, at which numbers do not touch, [N, 2]; height in pixels;
        whether any number was moved.
    """
    low, high, height = _domains(table, width)
    unit = (high - low) / np.array([width, height])  # Plane units per pixel.
    centers = (table[["x", "y"]].to_numpy() - low) / unit
    widths = [text_width(str(layer)) for layer in table["layer"]]
    sizes = np.column_stack([widths, np.full(len(table), LABEL - 1.0)])
    new_centers = spread_in_plane(centers, sizes, most=_MOST_MOVED)
    is_moved = bool((new_centers != centers).any())
    new_centers[:, 1] = height - new_centers[:, 1]
    return new_centers, height, is_moved


def _domains(
    table: pd.DataFrame, width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return the lower and upper ends of both axes, and the height that gives them one scale."""
    low = table[["x", "y"]].to_numpy().min(0)
    high = table[["x", "y"]].to_numpy().max(0)
    horizontal, vertical = (high - low).tolist()
    height = width * min(max(vertical / horizontal if horizontal else 1.0, 0.4), 0.8)
    # Plane units per pixel.
    unit = 1.1 * max(horizontal / width, vertical / height) or 1.0
    middle = (low + high) / 2
    half_size = np.array([width, height]) * unit / 2
    return middle - half_size, middle + half_size, round(height)


def layer_color(table: pd.DataFrame) -> alt.Color:
    """Return the color of the layers, from the first to the last.

    Args:
        table: Table with the column layer.
    """
    last = max(1, int(table["layer"].max()))
    anchors = LIGHT.layers
    scale = alt.Scale(
        domain=[last * i / (len(anchors) - 1) for i in range(len(anchors))],
        range=list(anchors),
        interpolate="rgb",
    )
    return alt.Color("layer:Q", scale=scale, legend=None)
