"""Train the pair probe that comes with the package, on a treebank.

    python docs/models/train_pairs.py --train en_ewt-ud-train.conllu.gz
        --dev en_ewt-ud-dev.conllu.gz --out pairs.npz

Every sixth training sentence trains the probe, and every second development sentence scores it. The
file has coefficients and scores, and no text.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from attnwidget.capture.load import load_model
from attnwidget.probes.pairs.train_pair_probe import train_pair_probe
from attnwidget.text.treebank_files import load_treebank


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the probe and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", type=Path, required=True, help="the train part of a treebank")
    parser.add_argument("--dev", type=Path, required=True, help="the dev part of the treebank")
    parser.add_argument("--out", type=Path, required=True, help="the .npz file")
    parser.add_argument("--every", type=int, default=6, help="train on every n-th sentence")
    options = parser.parse_args(arguments)
    probe = train_pair_probe(
        load_model(device="cpu"),
        load_treebank(options.train)[:: options.every],
        load_treebank(options.dev)[::2],
        skip_unaligned=True,
    )
    probe.save(options.out)
    print(probe)


if __name__ == "__main__":
    main()
