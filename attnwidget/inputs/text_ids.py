"""Conversion of texts to vocabulary ids, the same way for single texts and for studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from attnwidget.inputs.special_token_template import NO_TEMPLATE, Template, types_of
from attnwidget.inputs.vocabulary_spelling import Spelling
from attnwidget.text.running_text import RunningText
from attnwidget.text.segments import Segment

T = TypeVar("T")


@dataclass(frozen=True)
class TextEncoding:
    """Encoding of a text or a pair with its special tokens.

    Attributes:
        encoding: Output of the tokenizer.
        before: Special tokens that the tokenizer left out before the text.
        after: Special tokens that the tokenizer left out after the text.
        n_doubled: Numbers of special tokens that the tokenizer added at the beginning and at the
            end, although the text already has them.
    """

    encoding: Any
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    n_doubled: tuple[int, int] = (0, 0)

    @property
    def ids(self) -> list[int]:
        """The n vocabulary ids, with all special tokens."""
        return [*self.before, *self._once(self.encoding["input_ids"]), *self.after]

    @property
    def types(self) -> list[int] | None:
        """Type of each token; None if the tokenizer has no token types."""
        types = types_of(self.encoding)
        return types and self.around(types, types[0], types[-1])

    def around(self, values: Sequence[T], before: T, after: T) -> list[T]:
        """Return values for the n tokens, from values for the tokens of `encoding`."""
        inner_values = self._once(values)
        return [*[before] * len(self.before), *inner_values, *[after] * len(self.after)]

    def _once(self, values: Sequence[T]) -> Sequence[T]:
        """Return values for the tokens of `encoding`, without the doubled tokens."""
        first, last = self.n_doubled
        return values[first : len(values) - last]


class TextIds:
    """Converter of texts to vocabulary ids, for one tokenizer.

    Every function that reads a text uses this class: `attend`, lists of words, corpus segments, and
    treebank sentences. A text therefore has the same ids everywhere.

    Args:
        tokenizer: Hugging Face tokenizer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.text_ids import TextIds
        >>> texts = TextIds(load_model().tokenizer)
        >>> ids = texts.alone("Cats purr.")
        >>> texts.template(pair=False).ids(ids, []) == texts.encoded("Cats purr.").ids
        True
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._templates: dict[bool, Template] = {}

    def alone(self, text: str) -> list[int]:
        """Return the ids for a text of any length, without special tokens."""
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def inside(self, text: str) -> list[int]:
        """Return the ids between the special tokens around a text.

        Special tokens at the beginning and the end of the text are left out if the template writes
        the same tokens there.
        """
        ids = self.alone(text)
        first, last = self._n_doubled(ids)
        return ids[first : len(ids) - last]

    def _n_doubled(self, ids: Sequence[int], pair: bool = False) -> tuple[int, int]:
        """Return the numbers of leading and trailing ids that a tokenizer would write again."""
        try:
            template = self.template(pair=pair)
        except ValueError:
            return 0, 0
        n_before, n_after = len(template.before), len(template.after)
        has_prefix = tuple(ids[:n_before]) == template.before and len(ids) > n_before
        has_suffix = tuple(ids[len(ids) - n_after :]) == template.after and len(ids) > n_after
        return n_before * has_prefix, n_after * has_suffix

    def entries(self, ids: Sequence[int]) -> list[str]:
        """Return the vocabulary entries of ids."""
        return [str(token) for token in self.tokenizer.convert_ids_to_tokens(list(ids))]

    def with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of `alone`, and each token's first character and end.

        Only fast tokenizers report the offsets of tokens.
        """
        encoding = self.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return list(encoding["input_ids"]), list(encoding["offset_mapping"])

    def encoded(
        self,
        text: str,
        pair: str | None = None,
        *,
        max_tokens: int | None = None,
        target: bool = False,
    ) -> TextEncoding:
        """Return the encoding of a text or a pair with special tokens.

        Args:
            text: Text to encode.
            pair: Second sentence.
            max_tokens: Number of tokens to which a longer input is cut; None for no cut.
            target: Whether the text is for the decoder.

        Raises:
            ValueError: The tokenizer needs more than a text, such as boxes or a table.
        """
        before, after = ((), ()) if pair is None else self._left_out_of_pairs
        names = ("text_target", "text_pair_target") if target else ("text", "text_pair")
        options: dict[str, Any] = {names[0]: text, "verbose": False}
        if pair is not None:
            options[names[1]] = pair
        if max_tokens is not None:
            max_length = max_tokens - len(before) - len(after)
            options |= {"truncation": True, "max_length": max_length}
        is_fast = bool(getattr(self.tokenizer, "is_fast", False))
        try:
            encoding = self.tokenizer(**options, return_offsets_mapping=is_fast)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{type(self.tokenizer).__name__} does not read a text alone ({error}): pass a "
                "dict of inputs, attend(tokenizer(...))"
            ) from error
        # A text may already have the special tokens that the tokenizer adds, for example if a chat
        # template wrote the text.
        ids = [*before, *encoding["input_ids"], *after]
        n_first, n_last = self._n_doubled(ids, pair is not None)
        n_doubled = self._n_doubled(ids[n_first : len(ids) - n_last], pair is not None)
        return TextEncoding(encoding, before, after, n_doubled)

    def template(self, *, pair: bool) -> Template:
        """Return the special tokens around a text or a pair.

        Raises:
            ValueError: The tokenizer splits a text differently if it adds special tokens.
        """
        if pair not in self._templates:
            self._templates[pair] = Template.from_tokenizer(self.tokenizer, pair=pair)
        return self._templates[pair]

    def template_of(self, segment: Segment) -> Template:
        """Return the special tokens around a segment; a chat already has its special tokens."""
        return NO_TEMPLATE if segment.roles else self.template(pair=bool(segment.second))

    def as_read(self, text: RunningText) -> RunningText:
        """Return words with the spaces that this vocabulary reads.

        A vocabulary that marks or reads spaces gets the text as written. Other vocabularies split
        at every space and at punctuation, and would join words without a space ("does" and "n't"
        become "doesn" and "t"). They get a space between all words, as in Clark et al. 2019,
        section 4.1.
        """
        return text if self.reads_spaces else text.with_spaces

    @cached_property
    def reads_spaces(self) -> bool:
        """Whether the ids of a text show where its spaces are."""
        if Spelling.from_tokenizer(self.tokenizer).kind != "plain":
            return True
        return self.alone("a  a") != self.alone("a a")

    @cached_property
    def _left_out_of_pairs(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Special tokens that the tokenizer should put before and after a pair, but leaves out."""
        try:
            template = self.template(pair=True)
        except ValueError:
            # Studies refuse such a tokenizer. For single inputs, use the tokenizer's own output.
            return (), ()
        if template.n_special == self.tokenizer.num_special_tokens_to_add(pair=True):
            return (), ()
        return template.before, template.after
