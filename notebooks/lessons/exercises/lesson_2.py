"""Lesson 2: what the heads of the small BERT look at."""

from __future__ import annotations

from functools import cache

import numpy as np

from attnwidget import load_model, measure, read_segments
from attnwidget.demo import demo_prose
from exercises.checking import Exercise, count, head, number

TEXT = "The captain told his men that he would not leave the ship until they were safe."
N_SEGMENTS = 8


@cache
def maps() -> tuple[list[str], np.ndarray]:
    """The tokens of the text, and the weights [layer, head, query, key]."""
    attention = load_model().attend(TEXT)
    return list(attention.tokens), attention.weights()


def strongest(scores: np.ndarray) -> tuple[int, int]:
    """The head with the largest score."""
    layer, number = np.unravel_index(np.argmax(scores), scores.shape)
    return int(layer), int(number)


def to_next() -> np.ndarray:
    """The mean weight of the next token, [layer, head]."""
    _, weights = maps()
    return np.diagonal(weights, offset=1, axis1=2, axis2=3).mean(-1)


def to_previous() -> np.ndarray:
    """The mean weight of the previous token, [layer, head]."""
    _, weights = maps()
    return np.diagonal(weights, offset=-1, axis1=2, axis2=3).mean(-1)


def of_they() -> np.ndarray:
    """The weights of "they" in L1 H3."""
    tokens, weights = maps()
    return weights[1, 3, tokens.index("they")]


def in_units_of_the_even_share() -> float:
    """The weight from "they" to "men" in L1 H3, divided by the even share."""
    tokens, _ = maps()
    return float(of_they()[tokens.index("men")] * len(tokens))


def led_by_cls() -> int:
    """The number of heads in which [CLS] has the largest mean weight of all tokens."""
    _, weights = maps()
    return int((weights.mean(axis=2).argmax(axis=-1) == 0).sum())


@cache
def over_texts() -> np.ndarray:
    """The mean weight of the previous token over the segments, [layer, head]."""
    model = load_model()
    segments = read_segments(demo_prose(), model, limit=N_SEGMENTS)
    found = measure(model, segments, ["position"], progress=False)
    return found["position"].heads()["previous token"]


EXERCISES = {
    "2.1": Exercise(
        head(),
        lambda: strongest(to_next()),
        (
            "The diagonal beside the main diagonal has the weights of the next token. In the "
            "example of the previous token, its offset is -1.",
            "Change the offset to +1, then use `strongest_head`.",
            "`strongest_head(np.diagonal(weights, offset=1, axis1=2, axis2=3).mean(-1))`.",
        ),
        "This head looks at the next token, but less strictly than L0 H2 at the token before.",
        [
            (
                lambda: strongest(to_previous()),
                "This head looks at the token before. The next token has the offset +1.",
            ),
        ],
    ),
    "2.2": Exercise(
        number(0.05),
        in_units_of_the_even_share,
        (
            "Take the row of they in L1 H3, and the column of men: `weights[1, 3, query, key]`.",
            "The even share is 1 divided by the number of tokens, with [CLS] and [SEP].",
            '`weights[1, 3, tokens.index("they"), tokens.index("men")] * len(tokens)`.',
        ),
        "Much more than the even share, but ship gets almost as much: the head is undecided.",
        [
            (
                lambda: in_units_of_the_even_share() / len(maps()[0]),
                "This is the weight. Divide it by the even share.",
            ),
            (
                lambda: (
                    float(maps()[1][1, 3, maps()[0].index("men"), maps()[0].index("they")])
                    * len(maps()[0])
                ),
                "This is the weight from men to they. The token that looks comes first.",
            ),
        ],
    ),
    "2.3": Exercise(
        count(),
        led_by_cls,
        (
            "`weights.mean(axis=2)` is the mean over the tokens that look: what each token gets.",
            "For each head, find the place of the largest mean with `.argmax(axis=-1)`, and count "
            "how often it is the place of [CLS], which is 0.",
            "`(weights.mean(axis=2).argmax(axis=-1) == 0).sum()`.",
        ),
        "In nearly all heads, [CLS] gets more than any word.",
    ),
    "2.4": Exercise(
        count(),
        lambda: int((over_texts() > 0.3).sum()),
        (
            "`previous` has the mean weight of the token before, one number for each head: "
            "compare it with 0.3.",
            "A comparison of an array gives True and False, and `.sum()` counts the True.",
            "`(previous > 0.3).sum()`.",
        ),
        "Over many texts only two heads keep this habit, and L0 H2 does little else.",
        [
            (
                lambda: int((to_previous() > 0.3).sum()),
                "This is the number in our one sentence. Count in `previous`, which is the mean "
                "over many texts.",
            ),
        ],
    ),
}
