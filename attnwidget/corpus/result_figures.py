"""Figures of results as data: curves over the layers, or a heat map of the heads.

Texts are templates in which "{self.loss:.3g}" is the attribute `loss` of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.corpus.results import HeadResult


@dataclass(frozen=True)
class LayerCurves:
    """A figure of curves over the layers: all heads are points, and the mean of a layer a line.

    Attributes:
        title: What is shown. The figure also names the head with the largest value.
        value_title: Quantity and unit of the values.
        reference: Numbers that are drawn as dashed lines: "self.uniform" by the name of the line.
        subtitle: The model and the inputs.

    Example:
        >>> from attnwidget.results import EntropyResult
        >>> EntropyResult.figure.title, EntropyResult.figure.reference
        ('Entropy of attention', {'uniform': 'self.uniform'})
    """

    title: str
    value_title: str = "mean attention"
    reference: Mapping[str, str] = field(default_factory=dict)
    subtitle: str = "{self.model_name}, {self._inputs}"

    def draw(
        self, result: HeadResult, curves: Mapping[str, NDArray[Any]], *, width: int
    ) -> alt.TopLevelMixin:
        """Draw [L, H] arrays of a result by the names of their curves, `width` pixels wide."""
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.layer_curves import layer_curves
        from attnwidget.corpus.results import heads_frame

        title = f"{self.title}\n{self.subtitle}".format(self=result)
        return layer_curves(
            heads_frame(curves).rename(columns={"metric": "series"}),
            title=answer_title(title, curves),
            value_title=self.value_title.format(self=result),
            reference={name: _value(result, path) for name, path in self.reference.items()},
            width=width,
        )


@dataclass(frozen=True)
class HeadMap:
    """A heat map of one array, layers down and heads across.

    Attributes:
        array: Attribute of the result with the values, [L, H].
        title: What is shown. The figure also names the head with the largest value.
        value_title: Quantity and unit of the values.
        subtitle: The model and the inputs.
        marked: Attribute with the heads that get a dot, bool [L, H]; "" without dots.
        diverging: Whether colors diverge from 0 although all values have one sign.

    Example:
        >>> from attnwidget.results import HeadImportance
        >>> HeadImportance.figure.array
        'values'
    """

    array: str
    title: str
    value_title: str
    subtitle: str = "{self.model_name}, {self._inputs}"
    marked: str = ""
    diverging: bool = False

    def draw(
        self, result: HeadResult, curves: Mapping[str, NDArray[Any]], *, width: int
    ) -> alt.TopLevelMixin:
        """Draw the array of a result, `width` pixels wide; other arrays are not drawn."""
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap

        values = np.asarray(getattr(result, self.array))
        title = f"{self.title}\n{self.subtitle}".format(self=result)
        return head_heatmap(
            values,
            title=answer_title(title, values),
            value_title=self.value_title,
            marked=getattr(result, self.marked) if self.marked else None,
            diverging=self.diverging,
            width=width,
        )


def _value(result: HeadResult, path: str) -> float:
    """Return the attribute or entry of a result that a path names, as "self.even[induction]"."""
    value, _ = Formatter().get_field(path, (), {"self": result})
    return float(value)
