"""Results of head patching: scores, intervals, table and chart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnwidget.capture.result import Result
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadMetrics, HeadResult, in_stack
from attnwidget.interventions.patch_pairs import Into
from attnwidget.interventions.score_changes import ScoreChanges, are_right_or_wrong, table_of_heads
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

# Number of heads in the chart of heads and tokens.
_SHOWN = 16


def recovered(effects: ScoreChanges, gap: Float64Array) -> Float64Array:
    """Return the share of the gap between two runs that each patch recovers, [...].

    The mean score change is divided by the mean of `gap` [N], the score of the source run minus the
    score of the patched run before patching (Wang et al. 2023): 1 is the whole gap, 0 is none of
    it. NaN if the runs have the same mean score.
    """
    mean = float(gap.mean())
    return effects.difference / (mean or np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class PatchedRuns(Result):
    """Scores of two runs, one of which is patched.

    Attributes:
        score: Name of the score: "logit difference" (nats), "loss" (nats), "accuracy", or the name
            of a function.
        into: Run that is patched, "corrupted" or "clean".
        clean: Scores of the clean inputs, float64 [N].
        corrupted: Scores of the corrupted inputs, float64 [N].
    """

    score: str
    into: Into
    clean: Float64Array
    corrupted: Float64Array

    @property
    def base(self) -> Float64Array:
        """Scores of the run that is patched, before patching, [N]."""
        return self.corrupted if self.into == "corrupted" else self.clean

    @property
    def gap(self) -> Float64Array:
        """Score that patching everything gives, minus `base`, [N]."""
        other = self.clean if self.into == "corrupted" else self.corrupted
        return other - self.base

    def _runs(self) -> str:
        """Return the number of pairs and their mean scores, for captions."""
        return (
            f"{counted(len(self.clean), 'pair')}, clean {self.clean.mean():.3g}, corrupted "
            f"{self.corrupted.mean():.3g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class HeadPatches(PatchedRuns, HeadResult):
    """Scores with head outputs from another input. Made by `patch_heads`.

    `of_heads`, `of_layers` and `of_positions` have the statistics: `mean`, `difference` (patched
    minus not patched), its `interval`, `p` and `adjusted`, of shapes [L, H], [L] and [L, H, Q].

    Attributes:
        score: Name of the score: "logit difference" (nats), "loss" (nats), "accuracy", or the name
            of a function.
        into: Run that is patched, "corrupted" or "clean".
        clean: Scores of the clean inputs, float64 [N].
        corrupted: Scores of the corrupted inputs, float64 [N].
        head_scores: Scores with one head patched, float64 [L, H, N]; NaN for other heads.
        layer_scores: Scores with all heads of a layer patched, float64 [L, N]; NaN for other
            layers.
        position_scores: Scores with a head patched at a token, float64 [L, H, Q, N]; None without
            `by_position=True`.
        tokens: Tokens of the first pair (Q), "clean / corrupted" where they differ.
        examples: Pairs of examples (N).
        stack: Stack of the heads.
        complete: False if the study was interrupted before the last pair.
        note: Reason why every patch took a complete pass of the model, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import patch_heads
        >>> clean = ("The woman said that [MASK] was late.", "she")
        >>> corrupted = ("The man said that [MASK] was late.", "he")
        >>> found = patch_heads(load_model(device="cpu"), clean, corrupted, progress=False)
        >>> found.score, found.head_scores.shape, found.of_layers.difference.shape
        ('logit difference', (6, 12, 1), (6,))
    """

    head_scores: Float64Array
    layer_scores: Float64Array
    position_scores: Float64Array | None
    tokens: tuple[str, ...]
    examples: tuple[tuple[Any, Any], ...]
    stack: str = "self"

    @cached_property
    def of_heads(self) -> ScoreChanges:
        """Score changes with one head patched, [L, H]."""
        return self._of(self.head_scores)

    @cached_property
    def of_layers(self) -> ScoreChanges:
        """Score changes with all heads of a layer patched, [L]."""
        return self._of(self.layer_scores)

    @cached_property
    def of_positions(self) -> ScoreChanges:
        """Score changes with a head patched at a token, [L, H, Q].

        Raises:
            ValueError: If positions were not patched.
        """
        if self.position_scores is None:
            raise ValueError("no head was patched token by token: patch_heads(by_position=True)")
        return self._of(self.position_scores)

    def heads(self) -> HeadMetrics:
        """Return the share of the gap that each head recovers: float64 [L, H] by title."""
        if np.isnan(self.head_scores).all():
            return {}
        return {f"{self.score} recovered": recovered(self.of_heads, self.gap)}

    def to_frame(self, by: Literal["heads", "positions"] = "heads") -> pd.DataFrame:
        """Return one row per head and one per layer, or one row per head and token.

        Columns: layer, head (empty for a whole layer), with "positions" also position and token;
        score (the mean), difference, low, high, recovered, p, adjusted. `attrs` has the "model",
        the "score", "into", the means of the "clean" and "corrupted" runs, and "n" pairs.

        Raises:
            ValueError: If positions were not patched.
        """
        import pandas as pd

        one_of("by", by, ("heads", "positions"))
        parts = [self.of_heads, self.of_layers] if by == "heads" else [self.of_positions]
        frames = [self._frame(part) for part in parts]
        table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
        table.attrs |= {"model": self.model_name, "score": self.score, "into": self.into}
        table.attrs |= {"clean": float(self.clean.mean())}
        table.attrs |= {"corrupted": float(self.corrupted.mean()), "n": len(self.clean)}
        return table

    def chart(
        self, by: Literal["heads", "positions"] = "heads", *, width: int = 640
    ) -> alt.LayerChart | alt.Chart:
        """Draw the recovered share of the gap: layers by heads, or heads by tokens.

        Layers are rows and heads are columns, with a last column for whole layers, and a dot where
        the adjusted p is below 0.05. "positions" shows the 16 heads that change the score most at
        one token.

        Args:
            by: Units to draw: "heads" or "positions".
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If positions were not patched, or both runs have the same score.
        """
        one_of("by", by, ("heads", "positions"))
        if not self.gap.mean():
            raise ValueError(
                "clean and corrupted runs have the same score: there is no gap to show"
            )
        into = f"{self.score.capitalize()} recovered, patched into the {self.into} run"
        title = f"{into}\n{in_stack(self.model_name, self.stack)}; {self._runs()}"
        if by == "positions":
            return self._position_chart(title, width=width)
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap

        layers = None
        if not np.isnan(self.layer_scores).all():
            layers = recovered(self.of_layers, self.gap)
        return head_heatmap(
            recovered(self.of_heads, self.gap),
            title=answer_title(
                f"{title}; dots: adjusted p < 0.05", recovered(self.of_heads, self.gap)
            ),
            value_title="share of the gap",
            layers=layers,
            marked=self.of_heads.adjusted < 0.05,
            layers_marked=self.of_layers.adjusted < 0.05,
            diverging=True,
            width=width,
        )

    def _position_chart(self, title: str, *, width: int) -> alt.Chart:
        from attnwidget.charts.signed_heatmap import signed_heatmap

        shares = recovered(self.of_positions, self.gap)
        largest = np.nan_to_num(np.abs(shares)).max(-1)
        order = np.argsort(-largest, axis=None, kind="stable")[:_SHOWN]
        cells = [np.unravel_index(cell, largest.shape) for cell in sorted(order)]
        measured_cells = [cell for cell in cells if not np.isnan(shares[cell]).any()]
        return signed_heatmap(
            np.stack([shares[cell] for cell in measured_cells]),
            [f"L{layer} H{head}" for layer, head in measured_cells],
            [f"{cell}: {token}" for cell, token in enumerate(self.tokens)],
            title=title,
            value_title="share of the gap",
            row_title="head",
            column_title="token",
            width=width,
        )

    def _of(self, scores: Float64Array) -> ScoreChanges:
        judged = are_right_or_wrong(self.clean, self.corrupted, scores)
        return ScoreChanges(scores, self.base, judged, tested=True)

    def _frame(self, changes: ScoreChanges) -> pd.DataFrame:
        frame = table_of_heads(changes, recovered=recovered(changes, self.gap))
        if "position" in frame:
            frame.insert(3, "token", [self.tokens[position] for position in frame["position"]])
        return frame

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        note = f"; {self.note}" if self.note else ""
        return (
            f"HeadPatches({in_stack(self.model_name, self.stack)}, into {self.into}, "
            f"{counted(len(self.clean), 'pair')}{stopped}: {self.score} clean "
            f"{self.clean.mean():.3g}, corrupted {self.corrupted.mean():.3g}{self._best()}{note})"
        )

    def _best(self) -> str:
        """Return the head that changes the score most, for the repr."""
        if not self.heads():
            return ""
        changes = np.nan_to_num(np.abs(self.of_heads.difference))
        layer, head = np.unravel_index(changes.argmax(), changes.shape)
        change = self.of_heads.difference[layer, head]
        return f"; L{layer} H{head} {change:+.3g}"
