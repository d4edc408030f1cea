"""Ablation of every head beside a loop of whole passes with one head off each.

Run by `make bench`, on the embedded model. Ratios are of processor time in one process, each the
least of several runs; the loop is `with model.disabled(head):` around a pass of the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from attnwidget import Segment, ablate, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.demo import demo_prose
from attnwidget.interventions.examples import batch_of, encode_examples


def least(*runs: Callable[[], object], times: int = 5) -> list[float]:
    """The least processor time of each run, in turns, so that a busy machine hurts all alike."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(times):
        for run, own in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            own.append(time.process_time() - start)
    return [min(own) for own in seconds]


def compare(model: AttentionModel, batch: int, length: int) -> None:
    tokens = model.tokenizer.tokenize(demo_prose().read_text(encoding="utf-8")[:20_000])
    size = length - 2
    segments = [Segment(tuple(tokens[i * size : (i + 1) * size])) for i in range(batch)]
    heads = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    inputs = batch_of(model, encode_examples(model, segments)).inputs
    assert inputs["input_ids"].shape == (batch, length)

    def study() -> None:
        ablate(model, segments, score="loss", heads=heads, progress=False)

    def loop() -> None:
        for head in heads:
            with model.disabled(head), torch.no_grad():
                model.hf_model(**inputs)

    def one() -> None:
        with torch.no_grad():
            model.hf_model(**inputs)

    cached, whole, alone = least(study, loop, one)
    print(
        f"{batch} x {length} tokens, {len(heads)} heads: a loop of whole passes {whole:.2f} s, the "
        f"study {cached:.2f} s: {cached / whole:.2f} of it; one pass {alone * 1e3:.0f} ms, so "
        f"{cached / alone:.0f} passes beside {whole / alone:.0f}"
    )


def main() -> None:
    torch.set_num_threads(1)
    model = load_model(device="cpu")
    for batch, length in ((1, 16), (1, 64), (8, 128)):
        compare(model, batch, length)


if __name__ == "__main__":
    main()
