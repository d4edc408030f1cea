"""Segments with the words of their tokens, for word studies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from attnwidget.corpus.accumulator import Batch
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.inputs.advised_error import AdvisedError
from attnwidget.inputs.given_words import WordTokens, read_words
from attnwidget.inputs.text_encoder import refuse_half_characters
from attnwidget.text.counted import counted
from attnwidget.text.running_text import RunningText
from attnwidget.text.segments import Segment
from attnwidget.text.token_words import shared_token, words_without_tokens

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

# Number of seconds before a progress bar is shown.
_PATIENCE = 1.0


@dataclass(frozen=True)
class WordSegment(Segment):
    """Text of whole words.

    Attributes:
        words: Word of each token of `first`, from 0, without gaps.
        index: Index of the text in the study.
        before: Number of special tokens before the text.
    """

    words: tuple[int, ...] = ()
    index: int = field(default=0, compare=False, repr=False, kw_only=True)
    before: int = 0

    @property
    def n_words(self) -> int:
        """Number of words of the text."""
        return self.words[-1] + 1


class WordSegmenter:
    """Tokenizer of words for one model.

    Words are tokenized as running text. If the vocabulary marks spaces, the model gets the original
    spaces of the text, as far as the corpus has them. Other models get a space between all words
    (Clark et al. 2019, section 4.1): see `TextIds.as_read`.

    Args:
        model: Model whose tokenizer and length limit are used.

    Raises:
        TypeError: If `model` is not a model.
        ValueError: If the model has no tokenizer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.words.word_segments import WordSegmenter
        >>> from attnwidget.text.running_text import RunningText
        >>> WordSegmenter(load_model())(RunningText(("Cats", "purr"))).words
        (0, 1, 1)
    """

    def __init__(self, model: AttentionModel) -> None:
        refuse_no_model(model)
        tokenizer = model.tokenizer
        if tokenizer is None:
            raise ValueError(
                f"this {type(model.hf_model).__name__} has no tokenizer, which tells the word of "
                "each token: pass one to load_model(model, tokenizer)"
            )
        self._texts = model.texts
        template = self._texts.template(pair=False)
        self._before = len(template.before)
        limit = model.length_limit.tokens
        self._reads = model.length_limit.reads
        self.n_special = template.n_special
        self.room: int | None = None if limit is None else limit - self.n_special

    def pieces(self, text: RunningText) -> list[int]:
        """Return the number of tokens of each word in running text."""
        counts = [0] * len(text.words)
        for word in self._tokens(self._texts.as_read(text)).owners:
            counts[word] += 1
        return counts

    def __call__(self, text: RunningText, index: int = 0) -> WordSegment:
        """Return the segment of a text.

        Args:
            text: Text of one or more words.
            index: Index of the text in the study.

        Raises:
            ValueError: If a token has characters of several words, a word has no tokens, a slow
                tokenizer does not give the word of each token, or the text is too long for the
                model.
        """
        text = self._texts.as_read(text)
        words = text.words
        label = text.label
        text_tokens = self._tokens(text)
        ids, owners = text_tokens.ids, text_tokens.owners
        tokens = self._texts.entries(ids)
        if text_tokens.offsets and (
            shared := shared_token(words, text_tokens.offsets, text.space_after)
        ):
            token, first, last = shared
            start, end = text_tokens.offsets[token]
            raise AdvisedError(
                f"{label}: the token {text.text[start:end].strip()!r} is part of the words "
                f"{' and '.join(map(repr, words[first : last + 1]))}, so that no map between words "
                "could be made of its attention",
                "pass skip_unaligned=True to leave such texts out, or read a space between all "
                "words: sentence.with_spaces()",
            )
        if missing := words_without_tokens(owners, len(words)):
            raise AdvisedError(
                f"{label}: word {missing[0] + 1} {words[missing[0]]!r} has no tokens",
                "remove the word, or pass skip_unaligned=True to leave such texts out",
            )
        if self.room is not None and len(tokens) > self.room:
            raise AdvisedError(
                f"{label} is too long: {counted(len(words), 'word')} have "
                f"{counted(len(tokens), 'token')}; "
                f"{self._reads} {self.room} at most beside the special ones",
                "shorten it, or pass skip_unaligned=True to leave such texts out",
            )
        return WordSegment(tuple(tokens), words=tuple(owners), index=index, before=self._before)

    def segments(
        self, texts: Iterable[RunningText], skip_unaligned: bool, *, progress: bool = False
    ) -> tuple[list[WordSegment], int]:
        """Return the segments of `texts`, and the number of skipped texts.

        With `progress`, a bar shows the remaining time if the work takes longer than a second.

        Raises:
            ValueError: If no text is left; or, without `skip_unaligned`, as for one text.
        """
        segments = []
        n_skipped = 0
        total = len(texts) if isinstance(texts, Sized) else None
        with progress_bar(total, "text cut", shown=progress, delay=_PATIENCE) as bar:
            for index, text in enumerate(texts):
                try:
                    segments.append(self(text, index))
                except ValueError:
                    if not skip_unaligned:
                        raise
                    n_skipped += 1
                bar.update()
        if not segments:
            raise ValueError(f"there are no texts to read; {n_skipped} were left out")
        return segments, n_skipped

    def _tokens(self, text: RunningText) -> WordTokens:
        string = text.text
        refuse_half_characters(string, f"the text {string[:40]!a}")
        return read_words(self._texts, text)


def word_segments(batch: Batch) -> list[WordSegment]:
    """Return the segments of a batch; TypeError for segments without words."""
    segments = [segment for segment in batch.segments if isinstance(segment, WordSegment)]
    if len(segments) != len(batch.segments):
        raise TypeError("this study reads WordSegments, made with WordSegmenter")
    return segments


def word_owners(batch: Batch, *, special: bool = False) -> Tensor:
    """Return the word of each token from 0, int64 [B, n]; -1 for special tokens and padding.

    With `special`, the special tokens before a text are word 0, its words count from 1, and the
    special tokens after it are the last word.

    Raises:
        TypeError: If some segments have no words.
    """
    owners = np.full(batch.real.shape, -1)
    for row, segment, length in zip(owners, word_segments(batch), batch.lengths, strict=True):
        before = segment.before
        after = segment.before + len(segment)
        row[before:after] = segment.words
        if special:
            row[before:after] += 1
            row[:before] = 0
            row[after : int(length)] = segment.n_words + 1
    return torch.from_numpy(owners).to(batch.real.device)


class WordAxes:
    """Token positions of the words in a batch of `WordSegment`s.

    Args:
        batch: Batch of B segments padded to n tokens.

    Raises:
        TypeError: If some segments have no words.
    """

    def __init__(self, batch: Batch) -> None:
        self.segments = word_segments(batch)
        self._n = batch.real.shape[1]
        self._device = batch.real.device
        self.n_words = max(segment.n_words for segment in self.segments)

    def tokens(self, item: int, word: int) -> list[int]:
        """Return the positions of a word's tokens in the maps of segment `item`."""
        return self._positions[item][word]

    @property
    def columns(self) -> Tensor:
        """Mask with 1 at the tokens of each word, float32 [B, n, m], for sums over words."""
        columns = torch.zeros(
            len(self.segments), self._n, self.n_words, dtype=torch.float32, device="cpu"
        )
        for item, segment in enumerate(self.segments):
            token_indices = (
                torch.arange(len(segment.words), dtype=torch.long, device="cpu") + segment.before
            )
            columns[
                item, token_indices, torch.tensor(segment.words, dtype=torch.long, device="cpu")
            ] = 1
        return columns.to(self._device)

    def rows(self, words: Sequence[Sequence[int]]) -> Tensor:
        """Return the weights of the means over the tokens of `words[b][e]`, float32 [B, E, n].

        Segments with fewer words are padded with rows of 0.
        """
        rows = torch.zeros(
            len(words), max(1, *map(len, words)), self._n, dtype=torch.float32, device="cpu"
        )
        for item, groups in enumerate(words):
            for row, word in enumerate(groups):
                tokens = self.tokens(item, word)
                rows[item, row, tokens] = 1 / len(tokens)
        return rows.to(self._device)

    @cached_property
    def _positions(self) -> list[dict[int, list[int]]]:
        positions = []
        for segment in self.segments:
            positions_by_word: dict[int, list[int]] = {}
            for position, word in enumerate(segment.words, segment.before):
                positions_by_word.setdefault(word, []).append(position)
            positions.append(positions_by_word)
        return positions
