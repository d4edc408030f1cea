"""Widgets with a recording comm: what crosses, when, and what is refused."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import pytest
import torch
import traitlets
from transformers.modeling_outputs import Seq2SeqModelOutput

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    LinkView,
    link_figures,
)
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from fixtures.recording import from_page, on_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship until they were safe."


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def test_a_grid_opens_with_one_message_of_thumbnails(attention: Attention) -> None:
    grid = HeadGrid(attention, hidden=[])
    opened = [entry for entry in grid.comm.sent if entry[0] == "comm_open"]
    assert len(opened) == 1
    thumbnails = grid.get_state()["_thumbnails"]
    assert thumbnails["values"]["shape"] == [6, 12, len(attention.tokens), len(attention.tokens)]
    expected = draw_thumbnails(attention)
    assert bytes(thumbnails["values"]["view"]) == expected.values.tobytes()
    assert bytes(thumbnails["maxima"]["view"]) == expected.maxima.astype("<f4").tobytes()


def test_a_figure_is_of_its_class_and_brings_its_script(attention: Attention) -> None:
    class OwnGrid(HeadGrid):
        pass

    for kind in (HeadGrid, OwnGrid):
        grid = kind(attention)
        state = grid.get_state()
        assert type(grid) is kind
        assert state["_anywidget_id"] == f"{kind.__module__}.{kind.__name__}"
        assert "canvas" in state["_esm"]
        assert ".attnw-grid" in state["_css"]
        grid.add_traits(added=traitlets.Int(3).tag(sync=True))
        assert grid.get_state()["added"] == 3


def test_the_page_selects_and_python_sees_heads(attention: Attention) -> None:
    grid = HeadGrid(attention)
    seen: list[list[Head]] = []
    grid.observe(lambda change: seen.append(change["new"]), "selected")
    from_page(grid, {"selected": [[3, 5, "self"]], "layer": 3})
    assert grid.selected == [Head(3, 5)] == seen[0]
    assert (grid.layer, grid.head) == (3, Head(3, 5))


def test_stepping_in_python_moves_the_selection(attention: Attention) -> None:
    grid = HeadGrid(attention, selected=[(0, 7)])
    grid.layer = 4
    assert grid.selected == [Head(4, 7)]
    grid.selected = [(1, 2), (5, 3)]
    assert grid.layer == 5


def test_a_linked_view_sends_the_exact_map_in_one_message(attention: Attention) -> None:
    grid = HeadGrid(attention)
    view = HeadView(attention)
    link_figures(grid, view)
    view.comm.sent.clear()
    from_page(grid, {"selected": [[3, 5, "self"]], "layer": 3})
    maps = [(state, buffers) for state, buffers in updates(view) if "_tile" in state]
    assert len(maps) == 1
    state, buffers = maps[0]
    assert (state["_tile"]["heads"], state["_tile"]["exact"]) == ([Head(3, 5)], True)
    sent = np.frombuffer(buffers[0], "<f4").reshape(state["_tile"]["values"]["shape"])[0]
    np.testing.assert_array_equal(sent, attention.weights(3, 5))
    np.testing.assert_array_equal(sent, view.weights)


def test_links_go_both_ways_until_unlinked(attention: Attention) -> None:
    first = HeadGrid(attention, selected=[(1, 1)], scale="log")
    second = HeadGrid(attention)
    both = link_figures(first, second)
    assert repr(both) == "FigureLink(HeadGrid, HeadGrid): they share their choices until unlink()"
    assert (second.selected, second.scale) == ([Head(1, 1)], "log")
    second.layer = 3
    assert first.selected == [Head(3, 1)]
    both.unlink()
    first.selected = [(0, 0)]
    assert second.selected == [Head(3, 1)]


def test_any_number_of_widgets_is_linked_until_unlinked(attention: Attention) -> None:
    first = HeadGrid(attention, scale="log")
    second = HeadView(attention)
    third = HeadGrid(attention)
    second.selected = [(2, 4)]
    together = link_figures(first, second, third)
    assert first.selected == second.selected == third.selected == [Head(2, 4)]
    assert second.scale == third.scale == "log"
    third.layer = 5
    assert first.selected == second.selected == [Head(5, 4)]
    assert on_page(first, "circle") == on_page(second, "circle") == on_page(third, "circle") != ""
    together.unlink()
    first.selected = [(0, 0)]
    second.selected = [(1, 1)]
    assert third.selected == [Head(5, 4)]
    with pytest.raises(TypeError, match=naming("link_figures", "got 1")):
        link_figures(first)
    with pytest.raises(TypeError, match=naming("link_figures", "list")):
        link_figures(first, second, ["selected"])


def test_figures_that_are_linked_twice_keep_a_selection(attention: Attention) -> None:
    grid = HeadGrid(attention, selected=[(0, 0)])
    view = HeadView(attention)
    third = HeadGrid(attention)
    links = [link_figures(grid, view), link_figures(grid, view), link_figures(third, grid, view)]
    for source, others in ((grid, (view, third)), (view, (grid, third)), (third, (grid, view))):
        source.selected = [(2, 8), (1, 3)]
        for figure in others:
            assert figure.selected == [(2, 8, "self"), (1, 3, "self")]
        source.layer = 4
        assert [figure.head for figure in (source, *others)] == [(4, 3, "self")] * 3
    for circle in links:
        circle.unlink()


def test_indirectly_linked_figures_form_one_circle(attention: Attention) -> None:
    grids = [HeadGrid(attention) for _ in range(5)]
    assert [grid.get_state()["_circle"] for grid in grids] == [""] * 5
    first, second, third, fourth, alone = grids
    pair = link_figures(first, second)
    other = link_figures(third, fourth)
    bridge = link_figures(second, third)
    assert len({on_page(one, "circle") for one in grids[:4]}) == 1
    assert on_page(first, "circle") != on_page(alone, "circle") == ""
    bridge.unlink()
    assert (
        on_page(first, "circle")
        == on_page(second, "circle")
        != on_page(third, "circle")
        == on_page(fourth, "circle")
    )
    again = link_figures(first, second)
    pair.unlink()
    assert on_page(first, "circle") == on_page(second, "circle") != ""
    again.unlink()
    second.close()
    with link_figures(first, third):
        assert on_page(first, "circle") == on_page(fourth, "circle")
    other.unlink()
    assert [on_page(one, "circle") for one in (first, third, fourth)] == [""] * 3


def test_a_smaller_model_is_given_the_heads_it_has(attention: Attention) -> None:
    maps = np.full((2, 3, 4, 4), 0.25, "f4")
    small = HeadView(Attention.from_weights(maps, list("abcd")))
    grid = HeadGrid(attention)
    link_figures(grid, small)
    grid.selected = [(1, 2), (5, 11)]
    assert small.selected == [Head(1, 2)]


def test_a_grid_with_no_selection_takes_the_views(attention: Attention) -> None:
    grid = HeadGrid(attention)
    view = HeadView(attention, 2, 4)
    link_figures(grid, view)
    assert grid.selected == view.selected == [Head(2, 4)]
    assert grid.layer == 2


def test_stepping_stays_in_the_stack_shown() -> None:
    maps = {name: np.full((3, 4, 5, 5), 0.2, "f4") for name in ("encoder", "decoder", "cross")}
    output = Seq2SeqModelOutput(
        encoder_attentions=tuple(torch.from_numpy(maps["encoder"])),
        decoder_attentions=tuple(torch.from_numpy(maps["decoder"])),
        cross_attentions=tuple(torch.from_numpy(maps["cross"])),
    )
    attention = Attention.from_weights(output, list("abcde"), key_tokens=list("abcde"))
    grid = HeadGrid(attention, selected=[(0, 1, "encoder")])
    from_page(grid, {"stack": "cross"})
    assert grid.get_state()["_thumbnails"]["stack"] == "cross"
    grid.layer = 2
    assert (grid.selected, grid.stack) == ([Head(2, 1, "cross")], "cross")


def test_ipywidgets_link_works(attention: Attention) -> None:
    first = HeadGrid(attention)
    second = HeadView(attention)
    ipywidgets.link((first, "selected"), (second, "selected"))
    first.selected = [(2, 2)]
    assert second.head == Head(2, 2)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("selected", [(6, 0)], "layer"),
        ("selected", [(0, 12)], "head"),
        ("selected", "L9 H5", "layer 9"),
        ("layer", 6, "0 to 5"),
        ("hidden", ["cls", "mask"], "'cls', 'sep', 'first'"),
        ("scale", "cubic", "linear"),
        ("stack", "decoder", "'self'"),
        ("tokens", [("row", 1)], "query"),
    ],
)
def test_bad_values_are_refused_with_what_was_expected(
    attention: Attention, option: str, value: object, said: str
) -> None:
    with pytest.raises(traitlets.TraitError, match=said):
        HeadGrid(attention, **{option: value})


def test_a_locked_token_that_the_text_lacks_is_refused(attention: Attention) -> None:
    last = len(attention.tokens) - 1
    assert HeadView(attention, tokens=[("query", last)]).tokens == [("query", last)]
    for figure in (HeadView, HeadGrid):
        parts = ("'tokens'", f"key {last + 1}", f"0 to {last}")
        with pytest.raises(traitlets.TraitError, match=naming(*parts)):
            figure(attention, tokens=[("query", 0), ("key", last + 1)])


@pytest.mark.parametrize("figure", [HeadView, HeadGrid, LinkView])
def test_tokens_that_the_text_lacks_are_refused_later_too(
    attention: Attention, figure: type[Any]
) -> None:
    last = len(attention.tokens) - 1
    shown = figure(attention, tokens=[("query", 1)])
    with pytest.raises(
        traitlets.TraitError, match=naming("'tokens'", f"query {last + 1}", f"0 to {last}")
    ):
        shown.tokens = [("query", last + 1)]
    assert shown.tokens == [("query", 1)]
    words = len(attention.stacks["self"].query.to_words())
    with pytest.raises(traitlets.TraitError, match=naming("'tokens'", f"query {words}", "words")):
        figure(attention, unit="words", tokens=[("query", words)])


def test_another_unit_locks_the_same_words(model: AttentionModel) -> None:
    attention = model.attend("The frobnicator sat.")
    assert attention.tokens[2:6] == ["fr", "##ob", "##nic", "##ator"]
    view, grid = HeadView(attention), HeadGrid(attention)
    with link_figures(view, grid):
        view.tokens = [("query", 3), ("key", 6)]
        view.unit = "words"
        assert view.tokens == grid.tokens == [("query", 2), ("key", 3)]
        grid.unit = "tokens"
        words = [("query", token) for token in range(2, 6)]
        assert view.tokens == grid.tokens == [*words, ("key", 6)]
    with view.hold_trait_notifications():
        view.unit = "tokens"
        view.tokens = [("key", 2)]
    assert view.tokens == [("key", 2)]


def test_linked_figures_leave_out_tokens_that_they_lack(
    model: AttentionModel, attention: Attention
) -> None:
    long, short = HeadView(attention), HeadGrid(model.attend("It sat."))
    last = len(attention.tokens) - 1
    with link_figures(long, short, traits=["tokens"]):
        long.tokens = [("query", last), ("key", 1)]
        assert short.tokens == [("key", 1)] and long.tokens == [("query", last), ("key", 1)]


def test_locked_tokens_are_shown(attention: Attention) -> None:
    grid = HeadGrid(attention, hidden=["cls", "sep"])
    grid.tokens = [("query", 0)]
    assert grid.hidden == ["sep"]
    # Kinds that are hidden by default are shown where a figure is made with such a token.
    assert HeadGrid(attention).hidden == ["cls", "sep"]
    assert HeadGrid(attention, tokens=[("key", 0)]).hidden == ["sep"]


def test_unknown_options_get_a_hint(attention: Attention) -> None:
    with pytest.raises(TypeError, match=naming("'select'", "'selected'")):
        HeadGrid(attention, select=[(0, 0)])
    with pytest.raises(TypeError, match=naming("'comparisonpart'", "'comparison_part'")):
        HeadView(attention, comparisonpart="first")
    with pytest.raises(TypeError, match=naming("'xyzzy'", "options")) as refused:
        HeadView(attention, xyzzy=1)
    offered = str(refused.value).partition("options: ")[2].split(", ")
    assert {"selected", "mode", "arrangement"} <= set(offered)
    assert not set(offered) & set(anywidget.AnyWidget.class_trait_names())


def test_what_is_no_attention_is_refused_with_a_remedy(model: AttentionModel) -> None:
    with pytest.raises(
        TypeError, match=naming("HeadGrid", "AttentionModel", "load_model().attend")
    ):
        HeadGrid(model)


def test_words_and_hidden_tokens_answer_from_the_kernel(attention: Attention) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"hidden": ["sep", "cls"]})
    thumbnails = grid.get_state()["_thumbnails"]
    assert thumbnails["hidden"] == ["cls", "sep"]
    assert thumbnails["values"]["shape"][-1] == len(attention.tokens) - 2
    view = HeadView(attention, 1, 3, unit="words")
    assert view.weights.shape == (len(attention.words.tokens),) * 2
    np.testing.assert_allclose(view.weights.sum(-1), 1, atol=1e-5)


def test_highlighted_words_become_positions(model: AttentionModel) -> None:
    view = HeadView(model.attend("the gamekeeper saw it"), highlight=["gamekeeper", "it"])
    tokens = view.attention.stacks["self"].query
    names = [tokens.raw[i] for i in on_page(view, "highlighted")["query"]]
    assert names == ["game", "##keeper", "it"]
    with pytest.raises(traitlets.TraitError, match=naming("'highlight'", "'whale'")):
        view.highlight = ["whale"]


def test_masked_cells_are_nan_on_the_wire() -> None:
    maps = np.tril(np.ones((4, 4), "f4"))
    maps /= maps.sum(-1, keepdims=True)
    attention = Attention.from_weights(maps[None, None], list("abcd"))
    view = HeadView(attention)
    sent = np.frombuffer(on_page(view, "tile")["values"]["view"], "<f4").reshape(4, 4)
    assert np.isnan(sent[0, 1:]).all() and not np.isnan(np.tril(sent)).any()


def test_another_attention_keeps_what_it_can(model: AttentionModel, attention: Attention) -> None:
    view = HeadView(attention, 5, 11)
    view.tokens = [("query", 3)]
    view.attention = model.attend("Short.")
    assert view.head == Head(5, 11) and view.tokens == []
    assert on_page(view, "tile")["values"]["shape"][1:] == [len(view.attention.tokens)] * 2
    assert len(on_page(view, "axes")["query"]["text"]) == len(view.attention.tokens)


def of_length(n: int) -> Attention:
    return Attention.from_weights(np.full((1, 1, n, n), 1 / n, "f4"), [f"t{i}" for i in range(n)])


def test_many_tokens_open_as_a_matrix_unless_a_mode_is_chosen() -> None:
    assert [HeadView(of_length(n)).mode for n in (6, 60, 61, 500)] == ["lines"] * 2 + ["matrix"] * 2
    assert HeadView(of_length(61), mode="lines").mode == "lines"
    view = HeadView(of_length(6))
    for n, mode in ((61, "matrix"), (60, "lines")):
        view.attention = of_length(n)
        assert view.mode == mode
    view.mode = "matrix"
    view.attention = of_length(6)
    assert view.mode == "matrix", "a mode that was chosen stays"


@pytest.mark.usefixtures("recording")
def test_a_window_is_a_part_of_the_map(attention: Attention) -> None:
    view = HeadView(attention, window=[2, 6, 0, 4], mode="matrix")
    assert view.window == (2, 6, 0, 4)
    from_page(view, {"window": [1, 3, 1, 3]})
    assert view.window == (1, 3, 1, 3)
    for wrong in [(3, 3, 0, 4), (-1, 3, 0, 4), (0, 4), "all", (0, 999, 0, 4)]:
        with pytest.raises(traitlets.TraitError, match=naming("'window'")):
            view.window = wrong
    view.unit = "words"
    assert view.window is None, "words are counted differently"
    view.window = (0, 4, 0, 4)
    view.attention = of_length(70)
    assert view.window is None


def test_linked_figures_write_tokens_in_one_size(attention: Attention) -> None:
    first = HeadView(attention, token_size="L")
    second = HeadView(attention)
    link_figures(first, second)
    assert second.token_size == "L"


def test_repr_is_short_and_every_trait_has_help(attention: Attention) -> None:
    for widget in (HeadGrid(attention), HeadView(attention)):
        assert len(repr(widget)) < 120 and "\n" not in repr(widget)
        own = set(widget.trait_names()) - set(ipywidgets.DOMWidget.class_trait_names())
        public = [name for name in own if not name.startswith("_") and name != "comm"]
        assert all(widget.traits()[name].help for name in public)


def test_closing_frees_the_widget(attention: Attention) -> None:
    before = len(ipywidgets.widgets.widget._instances)
    grid = HeadGrid(attention)
    view = HeadView(attention)
    both = link_figures(grid, view)
    freed = [weakref.ref(grid), weakref.ref(view)]
    grid.close()
    view.close()
    del grid, view, both
    gc.collect()
    assert [ref() for ref in freed] == [None, None]
    assert len(ipywidgets.widgets.widget._instances) == before


@pytest.mark.parametrize("width", [1, 39.9, 20_000, 1e9])
def test_absurd_widths_are_refused_with_the_range(attention: Attention, width: float) -> None:
    with pytest.raises(ValueError, match=naming("width", "40", "10,000")):
        HeadView(attention).figure(width=width)


def test_a_single_token_is_counted_in_the_singular() -> None:
    one = Attention.from_weights(np.ones((1, 1, 1, 1), "f4"), ["a"])
    assert repr(one) == "Attention(weights, self 1×1, 1 token, weights only)"
    grid = HeadGrid(one)
    assert "1 token," in repr(grid) and grid.caption.quantity.endswith("1 token")
    assert HeadView(one).caption.quantity.endswith("1 token")


def test_a_selection_in_another_layer_reaches_linked_figures_in_one_step(
    attention: Attention,
) -> None:
    grid, view = HeadGrid(attention, selected=[(0, 1)]), HeadView(attention)
    link_figures(grid, view)
    seen: list[list[Head]] = []
    view.observe(lambda change: seen.append(change["new"]), "selected")
    grid.selected = [(1, 2)]
    assert seen == [[Head(1, 2)]] and view.layer == 1
    view.layer = 0
    assert grid.selected == [Head(0, 2)]


def test_a_link_keeps_what_another_thread_changes_while_it_begins(attention: Attention) -> None:
    first = HeadView(attention, selected=[(0, 1)], tokens=[("query", 1)])
    second = HeadView(attention)

    def change(_: object) -> None:
        thread = threading.Thread(target=setattr, args=(first, "selected", [(2, 3)]))
        thread.start()
        thread.join(30)

    # A link gives tokens after the selection.
    second.observe(change, "tokens")
    with link_figures(first, second):
        assert first.selected == second.selected == [Head(2, 3)]


@pytest.mark.parametrize(
    ("head", "error", "parts"),
    [
        (("last",), ValueError, ("'L1 H3'", "'last'")),
        ((1.0,), TypeError, ("layer", "integers", "1.0")),
        ((1, 33), ValueError, ("head 33", "'self'")),
        (("L1 H3", 3), ValueError, ("once", "'L1 H3'", "head=3")),
    ],
)
def test_a_head_that_does_not_exist_is_refused_by_its_own_name(
    attention: Attention, head: tuple[Any, ...], error: type[Exception], parts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        HeadView(attention, *head)


def test_a_model_in_place_of_an_attention_is_named(model: AttentionModel) -> None:
    with pytest.raises(
        TypeError, match=naming("HeadView", "AttentionModel", "load_model().attend")
    ):
        HeadView(model, "a text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=naming("`selected`", "`layer`", "both")):
        HeadView(model.attend("a text"), 1, selected=[(1, 2)])
