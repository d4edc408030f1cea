"""The caption and the text description of figures in named states, against `captions.txt`.

The file is read as a diff after a change of the wording. This writes it again:

    ATTNWIDGET_WRITE_CAPTIONS=1 pytest tests/widgets/test_captions.py

Numbers of the model differ in their last bits between machines. Each state therefore gives the
values of the rounded numbers in its caption, and no value may be near a rounding edge.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from attnwidget import (
    Attention,
    AttentionModel,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    Sentence,
    explore,
    load_model,
)
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.drawing.picture import Picture
from attnwidget.results import Sound, Span
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.relation_table import RelationTable
from attnwidget.words.coreference import CoreferenceAccuracies, probe_coreference
from attnwidget.words.relations import RelationAccuracies, probe_relations
from fixtures import zoo
from fixtures.coreference_passages import PASSAGES
from fixtures.pictures import picture_attention, sound_attention
from fixtures.recording import on_page
from references.formula_attention import FormulaAttention

pytestmark = pytest.mark.usefixtures("recording")

STORED = Path(__file__).with_name("captions.txt")
WRITE = "ATTNWIDGET_WRITE_CAPTIONS"

TEXT = "The captain told his men that he would not leave the unsinkable ship."
QUESTION = "The woman washed [MASK] hands."
OFF = [(1, 3), (2, 0)]
TWO_TEXTS = ("The cat sits on the mat.", "The cats sit on the mat, today.")
PROMPT = "He had been with them in the night. He had been with"
THREE_HEADS = [(1, 2), (2, 4), (2, 7)]
#: Part of a long input, with a link of 0.456 in its middle.
NEEDLE = (7084, 7116, 1218, 1250)

SENTENCES = [
    Sentence.from_lists(
        ["The", "old", "cat", "sat", "on", "my", "mat"],
        [3, 3, 4, 0, 7, 7, 4],
        ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
    ),
    Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence.from_lists(
        ["The", "end", "of", "the", "day"],
        [2, 0, 5, 5, 2],
        ["det", "root", "case", "det", "nmod"],
    ),
]

#: Limits that captions state and that no model computes.
LIMITS = (0.9, 1.5, 3)
#: Least distance of a value to a rounding edge, in units of the last printed digit.
CLEARANCE = 1e-3


@dataclasses.dataclass
class Inputs:
    """What the states are made of."""

    model: AttentionModel
    attention: Attention
    pair: Attention
    question: Attention
    two_texts: tuple[Attention, Attention]
    written: Attention
    long: Attention
    coreference: CoreferenceAccuracies
    relations: RelationAccuracies
    values: list[float]

    def prints(self, *values: float) -> None:
        """Add unrounded values, in percent or in their own unit, that the caption rounds."""
        self.values += map(float, values)


State = Callable[[Inputs], Any]
STATES: dict[str, State] = {}


def state(name: str) -> Callable[[State], State]:
    """Register a figure under its name and state."""

    def registered(make: State) -> State:
        assert name not in STATES
        STATES[name] = make
        return make

    return registered


@pytest.fixture(scope="module")
def inputs(model: AttentionModel) -> Inputs:
    documents = [
        Document.from_spans(p.words, p.spans, governors=p.governors, tags=p.tags, name=p.name)
        for p in PASSAGES[:9]  # 14 mentions: no share of them is a half percent
    ]
    return Inputs(
        model,
        model.attend(TEXT),
        model.attend("The cat sat on the mat.", "It was very tired."),
        model.attend(QUESTION),
        (model.attend(TWO_TEXTS[0]), model.attend(TWO_TEXTS[1])),
        load_model("attnwidget/induction", device="cpu").generate(PROMPT, max_new_tokens=8),
        FormulaAttention(8192),
        probe_coreference(model, documents, progress=False),
        probe_relations(model, SENTENCES, progress=False),
        [],
    )


@state("HeadGrid")
def _(given: Inputs) -> Any:
    return HeadGrid(given.attention)


@state("HeadGrid, one selected head")
def _(given: Inputs) -> Any:
    return HeadGrid(given.attention, selected=[(3, 5)], hidden=[])


@state("HeadGrid, eight selected heads")
def _(given: Inputs) -> Any:
    return HeadGrid(given.attention, selected=[(0, head) for head in range(8)])


for scale in ("linear", "sqrt", "log"):

    @state(f"HeadGrid, scale {scale}")
    def _(given: Inputs, scale: str = scale) -> Any:
        return HeadGrid(given.attention, scale=scale)


@state("HeadGrid, hidden tokens")
def _(given: Inputs) -> Any:
    return HeadGrid(given.attention, hidden=["cls", "sep"])


@state("HeadGrid, words")
def _(given: Inputs) -> Any:
    return HeadGrid(given.attention, unit="words", hidden=["cls", "sep"])


@state("HeadGrid, every token hidden")
def _(given: Inputs) -> Any:
    alone = Attention.from_weights(np.ones((1, 2, 1, 1), np.float32), ["[CLS]"])
    return HeadGrid(alone, hidden=["cls"])


@state("HeadGrid, block maxima of a long input")
def _(given: Inputs) -> Any:
    weights = np.full((1, 2, 130, 130), 1 / 130, np.float32)
    return HeadGrid(Attention.from_weights(weights, [f"t{i}" for i in range(130)]))


@state("HeadGrid, norms")
def _(given: Inputs) -> Any:
    given.prints(max(given.attention.norms(layer).max() for layer in range(6)))
    return HeadGrid(given.attention, quantity="norms", hidden=[])


def _with_metric(given: Inputs, **options: Any) -> HeadGrid:
    values = np.arange(72, dtype=np.float32).reshape(6, 12) / 71
    return HeadGrid(given.attention, metrics={"rank": values}, metric="rank", **options)


@state("HeadGrid, metric in the rows")
def _(given: Inputs) -> Any:
    return _with_metric(given, sort="rows")


@state("HeadGrid, metric over all heads with a filter")
def _(given: Inputs) -> Any:
    return _with_metric(given, sort="all", filter=(0.9, 1.0))


@state("HeadGrid, heads switched off")
def _(given: Inputs) -> Any:
    changes = given.attention.disabled(OFF).changes(given.attention)
    changes[[1, 2], [3, 0]] = 0
    given.prints(changes.max())
    return HeadGrid(given.attention, disabled=OFF)


@state("HeadGrid, heads set to zero against the intact model")
def _(given: Inputs) -> Any:
    off = given.attention.disabled(OFF, "zero")
    apart = np.abs(off.weights() - given.attention.weights())[..., 1:-1, 1:-1]
    changes = off.changes(given.attention)
    for layer, head in OFF:
        apart[layer, head] = changes[layer, head] = 0
    given.prints(100 * apart.max(), changes.max())
    return HeadGrid(given.attention, disabled=OFF, method="zero", versus="intact")


@state("HeadGrid, against the intact model with no head off")
def _(given: Inputs) -> Any:
    return HeadGrid(given.attention, versus="intact")


@state("HeadGrid, a locked token with a head off")
def _(given: Inputs) -> Any:
    changes = given.attention.disabled([(1, 3)]).changes(given.attention)
    changes[1, 3] = 0
    given.prints(changes.max())
    return HeadGrid(given.attention, tokens=[("query", 7)], disabled=[(1, 3)])


@state("HeadView, lines")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, 3, 5, hidden=[], mode="lines")


@state("HeadView, matrix")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, 3, 5, hidden=[], mode="matrix")


for scale in ("linear", "sqrt", "log"):

    @state(f"HeadView, lines, scale {scale}")
    def _(given: Inputs, scale: str = scale) -> Any:
        given.prints(100 * given.attention.weights(3, 5).max())
        return HeadView(given.attention, 3, 5, scale=scale, hidden=[], mode="lines")


@state("HeadView, a locked token")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, 3, 5, tokens=[("query", 3)], hidden=[], mode="lines")


@state("HeadView, a locked key on a relative scale")
def _(given: Inputs) -> Any:
    given.prints(100 * given.attention.weights(3, 5)[:, 0].max())
    tokens = [("key", 0)]
    return HeadView(given.attention, 3, 5, tokens=tokens, scale="sqrt", hidden=[], mode="lines")


@state("HeadView, a locked pair")
def _(given: Inputs) -> Any:
    return HeadView(
        given.attention, 3, 5, mode="matrix", tokens=[("query", 3), ("key", 4)], hidden=[]
    )


@state("HeadView, hidden tokens")
def _(given: Inputs) -> Any:
    weights = given.pair.weights(3, 5)
    special = [i for i, kind in enumerate(given.pair.stacks["self"].key.special) if kind]
    rows = [i for i in range(len(weights)) if i not in special]
    given.prints(100 * weights[rows][:, special].sum() / weights[rows].sum())
    return HeadView(given.pair, 3, 5, hidden=["cls", "sep"], mode="matrix")


@state("HeadView, from the first sentence to the second")
def _(given: Inputs) -> Any:
    weights = given.pair.weights(3, 5)
    segments = np.array(given.pair.stacks["self"].query.segments)
    given.prints(100 * weights[segments == 0][:, segments == 0].sum() / (segments == 0).sum())
    return HeadView(given.pair, 3, 5, sentences="ab", mode="matrix")


@state("HeadView, words")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, 3, 5, unit="words", hidden=[], mode="matrix")


@state("HeadView, norms")
def _(given: Inputs) -> Any:
    given.prints(given.attention.norms(3, 5).max())
    return HeadView(given.attention, 3, 5, quantity="norms", hidden=[], mode="matrix")


@state("HeadView, masked cells")
def _(given: Inputs) -> Any:
    queries, keys = np.random.default_rng(0).normal(size=(2, 1, 1, 4, 3)).astype(np.float32)
    mask = np.ones((1, 1, 4, 4), bool)
    mask[..., 2] = False
    masked = Attention.from_queries_keys(queries, keys, scale=1, mask=mask, tokens=list("abcd"))
    return HeadView(masked, 0, 0, mode="matrix", hidden=[])


@state("HeadView, a window of the matrix")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, 3, 5, window=(1, 6, 2, 8), hidden=[], mode="matrix")


@state("HeadView, highlighted words and a head off")
def _(given: Inputs) -> Any:
    options = {"highlight": ["he"], "disabled": [(1, 3)]}
    return HeadView(given.attention, 3, 5, mode="matrix", hidden=[], **options)


@state("HeadView, the head is off")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, 1, 3, disabled=[(1, 3)], mode="matrix", hidden=[])


@state("HeadView, no head selected")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, selected=[])


def _differing(given: Inputs, **options: Any) -> HeadView:
    first, second = given.two_texts
    view = HeadView(first, versus=second, layer=2, head=3, **options)
    given.prints(100 * np.nanmax(np.abs(view.difference)))
    return view


@state("HeadView, two texts, matrix")
def _(given: Inputs) -> Any:
    return _differing(given, mode="matrix", tokens=[("query", 1)])


@state("HeadView, two texts, lines")
def _(given: Inputs) -> Any:
    given.prints(20, 0.1)  # the limits of drawn differences
    return _differing(given, mode="lines")


for part in ("difference", "first", "second"):

    @state(f"HeadView, two texts, part {part}")
    def _(given: Inputs, part: str = part) -> Any:
        return _differing(given, mode="matrix", comparison_part=part)


@state("HeadView, two texts with long names")
def _(given: Inputs) -> Any:
    texts = [
        f"They said that the captain of the long ship told {whose} men." for whose in ("his", "her")
    ]
    first, second = map(given.model.attend, texts)
    view = HeadView(first, 1, 3, versus=second, mode="matrix", hidden=[])
    given.prints(100 * np.nanmax(np.abs(view.difference)))
    return view


@state("HeadView, two models")
def _(given: Inputs) -> Any:
    first, _ = given.two_texts
    other = load_model("attnwidget/genre", device="cpu").attend(TWO_TEXTS[0])
    view = HeadView(first, 5, 4, versus=other, mode="matrix")
    given.prints(100 * np.abs(view.difference).max())
    return view


@state("HeadView, two texts of a causal model")
def _(given: Inputs) -> Any:
    causal = load_model("attnwidget/induction", device="cpu")
    first, second = map(causal.attend, ("He had been here.", "He had gone here."))
    view = HeadView(first, 1, 2, versus=second, mode="matrix")
    given.prints(100 * np.nanmax(np.abs(view.difference)))
    return view


@state("HeadView, heads switched off against the intact model")
def _(given: Inputs) -> Any:
    options = {"disabled": [(1, 3)], "versus": "intact"}
    view = HeadView(given.attention, 3, 5, mode="matrix", hidden=[], **options)
    given.prints(100 * np.abs(view.difference).max())
    return view


@state("HeadView, two texts, the head is off")
def _(given: Inputs) -> Any:
    first, second = given.two_texts
    view = HeadView(first, 1, 3, versus=second, disabled=[(1, 3)], mode="matrix", hidden=[])
    # The head that is off has no weights.
    given.prints(100 * second.weights(1, 3).max())
    return view


@state("HeadGrid, two texts")
def _(given: Inputs) -> Any:
    first, second = given.two_texts
    largest = draw_thumbnails(first, minus=second).maxima.max()
    given.prints(100 * largest, first.changes(second).max())
    return HeadGrid(first, versus=second)


for arrangement, mode in product(("beside", "overlay"), ("matrix", "lines")):

    @state(f"HeadView, three heads, {arrangement}, {mode}")
    def _(given: Inputs, arrangement: str = arrangement, mode: str = mode) -> Any:
        return _several(given, selected=THREE_HEADS, arrangement=arrangement, mode=mode)


def _several(given: Inputs, **options: Any) -> HeadView:
    return HeadView(given.attention, hidden=[], **options)


@state("HeadView, three heads, one of them off")
def _(given: Inputs) -> Any:
    options = {"arrangement": "beside", "mode": "matrix", "disabled": [(2, 4)]}
    return _several(given, selected=THREE_HEADS, **options)


@state("HeadView, seven heads beside each other")
def _(given: Inputs) -> Any:
    heads = [*((layer, layer) for layer in range(6)), (0, 5)]
    return _several(given, selected=heads, arrangement="beside", mode="matrix")


@state("HeadView, a layer of heads beside each other")
def _(given: Inputs) -> Any:
    options = {"arrangement": "beside", "shown_heads": "layer", "mode": "matrix"}
    return _several(given, selected=[(2, 7)], **options)


@state("HeadView, a layer of heads in one drawing")
def _(given: Inputs) -> Any:
    options = {"arrangement": "overlay", "shown_heads": "layer", "mode": "lines"}
    return _several(given, selected=[(2, 7)], **options)


@state("HeadView, heads of two stacks in one drawing")
def _(given: Inputs) -> Any:
    t5 = load_model(zoo.build("t5"), device="cpu")
    attention = t5.attend(zoo.inputs("t5", batch=1, padded=0))
    selected = [(0, 0, "encoder"), (0, 1, "encoder"), (0, 0, "decoder")]
    return HeadView(attention, selected=selected, arrangement="overlay", mode="lines")


@state("HeadView, places of a picture, from a patch")
def _(given: Inputs) -> Any:
    view = HeadView(picture_attention(registers=2), layer=1, tokens=[("query", 5)])
    _prints_places(given, view.weights[5, 3:])
    return view


@state("HeadView, places of a picture, to a patch")
def _(given: Inputs) -> Any:
    view = HeadView(picture_attention(), tokens=[("key", 6)])
    _prints_places(given, view.weights[1:, 6])
    return view


@state("HeadView, places of a picture, no locked token")
def _(given: Inputs) -> Any:
    view = HeadView(picture_attention(), hidden=["cls"])
    _prints_places(given, view.weights[0, 1:])
    return view


def _prints_places(given: Inputs, weights: Any) -> None:
    """Add the three largest weights of places."""
    given.prints(*(100 * np.sort(weights)[-3:]))


@state("HeadView, places of one picture in two models")
def _(given: Inputs) -> Any:
    view = HeadView(picture_attention(0), versus=picture_attention(1))
    given.prints(100 * np.abs(view.difference).max())
    return view


@state("HeadView, places of a sound, from a word")
def _(given: Inputs) -> Any:
    view = HeadView(sound_attention(), stack="cross", tokens=[("query", 1)])
    _prints_places(given, view.weights[1])
    given.prints(0.2, 0.3, 0.8, 0.9, 1.0)  # seconds
    return view


@state("HeadView, places of a sound, from all words")
def _(given: Inputs) -> Any:
    view = HeadView(sound_attention(), stack="cross")
    _prints_places(given, view.weights.mean(axis=0))
    given.prints(0.2, 0.3, 1.2, 1.3, 1.4, 1.5)  # seconds
    return view


@state("HeadView, places of a sound, words over time")
def _(given: Inputs) -> Any:
    view = HeadView(_transcript(), 0, 1, stack="cross")
    _prints_places(given, view.weights[0])
    given.prints(0.16, 0.18, 0.2, 0.22)  # seconds
    return view


def _transcript() -> Attention:
    """Return cross-attention whose second head follows the words of a sound."""
    words = ["word0", "word1", "word2"]
    spans = [Span(0, i / 50, (i + 1) / 50) for i in range(60)]
    weights = np.full((2, 4, 60), 0.01)
    for row in range(3):
        weights[1, row, 20 * row + 8 : 20 * row + 12] = 1
    return Attention.from_weights(
        (weights / weights.sum(-1, keepdims=True))[None],
        ["<s>", *words],
        key_tokens=[str(i) for i in range(60)],
        stack="cross",
        places=spans,
        audio=[Sound(np.zeros(60 * 320, np.float32), 16_000)],
    )


@state("HeadView, a step of a generated text")
def _(given: Inputs) -> Any:
    return _step(given, 1)


@state("HeadView, the prompt of a generated text")
def _(given: Inputs) -> Any:
    return _step(given, -3)


@state("HeadView, a step of a generated text in words")
def _(given: Inputs) -> Any:
    view = _step(given, 1)
    view.unit = "words"
    return view


def _step(given: Inputs, step: int) -> HeadView:
    query = (given.written.n_prompt or 0) - 1 + step
    view = HeadView(given.written, 1, 2, mode="matrix", tokens=[("query", query)])
    steps = on_page(view, "steps")
    if step >= 0:
        given.prints(100 * steps["chosen"][step])
        given.prints(*(100 * share for _, share in steps["rivals"][step]))
    return view


@state("HeadGrid, a generated text")
def _(given: Inputs) -> Any:
    return HeadGrid(given.written)


@state("HeadView, a step of a text whose model was closed")
def _(given: Inputs) -> Any:
    model = load_model("attnwidget/induction", device="cpu")
    attention = model.generate("the man", max_new_tokens=2)
    model.close()
    tokens = [("query", attention.n_prompt - 1)]
    return HeadView(attention, 0, 0, mode="matrix", tokens=tokens)


for mode in ("matrix", "lines"):

    @state(f"HeadView, a long input, {mode}")
    def _(given: Inputs, mode: str = mode) -> Any:
        given.prints(70)
        return HeadView(given.long, 0, 1, mode=mode)

    @state(f"HeadView, a window of a long input, {mode}")
    def _(given: Inputs, mode: str = mode) -> Any:
        given.prints(70)
        return HeadView(given.long, 0, 1, mode=mode, window=NEEDLE)


@state("HeadView, two heads of a long input")
def _(given: Inputs) -> Any:
    given.prints(70)
    heads = [(0, 1), (1, 3)]
    return HeadView(given.long, selected=heads, arrangement="beside", mode="matrix")


@state("HeadGrid, a long input")
def _(given: Inputs) -> Any:
    return HeadGrid(given.long)


@state("RelationTable")
def _(given: Inputs) -> Any:
    return _relations(given)


def _relations(given: Inputs, min_count: int = 1, **options: Any) -> RelationTable:
    given.prints(95, 0.05)  # the level of intervals and of tests
    return RelationTable(given.relations, min_count=min_count, **options)


@state("RelationTable, in the order of names")
def _(given: Inputs) -> Any:
    return _relations(given, sort="relation", descending=False)


@state("RelationTable, a chosen relation")
def _(given: Inputs) -> Any:
    return _chosen_relation(given, selected=[(3, 8)])


@state("RelationTable, eight selected heads")
def _(given: Inputs) -> Any:
    return _chosen_relation(given, selected=[(1, head) for head in range(8)])


def _chosen_relation(given: Inputs, **options: Any) -> RelationTable:
    det = given.relations.relations.index("det")
    given.prints(100 * given.relations.accuracy[:, :, 0, det].max())
    return _relations(given, min_count=2, relation="det", **options)


@state("RelationTable, more relations than rows")
def _(given: Inputs) -> Any:
    obl = given.relations.relations.index("obl")
    given.prints(100 * given.relations.accuracy[:, :, 0, obl].max())
    table = _relations(given, relation="obl")
    table.picture_rows = 3
    return table


@state("RelationTable, no relation is left")
def _(given: Inputs) -> Any:
    return _relations(given, min_count=2000)


def _story(model: AttentionModel, text: str, **options: Any) -> Explorer:
    explorer = explore(model, text, treebank=False, atlas=False, **options)
    assert explorer.wait(120)
    return explorer


def _prints_answers(
    given: Inputs, text: str, head: tuple[int, int], words: list[str], **options: Any
) -> None:
    """Add the probabilities of words, with and without a head."""
    intact = given.model.predict(text, **options)
    with given.model.disabled([head]):
        without = given.model.predict(text, **options)
    for answers in (intact, without):
        given.prints(*(100 * answers.probability(word) for word in words))


def _prints_link(given: Inputs, query: int, key: int) -> None:
    """Add a weight of L1 H3 between words of `TEXT`, and the weight of even attention."""
    weights = given.attention.words.weights(1, 3)
    given.prints(100 * weights[query, key], 100 / len(weights))


@state("Explorer, a locked word")
def _(given: Inputs) -> Any:
    _prints_link(given, 7, 2)
    _prints_answers(given, TEXT, (1, 3), ["he", "they"], positions=[7])
    return _story(given.model, TEXT, selected=[(1, 3)], tokens=[("query", 7)])


@state("Explorer, a locked key")
def _(given: Inputs) -> Any:
    _prints_link(given, 7, 2)
    _prints_link(given, 4, 2)
    return _story(given.model, TEXT, selected=[(1, 3)], tokens=[("key", 2)])


@state("Explorer, no locked word")
def _(given: Inputs) -> Any:
    _prints_link(given, 7, 2)
    return _story(given.model, TEXT, selected=[(1, 3)], tokens=[])


@state("Explorer, norms")
def _(given: Inputs) -> Any:
    norms = [given.attention.words.map("norms", *head) for head in np.ndindex(6, 12)]
    given.prints(norms[12 + 3][7, 2], np.max(norms))
    options = {"selected": [(1, 3)], "tokens": [("query", 7)]}
    return _story(given.model, TEXT, quantity="norms", **options)


@state("Explorer, the head is off")
def _(given: Inputs) -> Any:
    _prints_answers(given, TEXT, (1, 3), ["he", "they"], positions=[7])
    changes = given.attention.disabled([(1, 3)]).changes(given.attention)
    changes[1, 3] = 0
    given.prints(changes.max())
    options = {"selected": [(1, 3)], "tokens": [("query", 7)]}
    return _story(given.model, TEXT, disabled=[(1, 3)], **options)


@state("Explorer, a masked word")
def _(given: Inputs) -> Any:
    text = "The woman washed [MASK] hands again."
    weights = given.model.attend(text).words.weights(1, 8)[4]
    given.prints(100 * weights.max(), 100 / len(weights))
    _prints_answers(given, text, (1, 8), ["her", "his", "with"])
    return _story(given.model, text, selected=[(1, 8)])


@state("Explorer, two texts")
def _(given: Inputs) -> Any:
    first, second = (attention.words for attention in given.two_texts)
    largest = draw_thumbnails(first, minus=second).maxima.max()
    given.prints(100 * largest, given.two_texts[0].changes(given.two_texts[1]).max(), 0.693)
    return _story(given.model, TWO_TEXTS[0], versus_text=TWO_TEXTS[1])


@state("HeadScatter, given positions")
def _(given: Inputs) -> Any:
    positions = np.arange(24, dtype=float).reshape(3, 4, 2)
    return HeadScatter.from_positions(positions, selected=[(1, 2)])


@state("CoreferenceView, one head")
def _(given: Inputs) -> Any:
    return _coreference(given, selected=[(1, 3)])


@state("CoreferenceView, among mentions")
def _(given: Inputs) -> Any:
    return _coreference(given, selected=[(1, 3)], variant="mentions")


@state("CoreferenceView, no head selected")
def _(given: Inputs) -> Any:
    return _coreference(given, selected=[])


def _coreference(given: Inputs, **options: Any) -> CoreferenceView:
    found = given.coreference
    count = int(found.counts[0])
    # Counts are whole, so their shares are the same on every machine unless they tie.
    given.prints(*(100 * found.correct[:, 1, 3, 0] / count))
    given.prints(*(100 * found.baseline_correct[:, 0] / count))
    return CoreferenceView(found, **options)


@state("LinkView")
def _(given: Inputs) -> Any:
    view = LinkView(given.attention, 1, 3, query=7, key=2, hidden=[])
    view.wait()
    return view


@state("PredictionView, before effects are computed")
def _(given: Inputs) -> Any:
    return _predictions(given, wait=False)


@state("PredictionView, effects")
def _(given: Inputs) -> Any:
    return _predictions(given)


@state("PredictionView, estimated effects")
def _(given: Inputs) -> Any:
    return _predictions(given, effects_by="gradient")


@state("PredictionView, effects of patching")
def _(given: Inputs) -> Any:
    other = "The man washed [MASK] hands."
    for text in (QUESTION, other):
        answers = given.model.predict(text)
        given.prints(np.log(answers.probability("her") / answers.probability("his")))
    return _predictions(given, effects_by="patch", corrupted=other)


@state("PredictionView, heads switched off")
def _(given: Inputs) -> Any:
    return _predictions(given, disabled=[(2, 3), (5, 8)], selected=[(1, 8)])


@state("PredictionView, no token chosen")
def _(given: Inputs) -> Any:
    return PredictionView(given.attention)


@state("PredictionView, a token that is masked for the question")
def _(given: Inputs) -> Any:
    return PredictionView(given.attention, position=7)


def _predictions(given: Inputs, wait: bool = True, **options: Any) -> PredictionView:
    view = PredictionView(given.question, answer="her", **options)
    if wait:
        assert view.wait() and view.effects is not None
        largest = np.abs(view.effects).max()
        given.prints(largest, 100 * largest)
    return view


def _written(name: str, picture: Picture) -> str:
    """One state as the file has it: a line for each part, so that a diff shows a sentence."""
    caption = picture.caption
    described = ElementTree.fromstring(picture.svg)
    parts = {key: text for key, text in caption.to_dict().items() if key != "notes"}
    lines = [f"{key}: {text}" for key, text in parts.items()]
    lines += [f"note: {note}" for note in caption.notes if note]
    for key, tag in (("title", "title"), ("description", "desc")):
        (element,) = described.findall(f"{{http://www.w3.org/2000/svg}}{tag}")
        lines.append(f"{key}: {element.text}")
    return "\n".join([f"# {name}", *(line.replace("\n", " ") for line in lines)])


#: Numbers with decimals, a percent sign or "points" are rounded; others are counts and positions.
NUMBER = re.compile(r"(?<![\w.])(\d+)(?:\.(\d+))?(\s?%|\spoints?)?(?![\w]|\.\d)")


def _rounded(text: str) -> list[tuple[float, int]]:
    """The rounded numbers of a caption, and how many decimals each has."""
    return [
        (float(f"{whole}.{decimals or 0}"), len(decimals))
        for whole, decimals, percent in NUMBER.findall(text)
        if decimals or percent
    ]


def _clearance(value: float, decimals: int) -> float:
    """How far a value is from the next rounding edge, in units of the last printed digit."""
    return abs(abs(value * 10**decimals) % 1 - 0.5)


def _unsafe(text: str, values: list[float]) -> list[str]:
    """The numbers of a caption that no given value explains, or that are near an edge."""
    wrong = []
    for printed, decimals in _rounded(text):
        known = [value for value in (*values, *LIMITS) if round(abs(value), decimals) == printed]
        if not known:
            wrong.append(f"{printed}: no value is given")
        elif min(_clearance(value, decimals) for value in known) < CLEARANCE:
            wrong.append(f"{printed}: {known} is near a rounding edge")
    return wrong


def test_captions_are_those_of_the_file(inputs: Inputs) -> None:
    written = []
    unsafe = {}
    for name, make in STATES.items():
        inputs.values.clear()
        figure = make(inputs)
        picture = figure.figure()
        written.append(_written(name, picture))
        if wrong := _unsafe(picture.caption.text(), inputs.values):
            unsafe[name] = wrong
        figure.close()
    report = "\n".join(f"{name}: {wrong}" for name, wrong in unsafe.items())
    assert not unsafe, f"choose states with other numbers, or give their values:\n{report}"
    text = "\n\n".join(written) + "\n"
    if os.environ.get(WRITE):
        STORED.write_text(text, "utf-8")
    assert text == STORED.read_text("utf-8"), f"{WRITE}=1 writes the file again: read its diff"


def test_numbers_near_a_rounding_edge_are_refused() -> None:
    text = "0 to 0.63, 12\xa0% of 34 heads, L1 H2"
    assert _rounded(text) == [(0.63, 2), (12.0, 0)]
    assert _unsafe(text, [0.6311, 12.2]) == []
    assert _unsafe(text, [0.6311]) == ["12.0: no value is given"]
    assert _unsafe(text, [0.625001, 12.2]) == ["0.63: [0.625001] is near a rounding edge"]


@pytest.mark.parametrize("name", ["HeadGrid, one selected head", "HeadView, lines"])
def test_files_have_the_caption_as_their_description(inputs: Inputs, name: str) -> None:
    picture = STATES[name](inputs).figure()
    (described,) = ElementTree.fromstring(picture.svg).findall("{http://www.w3.org/2000/svg}desc")
    assert described.text == picture.caption.text()
