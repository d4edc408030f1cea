"""The strongest links of a head, of a layer and of all heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, load_model
from refusals import naming


@pytest.fixture(scope="module")
def attention() -> Attention:
    model = load_model(device="cpu")
    return model.attend("The captain told his men that he would not leave the ship.")


def test_links_of_all_heads_equal_the_maps(attention: Attention) -> None:
    frame = attention.top_links(query="he", key="captain", top=100)
    assert len(frame) == attention.n_layers * attention.n_heads
    assert frame["weight"].is_monotonic_decreasing
    for row in frame.itertuples():
        weight = attention.rows(int(row.layer), int(row.head), "he", "captain")
        assert row.weight == pytest.approx(weight)
        assert (row.query_token, row.key_token) == ("he", "captain")
    of_layer = attention.top_links("L1", top=5)
    maps = attention.weights(1)
    assert set(of_layer["layer"]) == {1}
    assert np.allclose(of_layer["weight"], np.sort(maps, axis=None)[::-1][:5])
    strongest = attention.top_links(top=1).loc[0]
    assert strongest["weight"] == pytest.approx(float(attention.weights().max()))


def test_a_part_and_a_token_are_refused_together(attention: Attention) -> None:
    with pytest.raises(ValueError, match=naming("within", "query")):
        attention.top_links(1, 3, query="he", within=(0, 3, 0, 3))


@pytest.mark.parametrize("within", ["ba", True, (0, 3)])
def test_a_part_that_is_no_part_is_refused(attention: Attention, within: object) -> None:
    given: Any = within
    with pytest.raises(ValueError, match=naming("within", repr(within), "sentences='ab'")):
        attention.top_links(1, 3, within=given)


@pytest.mark.parametrize("sentences", ["ab", "ba", "aa", "bb"])
def test_links_between_the_sentences_of_a_pair(sentences: str) -> None:
    attention = load_model(device="cpu").attend("Who is it?", "It is me.")
    given: Any = sentences
    links = attention.top_links(1, 3, 30, sentences=given)
    segments = np.array(attention.stacks["self"].query.segments)
    maps = attention.weights(1, 3)
    part = maps[np.ix_(*(segments == "ab".index(name) for name in sentences))]
    assert np.allclose(links["weight"], np.sort(part, axis=None)[::-1][:30])
    assert {*segments[links["query"]]} == {"ab".index(sentences[0])}
    assert {*segments[links["key"]]} == {"ab".index(sentences[1])}
    words = attention.words.top_links("L1 H3", 5, sentences=given)
    assert words["weight"].is_monotonic_decreasing
    assert len(words) == 5


def test_sentences_of_no_pair_are_refused(attention: Attention) -> None:
    with pytest.raises(ValueError, match=naming("'ab'", "attend(text, pair)")):
        attention.top_links(1, 3, sentences="ab")
    given: Any = "xx"
    with pytest.raises(ValueError, match=naming("'xx'", "'ab'")):
        attention.top_links(1, 3, sentences=given)


def test_links_of_special_tokens_can_be_left_out(attention: Attention) -> None:
    special = np.array([kind != "" for kind in attention.special])
    maps = attention.weights("L1 H3").copy()
    maps[special] = 0
    maps[:, special] = 0
    strongest = np.sort(maps, axis=None)[::-1][:30]
    links = attention.top_links("L1 H3", 30, hidden=["[CLS]", "sep"])
    assert np.allclose(links["weight"], strongest)
    assert not {"[CLS]", "[SEP]"} & {*links["query_token"], *links["key_token"]}
    with pytest.raises(ValueError, match=naming("'clss'", "'cls'")):
        attention.top_links("L1 H3", hidden="clss")


def test_words_have_the_rows_links_and_table_of_their_maps() -> None:
    words = load_model(device="cpu").attend("The otters purred.").words
    maps = words.weights(2, 8)
    assert words.rows("L2 H8", "the", "otters") == maps[1, 2]
    assert np.array_equal(words.rows(2, 8, [1, 3]), maps[[1, 3]])
    links = words.top_links("L2 H8", 5)
    assert np.allclose(links["weight"], np.sort(maps, axis=None)[::-1][:5])
    assert [words.tokens[i] for i in links["key"]] == links["key_token"].tolist()
    off_diagonal = words.top_links("L2 H8", 36, diagonal=False)
    assert (off_diagonal["query"] != off_diagonal["key"]).all()
    assert len(off_diagonal) == 30
    frame = words.to_frame("L2 H8")
    assert np.allclose(frame["weight"].to_numpy().reshape(6, 6), maps)
    assert len(words.to_frame(2)) == 12 * 36
    assert len(words.to_frame()) == 72 * 36


def test_rows_of_a_layer_are_those_of_its_heads(attention: Attention) -> None:
    for source in (attention, attention.words):
        rows = source.rows("L1", query="he", key=["captain", "men"])
        heads = [source.rows(1, head, "he", ["captain", "men"]) for head in range(12)]
        assert np.array_equal(rows, heads)
        assert source.rows("L1", query=["he", "ship"]).shape == (12, 2, 15)
    given: Any = attention
    with pytest.raises(ValueError, match=naming("'L1'", "query='he'")):
        given.rows("L1", "he")
    with pytest.raises(TypeError, match=naming("query")):
        given.rows("L1 H3")
