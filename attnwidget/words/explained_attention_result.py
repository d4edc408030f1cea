"""Result of `explained_attention`: shares per head, their table and chart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadMetrics, extreme_head, heads_frame, layer_means, per_head
from attnwidget.text.counted import counted
from attnwidget.words.probe_words import SentencesResult

if TYPE_CHECKING:
    import altair as alt

#: Parts of a head's attention, in the order of `ExplainedAttention.shares`.
FACTORS = ("position", "grammar", "same word", "rest")


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedAttention(SentencesResult):
    """Shares of attention that position, grammar and equal words explain.

    Made by `explained_attention`. Sentences are predicted by regressions on other sentences.

    Attributes:
        shares: Additional share of explained deviance of position, grammar and same word, and the
            rest, float64 [4, L, H]; they sum to 1. NaN for a head with equal weights.
        control: Share of grammar with the annotations of each sentence in random order, [L, H].
        deviance: Gap between the cross-entropy of equal weights and the entropy of the head, in
            nats per word, [L, H]. Near 0, the head attends almost equally to all words.
        on_words: Mean attention of a word on all words, without special tokens, [L, H].
        n_words: Number of words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import explained_attention
        >>> found = explained_attention(load_model(), demo_treebank()[:30], progress=False)
        >>> list(found.heads())[:4]
        ['position', 'grammar', 'same word', 'rest']
    """

    shares: NDArray[np.float64]
    control: NDArray[np.float64] = field(metadata=per_head("grammar, annotations shuffled"))
    deviance: NDArray[np.float64] = field(metadata=per_head("deviance (nats per word)"))
    on_words: NDArray[np.float64] = field(metadata=per_head("attention on words"))
    n_words: int

    def heads(self) -> HeadMetrics:
        """Return the numbers per head, float64 [L, H], by title: shares first, then the rest."""
        return dict(zip(FACTORS, self.shares, strict=True)) | super().heads()

    @property
    def finding(self) -> str:
        """Finding in one or two sentences, for titles and reports."""
        told = ~np.isnan(self.shares[0])
        if not told.any():
            return "All heads attend equally to all words."
        n_heads = int(told.sum())
        parts = []
        for name, values in list(zip(FACTORS, self.shares, strict=True))[:3]:
            head, value = extreme_head(values)
            count = int((values[told] > 0.5).sum())
            parts.append(f"{name} in {count} (most in {head}: {value:.0%})")
        return (
            f"Of {counted(n_heads, 'head')}, more than half of the deviance is explained by "
            f"{', by '.join(parts)}. With the annotations shuffled, grammar explains at most "
            f"{max(0.0, float(np.nanmax(self.control))):.0%}."
        )

    def chart(
        self, *, by: Literal["head", "layer"] = "head", width: int = 640
    ) -> alt.TopLevelMixin:
        """Draw one bar per head or layer, with a color for each share.

        Shares below 0 are drawn as 0, and the others sum to 1.

        Args:
            by: "head" for a bar per head; "layer" for the mean over the heads of each layer.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If `by` is unknown.
        """
        from attnwidget.charts.share_bars import share_bars
        from attnwidget.charts.theme import LIGHT

        one_of("by", by, ("head", "layer"))
        positive = np.clip(self.shares, 0, None)
        parts = dict(zip(FACTORS, positive / positive.sum(0), strict=True))
        if by == "layer":
            parts = {name: layer_means(values)[:, None] for name, values in parts.items()}
        frame = heads_frame(parts).rename(columns={"metric": "part"}).dropna(subset="value")
        if by == "layer":
            frame = frame.drop(columns="head")
        return share_bars(
            frame.sort_values(["layer", *(["head"] if by == "head" else [])], kind="stable"),
            title=f"What decides where heads look\n{self.model_name}, "
            f"{counted(self.n_words, 'word')}; sentences that were not fitted",
            value_title="explained deviance",
            colors=LIGHT.factors,
            domain=(0, 1),
            width=width,
        )
