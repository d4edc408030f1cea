"""The words of tokens and the characters of each token, from vocabulary ids alone.

A text, its ids, a dict of inputs and a generated text have the same words, because the words of all
of them are found here.

A shorter rule was tried: decode the ids, tokenize the text again, and take the words and offsets of
the pre-tokenizer. With ten sentences (`tests/sweep/sentences.py`) and the 55 fast tokenizer classes
that read a text alone, it gave the words of this module for 38 classes, and for 11 byte-level ones
except for combining marks, which need `is_within_word` in addition. The words of three classes
differ, ids of three do not come back from the decoded text, and slow tokenizers have no offsets. So
the rule would stand beside this module and not replace it.
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

#: Stands for a byte without its character while the pre-tokenizer looks for words.
_UNREADABLE = "\ufffd"
#: Half a character of UTF-16 in given tokens, which is no byte of "surrogateescape".
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
#: Half a character of UTF-16, or a byte without its character.
_PART = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class FoundWords:
    """The words of n tokens.

    Attributes:
        words: The word of each token, from 0 and without gaps; None for tokens without text.
        pieces: The characters that each token adds to its word. A character that is split over
            tokens is in the piece of the first.
        shares: Texts that show the part of a character: "河 1/3" for the first of three tokens,
            "…2/3" for the second; "" for tokens of whole characters.
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
        spelling: How the vocabulary spells its entries.
        raw: The vocabulary entries of the tokens.
        is_word: False for tokens without text, such as [CLS].
        segments: For each token, 0 or 1 for sentence A or B.
        tokenizer: The tokenizer; None for entries of an unknown vocabulary.
        ids: The vocabulary ids, with a tokenizer.

    Example:
        >>> from attnwidget.inputs.token_boundaries import found_words
        >>> from attnwidget.inputs.vocabulary_spelling import Spelling
        >>> raw = ["cap@@", "tain", "told"]
        >>> found_words(Spelling.guessed(raw), raw, [True] * 3, [0] * 3).words
        [0, 0, 1]
    """
    spelling = _with_seen_marks(spelling, raw)
    unknown = unknown_id(tokenizer)
    added = set(getattr(tokenizer, "added_tokens_decoder", ())) - {unknown}
    if tokenizer is None:
        ids = range(len(raw))
    words: list[int | None] = [None] * len(raw)
    pieces = list(raw)
    shares = [""] * len(raw)
    known = True
    n_words = 0
    for start, end in _runs(ids, is_word, segments, added):
        if ids[start] in added:
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
            known = known and end - start == 1
            owners = list(range(end - start))
        if spelling.boundaries == "continues":
            run.pieces[0] = raw[start]  # the mark shows that the beginning of the word is missing
        pieces[start:end] = run.pieces
        shares[start:end] = run.shares
        for place, owner in enumerate(owners, start):
            if place > start and owner != owners[place - start - 1]:
                n_words += 1
            words[place] = n_words
        n_words += 1
    return FoundWords(words, pieces, shares, known, spelling.boundaries == "decoded")


def unknown_id(tokenizer: Any) -> int | None:
    """Return the id of unknown words, which has text; None if special tokens share the id."""
    found: int | None = getattr(tokenizer, "unk_token_id", None)
    names = ("bos", "eos", "sep", "cls", "pad", "mask")
    others = {getattr(tokenizer, f"{name}_token_id", None) for name in names}
    return None if found in others else found


def _with_seen_marks(spelling: Spelling, raw: Sequence[str]) -> Spelling:
    """Return the spelling with a mark that the tokens have, if the vocabulary had none."""
    if spelling.boundaries == "unknown" and any(
        len(token) > 2 and token.endswith("@@") for token in raw
    ):
        return Spelling(spelling.kind, "joins", "@@")
    return spelling


def _runs(
    ids: Sequence[int], is_word: Sequence[bool], segments: Sequence[int], added: set[int]
) -> Iterator[tuple[int, int]]:
    """Yield the first token and the end of each stretch of text without breaks."""
    start = None
    for place, of_word in enumerate(is_word):
        alone = ids[place] in added
        if start is not None and (not of_word or alone or segments[place] != segments[start]):
            yield start, place
            start = None
        if of_word and alone:
            yield place, place + 1
        elif of_word and start is None:
            start = place
    if start is not None:
        yield start, len(ids)


@dataclass
class _Run:
    """A stretch of text without breaks.

    `text` has one character for each byte of an incomplete character. `starts` has the number of
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

        Bytes of several tokens that make a character become that character, in the piece of the
        first token.
        """
        texts = list(texts)
        whole = "".join(texts)
        if not _PART.search(whole):
            # No token has a part of a character, as in most texts.
            starts = list(accumulate(map(len, texts), initial=0))[:-1]
            return cls(list(ids), list(raw), texts, [""] * len(texts), whole, starts)
        blocks = [_HALF.sub(_UNREADABLE, text).encode("utf-8", "surrogateescape") for text in texts]
        whole = b"".join(blocks).decode("utf-8", "surrogateescape")
        sizes = (len(character.encode("utf-8", "surrogateescape")) for character in whole)
        # The first byte of each character, and the end of the last character.
        at = list(accumulate(sizes, initial=0))
        pieces = []
        starts = []
        spans = []
        byte = 0
        for block in blocks:
            end = byte + len(block)
            spans.append((byte, end))
            pieces.append(shown_bytes(whole[bisect_left(at, byte) : bisect_left(at, end)]))
            starts.append(bisect_right(at, byte) - 1)
            byte = end
        text = "".join(_UNREADABLE if "\udc80" <= c <= "\udcff" else c for c in whole)
        return cls(list(ids), list(raw), pieces, _shares(whole, at, spans), text, starts)


def _shares(text: str, at: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the texts of tokens with a part of a character; "" for other tokens.

    Args:
        text: The characters of all tokens.
        at: The first byte of each character, and the end of the last character.
        spans: The first byte and the end of each token.
    """
    # The characters of each token, and the tokens of each character.
    token_values = [
        range(bisect_right(at, start) - 1, bisect_left(at, end)) if end > start else range(0)
        for start, end in spans
    ]
    tokens_of: dict[int, list[int]] = {}
    for token, characters in enumerate(token_values):
        for character in characters:
            tokens_of.setdefault(character, []).append(token)
    shares = []
    for token, characters in enumerate(token_values):
        parts = [""]
        is_split = False
        for character in characters:
            among = tokens_of[character]
            shown = shown_bytes(text[character])
            if len(among) == 1:
                parts[-1] += shown
                continue
            is_split = True
            place = among.index(token) + 1
            name = shown if shown.isprintable() else f"<U+{ord(shown):04X}>"
            parts += [f"{name} 1/{len(among)}" if place == 1 else f"…{place}/{len(among)}", ""]
        shares.append(" ".join(part.strip() for part in parts if part.strip()) if is_split else "")
    return shares


def _owners(spelling: Spelling, tokenizer: Any, run: _Run) -> list[int] | None:
    """Return a number for each token that is equal within a word; None if words are unknown."""
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
    for place, token in enumerate(run.raw[1:], 1):
        before = run.raw[place - 1]
        if kind == "continues":
            begins[place] = not token.startswith(spelling.mark)
        elif kind == "ends":
            begins[place] = before.endswith(spelling.mark)
        elif kind == "joins":
            begins[place] = before == spelling.mark or not before.endswith(spelling.mark)
    if spelling.kind == "bytes" and any(
        begin and _begins_with_mark(piece)
        for begin, piece in zip(begins[1:], run.pieces[1:], strict=True)
    ):
        # The pre-tokenizer of CLIP cuts words at combining marks and marks the parts as words.
        return None
    return list(accumulate(begins))


def _by_pre_tokenizer(spelling: Spelling, tokenizer: Any, run: _Run) -> list[int]:
    written = run.text.replace(" ", "\u2581") if spelling.kind == "metaspace" else run.text
    parts = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(written)
    places = [place for _, place in parts]
    ends = [
        end
        for (_, end), (start, _) in zip(places, [*places[1:], (len(written) + 1, 0)], strict=True)
        if start != end or not is_within_word(written, end)
    ]
    owners = [bisect_right(ends, start) for start in run.starts]
    # A pre-tokenizer that only marks spaces leaves several words in one part.
    several = {
        part
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        if len(run.text[start:end].split()) > 1
    }
    spaced = _by_spaces(run.pieces)
    keys = [(owner, spaced[place] if owner in several else 0) for place, owner in enumerate(owners)]
    changes = (place > 0 and key != keys[place - 1] for place, key in enumerate(keys))
    return list(accumulate(changes))


def _begins_with_mark(piece: str) -> bool:
    return unicodedata.category(piece[:1] or " ").startswith("M")


def _by_spaces(pieces: Sequence[str]) -> list[int]:
    """A word begins at white space; white space before white space belongs to the same word."""
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
    """Return the words of the decoded text if its tokens are those of the run.

    The pieces of the run become these words.
    """
    try:
        words = str(tokenizer.decode(run.ids, clean_up_tokenization_spaces=False)).split()
    except (ValueError, LookupError, TypeError):  # ids beyond the vocabulary
        return None
    owners = owners_by_encoding(tokenizer, RunningText(tuple(words)), run.ids) if words else None
    if owners is not None:
        for place, owner in enumerate(owners):
            is_first = place == 0 or owner != owners[place - 1]
            run.pieces[place] = words[owner] if is_first else ""
    return owners
