"""Causal effect of a head at the tokens to which its behavior applies: five outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior_score import t_interval
from attnwidget.behaviors.effects.question_losses import QuestionLosses
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float64Array

Outcome = Literal["primary cause", "secondary cause", "correlate", "interferer", "null"]
LOSING_IT_HURTS: dict[str, tuple[str, str]] = {
    "primary cause": ("yes, most", "yes, here, and more than any other tested head"),
    "secondary cause": (
        "yes",
        "yes, but not clearly more than elsewhere, or than without another head",
    ),
    "correlate": (
        "yes, as elsewhere",
        "yes, but not clearly more than elsewhere, nor than without another head",
    ),
    "interferer": ("no, it helps", "no, the model predicts better without it"),
    "null": ("no change", "no measurable change"),
    "": ("", "unknown, too few texts"),
}
"""Wording of each outcome: in a table, and on a card."""
#: Largest number of random heads of the same layer.
RANDOM_HEADS = 10
#: Smallest number of other heads with which an effect is compared.
FEWEST_OTHERS = 5


@dataclass(frozen=True)
class HeadEffect:
    """Rise of the loss without a head, where its behavior applies, with two controls.

    Effects are in nats, averaged over the tokens of a text and then over texts, with 95 % intervals
    of Student's t over texts. A positive effect means that the model predicts worse without the
    head.

    Attributes:
        behavior: Name of the behavior whose rule selects the tokens.
        effect: Rise of the loss where the rule predicts a link.
        low: Lower end of the interval of `effect`.
        high: Upper end of the interval of `effect`.
        matched: Rise of the loss at the other tokens of the same texts; NaN if there are none.
        difference: Mean of effect minus matched, over texts with both.
        difference_low: Lower end of the interval of `difference`.
        difference_high: Upper end of the interval of `difference`.
        random: Effects of other heads of the layer, drawn at random, at the same tokens.
        n_texts: Number of texts in which the rule predicts a link.
        n_places: Number of tokens with a predicted link.
        outcome: Conclusion in one or two words, see `outcome_of`; "" with fewer than 3 texts, or
            if there is nothing to compare with.
        advantage: Mean of effect minus the effect of the best `random` head, over the same texts;
            NaN with fewer than 5 other heads.
        advantage_low: Lower end of the interval of `advantage`.
        advantage_high: Upper end of the interval of `advantage`.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> effect = demo_atlas().card(0, 2).effect
        >>> effect.behavior, effect.low > 0
        ('previous token', True)
    """

    behavior: str
    effect: float
    low: float
    high: float
    matched: float
    difference: float
    difference_low: float
    difference_high: float
    random: tuple[tuple[str, float], ...]
    n_texts: int
    n_places: int
    outcome: Outcome | Literal[""]
    advantage: float = float("nan")
    advantage_low: float = float("nan")
    advantage_high: float = float("nan")


def outcome_of(
    low: float,
    high: float,
    effect: float,
    difference_low: float,
    random: Sequence[float],
    advantage_low: float | None = None,
) -> Outcome | Literal[""]:
    """Return the conclusion that the effect of a head allows.

    - "null": the interval of the effect includes 0.
    - "interferer": the interval is below 0: the model predicts better without the head.
    - "primary cause": the interval is above 0, and two comparisons hold. The effect is larger than
      at matched tokens, and larger than the effect of the best other drawn head of the layer (both
      intervals above 0).
    - "secondary cause": the interval is above 0, and one of the two comparisons holds.
    - "correlate": the interval is above 0, and neither comparison holds: the loss rises as much
      at other tokens, and as much without other heads.

    The intervals have a level of 95 %, so a comparison holds by chance for at most 2.5 % of the
    heads. The best of several heads is often best by chance. With fewer than five other heads, they
    are therefore not compared, and the head cannot be a primary cause. Without matched tokens
    (`difference_low` is NaN), the comparison with other heads decides between a primary cause and a
    correlate. Without either comparison, the outcome is "".

    Args:
        low: Lower end of the interval of the effect.
        high: Upper end of the interval of the effect.
        effect: Effect of the head.
        difference_low: Lower end of the interval of the effect minus the effect at matched tokens.
        random: Effects of the other drawn heads.
        advantage_low: Lower end of the interval of the effect minus the effect of the best other
            head, over the same texts. None = computed from `random`, as for independent effects
            with equally wide intervals.

    Example:
        >>> from attnwidget.behaviors.effects.head_effect import outcome_of
        >>> others = [0.01, 0.1, 0.0, -0.02, 0.03]
        >>> outcome_of(0.15, 0.3, 0.22, 0.05, others), outcome_of(-0.1, 0.1, 0.0, 0.0, [])
        ('primary cause', 'null')
    """
    if high < 0:
        return "interferer"
    if low <= 0:
        return "null"
    compared = len(random) >= FEWEST_OTHERS
    if compared and advantage_low is None:
        advantage_low = effect - max(random) - np.sqrt(2) * (effect - low)
    above_others = compared and advantage_low is not None and advantage_low > 0
    if np.isnan(difference_low):
        if not compared:
            return ""
        return "primary cause" if above_others else "correlate"
    above_matched = difference_low > 0
    if above_matched and above_others:
        return "primary cause"
    return "secondary cause" if above_matched or above_others else "correlate"


def head_effect(
    behavior: str, head: Head, losses: QuestionLosses, fires: NDArray[np.bool_], *, seed: int = 0
) -> HeadEffect:
    """Return the effect of a head at the tokens to which its behavior applies.

    Args:
        behavior: Name of the behavior.
        head: Head whose effect is measured.
        losses: Losses without the head, and without other heads of its layer.
        fires: Whether the rule of the behavior predicts a link at each question, bool [Q, N].
        seed: Seed for drawing other heads.
    """
    is_question = ~np.isnan(losses.intact)
    at_rule = fires & is_question
    elsewhere = ~fires & is_question
    change = losses.change(head)
    text_effects = _text_means(change, at_rule)
    matched = _text_means(change, elsewhere)
    effect, low, high = _interval(text_effects)
    difference, difference_low, difference_high = _interval(text_effects - matched)
    if np.isfinite(text_effects - matched).sum() < 3:
        difference = difference_low = difference_high = float("nan")
    other_heads = [
        other for other in losses.heads if other.layer == head.layer and other.head != head.head
    ]
    draw = np.random.default_rng([seed, head.layer, head.head])
    size = min(RANDOM_HEADS, len(other_heads))
    drawn_indices = sorted(draw.choice(len(other_heads), size, replace=False).tolist())
    other_effects = [_text_means(losses.change(other_heads[i]), at_rule) for i in drawn_indices]
    random = [_interval(other_effect)[0] for other_effect in other_effects]
    advantage = advantage_low = advantage_high = float("nan")
    if len(random) >= FEWEST_OTHERS and np.isfinite(random).all():
        best = other_effects[int(np.argmax(random))]
        advantage, advantage_low, advantage_high = _interval(text_effects - best)
    n_texts = int(np.isfinite(text_effects).sum())
    outcome: Outcome | Literal[""] = ""
    if n_texts >= 3:
        outcome = outcome_of(low, high, effect, difference_low, random, advantage_low)
    finite = matched[np.isfinite(matched)]
    return HeadEffect(
        behavior=behavior,
        effect=effect,
        low=low,
        high=high,
        matched=float(finite.mean()) if len(finite) else float("nan"),
        difference=difference,
        difference_low=difference_low,
        difference_high=difference_high,
        random=tuple(
            (str(other_heads[i]), value) for i, value in zip(drawn_indices, random, strict=True)
        ),
        n_texts=n_texts,
        n_places=int(at_rule.sum()),
        outcome=outcome,
        advantage=advantage,
        advantage_low=advantage_low,
        advantage_high=advantage_high,
    )


def _text_means(change: Float64Array, chosen: NDArray[np.bool_]) -> Float64Array:
    """Return the mean change over the selected questions of each text, [N]; NaN if none."""
    count = chosen.sum(0)
    total = np.where(chosen, change, 0.0).sum(0)
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def _interval(values: Float64Array) -> tuple[float, float, float]:
    """Return the mean of the finite values and its 95 % interval."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return float("nan"), float("nan"), float("nan")
    mean = finite.mean()
    low, high, _ = t_interval(mean, (finite**2).mean(), len(finite))
    return float(mean), float(low), float(high)
