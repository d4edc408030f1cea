"""Results of head comparisons: means, intervals, matching heads and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.comparison.feature_changes import FeatureChanges
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadMetrics, HeadResult, heads_frame, layer_means
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import bootstrap_interval
from attnwidget.text.counted import counted
from attnwidget.words.linguistic_features import FeatureWeights, LinguisticFeatures

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_VALUES = {
    "divergence": "Jensen-Shannon divergence in nats (0: alike, 0.69: nothing shared)",
    "entropy change": "change of entropy in nats (above 0: more tokens)",
    "divergence beyond seeds": "divergence beyond seeds in nats (above 0: more than seeds differ)",
}
# Titles for the changes beyond the spread of seeds, by metric.
_BEYOND = {
    "cosine": "change beyond seeds",
    "cosine without special tokens": "change beyond seeds without special tokens",
    "divergence": "divergence beyond seeds",
}


@dataclass(frozen=True, eq=False, repr=False)
class ComparedHeads(HeadResult):
    """Numbers for each head and segment, with means, intervals and charts.

    Attributes:
        segments: One number per segment by metric title, float64 [L, H, N].
        documents: Document of each segment, int64 [N]; None if documents are unknown.
        complete: Whether the comparison reached the last segment; False after an interruption.

    Example:
        >>> from attnwidget import compare, load_model, make_segments
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> found = compare(model, tuned, segments, progress=False)
        >>> found.n_segments, found.segments["cosine"].shape
        (2, (6, 12, 2))
    """

    segments: Mapping[str, Float64Array]
    documents: NDArray[np.int64] | None

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return next(iter(self.segments.values())).shape[-1]

    @property
    def drawn(self) -> str:
        """Unit of the bootstrap: "documents" if segments have documents, otherwise "segments"."""
        return "segments" if self.documents is None else "documents"

    @cached_property
    def intervals(self) -> dict[str, tuple[Float64Array, Float64Array]]:
        """95 % bootstrap intervals of the means: lower and upper ends, [L, H], by metric.

        If segments have documents, entire documents are drawn, because the segments of one document
        are not independent. Otherwise, segments are drawn. With fewer than six, the ends are NaN.
        """
        bounds = {}
        for metric, values in self.segments.items():
            has_value = self._known(metric)
            samples = values[..., has_value]
            groups = None if self.documents is None else self.documents
            groups = None if groups is None else groups[has_value]
            bounds[metric] = bootstrap_interval(samples, groups=groups)
        return bounds

    def heads(self) -> HeadMetrics:
        return {metric: self._mean(metric) for metric in self.segments}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and metric: layer and head (from 0), metric, value, low, high.

        `low` and `high` come from `intervals`. `attrs` has the model names ("model") and the
        bootstrap unit ("drawn").
        """
        frame = super().to_frame()
        missing_values = np.full(next(iter(self.segments.values())).shape[:2], np.nan)
        for column, side in (("low", 0), ("high", 1)):
            bounds = {
                metric: self.intervals[metric][side] if metric in self.segments else missing_values
                for metric in self.heads()
            }
            frame[column] = heads_frame(bounds)["value"]
        frame.attrs["drawn"] = self.drawn
        return frame

    def chart(self, metric: str = "cosine", *, width: int = 640) -> alt.LayerChart:
        """Draw all heads, darker for larger changes (Kovaleva et al. 2019, Figure 5).

        Args:
            metric: Title of a metric in `heads()`; for a cosine, 1 - cosine is drawn.
            width: Width of the entire figure in pixels.

        Raises:
            ValueError: There is no such metric.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap

        heads = self.heads()
        one_of("metric", metric, list(heads))
        is_cosine = metric.startswith("cosine")
        return head_heatmap(
            1 - heads[metric] if is_cosine else heads[metric],
            title=answer_title(self._title, 1 - heads[metric] if is_cosine else heads[metric]),
            value_title=f"1 − {metric}" if is_cosine else _VALUES.get(metric, metric),
            diverging=not is_cosine and metric != "divergence",
            width=width,
        )

    @property
    def _title(self) -> str:
        return f"What changed in each head\n{self.model_name}, {self._read}{self._stopped}"

    @property
    def _read(self) -> str:
        """Number of segments and documents, for captions."""
        n_read = counted(self.n_segments, "segment")
        if self.documents is None:
            return n_read
        return f"{n_read} of {counted(len(set(self.documents.tolist())), 'document')}"

    @property
    def _stopped(self) -> str:
        """Caption note about an interruption."""
        return "" if self.complete else ", interrupted"

    def _known(self, metric: str) -> NDArray[np.bool_]:
        """Return which segments have a value; the cosine without special tokens needs words."""
        return np.asarray(~np.isnan(self.segments[metric]).any((0, 1)))

    def _mean(self, metric: str) -> Float64Array:
        """Return the mean of a metric over the segments that have a value, [L, H]."""
        values = self.segments[metric][..., self._known(metric)]
        if not values.shape[-1]:
            return np.full(values.shape[:2], np.nan)
        mean: Float64Array = values.mean(-1)
        return mean


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(ComparedHeads):
    """Comparison of the heads of two models (Kovaleva et al. 2019, section 4.3).

    Attributes:
        segments: One number per segment by metric title, float64 [L, H, N]: "cosine", "cosine
            without special tokens", "divergence" and "entropy change" in nats, "cosine padded to
            200" if requested, and "... change" for metrics of `measure` that are means over
            segments.
        documents: Document of each segment, int64 [N]; None if documents are unknown.
        complete: Whether the comparison reached the last segment; False after an interruption.
        model_names: Names of the first and the second model.
        model_name: Both names.
        pairs: Divergence in nats between each head of the first model and each head in the same
            layer of the second model, averaged over segments, float64 [L, H, H]; None without
            `matches`.
        across: Divergences between the heads of all layers, float64 [L H, L H]; head h of layer l
            has the index l H + h. None without `across_layers`.
        changes: Second model minus first model, by the title of each requested metric of `measure`,
            float64 [L, H]. Metrics that are not means over segments, such as "distances", are only
            here and have no intervals.
        before: Results of the requested metrics for the first model, by name.
        after: Results of the requested metrics for the second model, by name.
        control: Comparison of the first model with noise of the size of the change; None without
            `control="noise"`.
        weight_change: Change of each layer's weights as a share of their size (Frobenius norms),
            float64 [L]; None without `control="noise"`.

    Example:
        >>> from attnwidget import compare, load_model, make_segments
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> found = compare(model, tuned, segments, progress=False)
        >>> found.model_names, found.cosine.shape
        (('small BERT (in the package)', 'small BERT for genres (in the package)'), (6, 12))
    """

    model_names: tuple[str, str]
    model_name: str = field(init=False, default="")
    pairs: Float64Array | None = None
    across: Float64Array | None = None
    changes: Mapping[str, Float64Array] = field(default_factory=dict)
    before: Mapping[str, HeadResult] = field(default_factory=dict)
    after: Mapping[str, HeadResult] = field(default_factory=dict)
    control: ModelComparison | None = None
    weight_change: Float64Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "model_name", " → ".join(self.model_names))

    @property
    def features(self) -> FeatureChanges:
        """Attention to linguistic features before and after.

        Raises:
            ValueError: The comparison did not measure features.
        """
        name = LinguisticFeatures.name
        before, after = self.before.get(name), self.after.get(name)
        if not isinstance(before, FeatureWeights) or not isinstance(after, FeatureWeights):
            raise ValueError(
                "the comparison has no features: call compare(a, b, sentences, "
                f'unit="words", metrics=["{name}"]) with sentences of a treebank'
            )
        noise = None if self.control is None else self.control.after[name]
        assert noise is None or isinstance(noise, FeatureWeights)
        return FeatureChanges(
            before,
            after,
            noise,
            complete=self.complete,
            model_name=self.model_name,
        )

    @property
    def cosine(self) -> Float64Array:
        """Cosine between the two complete maps, [L, H]; 1 for equal maps."""
        return self._mean("cosine")

    @property
    def finding(self) -> str:
        """The layers whose maps changed most and least, and the largest change by noise."""
        changes = layer_means(1 - self.cosine)
        if np.isnan(changes).all():
            return ""
        most, least = int(np.nanargmax(changes)), int(np.nanargmin(changes))
        sentence = (
            f"The maps of L{most} change most (1 − cosine {changes[most]:.3f}), those of L{least} "
            f"least ({changes[least]:.3f})"
        )
        if self.control is None:
            return sentence
        by_noise = float(np.nanmax(layer_means(1 - self.control.cosine)))
        return f"{sentence}; noise of the same size changes no layer by more than {by_noise:.3f}"

    @property
    def cosine_without_special(self) -> Float64Array:
        """Cosine without the rows and columns of special tokens, [L, H]."""
        return self._mean("cosine without special tokens")

    @property
    def divergence(self) -> Float64Array:
        """Jensen-Shannon divergence of the rows in nats, [L, H], 0 to ln 2 = 0.693."""
        return self._mean("divergence")

    @property
    def entropy_change(self) -> Float64Array:
        """Entropy in the second model minus entropy in the first model in nats, [L, H]."""
        return self._mean("entropy change")

    def heads(self) -> HeadMetrics:
        by_title = super().heads()
        changes = {f"{title} change": values for title, values in self.changes.items()}
        return by_title | {title: v for title, v in changes.items() if title not in by_title}

    def match(self, *, across_layers: bool = False) -> pd.DataFrame:
        """Match each head of the first model with the most similar head of the second model.

        Each head is matched once, so that the sum of all divergences is minimal (linear
        assignment). In models that were trained independently, the order of heads is arbitrary.

        Args:
            across_layers: Whether the heads of all layers are candidates, not only the heads of the
                same layer.

        Returns:
            One row per head: layer, head, other_layer, other_head, divergence in nats, and margin.
            The margin is the smallest divergence from any other candidate minus the divergence. If
            it is near 0, two candidates fit almost equally well. If it is negative, the most
            similar head was matched with a different head. It is NaN if there is only one
            candidate.

        Raises:
            ValueError: Heads were not compared with all candidates, because `compare` was called
                without `matches` or `across_layers`.
        """
        import pandas as pd
        from scipy.optimize import linear_sum_assignment

        n_heads = self.cosine.shape[1]
        blocks = self.pairs
        if across_layers:
            blocks = None if self.across is None else self.across[None]
        if blocks is None:
            group = "of different layers "
            option = "across_layers"
            raise ValueError(
                f"heads {group if across_layers else ''}were not compared pairwise, because it "
                "takes several times as long: call compare(a, b, segments, "
                f"{option if across_layers else 'matches'}=True)"
            )
        rows = []
        for block, block_divergences in enumerate(blocks):
            # Layers without attention have no heads to match.
            with_attention = np.flatnonzero(~np.isnan(block_divergences).all(1))
            divergences = block_divergences[np.ix_(with_attention, with_attention)]
            for first, other in zip(*linear_sum_assignment(divergences), strict=True):
                divergence = divergences[first, other]
                alternatives = np.delete(divergences[first], other)
                layer, head = divmod(block * n_heads + with_attention[first], n_heads)
                other_layer, other_head = divmod(block * n_heads + with_attention[other], n_heads)
                margin = alternatives.min() - divergence if len(alternatives) else np.nan
                rows.append((layer, head, other_layer, other_head, divergence, margin))
        columns = ["layer", "head", "other_layer", "other_head", "divergence", "margin"]
        return pd.DataFrame(rows, columns=columns)

    def curves(self, *, width: int = 640) -> alt.LayerChart | alt.VConcatChart:
        """Draw 1 - cosine over the layers, with and without special tokens.

        With a control, the change by noise of the same size is a further curve, and a second panel
        shows how much the weights of each layer changed: a layer may change its maps more only
        because its weights moved more.

        Args:
            width: Width of the entire figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.curve_panels import curve_panels
        from attnwidget.charts.layer_curves import layer_curves

        value_title = "1 − cosine"
        series = {
            "all tokens": 1 - self.cosine,
            "without special tokens": 1 - self.cosine_without_special,
        }
        if self.control is None or self.weight_change is None:
            frame = heads_frame(series).rename(columns={"metric": "series"})
            return layer_curves(
                frame, title=answer_title(self._title, series), value_title=value_title, width=width
            )
        series["noise of the same size"] = 1 - self.control.cosine
        maps = heads_frame(series).rename(columns={"metric": "series"})
        weights = heads_frame({"weights": self.weight_change[:, None]})
        weights = weights.rename(columns={"metric": "series"})
        frames = [
            maps.assign(quantity=f"change of maps: {value_title}"),
            weights.assign(quantity="change of weights: share of their size"),
        ]
        return curve_panels(
            pd.concat(frames, ignore_index=True),
            title=f"{self.finding}\n{self._title.partition(chr(10))[2]}",
            width=width,
        )

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
    """Comparison of a model with several models, such as training steps or seeds.

    Attributes:
        segments: Numbers by metric title, float64 [L, H, N]: the mean over the models for each
            metric in `each` and, for seeds, "change beyond seeds" (of 1 - cosine), "change beyond
            seeds without special tokens" and "divergence beyond seeds".
        documents: Document of each segment, int64 [N]; None if documents are unknown.
        complete: Whether the comparison reached the last segment; False after an interruption.
        each: Comparisons of the first model with each other model.
        model_name: Name of the first model, and number of other models.
        between: Comparisons between pairs of the other models; empty unless the models are seeds.

    Example:
        >>> from attnwidget import compare, load_model, make_segments
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> found = compare(model, [tuned, model], segments, progress=False)
        >>> found.names, len(found.each)
        (['small BERT for genres (in the package)', 'small BERT (in the package)'], 2)
    """

    each: tuple[ModelComparison, ...]
    model_name: str = field(init=False, default="")
    between: tuple[ModelComparison, ...] = ()

    def __post_init__(self) -> None:
        others = counted(len(self.each), "model")
        object.__setattr__(self, "model_name", f"{self.each[0].model_names[0]} → {others}")

    @property
    def names(self) -> list[str]:
        """Names of the other models, numbered if two names are equal."""
        names = [comparison.model_names[1] for comparison in self.each]
        if len(set(names)) == len(names):
            return names
        return [f"{name} ({number})" for number, name in enumerate(names, 1)]

    def heads(self) -> HeadMetrics:
        by_title = super().heads()
        each = [comparison.heads() for comparison in self.each]
        means = {title: np.mean([heads[title] for heads in each], axis=0) for title in each[0]}
        return by_title | {title: v for title, v in means.items() if title not in by_title}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model, head and metric: layer, head, metric, value, low, high, model.

        `model` is one of `names`, or "all" for means over models and for changes beyond seeds.
        """
        import pandas as pd

        frames = [comparison.to_frame() for comparison in self.each] + [super().to_frame()]
        named_frames = zip([*self.names, "all"], frames, strict=True)
        frame = pd.concat(
            [table.assign(model=name) for name, table in named_frames], ignore_index=True
        )
        frame.attrs = dict(frames[-1].attrs)
        return frame

    def __repr__(self) -> str:
        size = "×".join(map(str, self.each[0].cosine.shape))
        cosines = ", ".join(
            f"{name} {np.nanmean(comparison.cosine):.3f}"
            for name, comparison in zip(self.names, self.each, strict=True)
        )
        return (
            f"SeveralComparisons({self.model_name}, {size} heads, {self._read}{self._stopped}: "
            f"mean cosine {cosines})"
        )


def several_comparisons(
    each: Sequence[ModelComparison], between: Sequence[ModelComparison]
) -> SeveralComparisons:
    """Combine the comparisons of a model with several other models.

    Args:
        each: Comparisons of the first model with each other model.
        between: Comparisons between pairs of the other models; empty unless they are seeds.
    """
    segments = {
        title: np.mean([comparison.segments[title] for comparison in each], axis=0)
        for title in each[0].segments
        if all(title in comparison.segments for comparison in each)
    }
    if between:
        for title, beyond in _BEYOND.items():
            spread = np.mean([comparison.segments[title] for comparison in between], axis=0)
            difference = segments[title] - spread
            segments[beyond] = difference if title == "divergence" else -difference
    first = each[0]
    return SeveralComparisons(
        segments, first.documents, tuple(each), tuple(between), complete=first.complete
    )
