"""The treebank of the package: every common relation, as Universal Dependencies has it."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files

import pytest

from attnwidget import load_model
from attnwidget.text.demonstrations import demo_treebank
from attnwidget.text.treebank import Sentence
from attnwidget.words.word_segments import WordSegmenter

SENTENCES = demo_treebank()
SOURCE = files("attnwidget").joinpath("demo/treebank.conllu").read_text("utf-8").splitlines()
TAGS = {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON"}
TAGS |= {"PROPN", "PUNCT", "SCONJ", "SYM", "VERB"}
FEATURES = re.compile(r"_|[A-Z]\w+=\w+(\|[A-Z]\w+=\w+)*")
# Words of each relation that there are at least; no other relation occurs.
LEAST = {
    "punct": 100,
    "det": 100,
    "nsubj": 100,
    "case": 100,
    "root": 66,
    "obj": 100,
    "obl": 50,
    "advmod": 50,
    "aux": 50,
    "amod": 50,
    "mark": 50,
    "conj": 50,
    "cc": 40,
    "nmod": 40,
    "nmod:poss": 40,
    "cop": 30,
    "advcl": 25,
    "acl:relcl": 25,
    "xcomp": 20,
    "nummod": 20,
    "aux:pass": 20,
    "nsubj:pass": 20,
    "obl:unmarked": 15,
    "iobj": 15,
    "ccomp": 10,
    "compound": 10,
    "acl": 10,
    "compound:prt": 10,
    "csubj": 10,
    "obl:agent": 8,
    "fixed": 8,
    "flat": 8,
    "appos": 8,
    "expl": 8,
    "vocative": 8,
    "nmod:desc": 5,
    "parataxis": 5,
    "discourse": 5,
    "det:predet": 3,
    "csubj:pass": 2,
    "cc:preconj": 2,
    "nmod:unmarked": 1,
    "nsubj:outer": 1,
}
NOMINALS = {"NOUN", "PROPN", "PRON", "NUM", "SYM"}
LEAVES = {"aux", "aux:pass", "cop", "case", "cc", "det", "mark", "punct", "expl", "compound:prt"}
# Relations whose words stand on one side of their governor in English: True = before it.
SIDES = {
    "det": True,
    "case": True,
    "aux": True,
    "aux:pass": True,
    "mark": True,
    "cc": True,
    "nummod": True,
    "amod": True,
    "compound": True,
    "nmod:desc": True,
    "conj": False,
    "fixed": False,
    "flat": False,
    "appos": False,
    "acl": False,
    "acl:relcl": False,
    "iobj": False,
    "compound:prt": False,
    "obl:agent": False,
}
# The clitic, "$40" and "anything interesting" stand on the other one.
OTHER_SIDE = {("'s", "case"), ("'", "case"), ("40", "nummod"), ("interesting", "amod")}

every_sentence = pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.name)


def children(sentence: Sentence, position: int) -> list[int]:
    """Words, from 0, that depend on the word at `position`, from 0."""
    return [i for i, governor in enumerate(sentence.governors) if governor == position + 1]


def test_has_every_common_relation_several_times() -> None:
    found = Counter(relation for one in SENTENCES for relation in one.relations)
    assert found.keys() == LEAST.keys()
    assert {name: n for name, n in found.items() if n < LEAST[name]} == {}


def test_sentences_are_many_and_different() -> None:
    assert len(SENTENCES) == 115
    assert sum(map(len, SENTENCES)) == 1849
    assert len({one.name for one in SENTENCES}) == len({one.text for one in SENTENCES}) == 115
    assert len({one.name.partition("-")[0] for one in SENTENCES}) == 17


def test_sentences_are_short_but_for_two() -> None:
    lengths = sorted(sum(tag != "PUNCT" for tag in one.tags) for one in SENTENCES)
    assert lengths[0] >= 5 and lengths[-3] <= 25
    assert all(38 <= length <= 42 for length in lengths[-2:])


def test_words_spell_the_sentences() -> None:
    written = [line.removeprefix("# text = ") for line in SOURCE if line.startswith("# text = ")]
    assert [one.text for one in SENTENCES] == written


def test_says_its_licence() -> None:
    assert any(line.startswith("# licence = BSD-3-Clause") for line in SOURCE[:4])


def test_every_line_has_its_columns() -> None:
    rows = [line.split("\t") for line in SOURCE if line and line[0] != "#"]
    assert all(len(row) == 10 for row in rows)
    words = [row for row in rows if "-" not in row[0]]
    assert len(words) == sum(map(len, SENTENCES))
    for _, form, lemma, tag, xpos, features, *_ in words:
        assert lemma != "_" and tag != "_" and xpos != "_"
        assert FEATURES.fullmatch(features), (form, features)
    ranges = {row[1] for row in rows if "-" in row[0]}
    assert {"Don't", "can't", "won't", "cannot", "Let's", "sister's", "characters'"} <= ranges


@every_sentence
def test_is_a_tree_without_crossing_arcs(sentence: Sentence) -> None:
    assert sentence.governors.count(0) == 1
    governs: list[set[int]] = []
    for position in range(1, len(sentence) + 1):
        above = {position}
        while (position := sentence.governors[position - 1]) and position not in above:
            above.add(position)
        assert position == 0
        governs.append(above)
    for position, governor in enumerate(sentence.governors, 1):
        if governor:
            between = range(min(position, governor) + 1, max(position, governor))
            assert all(governor in governs[i - 1] for i in between)


@every_sentence
def test_annotation_keeps_the_rules(sentence: Sentence) -> None:
    assert set(sentence.tags) <= TAGS and all(sentence.xpos)
    for i, relation in enumerate(sentence.relations):
        below = children(sentence, i)
        governor = sentence.governors[i] - 1
        tag = sentence.tags[i]
        governor_tag = sentence.tags[governor] if governor >= 0 else ""
        said = (sentence.words[i], relation)
        assert (relation == "root") == (governor < 0)
        assert (relation == "punct") == (tag == "PUNCT"), said
        if relation in LEAVES:
            assert all(sentence.relations[k] == "fixed" for k in below), said
        if relation in {"det", "det:predet"}:
            assert tag == "DET" and governor_tag in NOMINALS, said
        if relation in {"aux", "aux:pass", "cop"}:
            assert tag == "AUX", said
        if relation == "mark":
            assert tag in {"SCONJ", "PART", "ADP"}, said
        if relation.startswith("nsubj:pass"):
            beside = [sentence.relations[k] for k in children(sentence, governor)]
            assert "aux:pass" in beside, said
        if relation in {"obj", "iobj", "nsubj", "nsubj:pass", "obl:unmarked", "appos"}:
            assert "case" not in [sentence.relations[k] for k in below], said
        if relation in {"obl", "obl:agent", "nmod"} and tag != "ADP":
            assert "case" in [sentence.relations[k] for k in below], said
        if relation == "nmod":
            assert governor_tag in NOMINALS | {"ADJ", "DET"}, said
        if relation in SIDES and said not in OTHER_SIDE:
            assert (i < governor) == SIDES[relation], said


def test_every_word_has_tokens_of_the_embedded_model() -> None:
    model = load_model()
    texts = [one.running for one in SENTENCES]
    segments, n_skipped = WordSegmenter(model).segments(texts, skip_unaligned=False)
    assert len(segments) == len(SENTENCES) and n_skipped == 0
    for sentence, segment in zip(SENTENCES, segments, strict=True):
        assert "[UNK]" not in segment.first
        assert set(segment.words) == set(range(len(sentence)))
