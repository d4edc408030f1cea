"""What comparing two models costs beside the forward passes that it goes with, in one process.

Run by `make bench`; `python tests/benchmarks/compare.py 3 FOLDER` makes 3 rounds, and reads the
model of a folder beside itself, too. Every round runs all candidates one after the other, in one
thread; ratios are taken within a round, so that a busy machine slows both sides, and of the least
of all rounds. Models run with the attention that they were loaded with, and with "sdpa".
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from surface import BATCH

from attnwidget import compare, load_model, read_segments
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.tap import tap
from attnwidget.corpus.batches import BatchMaker, batched
from attnwidget.demo import demo_prose


def beside_two_forward_passes(a: AttentionModel, b: AttentionModel, count: int) -> None:
    segments = read_segments(demo_prose(), a, limit=3 * BATCH)
    backbones = [model.hf_model.base_model for model in (a, b)]
    maker = BatchMaker(a, backbones[0], None, {})
    batches = [maker(members).inputs for members in batched(segments, BATCH)]

    def forward() -> None:
        with torch.inference_mode():
            for backbone in backbones:
                for inputs in batches:
                    backbone(**inputs)

    def empty_tap() -> None:
        with torch.inference_mode():
            for backbone in backbones:
                with tap(backbone, lambda _: None):
                    for inputs in batches:
                        backbone(**inputs)

    def whole(**options: bool) -> None:
        compare(a, b, segments, batch_size=BATCH, progress=False, **options)

    candidates: dict[str, Callable[[], None]] = {
        "a forward pass of each": forward,
        "taps with nothing on them": empty_tap,
        "compare (at most x 1.2)": whole,
        "compare(matches=True)": lambda: whole(matches=True),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for number in range(count + 1):
        for name, run in candidates.items():
            wall = time.perf_counter()
            processor = time.process_time()
            run()
            if number:  # the first round is not counted
                took = time.process_time() - processor, time.perf_counter() - wall
                seconds[name].append(took)
    kind = a.hf_model.config._attn_implementation
    print(f"{a.name}, {kind}, {len(segments)} segments of up to 128 tokens, batches of {BATCH}")
    base = seconds["a forward pass of each"]
    least = min(processor for processor, _ in base) / len(segments) * 1e3
    print(f"  a forward pass of each: {least:.1f} ms a segment")
    for name, took in seconds.items():
        said = []
        for place, clock in enumerate(("processor", "wall")):
            ratios = [own[place] / plain[place] for own, plain in zip(took, base, strict=True)]
            of_least = min(own[place] for own in took) / min(plain[place] for plain in base)
            said.append(f"{clock} x {median(ratios):.2f}, least {of_least:.2f}")
        print(f"  {name:26} {'; '.join(said)}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    torch.set_num_threads(1)
    pairs = [(load_model(), load_model("attnwidget/genre"))]
    pairs += [(load_model(folder), load_model(folder)) for folder in sys.argv[2:]]
    for pair in pairs:
        beside_two_forward_passes(*pair, count)
        if pair[0].hf_model.config._attn_implementation != "sdpa":
            for model in pair:
                model.hf_model.set_attn_implementation("sdpa")
            beside_two_forward_passes(*pair, count)


if __name__ == "__main__":
    main()
