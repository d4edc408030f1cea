"""Widgets with a recording comm: what crosses, when, and what is refused."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import comm
import ipywidgets
import numpy as np
import pytest
import torch
import traitlets
from transformers.modeling_outputs import Seq2SeqModelOutput

from attnwidget import Attention, AttentionModel, Head, HeadGrid, HeadView, link, load_model
from recording import RecordingComm, from_page, updates

TEXT = "The captain told his men that he would not leave the ship until they were safe."


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    yield
    ipywidgets.Widget.close_all()


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def test_a_grid_opens_with_one_message_of_thumbnails(attention: Attention) -> None:
    grid = HeadGrid(attention)
    opened = [entry for entry in grid.comm.sent if entry[0] == "comm_open"]
    assert len(opened) == 1
    thumbnails = grid.get_state()["_thumbnails"]
    assert thumbnails["values"]["shape"] == [6, 12, len(attention.tokens), len(attention.tokens)]
    expected = attention.thumbnails()
    assert bytes(thumbnails["values"]["view"]) == expected.values.tobytes()
    assert bytes(thumbnails["maxima"]["view"]) == expected.maxima.astype("<f4").tobytes()


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
    grid, view = HeadGrid(attention), HeadView(attention)
    link(grid, view)
    view.comm.sent.clear()
    from_page(grid, {"selected": [[3, 5, "self"]], "layer": 3})
    maps = [(state, buffers) for state, buffers in updates(view) if "_map" in state]
    assert len(maps) == 1
    state, buffers = maps[0]
    assert (state["_map"]["layer"], state["_map"]["head"], state["_map"]["exact"]) == (3, 5, True)
    sent = np.frombuffer(buffers[0], "<f4").reshape(state["_map"]["values"]["shape"])
    np.testing.assert_array_equal(sent, attention.weights(3, 5))
    np.testing.assert_array_equal(sent, view.weights)


def test_links_go_both_ways_until_unlinked(attention: Attention) -> None:
    first, second = HeadGrid(attention, selected=[(1, 1)], scale="log"), HeadGrid(attention)
    both = link(first, second)
    assert (second.selected, second.scale) == ([Head(1, 1)], "log")
    second.layer = 3
    assert first.selected == [Head(3, 1)]
    both.unlink()
    first.selected = [(0, 0)]
    assert second.selected == [Head(3, 1)]


def test_a_smaller_model_is_given_the_heads_it_has(attention: Attention) -> None:
    maps = np.full((2, 3, 4, 4), 0.25, "f4")
    small = HeadView(Attention.from_weights(maps, list("abcd")))
    grid = HeadGrid(attention)
    link(grid, small)
    grid.selected = [(1, 2), (5, 11)]
    assert small.selected == [Head(1, 2)]


def test_a_grid_with_no_selection_takes_the_views(attention: Attention) -> None:
    grid, view = HeadGrid(attention), HeadView(attention, 2, 4)
    link(grid, view)
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
    first, second = HeadGrid(attention), HeadView(attention)
    ipywidgets.link((first, "selected"), (second, "selected"))
    first.selected = [(2, 2)]
    assert second.head == Head(2, 2)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("selected", [(6, 0)], "layer"),
        ("selected", [(0, 12)], "head"),
        ("selected", "L3 H5", r"\(layer, head\)"),
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


def test_unknown_options_get_a_hint(attention: Attention) -> None:
    with pytest.raises(TypeError, match="did you mean 'selected'"):
        HeadGrid(attention, select=[(0, 0)])
    with pytest.raises(TypeError, match="did you mean 'top_mass'"):
        HeadView(attention, topmass=0.5)


def test_what_is_no_attention_is_refused_with_a_remedy(model: AttentionModel) -> None:
    with pytest.raises(TypeError, match=r"load_model\(\)\.attend"):
        HeadGrid(model)


def test_words_and_hidden_tokens_answer_from_the_kernel(attention: Attention) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"hidden": ["sep", "cls"]})
    thumbnails = grid.get_state()["_thumbnails"]
    assert thumbnails["hidden"] == ["cls", "sep"]
    assert thumbnails["values"]["shape"][-1] == len(attention.tokens) - 2
    view = HeadView(attention, 1, 3, unit="words")
    assert view.weights.shape == (len(attention.words()),) * 2
    np.testing.assert_allclose(view.weights.sum(-1), 1, atol=1e-5)


def test_highlighted_words_become_positions(model: AttentionModel) -> None:
    view = HeadView(model.attend("the gamekeeper saw it"), highlight=["gamekeeper", "it"])
    tokens = view.attention.stacks["self"].query
    names = [tokens.raw[i] for i in view._highlighted["query"]]
    assert names == ["game", "##keeper", "it"]
    with pytest.raises(traitlets.TraitError, match="'whale'"):
        view.highlight = ["whale"]


def test_masked_cells_are_nan_on_the_wire() -> None:
    maps = np.tril(np.ones((4, 4), "f4"))
    maps /= maps.sum(-1, keepdims=True)
    attention = Attention.from_weights(maps[None, None], list("abcd"))
    view = HeadView(attention)
    sent = np.frombuffer(view._map["values"]["view"], "<f4").reshape(4, 4)
    assert np.isnan(sent[0, 1:]).all() and not np.isnan(np.tril(sent)).any()


def test_another_attention_keeps_what_it_can(model: AttentionModel, attention: Attention) -> None:
    view = HeadView(attention, 5, 11)
    view.tokens = [("query", 3)]
    view.attention = model.attend("Short.")
    assert view.head == Head(5, 11) and view.tokens == []
    assert view._map["values"]["shape"] == [len(view.attention.tokens)] * 2
    assert len(view._axes["query"]["text"]) == len(view.attention.tokens)


def test_repr_is_short_and_every_trait_has_help(attention: Attention) -> None:
    for widget in (HeadGrid(attention), HeadView(attention)):
        assert len(repr(widget)) < 120 and "\n" not in repr(widget)
        own = set(widget.trait_names()) - set(ipywidgets.DOMWidget.class_trait_names())
        public = [name for name in own if not name.startswith("_") and name != "comm"]
        assert all(widget.traits()[name].help for name in public)


def test_closing_frees_the_widget(attention: Attention) -> None:
    before = len(ipywidgets.widgets.widget._instances)
    grid, view = HeadGrid(attention), HeadView(attention)
    both = link(grid, view)
    freed = [weakref.ref(grid), weakref.ref(view)]
    grid.close()
    view.close()
    del grid, view, both
    gc.collect()
    assert [ref() for ref in freed] == [None, None]
    assert len(ipywidgets.widgets.widget._instances) == before
