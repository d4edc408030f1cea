"""LinkedText: what a link selects, and which links are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, HeadView, LinkedText, link, save_page
from fixtures.svg_picture import texts

TEXT = "The captain unpacked his microscopes."


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def test_a_link_selects_the_head_and_locks_the_tokens_of_linked_figures(
    attention: Attention,
) -> None:
    text = LinkedText(attention, "[One](L1 H3: his -> captain), [two](L0 H2), [three](the).")
    view = HeadView(attention, 5, 5)
    with link(text, view):
        text.follow(0)
        assert view.head == (1, 3, "self")
        assert view.tokens == [("query", 7), ("key", 2)]
        text.follow(1)
        assert view.head == (0, 2, "self")
        assert view.tokens == [("query", 7), ("key", 2)], "a link without tokens keeps them"
        text.follow(2)
        assert (view.head, view.tokens) == ((0, 2, "self"), [("query", 1)])
        with pytest.raises(IndexError, match="links 0 to 2, got 3"):
            text.follow(3)


def test_tokens_of_a_link_are_words_in_figures_between_words(attention: Attention) -> None:
    text = LinkedText(attention, "[Parts](L1 H3: ##sco -> ##pa)", unit="words")
    text.follow(0)
    words = attention.words.stacks["self"].key.text
    assert [words[index] for _, index in text.tokens] == ["microscopes", "unpacked"]


def test_a_token_that_occurs_twice_is_named_by_its_index() -> None:
    weights = np.full((1, 1, 3, 3), 1 / 3, np.float32)
    attention = Attention.from_weights(weights, ["a", "b", "a"])
    text = LinkedText(attention, "[last a](L0 H0: 2 -> b)")
    text.follow(0)
    assert text.tokens == [("query", 2), ("key", 1)]
    with pytest.raises(ValueError, match=r"'a' stands at 0, 2: write one of these numbers"):
        LinkedText(attention, "[a](a)")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("L9 H3", "link 'L9 H3': layer 9"),
        ("L1 H3: her", "no token 'her'"),
        ("L1 H3: his => captain -> x", "a link of the text names"),
        (" ", "a link of the text names"),
    ],
)
def test_a_link_that_leads_nowhere_is_refused(
    attention: Attention, target: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        LinkedText(attention, f"[word]({target})")


def test_only_a_text_is_taken(attention: Attention) -> None:
    with pytest.raises(TypeError, match="shows a text, a str, got list"):
        LinkedText(attention, ["a"])  # type: ignore[arg-type]


def test_the_picture_has_every_paragraph_and_the_table_every_link(attention: Attention) -> None:
    text = LinkedText(attention, "A [pronoun of a man](L1 H3: his -> captain), here.\n\nAn end.")
    picture = text.figure(width=640)
    assert texts(picture)[2:] == ["A", "pronoun of a man", ",", "here.", "An", "end."]
    assert picture.table.values.tolist() == [["pronoun of a man", "L1 H3, from his to captain"]]
    assert "1 link" in text.caption.text()


def test_code_makes_the_text_again(attention: Attention) -> None:
    text = LinkedText(attention, "[One](L1 H3)", hidden=[])
    names: dict[str, object] = {}
    *lines, last = text.code().split("\n\n")
    exec("\n".join(lines), names)
    assert 'LinkedText(attention, "[One](L1 H3)"' in last.replace("\n    ", "")


def test_a_page_has_the_text_above_the_grid(attention: Attention, tmp_path: Path) -> None:
    text = LinkedText(attention, "[One](L1 H3)")
    path = save_page(attention, tmp_path / "page.html", linked_text=text)
    found = re.search(r'id="attnw-data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found
    figures = json.loads(found[1])["figures"]
    assert [figure["name"] for figure in figures] == ["linked_text", "head_grid", "head_view"]
    assert figures[0]["state"]["_links"][0]["head"] == [1, 3, "self"]
