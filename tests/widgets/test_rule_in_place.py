"""Figures with the rule of a head in its place: maps, predictions, effects, code, saved state."""

from __future__ import annotations

import numpy as np
import pytest
import traitlets

from attnwidget import AttentionModel, Head, HeadGrid, PredictionView, explore, load_model
from attnwidget.behaviors import with_rules
from fixtures.recording import on_page
from fixtures.shown_code import shown_by
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."


def test_figures_show_the_rule_in_the_place_of_the_head(model: AttentionModel) -> None:
    grid = HeadGrid(model.attend(TEXT), disabled=[(0, 2)], method="rule")
    expected = with_rules(model.attend(TEXT), {"L0 H2": "previous token"})
    np.testing.assert_array_equal(grid.attention.weights(), expected.weights())
    assert on_page(grid, "source")["method"] == "rule" and on_page(grid, "source")["ruled"]
    assert "its rule in its place: previous token" in grid.edits
    again = shown_by(grid.code(), model=model)
    np.testing.assert_array_equal(again.attention.weights(), expected.weights())
    with pytest.raises(ValueError, match=naming("L2 H8", "no rule")):
        grid.disabled = [(0, 2), (2, 8)]
    assert grid.disabled == [Head(0, 2)]
    grid.disabled = []
    assert grid.attention is grid.attention.intact


def test_the_rule_is_offered_if_every_disabled_head_has_one(model: AttentionModel) -> None:
    grid = HeadGrid(model.attend(TEXT), disabled=[(0, 2), (1, 8)])
    assert on_page(grid, "source")["ruled"]
    grid.disabled = [(0, 2), (2, 8)]
    assert not on_page(grid, "source")["ruled"]
    other = load_model("attnwidget/induction").attend("a b a")
    unnamed = HeadGrid(other, disabled=[(0, 0)])
    assert not on_page(unnamed, "source")["ruled"]
    with pytest.raises(ValueError, match=naming("L0 H0", "none")):
        unnamed.method = "rule"
    with pytest.raises(traitlets.TraitError, match=naming("method", "rule")):
        unnamed.method = "rules"


def test_answers_before_and_after_have_the_rule(model: AttentionModel) -> None:
    text = "The captain told his [MASK] that he would not leave the ship."
    view = PredictionView(model.attend(text), disabled=[(1, 8)], method="rule")
    reading = model.attend(text).reading
    assert reading is not None and view.after is not None
    expected = with_rules(model.attend(text), {"L1 H8": "next token"})
    assert expected.disabled_method == "rule"
    change = view.after.log_probabilities - view.predictions.log_probabilities
    assert np.abs(change).max() > 1e-4
    assert view.wait(120)
    # The other heads are switched off by the default of the model, one at a time.
    assert [title for title in view.effect_metric if title.endswith("(uniform)")]


def test_an_explorer_replaces_the_head_by_its_rule(model: AttentionModel) -> None:
    explorer = explore(
        model, TEXT, treebank=False, selected=[(0, 2)], disabled=[(0, 2)], method="rule"
    )
    assert explorer.wait(120)
    assert explorer.caption.notes[0].startswith("L0 H2 is off: its rule is in its place")
    for figure in (explorer.grid, explorer.view):
        assert figure.attention.weights("L0 H2")[3, 2] == 1
    assert 'method="rule"' in explorer.code()
    explorer.text = "The cat sat on the mat."
    assert explorer.wait(120) and explorer.view.attention.weights("L0 H2")[3, 2] == 1
    explorer.close()
