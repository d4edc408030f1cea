"""Right-to-left tokens in columns, texts and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, HeadView
from fixtures.svg_picture import elements, number, texts

HEBREW = ["[CLS]", "החתול", "##ים", "ישב", "על", "השטיח", "[SEP]"]
ARABIC = ["[CLS]", "القط", "جلس", "على", "السج", "##ادة", "[SEP]"]
ISOLATED = "\u2067{}\u2069"


def attention_of(tokens: list[str]) -> Attention:
    n = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.full(n, 0.2), (1, 2, n))
    return Attention.from_weights(weights.astype(np.float32), tokens)


def view_of(words: list[str], **options: Any) -> HeadView:
    return HeadView(attention_of(words), selected=[(0, 1)], hidden=[], **options)


@pytest.mark.parametrize("tokens", [HEBREW, ARABIC])
@pytest.mark.parametrize("mode", ["lines", "matrix"])
def test_texts_isolate_right_to_left_tokens_and_tables_hold_them_plain(
    tokens: list[str], mode: str
) -> None:
    view = view_of(tokens, mode=mode, tokens=[("query", 1)])
    figure = view.figure()
    drawn = " ".join(texts(figure))
    assert ISOLATED.format(tokens[1]) in drawn
    assert set(figure.table["from"]) == {tokens[1]}
    assert not any("\u2067" in cell for cell in figure.table["to"])


@pytest.mark.parametrize(("tokens", "piece"), [(HEBREW, "ים"), (ARABIC, "ادة")])
def test_the_mark_of_a_right_to_left_piece_stands_at_its_right(
    tokens: list[str], piece: str
) -> None:
    figure = view_of(tokens).figure()
    drawn = [
        ("".join(e.itertext()).strip("\u2067\u2069"), number(e, "x"), e.get("text-anchor"))
        for e in elements(figure, "text")
    ]
    at = [i for i, (text, _, _) in enumerate(drawn) if text == piece]
    assert len(at) == 2
    for i in at:
        mark, mark_x, _ = drawn[i - 1]
        assert mark == "##"
        assert mark_x >= drawn[i][1]
