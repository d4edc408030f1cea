"""How two models differ head by head: means, how sure they are, which heads match, charts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Float64Array
from attnwidget.studies.argument_checks import one_of
from attnwidget.studies.significance import bootstrap_interval
from attnwidget.studies.streaming.results import HeadMetrics, HeadResult, heads_frame
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_VALUES = {
    "divergence": "Jensen-Shannon divergence (nats)",
    "entropy change": "change of entropy (nats)",
    "divergence beyond seeds": "divergence beyond seeds (nats)",
}
# Return the change of several seeds of one training beyond their own spread, by metric.
_BEYOND = {
    "cosine": "change beyond seeds",
    "cosine without special tokens": "change beyond seeds without special tokens",
    "divergence": "divergence beyond seeds",
}


@dataclass(frozen=True, eq=False, repr=False)
class ComparedHeads(HeadResult):
    """Numbers of every head and segment, with their means, intervals and charts.

    Attributes:
        segments: float64 [L, H, N] by the metric's title, a number a segment.
        documents: int64 [N], the document that each segment was cut from; None where that is not
            known.
        complete: False where the pass was interrupted before the last segment.
    """

    segments: Mapping[str, Float64Array]
    documents: NDArray[np.int64] | None
    complete: bool

    @property
    @abstractmethod
    def model_name(self) -> str:
        """What was compared."""

    @property
    def n_segments(self) -> int:
        """Segments that the numbers are means over."""
        return next(iter(self.segments.values())).shape[-1]

    @property
    def drawn(self) -> str:
        """What `intervals` draw: "documents" where segments know theirs, else "segments"."""
        return "segments" if self.documents is None else "documents"

    @cached_property
    def intervals(self) -> dict[str, tuple[Float64Array, Float64Array]]:
        """Low and high of the means, [L, H] by metric: 95 %, by a bootstrap.

        Whole documents are drawn where segments know theirs, as segments of one document are not
        independent; else segments. NaN where there are fewer than two.
        """
        bounds = {}
        for metric, values in self.segments.items():
            known = self._known(metric)
            samples = values[..., known]
            groups = None if self.documents is None else self.documents
            groups = None if groups is None else groups[known]
            if (samples.shape[-1] if groups is None else len(set(groups.tolist()))) > 1:
                bounds[metric] = bootstrap_interval(samples, groups=groups)
            else:
                unsure = np.full(values.shape[:2], np.nan)
                bounds[metric] = unsure, unsure
        return bounds

    def heads(self) -> HeadMetrics:
        return {metric: self._mean(metric) for metric in self.segments}

    def to_frame(self) -> pd.DataFrame:
        """One row a head and metric: layer and head (from 0), metric, value, low, high.

        `low` and `high` are those of `intervals`. In `attrs`, "model" is the models' names and
        "drawn" what the intervals are over.
        """
        frame = super().to_frame()
        unsure = np.full(next(iter(self.segments.values())).shape[:2], np.nan)
        for column, side in (("low", 0), ("high", 1)):
            bounds = {
                metric: self.intervals[metric][side] if metric in self.segments else unsure
                for metric in self.heads()
            }
            frame[column] = heads_frame(bounds)["value"]
        frame.attrs["drawn"] = self.drawn
        return frame

    def chart(self, metric: str = "cosine") -> alt.LayerChart:
        """All heads, the darker the more they changed (Kovaleva et al. 2019, Figure 5).

        `metric` is one of `heads()`; of a cosine, 1 minus it is drawn. ValueError for another.
        """
        from attnwidget.charts.head_heatmap import head_heatmap

        heads = self.heads()
        one_of("metric", metric, list(heads))
        cosine = metric.startswith("cosine")
        return head_heatmap(
            1 - heads[metric] if cosine else heads[metric],
            title=self._title,
            value_title=f"1 − {metric}" if cosine else _VALUES.get(metric, metric),
            diverging=not cosine and metric != "divergence",
        )

    @property
    def _title(self) -> str:
        return f"What changed in each head\n{self.model_name}, {self._read}{self._stopped}"

    @property
    def _read(self) -> str:
        read = counted(self.n_segments, "segment")
        if self.documents is None:
            return read
        return f"{read} of {counted(len(set(self.documents.tolist())), 'document')}"

    @property
    def _stopped(self) -> str:
        return "" if self.complete else ", interrupted"

    def _known(self, metric: str) -> NDArray[np.bool_]:
        """The segments that have a number: no word, no cosine without special tokens."""
        return np.asarray(~np.isnan(self.segments[metric]).any((0, 1)))

    def _mean(self, metric: str) -> Float64Array:
        values = self.segments[metric][..., self._known(metric)]
        if not values.shape[-1]:
            return np.full(values.shape[:2], np.nan)
        mean: Float64Array = values.mean(-1)
        return mean


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(ComparedHeads):
    """Every head of a model beside the same head of another (Kovaleva et al. 2019, section 4.3).

    Attributes:
        segments: float64 [L, H, N] by the metric's title, a number a segment: "cosine", "cosine
            without special tokens", "divergence" and "entropy change" in nats, "cosine padded to
            200" where it was asked for, and "... change" of metrics of `measure` that are means
            over segments.
        documents: int64 [N], the document of each segment; None where that is not known.
        complete: False where the pass was interrupted before the last segment.
        model_names: of the first model and of the second.
        pairs: float64 [L, H, H], the divergence of each head of the first model from each head of
            the same layer of the second, mean over segments, in nats; None without `matches`.
        across: float64 [L H, L H], the same for heads of all layers, where it was asked for; head
            h of layer l is l H + h.
        changes: float64 [L, H] by the title of each metric of `measure` that was asked for: the
            second model's number minus the first one's. Those that are no means over segments,
            as of "distances", are here alone: their intervals are NaN.
    """

    model_names: tuple[str, str]
    pairs: Float64Array | None = None
    across: Float64Array | None = None
    changes: Mapping[str, Float64Array] = field(default_factory=dict)

    @property
    def model_name(self) -> str:
        """Both names."""
        return " → ".join(self.model_names)

    @property
    def cosine(self) -> Float64Array:
        """[L, H], of all rows and columns of the two maps: 1 where they are alike."""
        return self._mean("cosine")

    @property
    def cosine_without_special(self) -> Float64Array:
        """[L, H], without the rows and columns of the special tokens."""
        return self._mean("cosine without special tokens")

    @property
    def divergence(self) -> Float64Array:
        """[L, H], nats: Jensen-Shannon divergence of the rows, 0 to ln 2 = 0.693."""
        return self._mean("divergence")

    @property
    def entropy_change(self) -> Float64Array:
        """[L, H], nats: entropy in the second model minus that in the first."""
        return self._mean("entropy change")

    def heads(self) -> HeadMetrics:
        by_title = super().heads()
        changes = {f"{title} change": values for title, values in self.changes.items()}
        return by_title | {title: v for title, v in changes.items() if title not in by_title}

    def match(self, *, across_layers: bool = False) -> pd.DataFrame:
        """The head of the second model that attends most like each head of the first.

        Every head is taken once: the sum of all divergences is as small as can be (linear
        assignment). Models that were trained apart have no reason to keep the order of heads.

        Args:
            across_layers: heads of all layers compete, in place of those of the same layer.

        Returns:
            One row a head: layer, head, other_layer, other_head, divergence in nats, and margin:
            the divergence from the second-best candidate minus the divergence. A margin near 0 says
            that two candidates fit about equally well; a margin below 0, that the nearest head was
            matched with a different head. NaN if there is only one candidate.

        Raises:
            ValueError: if heads were not compared with all candidates: `compare` was called without
                `matches`, or for `across_layers` without that.
        """
        import pandas as pd
        from scipy.optimize import linear_sum_assignment

        n_heads = self.cosine.shape[1]
        blocks = self.pairs
        if across_layers:
            blocks = None if self.across is None else self.across[None]
        if blocks is None:
            which = "of different layers "
            option = "across_layers"
            raise ValueError(
                f"heads {which if across_layers else ''}were not compared pairwise, because it "
                "takes several times as long: call compare(a, b, segments, "
                f"{option if across_layers else 'matches'}=True)"
            )
        rows = []
        for block, every in enumerate(blocks):
            # Layers without attention have no heads to match.
            measured = np.flatnonzero(~np.isnan(every).all(1))
            divergences = every[np.ix_(measured, measured)]
            for first, other in zip(*linear_sum_assignment(divergences), strict=True):
                chosen = divergences[first, other]
                rest = np.delete(divergences[first], other)
                layer, head = divmod(block * n_heads + measured[first], n_heads)
                other_layer, other_head = divmod(block * n_heads + measured[other], n_heads)
                margin = rest.min() - chosen if len(rest) else np.nan
                rows.append((layer, head, other_layer, other_head, chosen, margin))
        columns = ["layer", "head", "other_layer", "other_head", "divergence", "margin"]
        return pd.DataFrame(rows, columns=columns)

    def curves(self) -> alt.LayerChart:
        """1 - cosine over the layers, of all tokens and without special ones."""
        from attnwidget.charts.layer_curves import layer_curves

        series = {
            "all tokens": 1 - self.cosine,
            "without special tokens": 1 - self.cosine_without_special,
        }
        frame = heads_frame(series).rename(columns={"metric": "series"})
        return layer_curves(frame, title=self._title, value_title="1 − cosine")

    def __repr__(self) -> str:
        cosine = self.cosine
        layer, head = np.unravel_index(np.nanargmin(cosine), cosine.shape)
        size = "×".join(map(str, cosine.shape))
        return (
            f"ModelComparison({self.model_name}, {size} heads, {self._read}{self._stopped}: "
            f"mean cosine {np.nanmean(cosine):.3f}, least L{layer} H{head} {np.nanmin(cosine):.3f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class SeveralComparisons(ComparedHeads):
    """A model beside several others: steps of one training, or seeds of one kind of training.

    Attributes:
        segments: float64 [L, H, N] by the metric's title: the mean of each metric of `each` over
            the models and, of seeds, "change beyond seeds" (of 1 - cosine), "change beyond seeds
            without special tokens" and "divergence beyond seeds".
        documents: int64 [N], the document of each segment; None where that is not known.
        complete: False where the pass was interrupted before the last segment.
        each: the comparison of the first model with each of the others.
        between: The comparisons between pairs of the other models; empty unless the models are
            seeds.
    """

    each: tuple[ModelComparison, ...]
    between: tuple[ModelComparison, ...] = ()

    @property
    def model_name(self) -> str:
        """The first model's name, and how many the others are."""
        return f"{self.each[0].model_names[0]} → {counted(len(self.each), 'model')}"

    @property
    def names(self) -> list[str]:
        """The names of the other models, numbered if two names are equal."""
        names = [comparison.model_names[1] for comparison in self.each]
        if len(set(names)) == len(names):
            return names
        return [f"{name} ({number})" for number, name in enumerate(names, 1)]

    def heads(self) -> HeadMetrics:
        by_title = super().heads()
        each = [comparison.heads() for comparison in self.each]
        rest = {title: np.mean([heads[title] for heads in each], axis=0) for title in each[0]}
        return by_title | {title: v for title, v in rest.items() if title not in by_title}

    def to_frame(self) -> pd.DataFrame:
        """One row a model, head and metric: layer, head, metric, value, low, high, model.

        `model` is one of `names`, or "all" for means over the models and for changes beyond seeds.
        """
        import pandas as pd

        frames = [comparison.to_frame() for comparison in self.each] + [super().to_frame()]
        named = zip([*self.names, "all"], frames, strict=True)
        frame = pd.concat([table.assign(model=name) for name, table in named], ignore_index=True)
        frame.attrs = dict(frames[-1].attrs)
        return frame

    def __repr__(self) -> str:
        size = "×".join(map(str, self.each[0].cosine.shape))
        listed = ", ".join(
            f"{name} {np.nanmean(comparison.cosine):.3f}"
            for name, comparison in zip(self.names, self.each, strict=True)
        )
        return (
            f"SeveralComparisons({self.model_name}, {size} heads, {self._read}{self._stopped}: "
            f"mean cosine {listed})"
        )


def several_comparisons(
    each: Sequence[ModelComparison], between: Sequence[ModelComparison]
) -> SeveralComparisons:
    """The comparisons of one model with several others, and of the others with each other."""
    segments = {
        title: np.mean([comparison.segments[title] for comparison in each], axis=0)
        for title in each[0].segments
        if all(title in comparison.segments for comparison in each)
    }
    if between:
        for title, beyond in _BEYOND.items():
            spread = np.mean([comparison.segments[title] for comparison in between], axis=0)
            moved = segments[title] - spread
            segments[beyond] = moved if title == "divergence" else -moved
    first = each[0]
    return SeveralComparisons(
        segments, first.documents, first.complete, tuple(each), tuple(between)
    )
