"""Messages that no page of ours sends: any trait set to any JSON, to bytes, to another's state."""

from __future__ import annotations

import logging
import random
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comm
import numpy as np
import traitlets

from attnwidget import (
    AtlasView,
    CoreferenceView,
    DependencyArcs,
    Document,
    Explorer,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    ProbeView,
    RelationTable,
    explore,
    load_model,
)
from attnwidget.demo import demo_atlas
from attnwidget.probes import train_dependency_probe, train_structural_probe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words import probe_coreference, probe_relations
from fixtures.recording import RecordingComm, on_page
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from robustness.judging import raised_by_the_package, said_in, where
from robustness.mutations import any_json, mutated_json

SENTENCE = Sentence.from_lists(
    ["w1", "w2", "w3", "w4", "w5"], [2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"]
)
TRAINING = [Sentence.from_lists(["w2", "w1", "w4"], [2, 0, 2], ["det", "root", "det"])] * 2
TEXT = "w1 w2 w3 w4 w5"
#: Seconds of computing that a message may take: a figure of a small model takes a tenth of one.
SECONDS = 5.0
#: And of waiting for what is computed beside the notebook.
WAITING = 60.0
#: The newest Jupyter sends these for every widget.
_OFTEN = ("selected", "tokens", "hidden", "layer", "window", "disabled", "text", "sentence")


def widgets() -> dict[str, HeadWidget]:
    """A figure of every kind, of a model with random weights."""
    model = load_model(build("gpt2"), word_tokenizer())
    attention = model.attend(TEXT)
    relations = probe_relations(model, [SENTENCE], progress=False)
    document = Document.from_spans(list(SENTENCE.words), [(0, 1, "a"), (3, 3, "a"), (3, 4, "b")])
    coreference = probe_coreference(model, [document], max_tokens=32, progress=False)
    dependencies = train_dependency_probe(model, TRAINING, [SENTENCE], seeds=1, progress=False)
    trees = train_structural_probe(
        model, TRAINING, [SENTENCE], layers=[1], rank=2, epochs=1, progress=False
    )
    shape = (model.n_layers, model.n_heads)
    made: dict[str, HeadWidget] = {
        "grid": HeadGrid(attention, metrics={"largest": np.arange(np.prod(shape)).reshape(shape)}),
        "view": HeadView(attention, 0, 1),
        "matrix": HeadView(attention, 0, 1, mode="matrix"),
        "long": HeadView(model.attend(TEXT, long=True), 0, 1),
        "compare": HeadView(attention, versus=model.attend("w1 w2 w6 w4 w5"), selected=[(0, 1)]),
        "map": HeadScatter.from_positions(np.random.default_rng(0).normal(size=(*shape, 2))),
        "table": RelationTable(relations, min_count=1),
        "arcs": DependencyArcs(model, [SENTENCE, SENTENCE], relations),
        "coreference": CoreferenceView(coreference),
        "predictions": PredictionView(attention, 2),
        "atlas": AtlasView(demo_atlas()),
        "link": LinkView(attention, 0, 1, query=3, key=1),
        "probe": ProbeView(dependencies, [SENTENCE, *TRAINING]),
        "trees": ProbeView(trees, [SENTENCE, *TRAINING]),
        "explorer": explore(model, TEXT, treebank=False, panels=["grid", "view"]),
    }
    for widget in made.values():
        widget.open()
    return made


def message(widget: HeadWidget, others: list[HeadWidget], draw: random.Random) -> dict[str, Any]:
    """Content and buffers of one message."""
    state = _plain(widget.get_state())
    kind = draw.choice(["any", "any", "any", "changed", "changed", "another's", "bytes", "custom"])
    buffers: list[Any] = []
    data: dict[str, Any] = {"method": "update"}
    if kind == "any":
        often = [name for name in _OFTEN if name in state]
        names = draw.sample(sorted(state), draw.choice([1, 1, 1, 2, 4]))
        if often and draw.random() < 0.5:
            names = [draw.choice(often)]
        data["state"] = {name: any_json(draw) for name in names}
    elif kind == "changed":
        name = draw.choice(sorted(state))
        data["state"] = (
            {name: _changed(state[name], draw)}
            if (isinstance(state[name], (list, dict)))
            else {name: any_json(draw)}
        )
    elif kind == "another's":
        data["state"] = _plain(draw.choice(others).get_state())
    elif kind == "bytes":
        name = draw.choice(sorted(state))
        data["state"] = {name: draw.choice([None, [], {}, [0]])}
        data["buffer_paths"] = draw.choice([[[name]], [[name, 0]], [["no such"]], [[]], [name], 7])
        buffers = [memoryview(bytes(draw.randrange(20)))]
    else:
        data = {
            "method": draw.choice(["custom", "custom", "request_state", "no such"]),
            "content": draw.choice(
                [
                    any_json(draw),
                    {"kind": "attnwidget-save", "id": any_json(draw), "format": any_json(draw)},
                    {"asked": any_json(draw)},
                ]
            ),
        }
    return {"content": {"data": data}, "buffers": buffers}


def _changed(value: Any, draw: random.Random) -> Any:
    found = mutated_json({"x": value}, draw)[1]
    return found.get("x") if isinstance(found, dict) else found


def message_of(state: dict[str, Any], paths: Any, buffers: list[Any]) -> dict[str, Any]:
    """An update of a page that holds bytes."""
    data = {"method": "update", "state": state, "buffer_paths": paths}
    return {"content": {"data": data}, "buffers": buffers}


def _plain(value: Any) -> Any:
    """A state without what no JSON holds, as far as messages are made of it."""
    if isinstance(value, dict):
        return {
            str(name): _plain(one) for name, one in value.items() if name not in ("_esm", "_css")
        }
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else None


def shown(widget: HeadWidget) -> str:
    """The options and all that was computed of them."""
    return repr(sorted(widget._drawn_state().items(), key=lambda item: item[0]))


class _Heard(logging.Handler):
    """Keeps what Jupyter would print of a message that went wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def _raising(widget: HeadWidget) -> Iterator[list[logging.LogRecord]]:
    """Raise what ipywidgets logs: it lets no error of a message through."""
    heard = _Heard()
    log = widget.log
    log.addHandler(heard)
    kept, log.propagate = log.propagate, False
    try:
        yield heard.records
    finally:
        log.removeHandler(heard)
        log.propagate = kept
    for record in heard.records:
        if record.exc_info and record.exc_info[1] is not None:
            raise record.exc_info[1]


def _settled(widget: HeadWidget) -> BaseException | None:
    """Wait for what the figure computes beside the notebook; what went wrong there."""
    try:
        if isinstance(widget, (LinkView, PredictionView, Explorer)) and not widget.wait(WAITING):
            return TimeoutError(f"computes for longer than {WAITING} s")
    except Exception as error:
        return error
    return None


def judged(widget: HeadWidget, sent: dict[str, Any]) -> tuple[str, str]:
    """Whether a message was taken, refused, or made something fall."""
    went_wrong = _settled(widget)
    before = shown(widget)
    start = time.process_time()
    outcome, said = _heard(widget, sent)
    took = time.process_time() - start
    error = _settled(widget)
    if error is not None and error is not went_wrong and not raised_by_the_package(error):
        return "fell", f"{where(error)} beside it: {type(error).__name__}: {said_in(error)}"
    if outcome == "refused" and said and shown(widget) != before and not on_page(widget, "error"):
        return "fell", f"refused, and yet changed: {said}"
    if outcome == "taken" and took > SECONDS:
        return "fell", f"took {took:.1f} s"
    return outcome, said if outcome == "fell" else ""


def _heard(widget: HeadWidget, sent: dict[str, Any]) -> tuple[str, str]:
    """The same by what was raised; of a value that was refused also why."""
    try:
        with _raising(widget) as said:
            widget._handle_msg(sent)
        return ("refused", "") if said else ("taken", "")
    except (traitlets.TraitError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error):
            return "fell", "an error without words"
        return "refused", f"{type(error).__name__} {str(error)[:150]}"
    except BaseException as error:
        if raised_by_the_package(error):
            return "refused", ""
        return "fell", f"{where(error)} {type(error).__name__}: {said_in(error)}"


def run(count: int, seed: int, seconds: float | None = None, draws: int = 50) -> dict[str, Any]:
    """Counts of messages by what became of them; every so many the figure is drawn."""
    comm.create_comm = RecordingComm
    made = widgets()
    outcomes: Counter[str] = Counter()
    falls: dict[str, str] = {}
    start = time.monotonic()
    names = sorted(made)
    for number in range(count):
        if seconds is not None and time.monotonic() - start > seconds:
            break
        draw = random.Random(f"page {seed} {number}")
        name = draw.choice(names)
        sent = message(made[name], list(made.values()), draw)
        outcome, said = judged(made[name], sent)
        outcomes[outcome] += 1
        if outcome == "fell":
            data = sent["content"]["data"]
            falls.setdefault(said[:60], f"message {number} to {name}, {str(data)[:120]}: {said}")
        if draws and number % draws == 0:
            try:
                ET.fromstring(made[name].figure().svg)
            except Exception as error:
                said = f"cannot be drawn: {type(error).__name__}: {str(error)[:200]}"
                falls.setdefault(said[:60], f"message {number}: {name} {said}")
        if number % 500 == 499:  # so that no message meets only what others have left
            for widget in made.values():
                widget.close()
            made = widgets()
    for widget in made.values():
        widget.close()
    return {
        "reader": "messages of pages",
        "seed": seed,
        "inputs": sum(outcomes.values()),
        "read": outcomes["taken"],
        "refused": outcomes["refused"],
        "fell": outcomes["fell"],
        "refusals with a line": 0,
        "falls": list(falls.values()),
        "seconds": round(time.process_time(), 1),
        "peak MB": 0,
    }
