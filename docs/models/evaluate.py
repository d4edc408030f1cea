"""How well models predict masked words and what their heads do, as Markdown tables.

    python docs/models/evaluate.py [FOLDER ...] --corpus FILE... --treebank FILE

Without a FOLDER the embedded model is evaluated. `--corpus` is what `train.py` was
given: its last 2 % of chapters are predicted, the rest gives the unigram baseline. `--treebank` is
a CoNLL-U file. Which wordpieces are masked is decided by a seed, so every run prints the same.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.text.segments import read_lines
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words.relations import RelationAccuracies, probe_relations
from batches import (
    SELECTED,
    Int,
    Prose,
    encode,
    read_chapters,
    split_chapters,
)

WINDOW = 126
"""Wordpieces of a sequence without [CLS] and [SEP]."""
BATCH = 32


@dataclass(frozen=True)
class MaskedScore:
    """Accuracy (0 to 1) and perplexity (e to the mean loss in nats) over `count` wordpieces."""

    accuracy: float
    perplexity: float
    count: int


def windows(prose: Prose) -> list[Int]:
    """Consecutive pieces of each chapter, WINDOW wordpieces long, the last of it shorter."""
    begins = prose.starts[np.searchsorted(prose.chapter, np.unique(prose.chapter))]
    cut = []
    for begin, end in zip(begins, [*begins[1:], len(prose.ids)], strict=True):
        cut += [prose.ids[i : min(i + WINDOW, end)] for i in range(begin, end, WINDOW)]
    return cut


def masked_windows(cut: Sequence[Int], seed: int) -> list[Int]:
    """For each window, the sorted positions that are predicted: 15 %, at least one."""
    generator = np.random.default_rng(seed)
    return [
        np.sort(generator.choice(len(ids), max(1, round(SELECTED * len(ids))), replace=False))
        for ids in cut
    ]


def score_masked(model: AttentionModel, prose: Prose, seed: int = 0) -> MaskedScore:
    """Masked-language-model scores; every selected wordpiece is replaced by [MASK]."""
    tokenizer = model.tokenizer
    hf_model = model.hf_model
    cut = windows(prose)
    chosen = masked_windows(cut, seed)
    right = 0
    loss = 0.0
    count = 0
    # Windows of like length together, so that little is padded.
    order = sorted(range(len(cut)), key=lambda i: len(cut[i]))
    for at in range(0, len(order), BATCH):
        some = order[at : at + BATCH]
        shape = (len(some), max(len(cut[i]) for i in some) + 2)
        ids = np.full(shape, tokenizer.pad_token_id)
        labels = np.full(shape, -100)
        for row, i in enumerate(some):
            text = cut[i].copy()
            labels[row, chosen[i] + 1] = text[chosen[i]]
            text[chosen[i]] = tokenizer.mask_token_id
            ids[row, : len(text) + 2] = [tokenizer.cls_token_id, *text, tokenizer.sep_token_id]
        inputs = torch.from_numpy(ids).to(model.device)
        goal = torch.from_numpy(labels).to(model.device)
        with torch.no_grad():
            logits = hf_model(
                input_ids=inputs, attention_mask=(inputs != tokenizer.pad_token_id).long()
            ).logits[goal != -100]
        goal = goal[goal != -100]
        right += int((logits.argmax(-1) == goal).sum())
        loss += float(functional.cross_entropy(logits.float(), goal, reduction="sum"))
        count += len(goal)
    return MaskedScore(right / count, math.exp(loss / count), count)


def score_unigram(counts: Int, prose: Prose, seed: int = 0) -> MaskedScore:
    """The same for a model that always gives the frequencies `counts` [vocabulary], plus one."""
    cut = windows(prose)
    goal = np.concatenate(
        [ids[chosen] for ids, chosen in zip(cut, masked_windows(cut, seed), strict=True)]
    )
    shares = np.log((counts + 1) / (counts + 1).sum())
    return MaskedScore(
        float((goal == counts.argmax()).mean()), math.exp(-shares[goal].mean()), len(goal)
    )


def treebank_documents(path: str | Path) -> list[list[str]]:
    """The texts of a CoNLL-U file's sentences, by document."""
    documents: list[list[str]] = []
    for line in read_lines(path):
        if line.startswith("# newdoc") or not documents:
            documents.append([])
        if line.startswith("# text = "):
            documents[-1].append(line.removeprefix("# text = "))
    return [document for document in documents if document]


def attention_masses(model: AttentionModel, prose: Prose, n_pairs: int = 60) -> dict[str, Tensor]:
    """[L, H] mean weight that goes to the previous and next token, to [CLS] and to both [SEP].

    Averaged over all queries of a pair, 128 tokens long, then over `n_pairs` pairs, which are
    windows from all over the text, each split in its middle.
    """
    tokenizer = model.tokenizer
    cls = tokenizer.cls_token_id
    sep = tokenizer.sep_token_id
    full = [ids[: WINDOW - 1] for ids in windows(prose) if len(ids) == WINDOW]
    spread = np.unique(np.linspace(0, len(full) - 1, n_pairs).round().astype(int))
    half = WINDOW // 2
    segments = torch.tensor(
        [[0] * (half + 2) + [1] * (WINDOW - half)], dtype=torch.long, device="cpu"
    )
    totals: dict[str, Tensor] = {}
    for i in spread:
        ids = [cls, *full[i][:half], sep, *full[i][half:], sep]
        attention = model.attend(
            {
                "input_ids": torch.tensor([ids], dtype=torch.long, device="cpu"),
                "token_type_ids": segments,
            }
        )
        weights = torch.from_numpy(attention.weights())
        received = weights.mean(-2)  # [L, H, K]
        masses = {
            "previous token": weights.diagonal(-1, -2, -1).sum(-1) / len(ids),
            "next token": weights.diagonal(1, -2, -1).sum(-1) / len(ids),
            "[CLS]": received[..., 0],
            "[SEP]": received[..., half + 1] + received[..., -1],
        }
        for name, mass in masses.items():
            totals[name] = totals.get(name, torch.zeros_like(mass)) + mass / len(spread)
    return totals


def prediction_table(rows: Sequence[tuple[str, MaskedScore, MaskedScore]]) -> Iterator[str]:
    """Rows are a model's name and its scores on held-out chapters and on the treebank's text."""
    yield "| | held-out chapters: accuracy | perplexity | treebank text: accuracy | perplexity |"
    yield "|---|---|---|---|---|"
    for name, prose, treebank in rows:
        numbers = [
            cell
            for score in (prose, treebank)
            for cell in (f"{100 * score.accuracy:.1f} %", f"{score.perplexity:.1f}")
        ]
        yield f"| {name} | {' | '.join(numbers)} |"


def relation_table(accuracies: RelationAccuracies, name: str) -> Iterator[str]:
    """The best head of each relation that 100 words have, beside the best fixed offset."""
    best = accuracies.best(min_count=100)
    best = best[(best.relation != "all") & ~best.relation.str.endswith("(all)")]
    gain = 100 * (best.accuracy - best.baseline)
    yield (
        f"{name}: {(gain >= 10).sum()} of {len(best)} relations at least 10 points above the best "
        f"offset ({accuracies.n_sentences} sentences, {accuracies.n_skipped} skipped)\n"
    )
    yield "| relation | words | best head | who attends | accuracy | best offset | gain |"
    yield "|---|---|---|---|---|---|---|"
    for row in best.assign(gain=gain).to_dict("records"):
        attends = row["direction"].partition(" ")[0]
        yield (
            f"| {row['relation']} | {row['n']} | L{row['layer']} H{row['head']} | {attends} "
            f"| {100 * row['accuracy']:.1f} | {100 * row['baseline']:.1f} ({row['offset']:+d}) "
            f"| {row['gain']:+.1f} |"
        )


def mass_table(masses: dict[str, Tensor]) -> Iterator[str]:
    yield "| weight on | strongest head | its mean | heads above 50 % |"
    yield "|---|---|---|---|"
    for name, mass in masses.items():
        layer, head = divmod(int(mass.argmax()), mass.shape[1])
        yield f"| {name} | L{layer} H{head} | {mass.max():.3f} | {int((mass > 0.5).sum())} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python docs/models/evaluate.py")
    parser.add_argument("--model", help="a model folder; without it, the embedded model")
    parser.add_argument("--compare", nargs="*", default=[], help="other model folders")
    parser.add_argument("--corpus", nargs="+", required=True, help="text files, plain or .gz")
    parser.add_argument("--treebank", required=True, help="a CoNLL-U file, plain or .gz")
    parser.add_argument("--seed", type=int, default=0, help="which wordpieces are masked")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args(arguments)

    training, held_out = split_chapters(read_chapters(options.corpus))
    documents = treebank_documents(options.treebank)
    sentences = load_treebank(options.treebank)
    predictions: list[tuple[str, MaskedScore, MaskedScore]] = []
    tables: list[str] = []
    for folder in (options.model, *options.compare):
        model = load_model(folder, device=options.device, dtype=torch.float32)
        prose, treebank = (encode(texts, model.tokenizer) for texts in (held_out, documents))
        name = "embedded" if folder is None else Path(folder).name
        scored = [score_masked(model, text, options.seed) for text in (prose, treebank)]
        predictions.append((name, scored[0], scored[1]))
        if len(predictions) == 1:
            ids = encode(training, model.tokenizer).ids
            counts = np.bincount(ids, minlength=len(model.tokenizer))
            unigram = [score_unigram(counts, text, options.seed) for text in (prose, treebank)]
        relations = probe_relations(
            model, sentences, possessive=None, skip_unaligned=True, progress=False
        )
        tables += [
            "",
            *relation_table(relations, name),
            f"\n{name}: where the weight goes\n",
            *mass_table(attention_masses(model, prose)),
        ]
        model.close()
    predictions.append(("unigram", unigram[0], unigram[1]))
    counted = predictions[0]
    print(
        f"Masked wordpieces: {counted[1].count} of the {len(held_out)} held-out chapters, "
        f"{counted[2].count} of the treebank's {len(documents)} documents\n"
    )
    print("\n".join([*prediction_table(predictions), *tables]))


if __name__ == "__main__":
    main()
