"""Attention along links, and where links come from: tables, treebanks, coreference, FrameNet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attnwidget.text.mentions import Document
from attnwidget.text.treebank_files import load_treebank
from attnwidget.text.word_links import Link, LinkedSentence, load_links
from attnwidget.words.annotated_links import noun_pronoun_links, subject_verb_links
from attnwidget.words.linguistic_features import probe_features
from attnwidget.words.word_links import probe_links
from fixtures.annotated_sentences import SENTENCES, maps_of, over_heads, small_model
from references import reference_features as reference
from refusals import naming


@pytest.fixture(scope="module")
def small() -> Any:
    return small_model()


LINKS = [
    # Several elements of one target, of one token and of many.
    LinkedSentence(
        ("Antananarivo", "was", "becoming", "unforgettable", "."),
        (Link((0,), (3,), "Theme"), Link((1, 2), (3,), "Cause"), Link((4,), (3,), "Theme")),
        "one",
    ),
    LinkedSentence(("she", "slept"), (Link((1,), (0,), "Theme"),), "two"),
    LinkedSentence(("yes", "!"), (), "three"),
]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["model", "small"])
@pytest.mark.parametrize("pairing", ["zip", "all"])
@pytest.mark.parametrize("variant", ["skip absent", "released"])
def test_link_weights_equal_the_reference(
    which: str, pairing: Any, variant: Any, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(which)
    found = probe_links(
        model, LINKS, pairing=pairing, variant=variant, batch_size=2, progress=False
    )
    assert found.labels == ("all", "Cause", "Theme")
    assert found.counts.tolist() == [2, 1, 2]
    for number, label in enumerate(found.labels):
        scores = []
        for one in LINKS:
            maps, groups, _ = maps_of(model, one.words)
            links = [
                tuple([t for w in end for t in groups[w]] for end in (link.source, link.target))
                for link in one.links
                if label in ("all", link.label)
            ]  # fmt: skip
            if links:
                score = lambda a, k=links: reference.link_score(a, k, pairing)  # noqa: E731
                scores.append(over_heads(maps, score))
            elif variant == "released":
                scores.append(np.zeros(maps.shape[:2]))
        assert np.allclose(found.weights[number], np.mean(scores, axis=0), atol=1e-6)


def test_zip_and_all_differ_where_an_end_has_several_tokens(small: Any) -> None:
    of = {p: probe_links(small, LINKS, pairing=p, progress=False) for p in ("zip", "all")}
    assert (of["all"].weights >= of["zip"].weights - 1e-7).all()
    assert not np.allclose(of["all"].weights, of["zip"].weights)


def test_link_result(model: Any) -> None:
    found = probe_links(model, LINKS, progress=False)
    assert list(found.heads()) == ["links", "links, Cause", "links, Theme"]
    best = found.best().set_index("label")
    assert best.loc["Theme", "n"] == 2
    row = best.loc["Cause"]
    assert row["weight"] == found.weights[1].max()
    assert found.weights[1][int(row["layer"]), int(row["head"])] == row["weight"]
    panels = [p for row in found.chart(limit=2).to_dict()["vconcat"] for p in row["hconcat"]]
    assert [p["title"]["text"].split(":")[0] for p in panels] == ["all (2)", "Theme (2)"]


@pytest.mark.parametrize(
    ("sentences", "options", "parts"),
    [
        (LINKS[2:], {}, ("1 sentences", "no links")),
        (LINKS, {"pairing": "each"}, ("pairing", "'zip'", "'all'", "'each'")),
        (LINKS, {"variant": "paper"}, ("variant", "'paper'")),
    ],
)
def test_links_that_cannot_be_probed_are_refused(
    model: Any, sentences: Any, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        probe_links(model, sentences, progress=False, **options)


@pytest.mark.parametrize("ends", [((), (0,)), ((0,), ()), ((0,), (5,)), ((-1,), (0,))])
def test_a_link_joins_words_of_its_sentence(ends: Any) -> None:
    with pytest.raises(ValueError, match=naming("odd", "words 0 to 1", "Link")):
        LinkedSentence(("she", "slept"), (Link(*ends, "x"),), "odd")


def test_subject_verb_links() -> None:
    found = subject_verb_links(SENTENCES)
    spelt = [
        [(one.words[link.source[0]], one.words[link.target[0]], link.label) for link in one.links]
        for one in found
    ]
    assert spelt == [
        [("men", "saw", "SUBJ to VERB"), ("saw", "men", "VERB to SUBJ")],
        [("it", "sleep", "SUBJ to VERB"), ("sleep", "it", "VERB to SUBJ")],
        [],
        [
            ("Antananarivo", "reward", "SUBJ to VERB"),
            ("reward", "Antananarivo", "VERB to SUBJ"),
        ],
    ]


def test_noun_pronoun_links_stay_within_the_sentence() -> None:
    words = "The captain told his men that he slept . He woke .".split()  # noqa: SIM905
    tags = "DT NN VBD PRP$ NNS IN PRP VBD . PRP VBD .".split()  # noqa: SIM905
    spans = [(0, 1, "a"), (3, 3, "a"), (3, 4, "b"), (6, 6, "a"), (9, 9, "a")]
    document = Document.from_spans(words, spans, tags=tags, sentence_starts=[0, 9], name="made")
    first, second = noun_pronoun_links([document])
    assert [(link.source, link.target, link.label) for link in first.links] == [
        ((3,), (1,), "PRON to NOUN"),
        ((1,), (3,), "NOUN to PRON"),
        ((6,), (1,), "PRON to NOUN"),
        ((1,), (6,), "NOUN to PRON"),
    ]
    assert second.words == ("He", "woke", ".") and not second.links
    assert second.name == "made, sentence 2"


TABLE = """\
sentence,source span,target span,label
"He was , it seems , agitated .",1,agitated,Experiencer
"He was , it seems , agitated .",4-5,7,Seeming
She slept .,She,2-2,Sleeper
"""


def test_links_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text(TABLE)
    found = load_links(path)
    assert [one.links for one in found] == [
        (Link((0,), (6,), "Experiencer"), Link((3, 4), (6,), "Seeming")),
        (Link((0,), (1,), "Sleeper"),),
    ]
    assert found[1].name == f"{path}:4"
    frame = pd.read_csv(path, dtype=str)
    assert [one.links for one in load_links(frame)] == [one.links for one in found]
    tabs = tmp_path / "links.tsv"
    frame.to_csv(tabs, sep="\t", index=False)
    assert [one.links for one in load_links(tabs)] == [one.links for one in found]
    renamed = frame.rename(columns={"source span": "Source", "target span": "target_span"})
    assert [one.links for one in load_links(renamed)] == [one.links for one in found]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("links.csv", "empty", ".csv", "header")),
        ("sentence,source,target,label\n", ("links.csv", "header")),
        (
            "sentence,source,label\n",
            ("links.csv:1", "sentence, source, target, label", "target missing"),
        ),
        (
            "sentence,source,source span,target,label\n",
            ("links.csv:1", "source", "two columns", "rename"),
        ),
        (
            TABLE + "She slept .,3-1,2,x\n",
            ("links.csv:5", "source", "'3-1'", "words 1 to 3"),
        ),
        (TABLE + "She slept .,1,4,x\n", ("links.csv:5", "target", "'4'", "words 1 to 3")),
        (TABLE + "She slept .,0,1,x\n", ("links.csv:5", "source", "'0'", "words 1 to 3")),
        (TABLE + "She slept .,He,1,x\n", ("links.csv:5", "source", "'He'", "0 times")),
        (TABLE + "She and She .,She,2,x\n", ("links.csv:5", "source", "'She'", "2 times")),
        (TABLE + "She slept .,,1,x\n", ("links.csv:5", "source", "''", "0 times")),
        (TABLE + ",1,1,x\n", ("links.csv:5", "sentence", "empty")),
        (TABLE + "She slept .,1,2,\n", ("links.csv:5", "label", "empty")),
        (TABLE + "She slept .,1,2\n", ("links.csv:5", "4 columns", "3")),
        (TABLE + 'She slept .,1,2,"x\n', ("links.csv:5", "end of data")),
        ((TABLE + "Ren\u00e9 slept .,1,2,x\n").encode("latin-1"), ("links.csv:5", "UTF-8")),
    ],
)
def test_broken_tables_say_where(tmp_path: Path, text: str | bytes, parts: tuple[str, ...]) -> None:
    path = tmp_path / "links.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=naming(*parts)):
        load_links(path)


@pytest.mark.slow
def test_framenet(tmp_path: Path) -> None:
    pytest.importorskip("nltk", reason="nltk is not installed (the extra framenet)")
    from nltk.corpus.reader.framenet import FramenetCorpusReader

    from attnwidget.text.framenet import load_framenet_links
    from fixtures.framenet_sample import write_framenet

    folder = write_framenet(tmp_path / "framenet_v17")
    found = load_framenet_links(folder)
    label = "Emotion_directed.Experiencer"
    assert [one.links for one in found] == [
        (Link((0,), (3,), label),),
        (Link((1,), (4,), label),),
        (Link((0, 1, 2), (5,), label),),
    ]
    assert found[0].words == ("He", "was", "becoming", "agitated", ".")
    nearer = load_framenet_links(folder, max_words=14, max_element_words=4, min_distance=1)
    # All but the one whose element is in no core set, and the frame that has none.
    assert len(nearer) == 6
    import nltk.data

    assert str(folder) not in nltk.data.path
    nltk.data.path.append(str(folder))
    try:
        reader = FramenetCorpusReader(str(folder), r".*\.xml|(frame|lu)/.*\.xml")
        assert load_framenet_links(reader) == found
    finally:
        nltk.data.path.remove(str(folder))
    with pytest.raises(ValueError, match=naming("FrameNet", "frameIndex.xml")):
        load_framenet_links(tmp_path)
    with pytest.raises(ValueError, match=naming("framenet_v17", "no exemplar")):
        load_framenet_links(folder, max_words=2)


def test_framenet_without_nltk_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from attnwidget.text.framenet import load_framenet_links

    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(
        ImportError, match=naming('pip install "attnwidget[framenet]"', "load_framenet_links")
    ):
        load_framenet_links(tmp_path)


@pytest.mark.data
def test_on_a_treebank(model: Any, data: Path) -> None:
    sentences = load_treebank(data / "ewt" / "en_ewt-ud-dev.conllu.gz", limit=40)
    found = probe_features(model, sentences, progress=False)
    assert found.counts.min() >= 1
    linked = probe_links(model, subject_verb_links(sentences), progress=False)
    assert linked.counts[0] == linked.counts[1] > 10
    assert linked.weights[1].max() > 3 * linked.weights[1].mean()
