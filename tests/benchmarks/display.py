"""What a display costs: the picture and the table that a notebook keeps, and the files for print.

`python tests/benchmarks/display.py` measures this checkout; with the folder of another one as its
argument both take turns, so that they share whatever else the machine was doing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 3
HERE = Path(__file__).parents[2]


def least(run: Callable[[], object], times: int = 6) -> float:
    milliseconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        milliseconds.append(1e3 * (time.perf_counter() - start))
    return min(milliseconds)


def costs() -> dict[str, float]:
    """Milliseconds by what is displayed or saved, each the least of six, once warm."""
    from attnwidget import HeadGrid, HeadView, MetricStrip, explore, load_model

    model = load_model()
    found: dict[str, float] = {}
    start = time.perf_counter()
    HeadView(model.attend("cats and dogs"), 2, 8)._repr_mimebundle_()
    found["the first picture of a process"] = 1e3 * (time.perf_counter() - start)
    for words in (4, 60, 250):
        attention = model.attend("cats and " * words)
        largest = {"largest": attention.weights().max((-2, -1))}
        widgets = {
            "grid": HeadGrid(attention),
            "lines": HeadView(attention, 2, 8),
            "matrix": HeadView(attention, 2, 8, mode="matrix"),
            "strip": MetricStrip(largest, selected=[(2, 8)]),
        }
        for name, widget in widgets.items():
            found[f"{name}, {len(attention.tokens)} tokens"] = least(widget._repr_mimebundle_)
    explorer = explore(model)
    explorer.wait()
    others = {"map": explorer.head_map, "table": explorer.table, "arcs": explorer.arcs}
    for name, widget in {**others, "explorer": explorer}.items():
        found[name] = least(widget._repr_mimebundle_)
    lines = HeadView(model.attend("cats and " * 250), 2, 8)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".svg", ".pdf", ".png"):
            path = Path(folder) / f"lines{suffix}"
            found[f"lines, 502 tokens, as {suffix}"] = least(lambda to=path: lines.save(to), 3)
    return found


def measured(checkout: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(checkout), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--one"],
        env=environment,
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def main() -> None:
    if sys.argv[1:] == ["--one"]:
        print(json.dumps(costs()))
        return
    checkouts = [HERE, *map(Path, sys.argv[1:])]
    rounds = [[measured(checkout.resolve()) for checkout in checkouts] for _ in range(ROUNDS)]
    print(
        f"milliseconds, least and most of {ROUNDS} rounds, in {' and '.join(map(str, checkouts))}"
    )
    for name in rounds[0][0]:
        each = [[turn[k].get(name, float("nan")) for turn in rounds] for k in range(len(checkouts))]
        said = "   beside   ".join(f"{min(own):.0f}–{max(own):.0f}" for own in each)
        print(f"{name}: {said}")


if __name__ == "__main__":
    main()
