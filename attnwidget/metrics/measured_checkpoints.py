"""Metrics and scores of every head over a training run: table, chart and emergence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadMetrics, HeadResult, heads_frame
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import (
    FEWEST_UNITS,
    above_zero,
    bootstrap_interval,
    holm,
    percentile_tails,
)
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_COPIES = ("first copy", "second copy")
# Folder names of `Trainer`, revisions such as "step1000", and plain numbers.
_STEP = re.compile(r"(?:checkpoint-|step)?(\d+)")
_DRAWS = 1000
# Largest corrected p-value of a head that acquired a behavior.
_LEVEL = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredCheckpoints(HeadResult):
    """Values of every head at each of T training checkpoints. Made by `measure_checkpoints`.

    Attributes:
        checkpoints: Labels of the T checkpoints, in training order.
        metrics: Metrics over segments by title, float64 [T, L, H] each; empty without segments.
        scores: Scores on repeated random tokens by title, for S sequences, [T, L, H, S]; empty if
            they were not measured.
        controls: Control of each score, [T, L, H, S].
        losses: Mean loss of the tokens in the first and in the second copy, in nats, [T, 2, S];
            NaN for a model without a language-model head. None if there were no random tokens.
        equal: Labels of checkpoints with equal weights, a tuple for each group of two or more.
        n_segments: Number of segments.
        length: Number of random tokens in a copy.
        complete: False if the study was interrupted before the last checkpoint was measured.
        model_name: Name of the last model.

    Example:
        >>> from attnwidget.demo import induction_checkpoints
        >>> from attnwidget.metrics import measure_checkpoints
        >>> steps = induction_checkpoints()[::11]
        >>> found = measure_checkpoints(steps, n_sequences=2, length=10, progress=False)
        >>> found.checkpoints, list(found.scores)[:2]
        (('0', '4000'), ['induction (random tokens)', 'duplicate token (random tokens)'])
    """

    checkpoints: tuple[str, ...]
    metrics: Mapping[str, Float64Array]
    scores: Mapping[str, Float64Array]
    controls: Mapping[str, Float64Array]
    losses: Float64Array | None
    equal: tuple[tuple[str, ...], ...]
    n_segments: int
    length: int

    @property
    def steps(self) -> tuple[int, ...] | None:
        """Training steps of the checkpoints; None if labels name no steps or steps do not rise.

        A label names a step if it is a number, or "step" or "checkpoint-" and a number.
        """
        matches = [_STEP.fullmatch(label) for label in self.checkpoints]
        steps = tuple(int(match[1]) for match in matches if match)
        rising = all(first < second for first, second in pairwise(steps))
        return steps if len(steps) == len(matches) and rising else None

    def heads(self, checkpoint: str | int | None = None) -> HeadMetrics:
        """Return one number per head for a checkpoint, float64 [L, H] by title.

        None = the last checkpoint. Raises ValueError if the checkpoint does not exist.
        """
        label = self.checkpoints[-1] if checkpoint is None else str(checkpoint)
        one_of("checkpoint", label, self.checkpoints)
        index = self.checkpoints.index(label)
        scores = {title: values[index].mean(-1) for title, values in self.scores.items()}
        return scores | {title: values[index] for title, values in self.metrics.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per checkpoint, head and metric.

        Columns: checkpoint, layer, head, metric, value. Scores on repeated random tokens also have
        control, low and high, where low to high is the 95 % bootstrap interval of the value over
        the sequences, NaN with fewer than six. `attrs` has the "model" and the "equal" checkpoints.
        """
        import pandas as pd

        bounds = {title: bootstrap_interval(values) for title, values in self.scores.items()}
        frames = []
        for index, label in enumerate(self.checkpoints):
            frame = heads_frame(self.heads(label))
            frame.insert(0, "checkpoint", label)
            columns: dict[str, Float64Array] = {}
            for title, values in self.controls.items():
                rows = (frame["metric"] == title).to_numpy()
                head_cells = frame.loc[rows, "layer"].to_numpy(), frame.loc[rows, "head"].to_numpy()
                low, high = bounds[title]
                parts = {"control": values.mean(-1), "low": low, "high": high}
                for name, numbers in parts.items():
                    column = columns.setdefault(name, np.full(len(frame), np.nan))
                    column[rows] = numbers[index][head_cells]
            frames.append(frame.assign(**columns))
        table = pd.concat(frames, ignore_index=True)
        table.attrs |= {"model": self.model_name, "equal": self.equal}
        return table

    def loss_frame(self) -> pd.DataFrame:
        """Return one row per checkpoint and copy of the repeated random tokens.

        Columns: checkpoint, copy, loss (nats), and low and high, the 95 % bootstrap interval over
        the sequences, NaN with fewer than six. Without losses, the table is empty.
        """
        import pandas as pd

        columns = ["checkpoint", "copy", "loss", "low", "high"]
        if self.losses is None or np.isnan(self.losses).any():
            return pd.DataFrame(columns=columns)
        low, high = bootstrap_interval(self.losses)
        rows = [
            (label, copy, self.losses[index, i].mean(), low[index, i], high[index, i])
            for index, label in enumerate(self.checkpoints)
            for i, copy in enumerate(_COPIES)
        ]
        return pd.DataFrame(rows, columns=columns)

    def emergence(self, score: str | None = None) -> pd.DataFrame:
        """Return the checkpoint at which each head acquired each behavior, strongest heads first.

        This is the first checkpoint at which score minus control is above half of its final value
        and stays above it until the end. It is missing (NaN) for a head whose final score is not
        above its control: p is above 0.05 by Student's t over the sequences, corrected for
        skewness, after Holm's correction over all heads and scores. If no head has learned
        anything, the probability of any checkpoint in the table is therefore about 5 %. With fewer
        than six sequences, all checkpoints are missing.

        Args:
            score: Title of a score on repeated random tokens; None = all.

        Returns:
            Columns: metric, layer, head, final (score minus control at the last checkpoint),
            checkpoint, low and high (the 95 % bootstrap interval of the checkpoint over the
            sequences; a missing high is after the last checkpoint), p (one-sided, of the final
            score minus control), adjusted (p after Holm's correction).

        Raises:
            ValueError: If there is no such score, or no repeated random tokens were measured.
        """
        import pandas as pd

        if not self.scores:
            raise ValueError(
                "emergence needs scores on repeated random tokens, and none were read: measure a "
                "causal model with n_sequences of 1 or more"
            )
        titles = list(self.scores)
        if score is not None:
            one_of("score", score, titles)
            titles = [score]
        rows = []
        order = []
        labels = (*self.checkpoints, None)
        last = {name: self.scores[name][-1] - self.controls[name][-1] for name in self.scores}
        p_values = np.stack([above_zero(values) for values in last.values()])
        all_adjusted = holm(p_values)
        for title in titles:
            excess = self.scores[title] - self.controls[title]
            final = excess[-1].mean(-1)
            number = list(last).index(title)
            p, adjusted = p_values[number], all_adjusted[number]
            significant = adjusted <= _LEVEL
            emerged = emergence(excess.mean(-1))
            low, high = _emergence_bounds(excess)
            for layer, head in np.argwhere(~np.isnan(final)).tolist():
                head_cell = layer, head
                indices = (
                    [emerged[head_cell], low[head_cell], high[head_cell]]
                    if significant[head_cell]
                    else [len(labels) - 1] * 3
                )
                emergence_labels = [labels[number] for number in indices]
                rows.append(
                    (
                        title,
                        layer,
                        head,
                        final[head_cell],
                        *emergence_labels,
                        p[head_cell],
                        adjusted[head_cell],
                    )
                )
                order.append((titles.index(title), -final[head_cell]))
        columns = ["metric", "layer", "head", "final", "checkpoint", "low", "high", "p", "adjusted"]
        table = pd.DataFrame(rows, columns=columns)
        sorted_rows = sorted(range(len(rows)), key=order.__getitem__)
        return table.iloc[sorted_rows].reset_index(drop=True)

    def chart(self, metric: str | None = None, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw one metric over the checkpoints.

        A score on repeated random tokens has one panel for the losses of both copies, and one for
        score minus control: the strongest heads in color with 95 % intervals, a mark at the
        emergence of each, and all other heads in gray. Another metric has one panel per layer.

        Args:
            metric: Title from `heads()`; None = the first.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the metric is unknown.
        """
        titles = list(self.heads())
        metric = titles[0] if metric is None else metric
        one_of("metric", metric, titles)
        stopped = "" if self.complete else ", interrupted"
        if metric in self.scores:
            return self._score_chart(metric, stopped, width)
        from attnwidget.charts.training_curves import training_curves

        frame = self.to_frame()
        n_segments = counted(self.n_segments, "segment")
        return training_curves(
            frame[frame["metric"] == metric],
            title=f"{metric} over training\n{self._span}, {n_segments}{stopped}",
            value_title=metric,
            width=width,
        )

    def _score_chart(self, metric: str, stopped: str, width: int) -> alt.VConcatChart:
        import pandas as pd

        from attnwidget.charts.emergence_panels import emergence_panels

        excess = self.scores[metric] - self.controls[metric]
        low, high = bootstrap_interval(excess)
        parts = {"value": excess.mean(-1), "low": low, "high": high}
        layers, heads = np.nonzero(~np.isnan(excess[-1, ..., 0]))
        frames = [
            pd.DataFrame(
                {"checkpoint": label, "layer": layers, "head": heads}
                | {name: values[index, layers, heads] for name, values in parts.items()}
            )
            for index, label in enumerate(self.checkpoints)
        ]
        sequences = counted(excess.shape[-1], "sequence")
        return emergence_panels(
            pd.concat(frames, ignore_index=True),
            self.loss_frame(),
            self.emergence(metric),
            steps=self.steps,
            title=f"{metric}\n{self.model_name}; {self._span}, {sequences} of twice {self.length} "
            f"tokens{stopped}\nbands: 95\xa0% intervals over sequences; diamonds: emergence",
            width=width,
        )

    @property
    def _span(self) -> str:
        first = self.checkpoints[0]
        last = self.checkpoints[-1]
        return f"{counted(len(self.checkpoints), 'checkpoint')}, {first} to {last}"

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        same = f", {len(self.equal)} equal" if self.equal else ""
        return f"MeasuredCheckpoints({self._span}{same}{stopped}: {', '.join(self.heads())})"


def _emergence_bounds(excess: Float64Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the 95 % bootstrap interval of the step of emergence over sequences, [L, H] each.

    Sequences are drawn with replacement, with the same draw at all steps, because all steps use the
    same sequences. `excess` is [T, L, H, S]; T means no emergence. With fewer than six sequences,
    the interval includes all steps.
    """
    n = excess.shape[-1]
    if n < FEWEST_UNITS:
        no_emergence = np.full(excess.shape[1:3], len(excess))
        return np.zeros_like(no_emergence), no_emergence
    tails = percentile_tails(n)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), _DRAWS) / n  # [D, S]
    bounds = []
    for layer in range(excess.shape[1]):  # One layer at a time limits the memory.
        steps = emergence(excess[:, layer] @ times.T)  # [H, D]
        bounds.append(np.quantile(steps, tails, axis=-1, method="inverted_cdf"))
    low, high = np.stack(bounds, 1).astype(np.int64)
    return low, high


def emergence(values: ArrayLike) -> NDArray[np.int64]:
    """Return the first step whose value is above half of the final value and stays above it.

    Args:
        values: Value at each of T steps, [T, ...], such as the score of a head minus its control.

    Returns:
        Indices of steps, int64 [...]; T if the final value is not above 0.

    Example:
        >>> from attnwidget.metrics.measured_checkpoints import emergence
        >>> emergence([[0.0, 0.3], [0.6, 0.1], [0.2, 0.0], [0.7, -0.1], [0.8, 0.0]]).tolist()
        [3, 5]
    """
    numbers = np.asarray(values, dtype=np.float64)
    final = numbers[-1]
    above = numbers > final / 2
    stays = np.logical_and.accumulate(above[::-1])[::-1]
    is_missing = ~stays.any(0) | (final <= 0)
    return np.where(is_missing, len(numbers), stays.argmax(0))
