"""Prose to training batches in BERT's format: whole sentences, single or in pairs, some masked.

A batch holds sequences of equal length, so no padding is needed. The length is drawn for each
batch, and short lengths are far more frequent than long ones: a sentence of English prose is 20 to
30 wordpieces long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnwidget.text.segments import read_lines, split_documents

HELD_OUT = 0.02
"""The share of the chapters, the last ones, that training never sees."""
SELECTED = 0.15
"""The share of the wordpieces that are to be predicted."""
SENTENCE_END = frozenset(".!?")
QUOTES = frozenset("\"'”’)")
ABBREVIATIONS = frozenset(["mr", "mrs", "ms", "dr", "st", "messrs", "capt", "col", "prof", "rev"])
MOST_SENTENCES = 12
"""The most sentences that a span of whole sentences has; longer sequences are cut anywhere."""
LONGEST_WHOLE = 128
LENGTHS = (16, 32, 48, 64, 96, 128, 256, 512)
"""Lengths of sequences in wordpieces; multiples of 16 keep the vector units full."""
LENGTH_SHARES = (0.12, 0.26, 0.2, 0.2, 0.1, 0.07, 0.035, 0.015)
"""The share of the batches that each length has."""

Int = np.ndarray[Any, np.dtype[np.int64]]


def read_chapters(paths: Sequence[str | Path]) -> list[list[str]]:
    """The chapters of text files, each a list of paragraphs.

    The files (UTF-8, plain or .gz) hold one paragraph a line and a blank line between chapters.
    """
    return [chapter for path in paths for chapter in split_documents(read_lines(path))]


def split_chapters(
    chapters: list[list[str]], held_out: float = HELD_OUT
) -> tuple[list[list[str]], list[list[str]]]:
    """The training chapters, and the last chapters (at least one) held out for evaluation."""
    count = max(1, round(len(chapters) * held_out))
    return chapters[:-count], chapters[-count:]


@dataclass(frozen=True)
class Prose:
    """Encoded text.

    `ids` are the wordpieces of all chapters in order; `starts` the positions at which sentences
    begin, with `len(ids)` as the last; `chapter[i]` is the chapter of sentence i.
    """

    ids: Int
    starts: Int
    chapter: Int


def encode(chapters: Sequence[Sequence[str]], tokenizer: Any) -> Prose:
    """Wordpieces and sentence boundaries of chapters; `tokenizer` is a fast tokenizer.

    A sentence ends with a paragraph or after a full stop, exclamation or question mark that
    follows no common abbreviation; closing quotes belong to the sentence that they close.
    """
    pieces = tokenizer.get_vocab()
    is_end, is_quote, is_short = (
        np.isin(np.arange(len(pieces)), [pieces[s] for s in some if s in pieces])
        for some in (SENTENCE_END, QUOTES, ABBREVIATIONS)
    )
    ids: list[Int] = []
    starts: list[Int] = []
    chapter: list[Int] = []
    position = 0
    for number, paragraphs in enumerate(chapters):
        encodings = tokenizer.backend_tokenizer.encode_batch(
            list(paragraphs), add_special_tokens=False
        )
        for encoding in encodings:
            token_ids = np.array(encoding.ids, dtype=np.int64)
            if not len(token_ids):
                continue
            previous = np.concatenate([[0], token_ids[:-1]])
            ended = is_end[token_ids] & ~is_short[previous]
            closing = is_quote[token_ids]
            closing[1:] &= ended[:-1]
            closing[:1] = False
            begins = np.zeros(len(token_ids), dtype=bool)
            begins[0] = True
            begins[1:] = (ended[:-1] | closing[:-1]) & ~(is_end[token_ids[1:]] | closing[1:])
            where = np.flatnonzero(begins)
            ids.append(token_ids)
            starts.append(where + position)
            chapter.append(np.full(len(where), number))
            position += len(token_ids)
    return Prose(
        np.concatenate(ids),
        np.concatenate([*starts, [position]]),
        np.concatenate(chapter),
    )


@dataclass(frozen=True)
class TrainingBatch:
    """Sequences of equal length, without padding. All int64 [batch, length].

    `text` holds the wordpieces before masking; `labels` those that are to be predicted, -100
    elsewhere.
    """

    text: torch.Tensor
    ids: torch.Tensor
    segments: torch.Tensor
    labels: torch.Tensor

    def to(self, device: torch.device) -> TrainingBatch:
        return TrainingBatch(
            *(x.to(device) for x in (self.text, self.ids, self.segments, self.labels))
        )


class BatchMaker:
    """Draws batches from encoded prose; every draw is decided by `generator`'s state.

    Raises:
        ValueError: the prose is too short to fill a sequence of the longest length.
    """

    def __init__(
        self,
        prose: Prose,
        tokenizer: Any,
        *,
        tokens: int,
        generator: np.random.Generator,
        longest: int = 512,
    ) -> None:
        if len(prose.ids) < 2 * longest:
            raise ValueError(f"the text has {len(prose.ids)} wordpieces: too few for {longest}")
        self.prose = prose
        self.tokens = tokens
        self.longest = longest
        self.generator = generator
        self.special = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id)
        # Random replacements are drawn from what is not special.
        size = len(tokenizer)
        self.ordinary = np.setdiff1d(np.arange(size), tokenizer.all_special_ids)
        self._index_spans()

    def _index_spans(self) -> None:
        """Sort all spans of whole sentences by length, to draw from the spans of one length."""
        starts = self.prose.starts
        chapter = self.prose.chapter
        firsts = []
        counts = []
        lengths = []
        for count in range(1, MOST_SENTENCES + 1):
            first = np.arange(max(0, len(chapter) - count + 1))
            length = starts[first + count] - starts[first]
            good = (chapter[first] == chapter[first + count - 1]) & (length < LONGEST_WHOLE)
            firsts.append(first[good].astype(np.int32))
            counts.append(np.full(good.sum(), count, dtype=np.int8))
            lengths.append(length[good].astype(np.int16))
        length = np.concatenate(lengths)
        order = np.argsort(length, kind="stable")
        self._first = np.concatenate(firsts)[order]
        self._count = np.concatenate(counts)[order]
        self._bounds = np.searchsorted(length[order], np.arange(LONGEST_WHOLE + 1))

    def draw(self, masked: bool = True) -> TrainingBatch:
        """One batch of about `tokens` wordpieces; without `masked`, nothing is to be predicted."""
        length = self._draw_length()
        size = max(1, self.tokens // length)
        paired = self.generator.random(size) < 0.5
        rows = [self._draw_row(length, pair) for pair in paired]
        text = np.stack([row for row, _ in rows])
        segments = np.stack([segment for _, segment in rows])
        ids, labels = self.mask(text) if masked else (text, np.full_like(text, -100))
        return TrainingBatch(*(torch.from_numpy(x) for x in (text, ids, segments, labels)))

    def _draw_length(self) -> int:
        """One of LENGTHS, by LENGTH_SHARES, no longer than `longest`."""
        allowed = np.array([length <= self.longest for length in LENGTHS])
        shares = np.where(allowed, LENGTH_SHARES, 0.0)
        return int(self.generator.choice(LENGTHS, p=shares / shares.sum()))

    def _draw_row(self, length: int, pair: bool) -> tuple[Int, Int]:
        """[CLS] A [SEP] or [CLS] A [SEP] B [SEP] and the segment ids, both [length]."""
        ids = self.prose.ids
        starts = self.prose.starts
        room = length - 3 if pair else length - 2
        low, high = self._bounds[room : room + 2] if room < LONGEST_WHOLE else (0, 0)
        if low < high:
            span = self.generator.integers(low, high)
            first = int(self._first[span])
            count = int(self._count[span])
        else:  # a long sequence, or a length that no span has: cut where it is full
            last = int(np.searchsorted(starts, len(ids) - room, side="right")) - 1
            first = int(self.generator.integers(0, last + 1))
            count = int(np.searchsorted(starts, starts[first] + room)) - first
        begin = int(starts[first])
        text = ids[begin : begin + room]
        cls, sep, _ = self.special
        if not pair:
            return np.concatenate([[cls], text, [sep]]), np.zeros(length, dtype=np.int64)
        if count > 1:
            split = int(starts[first + int(self.generator.integers(1, count))]) - begin
        else:
            split = int(self.generator.integers(1, room))
        row = np.concatenate([[cls], text[:split], [sep], text[split:], [sep]])
        return row, (np.arange(length) >= split + 2).astype(np.int64)

    def mask(self, ids: Int) -> tuple[Int, Int]:
        """BERT's masking of `ids`: the model's inputs and the wordpieces to predict.

        15 % of the wordpieces are selected; 80 % of these become [MASK], 10 % any wordpiece, 10 %
        stay. Labels are -100 where nothing is selected.
        """
        cls, sep, mask = self.special
        selected = (ids != cls) & (ids != sep) & (self.generator.random(ids.shape) < SELECTED)
        kind = self.generator.random(ids.shape)
        changed = np.where(selected & (kind < 0.8), mask, ids)
        swapped = selected & (kind >= 0.9)
        changed[swapped] = self.generator.choice(self.ordinary, int(swapped.sum()))
        return changed, np.where(selected, ids, -100)
