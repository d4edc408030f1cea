"""The behavior "retrieval" beside whole maps, on a model with induction heads, and left out."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import AttentionModel, load_model
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.retrieval import NEEDLE, haystacks
from attnwidget.behaviors.study_behavior import NotApplicableError
from attnwidget.metrics.induction import start_and_vocabulary
from attnwidget.text.segments import Segment
from refusals import naming


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    return load_model("attnwidget/induction")


@pytest.fixture(scope="module")
def segments(causal: AttentionModel) -> list[Segment]:
    """Texts of different tokens, so that one place alone continues a repeated token."""
    draw = np.random.default_rng(0)
    _, vocabulary = start_and_vocabulary(causal)
    tokens = causal.tokenizer.convert_ids_to_tokens(vocabulary.tolist())
    # Passages come from the next two texts, so three neighbors share no token.
    thirds = np.array_split(draw.permutation(tokens), 3)
    return [
        Segment(tuple(draw.permutation(thirds[number % 3])[:40].tolist()), ())
        for number in range(14)
    ]


def test_a_passage_stands_near_the_beginning_and_at_the_end(
    causal: AttentionModel, segments: list[Segment]
) -> None:
    texts = haystacks(causal, segments)
    assert len(texts) == 12
    for text in texts:
        passage = text.ids[text.first : text.first + NEEDLE]
        assert text.ids[-NEEDLE:] == text.other_ids[-NEEDLE:] == passage
        assert not set(text.other_ids[text.first : text.first + NEEDLE]) & set(passage)
        rest = slice(text.first + NEEDLE, None)
        assert text.ids[rest] == text.other_ids[rest] and len(set(text.ids[rest])) == 30 + NEEDLE
    with pytest.raises(NotApplicableError, match=naming("8 texts", "24", "49 tokens")):
        haystacks(causal, segments[:7])


@pytest.mark.slow
def test_scores_equal_whole_maps_and_induction_heads_retrieve(
    causal: AttentionModel, segments: list[Segment]
) -> None:
    table = measure_behaviors(
        causal, segments, treebank=(), behaviors=["retrieval"], progress=False
    )
    found = table["retrieval"]
    means = []
    for text in haystacks(causal, segments)[::2]:
        for ids in (text.ids, text.other_ids):
            weights = causal.attend(list(ids)).weights()
            end = len(ids) - NEEDLE
            links = [weights[:, :, end + j, text.first + j + 1] for j in range(NEEDLE - 1)]
            means.append(np.mean(links, 0))
    np.testing.assert_allclose(found.score, np.mean(means[::2], 0), atol=1e-6)
    np.testing.assert_allclose(found.control, np.mean(means[1::2], 0), atol=1e-6)
    assert found.n == 6 and found.held_out_n == 6
    assert table.names[1, 0] == "retrieval" and found.score[1, 0] > 0.5
    assert found.score[0].max() < 0.1 and found.control.max() < 0.1


def test_it_is_left_out_where_tokens_see_later_tokens(
    model: AttentionModel, segments: list[Segment]
) -> None:
    texts = [Segment(("the", "cat"), ()) for _ in range(8)]
    table = measure_behaviors(
        model,
        texts,
        treebank=(),
        behaviors=["retrieval", "rests on [SEP]"],
        n_random_models=0,
        progress=False,
    )
    assert table.left_out == {"retrieval": "tokens of this model see later tokens"}
