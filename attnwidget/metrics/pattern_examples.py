"""One head for each attention pattern, with its map of one input (Kovaleva et al. 2019, Fig. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.patterns import PATTERNS, PatternScores, plainness

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

MOST_TOKENS = 100
"""Largest number of tokens of a drawn map."""


@dataclass(frozen=True, eq=False, repr=False)
class PatternExamples(Result):
    """One head for each pattern, with its map of one input. Made by `PatternsResult.examples`.

    Attributes:
        patterns: Patterns with an example, at most five.
        heads: Head of each pattern.
        shares: Share of the pattern among the measured maps of the head, float64 [P].
        plainness: Plainness of the pattern in the map of this input, float64 [P], at most 1.
        weights: Map of each head, float32 [P, n, n].
        tokens: Tokens of the input.
        border: Position of the first token of the second text; None for a single text.
        n_documents: Number of measured maps per head.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> attention = load_model().attend("The cat sat on the mat.", "It slept there all day.")
        >>> patterns = measure_attention(attention, ["patterns"])["patterns"]
        >>> examples = patterns.examples(attention)
        >>> examples.border, examples.weights.shape[1:]
        (9, (16, 16))
    """

    patterns: tuple[str, ...]
    heads: tuple[Head, ...]
    shares: NDArray[np.float64]
    plainness: NDArray[np.float64]
    weights: NDArray[np.float32]
    tokens: tuple[str, ...]
    border: int | None
    n_documents: int

    @property
    def finding(self) -> str:
        """Head of each pattern, and the patterns that no head shows on this input."""
        heads = zip(self.patterns, self.heads, strict=True)
        found = ", ".join(f"{pattern} {head}" for pattern, head in heads)
        missing = [name for name in PATTERNS if name not in self.patterns]
        without = f"; no head shows {' or '.join(missing)}" if missing else ""
        return f"Plainest map of each pattern: {found}{without}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pattern: pattern, layer, head, share, plainness."""
        import pandas as pd

        return pd.DataFrame(
            {
                "pattern": self.patterns,
                "layer": [head.layer for head in self.heads],
                "head": [head.head for head in self.heads],
                "share": self.shares,
                "plainness": self.plainness,
            }
        )

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the map of each head, with its pattern above and its share below.

        A dashed line is the border between the two texts. Maps that do not fit side by side
        continue in the next row, for example in the column of a paper (`width=252`).

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.pattern_maps import pattern_maps

        remarks = [
            f"{head}: {100 * share:.0f}\xa0%"
            for head, share in zip(self.heads, self.shares, strict=True)
        ]
        parts = [
            self.model_name,
            f"below: the head, and the share of its {self.n_documents:,} maps with the pattern",
            "dashed: border of the two texts" if self.border is not None else "",
            self.note.removesuffix(self.cut).rstrip(", "),
        ]
        title = "One head for each pattern of attention"
        return pattern_maps(
            self.weights,
            self.tokens,
            self.patterns,
            remarks,
            title=f"{title}\n{'; '.join(filter(None, parts))}",
            border=self.border,
            width=width,
        )

    def __repr__(self) -> str:
        heads = ", ".join(
            f"{pattern} {head}" for pattern, head in zip(self.patterns, self.heads, strict=True)
        )
        return f"PatternExamples({self.model_name}: {heads})"


def best_examples(
    attention: Attention,
    stack: str,
    *,
    shares: NDArray[np.float64],
    here: NDArray[np.float64],
    scores: NDArray[np.float64],
    n_documents: int,
) -> PatternExamples:
    """Return the best example of each pattern.

    Args:
        attention: Attention of the input.
        stack: Stack of the heads.
        shares: Share of each pattern among the measured maps, [5, L, H].
        here: The same for the map of this input: 1 for its pattern, otherwise 0, [5, L, H].
        scores: Scores of the maps of this input, [3, L, H].
        n_documents: Number of measured maps per head.
    """
    axis = attention.stacks[stack].query
    if shares.shape != here.shape:
        raise ValueError(
            f"the patterns are of {shares.shape[1]}×{shares.shape[2]} heads, and the attention has "
            f"{here.shape[1]}×{here.shape[2]}: pass an attention of the measured model"
        )
    if len(axis) > MOST_TOKENS:
        raise ValueError(
            f"examples show at most {MOST_TOKENS} tokens, got {len(axis)}: pass a pair of texts "
            "with about 20 tokens each"
        )
    weights = torch.from_numpy(attention.weights(stack=stack).copy())  # [L, H, n, n]
    measured = torch.from_numpy(~np.isnan(here).any((0, 2)))
    real = torch.ones(int(measured.sum()), len(axis), dtype=torch.bool, device="cpu")
    causal = is_causal(weights[measured], real)
    plain = plainness(weights, PatternScores(*torch.from_numpy(scores)), causal=causal)
    plain_here = plain.double().numpy()
    patterns = []
    heads = []
    for index, pattern in enumerate(PATTERNS):
        is_example = (here[index] == 1) & (shares[index] > 0)
        if is_example.any():
            score = np.where(is_example, shares[index] * plain_here[index], -np.inf)
            layer, head = np.unravel_index(int(score.argmax()), score.shape)
            patterns.append(pattern)
            heads.append(Head(int(layer), int(head), stack))
    missing = [pattern for pattern in PATTERNS if pattern not in patterns]
    at = [(PATTERNS.index(name), *head[:2]) for name, head in zip(patterns, heads, strict=True)]
    segments = axis.segments
    return PatternExamples(
        tuple(patterns),
        tuple(heads),
        np.array([shares[place] for place in at]),
        np.array([plain_here[place] for place in at]),
        np.stack([weights[head.layer, head.head].numpy() for head in heads]),
        axis.text,
        segments.index(1) if 1 in segments else None,
        n_documents,
        model_name=attention.model_name,
        note=f"no head shows {' or '.join(missing)} here" if missing else "",
    )
