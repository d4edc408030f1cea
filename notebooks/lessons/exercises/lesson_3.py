"""Lesson 3: heads and the relations of grammar."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from attnwidget import load_model
from attnwidget.demo import demo_treebank
from attnwidget.words import predict_governors, probe_relations
from exercises.checking import Exercise, count, head, number, word

SENTENCE = 54
LEAST = 40


@cache
def maps() -> np.ndarray:
    """The weights between the words of the sentence, [layer, head, word, word]."""
    return predict_governors(load_model(), demo_treebank()[SENTENCE]).maps


@cache
def best() -> Any:
    """The best head of each relation with at least `LEAST` pairs."""
    relations = probe_relations(load_model(), demo_treebank(), progress=False)
    return relations.best(min_count=LEAST).set_index("relation")


def looked_at(layer: int, number: int, of: str) -> str:
    """The word that a word of the sentence looks at most."""
    words = list(demo_treebank()[SENTENCE].words)
    return str(words[int(maps()[layer, number, words.index(of)].argmax())])


def right_share(layer: int, number: int) -> float:
    """The share of words whose largest weight goes to their governor."""
    sentence = demo_treebank()[SENTENCE]
    chosen = maps()[layer, number].argmax(-1)
    pairs = [(place, governor - 1) for place, governor in enumerate(sentence.governors) if governor]
    return float(np.mean([chosen[place] == governor for place, governor in pairs]))


def gain(relation: str) -> float:
    """Percentage points of the best head over the best offset."""
    row = best().loc[relation]
    return float(100 * (row["accuracy"] - row["baseline"]))


def not_significant() -> int:
    """The number of relations whose best head may be no better than the offset."""
    return int((~best()["significant"]).sum())


EXERCISES = {
    "3.1": Exercise(
        word(),
        lambda: looked_at(2, 8, "around"),
        (
            "Take the row of around in the map of L2 H8: `word_maps[2, 8, query]`.",
            "`.argmax()` is the place of the largest weight. `words[place]` is the word.",
            '`words[word_maps[2, 8, words.index("around")].argmax()]`.',
        ),
        "The preposition looks over the number to its noun, as the tree says.",
        [
            (
                lambda: "two",
                "This is the next word. Is the weight of a word further on larger?",
            ),
        ],
    ),
    "3.2": Exercise(
        number(0.01),
        lambda: right_share(2, 8),
        (
            "Go through `pairs`: does the word at the first place look most at the second place?",
            "`word_maps[2, 8, word].argmax() == governor` is True if the head is right.",
            "`np.mean([word_maps[2, 8, word].argmax() == governor for word, governor in pairs])`.",
        ),
        "A head that finds its articles can be wrong for half of the words.",
    ),
    "3.3": Exercise(
        head(),
        lambda: (int(best().loc["obj", "layer"]), int(best().loc["obj", "head"])),
        (
            "Find the row `obj` in the table `best`.",
            "Read the columns `layer` and `head`. Both count from 0.",
            'In the row `obj`: `best.loc["obj", ["layer", "head"]]`.',
        ),
        "The object looks at its verb in this head, for four of five objects.",
    ),
    "3.4": Exercise(
        number(0.6),
        lambda: gain("obj"),
        (
            "The rule without a model is in the column `baseline`.",
            "Subtract `baseline` from `accuracy` in the row `obj`, times 100.",
            '`100 * (best.loc["obj", "accuracy"] - best.loc["obj", "baseline"])`.',
        ),
        "The head knows much more than the rule of counting words.",
        [
            (
                lambda: gain("obj") / 100,
                "This is a share. Percentage points are the share times 100.",
            ),
            (
                lambda: 100 * float(best().loc["obj", "accuracy"]),
                "This is the accuracy itself. Subtract the baseline.",
            ),
        ],
    ),
    "3.5": Exercise(
        count(),
        not_significant,
        (
            "The column `significant` is True if chance is an unlikely reason for the gain.",
            "Count the rows in which it is False.",
            '`(~best["significant"]).sum()`.',
        ),
        "For most rows, this treebank cannot show that the best head beats the rule.",
        [
            (
                lambda: int(best()["significant"].sum()),
                "This is the number of significant relations. Count the others.",
            ),
        ],
    ),
}
