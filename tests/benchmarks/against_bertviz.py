"""What a grid of 144 heads costs, beside bertviz's model view of the same maps.

Python's time to make the figure, and the bytes that go to the page: all of them, code included.
Run it with `make bench`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from anywidget._util import remove_buffers
from bertviz import model_view
from numpy.typing import NDArray

from attnwidget import Attention, HeadGrid

LAYERS = HEADS = 12
REPEATS = 3


def maps(n_tokens: int) -> NDArray[np.float32]:
    """Maps as peaked as a trained model's, [layer, head, query, key]."""
    scores = np.random.default_rng(0).normal(0, 3, (LAYERS, HEADS, n_tokens, n_tokens))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def grid(weights: NDArray[np.float32], tokens: list[str]) -> int:
    """Make a HeadGrid; the bytes of the state that it sends."""
    widget = HeadGrid(Attention.from_weights(weights, tokens))
    skipped = {"layout", "tabbable", "tooltip"}
    state = {name: value for name, value in widget.get_state().items() if name not in skipped}
    rest, _, buffers = remove_buffers(state)
    widget.close()
    return len(json.dumps(rest)) + sum(memoryview(buffer).nbytes for buffer in buffers)


def view(weights: NDArray[np.float32], tokens: list[str]) -> int:
    """Make a bertviz model view; the bytes of its HTML."""
    layers = [torch.from_numpy(layer)[None] for layer in weights]
    return len(model_view(layers, tokens, html_action="return").data.encode())


def best(make: Callable[[], int]) -> tuple[float, int]:
    """Shortest time in seconds of a few, and the size."""
    times, size = [], 0
    for _ in range(REPEATS):
        start = time.perf_counter()
        size = make()
        times.append(time.perf_counter() - start)
    return min(times), size


def main() -> None:
    print(f"{LAYERS} x {HEADS} heads, shortest of {REPEATS} runs")
    print(f"{'tokens':>6}  {'figure':<20}{'seconds':>8}{'megabytes':>11}")
    for n_tokens in (16, 64, 128, 256):
        weights, tokens = maps(n_tokens), [f"t{i}" for i in range(n_tokens)]
        for name, figure in [("attnwidget.HeadGrid", grid), ("bertviz.model_view", view)]:
            seconds, size = best(partial(figure, weights, tokens))
            print(f"{n_tokens:>6}  {name:<20}{seconds:>8.3f}{size / 1e6:>11.2f}", flush=True)


if __name__ == "__main__":
    main()
