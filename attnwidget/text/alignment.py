"""Alignment of two token sequences on one common axis."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.tokens import Tokens


def common_subsequence(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> list[tuple[int, int]]:
    """Return a longest common subsequence as pairs (position in `first`, position in `second`).

    Among alignments of equal length, return the earliest. Time and memory are quadratic in the
    length of the part between the common beginning and the common end.

    Args:
        first: Sequence of items that can be compared.
        second: Sequence of items that can be compared.

    Example:
        >>> from attnwidget.text.alignment import common_subsequence
        >>> common_subsequence("the cat sits".split(), "the old cat sat".split())
        [(0, 0), (1, 2)]
    """
    begin = 0
    while begin < min(len(first), len(second)) and first[begin] == second[begin]:
        begin += 1
    end = 0
    while end < min(len(first), len(second)) - begin and first[-1 - end] == second[-1 - end]:
        end += 1
    a = first[begin : len(first) - end]
    b = second[begin : len(second) - end]
    longest = _longest(a, b)
    pairs = [(position, position) for position in range(begin)]
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((begin + i, begin + j))
            i, j = i + 1, j + 1
        elif longest[i + 1, j] >= longest[i, j + 1]:
            i += 1
        else:
            j += 1
    pairs += [(len(first) - k, len(second) - k) for k in range(end, 0, -1)]
    return pairs


def _longest(a: Sequence[Hashable], b: Sequence[Hashable]) -> NDArray[np.integer[Any]]:
    """Return an array whose cell [i, j] is the longest common length of a[i:] and b[j:]."""
    codes: dict[Hashable, int] = {}
    first, second = (
        np.array([codes.setdefault(item, len(codes)) for item in sequence], np.int64)
        for sequence in (a, b)
    )
    small = min(len(a), len(b)) < np.iinfo(np.uint16).max
    longest = np.zeros((len(a) + 1, len(b) + 1), np.uint16 if small else np.int32)
    for i in range(len(a) - 1, -1, -1):
        next_row = longest[i + 1]
        best = np.where(first[i] == second, next_row[1:] + 1, next_row[:-1])
        longest[i, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    return longest


@dataclass(frozen=True)
class SharedAxis:
    """Common axis of two axes, on which tokens that both axes have occur once.

    Two tokens are equal if their texts and sentences are equal. Special tokens are equal if their
    kinds are equal, so that words of different tokenizers can be compared.

    Attributes:
        first: The n tokens of the first axis.
        second: The m tokens of the second axis.

    Example:
        >>> from attnwidget.text.alignment import SharedAxis
        >>> from attnwidget.text.tokens import Tokens
        >>> texts = "[CLS] the cat sits", "[CLS] the cats sit"
        >>> axis = SharedAxis(*(Tokens.plain(text.split()) for text in texts))
        >>> axis.tokens.text, axis.places
        (('[CLS]', 'the', 'cat', 'sits', 'cats', 'sit'), ([0, 1, 2, 3], [0, 1, 4, 5]))
        >>> axis.pairs
        [(0, 0), (1, 1)]
    """

    first: Tokens
    second: Tokens

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions of the common tokens, as pairs (position in `first`, position in `second`)."""
        return common_subsequence(_names(self.first), _names(self.second))

    @cached_property
    def is_same(self) -> bool:
        """Whether both axes have the same tokens."""
        return len(self.pairs) == len(self.first) == len(self.second)

    @cached_property
    def _order(self) -> list[tuple[int | None, int | None]]:
        """Positions in `first` and `second` for each token of the common axis, or None."""
        pairs: list[tuple[int | None, int | None]] = []
        i = j = 0
        for a, b in [*self.pairs, (len(self.first), len(self.second))]:
            pairs += [(k, None) for k in range(i, a)] + [(None, k) for k in range(j, b)]
            if a < len(self.first):
                pairs.append((a, b))
            i = a + 1
            j = b + 1
        return pairs

    @property
    def places(self) -> tuple[list[int], list[int]]:
        """Positions of the tokens of `first`, and of `second`, on the common axis."""
        positions: tuple[list[int], list[int]] = [], []
        for position, pair in enumerate(self._order):
            for side_positions, token in zip(positions, pair, strict=True):
                if token is not None:
                    side_positions.append(position)
        return positions

    @property
    def alone(self) -> tuple[list[int], list[int]]:
        """Positions on the common axis of the tokens that only one of the two axes has."""
        position_sets = [{*positions} for positions in self.places]
        return sorted(position_sets[0] - position_sets[1]), sorted(
            position_sets[1] - position_sets[0]
        )

    @cached_property
    def tokens(self) -> Tokens:
        """Tokens of the common axis, with the words of the original axes."""
        if self.is_same:
            return self.first
        sources = [
            (self.first, a) if a is not None else (self.second, b or 0) for a, b in self._order
        ]
        source_ids = [id(source) for source, _ in sources]
        words: list[int | None] = []
        for index, (source, i) in enumerate(sources):
            token = source.words[i]
            continues = (
                index
                and source_ids[index] == source_ids[index - 1]
                and token == source.words[i - 1]
                and i
            )
            last_word = next((word for word in reversed(words) if word is not None), -1)
            words.append(None if token is None else last_word if continues else last_word + 1)
        fields: dict[str, Any] = {
            name: tuple(getattr(source, name)[i] for source, i in sources)
            for name in ("text", "raw", "special", "segments", "added")
        }
        are_chats = bool(self.first.roles and self.second.roles)
        fields["pieces"] = fields.pop("added")
        return replace(
            self.first,
            ids=(),
            words=tuple(words),
            words_known=self.first.words_known and self.second.words_known,
            is_line=self.first.is_line and self.second.is_line,
            roles=tuple(source.roles[i] for source, i in sources if are_chats),
            turns=tuple(source.turns[i] for source, i in sources if are_chats),
            # The regions of `second` belong to other pictures, so leave them out.
            places=tuple(
                source.places[i] if source is self.first else None
                for source, i in sources
                if self.first.places
            ),
            **fields,
        )


def _names(tokens: Tokens) -> list[tuple[str, int]]:
    """Return one key per token; tokens of two axes are equal if their keys are equal."""
    kinds = [kind if kind in ("cls", "sep") else "" for kind in tokens.special]
    # Later parts of a split character add no text and all look like "…2/3", so add the raw token.
    texts = [
        text if piece else f"{text} {raw}"
        for text, piece, raw in zip(tokens.text, tokens.added, tokens.raw, strict=True)
    ]
    return [
        (f"[{kind}]" if kind else text, segment)
        for kind, text, segment in zip(kinds, texts, tokens.segments, strict=True)
    ]
