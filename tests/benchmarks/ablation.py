"""Cost of the ablation of every head beside a loop of whole passes with one head off each."""

from __future__ import annotations

import torch

from attnwidget import Segment, ablate, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.demo import demo_prose
from attnwidget.interventions.examples import batch_of, encode_examples
from benchmarks.rows import Row, in_turns, rows_of
from benchmarks.surface import random_bert

LOOP = "a loop of whole passes, one head off each"


def beside_a_loop(model: AttentionModel, batch: int, length: int, rounds: int) -> list[Row]:
    tokens = model.tokenizer.tokenize(demo_prose().read_text(encoding="utf-8")[:20_000])
    size = length - 2
    segments = [Segment(tuple(tokens[i * size : (i + 1) * size])) for i in range(batch)]
    heads = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    inputs = batch_of(model, encode_examples(model, segments)).inputs

    def study() -> None:
        ablate(model, segments, scoring="loss", heads=heads, progress=False)

    def loop() -> None:
        for head in heads:
            with model.disabled(head), torch.no_grad():
                model.hf_model(**inputs)

    runs = {LOOP: loop, f"`ablate`, {len(heads)} heads": study}
    what = f"{batch} x {length} tokens"
    return rows_of(in_turns(runs, rounds), LOOP, what=what)


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    if tiny:
        return beside_a_loop(random_bert(1, 2, 8, 16), 1, 8, 1)
    model = load_model(device="cpu")
    sizes = ((1, 16), (1, 64), (4, 64))
    return [row for size in sizes for row in beside_a_loop(model, *size, rounds=3)]
