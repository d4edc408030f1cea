"""Fine-tune the embedded model to tell the genre of a text: the sibling `attnwidget/genre`.

    python docs/models/finetune.py --train FILE --dev FILE --out FOLDER [--start FOLDER]

The files are treebanks in CoNLL-U whose document names begin with their genre, such as UD English
EWT and GUM; only their texts are read. The layers change by updates of low rank, and the embeddings
stay. FOLDER gets the model and its tokenizer as Transformers reads them. Its file
packed.safetensors has the changes alone, for `attnwidget/demo/genre`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer, BertForSequenceClassification

from attnwidget import load_model
from attnwidget.capture.load import best_device
from attnwidget.model_facts.packed_weights import PACKED, pack_weights
from attnwidget.text.segments import read_lines
from low_rank import merge_updates, train_updates


@dataclass(frozen=True)
class LabeledText:
    """Consecutive sentences of one document as wordpieces, with [CLS] and [SEP]; its genre."""

    ids: tuple[int, ...]
    genre: str


def genre_of(name: str) -> str:
    """The genre that a document's name begins with.

    Example:
        >>> from finetune import genre_of
        >>> genre_of("weblog-blogspot.com_nominations"), genre_of("GUM_academic_art")
        ('weblog', 'academic')
    """
    return name.removeprefix("GUM_").replace("_", "-").partition("-")[0]


def read_examples(path: str | Path, tokenizer: Any, longest: int) -> list[LabeledText]:
    """The text of a CoNLL-U file in pieces of whole sentences, at most `longest` wordpieces each.

    A sentence that alone is longer is cut.
    """
    examples: list[LabeledText] = []
    genre = ""
    held: list[int] = []
    cls = tokenizer.cls_token_id
    sep = tokenizer.sep_token_id

    def close() -> None:
        if held:
            examples.append(LabeledText((cls, *held, sep), genre))
            held.clear()

    for line in read_lines(path):
        if line.startswith("# newdoc id = "):
            close()
            genre = genre_of(line.removeprefix("# newdoc id = "))
        elif line.startswith("# text = "):
            ids = tokenizer(line.removeprefix("# text = "), add_special_tokens=False)["input_ids"]
            if len(held) + len(ids) > longest - 2:
                close()
            held.extend(ids[: longest - 2])
    close()
    return examples


def majority_share(train: Sequence[LabeledText], dev: Sequence[LabeledText]) -> float:
    """The accuracy on `dev` of always saying the most frequent genre of `train`."""
    (genre, _), *_ = Counter(example.genre for example in train).most_common(1)
    return sum(example.genre == genre for example in dev) / len(dev)


def padded_batches(
    examples: Sequence[LabeledText], genres: dict[str, int], size: int, generator: Any = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """(ids [batch, n], 0 where padded; genre [batch]), examples of like length together.

    With a numpy `generator` in a random order.
    """
    order = np.arange(len(examples)) if generator is None else generator.permutation(len(examples))
    lengths = [len(examples[int(i)].ids) for i in order]
    order = order[np.argsort(np.array(lengths) // 8, kind="stable")]
    groups = [order[at : at + size] for at in range(0, len(order), size)]
    if generator is not None:
        generator.shuffle(groups)
    for group in groups:
        rows = [torch.tensor(examples[i].ids, dtype=torch.long, device="cpu") for i in group]
        labels = torch.tensor(
            [genres[examples[i].genre] for i in group], dtype=torch.long, device="cpu"
        )
        yield torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), labels


def logits_of(model: Any, ids: Tensor) -> Tensor:
    """[batch, genres] for `ids` [batch, n] padded with 0."""
    device = next(model.parameters()).device
    ids = ids.to(device)
    output: Tensor = model(ids, attention_mask=(ids != 0).long()).logits
    return output


@torch.no_grad()
def accuracy(model: Any, examples: Sequence[LabeledText], genres: dict[str, int]) -> float:
    """The share of examples whose genre the model names; a genre it does not know is an error."""
    model.eval()
    known = [example for example in examples if example.genre in genres]
    right = 0
    for ids, labels in padded_batches(known, genres, 64):
        right += int((logits_of(model, ids).argmax(-1).cpu() == labels).sum())
    return right / len(examples)


def fine_tune(
    model: Any,
    train: Sequence[LabeledText],
    dev: Sequence[LabeledText],
    *,
    epochs: float,
    learning_rate: float,
    batch: int = 32,
    seed: int = 0,
) -> Iterator[tuple[float, float, float]]:
    """Train `model` in place; after each epoch yields (epochs done, mean loss, dev accuracy).

    The learning rate rises over the first tenth of the steps and falls linearly to 0.
    """
    genres: dict[str, int] = model.config.label2id
    generator = np.random.default_rng(seed)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=learning_rate, fused=True)
    total = max(1, round(epochs * -(-len(train) // batch)))
    step = 0
    losses = []
    while step < total:
        for ids, labels in padded_batches(train, genres, batch, generator):
            if step == total:
                break
            model.train()
            share = min(10 * (step + 1) / total, (total - step) / (0.9 * total), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * share
            logits = logits_of(model, ids)
            loss = functional.cross_entropy(logits, labels.to(logits.device))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            step += 1
        yield step / total * epochs, float(np.mean(losses)), accuracy(model, dev, genres)
        losses.clear()


def classifier(start: str | Path, genres: Sequence[str], seed: int = 0) -> Any:
    """A model folder's BERT with a new head for `genres`."""
    torch.manual_seed(seed)
    return BertForSequenceClassification.from_pretrained(
        start,
        dtype=torch.float32,
        attn_implementation="eager",
        classifier_dropout=0.1,
        label2id={genre: i for i, genre in enumerate(genres)},
        id2label=dict(enumerate(genres)),
    )


def write_embedded(folder: str | Path) -> None:
    """Write the embedded model and its tokenizer as a folder of Transformers."""
    model = load_model(device="cpu")
    model.hf_model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python docs/models/finetune.py",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--train", required=True, help="a CoNLL-U file, plain or .gz")
    parser.add_argument("--dev", required=True, help="a CoNLL-U file, plain or .gz")
    parser.add_argument("--out", type=Path, required=True, help="folder of the model")
    parser.add_argument("--start", type=Path, help="a BERT's folder in place of the embedded BERT")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--learning-rate", type=float, default=2e-3, help="at its peak")
    parser.add_argument("--rank", type=int, default=4, help="of the update of each matrix")
    parser.add_argument("--longest", type=int, default=64, help="wordpieces of an example")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory() as folder:
        if options.start is None:
            write_embedded(folder)
        start = options.start or Path(folder)
        tokenizer = AutoTokenizer.from_pretrained(start)
        train, dev = (
            read_examples(path, tokenizer, options.longest) for path in (options.train, options.dev)
        )
        genres = sorted({example.genre for example in train})
        model = classifier(start, genres, options.seed).to(best_device())
    print(
        f"{len(train)} examples to train on, {len(dev)} of dev, genres {', '.join(genres)}; "
        f"always the most frequent genre: {100 * majority_share(train, dev):.1f} %",
        flush=True,
    )
    train_updates(model, model.bert.encoder, options.rank, options.seed)
    begin = time.monotonic()
    rounds = fine_tune(
        model,
        train,
        dev,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        seed=options.seed,
    )
    for done, loss, score in rounds:
        print(
            f"epoch {done:.1f}, {time.monotonic() - begin:.0f} s: loss {loss:.3f}, "
            f"dev accuracy {100 * score:.1f} %",
            flush=True,
        )
    changes = merge_updates(model)
    print(f"in float16: dev accuracy {100 * accuracy(model, dev, model.config.label2id):.1f} %")
    model.half().save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    pack_weights(changes, options.out / PACKED)


if __name__ == "__main__":
    main()
