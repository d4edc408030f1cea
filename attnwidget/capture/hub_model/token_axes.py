"""The axes of attention maps, from vocabulary ids, image patches or plain strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from attnwidget.capture.hub_model.vocabulary_spelling import (
    SpellingKind,
    guess_kind,
    readable,
    starts_word,
    vocabulary_kind,
)
from attnwidget.text.tokens import Tokens


def token_axis(
    tokenizer: Any,
    ids: Sequence[int],
    *,
    word_ids: Sequence[int | None] | None = None,
    segments: Sequence[int] | None = None,
) -> Tokens:
    """Return the axis of `ids`, spelt by `tokenizer`.

    Args:
        tokenizer: A Hugging Face tokenizer.
        ids: The n vocabulary ids.
        word_ids: The tokenizer's word of each token, None for special tokens. Without `word_ids`,
            words are recognised by the marks in the vocabulary.
        segments: For each token, 0 or 1 for sentence A or B; None = all 0.

    Example:
        >>> from attnwidget import load_model
        >>> tokenizer = load_model().tokenizer
        >>> token_axis(tokenizer, tokenizer("Cats purr.").input_ids).special
        ('cls', '', '', '', '', 'sep')
    """
    kind = vocabulary_kind(tokenizer)
    raw = [str(token) for token in tokenizer.convert_ids_to_tokens(list(ids))]
    special = _special_kinds(tokenizer, ids)
    is_word = [token_id not in _non_words(tokenizer) for token_id in ids]
    segments = tuple(segments) if segments is not None else (0,) * len(raw)
    by_mark = _words_by_mark(raw, kind, is_word)
    words = list(by_mark)
    if word_ids is not None:
        words = [word if of_word else None for word, of_word in zip(word_ids, is_word, strict=True)]
        for segment in set(segments):
            here = [
                i
                for i, of_token in enumerate(segments)
                if of_token == segment and words[i] is not None
            ]
            # If a vocabulary marks spaces but does not split at them, a whole text is one word.
            if len({words[i] for i in here}) == 1 and kind == "metaspace":
                for i in here:
                    words[i] = by_mark[i]
    return Tokens(
        text=tuple(readable(token, kind) for token in raw),
        raw=tuple(raw),
        ids=tuple(int(i) for i in ids),
        special=tuple(special),
        segments=segments,
        words=_numbered(words, segments),
    )


def plain_axis(tokens: Sequence[str], segments: Sequence[int] | None = None) -> Tokens:
    """Return the axis of tokens given as strings; spelling shows special tokens and words.

    Raises:
        TypeError: a text in place of its tokens, or a token that is neither a string nor a number.
    """
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise TypeError(f"tokens are a list of strings, one a token, got {tokens!r}")
    tokens = list(tokens)
    for place, token in enumerate(tokens):
        if not isinstance(token, (str, Integral)):
            raise TypeError(f"token {place} is {token!r}: expected a string")
    raw = [str(token) for token in tokens]
    axis = Tokens.plain(raw, segments=segments)
    kind = guess_kind(raw)
    if kind == "plain":
        return replace(axis, text=tuple(readable(token, kind) for token in raw))
    is_word = [special not in ("cls", "sep", "other") for special in axis.special]
    return replace(
        axis,
        text=tuple(readable(token, kind) for token in raw),
        words=_numbered(_words_by_mark(raw, kind, is_word), axis.segments),
    )


def patch_axis(length: int, rows: int, columns: int) -> Tokens:
    """Return the axis of an image of `rows` x `columns` patches, after [CLS] if there is room."""
    extra = length - rows * columns
    if extra < 0:
        return position_axis(length)
    names = ["[CLS]", *(f"[REG{i}]" for i in range(1, extra))][:extra]
    text = (*names, *(f"r{row}c{column}" for row in range(rows) for column in range(columns)))
    special = ("cls", *("other",) * (extra - 1)) if extra else ()
    return replace(
        position_axis(length),
        text=text,
        raw=text,
        special=(*special, *("",) * (length - extra)),
        words=(*(None,) * extra, *range(length - extra)),
    )


def position_axis(length: int) -> Tokens:
    """Return the axis of inputs without names, such as frames of sound: their positions."""
    text = tuple(str(i) for i in range(length))
    empty = ("",) * length
    return Tokens(text, text, (), empty, (0,) * length, tuple(range(length)))


def _special_kinds(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    cls_id = getattr(tokenizer, "cls_token_id", None)
    ends = {getattr(tokenizer, name, None) for name in ("sep_token_id", "eos_token_id")} - {None}
    others = _non_words(tokenizer)
    kinds = []
    # The start token of a decoder is first even if the target has a [CLS].
    for i, token_id in enumerate(ids):
        if cls_id is not None and token_id == cls_id:
            kinds.append("cls")
        elif i == 0 and (token_id in others or cls_id not in ids):
            kinds.append("first")
        elif token_id in ends:
            kinds.append("sep")
        else:
            kinds.append("other" if token_id in others else "")
    return kinds


def _non_words(tokenizer: Any) -> set[int]:
    """Return the ids without text. The id of unknown words has text."""
    return set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}


def _words_by_mark(
    raw: Sequence[str], kind: SpellingKind, is_word: Sequence[bool]
) -> list[int | None]:
    words: list[int | None] = []
    word = -1
    for token, of_word in zip(raw, is_word, strict=True):
        if not of_word:
            words.append(None)
            continue
        begins = starts_word(token, kind)
        if begins is None or begins or not words or words[-1] is None:
            word += 1
        words.append(word)
    return words


def _numbered(words: Iterable[int | None], segments: Sequence[int]) -> tuple[int | None, ...]:
    """Number the words through both sentences, because tokenizers restart in the second one."""
    numbers: dict[tuple[int, int], int] = {}
    return tuple(
        None if word is None else numbers.setdefault((segment, word), len(numbers))
        for word, segment in zip(words, segments, strict=True)
    )
