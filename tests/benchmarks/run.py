"""Run the benchmarks, and write their rows into the page of speed.

    PYTHONPATH=.:tests python -m benchmarks.run              all of them
    PYTHONPATH=.:tests python -m benchmarks.run compare      some of them

Every benchmark runs in a process of its own with one thread, and its rows are kept in build/bench.
The page is written from the rows of all benchmarks, when all have run on this machine. The page
states ratios, because times of one machine mean little: both sides of a ratio run in turns in the
same process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.rows import Growth, NotMeasuredError, Row, read_back

PAGE = Path(__file__).parents[2] / "docs/pages/about/speed.md"
ROWS = Path(__file__).parents[2] / "build/bench"
BEGIN = "<!-- The part up to the next marker is written by `make bench`. -->"
END = "<!-- The end of the part that `make bench` writes. -->"
#: The benchmarks of computations, and of pages in a browser.
COMPUTATIONS = (
    "surface",
    "compare",
    "language",
    "links",
    "needs",
    "ablation",
    "mechanisms",
    "long_inputs",
    "waiting",
    "display",
    "corpora",
    "growth",
)
PAGES = ("first_light", "explorer", "hover", "long_view")
_TITLES = {
    "surface": "Metrics",
    "compare": "Comparison of two models",
    "language": "Relations between words",
    "links": "One link",
    "needs": "Needed words and all heads",
    "ablation": "Heads switched off",
    "mechanisms": "Direct effects and patching",
    "long_inputs": "Long inputs",
    "waiting": "Waiting for the background",
    "display": "Displays and files",
    "corpora": "Large corpora",
    "growth": "Growth",
    "first_light": "First pixels",
    "explorer": "The explorer",
    "hover": "Answers to a pointer",
    "long_view": "A view of a long input",
}
_BUSY = (
    "The machine was busy: about {:.0f} processes wanted its cores. Costs are therefore too high, "
    "and ratios less certain than on a quiet machine."
)
# The load of a minute still counts the benchmark before, which has two processes at most.
_OWN_LOAD = 2
# Number of characters in a line of the documentation.
_WIDTH = 100

Rows = Sequence[Row | Growth]


def machine() -> str:
    """Return the processor, the number of its cores and the versions, without any name."""
    packages = ("torch", "transformers", "numpy", "attnwidget")
    versions = ", ".join(f"{name} {version(name).partition('+')[0]}" for name in packages)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python = platform.python_version()
    return f"{processor()}, {cores} cores; Python {python}, {versions}"


def processor() -> str:
    """Return the model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def number(value: float) -> str:
    """Return a number with three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table_of_steps(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of steps beside others."""
    lines = ["| step | beside | ratio | quartiles | cost | rounds |", "|---|---|---|---|---|---|"]
    for row in rows:
        limit = ""
        if row.limit is not None:
            side = "least" if row.limit < 0 else "most"
            missed = ", missed" if round(row.ratio, 2) * np.sign(row.limit) > row.limit else ""
            limit = f" (at {side} {abs(row.limit):g}{missed})"
        quartiles = f"{number(row.low)} to {number(row.high)}"
        lines.append(
            f"| {row.step} | {row.beside} | {number(row.ratio)}{limit} | {quartiles} | "
            f"{number(row.amount)} {row.unit} | {row.rounds} |"
        )
    return lines


def table_of_growth(rows: Sequence[Growth]) -> list[str]:
    """Return the lines of a table of growth."""
    lines = ["| step | grows with | exponent | cost | rounds |", "|---|---|---|---|---|"]
    for row in rows:
        sizes = ", ".join(f"{size:,}" for size in row.sizes)
        costs = ", ".join(number(amount) for amount in row.amounts)
        lines.append(
            f"| {row.step} | {row.along}: {sizes} | {row.exponent:.2f} | {costs} {row.unit} | "
            f"{row.rounds} |"
        )
    return lines


def wrapped(text: str) -> list[str]:
    """Return the lines of a paragraph."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def generated(
    found: dict[str, Rows], missing: dict[str, str], said: str, day: date, load: float = 0
) -> str:
    """Return the part of the page that is written, between its markers.

    Args:
        found: The rows of each benchmark.
        missing: The reason of each benchmark that could not be measured.
        said: Machine and versions.
        day: Date of the run.
        load: Number of processes that wanted a core when a benchmark began, that of the benchmark
            before among them.
    """
    lines = [BEGIN, "", "## Steps beside plain passes", ""]
    month = f"{day.day} {day:%B %Y}"
    lines += wrapped(f"Measured on {month} on {said}, by `make bench`, with one thread.")
    if load > _OWN_LOAD:
        lines += ["", *wrapped(_BUSY.format(load))]
    steps = [row for rows in found.values() for row in rows if isinstance(row, Row)]
    lines += ["", *table_of_steps(steps)]
    grown = [row for rows in found.values() for row in rows if isinstance(row, Growth)]
    if grown:
        lines += ["", "## Growth with tokens, heads and segments", ""]
        lines += wrapped(
            "The exponent is the slope of a line through the logarithms of size and cost. With the "
            "exponent 1, a double size takes double time; with 2, four times as long."
        )
        lines += ["", *table_of_growth(grown)]
    for name, reason in missing.items():
        lines += ["", *wrapped(f"{_TITLES[name]}: not measured, {reason}.")]
    return "\n".join([*lines, "", END])


def page_with(page: str, part: str) -> str:
    """Return the page with another written part.

    Raises:
        ValueError: The page has no markers.
    """
    before, begins, rest = page.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not begins or not ends:
        raise ValueError(f"the page has no part to write: it needs the lines {BEGIN!r} and {END!r}")
    return f"{before}{part}{after}"


def measure_here(name: str) -> None:
    """Run one benchmark in this process, and keep its rows."""
    import torch

    torch.set_num_threads(1)
    benchmark = import_module(f"benchmarks.{name}")
    stored: dict[str, object] = {"load": os.getloadavg()[0]}
    try:
        stored["rows"] = [asdict(row) for row in benchmark.rows()]
    except NotMeasuredError as error:
        stored["missing"] = str(error)
    ROWS.mkdir(parents=True, exist_ok=True)
    (ROWS / f"{name}.json").write_text(json.dumps(stored), "utf-8")


def measure_apart(name: str) -> float:
    """Run one benchmark in a process of its own, and return the seconds of the processor."""
    before = children_seconds()
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.run", name, "--here"]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return children_seconds() - before


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def largest_load() -> float:
    """Return the largest number of processes that wanted a core when a benchmark began."""
    files = [ROWS / f"{name}.json" for name in (*COMPUTATIONS, *PAGES)]
    return max(json.loads(file.read_text("utf-8"))["load"] for file in files if file.exists())


def stored_rows() -> tuple[dict[str, Rows], dict[str, str]]:
    """Return the kept rows of each benchmark, and the reason of each that was not measured."""
    found: dict[str, Rows] = {}
    missing: dict[str, str] = {}
    for name in (*COMPUTATIONS, *PAGES):
        file = ROWS / f"{name}.json"
        if not file.exists():
            continue
        stored = json.loads(file.read_text("utf-8"))
        if "missing" in stored:
            missing[name] = stored["missing"]
        else:
            found[name] = read_back(stored["rows"])
    return found, missing


def main() -> None:
    """Run the named benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join((*COMPUTATIONS, *PAGES)))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    every = (*COMPUTATIONS, *PAGES)
    if unknown := set(options.names) - set(every):
        parser.error(f"no benchmark {', '.join(unknown)}: choose among {', '.join(every)}")
    if options.here:
        measure_here(options.names[0])
        return
    began = time.monotonic()
    for name in options.names or every:
        start = time.monotonic()
        busy = measure_apart(name)
        seconds = time.monotonic() - start
        print(f"\n{_TITLES[name]} ({name}, {seconds:.0f} s, processor {busy:.0f} s)")
        found, missing = stored_rows()
        if name in missing:
            print(f"not measured, {missing[name]}")
            continue
        steps = [row for row in found[name] if isinstance(row, Row)]
        grown = [row for row in found[name] if isinstance(row, Growth)]
        lines = table_of_steps(steps) if steps else []
        lines += ["", *table_of_growth(grown)] if grown else []
        print("\n".join(lines), flush=True)
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes")
    found, missing = stored_rows()
    if {*found, *missing} == set(every):
        part = generated(found, missing, machine(), date.today(), largest_load())
        PAGE.write_text(page_with(PAGE.read_text("utf-8"), part), "utf-8")
        print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
