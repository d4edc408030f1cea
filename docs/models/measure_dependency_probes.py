"""Train the dependency probes of Clark et al. (2019), Table 3, for the embedded model on EWT.

    python docs/models/measure_dependency_probes.py --train en_ewt-ud-train.conllu.gz
        --dev en_ewt-ud-dev.conllu.gz --vectors glove.6B.50d.txt --cache maps
        --out dependency_scores.json

The file has the scores of all predictors; it has no text, parameters or word vectors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from attnwidget.capture.load import load_model
from attnwidget.probes.dependency.dependency_form import ProbeKind
from attnwidget.probes.dependency.dependency_scores import (
    compare_dependency_probes,
    scores_to_json,
)
from attnwidget.probes.dependency.train_dependency_probe import train_dependency_probe
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.treebank_files import load_treebank
from attnwidget.text.word_vector_files import load_vectors

KINDS: tuple[ProbeKind, ...] = ("attention", "attention+words")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the probes and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--train", type=Path, required=True, help="the train part of UD English EWT"
    )
    parser.add_argument("--dev", type=Path, required=True, help="the dev part of UD English EWT")
    parser.add_argument("--vectors", type=Path, required=True, help="word vectors")
    parser.add_argument(
        "--cache", type=Path, required=True, help="a folder that keeps finished work"
    )
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    model = load_model(device="cpu")
    train, dev = load_treebank(options.train), load_treebank(options.dev)
    vectors = load_vectors(options.vectors)
    probes = []
    for kind in KINDS:
        probe = train_dependency_probe(
            model,
            train,
            dev,
            kind,
            vectors=vectors if kind == "attention+words" else None,
            untrained=kind == "attention+words",
            skip_unaligned=True,
            cache=options.cache,
            resume=options.cache / f"{kind}.npz",
            progress=False,
        )
        if not probe.complete:
            raise SystemExit(f"the probe of {kind} was interrupted: run the command again")
        probes.append(probe)
    description = (
        f"trained on {len(train):,} and scored on {len(dev):,} sentences of UD English EWT"
    )
    stored = scores_to_json(compare_dependency_probes(probes, data=description))
    write_whole(options.out, (json.dumps(stored, indent=1) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
