"""Attention along links, and where links come from: tables, treebanks, coreference, FrameNet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.text.mentions import Document
from attnwidget.text.treebank_files import load_treebank
from attnwidget.text.word_links import Link, LinkedSentence, load_links
from attnwidget.words.annotated_links import noun_pronoun_links, subject_verb_links
from attnwidget.words.linguistic_features import probe_features
from attnwidget.words.moved_links import moved_links
from attnwidget.words.word_links import Links, LinkWeights, probe_links
from attnwidget.words.word_segments import WordSegment
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
    assert list(found.heads()) == [
        "links",
        "links, above moved links",
        "links, Cause",
        "links, Cause, above moved links",
        "links, Theme",
        "links, Theme, above moved links",
    ]
    best = found.best().set_index("label")
    assert best.loc["Theme", ["n", "n_moved"]].tolist() == [2, 1]
    row = best.loc["Cause"]
    assert row["excess"] == found.excess[1].max()
    head = int(row["layer"]), int(row["head"])
    assert found.excess[1][head] == row["excess"]
    assert row["weight"] == found.weights[1][head] and row["moved"] == found.moved[1][head]
    table = found.table().set_index("Links")
    assert table.loc["Cause"].tolist() == [
        1,
        f"L{head[0]} H{head[1]}",
        *(round(row[name], 3) for name in ("weight", "moved", "excess")),
    ]
    frame = found.to_frame().set_index(["label", "layer", "head"])
    assert frame.loc[("Cause", *head), "moved"] == row["moved"] and len(frame) == 3 * 72
    panels = [p for row in found.chart(limit=2).to_dict()["vconcat"] for p in row["hconcat"]]
    assert [p["title"]["text"].split(":")[0] for p in panels] == [
        "all (2)",
        "all, moved (1)",
        "Theme (2)",
        "Theme, moved (1)",
    ]
    cells = [panel["layer"][0] for panel in panels]
    scales = [layer["encoding"]["color"]["scale"]["domain"] for layer in cells]
    assert scales[0] == scales[1] and scales[2] == scales[3]
    assert scales[2][-1] == max(found.weights[2].max(), found.moved[2].max())
    heads = found.most_excess("Theme")
    assert [found.excess[2][h.layer, h.head] for h in heads] == sorted(
        found.excess[2].ravel(), reverse=True
    )[:2]
    spec = found.chart(limit=2).to_dict()
    panel = spec["vconcat"][1]["hconcat"][0]
    dots = spec["datasets"][panel["layer"][1]["data"]["name"]]
    assert {(dot["layer"], dot["head"]) for dot in dots} == {(h.layer, h.head) for h in heads}
    title = found.chart(limit=2).to_dict()["title"]
    assert f"Theme: {heads[0]} " in " ".join(title["subtitle"])
    assert found.finding.startswith(f"{heads[0]} ") and "Theme" in found.finding


def test_without_the_control_heads_are_ranked_by_weight(model: Any) -> None:
    found = probe_links(model, LINKS, control=None, progress=False)
    same = probe_links(model, LINKS, progress=False)
    assert np.array_equal(found.weights, same.weights)
    assert np.isnan(found.moved).all() and not found.moved_counts.any()
    assert found.best()["weight"].tolist() == found.weights.max((1, 2)).tolist()
    assert found.table().columns.tolist() == ["Links", "Sentences", "Head", "Weight"]
    assert list(found.heads()) == ["links", "links, Cause", "links, Theme"]
    panels = [p for row in found.chart().to_dict()["vconcat"] for p in row["hconcat"]]
    assert len(panels) == 3


@pytest.mark.parametrize("which", [pytest.param("model", marks=pytest.mark.slow), "small"])
@pytest.mark.parametrize("pairing", ["zip", "all"])
@pytest.mark.parametrize("variant", ["skip absent", "released"])
def test_moved_links_equal_the_reference(
    which: str, pairing: Any, variant: Any, request: pytest.FixtureRequest
) -> None:
    """One link per label and sentence, or links that move together: all places count equally."""
    model = request.getfixturevalue(which)
    sentences = [
        LinkedSentence(
            ("Antananarivo", "was", "becoming", "unforgettable", "today", "."),
            (Link((0,), (3,), "Theme"), Link((1, 2), (3,), "Cause")),
            "one",
        ),
        LinkedSentence(("she", "slept"), (Link((1,), (0,), "Theme"),), "two"),
        LinkedSentence(("he", "saw", "her"), (Link((0,), (1,), "Theme"),), "three"),
        LinkedSentence(("yes", "!"), (), "four"),
    ]
    found = probe_links(
        model, sentences, pairing=pairing, variant=variant, batch_size=2, progress=False
    )
    assert found.counts.tolist() == [3, 1, 3] and found.moved_counts.tolist() == [2, 1, 2]
    labels = ("all", "Cause", "Theme") if pairing == "zip" else ("Cause", "Theme")
    for label in labels:
        moved, movable = [], []
        for one in sentences:
            maps, groups, _ = maps_of(model, one.words)
            ends = [(list(link.source), list(link.target)) for link in one.links]
            labeled = [
                end
                for link, end in zip(one.links, ends, strict=True)
                if label in ("all", link.label)
            ]
            places = reference.moved_places(len(one.words), labeled, ends) if labeled else []

            def score(links: Any, groups: Any = groups, maps: Any = maps) -> Any:
                tokens = [
                    tuple([t for w in end for t in groups[w]] for end in link) for link in links
                ]
                return over_heads(maps, lambda a: reference.link_score(a, tokens, pairing))

            if places:
                moved.append(np.mean([score(links) for links in places], axis=0))
                movable.append(score(labeled))
            elif variant == "released":
                moved.append(np.zeros(maps.shape[:2]))
                movable.append(np.zeros(maps.shape[:2]))
        number = found.labels.index(label)
        assert np.allclose(found.moved[number], np.mean(moved, axis=0), atol=1e-6)
        assert np.allclose(found.movable[number], np.mean(movable, axis=0), atol=1e-6)
    assert np.array_equal(found.excess, found.movable - found.moved)


def test_every_placement_has_each_link_at_one_of_its_places() -> None:
    links = [Link((0,), (2,), "a"), Link((4, 5), (3,), "b"), Link((0,), (9,), "c")]
    movable, placements = moved_links(10, links, links)
    assert movable == links[:2]
    ends = [([*link.source], [*link.target]) for link in links]
    for number, link in enumerate(movable):
        places = reference.moved_places(10, [ends[number]], ends)
        at_places = [placement[number] for placement in placements]
        assert {(moved.source, moved.target) for moved in at_places} == {
            (tuple(source), tuple(target)) for ((source, target),) in places
        }
        assert {moved.label for moved in at_places} == {link.label}
    assert placements == moved_links(10, links, links)[1]
    # Long sentences have a sample of the places, the same in each run.
    long = moved_links(200, links[:1], links)[1]
    assert len(long) == len({tuple(placement) for placement in long}) == 32
    # Links that do not fit together have no place if they move together.
    assert moved_links(10, links, links, together=True) == ([], [])


def word_links_of(maps: np.ndarray, sentence: LinkedSentence, pairing: Any) -> LinkWeights:
    """Measure maps [H, n, n] of a sentence whose words have one token each."""
    n = len(sentence.words)
    segment = WordSegment(sentence.words, words=tuple(range(n)))
    real = torch.ones(1, n, dtype=torch.bool)
    lengths = torch.tensor([n])
    batch = Batch([segment], [], {}, lengths, real, real / n, {})
    study = Links([sentence], pairing)
    study.start(Subject(n_layers=1, n_heads=len(maps)))
    study.update(LayerBatch(batch, 0, torch.from_numpy(maps)[None], None))
    study.end_batch(batch)
    return study.compute()


@st.composite
def sentences_with_links(draw: st.DrawFn) -> LinkedSentence:
    n = draw(st.integers(2, 9))
    words = st.integers(0, n - 1)
    ends = st.tuples(words, words).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(ends, min_size=1, max_size=3, unique=True))
    links = tuple(Link((s,), (t,), draw(st.sampled_from("ab"))) for s, t in pairs)
    return LinkedSentence(tuple(f"w{i}" for i in range(n)), links)


@given(sentences_with_links(), st.sampled_from(["zip", "all"]))
def test_only_the_head_that_finds_the_links_exceeds_the_control(
    sentence: LinkedSentence, pairing: Any
) -> None:
    n = len(sentence.words)
    uniform = np.full((n, n), 1 / n)
    previous = np.eye(n, k=-1)
    finder = np.zeros((n, n))
    for link in sentence.links:
        finder[link.source[0], link.target[0]] = 1
    maps = np.stack([uniform, previous, finder]).astype(np.float32)
    found = word_links_of(maps, sentence, pairing)
    for number in np.flatnonzero(found.moved_counts):
        by_uniform, by_previous, by_finder = found.excess[number, 0]
        assert by_uniform == pytest.approx(0, abs=1e-6)
        assert by_previous == pytest.approx(0, abs=1e-6)
        if pairing == "all":
            assert by_finder == pytest.approx(1, abs=1e-6)
            assert found.best().set_index("label").loc[found.labels[number], "head"] == 2


@pytest.mark.parametrize(
    ("sentences", "options", "parts"),
    [
        (LINKS[2:], {}, ("1 sentences", "no links")),
        (LINKS, {"pairing": "each"}, ("pairing", "'zip'", "'all'", "'each'")),
        (LINKS, {"variant": "paper"}, ("variant", "'paper'")),
        (LINKS, {"control": "shuffled"}, ("control", "'moved'", "'shuffled'")),
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
