"""Result of `knockout`: answers without groups of links, by window of layers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.corpus.results import in_stack
from attnwidget.interventions.score_changes import ScoreChanges, table_of
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

#: Group of all tokens that are in no other group.
OTHER = "other words"
#: Group of links between random tokens.
RANDOM = "random links"

_QUANTITIES = {
    "probability": "probability of the answer",
    "loss": "loss of the answer, nats",
    "accuracy": "share of right answers",
}


@dataclass(frozen=True, eq=False, repr=False)
class Knockout(Result):
    """Answers without the links to groups of tokens, in windows of layers. Made by `knockout`.

    `changes` has the statistics of each window and group: `difference`, its `interval`, `p`,
    `adjusted` and `significant`, [W, G].

    Attributes:
        groups: Names of the G groups, with the controls "other words" and "random links" last.
        windows: First and last layer of each of the W windows; window i is around layer i.
        intact: Score of each example with all links, float64 [N].
        scores: Scores with the links to a group cut in a window, float64 [W, G, N].
        n_links: Number of links of each group in each example, int [G, N].
        examples: Examples with scores (N).
        score: "probability", "loss" or "accuracy".
        window: Number of layers in a window.
        from_: Tokens that look.
        stack: Stack of the heads.
        complete: False if the study was interrupted before the last example.
        note: Reason why each window took a complete pass of the model, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import knockout
        >>> examples = [("The woman washed [MASK] hands.", "her"),
        ...             ("The man washed [MASK] hands.", "his")]
        >>> found = knockout(load_model(device="cpu"), examples, {"subject": ["woman", "man"]},
        ...                  window=2, progress=False)
        >>> found.windows[:3], found.n_links[:, 0]
        (((0, 1), (1, 2), (2, 3)), array([1, 6, 1]))
    """

    groups: tuple[str, ...]
    windows: tuple[tuple[int, int], ...]
    intact: Float64Array
    scores: Float64Array
    n_links: NDArray[np.int64] = field(repr=False)
    examples: tuple[Any, ...] = field(repr=False)
    score: str = "probability"
    window: int = 1
    from_: str = "the token that answers"
    stack: str = "self"

    @cached_property
    def changes(self) -> ScoreChanges:
        """Score changes of each window and group, [W, G]."""
        return ScoreChanges(self.scores, self.intact, judged=self.score == "accuracy", tested=True)

    @property
    def finding(self) -> str:
        """Finding in one sentence: the window and group with the largest change, and the controls.

        The change is towards worse answers. Groups that the caller named come before the controls.
        """
        named = [i for i, group in enumerate(self.groups) if group not in (OTHER, RANDOM)]
        sign = 1 if self.score == "loss" else -1
        worse = sign * self.changes.difference
        layer, column = np.unravel_index(int(worse[:, named].argmax()), worse[:, named].shape)
        group = named[int(column)]
        first, last = self.windows[int(layer)]
        where = f"layer {first}" if first == last else f"layers {first} to {last}"
        before, after = self.intact.mean(), self.scores[layer, group].mean()
        if self.score == "loss":
            change = f"the loss of the answer goes from {before:.2f} to {after:.2f} nats"
        else:
            change = (
                f"the {_QUANTITIES[self.score]} goes from {percent(before)} to {percent(after)}"
            )
        low, high = (float(end[layer, group]) for end in self.changes.interval)
        interval = f" (95 % interval of the change {self._interval(low, high)})"
        interval = "" if np.isnan(low) else interval
        controls = [
            f"{name}: {self._amount(self._worst(self.groups.index(name)))} at most"
            for name in (OTHER, RANDOM)
            if name in self.groups
        ]
        end = f"; {', '.join(controls)}" if controls else ""
        return f"Without its links to {self.groups[group]} in {where}, {change}{interval}{end}."

    def _worst(self, group: int) -> float:
        """Return the change towards worse answers that is largest over the windows."""
        differences = self.changes.difference[:, group]
        return float(differences.max() if self.score == "loss" else differences.min())

    def _amount(self, value: float) -> str:
        if self.score == "loss":
            return f"{value:+.2f} nats".replace("-", "−")
        return f"{100 * value:+.0f} points".replace("-", "−")

    def _interval(self, low: float, high: float) -> str:
        if self.score == "loss":
            return f"{low:+.2f} to {high:+.2f}".replace("-", "−")
        return f"{100 * low:+.0f} to {100 * high:+.0f} points".replace("-", "−")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per window and group.

        Columns: layer (the middle of the window), first, last, group, links (mean number), score
        (the mean), difference, low, high (95 %, over examples), relative (difference divided by the
        intact mean), p, adjusted. `attrs` has the "model", the "score", the "intact" mean and "n"
        examples.
        """
        links = np.broadcast_to(self.n_links.mean(1), self.scores.shape[:2])
        relative = self.changes.difference / self.intact.mean()
        frame = table_of(self.changes, relative=relative)
        rows, columns = np.indices(self.scores.shape[:2]).reshape(2, -1)
        frame.insert(0, "layer", rows)
        frame.insert(1, "first", [self.windows[row][0] for row in rows])
        frame.insert(2, "last", [self.windows[row][1] for row in rows])
        frame.insert(3, "group", [self.groups[column] for column in columns])
        frame.insert(4, "links", links.ravel())
        frame.attrs |= {"model": self.model_name, "score": self.score}
        frame.attrs |= {"intact": float(self.intact.mean()), "n": len(self.intact)}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the change over the layers, one line per group, with its 95 % interval.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.knockout_curves import knockout_curves

        frame = self.to_frame().rename(columns={"group": "series", "difference": "value"})
        layers = "each layer" if self.window == 1 else f"windows of {self.window} layers"
        return knockout_curves(
            frame,
            title=f"Answers without links from {self.from_}, in {layers}\n"
            f"{in_stack(self.model_name, self.stack)}; {counted(len(self.intact), 'example')}, "
            f"intact {self.intact.mean():.3g}\n{self.finding}",
            value_title=f"change of the {_QUANTITIES[self.score]}",
            percent=self.score != "loss",
            width=width,
        )

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        note = f"; {self.note}" if self.note else ""
        return (
            f"Knockout({in_stack(self.model_name, self.stack)}, "
            f"{counted(len(self.intact), 'example')}{stopped}, {len(self.windows)} windows, "
            f"{', '.join(self.groups)}{note})\n{self.finding}"
        )
