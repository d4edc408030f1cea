"""Result of `measure_rules`: coverage, and losses with a rule in the place of a head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior_score import t_interval
from attnwidget.behaviors.effects.rule_coverage import RuleCoverage
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, head_parts
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import fieller_interval
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

RuleWork = Literal[
    "head not needed", "all its work", "part of its work", "recovers nothing", "not shown", ""
]
#: Groups of predictions, with the name of the group in tables.
GROUPS = ("the word itself", "the other words")
# Largest number of heads that the finding names for each conclusion.
_LISTED = 6
# Smallest number of texts for a conclusion.
_FEWEST = 3
# Largest rise of the loss in nats, at the upper end of its interval, without which a head is said
# to be needed: the right token is 2 % less probable.
_LITTLE = 0.02
# Largest share that a rule recovers, at the upper end of its interval, of which it is said that it
# recovers nothing. A wider interval shows neither.
_HALF = 0.5
# Share of tokens from which a rule is said to apply everywhere.
_EVERYWHERE = 0.995
# Largest rise of the loss with a rule that does all the work, as a share of the rise without the
# head.
_ALL = 0.1


@dataclass(frozen=True)
class LossChange:
    """Mean change of the loss in nats, with its 95 % interval over texts.

    Attributes:
        mean: Mean over texts.
        low: Lower end of the interval of Student's t over texts; infinite with fewer than 3 texts.
        high: Upper end of the interval.
    """

    mean: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.low, self.high


@dataclass(frozen=True)
class RuleEffect:
    """Loss with a head switched off, and with its rule in its place, for one group of predictions.

    All changes are from the intact model, averaged over the predictions of a text and then over
    texts.

    Attributes:
        group: "the word itself" for predictions at tokens to which the rule applies; "the other
            words" for all other predictions.
        intact: Loss of the intact model, in nats.
        off: Change with the mean output in place of the head.
        rule: Change with the rule in place of the head.
        wrong: Change with a wrong rule of the same kind in place of the head.
        recovered: Share of the change of `off` that the rule recovers, 1 - rule / off; above 1 if
            the model predicts better with the rule than with the head. NaN if the texts do not
            show that the head is needed.
        recovered_low: Lower end of its 95 % interval over texts (Fieller 1954).
        recovered_high: Upper end of the interval.
        n_texts: Number of texts with such a prediction.
        n_predictions: Number of predictions.
        work: Conclusion, see `work_of`.
    """

    group: str
    intact: float
    off: LossChange
    rule: LossChange
    wrong: LossChange
    recovered: float
    recovered_low: float
    recovered_high: float
    n_texts: int
    n_predictions: int
    work: RuleWork

    @property
    def verdict(self) -> str:
        """What the rule recovers of the head's effect, as the rest of a sentence for cards."""
        if self.work == "head not needed":
            return "the model does not need this head"
        if self.work == "recovers nothing":
            return "its rule recovers nothing of what the head is worth"
        if not self.work:
            return f"{counted(self.n_texts, 'text')}, too few to tell"
        low, high = _percent(self.recovered_low), _percent(self.recovered_high)
        if self.work == "not shown":
            predictions = counted(self.n_predictions, "prediction")
            do = "does" if self.n_predictions == 1 else "do"
            if not self.off.low > 0:
                low, high = (f"{end:+.3f}".replace("-", "−") for end in self.off.interval)
                return (
                    f"{predictions} {do} not show whether the model needs this head (off: {low} "
                    f"to {high} nats)"
                )
            return (
                f"{predictions} {do} not show whether its rule recovers what the head is worth: "
                f"{_percent(self.recovered)} ({low} to {high})"
            )
        return (
            f"its rule recovers {_percent(self.recovered)} ({low} to {high}) of what the head is "
            "worth"
        )


def _percent(share: float) -> str:
    """Return a share as a text; a space that does not break keeps the sign at its number."""
    return f"{100 * share:.0f}\u00a0%".replace("-", "−")


def work_of(off: LossChange, rule: LossChange, saved: LossChange) -> RuleWork:
    """Return how much of a head's work its rule does.

    - "head not needed": without the head, the loss rises by at most 0.02 nats, at the upper end of
      the interval, and the interval includes 0 or is below. There is nothing to recover.
    - "recovers nothing": the loss with the rule is not lower than with the head off (the interval
      of the difference includes 0 or is below), and the rule recovers less than half at the upper
      end of the interval.
    - "all its work": the loss rises by at most 10 % of the rise without the head.
    - "part of its work": the rule recovers more than nothing, and less than all.
    - "not shown": the intervals are too wide for any of these.

    Args:
        off: Change of the loss without the head.
        rule: Change with the rule in the head's place.
        saved: `off` minus `rule`.

    Example:
        >>> from attnwidget.behaviors.effects.rule_effects import LossChange, work_of
        >>> off, rule = LossChange(0.3, 0.2, 0.4), LossChange(0.01, 0.0, 0.02)
        >>> work_of(off, rule, saved=LossChange(0.29, 0.2, 0.38))
        'all its work'
    """
    if not off.low > 0:
        return "head not needed" if off.high <= _LITTLE else "not shown"
    if not saved.low > 0:
        return "recovers nothing" if saved.high <= _HALF * off.mean else "not shown"
    return "all its work" if rule.mean <= _ALL * off.mean else "part of its work"


def rule_effects(
    intact: Float64Array, replaced: Float64Array, at_rule: NDArray[np.bool_]
) -> tuple[RuleEffect, ...]:
    """Return the effects for both groups of predictions.

    Args:
        intact: Losses of the intact model, [Q, N]; NaN pads texts with fewer predictions.
        replaced: Losses with the head off, with its rule, and with a wrong rule, [3, Q, N].
        at_rule: Whether the rule applies to the token of a prediction, [Q, N].
    """
    is_prediction = ~np.isnan(intact)
    groups = (at_rule & is_prediction, ~at_rule & is_prediction)
    return tuple(
        _group_effect(name, intact, replaced, chosen)
        for name, chosen in zip(GROUPS, groups, strict=True)
    )


def _group_effect(
    group: str, intact: Float64Array, replaced: Float64Array, chosen: NDArray[np.bool_]
) -> RuleEffect:
    texts = chosen.any(0)
    n_texts = int(texts.sum())
    counts = np.maximum(chosen[:, texts].sum(0), 1)

    def text_means(losses: Float64Array) -> Float64Array:
        values: Float64Array = np.where(chosen, losses, 0.0)[:, texts].sum(0) / counts
        return values

    loss = text_means(intact)
    off, rule, wrong = (text_means(losses) - loss for losses in replaced)
    changes = [_change(values) for values in (off, rule, wrong, off - rule)]
    work: RuleWork = ""
    if n_texts >= _FEWEST:
        work = work_of(changes[0], changes[1], changes[3])
    recovered = recovered_low = recovered_high = float("nan")
    if work and changes[0].low > 0:
        recovered = float((off - rule).mean() / off.mean())
        recovered_low, recovered_high = fieller_interval(off - rule, off)
    return RuleEffect(
        group=group,
        intact=float(loss.mean()) if n_texts else float("nan"),
        off=changes[0],
        rule=changes[1],
        wrong=changes[2],
        recovered=recovered,
        recovered_low=recovered_low,
        recovered_high=recovered_high,
        n_texts=n_texts,
        n_predictions=int(chosen.sum()),
        work=work,
    )


def _change(values: Float64Array) -> LossChange:
    if not len(values):
        return LossChange(float("nan"), float("nan"), float("nan"))
    mean = values.mean()
    low, high, _ = t_interval(mean, (values**2).mean(), len(values))
    return LossChange(float(mean), float(low), float(high))


@dataclass(frozen=True, eq=False)
class MeasuredRule:
    """Rule of one head: how much it predicts, and what it replaces.

    Attributes:
        head: Head.
        rule: Name of the rule.
        coverage: Share of the head's attention that the rule predicts.
        effects: Effect on the word itself, and on the other words.
        texts: Description of the texts, such as "300 sentences of UD English EWT"; "" for the texts
            of the call.
    """

    head: Head
    rule: str
    coverage: RuleCoverage
    effects: tuple[RuleEffect, ...]
    texts: str = ""

    @property
    def coverage_sentence(self) -> str:
        """Share of the head's attention that its rule predicts, as a sentence for cards."""
        cover = self.coverage
        text = f"Its rule predicts {_percent(cover.coverage)} of where the head looks"
        if np.isnan(cover.where_applied):
            return f"{text}: it applies to none of these words."
        if cover.applied < _EVERYWHERE:
            applied = f"{_percent(cover.applied)} of the tokens"
            text += f", and {_percent(cover.where_applied)} where it applies ({applied})"
        return f"{text}."

    def __str__(self) -> str:
        """Return the measured rule as a paragraph."""
        cover = self.coverage
        lines = [
            f"{self.head}, {self.rule}: covers {cover.coverage:.0%} of its attention, "
            f"{cover.where_applied:.0%} where it applies ({cover.applied:.0%} of the tokens)"
        ]
        lines += [_sentence(effect) for effect in self.effects if effect.n_texts]
        return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _sentence(effect: RuleEffect) -> str:
    losses = (
        f"loss {effect.off.mean:+.3f} off ({effect.off.low:+.3f} to {effect.off.high:+.3f}), "
        f"{effect.rule.mean:+.3f} with its rule, {effect.wrong.mean:+.3f} with a wrong rule"
    )
    does = f"its rule does {effect.work}: " if effect.work.endswith("work") else ""
    verdict = effect.verdict.replace("its rule", "it", 1) if does else effect.verdict
    return f"  {effect.group}: {does}{verdict}; {losses}; {counted(effect.n_texts, 'text')}"


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredRules(Result):
    """Rules of heads: coverage, and losses with the rule in the head's place.

    Made by `measure_rules`.

    Attributes:
        rules: Measured rule of each head.
        n_texts: Number of texts.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import measure_rules
        >>> from attnwidget.demo import demo_treebank
        >>> rules = {"L0 H2": "previous token"}
        >>> found = measure_rules(load_model(), demo_treebank()[:8], rules, progress=False)
        >>> found["L0 H2"].coverage.coverage > 0.8
        True
    """

    rules: Sequence[MeasuredRule]
    n_texts: int

    def __getitem__(self, head: HeadName) -> MeasuredRule:
        """Return the measured rule of a head.

        Raises:
            KeyError: If no rule of the head was measured.
        """
        by_name = {str(rule.head): rule for rule in self.rules}
        name = str(Head(*head_parts(head, None)))
        if name not in by_name:
            raise KeyError(f"{name} has no measured rule: choose from {', '.join(by_name)}")
        return by_name[name]

    @property
    def finding(self) -> str:
        """Finding in one sentence, which also names heads whose rule recovers nothing."""
        by_work: dict[str, list[str]] = {}
        for rule in self.rules:
            groups = [effect for effect in rule.effects if effect.n_texts]
            for effect in groups:
                where = f", {effect.group}" if len(groups) > 1 else ""
                by_work.setdefault(effect.work, []).append(f"{rule.head} ({rule.rule}{where})")
        texts = {
            "all its work": "the rule does all the work of {}",
            "part of its work": "it does part of the work of {}",
            "recovers nothing": "it recovers nothing for {}",
            "head not needed": "not needed: {}",
            "not shown": "not shown: {}",
            "": "too few texts: {}",
        }
        parts = [text.format(_listed(by_work[w])) for w, text in texts.items() if w in by_work]
        joined = "; ".join(parts)
        return f"{joined[:1].upper()}{joined[1:]}." if joined else ""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and group of predictions.

        Columns: layer, head, rule, coverage, where_applied, applied, group, intact, off, off_low,
        off_high, rule_loss, rule_low, rule_high, wrong, wrong_low, wrong_high, recovered,
        recovered_low, recovered_high, work, texts, predictions. Losses are changes in nats.
        """
        import pandas as pd

        rows = []
        for rule in self.rules:
            for effect in rule.effects:
                rows.append(
                    {
                        "layer": rule.head.layer,
                        "head": rule.head.head,
                        "rule": rule.rule,
                        "coverage": rule.coverage.coverage,
                        "where_applied": rule.coverage.where_applied,
                        "applied": rule.coverage.applied,
                        "group": effect.group,
                        "intact": effect.intact,
                        "off": effect.off.mean,
                        "off_low": effect.off.low,
                        "off_high": effect.off.high,
                        "rule_loss": effect.rule.mean,
                        "rule_low": effect.rule.low,
                        "rule_high": effect.rule.high,
                        "wrong": effect.wrong.mean,
                        "wrong_low": effect.wrong.low,
                        "wrong_high": effect.wrong.high,
                        "recovered": effect.recovered,
                        "recovered_low": effect.recovered_low,
                        "recovered_high": effect.recovered_high,
                        "work": effect.work,
                        "texts": effect.n_texts,
                        "predictions": effect.n_predictions,
                    }
                )
        return pd.DataFrame(rows)

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the change of the loss with the head off, with its rule, and with a wrong rule.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.replacement_intervals import replacement_intervals

        return replacement_intervals(
            self.to_frame(),
            title=f"The rule in the place of the head\n{self.model_name}, "
            f"{counted(self.n_texts, 'text')}, 95 % intervals",
            width=width,
        )

    def __repr__(self) -> str:
        return "\n".join(map(str, self.rules))
