"""Documents with mentions: their files, head words, kinds, and what three rules choose."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.text.antecedents import BASELINES, anaphors
from attnwidget.text.coreference import Document, Mention, load_coreference
from attnwidget.text.document_windows import windows
from attnwidget.text.mentions import head_word
from attnwidget.text.word_links import Link
from attnwidget.words import noun_pronoun_links
from fixtures.coreference_passages import PASSAGES, Passage
from references import reference_coreference as reference
from refusals import naming

# Nested, crossing and discontinuous mentions; one across an empty node, one of it alone.
COREFUD = """\
# newdoc id = first
# global.Entity = eid-etype-head-other
# sent_id = 1
# text = Old Ann's cat ate
1\tOld\told\tADJ\tJJ\t_\t2\tamod\t_\tEntity=(e2-animal-4-x(e1-person-2-
2\tAnn\tAnn\tPROPN\tNNP\t_\t4\tnmod:poss\t_\tEntity=e1)|SpaceAfter=No
3\t's\t's\tPART\tPOS\t_\t2\tcase\t_\t_
4\tcat\tcat\tNOUN\tNN\t_\t5\tnsubj\t_\tEntity=e2)
5\tate\teat\tVERB\tVBD\t_\t0\troot\t_\t_

1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e1-person-1-)
2\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\tEntity=(e3[1/2]-abstract-1-
3\tthe\tthe\tDET\tDT\t_\t4\tdet\t_\tEntity=(e4--1-
4\tdog\tdog\tNOUN\tNN\t_\t2\tobj\t_\tEntity=e3[1/2])
5-6\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
5\tdid\tdo\tAUX\tVBD\t_\t2\tdep\t_\tEntity=e4)
6\tn't\tnot\tPART\tRB\t_\t2\tdep\t_\t_
6.1\t_\tit\tPRON\tPRP\t_\t_\t_\t_\tEntity=(e5--1-)(e2--1-
7\tit\tit\tPRON\tPRP\t_\t2\tobj\t_\tEntity=e2)(e3[2/2]-abstract-1-)

# newdoc
1\tDone\tdo\tVERB\tVBN\t_\t0\troot\t_\tEntity=(e9--1-)
"""

# A range that its words do not spell, without a space after it.
RANGE = "5-6\tdidnt\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No"

CONLL = """\
#begin document (bc/made/00/made_0000); part 001
bc/made/00/made_0000 1   0   Ann       NNP  (TOP(S(NP*)  -    -   -   Speaker#1  (PERSON)  *  (0)
bc/made/00/made_0000 1   1   saw       VBD       (VP*    see  01  1   Speaker#1     *     (V*) -
bc/made/00/made_0000 1   2   her       PRP$  (NP(NP*     -    -   -   Speaker#1     *      *  (1|(0)
bc/made/00/made_0000 1   3   dog       NN        *)))    -    -   -   Speaker#1     *      *  1)
bc/made/00/made_0000 1   4   .         .         *))     -    -   -   Speaker#1     *      *  -

bc/made/00/made_0000 1   0   It        PRP  (TOP(S(NP*)  -    -   -   Speaker#1     *      *  (1)
bc/made/00/made_0000 1   1   slept     VBD   (VP*)))     -    -   -   Speaker#1     *     (V*) -

#end document
#begin document (bc/made/00/made_0000); part 002
bc/made/00/made_0000 2   0   Yes       UH   (TOP(INTJ*)) -    -   -   Speaker#2     *      *  -

#end document
"""


def written(folder: Path, text: str | bytes, name: str = "made.conllu") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def as_text(document: Document, mention: Mention) -> str:
    return " ".join(document.words[word] for word in mention.words)


def document_of(passage: Passage) -> Document:
    return Document.from_spans(
        passage.words,
        passage.spans,
        tags=passage.tags,
        governors=passage.governors,
        name=passage.name,
    )


def test_corefud(tmp_path: Path) -> None:
    first, second = load_coreference(written(tmp_path, COREFUD))
    assert (first.name, first.sentence_starts, len(first.words)) == ("first", (0, 5), 12)
    found = [(as_text(first, m), m.cluster, first.words[m.head], m.kind) for m in first.mentions]
    assert found == [
        ("Old Ann", "e1", "Ann", "proper"),
        ("Old Ann 's cat", "e2", "cat", "nominal"),
        ("She", "e1", "She", "pronoun"),
        ("saw the dog it", "e3", "saw", "nominal"),
        ("the dog did", "e4", "dog", "nominal"),
        ("it", "e2", "it", "pronoun"),
    ]
    assert first.mentions[3].parts == ((6, 8), (11, 11))
    assert (first.mentions[3].start, first.mentions[3].end) == (6, 11)
    assert first.governors[:6] == (1, 3, 1, 4, -1, 6)
    assert second.words == ("Done",) and second.source == "made.conllu:21"


def test_spaces_around_attributes_are_no_part_of_them(tmp_path: Path) -> None:
    spaced = COREFUD.replace("Entity=e1)|SpaceAfter=No", "SpaceAfter=No | Entity=e1)")
    first, second = load_coreference(written(tmp_path, spaced))
    assert [first, second] == load_coreference(written(tmp_path, COREFUD))


def test_documents_keep_the_spaces_of_the_corpus(tmp_path: Path) -> None:
    first, second = load_coreference(written(tmp_path, COREFUD))
    assert first.running.text == "Old Ann's cat ate She saw the dog didn't it"
    assert second.space_after == ()
    ranged = COREFUD.replace("5-6\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_", RANGE)
    tight = load_coreference(written(tmp_path, ranged))[0]
    assert tight.running.text.endswith("the dog did n'tit")
    (spaced, *_) = load_coreference(written(tmp_path, CONLL, "made.v4_gold_conll"))
    assert spaced.space_after == ()


def test_conll_2012(tmp_path: Path) -> None:
    first, second = load_coreference(written(tmp_path, CONLL, "made.v4_gold_conll"))
    assert first.name == "bc/made/00/made_0000 part 001"
    assert first.words == ("Ann", "saw", "her", "dog", ".", "It", "slept")
    assert first.sentence_starts == (0, 5) and not first.governors
    found = [(as_text(first, m), m.cluster, first.words[m.head], m.kind) for m in first.mentions]
    assert found == [
        ("Ann", "0", "Ann", "proper"),
        ("her", "0", "her", "pronoun"),
        ("her dog", "1", "dog", "nominal"),
        ("It", "1", "It", "pronoun"),
    ]
    assert second.words == ("Yes",) and not second.mentions


def test_compressed_files_read_the_same(tmp_path: Path) -> None:
    for text, name in ((COREFUD, "a.conllu"), (CONLL, "a.conll")):
        plain = load_coreference(written(tmp_path, text, name))
        packed = load_coreference(written(tmp_path, gzip.compress(text.encode()), f"{name}.gz"))
        assert [one.mentions for one in plain] == [one.mentions for one in packed]


def test_an_older_field_order_names_the_cluster_elsewhere(tmp_path: Path) -> None:
    text = COREFUD.replace("eid-etype-head-other", "etype-GRP")
    for before, after in (("(e1-person-2-", "(person-e1"), ("(e1-person-1-)", "(person-e1)")):
        text = text.replace(before, after)
    line = "1\tDone\tdo\tVERB\tVBN\t_\t0\troot\t_\tEntity=(thing-e9)\n"
    header = "# newdoc id = x\n# global.Entity = etype-GRP\n"
    (document,) = load_coreference(written(tmp_path, header + line))
    assert document.mentions[0].cluster == "e9"


def changed(before: str, after: str, text: str = COREFUD) -> str:
    assert before in text
    return text.replace(before, after, 1)


LINE_7 = "3\t's\t's\tPART\tPOS\t_\t2\tcase\t_\t_"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("made.conllu", "is empty", "CorefUD")),
        ("# newdoc id = a\n", ("made.conllu", "no documents", "CorefUD")),
        (changed("Entity=e2)\n5", "_\n5"), ("made.conllu:5", "(e2", "close", "load_coreference")),
        (
            changed("Entity=e2)\n5", "Entity=e2)e2)\n5"),
            ("made.conllu:8", "e2)", "open", "load_coreference"),
        ),
        (changed("Entity=e2)\n5", "Entity=e2\n5"), ("made.conllu:8", "'e2'", "brackets")),
        (changed("Entity=e2)\n5", "Entity=()\n5"), ("made.conllu:8", "'()'", "brackets")),
        (changed("(e3[2/2]-abstract-1-)", ""), ("e3", "1 of", "2 parts")),
        (changed("(e3[2/2]-abstract-1-)", "(e3[3/2]--)"), ("e3[3/2]", "part 2")),
        (
            changed("# global.Entity = eid-etype-head-other\n", ""),
            ("made.conllu:4", "Entity=", "global.Entity"),
        ),
        (
            changed("eid-etype", "id-etype"),
            ("made.conllu:2", "global.Entity", "id, etype", "GRP", "eid"),
        ),
        (
            changed(LINE_7, "3-4\t's" + "\t_" * 7 + "\tEntity=(e9-x-1-)\n" + LINE_7),
            ("made.conllu:7", "Entity=", "3-4"),
        ),
        (changed(LINE_7, "3\t's"), ("made.conllu:7", "the 10", "CoNLL-U", "2")),
        ('[{"words": ["Ann"]}]', ("made.conllu:1", "the 10", "JSON", "Document.from_spans")),
        (changed(LINE_7, LINE_7.replace("3", "4", 1)), ("made.conllu:7", "word number 3", "'4'")),
        (changed(LINE_7, LINE_7.replace("\t2\t", "\t9\t")), ("word 3", "word 9", "made.conllu:7")),
        (changed(LINE_7, LINE_7.replace("\t2\t", "\tx\t")), ("word 3", "'x'", "made.conllu:7")),
        (changed(LINE_7, LINE_7.replace("\t2\t", "\t3\t")), ("made.conllu:7", "word 3", "itself")),
        (changed("\t4\tnmod:poss", "\t3\tnmod:poss"), ("word 2", "cycle")),
        (changed("Ann\tAnn", "Ann\u00e9\tAnn").encode("latin-1"), ("made.conllu:6", "UTF-8")),
        (
            "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n",
            ("made.conllu", "no mentions", "1 documents"),
        ),
        (changed("(0)\n", "(0\n", CONLL), ("made.conllu:2", "(0", "close", "load_coreference")),
        (changed("1)\n", "2)\n", CONLL), ("made.conllu:5", "2)", "open", "load_coreference")),
        (changed("1   2   her", "1   3   her", CONLL), ("made.conllu:4", "word number 2", "'3'")),
        (
            changed("(bc/made/00/made_0000); part 001\n", "x\nYes\n", CONLL),
            ("made.conllu:2", "12", "columns"),
        ),
        (changed("#end document\n", "", CONLL), ("made.conllu:11", "made.conllu:1", "ended")),
        (CONLL + "#begin document (x); part 1\n", ("made.conllu:16", "#end document")),
        (CONLL + "#end document\n", ("made.conllu:16", "begin")),
    ],
)
def test_broken_files_say_where(tmp_path: Path, text: str | bytes, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        load_coreference(written(tmp_path, text))


def test_a_file_cut_short_says_so(tmp_path: Path) -> None:
    whole = gzip.compress(COREFUD.encode())
    with pytest.raises(ValueError, match=naming("a.conllu.gz", "whole")):
        load_coreference(written(tmp_path, whole[: len(whole) // 2], "a.conllu.gz"))


@pytest.mark.parametrize(
    ("governors", "tags", "head"),
    [
        ([1, -1, 1, 1], [], 1),
        ([-1, -1, 0, 1], [], 0),  # two words with governors outside: the leftmost
        ([], ["DT", "NN", "IN", "DT"], 1),
        ([], ["DT", "JJ", "IN", "DT"], 3),
        ([], ["DET", "NOUN", "ADP", "PROPN"], 3),
        ([], [], 3),
    ],
)
def test_head_words(governors: list[int], tags: list[str], head: int) -> None:
    assert head_word([0, 1, 2, 3], governors, tags) == head


@pytest.mark.parametrize(
    ("word", "tag", "kind"),
    [
        ("her", "PRP$", "pronoun"),
        ("US", "NNP", "proper"),
        ("these", "DT", "nominal"),
        ("dogs", "NNS", "nominal"),
        ("Alps", "NNPS", "proper"),
        ("it", "PRON", "pronoun"),
        ("Ann", "PROPN", "proper"),
        ("Her", None, "pronoun"),
        ("Ann", None, "nominal"),
    ],
)
def test_kinds(word: str, tag: str | None, kind: str) -> None:
    document = Document.from_spans([word], [(0, 0, "a")], tags=[tag] if tag else [])
    assert document.mentions[0].kind == kind


@pytest.mark.parametrize(
    "options",
    [
        {"words": []},
        {"tags": ["NN"]},
        {"governors": [0]},
        {"governors": [-1, 5]},
        {"sentence_starts": [1]},
        {"sentence_starts": [0, 2]},
        {"spans": [(0, 2, "a")]},
        {"spans": [(-1, 0, "a")]},
        {"spans": [(1, 0, "a")]},
    ],
)
def test_a_document_that_does_not_fit_together_is_refused(options: dict[str, Any]) -> None:
    given_words: dict[str, Any] = {"words": ["Ann", "slept"], "spans": [(0, 0, "a")]}
    with pytest.raises(ValueError, match="document"):
        Document.from_spans(**given_words | options)


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.name)
def test_rules_choose_what_was_worked_out_by_hand(passage: Passage) -> None:
    document = document_of(passage)
    found = {}
    for anaphor in anaphors(document, 0, len(document.words)):
        chosen = []
        for rule in BASELINES.values():
            index = rule(document, anaphor)
            star = "*" if index in anaphor.antecedents else ""
            chosen.append(None if index is None else star + labeled(document, index))
        found[labeled(document, anaphor.mention)] = tuple(chosen)
    assert found == passage.answers


def labeled(document: Document, index: int) -> str:
    mention = document.mentions[index]
    return f"{as_text(document, mention)}@{mention.start}"


def test_there_are_ten_passages_with_every_kind_of_answer() -> None:
    answers = [chosen for passage in PASSAGES for chosen in passage.answers.values()]
    assert len(PASSAGES) == 10 and len(answers) == 16
    right = [sum(1 for c in column if c and c[0] == "*") for column in zip(*answers, strict=True)]
    assert right == [6, 3, 12]


def test_of_mentions_with_one_head_word_the_longest_is_evaluated() -> None:
    text = "Ann met the man from Rome . The man left the man ."
    words = text.split()
    spans = [(2, 3, "man"), (2, 5, "man"), (7, 8, "man"), (10, 11, "man")]
    governors = [1, -1, 3, 1, 5, 3, 1, 8, 9, -1, 11, 9, 9]
    document = Document.from_spans(words, spans, governors=governors)
    found = anaphors(document, 0, 13)
    assert [one.mention for one in found] == [2, 3]
    assert found[0].antecedents == (0, 1) and found[0].candidates == (1, 0)


def test_mentions_count_only_within_the_window() -> None:
    document = document_of(PASSAGES[0])
    assert [document.mentions[one.mention].start for one in anaphors(document, 2, 10)] == [6]
    assert [document.mentions[one.mention].start for one in anaphors(document, 0, 6)] == [3]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    pairs = draw(
        st.lists(
            st.sampled_from(
                [("He", "PRP"), ("she", "PRP"), ("They", "PRP"), ("us", "PRP"), ("her", "PRP$")]
                if draw(st.booleans())
                else [("He", "PRP"), ("dog", "NN"), ("dogs", "NNS"), ("Ann", "NNP"), ("saw", "VBD")]
            ),
            min_size=2,
            max_size=10,
        )
    )
    n = len(pairs)
    positions = st.integers(0, n - 1)
    spans = draw(st.lists(st.tuples(positions, positions, st.sampled_from("abc")), max_size=8))
    words, tags = zip(*pairs, strict=True)
    once = {(min(a, b), max(a, b)): cluster for a, b, cluster in spans}
    governors = [-1, *(draw(st.integers(0, i)) for i in range(n - 1))]
    return Document.from_spans(
        words,
        [(start, end, cluster) for (start, end), cluster in once.items()],
        tags=tags,
        governors=governors if draw(st.booleans()) else (),
    )


@pytest.mark.slow
@given(documents(), st.integers(0, 3), st.integers(2, 10))
def test_rules_equal_the_reference(document: Document, start: int, end: int) -> None:
    mentions = [(m.start, m.end, m.cluster, m.head) for m in document.mentions]
    words = list(document.words)
    tags = list(document.tags)
    expected = []
    for m, right, preceding in reference.evaluated(mentions, start, end):
        chosen = [
            reference.nearest(preceding),
            reference.head_match(words, m, preceding),
            reference.rule_based(words, tags, m, preceding),
        ]
        expected.append((m, right, chosen))
    longest: dict[int, Any] = {}
    for row in expected:  # of equally long mentions of one head word the first alone
        longest.setdefault(row[0][3], row)
    found = []
    for anaphor in anaphors(document, start, end):
        chosen = [rule(document, anaphor) for rule in BASELINES.values()]
        found.append(
            (
                mentions[anaphor.mention],
                [mentions[i] for i in anaphor.antecedents],
                [None if i is None else mentions[i] for i in chosen],
            )
        )
    assert found == list(longest.values())


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.sets(st.integers(1, 29)),
    st.integers(4, 12),
)
def test_windows_cover_the_document_and_fit(pieces: list[int], inner: set[int], room: int) -> None:
    starts = [0, *sorted(start for start in inner if start < len(pieces))]
    cut = windows(pieces, starts, room, first_only=False)
    assert [word for start, end in cut for word in range(start, end)] == list(range(len(pieces)))
    assert all(sum(pieces[start:end]) <= room for start, end in cut)
    for start, end in cut[:-1]:
        inside = [at for at in starts if start < at <= end]
        assert not inside or end == inside[-1]
    ((first, end),) = windows(pieces, starts, room, first_only=True)
    assert first == 0 and (end == len(pieces) or sum(pieces[: end + 1]) > room)


def test_a_word_that_fits_no_window_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("word 2", "9 tokens", "5 fit")):
        windows([1, 9], [0, 1], 5, first_only=False)


@pytest.mark.slow
@pytest.mark.data
def test_gum(data: Path) -> None:
    loaded = load_coreference(data / "gum" / "en_gum-ccby.conllu.gz")
    assert len(loaded) == 135 and sum(len(one.sentence_starts) for one in loaded) == 6624
    assert sum(len(one.mentions) for one in loaded) == 16522  # the opening brackets of the file
    assert all(document.governors and document.tags for document in loaded)


def test_the_words_of_a_document_are_a_list() -> None:
    with pytest.raises(TypeError, match=naming("words", "list", "'Ann saw'")):
        Document.from_spans("Ann saw", [(0, 0, "a")])


def test_a_repeated_span_of_a_cluster_is_one_mention() -> None:
    words = ["The", "captain", "told", "his", "men", "that", "he", "left", "."]
    spans = [(0, 1, "a"), (3, 3, "a"), (3, 4, "b"), (6, 6, "a")]
    once = Document.from_spans(words, spans)
    assert Document.from_spans(words, [*spans, (3, 3, "a"), (0, 1, "a")]) == once
    # A span of two clusters is annotated as two mentions, as in GUM.
    assert len(Document.from_spans(words, [*spans, (3, 3, "c")]).mentions) == len(spans) + 1


@pytest.mark.parametrize("clusters", ["ab", "ba"])
def test_a_span_in_two_clusters_belongs_to_both(clusters: str) -> None:
    words = ["Ann", "saw", "the", "crew", "and", "they", "slept", "as", "she", "did", "."]
    last = [(8, 8, "a")]
    both = [(5, 5, cluster) for cluster in clusters]
    document = Document.from_spans(words, [(0, 0, "a"), (2, 3, "b"), *both, *last])
    they, she = anaphors(document, 0, len(words))
    assert they.antecedents == (0, 1)
    # Whichever of the two mentions a rule names, "she" refers to "they", who refers to Ann.
    assert she.antecedents == (0, 2, 3)
    links = noun_pronoun_links([document])[0].links
    assert Link((5,), (3,), "PRON to NOUN") in links


def test_parts_of_a_mention_share_no_words() -> None:
    with pytest.raises(ValueError, match=naming("([(0, 1), (1, 2)], 'a')", "share")):
        Document.from_spans(["Ann", "saw", "it"], [([(0, 1), (1, 2)], "a")])
