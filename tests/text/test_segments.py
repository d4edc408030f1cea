"""How texts become segments, and segments what a model reads."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnwidget import load_model
from attnwidget.corpus.batches import batched
from attnwidget.corpus.segmenting import make_segments, read_segments
from attnwidget.corpus.token_classes import TokenClasses
from attnwidget.inputs.special_token_template import Template
from attnwidget.inputs.vocabulary import Vocabulary
from attnwidget.text.demonstrations import demo_prose
from attnwidget.text.segments import Segment, cut_segments, read_lines, split_documents
from fixtures.vocabularies import MAKERS
from fixtures.zoo import build
from refusals import naming

paragraphs = st.integers(0, 12).map(lambda n: [f"t{i}" for i in range(n)])
corpora = st.lists(st.lists(paragraphs, max_size=6), max_size=5)


def numbered(corpus: list[list[list[str]]]) -> list[list[list[str]]]:
    """The same corpus with every token of a name of its own."""
    return [
        [[f"{d}.{p}.{t}" for t in range(len(paragraph))] for p, paragraph in enumerate(document)]
        for d, document in enumerate(corpus)
    ]


@given(corpus=corpora, room=st.integers(2, 15), seed=st.integers(0, 99))
def test_segments_are_pairs_of_consecutive_text_that_fit(
    corpus: list[list[list[str]]], room: int, seed: int
) -> None:
    corpus = numbered(corpus)
    segments = cut_segments(corpus, max_tokens=room + 3, seed=seed, limit=None)
    texts = [[token for p in document for token in p] for document in corpus]
    seen: Counter[str] = Counter()
    for segment in segments:
        assert segment.first and segment.second and len(segment) <= room
        text = next(text for text in texts if segment.first[0] in text)
        for part in (segment.first, segment.second):
            start = text.index(part[0])
            assert tuple(text[start : start + len(part)]) == part
        assert text.index(segment.first[-1]) < text.index(segment.second[0])
        # A and B are of different paragraphs: the split falls between two.
        assert segment.first[-1].split(".")[:2] != segment.second[0].split(".")[:2]
        seen.update(segment.first + segment.second)
    assert not seen or max(seen.values()) == 1


def expected_without_chance(document: list[list[str]], room: int) -> list[Segment]:
    """Where chunks hold two paragraphs and fit exactly, nothing is left to chance."""
    chunks = []
    chunk = []
    for paragraph in document:
        chunk.append(paragraph)
        if sum(map(len, chunk)) >= room:
            chunks.append(chunk)
            chunk = []
    return [Segment(tuple(a), tuple(b)) for a, b in chunks]


def test_chunks_close_when_they_are_full() -> None:
    document = [["a", "b"], ["c", "d"], ["e"], ["f", "g", "h"], ["i", "j", "k"], ["l"]]
    found = cut_segments([document], max_tokens=7)
    assert sorted(found, key=lambda s: s.first) == expected_without_chance(document, 4)


def test_a_paragraph_that_fills_a_segment_is_paired_with_the_next() -> None:
    long = [f"t{i}" for i in range(9)]
    good = [["a", "b"], ["c", "d"]]
    assert len(cut_segments([[long, *good, long], [long]], max_tokens=7)) == 2
    assert cut_segments([[["a"]], [[], ["b"]], []], max_tokens=7) == []


def test_in_the_released_code_a_paragraph_that_fills_a_segment_ends_its_document() -> None:
    long = [f"t{i}" for i in range(9)]
    good = [["a", "b"], ["c", "d"]]
    found = cut_segments([[long, *good], good], max_tokens=7, at_least=1)
    assert found == [Segment(("a", "b"), ("c", "d"))]
    assert len(cut_segments([[*good, long, *good]], max_tokens=7, at_least=1)) == 1


def test_prose_is_cut_for_a_model_that_reads_little() -> None:
    model = load_model()
    prose = read_segments(demo_prose(), model, max_tokens=32)
    assert len(prose) >= 24 and max(map(len, prose)) == 29
    with pytest.raises(ValueError, match=naming("first", "32")):
        read_segments(demo_prose(), model, max_tokens=32, variant="released")
    model.tokenizer.model_max_length = 32
    assert read_segments(demo_prose(), model) == prose


def test_the_end_of_a_document_makes_a_short_segment() -> None:
    assert cut_segments([[["a"], ["b"]]]) == [Segment(("a",), ("b",))]


def test_the_longer_text_is_cut_at_either_end() -> None:
    first = [f"a{i}" for i in range(11)]
    second = [f"b{i}" for i in range(6)]
    fronts = set()
    for seed in range(20):
        (segment,) = cut_segments([[first, second]], max_tokens=15, seed=seed)
        assert len(segment.first) == len(segment.second) == 6
        assert segment.second == tuple(second)
        fronts.add(segment.first[0])
    assert len(fronts) > 3


def test_it_stops_reading_at_the_limit() -> None:
    read = 0

    def documents() -> Iterator[list[list[str]]]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield [["a"], ["b"]]

    assert len(cut_segments(documents(), limit=7)) == 7
    assert read <= 8
    assert cut_segments(documents(), limit=0) == []


def test_the_seed_decides() -> None:
    corpus = numbered([[["x"] * 9] * 20] * 5)
    runs = [cut_segments(corpus, max_tokens=20, seed=seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    assert {s.first[0].split(".")[0] for s in runs[0][:3]} != {"0"}, "shuffled"


def test_no_room_for_a_pair_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("max_tokens", "4", "room")):
        cut_segments([], max_tokens=4)


def test_documents_are_separated_by_empty_lines(tmp_path: Path) -> None:
    text = "One.\nTwo.\n\n\n  \r\nThree.\r\nFour."
    plain = tmp_path / "a.txt"
    packed = tmp_path / "a.txt.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    documents = [["One.", "Two."], ["Three.", "Four."]]
    for path in (plain, str(packed)):
        assert list(split_documents(read_lines(path))) == documents
    assert list(split_documents(read_lines(plain), keep_last=False)) == documents[:1]
    assert list(split_documents([*read_lines(plain), ""], keep_last=False)) == documents


def test_all_sources_give_the_same_segments(tmp_path: Path) -> None:
    model = load_model()
    documents = [["The cat sat.", "It slept."], ["A dog ran.", "It barked, twice."]]
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join("\n".join(d) for d in documents), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    from_file = read_segments(path, model)
    assert len(from_file) == 2
    for source in (documents, iter(documents), lines, iter(lines), str(path)):
        assert read_segments(source, model) == from_file
    assert len(read_segments(path, model, variant="released")) == 1


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    model = load_model()
    with pytest.raises(ValueError, match=naming("segment", "cut", "make_segments")):
        read_segments([["Only one paragraph."]], model)
    with pytest.raises(ValueError, match=naming("max_tokens", "600", "512")):
        read_segments([], model, max_tokens=600)
    with pytest.raises(ValueError, match=naming("variant", "'paper'", "'released'", "'code'")):
        read_segments([], model, variant="code")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("load_model", "tokenizer")):
        read_segments([], load_model(build("bert")))
    path = tmp_path / "nothing.txt"
    with pytest.raises(FileNotFoundError, match=naming(str(path), "text file", "os.listdir")):
        read_segments(path, model)


def test_texts_become_segments_as_they_are() -> None:
    model = load_model()
    single, pair = make_segments(["The cat sat.", ("Where?", "Here.")], model)
    assert single == Segment(("the", "cat", "sat", "."))
    assert pair == Segment(("where", "?"), ("here", "."))
    (cut,) = make_segments(["a b c d e f"], model, max_tokens=5, truncate=True)
    assert len(cut) == 3
    with pytest.raises(
        ValueError, match=naming("text 0", "6 tokens", "3 fit", "max_tokens", "truncate=True")
    ):
        make_segments(["a b c d e f"], model, max_tokens=5)
    with pytest.raises(ValueError, match=naming("text 1", "tokens")):
        make_segments(["a", ""], model)
    with pytest.raises(ValueError, match=naming("text 0", "3 parts")):
        make_segments([("a", "b", "c")], model)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=naming("[text]", "read_segments")):
        make_segments("The cat.", model)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("pair", [False, True])
def test_a_segment_is_what_the_tokenizer_would_make(kind: str, pair: bool) -> None:
    tokenizer = MAKERS[kind]()
    texts = ["The cat sat on", "the mat"][: 1 + pair]
    encoded = tokenizer(*texts)
    parts = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) for text in texts]
    parts += [[]] * (2 - len(parts))
    template = Template.from_tokenizer(tokenizer, pair=pair)
    assert template.ids(*parts) == list(encoded["input_ids"])
    n_special = len(template.before + template.between + template.after)
    assert n_special == tokenizer.num_special_tokens_to_add(pair=pair)
    given_types = encoded.get("token_type_ids")
    if given_types is not None:
        assert template.token_types(*map(len, parts)) == list(given_types)
    sentences = template.sentences(*map(len, parts))
    assert len(sentences) == len(encoded["input_ids"])
    if pair:
        assert sum(sentences) == len(parts[1]) + len(template.after)


def members(tokenizer: Any, text: str, **asked: Any) -> dict[str, list[int]]:
    from attnwidget.inputs.token_axes import token_axis

    ids = tokenizer(text)["input_ids"]
    found = TokenClasses(Vocabulary(tokenizer), asked).members(
        ids, lambda: token_axis(tokenizer, ids)
    )
    return {name: [i for i, member in enumerate(of) if member] for name, of in found.items()}


def test_classes_of_bert() -> None:
    tokenizer = load_model().tokenizer
    text = "the cat, the dog."
    found = members(
        tokenizer, text, articles={"the"}, last=lambda t: [i == len(t) - 1 for i in range(len(t))]
    )
    assert found == {
        "[CLS]": [0],
        "[SEP]": [7],
        ". ,": [3, 6],
        "first token": [0],
        "articles": [1, 4],
        "last": [7],
    }


def test_classes_of_other_vocabularies() -> None:
    roberta = members(MAKERS["roberta"](), "mat , mat.")
    assert roberta["[CLS]"] == [0] and len(roberta["[SEP]"]) == 1 and len(roberta[". ,"]) == 2
    gpt2 = members(MAKERS["byte level"](), "The cat")
    assert gpt2["[CLS]"] == gpt2["[SEP]"] == [] and gpt2["first token"] == [0]
    llama = members(MAKERS["spaces marked"](), "The cat")
    assert llama["[CLS]"] == [0] and llama["[SEP]"] == []
    t5 = members(MAKERS["sentencepiece"](), "the cat")
    assert t5["[CLS]"] == [] and len(t5["[SEP]"]) == 1


def test_wrong_classes_are_refused() -> None:
    tokenizer = load_model().tokenizer
    vocabulary = Vocabulary(tokenizer)
    with pytest.raises(ValueError, match=naming("'[SEP]'", "standard")):
        TokenClasses(vocabulary, {"[SEP]": {"x"}})
    for wrong in ("the", set()):
        with pytest.raises(ValueError, match=naming("'articles'", "collection")):
            TokenClasses(vocabulary, {"articles": wrong})
    with pytest.raises(ValueError, match=naming("'short'", "1 values", "3 tokens")):
        members(tokenizer, "cat", short=lambda _: [True])


@given(lengths=st.lists(st.integers(1, 40), max_size=200), size=st.integers(1, 5))
def test_batches_hold_every_segment_once_and_similar_lengths(lengths: list[int], size: int) -> None:
    segments = [Segment((str(i),) * n) for i, n in enumerate(lengths)]
    batches = list(batched(iter(segments), size))
    assert sorted(s.first for b in batches for s in b) == sorted(s.first for s in segments)
    assert all(len(batch) == size for batch in batches[:-1][:31])
    ordered = [len(s) for b in batches[:32] for s in b]
    assert ordered == sorted(ordered)
    assert batches == list(batched(segments, size))
