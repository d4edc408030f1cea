"""Widgets made and closed many times: what stays. By hand: `python leaks.py 1000 [kind …]`."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import comm
import numpy as np
import psutil
from ipywidgets.widgets import widget as ipywidgets_widget

from attnwidget import (
    AtlasView,
    CoreferenceView,
    DependencyArcs,
    Document,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    ProbeView,
    RelationTable,
    Sentence,
    explore,
    link_figures,
    load_model,
)
from attnwidget.demo import demo_atlas
from attnwidget.probes import train_dependency_probe
from attnwidget.words import probe_coreference, probe_relations

TEXT = "The captain told his men a story."
SENTENCE = Sentence.from_lists(
    ["The", "captain", "told", "his", "men", "a", "story", "."],
    [2, 3, 0, 5, 3, 7, 3, 3],
    ["det", "nsubj", "root", "nmod:poss", "iobj", "det", "obj", "punct"],
)
Make = Callable[[], list[Any]]


@dataclass(frozen=True)
class Held:
    """What a process has: all of it is flat where closed widgets leave nothing."""

    widgets: int
    comms: int
    threads: int
    hooks: int
    alive: int

    @classmethod
    def now(cls, model: Any, made: list[weakref.ref[Any]]) -> Held:
        gc.collect()
        hooks = sum(
            len(module._forward_hooks) + len(module._forward_pre_hooks)
            for module in model.hf_model.modules()
        )
        return cls(
            len(ipywidgets_widget._instances),
            len(comm.get_comm_manager().comms),
            threading.active_count(),
            hooks,
            sum(one() is not None for one in made),
        )

    def beyond(self, before: Held) -> dict[str, int]:
        """What there is more of than there was."""
        more = {name: count - vars(before)[name] for name, count in vars(self).items()}
        return {name: count for name, count in more.items() if count > 0}


def makers(model: Any) -> dict[str, Make]:
    """For each kind of figure what makes one, with what goes with it; all of it is to be closed."""
    attention = model.attend(TEXT)
    other = model.attend("The captain told her men a joke.")
    relations = probe_relations(model, [SENTENCE], progress=False)
    spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men")]
    document = Document.from_spans(list(SENTENCE.words), spans)
    coreference = probe_coreference(model, [document], progress=False)
    shorter = Sentence.from_lists(["The", "men", "told"], [2, 3, 0], ["det", "nsubj", "root"])
    probe = train_dependency_probe(model, [shorter], [SENTENCE], seeds=1, progress=False)
    positions = np.random.default_rng(0).normal(size=(6, 12, 2))
    atlas = demo_atlas()

    def linked() -> list[Any]:
        grid = HeadGrid(attention)
        view = HeadView(attention)
        link_figures(grid, view)
        grid.selected = [(2, 8)]
        return [grid, view]

    def predicted() -> list[Any]:
        view = PredictionView(attention, 4)
        view.wait()
        return [view]

    def explored() -> list[Any]:
        explorer = explore(model, TEXT, treebank=False)
        explorer.wait()
        return [explorer]

    return {
        "HeadGrid": lambda: [HeadGrid(attention, selected=[(2, 8)])],
        "HeadGrid, heads off": lambda: [HeadGrid(attention, disabled=[(1, 3)])],
        "HeadView": lambda: [HeadView(attention, 2, 8)],
        "HeadView, two": lambda: [HeadView(attention, versus=other)],
        "HeadGrid, a word": lambda: [HeadGrid(attention, tokens=[("query", 4)])],
        "HeadScatter": lambda: [HeadScatter.from_positions(positions)],
        "RelationTable": lambda: [RelationTable(relations, min_count=1)],
        "DependencyArcs": lambda: [DependencyArcs(model, [SENTENCE], relations)],
        "CoreferenceView": lambda: [CoreferenceView(coreference)],
        "ProbeView": lambda: [ProbeView(probe, [SENTENCE], word=1)],
        "linked": linked,
        "AtlasView": lambda: [AtlasView(atlas)],
        "LinkView": lambda: [LinkView(attention, 2, 8, query=4, key=2)],
        "PredictionView": predicted,
        "Explorer": explored,
    }


def made_and_closed(make: Make, count: int) -> list[weakref.ref[Any]]:
    """So many of a figure, each closed before the next is made."""
    made = []
    for _ in range(count):
        widgets = make()
        made += [weakref.ref(one) for one in widgets]
        for one in widgets:
            one.close()
    return made


def main(count: int, kinds: list[str]) -> None:
    model = load_model(device="cpu")
    process = psutil.Process()
    for kind, make in makers(model).items():
        if kinds and kind not in kinds:
            continue
        made_and_closed(make, 20)
        gc.collect()
        gc.freeze()  # what is there by now is not looked at again each time
        before = Held.now(model, [])
        seen = []
        resident = []
        start = time.perf_counter()
        steps = 10
        for _ in range(steps):
            seen += made_and_closed(make, count // steps)
            gc.collect()
            resident.append(process.memory_info().rss / 1024)
        seconds = time.perf_counter() - start
        # The first part fills what is kept once: the slope is that of the rest.
        places = np.arange(1, steps) * (count // steps)
        slope = np.polyfit(places, resident[1:], 1)[0]
        after = Held.now(model, seen)
        print(f"{kind}: {count} in {seconds:.0f} s, {slope:+.2f} kB each, {before} -> {after}")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
