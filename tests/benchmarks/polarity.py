"""A model beside its copy that was fine-tuned to tell whether a sentence of a review praises.

    PYTHONPATH=docs/models python tests/benchmarks/polarity.py --model FOLDER --data FOLDER
        --out FOLDER [--steps 100]

DATA holds pos.txt.gz and neg.txt.gz of sentence polarity v1.0 (Pang and Lee 2005), one sentence a
line; every tenth is for evaluation. OUT gets the fine-tuned model, and is read again where it is
there already. Prints the accuracy, the seconds, and what changed in each layer.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoTokenizer

from attnwidget import compare, load_model, make_segments
from attnwidget.text.segments import read_lines
from finetune import LabeledText, accuracy, classifier, padded_batches

LABELS = ("neg", "pos")


def sentences(folder: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(sentence, label) to train on, and those for evaluation."""
    parts: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for label in LABELS:
        for number, line in enumerate(read_lines(folder / f"{label}.txt.gz")):
            parts[number % 10 == 9].append((line.strip(), label))
    return parts


def train(start: Path, data: Path, out: Path, steps: int, learning_rate: float) -> None:
    """In float32: without processors for bfloat16 that is the faster one."""
    tokenizer = AutoTokenizer.from_pretrained(start)
    kept, held = (
        [LabeledText(tuple(tokenizer(text)["input_ids"][:128]), label) for text, label in part]
        for part in sentences(data)
    )
    model = classifier(start, LABELS)
    begin = time.monotonic()
    labels = model.config.label2id
    draw = np.random.default_rng(0)
    before = accuracy(model, held, labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model.train()
    for step, (ids, given) in enumerate(islice(padded_batches(kept, labels, 32, draw), steps)):
        optimizer.param_groups[0]["lr"] = learning_rate * min(1, (steps - step) / (0.9 * steps))
        logits = model(ids, attention_mask=(ids != 0).long()).logits
        cross_entropy(logits, given).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    seconds = time.monotonic() - begin
    print(
        f"{steps} steps of 32 of {len(kept)} sentences, {seconds:.0f} s; accuracy on {len(held)} "
        f"others {accuracy(model, held, labels):.3f}, before {before:.3f}",
        flush=True,
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(prog="polarity.py")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    options = parser.parse_args()
    if not (options.out / "config.json").exists():
        train(options.model, options.data, options.out, options.steps, options.learning_rate)
    torch.manual_seed(0)
    model = load_model(options.model, name="MiniLM")
    tuned = load_model(options.out, name="MiniLM for polarity")
    _, held = sentences(options.data)
    segments = make_segments([text for text, _ in held][::4], model)
    found = compare(model, tuned, segments, matches=True, batch_size=16, progress=False)
    print(found)
    for metric, values in found.heads().items():
        print(f"{metric:32}", *(f"{value:.3f}" for value in values.mean(1)))
    matched = found.match()
    print(f"heads that match themselves: {(matched['head'] == matched['other_head']).mean():.3f}")
    frame = found.to_frame()
    print(frame[frame["metric"] == "cosine"].sort_values("value").head(5).to_string())


if __name__ == "__main__":
    main()
