"""Cost of a display: the picture and the table that a notebook keeps, and the files for print."""

from __future__ import annotations

import tempfile
import time
from itertools import cycle
from pathlib import Path

import torch

from attnwidget import AttentionModel, HeadGrid, HeadView, load_model
from benchmarks.rows import Row, Run, in_turns, rows_of
from benchmarks.surface import random_bert

FORWARD = "a forward pass of the same text"


def of_text(model: AttentionModel, words: int, suffixes: tuple[str, ...], rounds: int) -> list[Row]:
    """Return the rows of figures of one text."""
    attention = model.attend("cats and " * words)
    figures = {
        "grid": HeadGrid(attention),
        "lines": HeadView(attention, 0, 0),
        "matrix": HeadView(attention, 0, 0, mode="matrix"),
    }
    ids = model.tokenizer("cats and " * words, return_tensors="pt")
    runs: dict[str, Run] = {FORWARD: lambda: model.hf_model(**ids)}
    with tempfile.TemporaryDirectory() as folder:
        for name, widget in figures.items():
            runs[f"{name}, display"] = widget._repr_mimebundle_
            for suffix in suffixes:
                path = Path(folder, f"figure.{suffix}")
                runs[f"{name} into a .{suffix} file"] = lambda widget=widget, path=path: (  # type: ignore[misc]
                    widget.save(path)
                )
        # The engine of the pictures is a process of its own, whose time counts.
        seconds = in_turns(runs, rounds, clock=time.perf_counter)
    what = f"{model.n_layers} x {model.n_heads} heads, {len(attention.tokens)} tokens"
    return rows_of(seconds, FORWARD, what=what)


def switched_off(model: AttentionModel, words: int, rounds: int) -> list[Row]:
    """Return the rows of a head that is switched off in an open figure, each time another head."""
    attention = model.attend("cats and " * words)
    ids = model.tokenizer("cats and " * words, return_tensors="pt")
    heads = cycle((layer, 0) for layer in range(model.n_layers))
    runs: dict[str, Run] = {FORWARD: lambda: model.hf_model(**ids)}
    for figure in (HeadGrid(attention), HeadView(attention, 0, 0)):
        figure.open()
        name = f"a head switched off in `{type(figure).__name__}`"
        runs[name] = lambda figure=figure: setattr(figure, "disabled", [next(heads)])  # type: ignore[misc]
    with torch.no_grad():
        seconds = in_turns(runs, rounds)
    what = f"{model.n_layers} x {model.n_heads} heads, {len(attention.tokens)} tokens"
    return rows_of(seconds, FORWARD, what=what)


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    if tiny:
        small = random_bert(1, 2, 8, 16)
        return of_text(small, 1, (), 1) + switched_off(small, 1, 1)
    model = load_model(device="cpu")
    found = [row for words in (4, 60) for row in of_text(model, words, ("svg", "png", "pdf"), 5)]
    large = random_bert()
    return found + of_text(large, 60, ("svg",), 3) + switched_off(large, 255, 5)
