"""Labels of heads: from Python and the page to all figures, captions, files and states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadScatter,
    HeadView,
    explore,
    link_figures,
)
from fixtures.recording import from_page, updates
from fixtures.shown_code import shown_by
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."
PRONOUN = Head(1, 3)


@pytest.fixture
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def sent_labels(figure: HeadGrid) -> list[Any]:
    """The labels that the figure sent to its page after it opened."""
    return [state["labels"] for state, _ in updates(figure) if "labels" in state]


def test_a_label_reaches_the_page_in_one_message(attention: Attention) -> None:
    grid = HeadGrid(attention)
    labels = grid.labels
    labels[(1, 3)] = " pronoun "
    grid.labels[Head(2, 0)] = "previous token"
    assert dict(labels) == {PRONOUN: "pronoun", Head(2, 0): "previous token"}
    assert labels[1, 3] == "pronoun" and (1, 3) in labels and (0, 0) not in labels
    del labels[(2, 0)]
    assert json.loads(json.dumps(sent_labels(grid))) == [
        [[[1, 3, "self"], "pronoun"]],
        [[[1, 3, "self"], "pronoun"], [[2, 0, "self"], "previous token"]],
        [[[1, 3, "self"], "pronoun"]],
    ]
    grid.labels[(1, 3)] = "pronoun"
    assert len(sent_labels(grid)) == 3


def test_a_label_typed_on_the_page_is_kept_and_not_sent_back(attention: Attention) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"labels": [[[1, 3, "self"], "pronoun"]]})
    assert grid.labels == {PRONOUN: "pronoun"} and sent_labels(grid) == []
    from_page(grid, {"labels": [[[1, 3, "self"], ""]], "scale": "log"})
    assert grid.labels == {PRONOUN: "pronoun"} and grid.scale == "absolute"
    assert grid.labels[(1, 3)] == "pronoun"
    assert sent_labels(grid) == [[(PRONOUN, "pronoun")]]


@pytest.mark.parametrize(
    ("key", "text", "parts"),
    [
        ((6, 0), "x", ("'labels'", "(6, 0)", "layer 6")),
        ((1, 3, "cross"), "x", ("'labels'", "'cross'", "'self'")),
        ("L1", "x", ("'labels'", "'L1'", "'L1 H3'")),
        ("L1 H33", "x", ("'labels'", "'L1 H33'", "head 33")),
        (3, "x", ("'labels'", "(1, 3)", "got 3")),
        ((1, 3), "", ("label of L1 H3", "1 to 80", "del figure.labels[(1, 3)]")),
        ((1, 3), 5, ("label of L1 H3", "1 to 80", "got 5")),
        ((1, 3), "x" * 81, ("label of L1 H3", "1 to 80")),
        ((1, 3), "two\nlines", ("label of L1 H3", "one line", "'two\\nlines'")),
    ],
)
def test_a_bad_label_is_refused_with_its_value(
    attention: Attention, key: Any, text: Any, parts: tuple[str, ...]
) -> None:
    grid = HeadGrid(attention, labels={(0, 0): "kept"})
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        grid.labels[key] = text
    with pytest.raises(
        traitlets.TraitError, match=naming("'labels'", '{(1, 3): "pronoun"}', "got 3")
    ):
        grid.labels = 3  # type: ignore[assignment]
    assert grid.labels == {Head(0, 0): "kept"}
    with pytest.raises(KeyError, match=naming("layer 9", "0 to 5")):
        grid.labels[(9, 9)]


def test_linked_figures_share_labels_of_the_heads_that_they_have(attention: Attention) -> None:
    grid = HeadGrid(attention, labels={PRONOUN: "pronoun", (5, 0): "last"})
    small = HeadScatter.from_positions(np.random.default_rng(0).normal(size=(2, 12, 2)))
    link_figures(grid, small)
    assert small.labels == {PRONOUN: "pronoun"}
    grid.labels[(0, 0)] = "first"
    assert small.labels == {PRONOUN: "pronoun", Head(0, 0): "first"}
    assert grid.labels[(5, 0)] == "last"


def test_captions_and_code_have_labels(attention: Attention) -> None:
    labels = {(1, 3): "pronoun"}
    selected = [(1, 3)]
    name = "L1 H3 (2-4) “pronoun”"
    grid = HeadGrid(attention, selected=selected, labels=labels)
    assert grid.caption.head == name
    assert 'labels={(1, 3): "pronoun"}' in grid.code()
    view = HeadView(attention, selected=selected, labels=labels)
    assert view.caption.head == name
    positions = np.random.default_rng(0).normal(size=(6, 12, 2))
    head_scatter = HeadScatter.from_positions(positions, selected=selected, labels=labels)
    assert head_scatter.caption.head == name
    assert "pronoun" in head_scatter.figure().svg and "pronoun" in view.figure().svg
    assert "labels" not in HeadGrid(attention).code()


def test_a_figure_of_another_model_keeps_the_labels_of_heads_that_it_has() -> None:
    weights = np.full((6, 12, 3, 3), 1 / 3, "f4")
    tokens = list("abc")
    labels = {(1, 3): "pronoun", (5, 0): "last"}
    grid = HeadGrid(Attention.from_weights(weights, tokens), labels=labels)
    grid.attention = Attention.from_weights(weights[:2], tokens)
    assert grid.labels == {PRONOUN: "pronoun"}


def test_an_explorer_tells_links_and_keeps_labels(model: AttentionModel) -> None:
    explorer = explore(model, example="pronouns", treebank=False, atlas=False)
    explorer.grid.labels[(1, 3)] = "pronoun"
    assert explorer.view.labels == explorer.labels == {PRONOUN: "pronoun"}
    assert explorer.caption.notes[0].startswith("In L1 H3 (“pronoun”), “he” looks at “captain”")
    explorer.disabled = [(1, 3)]
    assert explorer.caption.notes[0].startswith("L1 H3 is off")
    explorer.selected = [(2, 0)]
    assert explorer.caption.notes[0].startswith("In L2 H0 with L1 H3 off, “he” looks at")
    explorer.disabled = []
    explorer.text = TEXT
    assert explorer.labels == {PRONOUN: "pronoun"}
    assert 'labels={(1, 3): "pronoun"}' in explorer.code()
    again = shown_by(explorer.code())
    assert again.labels == again.grid.labels == again.view.labels == {PRONOUN: "pronoun"}


def test_saved_files_have_labels(attention: Attention, tmp_path: Path) -> None:
    grid = HeadGrid(attention, selected=[(1, 3)], labels={(1, 3): "pronoun"})
    assert "pronoun" in grid.save(tmp_path / "grid.svg").read_text("utf-8")
    page = grid.save(tmp_path / "grid.html").read_text("utf-8")
    assert '"labels":[[[1,3,"self"],"pronoun"]]' in page.replace(", ", ",").replace(": ", ":")
