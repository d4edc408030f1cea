"""What probes find in a model, on a treebank: Table 3 of Clark et al., Coenen et al., structures.

    python tests/benchmarks/probes.py --treebank FOLDER --vectors FILE --cache FOLDER
        [--model FOLDER] [--parts governors pairs structures costs]

TREEBANK holds UD English EWT, `en_ewt-ud-train.conllu.gz` and its `dev`. Governors are learned from
all sentences, pairs and structures from every sixth and judged on every second. CACHE keeps what is
read of the model, and a run that was killed goes on there.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attnwidget import AttentionModel, Sentence, load_model, load_treebank, load_vectors
from attnwidget.probes import train_dependency_probe, train_pair_probe, train_structural_probe
from attnwidget.probes.features import extract_features
from attnwidget.text.word_vectors import WordVectors

PARTS = ("governors", "pairs", "structures", "costs")
BATCH = 32


def told(name: str, run: Callable[[], Any]) -> Any:
    """What `run` gives, printed with its wall time and the processor's."""
    start = time.process_time()
    began = time.monotonic()
    found = run()
    seconds = f"{time.monotonic() - began:.0f} s, {time.process_time() - start:.0f} s of processor"
    print(f"\n{name} ({seconds})\n{found}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="probes.py")
    parser.add_argument("--treebank", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    pd.set_option("display.width", 160, "display.max_columns", 8, "display.precision", 3)
    model = load_model(options.model, device="cpu") if options.model else load_model(device="cpu")
    train, dev = (
        load_treebank(options.treebank / f"en_ewt-ud-{part}.conllu.gz") for part in ("train", "dev")
    )
    options.cache.mkdir(parents=True, exist_ok=True)
    more: dict[str, Any] = {"cache": options.cache, "skip_unaligned": True, "progress": False}
    if "costs" in options.parts:
        # Memory is that of the longest sentences: they are in both.
        ordered = sorted(train, key=len)
        for sentences in ([*ordered[:-64][::13], *ordered[-64:]], train):
            # What a process has used once, it does not give back.
            child = get_context("spawn").Process(
                target=costs, args=(options.model, sentences, dev[:100], options.vectors)
            )
            child.start()
            child.join()
    if "governors" in options.parts:
        governors(model, (train, dev), load_vectors(options.vectors), options.cache, more)
    some = train[::6], dev[::2]
    if "pairs" in options.parts:
        pairs = told("pairs of words", lambda: train_pair_probe(model, *some, **more))
        print(pairs.to_frame().to_string(index=False))
    if "structures" in options.parts:
        asked = {"epochs": 10, "untrained": True, **more}
        structures = told("structures", lambda: train_structural_probe(model, *some, **asked))
        frame = structures.to_frame()
        print(frame[frame["measure"] == "UUAS"].to_string(index=False))


def governors(
    model: AttentionModel,
    parts: tuple[list[Sentence], list[Sentence]],
    vectors: WordVectors,
    cache: Path,
    more: dict[str, Any],
) -> None:
    """The probes of Table 3, with what stands beside them."""
    careful = {"untrained": True, "control": True, "description_length": True}
    for kind in ("attention", "attention+words"):
        probe = told(
            kind,
            lambda kind=kind: train_dependency_probe(
                model,
                *parts,
                kind,
                vectors=vectors if kind == "attention+words" else None,
                resume=cache / f"{kind}.npz",
                **careful,
                **more,
            ),
        )
        print(probe.to_frame().iloc[:, :6].to_string(index=False))
        code = probe.code
        print(
            f"selectivity {probe.selectivity:.1%}; {code.bits_a_word:.2f} bits a word, uniform "
            f"{code.uniform_bits_a_word:.2f}; over seeds {probe.scores.per_seed}"
        )


def costs(folder: Path | None, train: list[Sentence], dev: list[Sentence], vectors: Path) -> None:
    """What reading costs beside plain passes, and an epoch beside reading."""
    torch.set_num_threads(1)
    model = load_model(folder, device="cpu") if folder else load_model(device="cpu")
    found = load_vectors(vectors)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def passes() -> None:
        ordered = sorted((list(one.words) for one in train), key=len)  # with little padding
        for first in range(0, len(train), BATCH):
            words = ordered[first : first + BATCH]
            given = model.tokenizer(
                words, is_split_into_words=True, padding=True, truncation=True, return_tensors="pt"
            )
            with torch.no_grad():
                model.hf_model.base_model(**given)

    def seconds(run: Callable[[], object]) -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    with tempfile.TemporaryDirectory() as cache:
        more: dict[str, Any] = {"cache": cache, "skip_unaligned": True, "progress": False}
        reading = seconds(
            lambda: extract_features(model, train, cache, skip_unaligned=True, progress=False)
        )
        epoch = seconds(
            lambda: train_dependency_probe(
                model, train, dev, "attention+words", vectors=found, seeds=1, **more
            )
        )
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    alone = seconds(passes)
    print(
        f"\n{len(train):,} sentences: plain passes {alone:.1f} s of processor, reading "
        f"{reading:.1f} s: {reading / alone:.2f} of them; an epoch of attention + words with its "
        f"baselines and {len(dev)} judged {epoch:.1f} s: {epoch / reading:.2f} of reading; at most "
        f"{memory:.0f} MB more than with model and vectors",
        flush=True,
    )


if __name__ == "__main__":
    main()
