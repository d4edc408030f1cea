"""Stepping through layers: the strongest head for a locked token, or the same head."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attnwidget import (
    Attention,
    AttentionModel,
    Explorer,
    Head,
    HeadGrid,
    HeadView,
    join_figures,
    link_figures,
)
from fixtures.recording import from_page, updates
from fixtures.svg_picture import elements, texts

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."
HE, CAPTAIN = 7, 2
N_LAYERS, N_HEADS = 6, 12


def strongest(attention: Attention, key: int | None, hidden: tuple[str, ...] = ()) -> list[int]:
    """The strongest head of each layer from "he" to a key, or to any key that is not hidden."""
    heads = []
    for layer in range(N_LAYERS):
        rows = attention.weights(layer)[:, HE]
        shown = [i for i, kind in enumerate(attention.special) if kind not in hidden]
        shares = [row[key] if key is not None else max(row[i] for i in shown) for row in rows]
        heads.append(shares.index(max(shares)))
    return heads


@pytest.mark.parametrize("key", [None, CAPTAIN])
@pytest.mark.parametrize("hidden", [(), ("cls", "sep")])
def test_a_layer_is_its_strongest_head_for_the_locked_words(
    model: AttentionModel, key: int | None, hidden: tuple[str, ...]
) -> None:
    attention = model.attend(TEXT)
    tokens = [("query", HE)] + ([] if key is None else [("key", key)])
    grid = HeadGrid(attention, selected=[(3, 1)], tokens=tokens, hidden=list(hidden))
    seen = []
    for layer in range(N_LAYERS):
        if layer == 3:
            grid.layer = 2
        grid.layer = layer
        assert grid.head.layer == layer
        seen.append(grid.head.head)
    assert seen == strongest(attention, key, hidden)


def test_without_a_locked_word_and_with_maps_the_head_keeps_its_number(
    model: AttentionModel,
) -> None:
    attention = model.attend(TEXT)
    locked = [("query", HE)]
    for options in (
        {},
        {"tokens": locked, "cells": "maps"},
        {"tokens": locked, "quantity": "norms"},
    ):
        grid = HeadGrid(attention, selected=[(1, 3)], **options)
        grid.layer = 4
        assert str(grid.head) == "L4 H3"
    view = HeadView(attention, 1, 3, tokens=locked)
    view.layer = 4
    assert str(view.head) == "L4 H3" and view.layer == 4


def test_a_layer_whose_heads_are_off_keeps_the_number(model: AttentionModel) -> None:
    off = [(4, head) for head in range(N_HEADS)]
    grid = HeadGrid(model.attend(TEXT), selected=[(1, 3)], tokens=[("query", HE)], disabled=off)
    grid.layer = 4
    assert str(grid.head) == "L4 H3"


def test_of_a_locked_key_the_strongest_head_is_that_of_its_queries(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    grid = HeadGrid(attention, selected=[(1, 3)], tokens=[("key", CAPTAIN)])
    grid.layer = 2
    columns = attention.weights(2)[:, :, CAPTAIN]
    assert grid.head.head == columns.max(axis=1).argmax()


def test_masked_keys_are_no_strongest_key() -> None:
    maps = np.tril(np.random.default_rng(0).uniform(size=(3, 4, 5, 5))).astype(np.float32)
    maps /= maps.sum(axis=-1, keepdims=True)
    grid = HeadGrid(
        Attention.from_weights(maps, list("abcde")),
        selected=[(0, 1)],
        tokens=[("query", 2), ("key", 4)],
    )
    grid.layer = 2
    assert str(grid.head) == "L2 H1"


def test_one_message_tells_the_layer_and_its_head(model: AttentionModel) -> None:
    grid = HeadGrid(model.attend(TEXT), selected=[(1, 3)])
    grid.open()
    from_page(grid, {"tokens": [["query", HE]]})
    head = strongest(grid.attention, None, tuple(grid.hidden))[4]
    before = len(updates(grid))
    with grid.hold_sync():
        grid.layer = 4
    sent = updates(grid)[before:]
    assert [state for state, _ in sent] == [{"layer": 4, "selected": [Head(4, head)]}]
    assert sent[0][1] == []


def test_the_page_may_step_by_itself(model: AttentionModel) -> None:
    grid = HeadGrid(model.attend(TEXT), selected=[(1, 3)], tokens=[("query", HE)])
    from_page(grid, {"layer": 4, "selected": [[4, 0, "self"]]})
    assert str(grid.head) == "L4 H0"


def test_rows_of_the_picture_tell_what_a_step_selects(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    grid = HeadGrid(attention, selected=[(1, 3)], tokens=[("query", HE), ("key", CAPTAIN)])
    written = texts(grid.figure())
    for layer, head in enumerate(strongest(attention, CAPTAIN)):
        share = attention.weights(layer, head)[HE, CAPTAIN]
        expected = f"{100 * share:.0f}\u00a0%" if share >= max(0.1, 2 / 15) else "–"
        assert expected in written and (expected == "–" or f"H{head}" in written)
    grid.tokens = []
    assert not {"–", "H3"} & set(texts(grid.figure()))


def test_linked_figures_step_together(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    grid, view = HeadGrid(attention, tokens=[("query", HE)]), HeadView(attention, 1, 3)
    link_figures(grid, view)
    grid.layer = 5
    assert (
        view.head == grid.head
        and view.head.head == strongest(attention, None, tuple(grid.hidden))[5]
    )
    assert view.layer == 5


def test_an_explorer_steps_through_the_layers_and_saves_each(
    model: AttentionModel, tmp_path: Path
) -> None:
    explorer = Explorer(model, TEXT, treebank=False, atlas=False, tokens=[("query", HE)])
    expected = strongest(explorer.attention, None, tuple(explorer.hidden))
    pictures = []
    for layer in range(N_LAYERS):
        explorer.layer = layer
        explorer.save(f"{tmp_path}/layer{layer}.svg")
        assert (explorer.head.layer, explorer.view.head) == (layer, explorer.head)
        assert explorer.head.head == expected[layer]
        pictures.append((tmp_path / f"layer{layer}.svg").read_text())
    assert len(set(pictures)) == N_LAYERS
    explorer.tokens = []
    explorer.selected = [(1, 3)]
    explorer.view.layer = 4
    assert str(explorer.head) == "L4 H3" and explorer.layer == explorer.grid.layer == 4
    explorer.close()


def test_one_picture_has_a_head_of_all_layers(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    figure = join_figures([HeadView(attention, layer, 3) for layer in range(6)], columns=3)
    titles = " ".join(texts(figure))
    assert all(f"L{layer} H3" in titles for layer in range(6))
    assert len(elements(figure, "text")) > 6 * len(attention.tokens)
