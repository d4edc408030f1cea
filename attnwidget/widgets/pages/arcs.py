"""The sentences that a page's DependencyArcs can show: the one shown and its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnwidget.studies.relation_results import RelationAccuracies
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs import DependencyArcs
from attnwidget.widgets.pages.room import AS_TEXT, held_around
from attnwidget.widgets.pages.rounding import as_text, rounded
from attnwidget.widgets.pages.states import readable
from attnwidget.widgets.wire import to_wire

#: More would keep the writer waiting: each is read by the model.
MOST_SENTENCES = 40
# A weight and a governor in both directions, beside a byte a cell.
_BYTES_A_WORD = 2 * (4 + 2)
# Text, relation and what JSON writes around them.
_TEXT_A_WORD = 40


def sentence_size(arcs: DependencyArcs, sentence: Sentence) -> float:
    """Bytes in the page of one sentence with what every head predicts for it."""
    n_heads = sum(layers * heads for layers, heads in _shapes(arcs).values())
    m = len(sentence)
    return AS_TEXT * n_heads * (m * m + _BYTES_A_WORD * m) + _TEXT_A_WORD * m


def held_sentences(arcs: DependencyArcs, room: float) -> range:
    """The sentences around the one shown that fit into `room` bytes."""
    sizes = [sentence_size(arcs, sentence) for sentence in arcs.sentences]
    return held_around(arcs.sentence, sizes, room, MOST_SENTENCES)


def embedded_sentences(arcs: DependencyArcs, held: range, *, follows: bool) -> dict[str, Any]:
    """Words, tree and every head's predictions of the sentences in `held`.

    With `follows`, choosing a relation shows a sentence that has it. Governors and the weights
    behind them are exact; the other weights of the word maps are rounded to 8 bits.

    Raises:
        RuntimeError: the model was closed.
    """
    ((stack, shape),) = _shapes(arcs).items()
    # A widget of its own goes through them: the user's stays where it is.
    reader = DependencyArcs(
        arcs.model,
        [arcs.sentences[index] for index in held],
        arcs.accuracies,
        selected=[(0, 0, stack)],
    )
    try:
        sentences = [_read(reader, at, index) for at, index in enumerate(held)]
    finally:
        reader.close()
    return {
        "first": held.start,
        "follows": follows,
        "stack": stack,
        "shape": list(shape),
        "held": sentences,
        "measured": _measured(arcs.accuracies),
    }


def _read(reader: DependencyArcs, at: int, index: int) -> dict[str, Any]:
    reader.sentence = at
    drawn = reader.get_state()["_drawn"] | {"sentence": index, "head": None, "predicted": None}
    if drawn["problem"]:
        return {"drawn": readable(drawn), "predicted": None}
    found = reader.predictions
    m = found.maps.shape[-1]
    pairs = [rounded(one) for one in found.maps.reshape(-1, m, m)]
    return {
        "drawn": readable(drawn),
        "predicted": {
            "governors": as_text(found.governors.astype(np.uint16)),
            "weights": as_text(found.weights.astype(np.float32)),
            "maps": as_text(np.stack([levels for levels, _ in pairs])),
            "maxima": [maximum for _, maximum in pairs],
        },
    }


def _measured(found: RelationAccuracies | None) -> dict[str, Any] | None:
    """How often every head is right on every relation, where that was measured."""
    if found is None:
        return None
    numbers: dict[str, Any] = readable(
        {
            "relations": list(found.relations),
            "correct": to_wire(found.correct.astype(np.int32)),
            "counts": to_wire(found.counts.astype(np.int32)),
            "baseline": to_wire(found.baseline.astype(np.float32)),
            "offsets": to_wire(found.baseline_offset.astype(np.int32)),
        }
    )
    return numbers


def _shapes(arcs: DependencyArcs) -> dict[str, tuple[int, int]]:
    return dict(arcs._shapes())
