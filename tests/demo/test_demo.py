"""The demonstration texts show what they say on the embedded model."""

from __future__ import annotations

import pytest

from attnwidget import AttentionModel
from attnwidget.corpus.segmenting import read_segments
from attnwidget.demo import demo_texts
from attnwidget.text.demonstrations import demo_prose
from attnwidget.text.segments import read_lines, split_documents


@pytest.mark.parametrize("demo", demo_texts().values(), ids=lambda demo: demo.name)
def test_the_named_head_does_what_the_text_says(model: AttentionModel, demo) -> None:
    attention = model.attend(demo.text, demo.pair)
    raw = attention.stacks["self"].query.raw
    weights = attention.weights(*demo.head)
    queries = [i for i, token in enumerate(raw) if token == demo.query]
    keys = [i for i, token in enumerate(raw) if token == demo.key]
    strongest = max(weights[q, k] for q in queries for k in keys if q != k)
    # Spread evenly, each key of the shortest of these texts would have less than 0.08.
    assert strongest > 0.3, f"{demo.look}: {strongest:.2f}"


def test_texts_are_a_dozen_and_have_pairs() -> None:
    texts = demo_texts().values()
    assert len(texts) >= 12
    assert sum(demo.pair is not None for demo in texts) >= 3


def test_prose_makes_full_segments_of_every_passage(model: AttentionModel) -> None:
    passages = list(split_documents(read_lines(demo_prose())))
    assert [len(passage) for passage in passages] == [5] * 12
    for passage in passages:
        segments = read_segments([passage], model)
        assert segments and all(len(segment) + 3 == 128 for segment in segments)
