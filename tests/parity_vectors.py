"""What Python and the pages both compute: seeded cases with Python's answers.

`python tests/parity_vectors.py` writes them to `tests/parity`; `js/test/standalone_parity.test.ts`
asserts them against the pages' code, and `tests/project/test_parity_vectors.py` against Python.
"""

from __future__ import annotations

import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget import Head
from attnwidget.kernels.significance import wilson_interval
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.head_view.several import drawn_heads
from attnwidget.widgets.pages.encoding import rounded
from attnwidget.widgets.shared.relation_words import relation_names, words_of_relation
from attnwidget.widgets.wire.linked_traits import fitting
from references.reference_lines import least_lines

#: The traits that linked figures share, in the order of the page.
SHARED = [
    "selected",
    "layer",
    "tokens",
    "hidden",
    "quantity",
    "unit",
    "scale",
    "token_size",
    "relation",
    "direction",
    "disabled",
    "method",
    "scaled_links",
    "labels",
]
FOLDER = Path(__file__).with_name("parity")


def vectors() -> dict[str, bytes]:
    """The files by name."""
    found = {
        "maps": map_cases(),
        "links": link_cases(),
        "relations": relation_cases(),
        "numbers": number_cases(),
        "heads": head_cases(),
        "lines": line_cases(),
    }
    return {f"{name}.json": _lines(cases) for name, cases in found.items()}


def head_cases() -> list[dict[str, Any]]:
    """Selections, and the heads of them that a view draws together."""
    selections = [
        [],
        [(2, 7)],
        [(0, 1), (1, 4), (2, 9)],
        [(h % 3, h) for h in range(12)],
        [(1, 1, "cross"), (0, 3), (2, 5), (0, 2, "cross")],
    ]
    cases = []
    for selected in [[Head(*(*head, "self")[:3]) for head in heads] for heads in selections]:
        for arrangement in ("beside", "overlay"):
            for of in ("selected", "layer"):
                for n_heads, cells in ((12, 81), (40, 81), (12, 2000**2), (14, 9000**2)):
                    drawn = drawn_heads(selected, arrangement, of, n_heads, cells)
                    wish = {"selected": selected, "arrangement": arrangement, "shown_heads": of}
                    cases.append({**wish, "n_heads": n_heads, "cells": cells, "drawn": drawn})
    return cases


def line_cases() -> list[dict[str, Any]]:
    """Maps as numbers, None where masked, and the smallest weight of each row that is a line."""
    rng = np.random.default_rng(40)
    cases = []
    for queries, keys in ((1, 1), (4, 4), (6, 9), (24, 24)):
        causal = np.tri(queries, keys, dtype=bool)
        windowed = causal & ~np.tri(queries, keys, -4, dtype=bool)
        for seen in (np.ones((queries, keys), bool), causal, windowed):
            scores = np.where(seen, rng.normal(size=(queries, keys)), -np.inf)
            weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
            drawn = np.where(seen, weights, np.nan).astype(np.float32)
            cases.append(
                {
                    "keys": keys,
                    "values": [None if np.isnan(x) else round(float(x), 4) for x in drawn.flat],
                    "least": [round(float(least), 6) for least in least_lines(drawn)],
                }
            )
    return cases


def map_cases() -> list[dict[str, Any]]:
    """Values, and the bytes that a page holds of them."""
    rng = np.random.default_rng(14)
    cases = []
    values = rng.random((6, 6)).astype(np.float32)
    for _ in range(4):
        # From even weights to heavy tails.
        values = values * values
        visible = np.tri(6, dtype=bool)
        for shown in (None, visible):
            given = values if shown is None else np.where(shown, values, np.float32(0))
            levels, maximum = rounded(given if shown is None else np.where(shown, values, np.nan))
            cases.append(
                {
                    "values": [float(value) for value in given.ravel()],
                    "bytes": levels.ravel().tolist(),
                    "maximum": maximum,
                }
            )
    levels, maximum = rounded(np.zeros((2, 2), np.float32))
    cases.append({"values": [0.0] * 4, "bytes": levels.ravel().tolist(), "maximum": maximum})
    return cases


def link_cases() -> dict[str, Any]:
    """What a figure takes of a linked figure's value."""
    assert set(SHARED) == set(ExplorerFigure.shared_traits())
    relations = ["all", "nsubj", "nmod (all)"]
    figures = [
        ({"self": [6, 12]}, None),
        ({"self": [2, 3]}, relations),
        ({"encoder": [4, 2], "decoder": [3, 8], "cross": [3, 8]}, None),
        ({"encoder": [1, 1]}, ["all"]),
    ]
    heads = [[0, 0, "self"], [5, 11, "self"], [2, 2, "self"], [1, 3, "self"], [1, 2, "self"]]
    heads += [[3, 1, "encoder"], [2, 7, "cross"], [3, 7, "decoder"], [0, 0, "encoder"]]
    values: list[tuple[str, Any]] = [
        *(("selected", heads[:count]) for count in (0, 1, len(heads))),
        ("selected", heads[::-1]),
        *(("layer", layer) for layer in (0, 1, 3, 11)),
        *(("relation", name) for name in ("all", "nsubj", "obj")),
        ("direction", "governor to dependent"),
        ("tokens", [["query", 3], ["key", 900]]),
        ("hidden", ["cls"]),
        ("quantity", "norms"),
        ("unit", "words"),
        ("scale", "log"),
        ("token_size", "L"),
        ("labels", [[head, f"label {i}"] for i, head in enumerate(heads)]),
    ]
    cases = [
        {
            "name": name,
            "value": value,
            "shapes": shapes,
            "relations": known,
            "taken": fitting(name, value, {s: (n, m) for s, (n, m) in shapes.items()}, known),
        }
        for shapes, known in figures
        for name, value in values
    ]
    return {"shared": SHARED, "cases": cases}


def relation_cases() -> dict[str, Any]:
    """Wilson's intervals, and the words that a relation has with its subtypes."""
    counts = [(k, n) for n in (1, 2, 7, 10, 100, 2416) for k in sorted({0, 1, n // 3, n - 1, n})]
    labels = ["nmod", "nmod:poss", "nsubj", "nsubj:pass", "root", "all", "obl"]
    governors = [5, 5, 5, 5, 0, 5, 5]
    sentence = Sentence.from_lists([f"w{i}" for i in range(len(labels))], governors, labels)
    names = [*relation_names([sentence]), "obj", "nmod:tmod"]
    return {
        "wilson": [
            [k, n, *(_digits(float(end)) for end in wilson_interval(k, n))]
            for k, n in [(0, 0), *counts]
        ],
        "labels": labels,
        "governors": governors,
        "words": {name: words_of_relation(sentence, name) for name in names},
    }


def number_cases() -> dict[str, Any]:
    """Numbers as figures print them, by exact decimals; names of heads."""
    rng = np.random.default_rng(15)
    shares = [0.0, 0.125, 0.005, 0.8671, 1.0, -0.25, 0.0449999, *rng.random(8).tolist()]
    sizes = [0.25, 1.0, 12.34, 99.95, 1995.0, 123456.0, 0.00051, 0.065, *rng.random(6).tolist()]
    heads = [Head(0, 0), Head(7, 9), Head(2, 10, "cross")]
    return {
        "percent": [[x, n, _percent(x, n)] for x in shares for n in (8, 100, 1591)],
        "digits": [[x, _significant(x)] for x in sizes],
        "figures": [[x, _significant(x).replace("-", "−")] for s in sizes for x in (s, -s)],
        "heads": [[list(head), str(head), head.paper_name] for head in heads],
    }


def _percent(share: float, n: int) -> str:
    """Per cent of exactly this double, with as many digits as a count of `n` bears."""
    step = Decimal("0.1") if n >= 100 else Decimal(1)
    return str(Decimal(100 * share).quantize(step, ROUND_HALF_UP)).replace("-", "−")


def _significant(x: float) -> str:
    """Three significant digits of exactly this double, without closing zeros."""
    exact = Decimal(x)
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    text = f"{exact.quantize(step, ROUND_HALF_UP):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _digits(x: float) -> float:
    """As many as every build of numpy and scipy agrees on."""
    return float(f"{x:.12g}")


def _lines(cases: Any) -> bytes:
    """JSON with a case a line, so that a change shows as one."""
    if isinstance(cases, dict):
        parts = [f"{json.dumps(name)}: {_list(part)}" for name, part in cases.items()]
        return ("{\n" + ",\n".join(parts) + "\n}\n").encode()
    return f"{_list(cases)}\n".encode()


def _list(part: Any) -> str:
    if not isinstance(part, list):
        return json.dumps(part, ensure_ascii=False)
    return "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in part) + "\n]"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, data in vectors().items():
        (FOLDER / name).write_bytes(data)
