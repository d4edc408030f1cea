"""What comparing two models costs beside the forward passes that it goes with, in one process.

Run by `make bench`; `python tests/benchmarks/compare.py 3 FOLDER` makes 3 rounds, and reads the
model of a folder beside itself, too. Ratios are of processor time in one thread, the least of all
rounds, so that a busy machine hurts all alike.
"""

from __future__ import annotations

import sys

import torch
from language import least
from surface import BATCH

from attnwidget import compare, demo_prose, load_model, read_segments
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tap import tap
from attnwidget.studies.batches import BatchMaker, batched


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

    plain, taps, own, matched = least(
        forward, empty_tap, whole, lambda: whole(matches=True), times=count
    )
    each, kind = plain / len(segments) * 1e3, a.hf_model.config._attn_implementation
    print(f"{a.name}, {len(segments)} segments of up to 128 tokens, batches of {BATCH}")
    print(f"  a forward pass of each, {kind}: {each:.1f} ms a segment")
    print(f"  taps with nothing on them  x {taps / plain:.2f}")
    print(f"  compare                    x {own / plain:.2f} (at most 1.2)")
    print(f"  compare(matches=True)      x {matched / plain:.2f}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    torch.set_num_threads(1)
    beside_two_forward_passes(load_model(), load_model("attnwidget/genre"), count)
    for folder in sys.argv[2:]:
        beside_two_forward_passes(load_model(folder), load_model(folder), count)


if __name__ == "__main__":
    main()
