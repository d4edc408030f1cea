"""Head card for the page of an AtlasView."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from attnwidget.behaviors.effects.head_effect import LOSING_IT_HURTS, HeadEffect
from attnwidget.behaviors.effects.rule_effects import MeasuredRule
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.text_examples import TextExamples
from attnwidget.behaviors.head_atlas.head_card import HeadCard, HeadScore
from attnwidget.behaviors.relations import relation_of_name

#: Maximum number of examples of each kind on the page.
MOST_EXAMPLES = 20
#: Maximum number of links of the reader's own text on the page, for each kind.
MOST_IN_TEXT = 2
# Number of context words on each side of query and key.
_CONTEXT = 16


def card_to_wire(card: HeadCard) -> dict[str, Any]:
    """Return the card of a head as JSON, with None for numbers that are not finite."""
    naming_score = card.named_by
    strongest = sorted(card.scores, key=lambda score: -score.strength)
    return {
        "head": [card.head.layer, card.head.head, card.head.stack],
        "name": card.name,
        "runner_up": card.runner_up,
        "named_by": None if naming_score is None else strongest.index(naming_score),
        "scores": [_score(score) for score in strongest],
        "effect": None if card.effect is None else _effect(card.effect),
        "examples": {
            kind: [example_to_wire(link) for link in links[:MOST_EXAMPLES]]
            for kind, links in card.examples.items()
            if links
        },
        "distances": [[name, _number(share)] for name, share in card.distances.items()],
        "in_text": None if card.in_text is None else _in_text(card.in_text),
        "writes": [[item.source, item.promoted, item.suppressed] for item in card.writes],
        "feeds": [
            [[feeder.head.layer, feeder.head.head, feeder.head.stack], feeder.fed, feeder.score]
            for feeder in card.feeds
        ],
        "rule": None if card.rule is None else _rule(card.rule),
        "shares": (
            None
            if not card.shares
            else {
                "parts": [[name, _number(share)] for name, share in card.shares.items()],
                "texts": card.shares_texts,
            }
        ),
    }


def example_to_wire(link: ExampleLink) -> dict[str, Any]:
    """Return the words around a link, for the page.

    Args:
        link: Example link.

    Returns:
        `pieces`: token texts, with a space before the first token of a word; " …" replaces
        words that are left out. `query` and `key`: indices of pieces. `weight`: attention weight.

    Example:
        >>> from attnwidget.behaviors.examples.example_link import ExampleLink
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.atlas_view.card_wire import example_to_wire
        >>> tokens = Tokens.plain(["[CLS]", "the", "cat", "saw", "him", "##self", "[SEP]"])
        >>> example_to_wire(ExampleLink(tokens, 0, query=4, key=2, weight=0.42, strength=1.5))
        {'pieces': [' [CLS]', ' the', ' cat', ' saw', ' him', 'self', ' [SEP]'], 'query': 4, \
'key': 2, 'weight': 0.42}
    """
    groups = link.tokens.word_groups()
    pieces: list[str] = []
    piece_of_token: dict[int, int] = {}
    next_word = 0
    for number in _numbers_around(link, groups):
        if number > next_word:
            pieces.append(" …")
        next_word = number + 1
        for token in groups[number]:
            if token in (link.query, link.key):
                piece_of_token[token] = len(pieces)
            text = link.spelt(token)
            pieces.append(f" {text}" if token == groups[number][0] else text)
    if next_word < len(groups):
        pieces.append(" …")
    return {
        "pieces": pieces,
        "query": piece_of_token[link.query],
        "key": piece_of_token[link.key],
        "weight": round(link.weight, 4),
    }


def _numbers_around(link: ExampleLink, groups: Sequence[Sequence[int]]) -> list[int]:
    """Return the indices of the words around the query and around the key, in order."""
    firsts = [group[0] for group in groups]
    numbers: set[int] = set()
    for end in (link.query, link.key):
        word = bisect_right(firsts, end) - 1
        numbers.update(range(max(0, word - _CONTEXT), min(len(groups), word + _CONTEXT + 1)))
    return sorted(numbers)


def _in_text(found: TextExamples) -> dict[str, Any]:
    """Return the links that the name predicts in the reader's own text."""
    return {
        "predictions": found.n_predicted,
        "likelihood": found.likelihood,
        "kinds": [
            [kind, len(links), [example_to_wire(link) for link in links[:MOST_IN_TEXT]]]
            for kind, links in found.links.items()
        ],
    }


def _score(score: HeadScore) -> dict[str, Any]:
    return {
        "behavior": score.behavior,
        "description": _described(score),
        "control_name": score.control_name,
        "score": _number(score.score),
        "control": _number(score.control),
        "low": _number(score.low),
        "high": _number(score.high),
        "adjusted": _number(score.adjusted),
        "names": score.names,
        "n": score.n,
        "unit": score.unit,
        "held_out": _number(score.held_out),
        "held_out_control": _number(score.held_out_control),
        "auc": _number(score.auc),
        "source": score.source,
    }


def _described(score: HeadScore) -> str:
    """Return the description, in which readers need no labels of relations."""
    name = score.behavior
    if relation_of_name(name) is None or name.endswith(" to its governor"):
        return score.description
    return f"attends from {'an' if name[0] in 'aeiou' else 'a'} {name}"


def _effect(effect: HeadEffect) -> dict[str, Any]:
    return {
        "losing": LOSING_IT_HURTS[effect.outcome][1],
        "effect": _number(effect.effect),
        "low": _number(effect.low),
        "high": _number(effect.high),
        "matched": _number(effect.matched),
        "random": [[head, _number(value)] for head, value in effect.random],
        "n_texts": effect.n_texts,
        "n_places": effect.n_places,
    }


def _rule(rule: MeasuredRule) -> dict[str, Any]:
    """Return coverage and replacement of a rule, with the sentences that cards print."""
    return {
        "coverage": rule.coverage_sentence,
        "texts": rule.texts,
        "groups": [
            {
                "group": effect.group,
                "verdict": effect.verdict,
                "n_texts": effect.n_texts,
                "n_predictions": effect.n_predictions,
                **{
                    name: [_number(change.mean), _number(change.low), _number(change.high)]
                    for name, change in (
                        ("off", effect.off),
                        ("rule", effect.rule),
                        ("wrong", effect.wrong),
                    )
                },
            }
            for effect in rule.effects
            if effect.n_texts
        ],
    }


def _number(value: float) -> float | None:
    """Return a number with 6 significant digits; None if it is not finite, as JSON requires."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
