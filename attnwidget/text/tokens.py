"""Tokens along one axis of an attention map, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from attnwidget.text.places import Box, Place
from attnwidget.text.unspaced_scripts import is_unspaced

#: Role of the tokens that a chat template adds around the messages.
TEMPLATE = "template"


@dataclass(frozen=True)
class Tokens:
    """Tokens along one axis of an attention map.

    All fields have one entry per token. `text` is readable (a character that is split over three
    tokens has "河 1/3", "…2/3" and "…3/3"), `raw` is the vocabulary entry, and `ids` are
    vocabulary ids (empty if there are no ids, as for image patches). `special` is "cls", "sep",
    "first" (position 0 of a model without [CLS]), "register" (a token of a vision model that is
    not a patch: register, distillation or detection token), "padding" (silence or empty pixels
    that a processor added), "other" or "". `segments` is 0 for sentence A and 1 for sentence B.
    `words` is the index of the token's word; special tokens have None, and each counts as a word.
    `is_line` is False for the patches of a picture or video: neighbors on their axis may be far
    apart in the picture, so distances along the axis have no meaning.

    `pieces` has the characters that each token adds to its word, including spaces; a character that
    is split over several tokens is in the piece of the first token. Without `pieces`, a token adds
    its text without "##". `words_known` is False if the vocabulary does not show words; each token
    then counts as a word.

    In a chat, `roles` has the role of each token's message ("system", "user", "assistant", "tool"),
    and `turns` the index of this message, from 0. Tokens that the chat template adds have the role
    "template" and the turn None. Both are empty for other inputs. `remark` explains how the input
    was read if this is not obvious, otherwise it is "". `n_cut` is the number of tokens that were
    cut off because the input was too long.

    `places` has the box in a picture, or the span of a sound, from which each token was made; None
    for a token without such a region. It is empty for texts.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> Tokens.plain(["[CLS]", "cats", "[SEP]"]).special
        ('cls', '', 'sep')
    """

    text: tuple[str, ...]
    raw: tuple[str, ...]
    ids: tuple[int, ...]
    special: tuple[str, ...]
    segments: tuple[int, ...]
    words: tuple[int | None, ...]
    is_line: bool = True
    pieces: tuple[str, ...] = ()
    words_known: bool = True
    roles: tuple[str, ...] = ()
    turns: tuple[int | None, ...] = ()
    remark: str = ""
    places: tuple[Place | None, ...] = ()
    n_cut: int = 0

    def __post_init__(self) -> None:
        lengths = {
            name: len(getattr(self, name))
            for name in ("text", "raw", "special", "segments", "words")
        }
        names = ("ids", "pieces", "roles", "turns", "places")
        optional = {name: len(getattr(self, name)) for name in names}
        if len(set(lengths.values())) > 1 or any(
            length not in (0, len(self.text)) for length in optional.values()
        ):
            raise ValueError(f"every field has one entry a token, got {lengths | optional}")

    @classmethod
    def plain(cls, text: Sequence[str], *, segments: Sequence[int] | None = None) -> Tokens:
        """Make tokens from texts; [CLS], [SEP] and wordpieces are recognized by their spelling.

        Args:
            text: Text of each of the n tokens.
            segments: 0 for each token of sentence A, 1 for each token of sentence B; None = all 0.

        Raises:
            ValueError: The lengths of `text` and `segments` differ.
        """
        special_kinds = {"[CLS]": "cls", "<s>": "cls", "[SEP]": "sep", "</s>": "sep"}
        special = [special_kinds.get(t, "") for t in text]
        if special and "cls" not in special and not special[0]:
            special[0] = "first"
        words: list[int | None] = []
        word = -1
        for token, kind in zip(text, special, strict=True):
            if kind in ("cls", "sep"):
                words.append(None)
            else:
                # A wordpiece at the beginning has no word to continue, so it starts a word.
                word += not (token.startswith("##") and words and words[-1] is not None)
                words.append(word)
        return cls(
            text=tuple(text),
            raw=tuple(text),
            ids=(),
            special=tuple(special),
            segments=tuple(segments) if segments is not None else (0,) * len(text),
            words=tuple(words),
        )

    def __len__(self) -> int:
        return len(self.text)

    @property
    def are_along_line(self) -> bool:
        """Whether distances along the axis have a meaning for every token.

        False if there are picture patches, even inside the text of a language model.
        """
        return self.is_line and not any(isinstance(place, Box) for place in self.places)

    def word_groups(self) -> list[list[int]]:
        """Return the token indices of each word, in order: a partition of all tokens.

        Neighbors with the same word index and sentence form one word; a special token is a word.
        """
        return [list(group) for group in self._groups]

    def pieces_of_word(self, index: int) -> list[int]:
        """Return the indices of all tokens in the word of a token.

        In scripts without spaces between words, each token is a separate word.

        Args:
            index: Index of the token.

        Example:
            >>> from attnwidget.text.tokens import Tokens
            >>> Tokens.plain(["[CLS]", "math", "##em", "##atic", "[SEP]"]).pieces_of_word(2)
            [1, 2, 3]
        """
        group = next(group for group in self._groups if index in group)
        is_phrase = is_unspaced("".join(self.added[i] for i in group))
        return [index] if is_phrase else list(group)

    def rest_of_word(self, index: int) -> list[int]:
        """Return the indices of a token and the following tokens of the same word.

        Args:
            index: Index of the token.

        Example:
            >>> from attnwidget.text.tokens import Tokens
            >>> Tokens.plain(["[CLS]", "math", "##em", "##atic", "[SEP]"]).rest_of_word(2)
            [2, 3]
        """
        return [i for i in self.pieces_of_word(index) if i >= index]

    def to_words(self) -> Tokens:
        """Return the axis with one entry per word, which joins its tokens without "##"."""
        return self._as_words

    # Figures request the words of the same axis dozens of times.
    @cached_property
    def _groups(self) -> tuple[tuple[int, ...], ...]:
        groups: list[list[int]] = []
        for i in range(len(self)):
            if i and self._goes_on(i):
                groups[-1].append(i)
            else:
                groups.append([i])
        return tuple(map(tuple, groups))

    @cached_property
    def _as_words(self) -> Tokens:
        groups = self._groups
        first_tokens = [group[0] for group in groups]
        pieces = self.added
        return Tokens(
            text=tuple(
                _visible("".join(pieces[i] for i in group), [self.text[i] for i in group])
                for group in groups
            ),
            raw=tuple(" ".join(self.raw[i] for i in group) for group in groups),
            ids=(),
            special=tuple(self.special[i] for i in first_tokens),
            segments=tuple(self.segments[i] for i in first_tokens),
            words=tuple(None if self.words[i] is None else k for k, i in enumerate(first_tokens)),
            is_line=self.is_line,
            words_known=self.words_known,
            roles=tuple(self.roles[i] for i in first_tokens) if self.roles else (),
            turns=tuple(self.turns[i] for i in first_tokens) if self.turns else (),
            remark=self.remark,
            places=tuple(self.places[i] for i in first_tokens) if self.places else (),
        )

    def in_chat(self, roles: Sequence[str], turns: Sequence[int | None]) -> Tokens:
        """Return the tokens with roles and turns; a word that spans two turns is split.

        Args:
            roles: Role of each of the n tokens, "template" for tokens of the template.
            turns: Message index of each token, None for tokens of the template.

        Raises:
            ValueError: There are not n roles and n turns.

        Example:
            >>> from attnwidget.text.tokens import Tokens
            >>> tokens = Tokens.plain(["<bos>", "Hi", "##!"])
            >>> tokens.in_chat(["template", "user", "user"], [None, 0, 0]).roles
            ('template', 'user', 'user')
        """
        numbers: dict[tuple[int, str, int | None], int] = {}
        words = tuple(
            None if word is None else numbers.setdefault((word, role, turn), len(numbers))
            for word, role, turn in zip(self.words, roles, turns, strict=True)
        )
        return replace(
            self,
            words=words,
            pieces=self.added if self.words != words else self.pieces,
            roles=tuple(roles),
            turns=tuple(turns),
        )

    @property
    def added(self) -> tuple[str, ...]:
        """Characters that each token adds to its word.

        Example:
            >>> from attnwidget.text.tokens import Tokens
            >>> Tokens.plain(["cat", "##s"]).added
            ('cat', 's')
        """
        if self.pieces:
            return self.pieces
        # Some vocabularies have a token for a single space, which is displayed as "␣".
        texts = [" " if text == "␣" else text for text in self.text]
        return tuple(
            text.removeprefix("##") if index and self._goes_on(index) else text
            for index, text in enumerate(texts)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return only the fields, without cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _goes_on(self, place: int) -> bool:
        """Return whether a token belongs to the same word as the previous token."""
        word = self.words[place]
        previous = place - 1
        return (
            word is not None
            and word == self.words[previous]
            and self.segments[place] == self.segments[previous]
        )


def _visible(word: str, texts: Sequence[str]) -> str:
    """Return a word without surrounding spaces, or its token texts if nothing else is visible."""
    word = word.strip()
    if any(character.isprintable() and not character.isspace() for character in word):
        return word
    return "".join(texts)
