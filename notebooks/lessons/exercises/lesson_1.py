"""Lesson 1: the numbers of a head of five tokens. Needs numpy only."""

from __future__ import annotations

import numpy as np

from exercises.checking import Exercise, count, number, numbers

TOKENS = ["the", "nurse", "said", "she", "slept"]
#: "Is it a person?" and "Is it an action?", for the key and for the query.
KEYS = np.array([[0, 0], [3, 0], [0, 2], [2, 0], [0, 3]], float)
QUERIES = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [2, 0]], float)
VALUES = np.array([[0, 0], [1, 0], [0, 1], [1, 0], [0, 1]], float)
SHE = TOKENS.index("she")


def scores(query: int) -> np.ndarray:
    """The scores of all keys for a query."""
    return KEYS @ QUERIES[query] / np.sqrt(2)


def weights(query: int) -> np.ndarray:
    """The weights of a query."""
    powers = np.exp(scores(query))
    return powers / powers.sum()


EXERCISES = {
    "1.1": Exercise(
        numbers(5),
        lambda: scores(SHE),
        (
            "Multiply the query of she with the key of each token, and add up the two products.",
            "`keys @ query` has all five sums at once. Then divide by the square root of 2.",
            "`keys @ queries[3] / np.sqrt(2)`.",
        ),
        "A key that points in the direction of the query has a large score.",
        [
            (
                lambda: KEYS @ QUERIES[SHE],
                "These are the products. The score is the product divided by the square root of "
                "the number of dimensions, which is 2.",
            ),
        ],
    ),
    "1.2": Exercise(
        numbers(5),
        lambda: weights(SHE),
        (
            "Raise e to the power of each score: `np.exp(scores)`.",
            "Divide each power by the sum of all five powers, so that the weights add up to 1.",
            "`np.exp(scores) / np.exp(scores).sum()`.",
        ),
        "All five weights are positive and add up to 1. This step is called softmax.",
        [
            (
                lambda: np.exp(scores(SHE)),
                "These are the powers. Divide them by their sum, so that they add up to 1.",
            ),
            (
                lambda: scores(SHE) / scores(SHE).sum(),
                "These are shares of the scores. Raise e to the power of each score first.",
            ),
        ],
    ),
    "1.3": Exercise(
        number(0.05),
        lambda: 5 * weights(SHE)[1],
        (
            "The even share of five tokens is one fifth.",
            "Divide the weight of nurse by the even share.",
            "`weights[1] / (1 / 5)`.",
        ),
        "Compare a weight with the even share before you call it large.",
        [
            (lambda: weights(SHE)[1], "This is the weight itself. Divide it by the even share."),
            (lambda: 0.2, "This is the even share. Divide the weight of nurse by it."),
        ],
    ),
    "1.4": Exercise(
        numbers(2),
        lambda: weights(SHE) @ VALUES,
        (
            "Multiply the value of each token by its weight, then add up the five results.",
            "The result has two numbers, as each value has. `@` multiplies and adds up.",
            "`weights @ values`.",
        ),
        "The output is a mixture of the values, and most of it comes from two persons.",
        [(lambda: VALUES[1], "This is the value of nurse alone. All five tokens take part.")],
    ),
    "1.5": Exercise(
        count(),
        lambda: int(np.argmax(weights(4))),
        (
            "Change the query: use the query of slept instead of the query of she.",
            "The queries of she and of slept are the same numbers. So what about the weights?",
            "The largest weight is at the place of nurse, counted from 0.",
        ),
        "Two tokens with the same query have the same weights in this head.",
        [(lambda: 4, "This is the place of slept itself, whose key answers another question.")],
    ),
}
