"""Train the embedded causal model, in which induction heads form: `attnwidget/induction`.

    python docs/models/train_induction.py --out FOLDER [--corpus FILE...] [--steps N]

FOLDER gets the configuration, the tokenizer, and a folder `step<N>` of weights for each checkpoint
and for the last step. The script prints the losses and the scores of all heads at every checkpoint.
The same seed gives the same weights on the same processor and version of torch.
"""

from __future__ import annotations

import argparse
import copy
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attnwidget.capture.load import load_model
from attnwidget.metrics.induction import induction_scores
from attnwidget.text.demonstrations import demo_prose
from batches import encode, read_chapters, split_chapters
from causal_batches import LENGTHS, CausalBatches, Int, repeated_once
from vocabulary import (
    causal_tokenizer,
    frequent_wordpieces,
    new_causal_model,
    read_vocabulary,
)

EMBEDDED = Path(__file__).parents[2] / "attnwidget" / "demo"
WEIGHTS = "model.safetensors"
VOCABULARY = 256
WARM_UP = 100
"""Steps until the learning rate is at its peak; it then falls to 0 at the last step."""
HELD_OUT = 2 / 12
"""The share of the passages, the last ones, that training never sees."""
REPEATED = 50
"""Number of random tokens that are repeated once where losses and scores are measured."""
FIRST_CHECKPOINTS = (0, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000)
"""Steps with a checkpoint, beside the last step."""


@dataclass(frozen=True)
class Losses:
    """Mean losses of the model in nats per token.

    Attributes:
        first: On random tokens.
        second: On the same tokens when they are repeated.
        prose: On held-out prose.
    """

    first: float
    second: float
    prose: float

    def __str__(self) -> str:
        return f"first copy {self.first:.2f}, second copy {self.second:.2f}, prose {self.prose:.2f}"


def token_losses(model: Any, ids: Tensor) -> Tensor:
    """Return the loss of each token but the first in nats, [B, n - 1], for `ids` [B, n]."""
    logits = model(ids).logits[:, :-1]
    return functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")


@torch.no_grad()
def measure_losses(model: Any, held_out: Int, batches: CausalBatches) -> Losses:
    """Return the losses on repeated random tokens and on windows of held-out prose."""
    model.eval()
    repeated = repeated_once(batches.names, batches.start, length=REPEATED, n_sequences=32)
    of_random = token_losses(model, repeated).mean(0)
    n_tokens = max(LENGTHS) - 1
    windows = held_out[: len(held_out) // n_tokens * n_tokens].reshape(-1, n_tokens)
    windows = np.insert(windows, 0, batches.start, axis=1)
    # The first repeated token cannot be predicted: nothing says yet that tokens repeat.
    return Losses(
        first=float(of_random[:REPEATED].mean()),
        second=float(of_random[REPEATED + 1 :].mean()),
        prose=float(token_losses(model, torch.from_numpy(windows)).mean()),
    )


def train(
    model: Any, batches: CausalBatches, *, steps: int, learning_rate: float
) -> Iterator[tuple[int, float]]:
    """Train `model` in place; yield the steps done and the latest loss, from (0, NaN) on.

    The learning rate rises over WARM_UP steps and falls linearly to 0.
    """
    matrices = [p for p in model.parameters() if p.ndim > 1]
    gains = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": gains, "weight_decay": 0.0}],
        lr=learning_rate,
        betas=(0.9, 0.98),
    )
    yield 0, float("nan")
    for step in range(steps):
        model.train()
        share = min(1.0, (step + 1) / WARM_UP) * (steps - step) / steps
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * share
        ids, weights = batches.draw(step / steps)
        loss = (token_losses(model, ids) * weights).sum() / weights.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        yield step + 1, loss.item()


def print_scores(model: Any, tokenizer: Any) -> None:
    """Print the scores of every head on repeated random tokens."""
    loaded = load_model(copy.deepcopy(model), tokenizer)
    scores = induction_scores(loaded, length=REPEATED, progress=False)
    for title, values in scores.heads().items():
        heads = [f"L{layer} H{head} {value:.2f}" for (layer, head), value in np.ndenumerate(values)]
        print(f"    {title}: {', '.join(heads)}", flush=True)


def save(model: Any, folder: Path, step: int) -> None:
    """Write the weights of a step in float16, and the configuration that all steps share."""
    model = copy.deepcopy(model).half()
    with tempfile.TemporaryDirectory() as whole:
        model.save_pretrained(whole)
        shutil.copy(Path(whole) / "config.json", folder)
        (folder / f"step{step}").mkdir(exist_ok=True)
        shutil.copy(Path(whole) / WEIGHTS, folder / f"step{step}")


def prepare(options: argparse.Namespace) -> tuple[Any, Any, CausalBatches, Int]:
    """Return the model, the tokenizer, the batches and the held-out prose of a command line."""
    torch.manual_seed(options.seed)
    training, held_out = split_chapters(read_chapters(options.corpus), HELD_OUT)
    paragraphs = [paragraph for chapter in training for paragraph in chapter]
    pieces = frequent_wordpieces(paragraphs, read_vocabulary(EMBEDDED), options.vocabulary)
    tokenizer = causal_tokenizer(pieces, max(LENGTHS))
    model = new_causal_model(len(tokenizer), positions=max(LENGTHS))
    generator = np.random.default_rng(options.seed)
    ordinary = np.setdiff1d(np.arange(len(tokenizer)), tokenizer.all_special_ids)
    batches = CausalBatches(
        prose=encode(training, tokenizer).ids,
        names=ordinary,
        start=tokenizer.bos_token_id,
        tokens=options.batch_tokens,
        generator=generator,
    )
    return model, tokenizer, batches, encode(held_out, tokenizer).ids


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python docs/models/train_induction.py",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, help="folder of the model and its checkpoints")
    add("--corpus", nargs="+", default=[demo_prose()], help="text files, plain or .gz")
    add("--vocabulary", type=int, default=VOCABULARY, help="wordpieces of the vocabulary")
    add("--steps", type=int, default=4000, help="steps of the optimizer")
    add("--batch-tokens", type=int, default=2048, help="tokens of a step")
    add("--learning-rate", type=float, default=3e-3, help="at its peak")
    add("--seed", type=int, default=0, help="of weights and batches")
    options = parser.parse_args(arguments)

    model, tokenizer, batches, held_out = prepare(options)
    print(f"{sum(p.numel() for p in model.parameters()):,} weights, {len(batches.prose):,} tokens")
    begin = time.monotonic()
    steps = train(model, batches, steps=options.steps, learning_rate=options.learning_rate)
    for step, loss in steps:
        if step in FIRST_CHECKPOINTS or step == options.steps:
            seconds = time.monotonic() - begin
            losses = measure_losses(model, held_out, batches)
            print(f"step {step}, {seconds:.0f} s, training {loss:.2f}: {losses}", flush=True)
            print_scores(model, tokenizer)
            save(model, options.out, step)
    tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()
