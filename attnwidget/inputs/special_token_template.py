"""Special tokens that a tokenizer puts before, between and after texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


def types_of(encoding: Mapping[str, Any]) -> list[int] | None:
    """Return the token type of each id in an encoding; None if the tokenizer has no token types.

    Some Python tokenizers count token types without the special tokens. These types belong to
    different ids, so they are ignored.

    Example:
        >>> from attnwidget.inputs.special_token_template import types_of
        >>> types_of({"input_ids": [1, 5, 2], "token_type_ids": [0]}) is None
        True
    """
    types = encoding.get("token_type_ids")
    return list(types) if types and len(types) == len(encoding["input_ids"]) else None


@dataclass(frozen=True)
class Template:
    """Special tokens around one text or a pair, as vocabulary ids.

    `types` lists the token types of `before`, text A, `between`, text B and `after`; None if the
    tokenizer has no token types.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.special_token_template import Template
        >>> Template.from_tokenizer(load_model().tokenizer, pair=True).ids([10, 11], [12])
        [2, 10, 11, 3, 12, 3]
    """

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[tuple[int, ...], int, tuple[int, ...], int, tuple[int, ...]] | None

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, *, pair: bool) -> Template:
        """Return the template, read from an example, which works for every tokenizer.

        Many tokenizers have a template for texts but none for pairs, and put no special tokens
        around a pair. The pair then gets the special tokens before and after a text.

        Raises:
            ValueError: The tokenizer splits a text differently if it adds special tokens.
        """
        template = cls._of_example(tokenizer, pair=pair)
        if not pair or template.n_special:
            return template
        single = cls._of_example(tokenizer, pair=False)
        types = template.types and (
            (template.types[1],) * len(single.before),
            template.types[1],
            (),
            template.types[3],
            (template.types[3],) * len(single.after),
        )
        return replace(template, before=single.before, after=single.after, types=types)

    @classmethod
    def _of_example(cls, tokenizer: Any, *, pair: bool) -> Template:
        first, second = (list(tokenizer(t, add_special_tokens=False)["input_ids"]) for t in "ab")
        encoded = tokenizer("a", "b") if pair else tokenizer("a")
        ids = list(encoded["input_ids"])
        types = types_of(encoded)
        start = _find(first, ids, 0)
        end = start + len(first)
        start_second = _find(second, ids, end) if pair else end
        end_second = start_second + len(second) * pair
        return cls(
            tuple(ids[:start]),
            tuple(ids[end:start_second]),
            tuple(ids[end_second:]),
            None
            if types is None
            else (
                tuple(types[:start]),
                types[start],
                tuple(types[end:start_second]),
                types[start_second] if pair else 0,
                tuple(types[end_second:]),
            ),
        )

    @property
    def n_special(self) -> int:
        """Number of special tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    def ids(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Return the ids of `first` and `second`, with special tokens."""
        return [*self.before, *first, *self.between, *second, *self.after]

    def token_types(self, n_first: int, n_second: int) -> list[int]:
        """Return the token type of each id in `ids`; all 0 if the tokenizer has no token types."""
        before, first, between, second, after = self.types or (
            (0,) * len(self.before),
            0,
            (0,) * len(self.between),
            0,
            (0,) * len(self.after),
        )
        return [*before, *[first] * n_first, *between, *[second] * n_second, *after]

    def sentences(self, n_first: int, n_second: int) -> list[int]:
        """Return the sentence of each token: 0 for A and tokens around it, 1 for B and after it."""
        if not n_second:
            return [0] * (len(self.before) + n_first + len(self.after))
        n_before = len(self.before) + n_first + len(self.between)
        return [0] * n_before + [1] * (n_second + len(self.after))


#: Template of inputs that already have their special tokens.
NO_TEMPLATE = Template((), (), (), None)


def _find(part: list[int], whole: list[int], start: int) -> int:
    for position in range(start, len(whole) - len(part) + 1):
        if whole[position : position + len(part)] == part:
            return position
    raise ValueError(
        "the tokenizer changes texts when it adds special tokens, so segments cannot be built for "
        "this model: pass texts to attend"
    )
