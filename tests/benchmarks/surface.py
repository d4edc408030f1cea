"""Cost of `measure` beside the forward passes that it goes with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import transformers

from attnwidget import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.tap import tap
from attnwidget.corpus.batches import BatchMaker, batched
from attnwidget.kernels.divergence import js_divergences
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.segments import Segment
from benchmarks.rows import Row, Run, in_turns, rows_of

TOKENS = 128
BATCH = 8
SURFACE = ("position", "classes", "entropy", "confidence")
MEASURE = "`measure`, its default metrics"
FORWARD = "forward passes"


def random_segments(
    model: AttentionModel, count: int, tokens: int = TOKENS, seed: int = 0
) -> Iterator[Segment]:
    """Yield pairs of random vocabulary entries, of `tokens` tokens with the special tokens."""
    random = np.random.default_rng(seed)
    special = set(model.tokenizer.all_special_tokens)
    words = sorted(set(model.tokenizer.get_vocab()) - special)
    half = (tokens - 3) // 2
    for _ in range(count):
        drawn = tuple(words[i] for i in random.integers(0, len(words), tokens - 3))
        yield Segment(drawn[:half], drawn[half:])


def random_bert(
    layers: int = 12, heads: int = 12, width: int = 64, inner: int = 3072, longest: int = 512
) -> AttentionModel:
    """Return a BERT with random weights, which takes as long as a trained one.

    The default is the size of BERT-base; `width` is that of a head.
    """
    torch.manual_seed(0)
    tokenizer = load_model(device="cpu").tokenizer
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=heads * width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=longest,
    )
    return load_model(transformers.BertForMaskedLM(config), tokenizer, device="cpu")


def forward_over(model: AttentionModel, segments: list[Segment], batch_size: int = BATCH) -> Run:
    """Return a function that runs the model over the batches of `measure`, without any tap."""
    backbone = model.hf_model.base_model
    maker = BatchMaker(model, backbone, None, {})
    inputs = [maker(batch).inputs for batch in batched(segments, batch_size)]

    def forward() -> None:
        with torch.no_grad():
            for batch in inputs:
                backbone(**batch)

    return forward


def beside_the_forward_pass(
    name: str, model: AttentionModel, tokens: int, rounds: int
) -> list[Row]:
    segments = list(random_segments(model, BATCH, tokens))
    forward = forward_over(model, segments)

    def empty_tap() -> None:
        with tap(model.hf_model.base_model, lambda _: None):
            forward()

    def study(*metrics: str) -> Run:
        return lambda: measure(model, segments, metrics, batch_size=BATCH, progress=False)

    what = f"{name}, {tokens} tokens"
    limit = {MEASURE: 1.35} if name.startswith("small BERT") else {}
    runs = {
        FORWARD: forward,
        "reading maps alone": empty_tap,
        MEASURE: study(*SURFACE),
        '`measure` with "norms" too': study(*SURFACE, "norms"),
    }
    rows = rows_of(in_turns(runs, rounds), FORWARD, what=what, limits=limit)
    if rounds > 1 and not name.startswith("small BERT"):
        return rows  # these metrics of a large model would take minutes
    apart = {
        f'`measure`, "{metric}" alone': study(metric)
        for metric in ("patterns", "distances", "gradients")
    }
    seconds = in_turns({FORWARD: forward, **apart}, max(1, rounds // 3))
    return rows + rows_of(seconds, FORWARD, what=what)


def divergences_by_loop(maps: np.ndarray) -> np.ndarray:
    """Return JS = H(m) - (H(p) + H(q)) / 2 by a loop over the pairs of heads."""

    def negative_entropy(p: np.ndarray) -> float:
        return float(np.vdot(p, np.log(p)))

    maps = np.float32(0.999) * maps + np.float32(0.001 / maps.shape[-1])
    own = [negative_entropy(p) for p in maps]
    found = np.zeros((len(maps), len(maps)))
    for i, j in zip(*np.triu_indices(len(maps), 1), strict=True):
        joint = negative_entropy((maps[i] + maps[j]) / 2)
        found[i, j] = found[j, i] = (own[i] + own[j]) / 2 - joint
    return found


def beside_a_loop(model: AttentionModel, tokens: int, rounds: int) -> list[Row]:
    segment = next(random_segments(model, 1, tokens))
    ids = model.tokenizer.convert_tokens_to_ids([*segment.first, *segment.second])
    maps = torch.from_numpy(model.attend(ids).weights()).flatten(0, 1)
    loop = "a loop over the pairs in numpy"
    runs = {
        loop: lambda: divergences_by_loop(maps.numpy()),
        f"distances of {len(maps)} heads, one text": lambda: js_divergences(maps),
    }
    return rows_of(in_turns(runs, max(1, rounds // 3)), loop, what=f"{tokens} tokens")


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    rounds, tokens = (1, 12) if tiny else (7, TOKENS)
    small = load_model(device="cpu")
    name = "small BERT, 6 x 12 heads"
    base = random_bert(1, 2, 8, 16) if tiny else random_bert()
    found = beside_the_forward_pass(name, base if tiny else small, tokens, rounds)
    if not tiny:
        found += beside_the_forward_pass("random BERT-base, 12 x 12 heads", base, tokens, 3)
    return found + beside_a_loop(base, tokens, rounds)
