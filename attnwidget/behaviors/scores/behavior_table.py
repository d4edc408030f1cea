"""Result of `measure_behaviors`: scores of every head for every behavior, and the head names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior_score import LEAST_EXCESS, BehaviorScore
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import holm
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RankedNames:
    """Behaviors that may name each head, best first.

    Attributes:
        adjusted: P-values after Holm's correction over all heads and behaviors, [D, L, H].
        significant: Whether a behavior may name a head, bool [D, L, H].
        order: Behaviors of each head, best first, int64 [D, L, H].
    """

    adjusted: Float64Array
    significant: NDArray[np.bool_]
    order: NDArray[np.int64]

    def behaviors(self, layer: int, head: int) -> list[int]:
        """Return the behaviors that may name a head, best first."""
        return [
            int(number)
            for number in self.order[:, layer, head]
            if self.significant[number, layer, head]
        ]


def head_names(
    scores: Sequence[BehaviorScore], *, alpha: float = 0.05, min_strength: float = 0.25
) -> RankedNames:
    """Return the behaviors that may name each head.

    A behavior may name a head if its score exceeds the control: p after Holm's correction over all
    heads and behaviors is at most `alpha`, the interval of the excess is above 0, the excess is at
    least 0.05 in both halves of the data, and the strength is at least `min_strength`. The strength
    is the excess as a share of the possible excess. A behavior without a score in the held-out half
    does not name heads.

    The strongest attention behavior names the head. Copying comes second, because many heads copy.
    Resting behaviors come last.

    Args:
        scores: Scores of D behaviors.
        alpha: Largest corrected p-value.
        min_strength: Smallest strength. A smaller excess may be significant, but does not describe
            a head.
    """
    p = np.stack([score.p for score in scores])  # NaN for behaviors that do not name heads
    adjusted = holm(p)
    low = np.stack([score.low for score in scores])
    strength = np.stack([score.strength for score in scores])
    excess = np.stack([np.minimum(score.excess, score.held_out_excess) for score in scores])
    with np.errstate(invalid="ignore"):
        significant = (adjusted <= alpha) & (low > 0) & (strength >= min_strength)
        significant &= excess >= LEAST_EXCESS
    # Strengths are at most 1, so a rank never crosses into the next kind of behavior.
    kind = np.array([2 if score.resting else int(score.writes) for score in scores])
    rank = 2.0 * kind[:, None, None] - strength
    order = np.argsort(np.where(significant, rank, np.inf), axis=0, kind="stable")
    return RankedNames(adjusted, significant, order)


@dataclass(frozen=True, eq=False, repr=False)
class BehaviorTable(HeadResult):
    """Scores of every head for every behavior. Made by `measure_behaviors`.

    Attributes:
        scores: Scores of D behaviors with controls, intervals and tests.
        left_out: Reason for each behavior that has no score.
        alpha: Largest corrected p-value of a name.
        min_strength: Smallest strength of a name.
        n_segments: Number of texts.
        model_name: Name of the model.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> table = demo_atlas().table
        >>> table.behaviors[1], str(table.names[0, 2])
        ('previous token', 'previous token')
    """

    scores: tuple[BehaviorScore, ...]
    left_out: Mapping[str, str]
    alpha: float
    min_strength: float
    n_segments: int

    def __getitem__(self, name: str) -> BehaviorScore:
        """Return the score of one behavior; KeyError if it has none."""
        for score in self.scores:
            if score.name == name:
                return score
        reason = self.left_out.get(name, among(name, self.behaviors))
        raise KeyError(f"{name!r} has no score: {reason}")

    @property
    def behaviors(self) -> tuple[str, ...]:
        """Names of the D behaviors."""
        return tuple(score.name for score in self.scores)

    @cached_property
    def named(self) -> RankedNames:
        """Behaviors that may name each head."""
        return head_names(self.scores, alpha=self.alpha, min_strength=self.min_strength)

    @cached_property
    def names(self) -> NDArray[np.str_]:
        """Name of each head, "" for a head without a name, [L, H]."""
        return self._named_as(lambda behaviors: behaviors[:1])

    @cached_property
    def runners_up(self) -> NDArray[np.str_]:
        """Second behavior of each head, "" if there is none, [L, H].

        If an attention behavior names the head, copying is preferred. Otherwise, the runner-up is
        the next behavior in the order of names.
        """
        writes = [score.writes for score in self.scores]
        return self._named_as(
            lambda behaviors: sorted(behaviors[1:], key=lambda number: not writes[number])
        )

    def _named_as(self, chosen: Callable[[list[int]], list[int]]) -> NDArray[np.str_]:
        """Return, for each head, the first behavior that `chosen` selects from its behaviors."""
        shape = self.scores[0].score.shape
        names = np.full(shape, "", dtype=f"<U{max(map(len, self.behaviors))}")
        for layer, head in np.ndindex(*shape):
            for number in chosen(self.named.behaviors(layer, head))[:1]:
                names[layer, head] = self.behaviors[number]
        return names

    @property
    def strengths(self) -> Float64Array:
        """Strength of the name of each head, [L, H]; 0 without a name."""
        strengths = np.zeros(self.scores[0].score.shape)
        for index in np.ndindex(*strengths.shape):
            candidates = self.named.behaviors(*index)
            if candidates:
                strengths[index] = self.scores[candidates[0]].strength[index]
        return strengths

    def heads(self) -> HeadMetrics:
        """Return score minus control of every behavior: float64 [L, H] by name."""
        return {score.name: score.excess for score in self.scores}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and behavior.

        Columns: layer, head, behavior, score, control, low, high (of score minus control), p,
        adjusted, names (whether the behavior may name the head), n, unit, held_out,
        held_out_control, auc. `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        frames = []
        for number, score in enumerate(self.scores):
            layer, head = (index.ravel() for index in np.indices(score.score.shape))
            columns = (
                "score",
                "control",
                "low",
                "high",
                "p",
                "held_out",
                "held_out_control",
                "auc",
            )
            frame = pd.DataFrame({name: getattr(score, name).ravel() for name in columns})
            frame.insert(0, "layer", layer)
            frame.insert(1, "head", head)
            frame.insert(2, "behavior", score.name)
            frame.insert(8, "adjusted", self.named.adjusted[number].ravel())
            frame.insert(9, "names", self.named.significant[number].ravel())
            frame.insert(10, "n", score.n)
            frame.insert(11, "unit", score.unit)
            frames.append(frame[~np.isnan(score.score.ravel())])
        return pd.concat(frames, ignore_index=True)

    def chart(self, behavior: str | None = None, *, width: int = 640) -> alt.LayerChart:
        """Draw the names and strengths of all heads, or the excess of all heads for one behavior.

        A head whose name only says where it rests has a dot, and the subtitle counts these heads.

        Args:
            behavior: Name of the behavior; None = the names of all heads.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the behavior has no score.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap
        from attnwidget.charts.named_heads import named_heads

        if behavior is not None:
            one_of("behavior", behavior, self.behaviors)
            score = self[behavior]
            return head_heatmap(
                score.excess,
                title=answer_title(
                    f"{behavior}, score minus control\n{self.model_name}; "
                    f"control: {score.control_name}; {counted(score.n, score.unit)}; "
                    "dots: the behavior may name the head",
                    score.excess,
                ),
                value_title="score − control",
                marked=self.named.significant[self.behaviors.index(behavior)],
                diverging=True,
                width=width,
            )
        resting = {score.name for score in self.scores if score.resting}
        counts = Counter(self.names[self.names != ""].tolist())
        rests = {name: count for name, count in counts.most_common() if name in resting}
        n_rest = sum(rests.values())
        n_named = sum(counts.values()) - n_rest
        places = ", ".join(f"{name} {count}" for name, count in rests.items())
        parts = [
            self.model_name,
            f"{n_named} of {counted(self.names.size, 'head')} do more than rest",
            f"•: {places}" if rests else "",
            f"{self.names.size - n_named - n_rest} without a name",
            counted(self.n_segments, "text"),
        ]
        return named_heads(
            self.names,
            self.strengths,
            title=f"What the heads do\n{'; '.join(filter(None, parts))}",
            only_dots=rests,
            width=width,
        )

    def __repr__(self) -> str:
        n_named = int((self.names != "").sum())
        return (
            f"BehaviorTable({self.model_name}, {counted(len(self.scores), 'behavior')}, "
            f"{n_named} of {counted(self.names.size, 'head')} named)"
        )


def refuse_thresholds(alpha: object, min_strength: object) -> None:
    """Raise ValueError if `alpha` or `min_strength` is not a number from 0 to 1."""
    for name, value in (("alpha", alpha), ("min_strength", min_strength)):
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= 1:  # type: ignore[operator]
            raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")
