"""Rows of the table of speed: what every benchmark of `make bench` returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """A step beside another step of the same process.

    Attributes:
        step: The step, with the sizes of its input.
        beside: The other step, with the same input.
        ratio: Median over the rounds of the cost of the step, as a share of the cost of the other.
        low: First quartile of these ratios.
        high: Third quartile.
        amount: Median cost of the step, in `unit`.
        unit: "ms", "MB" or another unit.
        rounds: Number of rounds, each with one run of both steps.
        limit: The largest ratio that is allowed, or the smallest if it is negative; None = none.
    """

    step: str
    beside: str
    ratio: float
    low: float
    high: float
    amount: float
    unit: str
    rounds: int
    limit: float | None = None


@dataclass(frozen=True)
class Growth:
    """How the cost of a step grows with the size of its input.

    Attributes:
        step: The step, with the sizes that stay the same.
        along: The size that grows: "tokens", "heads" or "segments".
        sizes: The sizes, four or more.
        amounts: Median cost at each size, in `unit`.
        unit: "ms" or "MB".
        rounds: Number of rounds.
    """

    step: str
    along: str
    sizes: tuple[int, ...]
    amounts: tuple[float, ...]
    unit: str
    rounds: int

    @property
    def exponent(self) -> float:
        """The power of the size that fits the costs best: the slope of the logarithms."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.amounts), 1)[0])


class NotMeasuredError(Exception):
    """A benchmark cannot run here: a program or data set is missing."""


Run = Callable[[], object]
Seconds = dict[str, list[float]]


def in_turns(
    runs: Mapping[str, Run], rounds: int, *, clock: Callable[[], float] = time.process_time
) -> Seconds:
    """Return the seconds of each run in every round, after a round that is not counted.

    In a round all runs follow one another, so that a busy machine slows all of them. The default
    clock counts the time of the processor alone.
    """
    seconds: Seconds = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            start = clock()
            run()
            if number:
                seconds[name].append(clock() - start)
    return seconds


def rows_of(
    seconds: Seconds, base: str, *, what: str = "", limits: Mapping[str, float] | None = None
) -> list[Row]:
    """Return a row for each step of `in_turns` beside the step `base`.

    Args:
        seconds: Result of `in_turns`.
        base: Name of the step that the others stand beside.
        what: Sizes of the input, which end the name of each step.
        limits: The limit of each step that has one.
    """
    ending = f", {what}" if what else ""
    return [
        row(f"{name}{ending}", base, own, seconds[base], limit=(limits or {}).get(name))
        for name, own in seconds.items()
        if name != base
    ]


def row(
    step: str,
    beside: str,
    seconds: Sequence[float],
    base: Sequence[float],
    *,
    limit: float | None = None,
) -> Row:
    """Return the row of a step, from its seconds in every round and those of another step."""
    ratios = [own / other for own, other in zip(seconds, base, strict=True)]
    low, middle, high = map(float, np.percentile(ratios, [25, 50, 75]))
    milliseconds = 1e3 * float(np.median(seconds))
    return Row(step, beside, middle, low, high, milliseconds, "ms", len(ratios), limit)


def read_back(stored: Sequence[Mapping[str, Any]]) -> list[Row | Growth]:
    """Return rows that were stored as JSON."""
    return [
        Growth(**{**row, "sizes": tuple(row["sizes"]), "amounts": tuple(row["amounts"])})
        if "along" in row
        else Row(**row)
        for row in stored
    ]
