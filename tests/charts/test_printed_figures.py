"""Figures for papers: sizes, titles, labels that do not touch, tables as LaTeX and Markdown."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from attnwidget import HeadView, compare, load_model, make_segments, measure
from attnwidget.charts.head_heatmap import head_heatmap
from attnwidget.charts.heads_in_plane import spread_in_plane
from attnwidget.charts.layer_curves import layer_curves
from attnwidget.charts.named_heads import named_heads
from attnwidget.charts.signed_heatmap import signed_heatmap
from attnwidget.charts.spaced_ticks import spaced_ticks
from attnwidget.charts.theme import text_width, title_lines
from attnwidget.charts.training_curves import training_curves
from attnwidget.demo import demo_documents, demo_treebank
from attnwidget.text.paper_table import as_latex, as_markdown
from attnwidget.words import (
    probe_coreference,
    probe_features,
    probe_links,
    probe_no_op,
    probe_relations,
    subject_verb_links,
)
from attnwidget.words.relation_results import _one_row_each
from refusals import naming

SENTENCE_ID = "weblog-juancole.com_juancole_20051114075400_ENG_20051114_075400-0003"


def width_of(chart: object, folder: Path) -> float:
    path = folder / "figure.svg"
    chart.save(path)  # type: ignore[attr-defined]
    return float(ElementTree.parse(path).getroot().attrib["viewBox"].split()[2])


def test_a_png_has_two_pixels_for_each_of_the_figure_unless_told(tmp_path: Path) -> None:
    chart = head_heatmap(np.eye(2), title="Two", value_title="weight")
    sizes = {}
    for scale in (None, 1, 3):
        file = io.BytesIO()
        chart.save(file, format="png", scale=scale)
        with Image.open(file) as picture:
            sizes[scale] = picture.width
    assert sizes[None] == pytest.approx(2 * sizes[1], abs=1)
    assert sizes[3] == pytest.approx(3 * sizes[1], abs=2)
    for wrong in (0, -1, float("nan"), True):
        with pytest.raises(ValueError, match=naming("scale", "above 0")):
            chart.save(tmp_path / "figure.png", scale=wrong)
    with pytest.raises(ValueError, match=naming("scale=", "scale_factor=", "same")):
        chart.save(tmp_path / "figure.png", scale=2, scale_factor=2)


def test_titles_say_nothing_twice_and_end_without_separators() -> None:
    assert title_lines("Loss: BERT base\nBERT base; 24 texts · ") == ["Loss: BERT base", "24 texts"]
    assert title_lines("Change: BERT base → BERT base") == ["Change: BERT base"]
    assert title_lines("Answers\nbars: BERT base, L5 off\nstrokes: BERT base")[1:] == [
        "bars: BERT base, L5 off",
        "strokes: BERT base",
    ]
    assert title_lines("Heads:\n; stopped") == ["Heads", "stopped"]
    (cut,) = title_lines(f"Tree of {SENTENCE_ID}")
    assert cut.startswith("Tree of weblog-juancole") and cut.endswith("…75400-0003")
    assert len(cut) == len("Tree of ") + 40
    with pytest.raises(ValueError, match=naming("title", "empty")):
        title_lines(" \n · ")


@pytest.mark.parametrize("width", [480, 640])
def test_heat_maps_with_long_titles_of_their_colors_fit(width: int, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(6, 12))
    long = "change of the logit difference per head"
    whole = head_heatmap(values, title="Heads", value_title=long, layers=values[:, 0], width=width)
    named = signed_heatmap(
        values,
        [f"a long name of row {i}" for i in range(6)],
        [str(i) for i in range(12)],
        title="Parts",
        value_title=long,
        row_title="row",
        column_title="column",
        width=width,
    )
    for chart in (whole, named):
        assert width_of(chart, tmp_path) <= width


@pytest.mark.parametrize("width", [480, 640])
def test_names_of_heads_stay_in_their_cells(width: int) -> None:
    names = np.resize(["the word before", "", "rests on [CLS]", "determiner to its noun"], (6, 12))
    chart = named_heads(names, np.full((6, 12), 0.5), title="Heads", width=width).to_dict()
    cell = chart["width"]["step"]
    rows = next(iter(chart["datasets"].values()))
    drawn = {line for row in rows for line in row["text"].split("\n")}
    assert all(text_width(line, 10) <= cell for line in drawn)
    meanings = " ".join(chart["title"]["subtitle"])
    for row in rows:
        is_letter = len(row["text"]) == 1
        assert not is_letter or f"{row['text']}\xa0{row['says']}" in meanings
        assert is_letter or row["text"].replace("\n", " ") == row["says"]


def test_names_of_curves_at_zero_have_symbols_and_do_not_touch() -> None:
    names = [f"offset {i}" for i in range(6)]
    frame = pd.DataFrame({"layer": 0, "head": 0, "series": names, "value": np.arange(6) / 1000})
    top = pd.DataFrame({"layer": [0], "head": [1], "series": ["offset 0"], "value": [1.0]})
    frame = pd.concat([frame, frame.assign(layer=1), top])
    spec = layer_curves(frame, title="Position", value_title="weight").to_dict()
    symbols, labels = spec["layer"][-2:]
    places = [row["value"] for row in spec["datasets"][labels["data"]["name"]]]
    assert len(places) == 6 and symbols["encoding"]["shape"]["field"] == "series"
    low, high = labels["encoding"]["y"]["scale"]["domain"]
    assert np.diff(sorted(places)).min() * 240 / (high - low) >= 12.9


def test_ticks_keep_the_last_label_and_do_not_touch() -> None:
    steps = [0, 1, 2, 4, 100, 1000, 3900, 4000]
    places = [600 * np.log1p(step) / np.log1p(4000) for step in steps]
    labels = [f"{step:,}" for step in steps]
    chosen = spaced_ticks(labels, places)
    assert chosen[0] == 0 and chosen[-1] == 7 and 6 not in chosen
    ends = [(places[i], text_width(labels[i]) / 2) for i in chosen]
    for (left, half), (right, other) in pairwise(ends):
        assert left + half < right - other


@pytest.mark.parametrize("width", [480, 640])
def test_panels_over_training_fit_and_name_the_last_checkpoint(width: int, tmp_path: Path) -> None:
    names = [f"step{i}000" for i in range(12)]
    rows = [(name, layer, 0, layer / 9) for name in names for layer in range(6)]
    frame = pd.DataFrame(rows, columns=["checkpoint", "layer", "head", "value"])
    chart = training_curves(frame, title="Training", value_title="entropy", width=width)
    assert width_of(chart, tmp_path) <= width
    drawn = (tmp_path / "figure.svg").read_text("utf-8")
    assert drawn.count(">step11000<") == 6 and drawn.count(">step0000<") == 6


def test_numbers_in_a_plane_move_little_and_apart() -> None:
    places = np.random.default_rng(0).uniform(0, 160, size=(60, 2))
    sizes = np.tile([9.0, 10.0], (60, 1))
    moved = spread_in_plane(places, sizes, most=9)

    def touching(at: np.ndarray) -> int:
        apart = np.abs(at[:, None] - at[None])
        return int(((apart < [8.5, 9.5]).all(-1).sum() - len(at)) / 2)

    assert touching(moved) < touching(places) / 4
    assert np.linalg.norm(moved - places, axis=1).max() <= 9 + 1e-9
    assert np.array_equal(spread_in_plane(moved[:1], sizes[:1], most=9), moved[:1])


def test_a_figure_has_each_relation_once_and_the_best_first() -> None:
    best = pd.DataFrame(
        [
            ("all", 0.5, 0.4, True),
            ("nsubj (all)", 0.6, 0.5, True),
            ("nsubj", 0.7, 0.5, True),
            ("nsubj:pass", 0.9, 0.2, False),
            ("obj", 0.8, 0.5, True),
        ],
        columns=["relation", "accuracy", "baseline", "significant"],
    )
    assert _one_row_each(best)["relation"].tolist() == ["obj", "nsubj", "nsubj:pass"]
    assert _one_row_each(best.head(1))["relation"].tolist() == ["all"]


def test_a_result_is_a_table_for_papers() -> None:
    answers = load_model().predict("The woman washed [MASK] hands.", top=2)
    latex = answers.to_latex()
    assert latex.splitlines()[:2] == [r"\begin{tabular}{rrllrrr}", r"\toprule"]
    assert r"log\_probability" in latex and latex.count(r"\\") == 3
    heading, rule, *rows = answers.to_markdown(digits=2).splitlines()
    assert heading.startswith("| question | position | answer |") and "---:" in rule
    assert len(rows) == 2 and all(len(row.split(" | ")) == 7 for row in rows)


def test_cells_of_tables_are_escaped_and_numbers_keep_their_digits() -> None:
    table = pd.DataFrame(
        {
            "token": ["a|b", "50 %_x\n&", None],
            "value": [0.5, 12345.6, float("nan")],
            "n": [1, 20, 3],
        }
    )
    assert as_markdown(table).splitlines()[2:] == [
        "| a\\|b | 0.500 | 1 |",
        "| 50 %_x & | 12346 | 20 |",
        "| – | – | 3 |",
    ]
    assert r"50 \%\_x" in as_latex(table) and r"{lrr}" in as_latex(table)
    named = pd.DataFrame({"a": [0.00001234]}, index=pd.Index(["row"], name="head"))
    assert as_markdown(named, 2).splitlines()[-1] == "| row | 1.2e-05 |"
    rounded_up = pd.DataFrame({"value": [999.6, -999.6, 99.96, 0.9996]})
    assert as_markdown(rounded_up).splitlines()[2:] == [
        "| 1000 |",
        "| -1000 |",
        "| 100 |",
        "| 1.00 |",
    ]
    with pytest.raises(ValueError, match=naming("digits", "got 0")):
        as_latex(table, 0)


def test_code_is_shown_as_code_in_a_notebook() -> None:
    from IPython.core.formatters import DisplayFormatter

    view = HeadView(load_model().attend("The cat said `it` ```sat```."), 2, 1)
    code = view.code()
    shown, _ = DisplayFormatter().format(code)
    assert isinstance(code, str) and shown["text/plain"] == str(code)
    fence = "`" * 4
    assert shown["text/markdown"] == f"{fence}python\n{code}\n{fence}"
    view.close()


def test_figures_of_studies_name_their_model(tmp_path: Path) -> None:
    model = load_model(name="my BERT")
    sentences = demo_treebank()[:20]
    segments = make_segments([sentence.text for sentence in sentences[:4]], model)
    found: list[Any] = [
        measure(model, segments, ["patterns"], progress=False)["patterns"],
        probe_coreference(model, demo_documents()[:3], progress=False),
        probe_features(model, sentences, progress=False),
        probe_links(model, subject_verb_links(sentences), progress=False),
        probe_no_op(model, sentences, "obj", progress=False),
    ]
    for result in found:
        assert "my BERT" in result.chart().to_dict()["description"], type(result)
    changes = compare(model, model, segments, progress=False)
    assert width_of(changes.curves(width=320), tmp_path) == pytest.approx(320, abs=1)


@pytest.mark.parametrize(("width", "is_one_row"), [(640, True), (252, False)])
def test_the_legend_of_the_best_heads_fits_the_figure(width: int, is_one_row: bool) -> None:
    relations = probe_relations(load_model(), demo_treebank()[:20], progress=False)
    spec = relations.chart(min_count=20, width=width).to_dict()
    legends = [layer["encoding"]["color"]["legend"] for layer in spec["layer"][1:3]]
    assert [legend["columns"] >= 2 for legend in legends] == [is_one_row, is_one_row]
