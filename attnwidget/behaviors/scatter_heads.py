"""Heads as points: any number of the heads against any other number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.registry import family_of
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.corpus.results import HeadMetrics, HeadResult, extreme_head
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

#: A number per head; see `scatter_heads`.
HeadNumber: TypeAlias = "HeadResult | tuple[Any, str] | Mapping[str, ArrayLike] | Literal['layer']"

_FORMS = (
    "pass a result with one number per head, (result, 'title of the number'), (table, 'column'), "
    "{'title': array [layers, heads]}, or 'layer'"
)
_LAYER = "layer"


@dataclass(frozen=True, eq=False, repr=False)
class ScatteredHeads(HeadResult):
    """Two numbers per head, and the names of the heads. Made by `scatter_heads`.

    Attributes:
        x: First number of each head, float64 [L, H]; NaN for heads that were not measured.
        y: Second number of each head, float64 [L, H].
        x_title: Title of the first number.
        y_title: Title of the second number.
        names: Name of each head, "" for a head without a name, [L, H].

    Example:
        >>> from attnwidget.behaviors import scatter_heads
        >>> from attnwidget.demo import demo_atlas
        >>> found = scatter_heads("layer", (demo_atlas(), "previous token"), atlas=demo_atlas())
        >>> found.outstanding[0]
        'L0 H2'
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    x_title: str
    y_title: str
    names: NDArray[np.str_]

    def heads(self) -> HeadMetrics:
        """Return both numbers, float64 [L, H], by title."""
        return {self.x_title: self.x, self.y_title: self.y}

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation of both numbers over the heads; NaN if one is constant."""
        x, y = self._measured[:2]
        if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        return float(spearmanr(x, y).statistic)

    @property
    def outstanding(self) -> list[str]:
        """Heads more than 1.2 interquartile ranges from a median, the most distant first."""
        from attnwidget.charts.heads_by_numbers import stands_out

        x, y, heads = self._measured
        away = np.maximum(stands_out(x), stands_out(y))
        return [
            f"L{heads[number][0]} H{heads[number][1]}"
            for number in np.argsort(-away, kind="stable")
            if away[number] > 1
        ]

    @property
    def finding(self) -> str:
        """The heads with the largest numbers, and the rank correlation."""
        largest = "; ".join(
            f"{title} is largest in {name} ({value:.3g})"
            for title, (name, value) in (
                (title, extreme_head(values))
                for title, values in self.heads().items()
                if title != _LAYER
            )
        )
        return f"{'; '.join(filter(None, (largest, self._correlation_text)))}."

    @property
    def _correlation_text(self) -> str:
        """Rank correlation for texts; "" if there is none."""
        value = self.correlation
        if np.isnan(value):
            return ""
        # Adding 0 avoids a negative zero.
        return f"rank correlation {round(value, 2) + 0.0:.2f}".replace("-", "−")

    @property
    def _measured(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Numbers of the heads that have both, [N], and layers and heads, [N, 2]."""
        has_both = ~np.isnan(self.x) & ~np.isnan(self.y)
        return self.x[has_both], self.y[has_both], np.argwhere(has_both)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head that has both numbers.

        Columns: layer, head, both numbers by title, name, and outstanding. `attrs["model"]` is the
        name of the model.
        """
        import pandas as pd

        x, y, heads = self._measured
        named = [str(self.names[layer, head]) for layer, head in heads]
        table = {"layer": heads[:, 0], "head": heads[:, 1]}
        frame = pd.DataFrame(table | {self.x_title: x, self.y_title: y, "name": named})
        outstanding = set(self.outstanding)
        frame["outstanding"] = [f"L{layer} H{head}" in outstanding for layer, head in heads]
        frame.attrs["model"] = self.model_name
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw each head as a point, with names at the heads that stand out.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.heads_by_numbers import heads_by_numbers

        x, y, heads = self._measured
        named = [str(self.names[layer, head]) for layer, head in heads]
        frame = pd.DataFrame({"layer": heads[:, 0], "head": heads[:, 1], "x": x, "y": y})
        frame["says"] = named
        frame["family"] = [_family(name) for name in named]
        parts = [self.model_name, counted(len(x), "head"), self._correlation_text]
        parts.append("near: similar in both numbers")
        title = answer_title(
            f"{self.y_title} against {self.x_title}\n{'; '.join(filter(None, parts))}", self.y
        )
        return heads_by_numbers(
            frame, x_title=self.x_title, y_title=self.y_title, title=title, width=width
        )


@hides_frames
def scatter_heads(
    x: HeadNumber, y: HeadNumber, *, atlas: Atlas | BehaviorTable | None = None
) -> ScatteredHeads:
    """Compare any number of the heads with any other number, with names at heads that stand out.

    A number has one of these forms:

    - a result with a single number per head, such as `measure(...)["entropy"]`;
    - a result and the title of one of its numbers, such as `(explained, "grammar")` or
      `(atlas, "previous token")` (`heads()` has the titles);
    - a table or a result with a table with a row per head, and one of its columns, such as
      `(measured_rules, "coverage")`;
    - a title and an array [layers, heads], such as `{"loss without the head": effects}`;
    - "layer", the number of the layer.

    Args:
        x: Number that is drawn across.
        y: Number that is drawn up.
        atlas: Atlas, or result of `measure_behaviors`, of the model, with the names of the heads;
            None = no names.

    Raises:
        TypeError: If a number has none of these forms.
        ValueError: If a result has several numbers and none is named, a title or column does not
            exist, a table has several numbers for a head, both numbers have the same title,
            shapes differ, or no head has both numbers.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.behaviors import scatter_heads
        >>> from attnwidget.demo import demo_atlas
        >>> model = load_model()
        >>> texts = make_segments(["The cat sat on the mat.", "It slept there."] * 4, model)
        >>> found = measure(model, texts, ["entropy", "confidence"], progress=False)
        >>> scatter_heads((found, "entropy"), (found, "confidence"), atlas=demo_atlas())
        ScatteredHeads(small BERT (in the package), 6×12 heads: entropy, confidence)
    """
    x_number, y_number = (_number(side, number) for side, number in (("x", x), ("y", y)))
    shape = _shape(x_number, y_number, atlas)
    if x_number.title == y_number.title:
        raise ValueError(
            f"both numbers have the title {x_number.title!r}: pass {{'another title': array}} for "
            "one"
        )
    found = ScatteredHeads(
        x=x_number.of_all_heads(shape),
        y=y_number.of_all_heads(shape),
        x_title=x_number.title,
        y_title=y_number.title,
        names=np.full(shape, "") if atlas is None else atlas.names,
        model_name="; ".join(
            dict.fromkeys(filter(None, (x_number.model_name, y_number.model_name)))
        ),
    )
    if not len(found._measured[0]):
        raise ValueError(f"no head has both numbers, {found.x_title!r} and {found.y_title!r}")
    return found


@dataclass(frozen=True, eq=False)
class _Number:
    """A number of some or all heads.

    Attributes:
        title: Title of the number.
        values: Values, [l, h]; None = the number of the layer.
        model_name: Name of the model, "" if unknown.
        is_table: Whether the values come from a table, which may lack the last layers and heads.
    """

    title: str
    values: NDArray[np.float64] | None
    model_name: str = ""
    is_table: bool = False

    def of_all_heads(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the values of all heads, [L, H]; NaN for heads without a value."""
        array = np.full(shape, np.nan)
        if self.values is None:
            array[:] = np.arange(shape[0])[:, None]
        else:
            array[: self.values.shape[0], : self.values.shape[1]] = self.values
        return array


def _shape(x: _Number, y: _Number, atlas: Atlas | BehaviorTable | None) -> tuple[int, ...]:
    """Return the number of layers and of heads."""
    arrays = [number for number in (x, y) if number.values is not None]
    if not arrays:
        raise ValueError(f"both numbers are the layer: {_FORMS}")
    shapes = {n.values.shape for n in arrays if n.values is not None and not n.is_table}
    if atlas is not None:
        shapes.add(atlas.names.shape)
    least = tuple(np.max([n.values.shape for n in arrays if n.values is not None], axis=0))
    if len(shapes) > 1 or any(np.any(np.array(least) > shape) for shape in shapes):
        sizes = " and ".join(sorted("×".join(map(str, shape)) for shape in {*shapes, least}))
        raise ValueError(
            f"the numbers or names are of {sizes} heads: pass numbers and an atlas of one model"
        )
    return next(iter(shapes), tuple(map(int, least)))


def _number(side: str, number: Any) -> _Number:
    """Return a number in one of the forms of `scatter_heads`."""
    if isinstance(number, str) and number == _LAYER:
        return _Number(_LAYER, None)
    if isinstance(number, tuple) and len(number) == 2 and isinstance(number[1], str):
        source, title = number
        arrays = source.heads() if callable(getattr(source, "heads", None)) else {}
        if title in arrays:
            return _Number(title, _checked(side, title, arrays[title]), _model(source))
        return _Number(title, _column(side, source, title, arrays), _model(source), is_table=True)
    if callable(getattr(number, "heads", None)):
        arrays = number.heads()
        if len(arrays) != 1:
            raise ValueError(
                f"{side} has {counted(len(arrays), 'number')} per head ({', '.join(arrays)}): "
                f"choose one, {side}=(result, {next(iter(arrays), 'title')!r})"
            )
        ((title, values),) = arrays.items()
        return _Number(title, _checked(side, title, values), _model(number))
    if isinstance(number, Mapping) and len(number) == 1:
        ((title, values),) = number.items()
        return _Number(str(title), _checked(side, str(title), values))
    raise TypeError(f"{side} has the type {type(number).__name__}: {_FORMS}")


def _checked(side: str, title: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{side}, {title!r}, has the shape {list(array.shape)}; expected [layers, heads]"
        )
    if np.isinf(array).any():
        layer, head = np.argwhere(np.isinf(array))[0]
        raise ValueError(f"{title!r} of L{layer} H{head} is infinite and cannot be drawn")
    return array


def _column(side: str, source: Any, title: str, arrays: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return a column of a table with a row per head, [l, h]; NaN for heads without a row."""
    import pandas as pd

    table = source if isinstance(source, pd.DataFrame) else None
    if table is None:
        if not callable(getattr(source, "to_frame", None)):
            raise TypeError(f"{side} has the type {type(source).__name__}: {_FORMS}")
        table = source.to_frame()
    if not {"layer", "head"} <= set(table.columns):
        raise ValueError(f"the table of {side} has no columns layer and head: {_FORMS}")
    columns = table.select_dtypes("number").columns.difference(["layer", "head"], sort=False)
    if title not in columns:
        titles = [*arrays, *map(str, columns)]
        raise ValueError(f"{side} has no number {title!r}: {among(title, titles)}")
    by_head = table.groupby(["layer", "head"])[title]
    several = by_head.nunique() > 1
    if several.any():
        layer, head = several.index[int(np.flatnonzero(several)[0])]
        raise ValueError(
            f"the table of {side} has several values of {title!r} for L{layer} H{head}: choose "
            "rows first, such as table[table['group'] == 'the word itself']"
        )
    values = by_head.first()
    layers, heads = (values.index.get_level_values(level).to_numpy(int) for level in range(2))
    array = np.full((layers.max() + 1, heads.max() + 1), np.nan)
    array[layers, heads] = values.to_numpy(np.float64)
    return _checked(side, title, array)


def _model(source: Any) -> str:
    attrs = getattr(source, "attrs", {})
    return str(getattr(source, "model_name", "") or attrs.get("model", ""))


def _family(name: str) -> str:
    return (family_of(name) or "other name") if name else "no name"
