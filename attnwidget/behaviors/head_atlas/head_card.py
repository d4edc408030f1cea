"""Card of a head: name, scores, examples, effect, promoted tokens and feeding heads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnwidget.behaviors.effects.head_effect import LOSING_IT_HURTS, HeadEffect
from attnwidget.behaviors.effects.rule_effects import MeasuredRule
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.example_results import OF_RULE
from attnwidget.behaviors.examples.text_examples import TextExamples
from attnwidget.behaviors.head_atlas.head_writes_and_feeds import Feeds, Writes
from attnwidget.capture.tapping.head import Head

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 3


@dataclass(frozen=True)
class HeadScore:
    """One row of a card: a behavior with score, control and tests of the head.

    The fields have the same meaning as in `BehaviorScore`, for one head.
    """

    behavior: str
    description: str
    control_name: str
    score: float
    control: float
    low: float
    high: float
    adjusted: float
    names: bool
    strength: float
    n: int
    unit: str
    held_out: float
    held_out_control: float
    auc: float
    random: float
    source: str


@dataclass(frozen=True, repr=False)
class HeadCard:
    """Evidence about one head. Made by `Atlas.card`.

    Attributes:
        head: Head of the card.
        name: Name of the head, "" without a name.
        runner_up: Second behavior of the head, or "", as in `BehaviorTable.runners_up`.
        scores: One row per behavior with a score.
        examples: Example links by kind, as in `HeadExamples.links`; "right", "wrong" and "missed"
            are about the rule of the name.
        effect: Effect on the loss where the name applies; None without a rule or effects.
        writes: Tokens that the head promotes and suppresses when it reads its most attended tokens.
        feeds: Earlier heads that feed the head most.
        model_name: Name of the model.
        note: Note of the user, or "".
        other_texts: Accuracy of a pronoun head of the bundled model on GUM, whose texts are harder
            than those of the package; "" for other heads and models.
        rule: Coverage of the rule of the name, and losses with the rule in the place of the head;
            None without a rule or measurement.
        shares: Shares of what decides where the head looks, by "position", "grammar", "same word"
            and "rest"; empty if they were not measured.
        shares_texts: Description of the texts of `shares`.
        distances: Share of the head's attention at each distance, by names such as "1 before" and
            "4–7 after" (tokens), as in `LinkDistances`; empty if they were not measured.
        in_text: Links that the name predicts in the text of `Atlas.card(..., attention=...)`; None
            without a text, without a rule for its tokens, or if the head is off.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> card = demo_atlas().card(0, 2)
        >>> str(card.head), card.name, list(card.examples)[:2]
        ('L0 H2', 'previous token', ['strongest', 'heaviest'])
    """

    head: Head
    name: str
    runner_up: str
    scores: tuple[HeadScore, ...]
    examples: Mapping[str, Sequence[ExampleLink]]
    effect: HeadEffect | None
    writes: tuple[Writes, ...]
    feeds: tuple[Feeds, ...]
    model_name: str
    note: str = ""
    other_texts: str = ""
    rule: MeasuredRule | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    shares_texts: str = ""
    distances: Mapping[str, float] = field(default_factory=dict)
    in_text: TextExamples | None = None

    @property
    def named_by(self) -> HeadScore | None:
        """Row of the behavior that names the head; None without a name."""
        return next((row for row in self.scores if row.behavior == self.name), None)

    def to_frame(self) -> pd.DataFrame:
        """Return the scores of the head as a table, one row per behavior."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self.scores])

    def __repr__(self) -> str:
        row = self.named_by
        if row is None:
            lines = [f"{self.head}: no name"]
        else:
            lines = [
                f"{self.head}: {row.behavior}, {row.score:.2f} against {row.control:.2f} by "
                f"{row.control_name}; held out {row.held_out:.2f} against "
                f"{row.held_out_control:.2f}"
            ]
        if self.other_texts:
            lines.append(self.other_texts)
        if self.rule is not None:
            lines.append(self.rule.coverage_sentence)
            lines += [f"{e.group}: {e.verdict}" for e in self.rule.effects if e.n_texts]
            if self.rule.texts:
                lines.append(f"measured on {self.rule.texts}")
        if self.shares:
            parts = ", ".join(f"{name} {share:.0%}" for name, share in self.shares.items())
            lines.append(f"what decides where it looks: {parts}")
        if self.distances:
            far = sorted(self.distances.items(), key=lambda item: -item[1])[:2]
            parts = ", ".join(f"{name} {share:.0%}" for name, share in far)
            lines.append(f"distances in tokens: {parts}")
        if self.note:
            lines.append(f"note: {self.note}")
        if self.runner_up:
            lines.append(f"also: {self.runner_up}")
        if self.effect is not None and self.effect.outcome:
            effect = self.effect
            is_matched = not math.isnan(effect.matched)
            lines.append(f"losing it hurts: {LOSING_IT_HURTS[effect.outcome][1]}")
            where = "where it applies" if is_matched else "at all places"
            elsewhere = f", {effect.matched:+.3f} elsewhere" if is_matched else ""
            lines.append(
                f"{effect.outcome}: loss {effect.effect:+.3f} nats {where} "
                f"({effect.low:+.3f} to {effect.high:+.3f}){elsewhere}"
            )
        if self.in_text is not None:
            lines += _lines_of_text(self.in_text)
        for kind in (*OF_RULE, "strongest"):
            lines += [f"{kind}: {link}" for link in list(self.examples.get(kind, ()))[:_SHOWN]]
        for item in self.writes[:_SHOWN]:
            lines.append(f"reads {item.source}, promotes {', '.join(item.promoted)}")
        for feeder in self.feeds:
            lines.append(f"{feeder.head} feeds its {feeder.fed} ({feeder.score:.3f})")
        return "\n".join(lines)


def _lines_of_text(found: TextExamples) -> list[str]:
    """Return the first links of each kind in a text."""
    if not found.n_predicted:
        return ["in this text: the name predicts no link"]
    return [
        f"in this text, {found.likelihood}{kind}: {link}"
        for kind, links in found.links.items()
        for link in links[:_SHOWN]
    ]
