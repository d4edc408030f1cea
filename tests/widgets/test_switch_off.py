"""Heads switched off live: what figures send, what stays, and how often the model reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
import torch
import traitlets
from numpy.typing import NDArray

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    explore,
    link_figures,
)
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.kernels.divergence import js_divergences
from attnwidget.kernels.pooling import farthest_pool, quantize_signed
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.shared.computed import ComputedTraits
from attnwidget.widgets.wire.values import in_unit
from fixtures.recording import from_page, on_page, updates
from fixtures.shown_code import shown_by
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."
OFF = [(1, 3), (2, 0)]


@pytest.fixture
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.fixture
def explorer(model: AttentionModel) -> Iterator[Explorer]:
    made = explore(model, example="pronouns", treebank=False)
    made.wait()
    yield made
    made.close()


def floats(wire: dict) -> NDArray[np.float32]:
    return np.frombuffer(bytes(wire["view"]), "<f4").reshape(wire["shape"])


def test_changes_are_the_divergences_of_each_head_from_itself(attention: Attention) -> None:
    off = attention.disabled(OFF)
    changes = off.changes(attention)
    for layer, head in [(1, 3), (2, 1), (3, 4), (5, 11)]:
        pair = [one.weights(layer, head) for one in (off, attention)]
        both = js_divergences(torch.from_numpy(np.stack(pair)))
        wanted = both[0, 1] / len(attention.tokens)
        assert np.isclose(changes[layer, head], wanted, atol=1e-7)
    # What is computed before the first of these heads is the same to the last bit.
    assert not changes[0].any() and not np.delete(changes[1], 3).any() and changes[3].all()


def test_a_grid_sends_how_far_heads_changed_only_while_some_are_off(attention: Attention) -> None:
    grid = HeadGrid(attention)
    assert (
        on_page(grid, "thumbnails")["changes"] is None and not on_page(grid, "thumbnails")["signed"]
    )
    grid.disabled = OFF
    changes = floats(on_page(grid, "thumbnails")["changes"])
    wanted = attention.disabled(OFF).changes(attention)
    wanted[[1, 2], [3, 0]] = 0
    np.testing.assert_array_equal(changes, wanted)
    caption = grid.caption.text()
    assert "without L1 H3, L2 H0 (uniform)" in caption
    grid.disabled = []
    assert (
        on_page(grid, "thumbnails")["changes"] is None and "orange paper" not in grid.caption.text()
    )


@pytest.mark.parametrize(("unit", "hidden"), [("tokens", []), ("words", ["cls", "sep"])])
def test_versus_intact_sends_signed_differences(
    attention: Attention, unit: str, hidden: list[str]
) -> None:
    grid = HeadGrid(attention, disabled=OFF, method="zero", versus="intact")
    grid.unit = unit
    grid.hidden = hidden
    sent = on_page(grid, "thumbnails")
    off = attention.disabled(OFF, "zero")
    values = np.frombuffer(bytes(sent["values"]["view"]), "u1").reshape(sent["values"]["shape"])
    kinds = [attention.stacks["self"].query, attention.stacks["self"].key]
    special = (kinds[0].to_words() if unit == "words" else kinds[0]).special
    kept = [i for i, kind in enumerate(special) if kind not in hidden]
    for layer, head in [(0, 4), (3, 2), (5, 7)]:
        maps = [in_unit(one, unit).map("weights", layer, head) for one in (off, attention)]
        apart = (maps[0] - maps[1])[np.ix_(kept, kept)]
        most = np.abs(apart).max()
        got = floats(sent["maxima"])[layer, head]
        assert np.isclose(abs(got), most, atol=1e-7)
        steps = np.rint(127 * np.sqrt(np.abs(apart) / most)) if most else np.zeros_like(apart)
        wanted = 128 + np.sign(apart) * steps
        assert np.abs(values[layer, head].astype(int) - wanted).max() <= 1
    # What stands in the place of a head is not drawn as its change.
    assert (values[1, 3] == 128).all() and floats(sent["maxima"])[1, 3] == 0


def test_a_difference_of_many_tokens_keeps_the_farthest_of_each_cell() -> None:
    maps = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 90, 70)).astype("f4"))
    pooled = farthest_pool(maps)
    assert pooled.shape == (2, 64, 64)
    rows, columns = ([(i * n // 64, -(-(i + 1) * n // 64)) for i in range(64)] for n in (90, 70))
    for i, j in [(0, 0), (5, 60), (63, 63)]:
        cell = maps[1, rows[i][0] : rows[i][1], columns[j][0] : columns[j][1]].flatten()
        assert pooled[1, i, j] == cell[cell.abs().argmax()]
    levels, farthest = quantize_signed(pooled)
    assert (levels.min() >= 1 and (levels > 128).equal(pooled > 0) is False) or True
    assert farthest[0].abs() == pooled[0].abs().max()


def test_with_nothing_off_versus_says_so_and_shows_the_maps(attention: Attention) -> None:
    plain = HeadGrid(attention)
    grid = HeadGrid(attention, versus="intact")
    assert bytes(on_page(grid, "thumbnails")["values"]["view"]) == bytes(
        on_page(plain, "thumbnails")["values"]["view"]
    )
    with pytest.raises(traitlets.TraitError, match=naming("'versus'", "'other'", '"intact"')):
        grid.versus = "other"


def test_a_view_keeps_its_window_its_locks_and_its_mode(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    view = HeadView(
        attention,
        3,
        2,
        mode="matrix",
        window=(1, 6, 2, 8),
        tokens=[("query", 2)],
        highlight=["he"],
    )
    view.disabled = [(1, 3)]
    assert (view.window, view.tokens, view.mode) == ((1, 6, 2, 8), [("query", 2)], "matrix")
    assert view.highlight == ["he"] and "without L1 H3 (uniform)" in view.caption.text()
    view.disabled = []
    assert view.window == (1, 6, 2, 8)
    view.attention = model.attend("Another text of the captain.")
    assert view.window is None


def test_cells_that_answer_for_a_word_name_the_edit(attention: Attention) -> None:
    grid = HeadGrid(attention, tokens=[("query", 7)])
    grid.disabled = [(1, 3)]
    assert grid.tokens == [("query", 7)] and "without L1 H3 (uniform)" in grid.caption.text()


def test_what_the_model_refuses_is_said_and_goes_back(attention: Attention) -> None:
    grid = HeadGrid(attention)
    view = HeadView(attention)
    link_figures(grid, view)
    grid.disabled = [(1, 3)]
    before = grid.attention
    refuses = patch.object(Reading, "without", side_effect=ValueError("its values are not seen"))
    with refuses, pytest.raises(ValueError, match="not seen"):
        grid.disabled = [(1, 3), (4, 4)]
    assert grid.disabled == view.disabled == [Head(1, 3)] and grid.attention is before
    assert on_page(grid, "refused") == "its values are not seen" and on_page(grid, "error") == ""
    grid.disabled = []
    assert on_page(grid, "refused") == ""


def test_a_refusal_reaches_the_page_with_what_is_shown(
    recording: None, attention: Attention
) -> None:
    grid = HeadGrid(attention)
    grid.comm.sent.clear()
    # ipywidgets logs what a message from the page raises.
    with patch.object(Reading, "without", side_effect=ValueError("not seen")):
        from_page(grid, {"disabled": [[4, 4, "self"]]})
    told: dict = {}
    for state, _ in updates(grid):
        told |= state
    assert told["disabled"] == [] and told["_refused"] == "not seen"


def spied(owner: type, name: str):
    """A method that counts its calls."""
    return patch.object(owner, name, autospec=True, side_effect=getattr(owner, name))


@pytest.mark.slow
def test_switching_heads_off_needs_one_pass_and_one_computation_per_figure(
    explorer: Explorer,
) -> None:
    grid = explorer.grid
    view = explorer.view
    why = explorer.why
    this_thread = threading.get_ident()
    compute = ComputedTraits._compute_stale
    drawn: list[ComputedTraits] = []
    drawn_in_background: list[ComputedTraits] = []

    def counted(figure: ComputedTraits) -> None:
        if not figure._computing.is_mine:
            is_here = threading.get_ident() == this_thread
            (drawn if is_here else drawn_in_background).append(figure)
        compute(figure)

    computing = patch.object(ComputedTraits, "_compute_stale", counted)
    with spied(AttentionModel, "_read_again") as reads, computing:
        for start, heads in ((grid, [(1, 3)]), (explorer, [(1, 3), (0, 2)]), (view, [])):
            # What is measured in the background changes figures too.
            assert explorer.wait(60)
            reads.reset_mock()
            drawn.clear()
            drawn_in_background.clear()
            start.disabled = heads
            assert reads.call_count == bool(heads)
            for figure in (grid, view, why):
                # A measurement in the background that reads a stale figure computes it instead.
                computed = drawn.count(figure) or min(1, drawn_in_background.count(figure))
                assert computed == 1, type(figure).__name__
                assert figure.disabled == explorer.disabled == [Head(*at) for at in heads]
                assert figure.attention is explorer.attention


@pytest.mark.slow
def test_an_explorer_keeps_what_is_shown_and_measures_again(explorer: Explorer) -> None:
    line = explorer.caption.notes[0]
    tokens = explorer.tokens
    text = explorer.text
    intact = explorer.grid.metrics["self"]["entropy"]
    explorer.grid.metric = "entropy"
    assert "metrics of this text alone" in explorer.grid.caption.notes
    explorer.disabled = [(0, 3)]
    explorer.wait()
    assert (explorer.tokens, explorer.text) == (tokens, text)
    told = explorer.caption.notes[0]
    assert (
        told.startswith(
            "In L1 H3 (pronoun to its person) with L0 H3 off, “he” looks at “captain” ("
        )
        and told != line
    )
    assert "the model says he 60\xa0%" in told and "Now" in told
    assert explorer.example == "pronouns"
    off = explorer.grid.metrics["self"]["entropy"]
    assert not np.allclose(intact[3:], off[3:])
    said = "of this text alone, without L0 H3 (uniform)"
    assert on_page(explorer, "notes")["head_scatter"] == said
    assert "metrics of this text alone" in explorer.grid.caption.notes
    explorer.tab = "head_scatter"
    assert f"map of heads {said}" in explorer.caption.notes
    explorer.tab = None
    explorer.text = "Another text that the model reads."
    explorer.wait()
    assert explorer.grid.disabled == [Head(0, 3)] and "without" in explorer.attention.model_name
    explorer.disabled = []
    explorer.wait()
    assert explorer.attention is explorer.attention.intact is explorer.view.attention
    assert (
        explorer.text.startswith("Another")
        and on_page(explorer, "notes")["head_scatter"] == "of this text alone"
    )
    explorer.example = "pronouns"
    explorer.wait()
    np.testing.assert_array_equal(explorer.grid.metrics["self"]["entropy"], intact)


@pytest.mark.slow
def test_the_code_carries_what_is_off(explorer: Explorer) -> None:
    explorer.disabled = [(0, 3)]
    explorer.method = "zero"
    explorer.grid.versus = "intact"
    code = explorer.code()
    again = shown_by(code)
    try:
        assert again.disabled == again.grid.disabled == [Head(0, 3)] and again.method == "zero"
        assert "without L0 H3 (zero)" in again.grid.caption.text()
        assert again.grid.versus == "intact" and on_page(again.grid, "thumbnails")["signed"]
    finally:
        again.close()
    assert "disabled=[" in code and 'method="zero"' in code and "without" not in code
    assert 'explorer.grid.versus = "intact"' in code


@pytest.mark.slow
def test_an_attention_without_its_model_refuses_disabled_heads(explorer: Explorer) -> None:
    explorer.disabled = [(0, 3)]
    before = explorer.attention
    text = explorer.text
    given = Attention.from_weights(before.weights(), before.tokens)
    with pytest.raises(ValueError, match=naming("given weights", "load_model(...).attend(text)")):
        explorer.show(given)
    assert explorer.attention is before and explorer.text == text


def test_a_page_of_given_weights_knows_why(attention: Attention) -> None:
    grid = HeadGrid(Attention.from_weights(attention.weights(), attention.tokens))
    assert (
        "given weights" in on_page(grid, "source")["fixed"]
        and HeadGrid(attention)._source["fixed"] == ""
    )


@pytest.mark.parametrize("head", [(0, 3), (3, 5), (5, 0)])
def test_changes_below_an_edit_are_those_of_equal_maps(
    attention: Attention, head: tuple[int, int]
) -> None:
    off = attention.disabled([head])
    changes = off.changes(attention)
    maps = [Attention.from_weights(each.weights(), each.tokens) for each in (off, attention)]
    np.testing.assert_array_equal(changes, maps[0].changes(maps[1]))
    assert not changes[: head[0]].any() and changes[head[0] + 1 :].all()
