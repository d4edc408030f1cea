"""Cost of `compare` beside the forward passes of both models."""

from __future__ import annotations

import torch

from attnwidget import compare, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.tap import tap
from benchmarks.rows import Row, in_turns, rows_of
from benchmarks.surface import BATCH, forward_over, random_bert, random_segments

COMPARE = "`compare`"
FORWARD = "forward passes of both models"


def beside_two_forward_passes(
    a: AttentionModel, b: AttentionModel, count: int, tokens: int, rounds: int
) -> list[Row]:
    segments = list(random_segments(a, count, tokens))
    passes = [forward_over(model, segments) for model in (a, b)]

    def forward() -> None:
        for both in passes:
            both()

    def empty_taps() -> None:
        for model, own in zip((a, b), passes, strict=True):
            with tap(model.hf_model.base_model, lambda _: None):
                own()

    def whole(**options: bool) -> None:
        compare(a, b, segments, batch_size=BATCH, progress=False, **options)

    runs = {
        FORWARD: forward,
        "reading maps of both alone": empty_taps,
        COMPARE: whole,
        "`compare` with `matches=True`": lambda: whole(matches=True),
    }
    kind = a.hf_model.config._attn_implementation
    return rows_of(
        in_turns(runs, rounds),
        FORWARD,
        what=f"{a.n_layers} x {a.n_heads} heads, {tokens} tokens, {kind}",
        limits={COMPARE: 1.2},
    )


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    torch.set_num_threads(1)
    if tiny:
        model = random_bert(1, 2, 8, 16)
        return beside_two_forward_passes(model, random_bert(1, 2, 8, 16), 2, 12, 1)
    pair = (load_model(device="cpu"), load_model("attnwidget/genre", device="cpu"))
    found = []
    for kind in ("eager", "sdpa"):
        for model in pair:
            model.hf_model.set_attn_implementation(kind)
        found += beside_two_forward_passes(*pair, BATCH, 128, 5)
    return found
