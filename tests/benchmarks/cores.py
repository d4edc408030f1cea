"""Processes beside one: how much of twice as fast two of them are, with one thread each.

Run by `make bench`. A run is timed after every process has loaded the model. What another program
takes from the cores counts against the processes: the machine should be idle.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from attnwidget import load_model, measure, read_segments
from attnwidget.demo import demo_prose

METRICS = ("position", "classes", "entropy", "confidence")
TIMES = 2


def main() -> None:
    torch.set_num_threads(1)
    model = load_model(device="cpu")
    # Shards of four batches: enough of them that none waits long for the last one.
    segments = read_segments(demo_prose(), model) * 40
    pools = {
        count: ProcessPoolExecutor(count, get_context("spawn"), torch.set_num_threads, (1,))
        for count in (1, 2)
    }

    def seconds(count: int, limit: int | None = None) -> float:
        start = time.perf_counter()
        measure(model, segments[:limit], METRICS, executor=pools[count], progress=False)
        return time.perf_counter() - start

    def alone() -> float:
        start = time.perf_counter()
        measure(model, segments, METRICS, progress=False)
        return time.perf_counter() - start

    for count in pools:
        seconds(count, 64)  # starts the processes, which load the model
    runs = [(alone(), seconds(1), seconds(2)) for _ in range(TIMES)]
    here, one, two = (min(times) for times in zip(*runs, strict=True))
    for pool in pools.values():
        pool.shutdown()
    print(
        f"{len(segments)} segments: without an executor {here:.1f} s, one process {one:.1f} s, two "
        f"{two:.1f} s: {one / two / 2:.2f} of twice as fast as one, {here / two / 2:.2f} of twice "
        "as fast as without"
    )


if __name__ == "__main__":
    main()
