"""Lesson 5: why a head looks at a token, and what it writes."""

from __future__ import annotations

from functools import cache

import numpy as np

from attnwidget import Attention, load_model
from attnwidget.mechanisms import head_writes, link_factors, score_sources
from exercises.checking import Exercise, number, numbers, word

TEXT = "The captain told his men that he would not leave the ship."
CHANGED = "The woman told his men that he would not leave the ship."
LAYER = 1
HEAD = 3


@cache
def attended(text: str) -> Attention:
    """The attention to a text."""
    return load_model().attend(text)


def weights_of_he(text: str) -> dict[str, float]:
    """The weight from "he" to each token in L1 H3; a token that occurs twice has the last."""
    attention = attended(text)
    tokens = attention.tokens
    row = attention.weights(LAYER, HEAD)[tokens.index("he")]
    return {token: float(weight) for token, weight in zip(tokens, row, strict=True)}


@cache
def factors() -> dict[str, float]:
    """The factors of the ratio of the weights of captain and his."""
    attention = attended(TEXT)
    he, captain, his = (attention.tokens.index(token) for token in ("he", "captain", "his"))
    return link_factors(attention, LAYER, HEAD, he, captain, his).factors


def place_and_heads() -> float:
    """The product of the factors of the place and of earlier heads."""
    return factors()["place"] * factors()["heads"]


@cache
def sources() -> list[tuple[str, str, float]]:
    """The pairs of writers with the largest parts, the largest first."""
    attention = attended(TEXT)
    he, captain, his = (attention.tokens.index(token) for token in ("he", "captain", "his"))
    found = score_sources(attention, LAYER, HEAD, he, captain, his)
    return [(str(q), str(k), float(value)) for q, k, value in found.strongest(8)]


def ratio() -> float:
    """The logarithm of the ratio of the weights of captain and his."""
    weights = weights_of_he(TEXT)
    return float(np.log(weights["captain"] / weights["his"]))


def share_of_captain() -> float:
    """The share of captain in the output of the head at "he"."""
    attention = attended(TEXT)
    he, captain = (attention.tokens.index(token) for token in ("he", "captain"))
    table = head_writes(attention, LAYER, HEAD, position=he).to_frame()
    return float(table.set_index("key").loc[captain, "share"])


EXERCISES = {
    "5.1": Exercise(
        number(0.02),
        ratio,
        (
            "The difference of two scores is the logarithm of the ratio of their weights.",
            "Divide the weight of captain by the weight of his, then take `np.log`.",
            "`np.log(row[captain] / row[his])`.",
        ),
        "Now you know a difference of scores, though you have only seen weights.",
        [
            (
                lambda: float(np.exp(ratio())),
                "This is the ratio of the weights. Take its logarithm with `np.log`.",
            ),
            (lambda: -ratio(), "This is the difference the other way round, his minus captain."),
        ],
    ),
    "5.2": Exercise(
        number(0.02),
        place_and_heads,
        (
            "`found.factors` has one number for each part. Factors are multiplied.",
            'The parts have the names "place" and "heads".',
            '`found.factors["place"] * found.factors["heads"]`.',
        ),
        "Not much more than 1. The word itself makes the weight eleven times as large.",
        [
            (
                lambda: factors()["place"] + factors()["heads"],
                "This is the sum. Factors are multiplied.",
            ),
            (
                lambda: float(np.prod(list(factors().values()))),
                "This is the product of all three. Leave the word out.",
            ),
        ],
    ),
    "5.3": Exercise(
        word(),
        lambda: sources()[0][1],
        (
            "Read the list of pairs. The largest part is in the first line.",
            "Before the cross stands the writer of the query, after it the writer of the key.",
            "It is the name after the cross in the first line of the list.",
        ),
        "The key is mostly the word itself: which token it is matters most here.",
    ),
    "5.4": Exercise(
        number(0.01),
        lambda: weights_of_he(CHANGED)["woman"],
        (
            "Read the changed text with `model.attend`.",
            "Then take the weight as before: `changed.weights(1, 3)[he, woman]`, with the places "
            "of both words in `changed.tokens`.",
            '`changed = model.attend("The woman told his men that he would not leave the '
            'ship.")`, and both words are at the places of he and captain.',
        ),
        "A quarter of the weight of captain. The key of woman answers the query of he less well.",
        [
            (
                lambda: weights_of_he(TEXT)["captain"],
                "This is the weight of captain in the old sentence.",
            ),
        ],
    ),
    "5.5": Exercise(
        numbers(2),
        lambda: np.array([weights_of_he(TEXT)["captain"], share_of_captain()]),
        (
            "Both numbers stand in the row of captain in the table `writes`.",
            "First the column `weight`, then the column `share`.",
            '`row = writes.set_index("key").loc[captain]`, then `[row["weight"], row["share"]]`.',
        ),
        "captain has little more than half of the weight, and nine tenths of the output.",
        [
            (
                lambda: np.array([share_of_captain(), weights_of_he(TEXT)["captain"]]),
                "These are the right numbers in the wrong order: the weight comes first.",
            ),
        ],
    ),
}
