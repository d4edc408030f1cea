"""Tokens of lines in two rows, and right-to-left tokens in rows, columns, texts and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

from attnwidget import Attention, HeadView, load_model
from attnwidget.drawing.picture import Picture
from fixtures.svg_picture import elements, number, offset, texts

LATIN = ["[CLS]", "the", "captain", "told", "his", "men", "[SEP]"]
HEBREW = ["[CLS]", "החתול", "##ים", "ישב", "על", "השטיח", "[SEP]"]
ARABIC = ["[CLS]", "القط", "جلس", "على", "السج", "##ادة", "[SEP]"]
ISOLATED = "\u2067{}\u2069"


def attention_of(tokens: list[str]) -> Attention:
    n = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.full(n, 0.2), (1, 2, n))
    return Attention.from_weights(weights.astype(np.float32), tokens)


def view_of(words: list[str], **options: Any) -> HeadView:
    return HeadView(attention_of(words), selected=[(0, 1)], hidden=[], **options)


def places(figure: Picture, tokens: list[str]) -> dict[str, list[tuple[float, float]]]:
    """Where each token stands in a picture."""
    found: dict[str, list[tuple[float, float]]] = {token: [] for token in tokens}
    for element in elements(figure, "text"):
        text = "".join(element.itertext()).strip("\u2067\u2069")
        if text in found:
            dx, dy = offset(element)
            found[text].append((dx + number(element, "x"), dy + number(element, "y")))
    return found


@pytest.mark.parametrize("width", [480, 1070])
def test_queries_stand_above_and_keys_below_in_the_order_of_the_text(width: int) -> None:
    figure = view_of(LATIN, token_layout="horizontal").figure(width=width)
    drawn = places(figure, LATIN)
    assert all(len(at) == 2 for at in drawn.values())
    above = [min(drawn[token], key=lambda at: at[1]) for token in LATIN]
    below = [max(drawn[token], key=lambda at: at[1]) for token in LATIN]
    for row in (above, below):
        assert [x for x, _ in row] == sorted(x for x, _ in row)
        assert max(y for _, y in row) - min(y for _, y in row) < 1
    assert below[0][1] - above[0][1] > 100
    assert {"from", "to"} <= set(texts(figure))


def test_a_right_to_left_text_begins_at_the_right() -> None:
    for tokens in (HEBREW, ARABIC):
        figure = view_of(tokens, token_layout="horizontal").figure(width=1070)
        words = [token for token in tokens if not token.startswith("##")]
        drawn = places(figure, words)
        above = [min(drawn[token], key=lambda at: at[1])[0] for token in words]
        assert above == sorted(above, reverse=True)


def test_rows_show_the_same_numbers_as_columns() -> None:
    options: dict[str, Any] = {"tokens": [("query", 3)]}
    rows = view_of(LATIN, token_layout="horizontal", **options).figure()
    columns = view_of(LATIN, **options).figure()
    assert rows.table.equals(columns.table)
    assert rows.caption == columns.caption
    assert rows.svg != columns.svg
    # They stand once, beside the tokens.
    shares = [text for text in texts(columns) if text.endswith("\xa0%")]
    assert shares and sorted(text for text in texts(rows) if text.endswith("\xa0%")) == sorted(
        shares
    )
    assert not any("strongest from" in text for text in texts(rows))


def test_lines_run_from_the_upper_to_the_lower_row() -> None:
    view = view_of(LATIN, token_layout="horizontal")
    paths = [path.get("d") or "" for path in elements(view.figure(), "path")]
    lines = [path for path in paths if path.startswith("M") and path.count("L") >= 1]
    weights = view.values
    assert weights is not None
    even = 1 / len(LATIN)
    assert len(lines) >= int((weights >= max(1.5 * even, 0.03)).sum())


def test_a_text_that_is_too_long_for_a_picture_is_cut_and_said_so() -> None:
    tokens = ["[CLS]", *(f"word{i}" for i in range(58)), "[SEP]"]
    view = view_of(tokens, token_layout="horizontal", tokens=[("query", 50)])
    figure = view.figure(width=480)
    notes = [note for note in figure.caption.notes if "in sight" in note]
    assert len(notes) == 1 and "of 60" in notes[0]
    first, last = (int(part) for part in notes[0].split() if part.isdigit() and part != "60")
    assert first < 50 <= last


def test_heads_side_by_side_stay_in_columns_and_say_so() -> None:
    options: dict[str, Any] = {"arrangement": "beside", "token_layout": "horizontal"}
    view = HeadView(attention_of(LATIN), selected=[(0, 0), (0, 1)], **options)
    notes = view.figure().caption.notes
    assert "tokens in columns: heads side by side have no horizontal layout" in notes
    view.arrangement = "overlay"
    assert not any("in columns" in note for note in view.figure().caption.notes)
    view.mode = "matrix"
    assert not any("in columns" in note for note in view.figure().caption.notes)


def test_the_layout_is_an_option_of_code_and_of_saved_pages(tmp_path: Path) -> None:
    view = HeadView(load_model().attend("The cat sat."), token_layout="horizontal")
    assert 'token_layout="horizontal"' in view.code()
    page = tmp_path / "page.html"
    view.save(page)
    assert '"token_layout":"horizontal"' in page.read_text("utf-8").replace(": ", ":")
    with pytest.raises(traitlets.TraitError, match="token_layout"):
        view.token_layout = "diagonal"


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
