"""The relation probe beside the forward passes that it needs, and beside word-by-word loops.

Run by `make bench`. Reads UD English EWT (dev) in the folder that ATTNWIDGET_DATA names, else the
sentences that come with the package. Ratios are of processor time, each the least of several runs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from attnwidget import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.corpus.batches import BatchMaker, batched
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words.relations import Relations, probe_relations
from attnwidget.words.word_segments import WordSegment, WordSegmenter
from references import reference_language

BATCH_SIZE = 32


def sentences() -> list[Sentence]:
    folder = os.environ.get("ATTNWIDGET_DATA")
    if folder:
        return load_treebank(Path(folder, "ewt/en_ewt-ud-dev.conllu.gz"))
    from attnwidget.text.demonstrations import demo_treebank

    return demo_treebank()


def least(*runs: Callable[[], object], times: int = 3) -> list[float]:
    """The least processor time of each run, in turns, so that a busy machine hurts all alike."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(times):
        for run, own in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            own.append(time.process_time() - start)
    return [min(own) for own in seconds]


def beside_forward(model: AttentionModel, treebank: Sequence[Sentence]) -> None:
    backbone = model.hf_model.base_model
    segments, _ = WordSegmenter(model).segments([s.running for s in treebank], False)
    maker = BatchMaker(model, backbone, None, {})
    batches = [maker(batch).inputs for batch in batched(segments, BATCH_SIZE)]

    def forward() -> None:
        with torch.no_grad():
            for inputs in batches:
                backbone(**inputs)

    def probe() -> None:
        probe_relations(model, treebank, batch_size=BATCH_SIZE, progress=False)

    alone, whole = least(forward, probe)
    print(
        f"{len(treebank)} sentences: forward passes alone {alone:.1f} s, the whole probe "
        f"{whole:.1f} s: {whole / alone:.2f} x (at most 1.5)"
    )


def after_the_maps(model: AttentionModel, treebank: Sequence[Sentence]) -> None:
    """From token maps to the table: word maps, predictions, sums, offsets."""
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

    (quick,) = least(fast, times=5)
    of_heads, of_offsets = least(heads, offsets, times=1)
    print(
        f"{len(treebank)} sentences, from maps to the table: {quick * 1e3:.0f} ms; word by word "
        f"{of_heads:.1f} s for the heads and {of_offsets:.1f} s for the offsets: "
        f"{(of_heads + of_offsets) / quick:.0f} x (at least 20)"
    )


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


def main() -> None:
    torch.set_num_threads(1)
    model = load_model()
    treebank = sentences()
    beside_forward(model, treebank)
    after_the_maps(model, treebank)


if __name__ == "__main__":
    main()
