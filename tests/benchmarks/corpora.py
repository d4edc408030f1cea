"""Cost of large corpora: many short segments, a large treebank, several processes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import chain, islice, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnwidget import AttentionModel, Segment, load_model, load_treebank, measure
from attnwidget.demo import demo_treebank
from attnwidget.words import probe_relations
from benchmarks.rows import Growth, Row, Run, in_turns, row, rows_of
from benchmarks.surface import FORWARD, SURFACE, forward_over, random_bert, random_segments
from fixtures.on_workers import on_workers

BATCH = 64


def short_segments(model: AttentionModel, count: int) -> Iterator[Segment]:
    """Yield random segments of 4 to 11 tokens, of which nothing is kept."""
    words = sorted(set(model.tokenizer.get_vocab()) - set(model.tokenizer.all_special_tokens))
    draw = np.random.default_rng(0)
    for _ in range(count):
        places = draw.integers(0, len(words), int(draw.integers(4, 12)))
        yield Segment(tuple(words[i] for i in places))


def memory() -> float:
    """Return the memory that this process uses now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def many_segments(model: AttentionModel, sizes: tuple[int, ...], rounds: int) -> list[Row | Growth]:
    """Return what `measure` costs over an iterator of short segments, with a resume file."""
    used: dict[int, list[float]] = {size: [] for size in sizes}

    def study(count: int) -> None:
        def watched() -> Iterator[Segment]:
            yield from short_segments(model, count)
            used[count].append(memory())

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "sums.npz")
            measure(model, watched(), batch_size=BATCH, resume=path, progress=False)

    runs: dict[str, Run] = {str(size): lambda size=size: study(size) for size in sizes}  # type: ignore[misc]
    seconds = in_turns(runs, rounds)
    what = f"`measure` with a resume file, short segments of an iterator, {model.n_layers} layers"
    growth = growth_of(what, "segments", sizes, seconds)
    few, many = (np.array(used[size][1:]) for size in (sizes[0], sizes[-1]))
    shares = np.percentile(many / few, [25, 50, 75])
    held = Row(
        f"memory of `measure` over {sizes[-1]:,} short segments",
        f"{sizes[0]:,} segments",
        float(shares[1]),
        float(shares[0]),
        float(shares[2]),
        float(np.median(many)),
        "MB",
        rounds,
        limit=1.1,
    )
    segments = list(short_segments(model, sizes[0]))
    beside = in_turns(
        {
            FORWARD: forward_over(model, segments, BATCH),
            "`measure`": lambda: measure(model, segments, batch_size=BATCH, progress=False),
        },
        rounds,
    )
    what = f"{model.n_layers} x {model.n_heads} heads, {sizes[0]:,} segments of 10 tokens"
    return [growth, held, *rows_of(beside, FORWARD, what=what)]


def growth_of(
    step: str, along: str, sizes: tuple[int, ...], seconds: dict[str, list[float]]
) -> Growth:
    """Return the growth of a step from the seconds of `in_turns`, in the order of the sizes."""
    costs = list(seconds.values())
    amounts = tuple(1e3 * float(np.median(own)) for own in costs)
    return Growth(step, along, sizes, amounts, "ms", len(costs[0]))


def treebanks(model: AttentionModel, sizes: tuple[int, ...], rounds: int) -> list[Row | Growth]:
    """Return how the reading and the probing of a treebank grow with its sentences."""
    folder = os.environ.get("ATTNWIDGET_DATA")
    found = (
        load_treebank(Path(folder, "ewt/en_ewt-ud-dev.conllu.gz"), limit=400)
        if folder
        else demo_treebank()
    )
    sentences = list(islice(chain.from_iterable(repeat(found)), max(sizes)))
    lines = [conllu_of(sentence) for sentence in sentences]
    reads: dict[str, Run] = {}
    probes: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as name:
        for size in sizes:
            path = Path(name, f"{size}.conllu")
            path.write_text("\n".join(lines[:size]), "utf-8")
            reads[str(size)] = lambda path=path: load_treebank(path)  # type: ignore[misc]
            probes[str(size)] = (
                lambda size=size: probe_relations(  # type: ignore[misc]
                    model, sentences[:size], skip_unaligned=True, progress=False
                )
            )
        costs = [in_turns(runs, rounds) for runs in (reads, probes)]
    steps = ("`load_treebank`", f"`probe_relations`, {model.n_layers} x {model.n_heads} heads")
    return [
        growth_of(step, "sentences", sizes, seconds)
        for step, seconds in zip(steps, costs, strict=True)
    ]


def conllu_of(sentence: Any) -> str:
    """Return the lines of a sentence in a CoNLL-U file."""
    spaces = sentence.space_after or (True,) * len(sentence)
    columns = zip(sentence.words, sentence.governors, sentence.relations, spaces, strict=True)
    return "".join(
        f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{label}\t_\t{'_' if space else 'SpaceAfter=No'}\n"
        for number, (word, head, label, space) in enumerate(columns, 1)
    )


def two_workers(count: int, rounds: int) -> list[Row]:
    """Return how much of twice as fast two processes are, and the work beside them.

    A run is timed after every process has loaded the model. A busy machine counts against two
    processes more than against one. No segment is repeated, because Dask computes equal tasks once.
    """
    model = load_model(device="cpu")
    segments = list(random_segments(model, count))
    found: list[Row] = []
    # One after the other: the scheduler of a local Dask cluster works in this process.
    for kind, made in (("a process pool", pools), ("Dask", dask_pools)):
        with ExitStack() as stack:
            if executors := made(stack):
                found += of_workers(kind, executors, model, segments, rounds)
    return found


def of_workers(
    kind: str,
    executors: list[Any],
    model: AttentionModel,
    segments: list[Segment],
    rounds: int,
) -> list[Row]:
    """Return the rows of executors with one worker and with two."""
    for executor in executors:
        on_workers(executor, measure, model, segments[:256], SURFACE, progress=False)
    walls: list[list[float]] = [[], []]
    busy = []
    alone = []
    for _ in range(rounds):
        start = time.process_time()
        measure(model, segments, SURFACE, progress=False)
        alone.append(time.process_time() - start)
        for executor, wall in zip(executors, walls, strict=True):
            start = time.perf_counter()
            began = time.process_time()
            on_workers(executor, measure, model, segments, SURFACE, progress=False)
            wall.append(time.perf_counter() - start)
            if wall is walls[0]:
                busy.append(time.process_time() - began)
    what = f"{len(segments):,} segments of 128 tokens"
    ideal = [2 * two for two in walls[1]]
    return [
        row(
            f"speed of two workers of {kind}, {what}",
            "twice the speed of one worker",
            walls[0],
            ideal,
            limit=-0.9,
        ),
        row(
            f"processor time of the notebook beside a worker of {kind}, {what}",
            "`measure` without workers",
            busy,
            alone,
        ),
    ]


def pools(stack: ExitStack) -> list[Any]:
    """Return pools of one process and of two, with one thread each."""
    return [
        stack.enter_context(
            ProcessPoolExecutor(count, get_context("spawn"), torch.set_num_threads, (1,))
        )
        for count in (1, 2)
    ]


def dask_pools(stack: ExitStack) -> list[Any]:
    """Return executors of one Dask cluster, with one worker and with both; or none.

    The cluster is one, because a second one that is idle takes its share of two processors too.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return []
    cluster = stack.enter_context(
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    )
    client = stack.enter_context(Client(cluster))
    client.wait_for_workers(2)
    one = list(client.scheduler_info()["workers"])[:1]
    return [client.get_executor(workers=one), client.get_executor()]


def rows(*, tiny: bool = False) -> list[Row | Growth]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    model = random_bert(1, 2, 8, 16)
    if tiny:
        sizes = (1, 2, 3, 4)
        return many_segments(model, sizes, 1) + treebanks(model, sizes, 1)
    found = many_segments(model, (2_000, 4_000, 8_000, 16_000), 3)
    found += treebanks(model, (500, 1_000, 2_000, 4_000), 3)
    return found + two_workers(192, 2)
