"""What measuring costs beside the forward pass that it goes with, all in one process.

Run by `make bench`; `python tests/benchmarks/surface.py 3` makes 3 rounds. Every round runs all
candidates one after the other, and ratios are taken within a round, so that a busy machine slows
both sides; medians over the rounds are printed, with the lowest and the highest.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

# Before transformers is imported.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

from attnwidget import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.tap import tap
from attnwidget.corpus.batches import BatchMaker, batched
from attnwidget.kernels.divergence import js_divergences
from attnwidget.kernels.rollout import flow_to_inputs
from attnwidget.metrics.measure import measure
from attnwidget.text.segments import Segment

TOKENS = 128
BATCH = 8
SURFACE = ("position", "classes", "entropy", "confidence")


def random_segments(model: AttentionModel, count: int) -> Iterator[Segment]:
    """Pairs of random vocabulary entries, 128 tokens with the special ones."""
    random = np.random.default_rng(0)
    special = set(model.tokenizer.all_special_tokens)
    words = sorted(set(model.tokenizer.get_vocab()) - special)
    for _ in range(count):
        drawn = tuple(words[i] for i in random.integers(0, len(words), TOKENS - 3))
        yield Segment(drawn[:60], drawn[60:])


def bert_base() -> AttentionModel:
    """BERT-base with random weights, which takes as long as the real one."""
    torch.manual_seed(0)
    tokenizer = load_model().tokenizer
    config = transformers.BertConfig(vocab_size=len(tokenizer))
    return load_model(transformers.BertForMaskedLM(config), tokenizer)


def rounds(candidates: dict[str, Callable[[], object]], count: int) -> dict[str, list[float]]:
    """Seconds of each candidate in every round, after one that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(count + 1):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(times: list[float], base: list[float]) -> str:
    ratios = [a / b for a, b in zip(times, base, strict=True)]
    return f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def beside_the_forward_pass(name: str, model: AttentionModel, count: int) -> None:
    segments = list(random_segments(model, 2 * BATCH))
    backbone = model.hf_model.base_model
    maker = BatchMaker(model, backbone, None, {})
    inputs = [maker(batch).inputs for batch in batched(segments, BATCH)]

    def forward() -> None:
        with torch.no_grad():
            for batch in inputs:
                backbone(**batch)

    def empty_tap() -> None:
        with tap(backbone, lambda _: None):
            forward()

    def study(*metrics: str) -> Callable[[], object]:
        return lambda: measure(model, segments, metrics, batch_size=BATCH, progress=False)

    seconds = rounds(
        {
            "forward": forward,
            "tap": empty_tap,
            "surface": study(*SURFACE),
            "norms": study(*SURFACE, "norms"),
        },
        count,
    )
    base = seconds["forward"]
    each = median(base) / len(segments) * 1e3
    print(f"{name}, {TOKENS} tokens, batches of {BATCH}; sdpa forward {each:.1f} ms a segment")
    print(f"  tap with nothing on it            x {ratio(seconds['tap'], base)}")
    print(f"  {', '.join(SURFACE):33} x {ratio(seconds['surface'], base)}")
    added = [
        1 + (with_norms - without) / plain
        for with_norms, without, plain in zip(
            seconds["norms"], seconds["surface"], base, strict=True
        )
    ]
    print(f"  norms on top of them              + {ratio([a - 1 for a in added], [1] * count)}")
    apart = ("patterns", "distances", "gradients")
    seconds = rounds(
        {"forward": forward} | {metric: study(metric) for metric in apart}, max(1, count // 3)
    )
    for metric in apart:
        print(f"  {metric + ' alone':33} x {ratio(seconds[metric], seconds['forward'])}")


def entropy_form(maps: np.ndarray, *, in_one_pass: bool = False) -> np.ndarray:
    """JS = H(m) - (H(p) + H(q)) / 2, a loop over the pairs of heads.

    As the formula is written; `in_one_pass` sums the products without keeping them.
    """

    def negative_entropy(p: np.ndarray) -> float:
        return float(np.vdot(p, np.log(p)) if in_one_pass else (p * np.log(p)).sum())

    maps = np.float32(0.999) * maps + np.float32(0.001 / maps.shape[-1])
    own = [negative_entropy(p) for p in maps]
    found = np.zeros((len(maps), len(maps)))
    for i, j in zip(*np.triu_indices(len(maps), 1), strict=True):
        joint = negative_entropy((maps[i] + maps[j]) / 2)
        found[i, j] = found[j, i] = (own[i] + own[j]) / 2 - joint
    return found


def full_formula(maps: np.ndarray) -> np.ndarray:
    """JS = KL(p || m) / 2 + KL(q || m) / 2, a loop over the pairs of heads."""
    maps = np.float32(0.999) * maps + np.float32(0.001 / maps.shape[-1])
    found = np.zeros((len(maps), len(maps)))
    for i, j in zip(*np.triu_indices(len(maps), 1), strict=True):
        p = maps[i]
        q = maps[j]
        m = (p + q) / 2
        terms = [np.where(x > 0, x * np.log(x / m), 0).sum(dtype=np.float64) for x in (p, q)]
        found[i, j] = found[j, i] = sum(terms) / 2
    return found


def beside_pair_loops(model: AttentionModel, count: int) -> None:
    segment = next(random_segments(model, 1))
    ids = model.tokenizer.convert_tokens_to_ids([*segment.first, *segment.second])
    maps = torch.from_numpy(model.attend(ids).weights()).flatten(0, 1)
    seconds = rounds(
        {
            "ours": lambda: js_divergences(maps),
            "entropy form": lambda: entropy_form(maps.numpy()),
            "entropy form in one pass": lambda: entropy_form(maps.numpy(), in_one_pass=True),
            "full formula": lambda: full_formula(maps.numpy()),
        },
        count,
    )
    exact = full_formula(maps.double().numpy())
    ours = js_divergences(maps).numpy()
    error = np.abs(ours - exact).max() / exact.max()
    pairs = math.comb(len(maps), 2)
    print(f"distances of {pairs} pairs of heads, one segment: {median(seconds['ours']):.3f} s")
    for name in ("entropy form", "entropy form in one pass", "full formula"):
        print(f"  numpy loop, {name:24} takes {ratio(seconds[name], seconds['ours'])} times that")
    print(f"  largest relative error {error:.1e}")


def flow(model: AttentionModel) -> None:
    weights = torch.from_numpy(model.attend("The captain told his men to stay. " * 3).weights())
    start = time.perf_counter()
    flow_to_inputs(weights, layer=weights.shape[0] - 1)
    shape = "x".join(map(str, weights.shape))
    print(f"attention flow, maps {shape}: {time.perf_counter() - start:.2f} s")


def peak_memory(count: int) -> float:
    """MB at most in use by a process that measures `count` segments of an iterator."""
    code = f"import surface; surface.measure_and_report({count})"
    folder = os.path.dirname(__file__)
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True
    )
    return float(run.stdout)


def measure_and_report(count: int) -> None:
    model = load_model()
    metrics = [*SURFACE, "norms", "distances"]
    measure(model, random_segments(model, count), metrics, batch_size=4, progress=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(f"{torch.get_num_threads()} threads, {count} rounds")
    embedded = load_model()
    base = bert_base()
    beside_the_forward_pass("random BERT-base, 12 x 12", base, count)
    beside_the_forward_pass("embedded model, 6 x 12", embedded, count)
    beside_pair_loops(base, count)
    flow(embedded)
    few = 128
    many = 512
    peaks = [peak_memory(n) for n in (few, many)]
    print(f"peak memory: {peaks[0]:.0f} MB for {few} segments, {peaks[1]:.0f} MB for {many}")


if __name__ == "__main__":
    main()
