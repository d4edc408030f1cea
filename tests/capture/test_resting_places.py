"""The special tokens on which much attention rests, and which figures hide by default."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, link_figures
from attnwidget.capture.maps.resting_places import resting_places
from fixtures.recording import on_page

N = 20
TOKENS = ["[CLS]", *(f"w{i}" for i in range(N - 2)), "[SEP]"]
TEXT = "The nurse who met the lawyers said that she was tired, because they had argued."


def with_share(share: float, tokens: list[str] = TOKENS, special: tuple[int, ...] = (0, -1)):
    """Maps of 2 x 3 heads in which special tokens get a share, and the others the same each."""
    row = np.full(len(tokens), (1 - share) / (len(tokens) - len(special)))
    row[list(special)] = share / len(special)
    weights = np.broadcast_to(row, (2, 3, len(tokens), len(tokens)))
    return Attention.from_weights(weights.astype("f4"), tokens)


@pytest.mark.parametrize(
    ("share", "hidden"),
    [(0.9, ["cls", "sep"]), (0.32, ["cls", "sep"]), (0.28, []), (0.1, [])],
)
def test_three_times_the_even_share_is_much(share: float, hidden: list[str]) -> None:
    # The even share of two of twenty tokens is 10 %.
    attention = with_share(share)
    resting = resting_places(attention)
    assert list(resting.kinds) == hidden
    assert resting.share == pytest.approx(share if hidden else 0, abs=1e-5)
    for figure in (HeadGrid(attention), HeadView(attention)):
        assert figure.hidden == hidden


def test_less_than_a_tenth_is_not_much_however_many_tokens_there_are() -> None:
    long = ["[CLS]", *(f"w{i}" for i in range(298)), "[SEP]"]
    assert resting_places(with_share(0.09, long)).kinds == ()
    assert resting_places(with_share(0.11, long)).kinds == ("cls", "sep")


# The first queries of a short text see few keys, and have to attend to the first one.
@pytest.mark.parametrize(
    ("n", "times", "hidden"),
    [(30, 40, ("first",)), (9, 40, ("first",)), (5, 40, ("first",)), (9, 2, ()), (5, 1, ())],
)
def test_a_causal_model_rests_on_its_first_token(n: int, times: int, hidden: tuple[str]) -> None:
    weights = np.tril(np.ones((n, n)))
    weights[:, 0] = times
    weights /= weights.sum(-1, keepdims=True)
    masked = np.where(np.tri(n, dtype=bool), weights, 0).astype("f4")
    attention = Attention.from_weights(
        np.broadcast_to(masked, (1, 2, n, n)), [f"w{i}" for i in range(n)]
    )
    assert resting_places(attention).kinds == hidden


def test_what_the_caller_and_the_reader_choose_wins() -> None:
    attention = with_share(0.9)
    assert HeadGrid(attention, hidden=[]).hidden == []
    assert HeadGrid(attention, hidden=["sep"]).hidden == ["sep"]
    grid = HeadGrid(attention)
    assert "hidden" not in grid.code() and "[CLS], [SEP] hidden" in grid.caption.notes
    assert on_page(grid, "source")["resting"]["kinds"] == ["cls", "sep"]
    grid.attention = with_share(0.1)
    assert grid.hidden == [] and "hidden" not in grid.code()
    grid.attention = attention
    grid.hidden = []
    assert "hidden=[]" in grid.code()
    grid.attention = with_share(0.95)
    assert grid.hidden == []
    view = HeadView(attention)
    with link_figures(grid, view):
        assert view.hidden == []


def test_heads_that_are_off_hide_nothing_more(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    grid = HeadGrid(attention)
    assert grid.hidden == ["cls", "sep"]
    grid.disabled = [(layer, head) for layer in range(6) for head in range(12)]
    assert grid.hidden == ["cls", "sep"]


def test_a_head_that_is_off_has_no_ink_in_any_figure(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    she, nurse = attention.tokens.index("she"), attention.tokens.index("nurse")
    for method in ("uniform", "zero", "first"):
        off = {"disabled": [(1, 8)], "method": method}
        for mode in ("lines", "matrix"):
            view = HeadView(attention, 1, 8, mode=mode, **off)
            assert view.figure().table.empty
        marks = [("query", she), ("key", nurse)]
        grid = HeadGrid(attention, tokens=marks, **off)
        rows = on_page(grid, "rows")["values"]
        assert not np.frombuffer(rows["view"], "<f4").reshape(rows["shape"])[1, 8].any()
