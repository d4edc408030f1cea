"""The words of tokens and the characters of each token, from vocabulary ids only.

A text, its ids, a dict of inputs and a generated text have the same words, because this module
finds all of them.

A shorter rule was tried: decode the ids, tokenize the text again, and take the words and offsets of
the pre-tokenizer. With ten sentences (`tests/sweep/sentences.py`) and the 55 fast tokenizer classes
that read a single text, it gave the words of this module for 38 classes, and for 11 byte-level ones
except for combining marks, which need `is_within_word` in addition. The words of three classes
differ, ids of three do not come back from the decoded text, and slow tokenizers have no offsets. So
the rule could only be added to this module, and could not replace it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from attnwidget.inputs.given_words import is_within_word, owners_by_encoding
from attnwidget.inputs.vocabulary_spelling import Spelling, shown_bytes
from attnwidget.text.running_text import RunningText

#: Replacement for a byte of an incomplete character while the pre-tokenizer looks for words.
_UNREADABLE = "\ufffd"
#: Half a UTF-16 character in tokens passed as strings, which is no byte of "surrogateescape".
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
#: Half a UTF-16 character, or a byte of an incomplete character.
_PART = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class FoundWords:
    """The words of n tokens.

    Attributes:
        words: Word index of each token, 0-based and without gaps; None for tokens without text.
        pieces: Characters that each token adds to its word. A character that is split over several
            tokens is in the piece of the first.
        shares: Texts that show the part of a character: "河 1/3" for the first of three tokens,
            "…2/3" for the second; "" for tokens with whole characters.
        known: Whether words were found; otherwise each token is a word.
        whole_words: Whether some pieces are whole words, at the first tokens of these words.
    """

    words: list[int | None]
    pieces: list[str]
    shares: list[str]
    known: bool
    whole_words: bool


def found_words(
    spelling: Spelling,
    raw: Sequence[str],
    is_word: Sequence[bool],
    segments: Sequence[int],
    tokenizer: Any = None,
    ids: Sequence[int] = (),
) -> FoundWords:
    """Return the words of n tokens.

    Special tokens, tokens that were added to the vocabulary and the ends of sentences separate
    words.

    Args:
        spelling: Spelling of the vocabulary entries.
        raw: Vocabulary entries of the tokens.
        is_word: False for tokens without text, such as [CLS].
        segments: Sentence of each token, 0 for A or 1 for B.
        tokenizer: Tokenizer; None for entries of an unknown vocabulary.
        ids: Vocabulary ids, with a tokenizer.

    Example:
        >>> from attnwidget.inputs.token_boundaries import found_words
        >>> from attnwidget.inputs.vocabulary_spelling import Spelling
        >>> raw = ["cap@@", "tain", "told"]
        >>> found_words(Spelling.guessed(raw), raw, [True] * 3, [0] * 3).words
        [0, 0, 1]
    """
    spelling = _with_seen_marks(spelling, raw)
    unknown = unknown_id(tokenizer)
    added_ids = set(getattr(tokenizer, "added_tokens_decoder", ())) - {unknown}
    if tokenizer is None:
        ids = range(len(raw))
    words: list[int | None] = [None] * len(raw)
    pieces = list(raw)
    shares = [""] * len(raw)
    are_words_known = True
    n_words = 0
    for start, end in _runs(ids, is_word, segments, added_ids):
        if ids[start] in added_ids:
            words[start] = n_words
            n_words += 1
            continue
        run = _Run.from_ids(
            ids[start:end],
            raw[start:end],
            [
                token if token_id == unknown else spelling.characters(token)
                for token_id, token in zip(ids[start:end], raw[start:end], strict=True)
            ],
        )
        owners = _owners(spelling, tokenizer, run)
        if owners is None:
            are_words_known = are_words_known and end - start == 1
            owners = list(range(end - start))
        if spelling.boundaries == "continues":
            # The mark shows that the beginning of the word is missing.
            run.pieces[0] = raw[start]
        pieces[start:end] = run.pieces
        shares[start:end] = run.shares
        for index, owner in enumerate(owners, start):
            if index > start and owner != owners[index - start - 1]:
                n_words += 1
            words[index] = n_words
        n_words += 1
    return FoundWords(words, pieces, shares, are_words_known, spelling.boundaries == "decoded")


def unknown_id(tokenizer: Any) -> int | None:
    """Return the id of unknown words, which has text; None if special tokens share it."""
    unk_id: int | None = getattr(tokenizer, "unk_token_id", None)
    names = ("bos", "eos", "sep", "cls", "pad", "mask")
    other_ids = {getattr(tokenizer, f"{name}_token_id", None) for name in names}
    return None if unk_id in other_ids else unk_id


def _with_seen_marks(spelling: Spelling, raw: Sequence[str]) -> Spelling:
    """Return the spelling with the mark in the tokens, if the vocabulary showed no mark."""
    if spelling.boundaries == "unknown" and any(
        len(token) > 2 and token.endswith("@@") for token in raw
    ):
        return Spelling(spelling.kind, "joins", "@@")
    return spelling


def _runs(
    ids: Sequence[int], is_word: Sequence[bool], segments: Sequence[int], added: set[int]
) -> Iterator[tuple[int, int]]:
    """Yield the first token and the end of each text run without breaks."""
    start = None
    for index, has_text in enumerate(is_word):
        is_added = ids[index] in added
        if start is not None and (not has_text or is_added or segments[index] != segments[start]):
            yield start, index
            start = None
        if has_text and is_added:
            yield index, index + 1
        elif has_text and start is None:
            start = index
    if start is not None:
        yield start, len(ids)


@dataclass
class _Run:
    """A run of text without breaks.

    `text` has one character for each byte of an incomplete character. `starts` has the index of
    each token's first character.
    """

    ids: list[int]
    raw: list[str]
    pieces: list[str]
    shares: list[str]
    text: str
    starts: list[int]

    @classmethod
    def from_ids(cls, ids: Sequence[int], raw: Sequence[str], texts: Iterable[str]) -> _Run:
        """Make a run; `texts` has bytes of incomplete characters as lone surrogates.

        Bytes of several tokens that form a character become that character, in the piece of the
        first token.
        """
        texts = list(texts)
        full_text = "".join(texts)
        if not _PART.search(full_text):
            # No token has a part of a character, as in most texts.
            starts = list(accumulate(map(len, texts), initial=0))[:-1]
            return cls(list(ids), list(raw), texts, [""] * len(texts), full_text, starts)
        blocks = [_HALF.sub(_UNREADABLE, text).encode("utf-8", "surrogateescape") for text in texts]
        full_text = b"".join(blocks).decode("utf-8", "surrogateescape")
        sizes = (len(character.encode("utf-8", "surrogateescape")) for character in full_text)
        # First byte of each character, and end of the last one.
        byte_starts = list(accumulate(sizes, initial=0))
        pieces = []
        starts = []
        spans = []
        byte = 0
        for block in blocks:
            end = byte + len(block)
            spans.append((byte, end))
            pieces.append(
                shown_bytes(
                    full_text[bisect_left(byte_starts, byte) : bisect_left(byte_starts, end)]
                )
            )
            starts.append(bisect_right(byte_starts, byte) - 1)
            byte = end
        text = "".join(_UNREADABLE if "\udc80" <= c <= "\udcff" else c for c in full_text)
        return cls(
            list(ids), list(raw), pieces, _shares(full_text, byte_starts, spans), text, starts
        )


def _shares(text: str, at: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the texts for tokens with a part of a character; "" for other tokens.

    Args:
        text: Characters of all tokens.
        at: First byte of each character, and end of the last one.
        spans: First byte and end of each token.
    """
    # Characters of each token, and tokens of each character.
    token_characters = [
        range(bisect_right(at, start) - 1, bisect_left(at, end)) if end > start else range(0)
        for start, end in spans
    ]
    tokens_of: dict[int, list[int]] = {}
    for token, characters in enumerate(token_characters):
        for character in characters:
            tokens_of.setdefault(character, []).append(token)
    shares = []
    for token, characters in enumerate(token_characters):
        parts = [""]
        is_split = False
        for character in characters:
            character_tokens = tokens_of[character]
            display = shown_bytes(text[character])
            if len(character_tokens) == 1:
                parts[-1] += display
                continue
            is_split = True
            part_number = character_tokens.index(token) + 1
            name = display if display.isprintable() else f"<U+{ord(display):04X}>"
            parts += [
                f"{name} 1/{len(character_tokens)}"
                if part_number == 1
                else f"…{part_number}/{len(character_tokens)}",
                "",
            ]
        shares.append(" ".join(part.strip() for part in parts if part.strip()) if is_split else "")
    return shares


def _owners(spelling: Spelling, tokenizer: Any, run: _Run) -> list[int] | None:
    """Return a number for each token, equal within a word; None if words are unknown."""
    kind = spelling.boundaries
    if kind == "pre-tokenizer":
        return _by_pre_tokenizer(spelling, tokenizer, run)
    if kind == "spaces":
        return _by_spaces(run.pieces)
    if kind == "decoded":
        return _by_decoding(tokenizer, run)
    if kind == "unknown":
        return None
    begins = [True] * len(run.raw)
    for index, token in enumerate(run.raw[1:], 1):
        previous = run.raw[index - 1]
        if kind == "continues":
            begins[index] = not token.startswith(spelling.mark)
        elif kind == "ends":
            begins[index] = previous.endswith(spelling.mark)
        elif kind == "joins":
            begins[index] = previous == spelling.mark or not previous.endswith(spelling.mark)
    if spelling.kind == "bytes" and any(
        begin and _begins_with_mark(piece)
        for begin, piece in zip(begins[1:], run.pieces[1:], strict=True)
    ):
        # The pre-tokenizer of CLIP splits words at combining marks and marks the parts as words.
        return None
    return list(accumulate(begins))


def _by_pre_tokenizer(spelling: Spelling, tokenizer: Any, run: _Run) -> list[int]:
    marked_text = run.text.replace(" ", "\u2581") if spelling.kind == "metaspace" else run.text
    parts = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(marked_text)
    spans = [index for _, index in parts]
    ends = [
        end
        for (_, end), (start, _) in zip(spans, [*spans[1:], (len(marked_text) + 1, 0)], strict=True)
        if start != end or not is_within_word(marked_text, end)
    ]
    owners = [bisect_right(ends, start) for start in run.starts]
    # A pre-tokenizer that only marks spaces leaves several words in one part.
    split_parts = {
        part
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        if len(run.text[start:end].split()) > 1
    }
    space_numbers = _by_spaces(run.pieces)
    keys = [
        (owner, space_numbers[index] if owner in split_parts else 0)
        for index, owner in enumerate(owners)
    ]
    changes = (index > 0 and key != keys[index - 1] for index, key in enumerate(keys))
    return list(accumulate(changes))


def _begins_with_mark(piece: str) -> bool:
    return unicodedata.category(piece[:1] or " ").startswith("M")


def _by_spaces(pieces: Sequence[str]) -> list[int]:
    """Return word numbers: a word begins at white space, unless white space precedes it."""
    numbers = []
    number = 0
    is_blank = True
    for piece in pieces:
        if piece[:1].isspace() and not is_blank:
            number += 1
            is_blank = True
        is_blank = is_blank and not piece.strip()
        numbers.append(number)
    return numbers


def _by_decoding(tokenizer: Any, run: _Run) -> list[int] | None:
    """Return the words of the decoded text, if its tokens equal the run's.

    The pieces of the run become these words.
    """
    try:
        words = str(tokenizer.decode(run.ids, clean_up_tokenization_spaces=False)).split()
    except (ValueError, LookupError, TypeError):  # The ids are beyond the vocabulary.
        return None
    owners = owners_by_encoding(tokenizer, RunningText(tuple(words)), run.ids) if words else None
    if owners is not None:
        for index, owner in enumerate(owners):
            is_first = index == 0 or owner != owners[index - 1]
            run.pieces[index] = words[owner] if is_first else ""
    return owners
