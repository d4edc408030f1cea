"""Files of tables: texts are never formulas, numbers stay numbers, papers get LaTeX."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attnwidget import Attention, load_model, save_table
from refusals import naming

TOKENS = ["=1+1", "+", "-", "@SUM(1)", "\tx", "\r=x", "\n=x", "\uff1d1", "'=1", "''-", "-0.5"]
PLAIN = ["cat", "'s", "1", "", "a=b", "x,y", 'a "b"', " -", "e-mail"]


def _rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "T.CSV"])
def test_texts_that_begin_a_formula_are_marked_as_texts(tmp_path: Path, name: str) -> None:
    path = save_table(pd.DataFrame({"token": TOKENS + PLAIN}), tmp_path / name)
    separator = "\t" if name == "t.tsv" else ","
    with path.open(newline="", encoding="utf-8") as file:
        (header, *cells) = [row[0] if row else "" for row in csv.reader(file, delimiter=separator)]
    assert header == "token"
    assert cells == [f"'{token}" for token in TOKENS] + PLAIN


def test_numbers_below_zero_stay_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame({"change": [-0.5, 2.0], "n": [-1, 3], "mixed": [-1.5, "-1.5"]})
    read = pd.read_csv(save_table(table, tmp_path / "t.csv"))
    assert read["change"].tolist() == [-0.5, 2.0] and read["n"].tolist() == [-1, 3]
    assert read["mixed"].tolist() == ["-1.5", "'-1.5"]


def test_headings_indexes_and_categories_are_texts_too(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"=h": [1, 2], "kind": pd.Categorical(["+a", "b"])}, index=pd.Index(["-x", "y"], name="@i")
    )
    assert _rows(save_table(table, tmp_path / "t.csv")) == [
        ["'@i", "'=h", "kind"],
        ["'-x", "1", "'+a"],
        ["y", "2", "b"],
    ]


def test_an_index_without_a_meaning_is_left_out(tmp_path: Path) -> None:
    table = pd.DataFrame({"value": [2, 1, 3]}).sort_values("value")
    assert _rows(save_table(table, tmp_path / "t.csv")) == [["value"], ["1"], ["2"], ["3"]]


def test_a_cell_with_a_line_break_stays_one_cell(tmp_path: Path) -> None:
    cells = ["a\r=1+1", "a\n=1+1", "a\r\n=1+1"]
    path = save_table(pd.DataFrame({"token": cells, "n": [1, 2, 3]}), tmp_path / "t.csv")
    assert [row[0] for row in _rows(path)[1:]] == cells
    assert path.read_bytes().count(b'"a') == 3


def test_the_table_of_an_attention_and_of_predictions(tmp_path: Path) -> None:
    maps = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["=1+1", "-"])
    rows = _rows(save_table(maps, tmp_path / "t.csv"))
    assert rows[1][-3:] == ["'=1+1", "'=1+1", "0.5"] and rows[2][-3:] == ["'=1+1", "'-", "0.5"]
    predictions = load_model().predict("2 [MASK] 2", top=2)
    assert len(_rows(save_table(predictions, tmp_path / "p.csv"))) == 3


def test_surrogates_in_tokens_can_be_saved(tmp_path: Path) -> None:
    path = save_table(pd.DataFrame({"token": ["\ud800"]}), tmp_path / "t.csv")
    assert _rows(path)[1] == ["\\ud800"]


def test_other_files_and_other_objects_are_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"token": ["a"]})
    with pytest.raises(ValueError, match=naming(".csv", ".tsv", ".tex", ".md", "'t.xlsx'")):
        save_table(table, tmp_path / "t.xlsx")
    with pytest.raises(TypeError, match=naming("to_frame", "list")):
        save_table([1], tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "row"), [("t.tex", r"=1 & 0.35 \\"), ("T.MD", "| =1 | 0.35 |")])
def test_tables_for_papers_have_few_digits_and_no_apostrophes(
    tmp_path: Path, name: str, row: str
) -> None:
    table = pd.DataFrame({"token": ["=1"], "share": [0.3456]})
    assert row in save_table(table, tmp_path / name, digits=2).read_text("utf-8").splitlines()


def test_results_save_their_table_of_a_paper(tmp_path: Path) -> None:
    answers = load_model().predict("The woman washed [MASK] hands.", top=2)
    assert save_table(answers, tmp_path / "t.tex").read_text("utf-8") == answers.to_latex()
    attention = load_model().attend("The cat sat.")
    assert save_table(attention, tmp_path / "t.md").read_text("utf-8").startswith("| stack |")
