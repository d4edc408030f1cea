"""Norms of the vectors of tokens next to the frequency of the tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.kernels.arrays import Float64Array, Int64Array
from attnwidget.kernels.rank_correlation import spearman
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

#: Classes whose tokens are no words.
_SPECIAL = ("[CLS]", "[SEP]", "first token")
#: Smallest rank correlation that is worth a sentence.
_SMALL = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class TokenOccurrences:
    """Weight and norm of N tokens of the measured segments, averaged over heads and layers.

    Tokens are spelled as in the tokenizer's vocabulary.

    Attributes:
        tokens: Token of each occurrence, [N].
        weights: Weight on the token, averaged over the queries of its segment, float64 [N].
        norms: Norm ||f(x)|| of the token, float64 [N].
        classes: Names of the token classes.
        class_indices: First class of each occurrence, int64 [N].

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Norms
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat."], model)
        >>> norms = measure(model, segments, [Norms(each_token=True)], progress=False)["norms"]
        >>> norms.occurrences.tokens.tolist()
        ['[CLS]', 'the', 'cat', 'sat', '.', '[SEP]']
    """

    tokens: NDArray[np.object_]
    weights: Float64Array
    norms: Float64Array
    classes: tuple[str, ...]
    class_indices: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class NormsByFrequency(Result):
    """Mean weight and norm of each token next to its frequency (Kobayashi et al. 2020, Figure 5).

    Values are means over all heads and layers; weights are also means over the queries. The most
    frequent token has the rank 1. Tokens with the same count share the mean of their ranks.

    Attributes:
        tokens: Distinct tokens, most frequent first, without special tokens.
        token_counts: Frequency of each token in the texts or in the `counts` of the call, int64
            [V].
        occurrences: Number of occurrences of each token in the measured segments, int64 [V].
        token_norms: Norm ||f(x)|| of each token, averaged over its occurrences, float64 [V].
        token_weights: Weight of each token in the same form, float64 [V].
        special_norms: Mean norm ||f(x)|| of the special tokens, by their name.
        norm_correlation: Rank correlation of rank and norm over all occurrences. If it is positive,
            frequent tokens have shorter vectors.
        weight_correlation: Rank correlation of rank and weight over all occurrences.
        source: Origin of the counts.
        n_documents: Number of segments.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Norms
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> norms = measure(model, segments, [Norms(each_token=True)], progress=False)["norms"]
        >>> found = norms.by_frequency({"the": 60, "on": 20, ".": 50, "cat": 2, "sat": 1})
        >>> found.tokens
        ('the', '.', 'on', 'cat', 'sat', 'mat')
    """

    tokens: tuple[str, ...]
    token_counts: Int64Array
    occurrences: Int64Array
    token_norms: Float64Array
    token_weights: Float64Array
    special_norms: Mapping[str, float]
    norm_correlation: float
    weight_correlation: float
    source: str
    n_documents: int

    @property
    def finding(self) -> str:
        """Whether frequent tokens have shorter vectors."""
        value = self.norm_correlation
        if np.isnan(value):
            return "All tokens are equally frequent, so frequency explains no norms"
        remark = f"(rank correlation {value:.2f})"
        if abs(value) < _SMALL:
            return f"Frequent tokens have about as long vectors as rare tokens {remark}"
        return f"Frequent tokens have {'shorter' if value > 0 else 'longer'} vectors {remark}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per token: token, rank, count, occurrences, norm, weight."""
        import pandas as pd

        return pd.DataFrame(
            {
                "token": self.tokens,
                "rank": frequency_ranks(self.token_counts),
                "count": self.token_counts,
                "occurrences": self.occurrences,
                "norm": self.token_norms,
                "weight": self.token_weights,
            }
        )

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the norm of each token against the rank of its frequency.

        The line is the median over tokens of similar rank. Dashed lines are special tokens.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.rank_points import rank_points

        frame = self.to_frame().rename(columns={"norm": "value"})
        return rank_points(
            frame[["token", "rank", "value"]],
            reference=dict(self.special_norms),
            titles=("rank of the frequency (1 = most frequent)", "norm of f(x)"),
            title=f"{self.finding}\n{self.model_name}, {counted(self.n_documents, 'segment')}, "
            f"{counted(len(self.tokens), 'different token')}; counts: {self.source}\n"
            "means over heads and layers; line: median of similar ranks",
            width=width,
        )

    def __repr__(self) -> str:
        return (
            f"NormsByFrequency({self.model_name}, {counted(len(self.tokens), 'token')}, rank "
            f"correlation {self.norm_correlation:.2f})"
        )


def frequency_ranks(counts: Int64Array) -> Float64Array:
    """Return the rank of each count, where 1 is the largest; equal counts share their mean rank.

    Args:
        counts: Frequency of each token, [V].
    """
    return np.asarray(scipy.stats.rankdata(-counts), np.float64)


def norms_by_frequency(
    kept: TokenOccurrences,
    counts: Mapping[str, int] | None,
    *,
    n_documents: int,
    model_name: str,
) -> NormsByFrequency:
    """Return the norms of tokens by their frequency.

    Args:
        kept: Weight and norm of each token of the measured segments.
        counts: Frequency of tokens in a larger corpus; None = in the measured segments.
        n_documents: Number of segments.
        model_name: Name of the model.

    Raises:
        ValueError: If there are only special tokens, or no token has a count.
    """
    special = {
        name: kept.class_indices == c for c, name in enumerate(kept.classes) if name in _SPECIAL
    }
    is_word = ~np.any([*special.values()], axis=0)
    tokens, inverse = np.unique(kept.tokens[is_word].astype(str), return_inverse=True)
    if not len(tokens):
        raise ValueError(
            "the segments have only special tokens: pass texts with words to measure()"
        )
    occurrences = np.bincount(inverse)
    if counts is None:
        token_counts = occurrences
        source = "the measured segments"
    else:
        known = Counter(counts)
        token_counts = np.array([known[token] for token in tokens], np.int64)
        source = f"{sum(known.values()):,} tokens of another corpus"
        if not token_counts.any():
            raise ValueError(
                f"counts has none of the {len(tokens):,} tokens of the segments, such as "
                f"{tokens[0]!r}: count the tokens of model.tokenizer.tokenize(text)"
            )
    norms, weights = kept.norms[is_word], kept.weights[is_word]
    ranks = frequency_ranks(token_counts)
    order = np.argsort(-token_counts, kind="stable")
    return NormsByFrequency(
        tokens=tuple(tokens[order].tolist()),
        token_counts=token_counts[order].astype(np.int64),
        occurrences=occurrences[order].astype(np.int64),
        token_norms=(np.bincount(inverse, norms) / occurrences)[order],
        token_weights=(np.bincount(inverse, weights) / occurrences)[order],
        special_norms={
            name: float(kept.norms[members].mean())
            for name, members in special.items()
            if members.any()
        },
        norm_correlation=float(spearman(ranks[inverse], norms)),
        weight_correlation=float(spearman(ranks[inverse], weights)),
        source=source,
        n_documents=n_documents,
        model_name=model_name,
    )
