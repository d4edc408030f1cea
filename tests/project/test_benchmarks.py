"""The benchmarks of `make bench`: they run, and the page has the table that they write."""

from __future__ import annotations

import math
import os
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run
from benchmarks.rows import Growth, Row, in_turns, read_back, rows_of
from refusals import naming

MEASURED_PAGES: dict[str, dict[str, Any]] = {
    "first_light": {
        "pages": {32: {"ours": [90.0, 100.0], "bertviz": [900.0, 1000.0]}},
        "lab": {128: {"drawn": [200.0], "hover": [17.0, 18.0], "empty": [16.0, 17.0]}},
    },
    "explorer": {"empty": [60.0, 70.0], "first": [150.0, 160.0], "again": [80.0, 90.0]},
    "hover": {
        "empty": [16.0, 17.0],
        "hover": [18.0, 20.0],
        "switch": [60.0, 70.0],
        "pass": [9.0, 10.0],
    },
    "long_view": {
        "empty": [16.0, 17.0],
        "pan": [18.0, 20.0],
        "cells": [5.0, 6.0],
        "tiles": [40.0, 50.0],
        "heap": [20.0, 21.0],
    },
}


def check(rows: list[Row | Growth]) -> None:
    assert rows
    for row in rows:
        if isinstance(row, Growth):
            assert len(row.sizes) == len(row.amounts) >= 4
            assert list(row.sizes) == sorted(set(row.sizes))
            assert math.isfinite(row.exponent)
            continue
        assert 0 < row.low <= row.high
        assert row.ratio > 0
        assert row.amount >= 0
        assert row.rounds >= 1
        assert row.step != row.beside


@pytest.mark.parametrize("name", run.COMPUTATIONS)
def test_every_benchmark_returns_rows(name: str) -> None:
    check(import_module(f"benchmarks.{name}").rows(tiny=True))


@pytest.mark.parametrize("name", run.PAGES)
def test_every_benchmark_of_a_page_returns_rows(name: str) -> None:
    check(import_module(f"benchmarks.{name}").rows_from(MEASURED_PAGES[name]))


def test_every_benchmark_has_a_title() -> None:
    assert set(run._TITLES) == {*run.COMPUTATIONS, *run.PAGES} == {*run._TITLES}
    assert set(MEASURED_PAGES) == set(run.PAGES)


def test_rounds_take_turns_and_the_first_is_not_counted() -> None:
    order: list[str] = []
    clock = iter(range(100))
    seconds = in_turns(
        {"pass": lambda: order.append("pass"), "study": lambda: order.append("study")},
        2,
        clock=lambda: float(next(clock)),
    )
    assert order == ["pass", "study"] * 3
    assert seconds == {"pass": [1.0, 1.0], "study": [1.0, 1.0]}
    (row,) = rows_of({"pass": [1.0, 2.0, 1.0], "study": [3.0, 4.0, 2.0]}, "pass", what="8 tokens")
    assert (row.step, row.beside, row.ratio, row.rounds) == ("study, 8 tokens", "pass", 2.0, 3)
    assert (row.low, row.high, row.amount) == (2.0, 2.5, 3000.0)


def test_an_exponent_is_the_power_of_the_size() -> None:
    sizes = (2, 4, 8, 16)
    grown = Growth("a step", "tokens", sizes, tuple(3.0 * n**1.5 for n in sizes), "ms", 1)
    assert grown.exponent == pytest.approx(1.5)


def test_the_part_of_the_page_is_written_between_its_markers() -> None:
    row = Row("`measure`, 8 tokens", "forward passes", 1.234, 1.2, 1.3, 12.3, "ms", 5, limit=1.35)
    grown = Growth("`attend`", "tokens", (8, 16, 32, 64), (1.0, 2.0, 4.0, 8.0), "ms", 3)
    assert read_back([vars(row), {**vars(grown), "sizes": [8, 16, 32, 64]}]) == [row, grown]
    said = run.machine()
    part = run.generated(
        {"surface": [row], "growth": [grown]}, {"hover": "no Chromium"}, said, date(2026, 3, 9)
    )
    page = run.page_with(f"# Speed\n\n{run.BEGIN}\nold\n{run.END}\n\nMore.\n", part)
    assert page.startswith("# Speed\n\n<!--")
    assert page.endswith(f"{run.END}\n\nMore.\n")
    assert "old" not in page
    line = "| `measure`, 8 tokens | forward passes | 1.23 (at most 1.35) | 1.20 to 1.30 | 12.3 ms |"
    assert line in page
    assert "| `attend` | tokens: 8, 16, 32, 64 | 1.00 | 1.00, 2.00, 4.00, 8.00 ms | 3 |" in page
    assert "Answers to a pointer: not measured, no Chromium." in page
    assert "The machine was busy" not in page
    assert "about 7 processes" in run.generated({"surface": [row]}, {}, said, date.today(), 7.2)
    for name in filter(None, (os.environ.get("USER"), Path.home().name, os.getcwd())):
        assert name not in said
    with pytest.raises(ValueError, match=naming("write", "part")):
        run.page_with("# Speed\n", part)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (1.2, "1.23 (at most 1.2, missed)"),
        (1.35, "1.23 (at most 1.35)"),
        (-1.3, "1.23 (at least 1.3, missed)"),
        (-0.9, "1.23 (at least 0.9)"),
    ],
)
def test_a_missed_limit_is_marked(limit: float, said: str) -> None:
    row = Row("`measure`", "forward passes", 1.234, 1.2, 1.3, 12.3, "ms", 5, limit=limit)
    assert f"| {said} |" in run.table_of_steps([row])[-1]


def test_the_page_has_a_table_of_every_benchmark() -> None:
    page = run.PAGE.read_text("utf-8")
    assert run.page_with(page, page[page.index(run.BEGIN) : page.index(run.END)] + run.END) == page
    part = page[page.index(run.BEGIN) : page.index(run.END)]
    tables = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    assert {len(cells) for cells in tables} == {5, 6}
    for cells in tables:
        assert all(cell.strip() for cell in cells)
    sizes = [cells[1] for cells in tables if len(cells) == 5 and ":" in cells[1]]
    assert {one.split(":")[0].strip() for one in sizes} >= {"tokens", "heads", "segments"}
    assert all(one.count(", ") >= 3 for one in sizes)
