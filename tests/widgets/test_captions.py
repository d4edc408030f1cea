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
)
from attnwidget.drawing.picture import Picture
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.words.coreference import CoreferenceAccuracies, probe_coreference
from fixtures.coreference_passages import PASSAGES

pytestmark = pytest.mark.usefixtures("recording")

STORED = Path(__file__).with_name("captions.txt")
WRITE = "ATTNWIDGET_WRITE_CAPTIONS"

TEXT = "The captain told his men that he would not leave the unsinkable ship."
QUESTION = "The woman washed [MASK] hands."
OFF = [(1, 3), (2, 0)]

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
    coreference: CoreferenceAccuracies
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
        probe_coreference(model, documents, progress=False),
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


@state("HeadView, no head selected")
def _(given: Inputs) -> Any:
    return HeadView(given.attention, selected=[])


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
