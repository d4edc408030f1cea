"""Lesson 4: what the model says without a head."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import spearmanr

from attnwidget import ablate, load_model
from attnwidget.demo import demo_minimal_pairs
from exercises.checking import Exercise, count, head, number

TEXT = "The girl saw [MASK] in the mirror."
ANSWER = "her"
KEY = "girl"
N_PAIRS = 120


@cache
def intact() -> float:
    """The probability of the answer in the intact model."""
    return float(load_model().predict(TEXT).probability(ANSWER))


@cache
def drops() -> np.ndarray:
    """The probability that the answer loses without each head, [layer, head]."""
    model = load_model()
    lost = np.zeros((model.n_layers, model.n_heads))
    for place in np.ndindex(lost.shape):
        with model.disabled([place], method="zero"):
            lost[place] = intact() - model.predict(TEXT).probability(ANSWER)
    return lost


@cache
def looks() -> np.ndarray:
    """The weight from the mask to the key in each head, [layer, head]."""
    attention = load_model().attend(TEXT)
    tokens = attention.tokens
    return attention.weights()[:, :, tokens.index("[MASK]"), tokens.index(KEY)]


@cache
def broken() -> int:
    """The number of pairs that are right in the intact model and wrong without L5 H8."""
    found = ablate(
        load_model(),
        demo_minimal_pairs()[:N_PAIRS],
        scoring="minimal pair",
        method="zero",
        heads=[(5, 8)],
        progress=False,
    )
    return int(((found.intact == 1) & (found.head_scores[5, 8] == 0)).sum())


def agreement() -> float:
    """The rank correlation of weights and drops."""
    return float(spearmanr(looks().ravel(), drops().ravel())[0])


def strongest(scores: np.ndarray) -> tuple[int, int]:
    """The head with the largest score."""
    layer, number = np.unravel_index(np.argmax(scores), scores.shape)
    return int(layer), int(number)


EXERCISES = {
    "4.1": Exercise(
        number(0.0005),
        lambda: intact() - drops()[5, 2],
        (
            "Copy the cell that switches L5 H8 off, and change the number of the head.",
            '`with model.disabled([(5, 2)], method="zero"):`, then `model.predict(text)`.',
            'Inside the block: `without = model.predict(text).probability("her")`.',
        ),
        "L5 H2 looks at girl as much as L5 H8 does, and the prediction does not need it.",
        [
            (intact, "This is the probability in the intact model, or of a block that has ended."),
            (
                lambda: intact() - drops()[5, 8],
                "This is the probability without L5 H8. Switch L5 H2 off instead.",
            ),
        ],
    ),
    "4.2": Exercise(
        head(),
        lambda: strongest(drops()),
        (
            "`drops` has what the answer loses without each head. Where is it largest?",
            "Use `strongest_head` of lesson 2, which is in this notebook too.",
            "`strongest_head(drops)`.",
        ),
        "This head hardly looks at girl, and the prediction depends on it.",
        [
            (
                lambda: strongest(-drops()),
                "Without this head the answer gains most. Look for the largest loss.",
            ),
            (
                lambda: strongest(looks()),
                "This head looks at girl most. The question is about `drops`.",
            ),
        ],
    ),
    "4.3": Exercise(
        count(),
        lambda: int((drops() < 0).sum()),
        (
            "If the answer gains probability without a head, the drop is negative.",
            "Count the negative numbers of `drops`.",
            "`(drops < 0).sum()`.",
        ),
        "Heads are not all in favor of the right answer.",
        [
            (
                lambda: int((drops() > 0).sum()),
                "These heads help: the answer loses without them. Count the others.",
            ),
        ],
    ),
    "4.4": Exercise(
        number(0.02),
        agreement,
        (
            "`spearmanr` takes two lists of equal length.",
            "`.ravel()` turns an array of 6 x 12 numbers into a list of 72.",
            "`spearmanr(looks.ravel(), drops.ravel())[0]`.",
        ),
        "It is close to 0: in this sentence, a large weight hardly tells which head matters.",
    ),
    "4.5": Exercise(
        count(),
        broken,
        (
            "`test.intact` and `test.head_scores[5, 8]` have one number a pair, 1 for right.",
            "Count the pairs that have 1 in the first and 0 in the second.",
            "`((test.intact == 1) & (test.head_scores[5, 8] == 0)).sum()`.",
        ),
        "And no pair becomes right, so the loss is unlikely to be chance.",
    ),
}
