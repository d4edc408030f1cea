"""Results of studies: declared arrays with named axes, a table and a declared figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

HeadMetrics = dict[str, NDArray[np.float64]]


def per_head(
    title: str,
    *,
    curve: str | None = None,
    each: str = "",
    counts: str = "",
    optional: bool = False,
) -> dict[str, Any]:
    """Declare an array of a `HeadResult` as numbers per head, by the metadata of its field.

    An array [L, H] is one number per head. An array [C, L, H] is one number for each of C names.

    Args:
        title: Title in `heads()` and tables. "{self.first}" is the attribute `first` of the result,
            and "{name}" the name of an entry of an array [C, L, H].
        curve: Name in the figure; None = the title, "" = not drawn.
        each: Attribute with the C names.
        counts: Attribute with the count of each entry, [C] or by name; entries with the count 0 are
            left out.
        optional: Whether an array that is NaN for all heads is left out.

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
    """A figure of curves over the layers: all heads are points, and the mean of a layer a line.

    Texts are templates in which "{self.loss:.3g}" is the attribute `loss` of the result.

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

        title = f"{self.title}\n{self.subtitle}".format(self=result)
        return layer_curves(
            heads_frame(curves).rename(columns={"metric": "series"}),
            title=answer_title(title, curves),
            value_title=self.value_title.format(self=result),
            reference={name: _value(result, path) for name, path in self.reference.items()},
            width=width,
        )


@dataclass(frozen=True)
class HeadHeatMap:
    """A heat map of one array, layers down and heads across. Texts are as in `LayerCurves`.

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


@dataclass(frozen=True, eq=False, repr=False)
class HeadResult(Result):
    """A result with numbers per head. Subclasses add arrays with named axes.

    A subclass is declared `@dataclass(frozen=True, eq=False, repr=False)`. It declares its arrays
    with `per_head` and its `figure`, or it has a `heads` and a `chart` of its own.

    Attributes:
        figure: What `chart` draws.

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
        """Return one number per head: float64 [L, H] by the metric's title."""
        return self._arrays("title")

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the `figure` of the result.

        Args:
            width: Pixels of the whole figure.
        """
        if self.figure is None:
            raise TypeError(
                f"{type(self).__name__} has no figure: declare figure = LayerCurves(...), or "
                "define chart"
            )
        return self.figure.draw(self, self._arrays("curve") or self.heads(), width=width)

    def _arrays(self, key: str) -> HeadMetrics:
        """Return the arrays that are declared with `per_head`, by their "title" or "curve"."""
        arrays: HeadMetrics = {}
        for declared in fields(self):
            options = declared.metadata
            values = getattr(self, declared.name)
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

    def __repr__(self) -> str:
        heads = self.heads()
        size = "×".join(map(str, next(iter(heads.values())).shape)) if heads else "no"
        model = f"{self.model_name}, " if self.model_name else ""
        stopped = "" if self.complete else ", interrupted"
        return f"{type(self).__name__}({model}{size} heads{stopped}: {', '.join(heads)})"


class Measurements(Mapping[str, Any]):
    """The results of one pass over segments: a `HeadResult` for each name of a metric.

    Attributes:
        n_segments: Number of segments.
        complete: False if the pass was interrupted before the last segment.
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

    def __getitem__(self, name: str) -> Any:  # which kind of HeadResult, the name says
        try:
            return self._results[name]
        except KeyError:
            raise KeyError(f"{name!r} was not measured: {among(name, self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def heads(self) -> HeadMetrics:
        """Return one number per head for every result: float64 [L, H] by the metric's title."""
        return {title: v for result in self.values() for title, v in result.heads().items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and metric: layer and head (from 0), metric, value.

        `attrs["model"]` is the name of the model.
        """
        frame = heads_frame(self.heads())
        frame.attrs["model"] = self.model_name
        return frame

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        listed = ", ".join(self)
        read = counted(self.n_segments, "segment")
        cut = f"; {self.cut}" if self.cut else ""
        return f"Measurements({self.model_name}, {read}{stopped}: {listed}{cut})"

    @property
    def cut(self) -> str:
        """How many tokens were read of segments that were cut; "" if all were read whole."""
        remarks = (result.cut for result in self.values() if isinstance(result, Result))
        return next(remarks, "")


def heads_frame(heads: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return [L, H] arrays by title as a table: layer, head, metric, value.

    Layers that are NaN in every array have no attention and are left out, unless all layers are
    NaN.
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
    measured = frame.groupby("layer")["value"].transform(lambda values: values.notna().any())
    return frame[measured].reset_index(drop=True) if measured.any() else frame


def in_stack(model_name: str, stack: str) -> str:
    """Return the name of a model in captions, with the stack of the heads if it is not "self".

    Example:
        >>> from attnwidget.corpus.results import in_stack
        >>> in_stack("Whisper", "cross"), in_stack("BERT", "self")
        ('Whisper, cross', 'BERT')
    """
    return model_name if stack == "self" else f"{model_name}, {stack}"
