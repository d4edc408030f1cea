"""How the cost of each step grows with tokens, heads and segments."""

from __future__ import annotations

from collections.abc import Callable

import torch

from attnwidget import AttentionModel, HeadGrid, HeadView, compare, load_model, measure
from benchmarks.corpora import growth_of
from benchmarks.rows import Growth, Run, in_turns
from benchmarks.surface import random_bert, random_segments

Step = Callable[[AttentionModel, int, int], Run]


def forward(model: AttentionModel, tokens: int, segments: int) -> Run:
    inputs = {"input_ids": torch.full((segments, tokens), 7)}

    def run() -> None:
        with torch.no_grad():
            model.hf_model.base_model(**inputs)

    return run


def attend(model: AttentionModel, tokens: int, segments: int) -> Run:
    ids = [7] * tokens
    return lambda: model.attend(ids)


def figures(model: AttentionModel, tokens: int, segments: int) -> Run:
    attention = model.attend([7] * tokens)

    def run() -> None:
        for widget in (HeadGrid(attention), HeadView(attention, 0, 0)):
            widget.open()
            widget.close()

    return run


def study(model: AttentionModel, tokens: int, segments: int) -> Run:
    read = list(random_segments(model, segments, tokens))
    return lambda: measure(model, read, progress=False)


def comparison(model: AttentionModel, tokens: int, segments: int) -> Run:
    read = list(random_segments(model, segments, tokens))
    return lambda: compare(model, model, read, progress=False)


STEPS: dict[str, Step] = {
    "a forward pass": forward,
    "`attend`": attend,
    "`HeadGrid` and `HeadView`": figures,
    "`measure`": study,
    "`compare`": comparison,
}
ONE_TEXT = ("a forward pass", "`attend`", "`HeadGrid` and `HeadView`", "`measure`")


def along(
    what: str,
    sizes: tuple[int, ...],
    made: Callable[[int], tuple[AttentionModel, int, int]],
    names: tuple[str, ...],
    fixed: str,
    rounds: int,
) -> list[Growth]:
    """Return the growth of some steps along one size.

    Args:
        what: Name of the size.
        sizes: The sizes.
        made: Function from a size to a model, the number of tokens and the number of segments.
        names: Names of the steps.
        fixed: The sizes that stay the same, in words.
        rounds: Number of rounds.
    """
    inputs = {size: made(size) for size in sizes}
    found = []
    for name in names:
        runs = {str(size): STEPS[name](*given) for size, given in inputs.items()}
        found.append(growth_of(f"{name}, {fixed}", what, sizes, in_turns(runs, rounds)))
    return found


def rows(*, tiny: bool = False) -> list[Growth]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    rounds = 1 if tiny else 5
    small = random_bert(1, 2, 8, 16) if tiny else load_model(device="cpu")
    shape = f"{small.n_layers} x {small.n_heads} heads"
    tokens = (8, 10, 12, 14) if tiny else (64, 128, 256, 512)
    heads = (1, 2, 3, 4) if tiny else (4, 8, 16, 32)
    segments = (1, 2, 3, 4) if tiny else (8, 16, 32, 64)
    length = 8 if tiny else 64
    models = {number: random_bert(1 if tiny else 4, number, 8, 16) for number in heads}
    found = along("tokens", tokens, lambda size: (small, size, 1), ONE_TEXT, shape, rounds)
    found += along(
        "heads",
        heads,
        lambda size: (models[size], length, 1),
        ONE_TEXT,
        f"{models[heads[0]].n_layers} layers with heads of width 8, {length} tokens",
        rounds,
    )
    return found + along(
        "segments",
        segments,
        lambda size: (small, length, size),
        ("a forward pass", "`measure`", "`compare`"),
        f"{shape}, {length} tokens",
        1 if tiny else 3,
    )
