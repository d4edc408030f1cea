"""What a page without a kernel holds of a DependencyArcs."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnwidget.capture.hub_model.advised_error import on_page
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.studies.words.governors import predict_governors
from attnwidget.studies.words.relation_results import RelationAccuracies
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.predictions import sentence_to_wire, too_long
from attnwidget.widgets.dependency_arcs.probe_view import ProbeView
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.pages.encoding import AS_TEXT, as_text, readable, rounded, state_of
from attnwidget.widgets.pages.page_part import Holding, Page, Part
from attnwidget.widgets.pages.size_limit import held_around, held_note
from attnwidget.widgets.wire.values import to_wire

#: More would keep the writer waiting: each is read by the model.
MOST_SENTENCES = 40
# A weight and a governor in both directions, beside a byte a cell.
_BYTES_A_WORD = 2 * (4 + 2)
# Text, relation and what JSON writes around them.
_TEXT_A_WORD = 40


def page(arcs: DependencyArcs) -> Page:
    """The sentence shown and its neighbours, with what every head predicts for them."""
    if isinstance(arcs, ProbeView):
        return _page_of_probe(arcs)
    ((stack, shape),) = arcs._shapes().items()
    part = Part(
        title="Dependency arcs of attention heads",
        state=state_of(arcs, without=("_drawn", "_measured")),
        shapes={stack: shape},
        relations=arcs._relations(),
        own={"measured": _measured(arcs.accuracies), "follows": False},
        holdings={"sentences": _sentences(arcs, shape)},
    )
    return Page({"dependency_arcs": part})


def _page_of_probe(view: ProbeView) -> Page:
    """The sentence shown: another one would need the model."""
    ((stack, shape),) = view._shapes().items()
    state = state_of(view, without=("_measured",))
    # The sentence is the only one there.
    state["_source"] = {**view._source, "count": 1}
    state["sentence"] = 0
    layers = range(view.n_layers) if isinstance(view.probe, StructuralProbe) else ()
    drawn = {str(layer): readable(view.drawn_in(layer)) for layer in layers}
    part = Part(
        title="What a probe answers",
        state=state,
        shapes={stack: shape},
        relations=view._relations(),
        own={"probe": {name: one | {"sentence": 0} for name, one in drawn.items()}},
        remark="holds the sentence shown: others need a notebook",
    )
    return Page({"dependency_arcs": part})


def _sentences(arcs: DependencyArcs, shape: tuple[int, int]) -> Holding:
    sizes = [_size(sentence, shape) for sentence in arcs.sentences]

    def embed(room: float) -> tuple[dict[str, Any], list[str]]:
        held = held_around(arcs.sentence, sizes, room, MOST_SENTENCES)
        sentences = [_embedded(arcs, index) for index in held]
        exact = "weights between words rounded to 8 bits, those of predicted arcs exact"
        notes = [held_note(held, len(sizes), "sentence"), exact]
        return {"first": held.start, "held": sentences}, notes

    what = "the sentence with every head's map"
    return Holding(what, "show a shorter sentence", sizes[arcs.sentence], embed)


def _size(sentence: Sentence, shape: tuple[int, int]) -> float:
    """Return the number of bytes in the page of one sentence with the predictions of every head."""
    m = len(sentence)
    n_heads = shape[0] * shape[1]
    return AS_TEXT * n_heads * (m * m + _BYTES_A_WORD * m) + _TEXT_A_WORD * m


def _embedded(arcs: DependencyArcs, index: int) -> dict[str, Any]:
    """Words and tree of a sentence, and every head's predictions.

    Governors and the weights behind them are exact; the other weights of the word maps are rounded
    to 8 bits.
    """
    sentence = arcs.sentences[index]
    problem = too_long(sentence)
    predicted = None
    if not problem:
        unit = arcs.accuracies.unit if arcs.accuracies else "words"
        try:
            prediction = predict_governors(
                arcs.model, sentence, unit=unit, by_clitic=arcs._by_clitic()
            )
        except ValueError as error:
            problem = on_page(error)
        else:
            m = len(sentence)
            pairs = [rounded(word_map) for word_map in prediction.maps.reshape(-1, m, m)]
            predicted = {
                "governors": as_text(prediction.governors.astype(np.uint16)),
                "weights": as_text(prediction.weights.astype(np.float32)),
                "maps": as_text(np.stack([levels for levels, _ in pairs])),
                "maxima": [maximum for _, maximum in pairs],
            }
    drawn = sentence_to_wire(index, sentence, None, None, problem)
    return {"drawn": readable(drawn), "predicted": predicted}


def _measured(relations: RelationAccuracies | None) -> dict[str, Any] | None:
    """How often every head is right on every relation, where that was measured."""
    if relations is None:
        return None
    numbers: dict[str, Any] = readable(
        {
            "relations": list(relations.relations),
            "correct": to_wire(relations.correct.astype(np.int32)),
            "counts": to_wire(relations.counts.astype(np.int32)),
            "baseline": to_wire(relations.baseline.astype(np.float32)),
            "offsets": to_wire(relations.baseline_offset.astype(np.int32)),
        }
    )
    return numbers
