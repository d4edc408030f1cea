"""Places that fit a query, and the weights of all heads there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from attnwidget import AttentionModel, make_segments
from attnwidget.behaviors import find_links
from attnwidget.behaviors.places.word_query import WordQuery
from attnwidget.corpus.resume_from import resume_from
from attnwidget.demo import demo_treebank
from attnwidget.text.treebank import Sentence
from attnwidget.words import predict_governors
from fixtures.on_workers import on_workers
from refusals import naming

SENTENCE = Sentence.from_lists(
    ["She", "saw", "her", "cat"],
    [2, 0, 4, 2],
    ["nsubj", "root", "nmod:poss", "obj"],
    tags=["PRON", "VERB", "PRON", "NOUN"],
)


@pytest.mark.parametrize(
    ("conditions", "pairs"),
    [
        ({"query": "tag=PRON", "key": "word=SAW|cat"}, [(0, 1), (0, 3), (2, 1), (2, 3)]),
        ({"relation": "nsubj"}, [(0, 1)]),
        ({"relation": "nsubj", "direction": "governor to dependent"}, [(1, 0)]),
        ({"relation": "nmod"}, []),
        ({"relation": "nmod (all)"}, [(2, 3)]),
        ({"relation": "obj", "query": "tag=PRON"}, []),
        ({"query": "relation=obj", "key": "tag=VERB"}, [(3, 1)]),
        ({"regex": r"\b(?P<key>saw) (?P<query>h\w+)"}, [(2, 1)]),
        ({"regex": r"(?P<key>saw|cat).*?(?P<query>her)", "relation": "obj"}, []),
    ],
)
def test_queries_find_pairs(conditions: dict[str, str], pairs: list[tuple[int, int]]) -> None:
    assert WordQuery(**conditions).pairs(SENTENCE.words, SENTENCE) == pairs


@pytest.mark.slow
def test_weights_are_means_over_the_places(model: AttentionModel) -> None:
    sentences = demo_treebank()[:12]
    found = find_links(model, sentences, relation="nsubj", n_links=4, progress=False, batch_size=5)
    weights = []
    for sentence in sentences:
        maps = predict_governors(model, sentence).maps
        for word, (label, governor) in enumerate(
            zip(sentence.relations, sentence.governors, strict=True)
        ):
            if label == "nsubj":
                weights.append(maps[:, :, word, governor - 1])
    assert found.n_places == len(weights) and found.n_segments == 12
    np.testing.assert_allclose(found.weights, np.mean(weights, 0), atol=1e-5)
    examples = found.links(4, 4)
    assert len(examples) == 4
    assert [e.weight for e in examples] == sorted((e.weight for e in examples), reverse=True)
    assert 0 < found.even < 0.2
    assert found.chart() is not None and len(found.to_frame()) == 72


def test_segments_have_words_and_special_tokens(model: AttentionModel) -> None:
    segments = make_segments(["The cat slept.", "The dog saw the cat."], model)
    found = find_links(
        model, iter(segments), query="word=cat", key="word=the|[SEP]", progress=False
    )
    assert found.n_places == 2 + 3
    text = found.texts[1]
    assert text.text[0] == "[CLS]"
    maps = model.attend("The cat slept.").weights()
    by_place = {
        tuple(at): found.place_weights[:, :, i] for i, at in enumerate(found.places.tolist())
    }
    np.testing.assert_allclose(by_place[0, 2, 1], maps[:, :, 2, 1], atol=1e-5)


@pytest.mark.slow
def test_workers_and_resume_files_give_the_same_bits(model: AttentionModel, tmp_path: Path) -> None:
    sentences = demo_treebank()[:9]
    path = tmp_path / "places.npz"

    def run() -> object:
        return find_links(
            model,
            sentences,
            query="tag=PRON",
            key="tag=VERB",
            n_links=3,
            batch_size=2,
            progress=False,
        )

    alone = run()
    with ThreadPoolExecutor(2) as pool:
        others = [on_workers(pool, run)]
    with resume_from(path):
        others += [run(), run()]
    for other in others:
        for name in ("weights", "places", "place_weights"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(other, name), name)


def test_no_place_gives_no_weight(model: AttentionModel) -> None:
    found = find_links(
        model, make_segments(["It slept."], model), regex="(?P<query>x)(?P<key>y)", progress=False
    )
    assert found.n_places == 0 and np.isnan(found.weights).all() and found.links(0, 0) == []
    with pytest.raises(ValueError, match=naming("regex", "(?P<query>x)(?P<key>y)")):
        found.chart()


@pytest.mark.parametrize(
    ("conditions", "parts"),
    [
        ({}, ("query=", "key=", "both words")),
        ({"query": "tag=PRON"}, ("query=", "key=", "both words")),
        ({"query": "kind=a", "key": "word=b"}, ("query", "'kind=a'")),
        ({"regex": "(?P<query>a)"}, ("'(?P<query>a)'", "regex", "needs")),
        ({"relation": "obj", "direction": "up"}, ("direction", "'up'")),
        ({"relation": "obj"}, ("load_treebank", "tags")),
        ({"regex": "(?P<query>a)(?P<key>b)", "n_links": 0}, ("n_links", "0", "place")),
    ],
)
def test_unclear_queries_are_refused(
    model: AttentionModel, conditions: dict[str, object], parts: tuple[str, ...]
) -> None:
    segments = make_segments(["It slept."], model)
    with pytest.raises(ValueError, match=naming(*parts)):
        find_links(model, segments, **conditions)  # type: ignore[arg-type]


def test_texts_without_tags_or_no_texts_are_refused(model: AttentionModel) -> None:
    bare = Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"])
    with pytest.raises(ValueError, match=naming("'Cats purr'", "tag")):
        find_links(model, [bare], query="tag=NOUN", key="word=purr", progress=False)
    with pytest.raises(ValueError, match=naming("sentences", "segments", "no texts")):
        find_links(model, [], relation="obj")
