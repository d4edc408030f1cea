"""Train the structural probe that comes with the package, on a treebank.

    python docs/models/train_trees.py --train en_ewt-ud-train.conllu.gz
        --dev en_ewt-ud-dev.conllu.gz --out trees.npz

Every sixth training sentence trains the probe, every second development sentence says when to stop,
and the other development sentences give a score that no choice has seen. All layers and ranks are
scored; the file has the maps of one layer and one rank.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from attnwidget.capture.load import load_model
from attnwidget.probes.structural.train_structural_probe import train_structural_probe
from attnwidget.text.treebank_files import load_treebank

RANKS = [1, 2, 4, 8, 16, 32, 64, 240]
LAYER = 2
RANK = 32


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the probe, write the file, and print the score on unseen sentences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", type=Path, required=True, help="the train part of a treebank")
    parser.add_argument("--dev", type=Path, required=True, help="the dev part of the treebank")
    parser.add_argument("--out", type=Path, required=True, help="the .npz file")
    parser.add_argument("--every", type=int, default=6, help="train on every n-th sentence")
    parser.add_argument("--epochs", type=int, default=12, help="largest number of epochs")
    parser.add_argument("--cache", type=Path, help="folder for the vectors")
    parser.add_argument("--resume", type=Path, help="file for interrupted training")
    options = parser.parse_args(arguments)
    dev = load_treebank(options.dev)
    probe = train_structural_probe(
        load_model(device="cpu"),
        load_treebank(options.train)[:: options.every],
        dev[::2],
        rank=RANKS,
        epochs=options.epochs,
        untrained=True,
        skip_unaligned=True,
        cache=options.cache,
        resume=options.resume,
    )
    packaged = probe.keep_maps(layer=LAYER, rank=RANK)
    packaged.save(options.out)
    print(packaged.score(dev[1::2], skip_unaligned=True))


if __name__ == "__main__":
    main()
