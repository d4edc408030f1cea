"""What changes with outputs of heads from another input: scores, intervals, table and chart."""

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

# Heads of the chart of heads and tokens.
_SHOWN = 16


def recovered(effects: ScoreChanges, gap: Float64Array) -> Float64Array:
    """The share of the distance between two runs that each patch covers, [...].

    The mean change of the score is divided by the mean of `gap` [N], the score of the run from
    which outputs are taken minus the score of the run that is patched (Wang et al. 2023): 1 is the
    whole distance, 0 is none. NaN if the runs have the same mean score.
    """
    mean = float(gap.mean())
    return effects.difference / (mean or np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class PatchedRuns(Result):
    """Scores of two runs, one of which is patched.

    Attributes:
        score: "logit difference" (nats), "loss" (nats), "accuracy", or the name of a function.
        into: The run that is patched, "corrupted" or "clean".
        clean: Scores of the clean inputs, float64 [N].
        corrupted: Scores of the corrupted inputs, float64 [N].
    """

    score: str
    into: Into
    clean: Float64Array
    corrupted: Float64Array

    @property
    def base(self) -> Float64Array:
        """Scores of the run that is patched, before it is patched, [N]."""
        return self.corrupted if self.into == "corrupted" else self.clean

    @property
    def gap(self) -> Float64Array:
        """The score that patching everything gives, minus `base`, [N]."""
        other = self.clean if self.into == "corrupted" else self.corrupted
        return other - self.base

    def _runs(self) -> str:
        """The pairs and their mean scores, for captions."""
        return (
            f"{counted(len(self.clean), 'pair')}, clean {self.clean.mean():.3g}, corrupted "
            f"{self.corrupted.mean():.3g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class HeadPatches(PatchedRuns, HeadResult):
    """Scores with outputs of heads from another input. Made by `patch_heads`.

    `of_heads`, `of_layers` and `of_positions` have the numbers: `mean`, `difference` (patched minus
    not patched), its `interval`, `p` and `adjusted`, of shapes [L, H], [L] and [L, H, Q].

    Attributes:
        score: "logit difference" (nats), "loss" (nats), "accuracy", or the name of a function.
        into: The run that is patched, "corrupted" or "clean".
        clean: Scores of the clean inputs, float64 [N].
        corrupted: Scores of the corrupted inputs, float64 [N].
        head_scores: float64 [L, H, N], with one head patched; NaN for heads that were not.
        layer_scores: float64 [L, N], with all heads of a layer patched; NaN where they were not.
        position_scores: float64 [L, H, Q, N], with a head patched at a token; None without
            `positions=True`.
        tokens: Q tokens of the first pair, "clean / corrupted" where they differ.
        examples: The N pairs of examples.
        stack: Stack of the heads.
        complete: False if the study was interrupted before the last pair.
        note: "", or why every patch took a pass of the whole model.
        model_name: What was studied.

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
        """With one head patched: numbers [L, H]."""
        return self._of(self.head_scores)

    @cached_property
    def of_layers(self) -> ScoreChanges:
        """With all heads of a layer patched: numbers [L]."""
        return self._of(self.layer_scores)

    @cached_property
    def of_positions(self) -> ScoreChanges:
        """With a head patched at a token: numbers [L, H, Q].

        Raises:
            ValueError: Positions were not asked for.
        """
        if self.position_scores is None:
            raise ValueError("no head was patched token by token: patch_heads(by_position=True)")
        return self._of(self.position_scores)

    def heads(self) -> HeadMetrics:
        """The share of the gap that each head covers: float64 [L, H] by title."""
        if np.isnan(self.head_scores).all():
            return {}
        return {f"{self.score} recovered": recovered(self.of_heads, self.gap)}

    def to_frame(self, by: Literal["heads", "positions"] = "heads") -> pd.DataFrame:
        """Return a row per head and a row per layer, or a row per head and token.

        Columns: layer, head (empty for a whole layer), with "positions" also position and token;
        score (the mean), difference, low, high, recovered, p, adjusted. `attrs` has the "model",
        the "score", "into", the means of the "clean" and "corrupted" runs, and "n" pairs.

        Raises:
            ValueError: Positions were not asked for.
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
        """The share of the gap that is covered: layers by heads, or heads by tokens.

        Layers are down and heads across, with a column of whole layers, and a dot where adjusted p
        is below 0.05. "positions" shows the 16 heads that change the score most at one token.

        Args:
            by: "heads", or "positions".
            width: Pixels of the whole figure.

        Raises:
            ValueError: Positions were not asked for, or both runs have the same score.
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
        places = [np.unravel_index(place, largest.shape) for place in sorted(order)]
        measured = [place for place in places if not np.isnan(shares[place]).any()]
        return signed_heatmap(
            np.stack([shares[place] for place in measured]),
            [f"L{layer} H{head}" for layer, head in measured],
            [f"{place}: {token}" for place, token in enumerate(self.tokens)],
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
            frame.insert(3, "token", [self.tokens[place] for place in frame["position"]])
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
        """The head that changes the score most."""
        if not self.heads():
            return ""
        changes = np.nan_to_num(np.abs(self.of_heads.difference))
        layer, head = np.unravel_index(changes.argmax(), changes.shape)
        change = self.of_heads.difference[layer, head]
        return f"; L{layer} H{head} {change:+.3g}"
