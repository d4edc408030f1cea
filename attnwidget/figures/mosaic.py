"""Several figures as one: in rows of columns, each keeping its own scales and title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from attnwidget.figures.offline import offline
from attnwidget.figures.text_width import MEASURED_FONT, wrapped
from attnwidget.figures.theme import in_dark, publication

_CHANNELS = ("color", "fill", "stroke", "shape", "size", "opacity", "strokeWidth", "strokeDash")
_APART = {"scale": dict.fromkeys(_CHANNELS, "independent")}
_OF_THE_WHOLE = ("$schema", "config", "background", "padding", "autosize", "datasets", "usermeta")
_BETWEEN_ROWS = 24
_SUBTITLE = 11


class Mosaic(alt.TopLevelMixin, alt.TopLevelVConcatSpec):
    """Figures in rows, each checked when it was drawn: checking all again takes a second."""

    def to_dict(self, validate: bool = False, **options: Any) -> dict[str, Any]:
        """The whole as JSON."""
        return super().to_dict(validate=validate, **options)


def mosaic(
    rows: Sequence[Sequence[Sequence[Any]]],
    *,
    title: str,
    width: float = 800,
    gap: int = 32,
    dark: bool = False,
) -> Mosaic:
    """Finished figures of this package side by side and below each other.

    `rows` are rows of columns of charts, whose own settings give way to those of the whole; what is
    empty is left out. Further lines of the title become the subtitle, `width` pixels wide. `dark`:
    the charts are drawn in the dark theme, and so is the rest.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.heads import head_heatmap
        >>> from attnwidget.figures.mosaic import mosaic
        >>> one = head_heatmap(np.eye(3), title="Three heads", value_title="weight")
        >>> len(mosaic([[[one], [one]], [[one]]], title="Three figures").to_dict()["vconcat"])
        2
    """
    datasets: dict[str, Any] = {}
    built = []
    for row in rows:
        columns = [_joined("vconcat", column, _BETWEEN_ROWS, datasets) for column in row if column]
        if columns:
            built.append(_joined("hconcat", columns, gap, datasets))
    if not built:
        text = {"type": "text", "align": "left", "text": "Every panel is folded: unfold one."}
        built = [{"data": {"values": [{}]}, "mark": text}]
    head, *rest = title.splitlines()
    under = [line for one in rest for line in wrapped(one, _SUBTITLE, width)]
    title = "\n".join([head, *under])
    whole: Any = Mosaic(vconcat=[], spacing=_BETWEEN_ROWS, resolve=_APART)
    chart = publication(whole, title)
    chart.config.font = MEASURED_FONT
    chart = offline(in_dark(chart) if dark else chart)
    # Set last and as they are: Altair would copy the parts of each part, time and again.
    chart.vconcat = built
    if datasets:
        chart.datasets = datasets
    drawn: Mosaic = chart
    return drawn


def _joined(
    how: str, parts: Sequence[Any], spacing: int, datasets: dict[str, Any]
) -> dict[str, Any]:
    """Charts in a row or column that have nothing in common, as JSON."""
    specs = [part if isinstance(part, dict) else _bare(part, datasets) for part in parts]
    return specs[0] if len(specs) == 1 else {how: specs, "spacing": spacing, "resolve": _APART}


def _bare(chart: Any, datasets: dict[str, Any]) -> dict[str, Any]:
    """A chart as part of another one, which alone has settings and data."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    datasets |= spec.get("datasets", {})
    return {name: part for name, part in spec.items() if name not in _OF_THE_WHOLE}
