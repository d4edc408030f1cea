"""Axes of attention maps, from vocabulary ids, image patches or plain strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from attnwidget.inputs.token_boundaries import found_words, unknown_id
from attnwidget.inputs.vocabulary_spelling import Spelling, readable
from attnwidget.text.tokens import Tokens


def token_axis(
    tokenizer: Any,
    ids: Sequence[int],
    *,
    word_ids: Sequence[int | None] | None = None,
    segments: Sequence[int] | None = None,
) -> Tokens:
    """Return the axis of `ids`, spelled by `tokenizer`.

    Args:
        tokenizer: Hugging Face tokenizer.
        ids: Vocabulary ids of the n tokens.
        word_ids: Word index of each token if words are known, None for special tokens. Without
            `word_ids`, the words are found from the ids (`found_words`).
        segments: Sentence of each token, 0 for A or 1 for B; None for all 0.

    Example:
        >>> from attnwidget import load_model
        >>> tokenizer = load_model().tokenizer
        >>> token_axis(tokenizer, tokenizer("Cats purr.").input_ids).special
        ('cls', '', '', '', '', 'sep')
    """
    spelling = Spelling.from_tokenizer(tokenizer)
    raw = [str(token) for token in tokenizer.convert_ids_to_tokens(list(ids))]
    non_words = _non_words(tokenizer)
    is_word = [token_id not in non_words for token_id in ids]
    segments = tuple(segments) if segments is not None else (0,) * len(raw)
    token_words = found_words(spelling, raw, is_word, segments, tokenizer, ids)
    words: Sequence[int | None] = token_words.words
    if word_ids is not None:
        words = [
            word if has_text else None for word, has_text in zip(word_ids, is_word, strict=True)
        ]
    pieces = token_words.pieces
    if token_words.whole_words and _numbered(words, segments) != tuple(token_words.words):
        pieces = [readable(token, spelling.kind) for token in raw]
    axis = Tokens(
        text=_texts(spelling, raw, token_words.shares),
        raw=tuple(raw),
        ids=tuple(int(i) for i in ids),
        special=tuple(_special_kinds(tokenizer, ids, non_words)),
        segments=segments,
        words=_numbered(words, segments),
        words_known=token_words.known or word_ids is not None,
    )
    return _with_pieces(axis, pieces)


def entry_names(tokenizer: Any, ids: Sequence[int]) -> list[tuple[str, str]]:
    """Return the readable form and the entry of vocabulary ids that are not running text.

    Parts of a character in two entries are not joined, unlike in `token_axis`, which joins the
    parts in a text.

    Args:
        tokenizer: Hugging Face tokenizer.
        ids: Vocabulary ids.

    Example:
        >>> from attnwidget import load_model
        >>> entry_names(load_model().tokenizer, [2, 100])[0]
        ('[CLS]', '[CLS]')
    """
    kind = Spelling.from_tokenizer(tokenizer).kind
    entries = [str(token) for token in tokenizer.convert_ids_to_tokens(list(ids))]
    return [(readable(entry, kind), entry) for entry in entries]


def plain_axis(tokens: Sequence[str], segments: Sequence[int] | None = None) -> Tokens:
    """Return the axis of tokens passed as strings; spelling shows special tokens and words.

    Raises:
        TypeError: `tokens` is a text in place of tokens, or a token is neither a string nor a
            number.
    """
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise TypeError(f"tokens must be a list of strings, one per token, got {tokens!r}")
    tokens = list(tokens)
    for index, token in enumerate(tokens):
        if not isinstance(token, (str, Integral)):
            raise TypeError(f"token {index} is {token!r}: expected a string")
    raw = [str(token) for token in tokens]
    axis = Tokens.plain(raw, segments=segments)
    spelling = Spelling.guessed(raw)
    is_word = [special not in ("cls", "sep", "other") for special in axis.special]
    token_words = found_words(spelling, raw, is_word, axis.segments)
    axis = replace(
        axis,
        text=_texts(spelling, raw, token_words.shares),
        words=_numbered(token_words.words, axis.segments),
    )
    return _with_pieces(axis, token_words.pieces)


def _texts(spelling: Spelling, raw: Sequence[str], shares: Sequence[str]) -> tuple[str, ...]:
    """Return the readable texts of tokens; tokens with a part of a character show this part."""
    return tuple(
        share or readable(token, spelling.kind) for token, share in zip(raw, shares, strict=True)
    )


def _with_pieces(axis: Tokens, pieces: Sequence[str]) -> Tokens:
    """Return the axis with pieces, unless they follow from the texts of its tokens."""
    return axis if axis.added == tuple(pieces) else replace(axis, pieces=tuple(pieces))


def patch_axis(
    patches: Sequence[tuple[int, int, int] | None],
    others: Sequence[str],
    frames: Sequence[str],
) -> Tokens:
    """Return the axis of a picture or a video: a token per patch, and tokens that are not patches.

    Args:
        patches: Frame, row and column of each token's patch; None for tokens that are not patches.
        others: Name of each token that is not a patch, or "".
        frames: Name prefix of the patches in each frame.

    Example:
        >>> patch_axis([None, (0, 0, 0), (0, 0, 1)], ["[CLS]", "", ""], [""]).text
        ('[CLS]', 'r0c0', 'r0c1')
    """
    names = [
        other if patch is None else patch_name(patch, frames)
        for patch, other in zip(patches, others, strict=True)
    ]
    word_numbers = iter(range(len(patches)))
    return replace(
        position_axis(len(patches), is_line=False),
        text=tuple(names),
        raw=tuple(names),
        special=tuple(
            "" if patch is not None else _kind_of(name)
            for patch, name in zip(patches, names, strict=True)
        ),
        words=tuple(None if patch is None else next(word_numbers) for patch in patches),
    )


def with_padding(tokens: Tokens, count: int) -> Tokens:
    """Return an axis with padding tokens at its end.

    Args:
        tokens: Axis without padding.
        count: Number of padding tokens.

    Example:
        >>> with_padding(patch_axis([(0, 0, 0), (0, 0, 1)], ["", ""], [""]), 1).text
        ('r0c0', 'r0c1', '[PAD]')
    """
    if not count:
        return tokens
    names = ("[PAD]",) * count
    return replace(
        tokens,
        text=tokens.text + names,
        raw=tokens.raw + names,
        special=tokens.special + ("padding",) * count,
        segments=tokens.segments + (0,) * count,
        words=tokens.words + (None,) * count,
        places=tokens.places + (None,) * count if tokens.places else (),
    )


def with_parts(tokens: Tokens, parts: Mapping[int, tuple[str | None, str]]) -> Tokens:
    """Return the axis of a text in which picture or sound parts have names and kinds.

    A part without a special kind is a word.

    Args:
        tokens: Axis of the text.
        parts: Name (None keeps the token's name) and special kind (or "") of each part, by its
            index.

    Example:
        >>> axis = with_parts(plain_axis(["[CLS]", "<image>", "cat"]), {1: ("r0c0", "")})
        >>> axis.text, axis.words
        (('[CLS]', 'r0c0', 'cat'), (None, 0, 1))
    """
    text = list(tokens.text)
    special = list(tokens.special)
    pieces = list(tokens.added)
    words = list(tokens.words)
    for i, (name, kind) in parts.items():
        if name is not None:
            text[i] = pieces[i] = name
        special[i] = kind
        # Use negative numbers, because words of the text have numbers from 0 on.
        words[i] = -1 - i
    words = [None if kind else word for word, kind in zip(words, special, strict=True)]
    return replace(
        tokens,
        text=tuple(text),
        special=tuple(special),
        words=_numbered(words, (0,) * len(words)),
        pieces=tuple(pieces),
    )


def with_text(axis: Tokens, tokens: Tokens, positions: Sequence[int]) -> Tokens:
    """Return an axis on which some positions are the tokens of a text.

    Args:
        axis: Axis of all tokens, such as words and patches.
        tokens: Tokens of the text.
        positions: Index on the axis for each token of the text.

    Example:
        >>> page = patch_axis([None, (0, 0, 0), (0, 0, 1)], ["[0]", "", ""], [""])
        >>> with_text(page, plain_axis(["cat"]), [0]).text
        ('cat', 'r0c0', 'r0c1')
    """
    text_indices = dict(zip(positions, range(len(tokens)), strict=True))

    def joined(theirs: Sequence[Any], own: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            own[text_indices[i]] if i in text_indices else value for i, value in enumerate(theirs)
        )

    words = joined([None if word is None else -1 - word for word in axis.words], tokens.words)
    segments = joined(axis.segments, tokens.segments)
    return replace(
        axis,
        text=joined(axis.text, tokens.text),
        raw=joined(axis.raw, tokens.raw),
        special=joined(axis.special, tokens.special),
        segments=segments,
        words=_numbered(words, segments),
        pieces=joined(axis.added, tokens.added),
        is_line=False,
        words_known=tokens.words_known,
        remark=", ".join(filter(None, [tokens.remark, axis.remark])),
    )


def patch_name(patch: tuple[int, int, int], frames: Sequence[str]) -> str:
    """Return the name of a patch: the prefix of its frame, its row and its column.

    Args:
        patch: Frame, row and column of the patch.
        frames: Name prefix of the patches in each frame.

    Example:
        >>> patch_name((1, 0, 3), ["t0 ", "t1 "])
        't1 r0c3'
    """
    frame, row, column = patch
    return f"{frames[frame]}r{row}c{column}"


def _kind_of(name: str) -> str:
    """Return the kind of a token that is not a patch."""
    if name == "[CLS]":
        return "cls"
    return "register" if name.startswith(("[REG", "[DIST", "[DET")) else "other"


def region_axis(length: int, kind: str) -> Tokens:
    """Return the axis for tokens that the caller made from input parts, such as regions.

    Args:
        length: Number of tokens.
        kind: Kind of the parts, as a noun.

    Example:
        >>> region_axis(2, "region").text
        ('region 0', 'region 1')
    """
    names = tuple(f"{kind} {i}" for i in range(length))
    return replace(position_axis(length, is_line=False), text=names, raw=names)


def position_axis(length: int, *, is_line: bool = True) -> Tokens:
    """Return an axis of positions, for inputs without names, such as sound frames.

    Args:
        length: Number of tokens.
        is_line: Whether neighbors on the axis are neighbors in the input (`Tokens.is_line`).
    """
    text = tuple(str(i) for i in range(length))
    empty = ("",) * length
    return Tokens(text, text, (), empty, (0,) * length, tuple(range(length)), is_line)


def _special_kinds(tokenizer: Any, ids: Sequence[int], others: set[int]) -> list[str]:
    cls_id = getattr(tokenizer, "cls_token_id", None)
    ends = {getattr(tokenizer, name, None) for name in ("sep_token_id", "eos_token_id")} - {None}
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
    """Return the ids of tokens without text."""
    # M2M100 does not count language names among its special tokens.
    languages = getattr(tokenizer, "id_to_lang_token", ())
    return {*tokenizer.all_special_ids, *languages} - {unknown_id(tokenizer)}


def _numbered(words: Iterable[int | None], segments: Sequence[int]) -> tuple[int | None, ...]:
    """Return word numbers that continue in the second sentence, where tokenizers restart."""
    numbers: dict[tuple[int, int], int] = {}
    return tuple(
        None if word is None else numbers.setdefault((segment, word), len(numbers))
        for word, segment in zip(words, segments, strict=True)
    )
