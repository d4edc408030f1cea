"""Attention to linguistic features before and after a training (Kovaleva et al., section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.counted import counted
from attnwidget.words.linguistic_features import FeatureWeights

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

# Special tokens come first, as in the paper's Figure 6.
_FIRST = ("[CLS]", "[SEP]")
# Largest share of the changes of words' features that the colors may cut off.
_CUT_PERCENT = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class FeatureChanges(HeadResult):
    """Attention to words with features, before and after a training.

    It is the `features` of a comparison with `metrics=["features"]`.

    Attributes:
        before: Attention of the first model.
        after: Attention of the second model.
        noise: Attention of the first model with noise of the size of the change, or None.

    Example:
        >>> from attnwidget import compare, load_model
        >>> from attnwidget.demo import demo_treebank
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> sentences = demo_treebank()[:4]
        >>> options = {"unit": "words", "metrics": ["features"], "progress": False}
        >>> found = compare(model, tuned, sentences, **options).features
        >>> found.heads()["feature NOUN change"].shape
        (6, 12)
    """

    before: FeatureWeights
    after: FeatureWeights
    noise: FeatureWeights | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Features that occur in the sentences; [CLS] and [SEP] come first."""
        names = self.before.features
        occurring = [name for name, n in zip(names, self.before.counts, strict=True) if n]
        return (
            *(name for name in _FIRST if name in occurring),
            *(name for name in occurring if name not in _FIRST),
        )

    @property
    def finding(self) -> str:
        """The feature whose attention changed most, and the largest change by noise.

        The size of a change is its absolute value, averaged over heads. Single heads can change
        more.
        """
        sizes = {name: self._size("after", name) for name in self.features}
        most = max(sizes, key=lambda name: sizes[name])
        before, after = (float(np.nanmean(self._values(w, most))) for w in ("before", "after"))
        sentence = (
            f"The attention to {most} changes most, by {sizes[most]:.3f} on average over heads "
            f"(mean {before:.3f} to {after:.3f})"
        )
        if self.noise is None:
            return sentence
        by_noise = max(self._size("noise", name) for name in self.features)
        return f"{sentence}; noise of the same size: at most {by_noise:.3f}"

    def heads(self) -> HeadMetrics:
        """Return the change of each head by feature: float64 [L, H] by title."""
        before, after = self.before.heads(), self.after.heads()
        return {f"{title} change": after[title] - before[title] for title in before}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature and head.

        Columns: feature, n (sentences with the feature), layer, head, before, after, noise, and the
        same with the ending "_from_first", for the query `[CLS]`.
        """
        import pandas as pd

        frames = []
        for name in self.features:
            index = self.before.features.index(name)
            layer, head = (i.ravel() for i in np.indices(self.before.weights[index].shape))
            columns = {"feature": name, "n": int(self.before.counts[index])}
            columns |= {"layer": layer, "head": head}
            for ending, from_first in (("", False), ("_from_first", True)):
                for when in ("before", "after", "noise"):
                    columns[when + ending] = self._values(when, name, from_first).ravel()
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def table(self) -> pd.DataFrame:
        """Return the mean over heads of each feature.

        Columns: Feature, Sentences, Before, After, Noise; and the means of the last layer from
        `[CLS]`: Before (from [CLS]), After (from [CLS]), Noise (from [CLS]).
        """
        import pandas as pd

        frame = self.to_frame()
        last = frame["layer"] == frame["layer"].max()
        by_feature = frame.groupby("feature", sort=False)
        from_first = frame[last].groupby("feature", sort=False)
        table = pd.DataFrame({"Sentences": by_feature["n"].first()})
        for when in ("before", "after", "noise"):
            table[when.capitalize()] = by_feature[when].mean().round(3)
        for when in ("before", "after", "noise"):
            column = f"{when.capitalize()} (from {self.before.first})"
            table[column] = from_first[f"{when}_from_first"].mean().round(3)
        return table.dropna(axis="columns").reset_index(names="Feature")

    def _paper_frame(self) -> pd.DataFrame:
        return self.table()

    def chart(self, *, from_first: bool = False, width: int = 640) -> alt.LayerChart:
        """Draw the maps of all heads before and after, the change, and the change by noise.

        This is Kovaleva et al. 2019, Figure 6, with one row per feature. The changes have one
        signed scale.

        Args:
            from_first: Whether to draw the weights from `[CLS]`.
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.change_maps import change_maps

        before = {name: self._values("before", name, from_first) for name in self.features}
        after = {name: self._values("after", name, from_first) for name in self.features}
        changes = {"change": {name: after[name] - before[name] for name in before}}
        if self.noise is not None:
            changes["by noise"] = {
                name: self._values("noise", name, from_first) - before[name] for name in before
            }
        of_words = [abs(changes["change"][name]) for name in before if name not in _FIRST]
        reach = np.nanpercentile(of_words or list(changes["change"].values()), 100 - _CUT_PERCENT)
        origin = f"from {self.before.first}" if from_first else "averaged over queries"
        title = "Attention to linguistic features" if from_first else self.finding
        return change_maps(
            {"before": before, "after": after},
            changes,
            reach=max(float(np.ceil(100 * reach) / 100), 0.01),
            title=f"{title}\n{self._about}; largest weight to a token of the feature, {origin}",
            width=width,
        )

    def last_layer_chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the weights from `[CLS]` in the last layer, with one point per head.

        This is Kovaleva et al. 2019, Figure 7, before and after. The model's decision depends on
        `[CLS]`, which attends to these tokens in the last layer.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.head_points import head_points

        whens = {"before": "before", "after": "after"}
        if self.noise is not None:
            whens["noise"] = "noise of the same size"
        rows = []
        for name in self.features:
            for when, series in whens.items():
                values = self._values(when, name, True)[-1]
                rows += [
                    {"row": name, "series": series, "layer": len(self.before.weights[0]) - 1}
                    | {"head": head, "value": value}
                    for head, value in enumerate(values.tolist())
                ]
        means = {
            when: {name: float(self._values(when, name, True)[-1].mean()) for name in self.features}
            for when in ("before", "after")
        }
        most = [
            f"{name} {when} ({by_feature[name]:.3f})"
            for when, by_feature in means.items()
            if (name := max(by_feature, key=lambda feature: by_feature[feature]))
        ]
        return head_points(
            pd.DataFrame(rows),
            title=f"{self.before.first} of the last layer attends most to {' and to '.join(most)}\n"
            f"{self._about}; points: heads, bars: means",
            value_title=f"largest weight from {self.before.first} to a token of the feature",
            width=width,
        )

    @property
    def _about(self) -> str:
        models = f"{self.before.model_name} → {self.after.model_name}"
        return f"{models}, {counted(self.before.n_sentences, 'sentence')}"

    def _values(self, when: str, feature: str, from_first: bool = False) -> Float64Array:
        """Return the weights of a feature, [L, H]; NaN without the control."""
        result: FeatureWeights | None = getattr(self, when)
        if result is None:
            return np.full(self.before.weights.shape[1:], np.nan)
        values = result.from_first if from_first else result.weights
        weights: Float64Array = values[result.features.index(feature)]
        return weights

    def _size(self, when: str, feature: str) -> float:
        """Return the size of a feature's change, averaged over heads."""
        return float(np.nanmean(abs(self._values(when, feature) - self._values("before", feature))))
