"""Cost of the relation probe beside the forward passes that it needs, and beside loops over words.

Reads UD English EWT (dev) in the folder that ATTNWIDGET_DATA names, else the sentences that come
with the package.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from attnwidget import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.corpus.batches import BatchMaker, batched
from attnwidget.demo import demo_treebank
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words.relations import Relations, probe_relations
from attnwidget.words.word_segments import WordSegment, WordSegmenter
from benchmarks.rows import Row, in_turns, rows_of
from benchmarks.surface import forward_over
from references import reference_language

FORWARD = "forward passes"
LOOPS = "loops over words"
BATCH_SIZE = 32


def sentences(count: int) -> list[Sentence]:
    folder = os.environ.get("ATTNWIDGET_DATA")
    if folder:
        return load_treebank(Path(folder, "ewt/en_ewt-ud-dev.conllu.gz"), limit=count)
    return demo_treebank()[:count]


def beside_forward(model: AttentionModel, treebank: Sequence[Sentence], rounds: int) -> list[Row]:
    segments, _ = WordSegmenter(model).segments([s.running for s in treebank], False)
    runs = {
        FORWARD: forward_over(model, list(segments), BATCH_SIZE),
        "`probe_relations`": lambda: probe_relations(
            model, treebank, batch_size=BATCH_SIZE, progress=False
        ),
    }
    return rows_of(in_turns(runs, rounds), FORWARD, what=f"{len(treebank):,} sentences")


def after_the_maps(model: AttentionModel, treebank: Sequence[Sentence], rounds: int) -> list[Row]:
    """Return the row of the way from token maps to the table: word maps, predictions, sums."""
    segments, _ = WordSegmenter(model).segments([s.running for s in treebank], False)
    backbone = model.hf_model.base_model
    maker = BatchMaker(model, backbone, None, {})
    layers: list[LayerBatch] = []
    for members in batched(segments, BATCH_SIZE):
        batch = maker(members)

        def keep(seen: LayerAttention, batch: Batch = batch) -> None:
            layers.append(LayerBatch(batch, seen.layer, seen.weights, seen))

        with torch.no_grad(), tap(backbone, keep):
            backbone(**batch.inputs)
    probe = Relations(treebank)

    def fast() -> None:
        probe.start(Subject(model.n_layers, model.n_heads, model=model))
        for layer in layers:
            probe.update(layer)
            if layer.layer == model.n_layers - 1:
                probe.end_batch(layer.batch)
        probe.compute().best()

    maps: dict[int, list[np.ndarray]] = {}
    groups: dict[int, list[list[int]]] = {}
    for layer in layers:
        for item, segment in enumerate(layer.batch.segments):
            assert isinstance(segment, WordSegment)
            n = len(segment) + 2
            maps.setdefault(segment.index, []).append(layer.weights[item, :, :n, :n].numpy())
            groups[segment.index] = [
                [i for i, word in enumerate(segment.words, 1) if word == own]
                for own in range(segment.words[-1] + 1)
            ]

    def heads() -> None:
        words = {i: word_maps(np.stack(own), groups[i]) for i, own in maps.items()}
        for direction in range(2):
            predicted = {i: most_attended(own, direction) for i, own in words.items()}
            for place in np.ndindex(model.n_layers, model.n_heads):
                right = [
                    reference_language.judged(predicted[i][place].tolist(), one, "clark")
                    for i, one in enumerate(treebank)
                ]
                reference_language.count(right, treebank)

    def offsets() -> None:
        for relation in {relation for one in treebank for relation in one.relations} | {"all"}:
            reference_language.best_offset(treebank, relation, range(-3, 3), "clark")

    def loops() -> None:
        heads()
        offsets()

    runs = {LOOPS: loops, "relations from maps": fast}
    return rows_of(in_turns(runs, rounds), LOOPS, what=f"{len(treebank):,} sentences")


def word_maps(weights: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """The maps of all heads between words, by a product with membership on each side."""
    columns = np.zeros((weights.shape[-1], len(groups)))
    for word, tokens in enumerate(groups):
        columns[list(tokens), word] = 1
    return (columns / columns.sum(0)).T @ weights.astype("f8") @ columns


def most_attended(words: np.ndarray, direction: int) -> np.ndarray:
    """[L, H, m], 1-based."""
    own = np.swapaxes(words, -1, -2) if direction else words
    return (own * (1 - np.eye(own.shape[-1]))).argmax(-1) + 1


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    model = load_model(device="cpu")
    if tiny:
        return beside_forward(model, demo_treebank()[:2], 1)
    return beside_forward(model, sentences(400), 3) + after_the_maps(model, sentences(100), 1)
