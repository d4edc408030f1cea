"""Study results: declared arrays with named axes, a table and a declared figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.text.counted import counted
from attnwidget.text.missing_names import MissingNames
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

HeadMetrics = dict[str, NDArray[np.float64]]
#: Names that other packages give to `top_heads`.
_RANKING = frozenset({"best", "largest", "nlargest", "rank", "strongest", "top", "top_k", "topk"})


class TitledMetrics(HeadMetrics):
    """Numbers per head by metric title, whose errors name the titles that exist.

    Example:
        >>> from attnwidget import load_model, measure
        >>> found = measure(load_model(), ["The cat sat."], ["position"], progress=False)
        >>> found.heads()["previous"]
        Traceback (most recent call last):
        KeyError: "there is no number 'previous': did you mean 'previous token'? ..."
    """

    def __missing__(self, title: str) -> NDArray[np.float64]:
        raise KeyError(f"there is no number {title!r}: {among(title, self)}")


def per_head(
    title: str,
    *,
    curve: str | None = None,
    each: str = "",
    counts: str = "",
    optional: bool = False,
) -> dict[str, Any]:
    """Declare an array of a `HeadResult` as numbers per head, with metadata for its field.

    An array [L, H] has one number per head. An array [C, L, H] has one number per head for each of
    C names.

    Args:
        title: Title in `heads()` and tables. "{self.first}" is replaced by the attribute `first` of
            the result, and "{name}" by the name of an entry in an array [C, L, H].
        curve: Name in the figure; None = the title, "" = not drawn.
        each: Attribute with the C names.
        counts: Attribute with the count of each entry, [C] or by name; entries with the count 0 are
            left out.
        optional: Whether to leave out an array that is NaN for all heads.

    Returns:
        Metadata for `dataclasses.field`.

    Example:
        >>> from attnwidget.results import per_head
        >>> per_head("entropy from {self.first}", curve="from {self.first}")["curve"]
        'from {self.first}'
    """
    return {
        "title": title,
        "curve": title if curve is None else curve,
        "each": each,
        "counts": counts,
        "optional": optional,
    }


@dataclass(frozen=True)
class LayerCurves:
    """Figure with curves over layers: points for all heads, and a line for the mean per layer.

    Texts are templates: "{self.loss:.3g}" is replaced by the attribute `loss` of the result.

    Attributes:
        title: Title of the figure, which also names the head with the largest value.
        value_title: Quantity and unit of the values.
        reference: Numbers for dashed lines, such as "self.uniform", by the name of the line.
        subtitle: Model and inputs.
        threshold: Number of a dashed line above which all heads are named; None = no line, and only
            outliers are named.

    Example:
        >>> from attnwidget.results import EntropyResult
        >>> EntropyResult.figure.title, EntropyResult.figure.reference
        ('Entropy of attention', {'uniform': 'self.uniform'})
    """

    title: str
    value_title: str = "mean attention"
    reference: Mapping[str, str] = field(default_factory=dict)
    subtitle: str = "{self.model_name}, {self._inputs}"
    threshold: float | None = None

    def draw(
        self,
        result: HeadResult,
        curves: Mapping[str, NDArray[Any]],
        *,
        width: int,
        even: Mapping[str, float] | None = None,
    ) -> alt.TopLevelMixin:
        """Draw arrays of a result.

        Args:
            result: Result with the attributes of the templates.
            curves: Arrays [L, H] by the name of the curve.
            width: Width of the figure in pixels.
            even: Value of equal attention by the name of the curve, drawn as a dashed line.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.layer_curves import layer_curves

        title = f"{self.title}\n{self.subtitle}".format(self=result)
        return layer_curves(
            heads_frame(curves).rename(columns={"metric": "series"}),
            title=answer_title(title, curves),
            value_title=self.value_title.format(self=result),
            reference={name: _value(result, path) for name, path in self.reference.items()},
            even=even,
            threshold=self.threshold,
            width=width,
        )


@dataclass(frozen=True)
class HeadHeatMap:
    """Heat map of one array, with layers as rows and heads as columns.

    Texts are templates, as in `LayerCurves`.

    Attributes:
        array: Attribute of the result with the values, [L, H].
        title: Title of the figure, which also names the head with the largest value.
        value_title: Quantity and unit of the values.
        subtitle: Model and inputs.
        marked: Attribute with the heads to mark with a dot, bool [L, H]; "" = no dots.
        diverging: Whether colors diverge from 0 even if all values have the same sign.

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
        """Draw the array of a result.

        Args:
            result: Result with the array and the attributes of the templates.
            curves: Other arrays, which are ignored.
            width: Width of the figure in pixels.
        """
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


# Attributes of arrays that readers also expect of a result.
_OF_ARRAYS = frozenset(
    [
        "T",
        "argmax",
        "array",
        "dtype",
        "max",
        "mean",
        "min",
        "ndim",
        "numpy",
        "shape",
        "size",
        "values",
    ]
)


def _value(result: HeadResult, path: str) -> float:
    """Return the attribute or entry of a result at a path such as "self.even[induction]"."""
    value, _ = Formatter().get_field(path, (), {"self": result})
    return float(value)


@dataclass(frozen=True, eq=False, repr=False)
class HeadResult(Result):
    """Result with numbers per head. Subclasses add arrays with named axes.

    Declare a subclass with `@dataclass(frozen=True, eq=False, repr=False)`. A subclass either
    declares its arrays with `per_head` and its `figure`, or overrides `heads` and `chart`.

    Attributes:
        figure: Figure that `chart` draws.

    Example:
        >>> from dataclasses import dataclass, field
        >>> import numpy as np
        >>> from attnwidget.results import HeadHeatMap, HeadResult, per_head
        >>> @dataclass(frozen=True, eq=False, repr=False)
        ... class Squares(HeadResult):
        ...     squares: np.ndarray = field(metadata=per_head("squares"))
        ...     figure = HeadHeatMap("squares", "Squares", "square", subtitle="all heads")
        >>> Squares(np.ones((2, 4)))
        Squares(2×4 heads: squares)
    """

    figure: ClassVar[LayerCurves | HeadHeatMap | None] = None

    def heads(self) -> HeadMetrics:
        """Return the numbers per head, float64 [L, H], by metric title."""
        return self._arrays("title")

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the `figure` of the result.

        Args:
            width: Width of the entire figure in pixels.
        """
        if self.figure is None:
            raise TypeError(
                f"{type(self).__name__} has no figure: declare figure = LayerCurves(...), or "
                "define chart"
            )
        return self.figure.draw(self, self._arrays("curve") or self.heads(), width=width)

    def _arrays(self, key: str) -> HeadMetrics:
        """Return the arrays that are declared with `per_head`, by their "title" or "curve"."""
        arrays = TitledMetrics()
        for array_field in fields(self):
            options = array_field.metadata
            values = getattr(self, array_field.name)
            if not options.get(key) or values is None:
                continue
            if options["optional"] and np.isnan(values).all():
                continue
            if not options["each"]:
                arrays[options[key].format(self=self)] = values
                continue
            names = getattr(self, options["each"])
            counts = getattr(self, options["counts"]) if options["counts"] else [1] * len(names)
            if isinstance(counts, Mapping):
                counts = [counts[name] for name in names]
            for name, count, value in zip(names, counts, values, strict=True):
                if count:
                    arrays[options[key].format(self=self, name=name)] = value
        return arrays

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and metric: layer and head (from 0), metric, value.

        `attrs["model"]` is the name of the model.
        """
        return heads_frame(self.heads())

    def top_heads(
        self, metric: str | None = None, top: int = 10, *, smallest: bool = False
    ) -> pd.DataFrame:
        """Return the heads with the largest numbers as a table: layer, head, metric, value.

        Args:
            metric: Title of the number, as in `heads`; None = the only number.
            top: Largest number of heads.
            smallest: Whether to return the heads with the smallest numbers, smallest first.

        Raises:
            KeyError: If there is no such number.
            ValueError: If `metric` is None and there are several numbers, or `top` is below 1.

        Example:
            >>> from attnwidget import load_model, measure
            >>> found = measure(load_model(), ["The cat sat."], ["position"], progress=False)
            >>> found["position"].top_heads("previous token", 2)[["layer", "head"]].values.tolist()
            [[0, 2], [2, 11]]
        """
        return sorted_heads(heads_frame(self.heads()), metric, top, smallest=smallest)

    def __array__(self, *args: object, **options: object) -> NDArray[Any]:
        """Raise TypeError, because a result has several arrays."""
        raise TypeError(f"{type(self).__name__} is no array: {self._advice_on_arrays()}")

    def _advice_on(self, name: str) -> str:
        if name in _RANKING:
            return "use top_heads('a number', top=5)"
        return self._advice_on_arrays() if name in _OF_ARRAYS else super()._advice_on(name)

    def _advice_on_arrays(self) -> str:
        """Return the advice for a caller that expected an array."""
        titles = ", ".join(f"heads()[{title!r}]" for title in self.heads())
        return f"its arrays [layers, heads] are {titles}"

    def __repr__(self) -> str:
        heads = self.heads()
        size = "×".join(map(str, next(iter(heads.values())).shape)) if heads else "no"
        model = f"{self.model_name}, " if self.model_name else ""
        interrupted = "" if self.complete else ", interrupted"
        return f"{type(self).__name__}({model}{size} heads{interrupted}: {', '.join(heads)})"


class Measurements(MissingNames, Mapping[str, Any]):
    """Results of one pass over segments: a `HeadResult` by metric name.

    Attributes:
        n_segments: Number of segments.
        complete: Whether the pass reached the last segment; False after an interruption.
        model_name: Name of the model.
        stack: "self", or "encoder" in an encoder-decoder.

    Example:
        >>> from attnwidget import Segment, load_model, measure
        >>> segment = Segment(("the", "cat", "sat", "."), ("it", "slept", "."))
        >>> found = measure(load_model(), [segment], ["entropy"], progress=False)
        >>> found["entropy"].heads()["entropy"].shape
        (6, 12)
    """

    def __init__(
        self,
        results: Mapping[str, HeadResult],
        *,
        n_segments: int,
        complete: bool,
        model_name: str,
        stack: str,
    ) -> None:
        self._results: dict[str, HeadResult] = dict(results)
        self.n_segments = n_segments
        self.complete = complete
        self.model_name = model_name
        self.stack = stack

    # The class of the HeadResult depends on the name.
    def __getitem__(self, name: str) -> Any:
        try:
            return self._results[name]
        except KeyError:
            raise KeyError(f"{name!r} was not measured: {among(name, self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def heads(self) -> HeadMetrics:
        """Return the numbers per head of all results, float64 [L, H], by metric title."""
        return TitledMetrics(
            (title, v) for result in self.values() for title, v in result.heads().items()
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and metric: layer and head (from 0), metric, value.

        `attrs["model"]` is the name of the model.
        """
        frame = heads_frame(self.heads())
        frame.attrs["model"] = self.model_name
        return frame

    def top_heads(
        self, metric: str | None = None, top: int = 10, *, smallest: bool = False
    ) -> pd.DataFrame:
        """Return the heads with the largest numbers as a table: layer, head, metric, value.

        Args:
            metric: Title of the number, as in `heads`; None = the only number.
            top: Largest number of heads.
            smallest: Whether to return the heads with the smallest numbers, smallest first.

        Raises:
            KeyError: If there is no such number.
            ValueError: If `metric` is None and there are several numbers, or `top` is below 1.

        Example:
            >>> from attnwidget import load_model, measure
            >>> found = measure(load_model(), ["The cat sat."], ["position"], progress=False)
            >>> found.top_heads("next token", 1)[["layer", "head"]].values.tolist()
            [[1, 8]]
        """
        return sorted_heads(heads_frame(self.heads()), metric, top, smallest=smallest)

    def _advice_on(self, name: str) -> str:
        if name in self._results:
            return f"use [{name!r}]"
        if name in _RANKING:
            return "use top_heads('a number', top=5)"
        if name in ("chart", "plot") and self._results:
            return f"each metric has a chart, such as [{next(iter(self._results))!r}].chart()"
        return super()._advice_on(name)

    def __repr__(self) -> str:
        interrupted = "" if self.complete else ", interrupted"
        names = ", ".join(self)
        n_read = counted(self.n_segments, "segment")
        cut_note = f"; {self.cut}" if self.cut else ""
        return f"Measurements({self.model_name}, {n_read}{interrupted}: {names}{cut_note})"

    @property
    def cut(self) -> str:
        """Caption note about segments that were cut; "" if all segments are complete."""
        remarks = (result.cut for result in self.values() if isinstance(result, Result))
        return next(remarks, "")


def heads_frame(heads: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return arrays of numbers per head as a table: layer, head, metric, value.

    Layers that are NaN in every array have no attention and are left out, unless all layers are
    NaN.

    Args:
        heads: Arrays [L, H] by title.
    """
    import pandas as pd

    frames = []
    for title, values in heads.items():
        layer, head = (i.ravel() for i in np.indices(values.shape))
        frames.append(
            pd.DataFrame({"layer": layer, "head": head, "metric": title, "value": values.ravel()})
        )
    if not frames:
        return pd.DataFrame(columns=["layer", "head", "metric", "value"])
    frame = pd.concat(frames, ignore_index=True)
    has_attention = frame.groupby("layer")["value"].transform(lambda values: values.notna().any())
    return frame[has_attention].reset_index(drop=True) if has_attention.any() else frame


def sorted_heads(
    frame: pd.DataFrame, metric: str | None, top: int, *, smallest: bool = False
) -> pd.DataFrame:
    """Return the rows of the heads with the largest numbers, largest first, as in `top_heads`.

    Args:
        frame: Table of numbers per head, as from `heads_frame`.
        metric: Title of the number; None = the only number.
        top: Largest number of heads.
        smallest: Whether to return the heads with the smallest numbers.
    """
    top = whole_number("top", top, 1, "heads")
    titles = list(dict.fromkeys(frame["metric"]))
    if metric is None:
        if len(titles) != 1:
            raise ValueError(f"there are {len(titles)} numbers: name one, of {', '.join(titles)}")
        (metric,) = titles
    if metric not in titles:
        raise KeyError(f"there is no number {metric!r}: {among(metric, titles)}")
    rows = frame[frame["metric"] == metric].dropna(subset="value")
    # Equal values stay in the order of layers and heads.
    rows = rows.sort_values("value", ascending=smallest, kind="stable").head(top)
    return rows.reset_index(drop=True)


def layer_means(heads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the heads of each layer, [L]; NaN for layers without attention.

    Args:
        heads: Numbers per head, [L, H].
    """
    means = np.full(len(heads), np.nan)
    measured = ~np.isnan(heads).all(1)
    means[measured] = np.nanmean(heads[measured], 1)
    return means


def extreme_head(heads: NDArray[np.float64], *, largest: bool = True) -> tuple[str, float]:
    """Return the name and the number of the head with the largest or smallest number.

    Args:
        heads: Numbers per head, [L, H], not all NaN.
        largest: Whether to return the largest number.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.results import extreme_head
        >>> extreme_head(np.array([[0.1, 0.8]]))
        ('L0 H1', 0.8)
    """
    index = (np.nanargmax if largest else np.nanargmin)(heads)
    layer, head = np.unravel_index(index, heads.shape)
    return f"L{layer} H{head}", float(heads[layer, head])


def in_stack(model_name: str, stack: str) -> str:
    """Return the name of a model for captions, with the stack of the heads if it is not "self".

    Args:
        model_name: Name of the model.
        stack: Name of the stack.

    Example:
        >>> from attnwidget.corpus.results import in_stack
        >>> in_stack("Whisper", "cross"), in_stack("BERT", "self")
        ('Whisper, cross', 'BERT')
    """
    return model_name if stack == "self" else f"{model_name}, {stack}"
