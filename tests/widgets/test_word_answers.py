"""Cells of HeadGrid that answer for locked words: which heads, which stack, how many bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, link_figures, load_model
from fixtures import zoo
from fixtures.recording import from_page, on_page, updates
from fixtures.svg_picture import elements

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the unsinkable ship."


def bold_numbers(grid: HeadGrid) -> int:
    """How many numbers of a grid are bold."""
    texts = elements(grid.figure(), "text")
    numbers = [text for text in texts if (text.text or "").isdigit()]
    return sum(text.get("font-weight") == "700" for text in numbers)


def test_heads_with_the_largest_weight_to_a_locked_key_are_bold(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    query = attention.tokens.index("he")
    rows = attention.token_values("query", query)
    for hidden in ([], ["cls", "sep"]):
        shown = rows.copy()
        shown[..., [kind in hidden for kind in attention.special]] = -1
        for key in range(1, len(attention.tokens) - 1):
            counts = (shown.argmax(-1) == key) & (rows[..., key] >= 1.5 / rows.shape[-1])
            locked = [("query", query), ("key", key)]
            grid = HeadGrid(attention, tokens=locked, hidden=hidden)
            assert bold_numbers(grid) == counts.sum(), key


def test_no_head_goes_where_it_may_not_see() -> None:
    causal = load_model(zoo.build("llama")).attend(zoo.inputs("llama", batch=1, padded=0))
    grid = HeadGrid(causal, tokens=[("query", 2), ("key", 5)])
    rows = on_page(grid, "rows")["values"]
    held = np.frombuffer(rows["view"], "<f4").reshape(rows["shape"])
    assert np.isnan(held[..., 5]).all() and bold_numbers(grid) == 0


def test_of_several_locks_the_last_counts(model: AttentionModel) -> None:
    grid = HeadGrid(model.attend(TEXT), tokens=[("query", 3), ("query", 5), ("key", 2)])
    assert (on_page(grid, "rows")["side"], on_page(grid, "rows")["of"]) == ("query", 5)
    grid.tokens = [("key", 2), ("key", 4)]
    assert (on_page(grid, "rows")["side"], on_page(grid, "rows")["of"]) == ("key", 4)


def test_one_message_answers_a_lock() -> None:
    maps = np.random.default_rng(0).dirichlet(np.full(122, 0.1), size=(12, 12, 122))
    grid = HeadGrid(Attention.from_weights(maps.astype(np.float32), ["t"] * 122))
    grid.open()
    for side in ("query", "key"):
        before = len(updates(grid))
        from_page(grid, {"tokens": [[side, 5]]})
        answers = [state for state, _ in updates(grid)[before:] if "_rows" in state]
        sent = sum(len(part) for _, parts in updates(grid)[before:] for part in parts)
        assert len(answers) == 1 and answers[0]["_rows"]["values"]["shape"] == [12, 12, 122]
        assert "_thumbnails" not in answers[0] and 0 < sent <= 4 * 12 * 12 * 122


def test_a_grid_follows_the_locks_of_a_view(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    grid, view = HeadGrid(attention), HeadView(attention, 1, 2)
    both = link_figures(grid, view)
    view.tokens = [("key", 5)]
    assert (on_page(grid, "rows")["side"], on_page(grid, "rows")["of"]) == ("key", 5)
    both.unlink()


def test_stacks_of_an_encoder_decoder() -> None:
    torch.manual_seed(0)
    translated = load_model(zoo.build("bart")).attend(zoo.inputs("bart", batch=1, padded=0))
    grid = HeadGrid(translated, stack="cross", tokens=[("query", 2)])
    rows = on_page(grid, "rows")
    held = np.frombuffer(rows["values"]["view"], "<f4").reshape(rows["values"]["shape"])
    np.testing.assert_allclose(held, translated.token_values("query", 2, stack="cross"), rtol=1e-5)
    grid.tokens = [("key", 3)]
    assert on_page(grid, "rows")["values"]["shape"][-1] == len(translated.stacks["cross"].query)
