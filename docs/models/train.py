"""Train the embedded model: masked-language modeling, with a teacher's attention maps as targets.

    python docs/models/train.py --corpus FILE... --out FOLDER [--teacher FOLDER]
        [--start FOLDER] [--minutes N] [--tokens N]

A corpus file holds one paragraph a line and a blank line between chapters; the last 2 % of the
chapters are never trained on. FOLDER gets the model and its tokenizer, the loss curve
`losses.csv`, and `checkpoint.pt`, from which the same command goes on where it was stopped.
Without `--start` a new model with a vocabulary of its own is trained.
"""

from __future__ import annotations

import argparse
import copy
import csv
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, BertForMaskedLM

from attnwidget.capture.load import best_device
from attnwidget.text.atomic_file import replacing, write_whole
from batches import BatchMaker, encode, read_chapters, split_chapters
from distil import Losses, Student, Teacher
from vocabulary import (
    frequent_wordpieces,
    learnt_wordpieces,
    make_tokenizer,
    new_model,
    read_vocabulary,
    take_embeddings,
)

REPORT = 50
"""Steps between two rows of the loss curve."""
CHECKPOINT = "checkpoint.pt"
WARM_UP = 150
"""Steps until the learning rate is at its peak; it then falls to 0 at the end of the budget."""
COLUMNS = ("step", "tokens", "seconds", "learning_rate", "masked_lm", "divergence", "hidden")


@dataclass(frozen=True)
class Recipe:
    """What a run minimizes: masked_lm + `map_weight` * divergence + `hidden_weight` * hidden.

    A share `unmasked` of the batches is shown to a student with a teacher as it is, with nothing to
    predict: maps are looked at on unmasked text. `minutes` and `tokens` are the budget; of two, the
    one that ends first.
    """

    learning_rate: float = 1.5e-3
    map_weight: float = 30.0
    hidden_weight: float = 5.0
    unmasked: float = 0.5
    minutes: float | None = None
    tokens: float | None = None
    precision: torch.dtype = torch.bfloat16

    def __post_init__(self) -> None:
        if not self.minutes and not self.tokens:
            raise ValueError("a run needs a budget: minutes, tokens or both")


@dataclass
class Progress:
    """How far a run is; `curve` holds a row of COLUMNS for every REPORT steps."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    curve: list[list[float]] = field(default_factory=list)


class Trainer:
    """A student, its optimizer and its batches: all that a checkpoint holds."""

    def __init__(
        self,
        student: Student,
        teacher: Teacher | None,
        batches: BatchMaker,
        recipe: Recipe,
        device: torch.device,
    ) -> None:
        self.student = student.to(device).train()
        self.teacher = None if teacher is None else teacher.to(device)
        self.batches = batches
        self.recipe = recipe
        self.device = device
        matrices = [p for p in student.parameters() if p.ndim > 1]
        vectors = [p for p in student.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}],
            lr=recipe.learning_rate,
            betas=(0.9, 0.98),
            fused=True,
        )
        self.progress = Progress()
        # Since the last report: the sum of each loss and how many batches had it.
        self._sums = np.zeros((2, 3))

    @property
    def used(self) -> float:
        """The used part of the budget, from 0 to 1."""
        parts = []
        if self.recipe.minutes:
            parts.append(self.progress.seconds / (60 * self.recipe.minutes))
        if self.recipe.tokens:
            parts.append(self.progress.tokens / self.recipe.tokens)
        return min(1.0, max(parts))

    def step(self) -> Losses:
        """One step of the optimizer."""
        begin = time.perf_counter()
        warm = min(1.0, (self.progress.step + 1) / WARM_UP)
        rate = self.recipe.learning_rate * warm * (1 - self.used)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        # Without a teacher an unmasked batch would have nothing to teach.
        unmasked = self.recipe.unmasked if self.teacher is not None else 0.0
        masked = self.batches.generator.random() >= unmasked
        batch = self.batches.draw(masked).to(self.device)
        targets = None if self.teacher is None else self.teacher(batch.text, batch.segments)
        mixed = self.recipe.precision != torch.float32
        with torch.autocast(self.device.type, self.recipe.precision, enabled=mixed):
            losses: Losses = self.student(batch, targets)
        loss = self.recipe.map_weight * losses.divergence
        loss = loss + self.recipe.hidden_weight * losses.hidden
        if losses.masked_lm is not None:
            loss = loss + losses.masked_lm
        if loss.requires_grad:  # a batch so small that nothing was selected has no loss
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        for i, value in enumerate((losses.masked_lm, losses.divergence, losses.hidden)):
            if value is not None:
                self._sums[:, i] += value.item(), 1
        self.progress.step += 1
        self.progress.tokens += batch.ids.numel()
        self.progress.seconds += time.perf_counter() - begin
        if self.progress.step % REPORT == 0:
            self._report(rate)
        return losses

    def _report(self, rate: float) -> None:
        done = self.progress
        means = (self._sums[0] / np.maximum(self._sums[1], 1)).tolist()
        self._sums[:] = 0
        done.curve.append([done.step, done.tokens, round(done.seconds, 1), rate, *means])
        print(
            f"{100 * self.used:.1f} %: step {done.step}, {done.tokens / 1e6:.2f} M tokens, "
            f"{done.seconds:.0f} s, masked LM {means[0]:.3f}, divergence {means[1]:.4f}, "
            f"hidden {means[2]:.4f}",
            flush=True,
        )

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs in order to go on as if it had not been stopped."""
        return {
            "student": self.student.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.batches.generator.bit_generator.state,
            "progress": asdict(self.progress),
            "sums": self._sums.tolist(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.student.load_state_dict(state["student"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.batches.generator.bit_generator.state = state["generator"]
        self.progress = Progress(**state["progress"])
        self._sums = np.array(state["sums"])


def save(trainer: Trainer, tokenizer: Any, folder: Path) -> None:
    """Write the checkpoint, the model in float16 with its tokenizer, and the loss curve."""
    with replacing(folder / CHECKPOINT) as unfinished:
        torch.save(trainer.state(), unfinished)
    copy.deepcopy(trainer.student.model).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    write_whole(folder / "vocab.txt", ("\n".join(pieces) + "\n").encode("utf-8"))
    with (
        replacing(folder / "losses.csv") as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(trainer.progress.curve)


def train(trainer: Trainer, tokenizer: Any, folder: Path, save_minutes: float = 5) -> None:
    """Go on until the budget is used, saving now and then and at the end."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.exists():
        trainer.restore(torch.load(checkpoint, map_location=trainer.device, weights_only=True))
    saved = time.monotonic()
    while trainer.used < 1:
        trainer.step()
        if time.monotonic() - saved > 60 * save_minutes:
            save(trainer, tokenizer, folder)
            saved = time.monotonic()
    save(trainer, tokenizer, folder)


def prepare(options: argparse.Namespace) -> tuple[Trainer, Any]:
    """The trainer and the tokenizer that a command line asks for."""
    torch.manual_seed(options.seed)
    training, _ = split_chapters(read_chapters(options.corpus))
    # A vocabulary is not learnt twice: among equals its wordpieces may then be others.
    start = options.out if (options.out / CHECKPOINT).exists() else options.start
    if start:
        tokenizer = AutoTokenizer.from_pretrained(start)
        model = BertForMaskedLM.from_pretrained(start, dtype=torch.float32)
    else:
        paragraphs = [paragraph for chapter in training for paragraph in chapter]
        if options.teacher:
            known = read_vocabulary(options.teacher)
            wordpieces = frequent_wordpieces(paragraphs, known, options.vocabulary)
        else:
            wordpieces = learnt_wordpieces(paragraphs, options.vocabulary)
        tokenizer = make_tokenizer(wordpieces)
        model = new_model(
            len(wordpieces), layers=options.layers, heads=options.heads, size=options.hidden
        )
    recipe = Recipe(
        learning_rate=options.learning_rate,
        map_weight=options.map_weight,
        hidden_weight=options.hidden_weight,
        unmasked=options.unmasked,
        minutes=options.minutes,
        tokens=options.tokens,
        precision=getattr(torch, options.precision),
    )
    teacher = None
    if options.teacher:
        pieces = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
        teacher = Teacher(options.teacher, pieces, recipe.precision)
        if not start:
            take_embeddings(model, teacher.bert)
    batches = BatchMaker(
        encode(training, tokenizer),
        tokenizer,
        tokens=options.batch_tokens,
        longest=min(options.longest, model.config.max_position_embeddings),
        generator=np.random.default_rng(options.seed),
    )
    device = best_device() if options.device == "auto" else torch.device(options.device)
    return Trainer(Student(model, teacher), teacher, batches, recipe, device), tokenizer


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python docs/models/train.py",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--corpus", nargs="+", required=True, help="text files, plain or .gz")
    add("--out", type=Path, required=True, help="folder of the model and the checkpoint")
    add("--teacher", type=Path, help="folder of a BERT whose maps are the targets")
    add("--start", type=Path, help="folder of a BERT to go on from, with its tokenizer")
    add("--minutes", type=float, help="budget in time spent on steps")
    add("--tokens", type=float, help="budget in wordpieces")
    add("--batch-tokens", type=int, default=2048, help="wordpieces a step")
    add("--longest", type=int, default=512, help="wordpieces of the longest sequences")
    add("--learning-rate", type=float, default=Recipe.learning_rate, help="at its peak")
    add("--map-weight", type=float, default=Recipe.map_weight, help="of the maps' divergence")
    add("--hidden-weight", type=float, default=Recipe.hidden_weight, help="of the hidden states")
    add("--unmasked", type=float, default=Recipe.unmasked, help="share of batches without masks")
    add("--precision", choices=("bfloat16", "float32"), default="bfloat16", help="of products")
    add("--device", default="auto", help="auto: the first GPU, else the CPU")
    add("--save-minutes", type=float, default=5, help="between two checkpoints")
    add("--seed", type=int, default=0)
    new = parser.add_argument_group("a new model, without --start")
    new.add_argument("--vocabulary", type=int, default=8192, help="wordpieces")
    new.add_argument("--layers", type=int, default=6)
    new.add_argument("--heads", type=int, default=12)
    new.add_argument("--hidden", type=int, default=240, help="size of the hidden states")
    options = parser.parse_args(arguments)
    if not options.minutes and not options.tokens:
        parser.error("say how long: --minutes, --tokens or both")
    trainer, tokenizer = prepare(options)
    options.out.mkdir(parents=True, exist_ok=True)
    train(trainer, tokenizer, options.out, options.save_minutes)


if __name__ == "__main__":
    main()
