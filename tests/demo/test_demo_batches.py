"""Training batches are BERT's: whole sentences, single or in pairs, masked as the paper says."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batches import LENGTHS, BatchMaker, encode, read_chapters, split_chapters
from fixtures import small_corpus
from refusals import naming
from vocabulary import SPECIAL, make_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return small_corpus.tokenizer()


@pytest.fixture
def maker(tokenizer: Any) -> BatchMaker:
    prose = encode(small_corpus.chapters(), tokenizer)
    return BatchMaker(prose, tokenizer, tokens=512, longest=256, generator=np.random.default_rng(0))


def test_chapters_are_read_from_plain_and_packed_files(tmp_path: Path) -> None:
    text = "One.\nTwo.\n\nThree.\n\n\nFour.\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    chapters = [["One.", "Two."], ["Three."], ["Four."]]
    assert read_chapters([tmp_path / "a.txt"]) == chapters
    assert read_chapters([tmp_path / "a.txt", tmp_path / "a.txt.gz"]) == chapters * 2


@pytest.mark.parametrize(("count", "held_out"), [(100, 2), (2168, 43), (3, 1)])
def test_the_last_chapters_are_held_out(count: int, held_out: int) -> None:
    chapters = [[str(i)] for i in range(count)]
    training, last = split_chapters(chapters)
    assert training + last == chapters
    assert len(last) == held_out


def test_sentences_end_with_their_marks_and_quotes() -> None:
    pieces = ["mr", ".", "!", "?", ",", "lamp", "left", '"', "go", "ship"]
    tokenizer = make_tokenizer([*SPECIAL, *pieces])
    chapters = [
        ["Mr. Lamp left! Left? Go...", 'Lamp, "go." "Go!" left, lamp'],
        ["Ship. Mr. Lamp"],
    ]
    prose = encode(chapters, tokenizer)
    spelt = [
        " ".join(tokenizer.convert_ids_to_tokens(prose.ids[begin:end].tolist()))
        for begin, end in pairwise(prose.starts)
    ]
    assert spelt == [
        "mr . lamp left !",
        "left ?",
        "go . . .",
        'lamp , " go . "',  # of two quotes the first closes, the second opens
        '" go ! "',
        "left , lamp",
        "ship .",
        "mr . lamp",
    ]
    assert prose.chapter.tolist() == [0] * 6 + [1] * 2
    assert prose.starts[-1] == len(prose.ids)


@pytest.mark.slow
def test_a_batch_is_full_and_its_segments_are_its_sentences(
    maker: BatchMaker, tokenizer: Any
) -> None:
    lengths = set()
    paired = 0
    starts = set(maker.prose.starts.tolist())
    text = maker.prose.ids.tolist()
    for _ in range(60):
        batch = maker.draw()
        size, length = batch.text.shape
        lengths.add(length)
        assert size == max(1, 512 // length)
        for row, segments in zip(batch.text.tolist(), batch.segments.tolist(), strict=True):
            assert row[0] == tokenizer.cls_token_id
            assert row[-1] == tokenizer.sep_token_id
            assert tokenizer.pad_token_id not in row
            ends = [i for i, piece in enumerate(row) if piece == tokenizer.sep_token_id]
            assert segments == [int(i > ends[0]) for i in range(length)]
            assert len(ends) == 1 + max(segments)
            paired += len(ends) == 2
            content = [piece for i, piece in enumerate(row) if i and i not in ends]
            at = [b for b in starts if text[b : b + len(content)] == content]
            assert at, "the text is one piece of the corpus and begins with a sentence"
    assert lengths <= {length for length in LENGTHS if length <= 256}
    assert {16, 32, 64} <= lengths
    assert paired > 100


def test_short_sequences_are_whole_sentences(maker: BatchMaker, tokenizer: Any) -> None:
    stop = tokenizer.convert_tokens_to_ids(".")
    while (batch := maker.draw()).text.shape[1] != 32:
        pass
    single = 0
    for row, segments in zip(batch.text.tolist(), batch.segments.tolist(), strict=True):
        if max(segments):
            assert row[segments.index(1) - 2] == stop, "a pair is split between two sentences"
        else:
            single += 1
            assert row[-2] == stop
    assert single


def test_masks_are_shared_out_as_in_bert(maker: BatchMaker, tokenizer: Any) -> None:
    ids = np.full((500, 100), tokenizer.convert_tokens_to_ids("the"))
    ids[:, 0] = tokenizer.cls_token_id
    ids[:, -1] = tokenizer.sep_token_id
    changed, labels = maker.mask(ids)
    selected = labels != -100
    assert not selected[:, [0, -1]].any()
    assert selected[:, 1:-1].mean() == pytest.approx(0.15, abs=0.01)
    np.testing.assert_array_equal(labels[selected], ids[selected])
    np.testing.assert_array_equal(changed[~selected], ids[~selected])
    masked = changed[selected] == tokenizer.mask_token_id
    kept = changed[selected] == ids[selected]
    assert masked.mean() == pytest.approx(0.8, abs=0.02)
    # One of the random wordpieces in `ordinary` is the one that stood there.
    assert kept.mean() == pytest.approx(0.1, abs=0.02)
    other = changed[selected][~masked & ~kept]
    assert not set(other.tolist()) & set(tokenizer.all_special_ids)
    assert len(set(other.tolist())) > 50


def test_an_unmasked_batch_asks_for_nothing(maker: BatchMaker) -> None:
    batch = maker.draw(masked=False)
    assert (batch.labels == -100).all()
    assert (batch.ids == batch.text).all()


def test_a_seed_decides_every_batch(tokenizer: Any) -> None:
    prose = encode(small_corpus.chapters(), tokenizer)
    makers = [
        BatchMaker(prose, tokenizer, tokens=64, longest=64, generator=np.random.default_rng(3))
        for _ in range(2)
    ]
    for _ in range(5):
        first, second = (maker.draw() for maker in makers)
        assert (first.ids == second.ids).all()
        assert (first.labels == second.labels).all()


def test_too_little_text_is_an_error(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match=naming("3 wordpieces", "512")):
        BatchMaker(
            encode([["The ship."]], tokenizer),
            tokenizer,
            tokens=64,
            generator=np.random.default_rng(0),
        )
