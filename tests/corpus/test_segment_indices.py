"""Indices of segments, which batches need because they change the order."""

from __future__ import annotations

from typing import Any

import pytest

from attnwidget import Segment
from attnwidget.corpus.segment_indices import segment_indices, with_index
from attnwidget.words.word_segments import WordSegment
from refusals import naming


def test_an_index_changes_nothing_else_of_a_segment() -> None:
    chat = Segment(("a", "b"), document=3, roles=("user", "user"), turns=(0, 0))
    words = WordSegment(("c", "d"), words=(0, 1), before=1)
    numbered = list(with_index([chat, words]))
    assert segment_indices(numbered[::-1]).tolist() == [1, 0]
    assert numbered == [chat, words] and chat.index is None
    assert [type(segment) for segment in numbered] == [Segment, WordSegment]
    assert (numbered[0].document, numbered[0].roles, numbered[0].turns) == (
        3,
        chat.roles,
        chat.turns,
    )
    assert hash(numbered[0]) == hash(chat) and repr(numbered[0]) == repr(chat)


def test_segments_without_an_index_and_other_items_are_refused() -> None:
    with pytest.raises(TypeError, match=naming("with_index", "segment")):
        segment_indices([*with_index([Segment(("a",))]), Segment(("b",))])
    others: list[Any] = [Segment(("a",)), "text"]
    with pytest.raises(TypeError, match=naming("str", "read_segments")):
        list(with_index(others))
