"""WordAttention: the attention of one input between words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.head_maps import HeadMaps
from attnwidget.capture.maps.named_rows import ROWS_OF_A_TOKEN, named_rows
from attnwidget.capture.maps.stack_axes import Stack, checked_place
from attnwidget.capture.maps.stack_maps import StackMaps, word_of_tokens
from attnwidget.capture.maps.top_links import Part, Sentences, largest_links, top_links
from attnwidget.capture.maps.weights_frame import frame_of_maps
from attnwidget.capture.tapping.head import Head, HeadName, names_head, takes_head
from attnwidget.hidden_frames import hides_frames
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.word_weights import word_weights
from attnwidget.text.counted import counted
from attnwidget.text.missing_names import MissingNames
from attnwidget.text.option_names import other_options
from attnwidget.text.place_of_token import TokenName

if TYPE_CHECKING:
    import pandas as pd


class WordAttention(MissingNames):
    """The maps of an `Attention` between words: `attention.words`.

    A value to a word is the sum over the word's tokens, and a value from a word is the mean over
    its tokens (Clark et al. 2019, section 4.1). Row sums do not change. A special token counts as
    a word. The methods equal those of `Attention`, with words in place of tokens.

    Attributes:
        head_maps: Maps between tokens.
        stacks: Stacks of layers by name, with words on both axes.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The otters purred.")
        >>> attention.tokens
        ['[CLS]', 'the', 'otter', '##s', 'pu', '##rre', '##d', '.', '[SEP]']
        >>> attention.words.tokens
        ['[CLS]', 'the', 'otters', 'purred', '.', '[SEP]']
        >>> attention.words.weights(2, 8).shape
        (6, 6)
    """

    def __init__(self, head_maps: HeadMaps) -> None:
        self.head_maps = head_maps

    @cached_property
    def stacks(self) -> dict[str, Stack]:
        """The stacks of layers by name, with words on both axes."""
        return {
            name: replace(stack, query=stack.query.to_words(), key=stack.key.to_words())
            for name, stack in self.head_maps.stacks.items()
        }

    @property
    def tokens(self) -> list[str]:
        """The attending words of the first stack."""
        return list(next(iter(self.stacks.values())).query.text)

    @property
    def special(self) -> list[str]:
        """Kind of each of `tokens`: "cls", "sep", "first", "other" or ""."""
        return list(next(iter(self.stacks.values())).query.special)

    @hides_frames
    def weights(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return word weights: [Q, K] of a head, [H, Q, K] of a layer, [L, H, Q, K] of a stack.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`. None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or the maps do not fit the memory.

        Example:
            >>> from attnwidget import load_model
            >>> words = load_model().attend("The otters purred.").words
            >>> words.weights(2, 8).shape, words.weights(2).shape
            ((6, 6), (12, 6, 6))
        """
        return self._of("weights", layer, head, stack)

    @hides_frames
    def norms(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return norms ||a f(x)|| between words (`Attention.norms`), in the forms of `weights`.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`. None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: As in `Attention.norms`.

        Example:
            >>> from attnwidget import load_model
            >>> load_model().attend("The otters purred.").words.norms(2, 8).shape
            (6, 6)
        """
        return self._of("norms", layer, head, stack)

    @hides_frames
    def gradients(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return |dL/da| between words (`Attention.gradients`), in the forms of `weights`.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`. None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: As in `Attention.gradients`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The otters purred.", loss="masked")
            >>> attention.words.gradients(2, 8).shape
            (6, 6)
        """
        return self._of("gradients", layer, head, stack)

    @hides_frames
    def map(
        self,
        quantity: str,
        layer: int | HeadName,
        head: int | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return one head's map of "weights", "norms" or "gradients" between words, [Q, K].

        Args:
            quantity: Quantity of the map: "weights", "norms" or "gradients".
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`.
            head: Head; None if `layer` is the name of a head.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or the quantity is unknown.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The otters purred.")
            >>> attention.words.map("norms", 2, 8).shape
            (6, 6)
        """
        head_name = self.head_maps.head_in(stack, layer, head)
        return self._of(quantity, head_name.layer, head_name.head, head_name.stack)

    @overload
    def rows(
        self,
        head: HeadName,
        query: TokenName | Sequence[TokenName],
        key: TokenName | Sequence[TokenName] | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array: ...

    @overload
    def rows(
        self,
        layer: int | str | None = None,
        *,
        query: TokenName | Sequence[TokenName],
        key: TokenName | Sequence[TokenName] | None = None,
        stack: str | None = None,
    ) -> Float32Array: ...

    @overload
    def rows(
        self,
        layer: int,
        head: int,
        query: TokenName | Sequence[TokenName],
        key: TokenName | Sequence[TokenName] | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array: ...

    @hides_frames
    @takes_head
    def rows(
        self,
        layer: int | HeadName | None = None,
        head: int | None = None,
        query: Any = None,
        key: Any = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return rows of one head's map between words, in the forms of `Attention.rows`.

        Args:
            layer: Layer or layer name, "L1", or a head name in place of layer and head; None for
                all layers.
            head: Head; left out if `layer` is the name of a head, or for all heads of a layer.
            query: Word by its number, its text if it occurs once, or ("he", 2) for the second
                "he"; or a list of these.
            key: Attended word or words, in the forms of `query`; None for all words.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head, stack, query or key does not exist.
            TypeError: There is no query.

        Example:
            >>> from attnwidget import load_model
            >>> words = load_model().attend("The otters purred.").words
            >>> words.rows("L2 H8", "the", "otters").round(2)
            np.float32(0.71)
        """

        def rows_of_head(one: Head, queries: list[int]) -> Float32Array:
            rows: Float32Array = self._of("weights", one.layer, one.head, one.stack)[queries]
            return rows

        return named_rows(self.head_maps, self.stacks, rows_of_head, layer, head, query, key, stack)

    @hides_frames
    @takes_head
    def top_links(
        self,
        layer: int | HeadName | None = None,
        head: int | None = None,
        top: int = 20,
        *,
        query: TokenName | None = None,
        key: TokenName | None = None,
        stack: str | None = None,
        within: tuple[int, int, int, int] | None = None,
        sentences: Sentences = "all",
        diagonal: bool = True,
        hidden: str | Collection[str] = (),
    ) -> pd.DataFrame:
        """Return the strongest links between words, as `Attention.top_links` does between tokens.

        Args:
            layer: Layer, or the name of a head in place of layer and head; None for all layers.
            head: Head; None for all heads of the layer, or if `layer` is the name of a head.
            top: Number of links.
            query: Attending word by its number, its text if it occurs once, or ("he", 2) for the
                second "he"; None for all.
            key: Attended word, in the forms of `query`; None for all.
            stack: Stack, needed only if there are several.
            within: Part of the map to search: (first query, query end, first key, key end), with
                the ends excluded; None for the whole map.
            sentences: Sentences of the queries and of the keys: "ab" for links from sentence A to
                sentence B, or "aa", "ba", "bb"; "all" for all links.
            diagonal: Whether to include links from a word to itself.
            hidden: Kinds of special tokens whose links are left out: "cls", "sep" or "first", or a
                list of these.

        Raises:
            ValueError: As in `Attention.top_links`.

        Example:
            >>> from attnwidget import load_model
            >>> words = load_model().attend("The otters purred.").words
            >>> words.top_links("L2 H8", 1, hidden=["cls", "sep"])[["query_token", "key_token"]]
              query_token key_token
            0         the    otters
        """

        def links_of_head(head: Head, count: int, part: Part) -> list[tuple[int, int, float]]:
            maps = self._of("weights", head.layer, head.head, head.stack)
            return largest_links(maps, count, part, diagonal=diagonal)

        return top_links(
            self.head_maps,
            self.stacks,
            links_of_head,
            layer,
            head,
            top=top,
            query=query,
            key=key,
            stack=stack,
            within=within,
            sentences=sentences,
            hidden=hidden,
        )

    @hides_frames
    @other_options(key=ROWS_OF_A_TOKEN, query=ROWS_OF_A_TOKEN)
    def to_frame(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> pd.DataFrame:
        """Return a table with one row per word weight, with the columns of `Attention.to_frame`.

        Args:
            layer: Layer, or the name of a head in place of layer and head; None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or the maps do not fit the memory.

        Example:
            >>> from attnwidget import load_model
            >>> words = load_model().attend("The otters purred.").words
            >>> len(words.to_frame("L2 H8")), len(words.to_frame())
            (36, 2592)
        """
        maps = self._of("weights", layer, head, stack)
        return frame_of_maps(self.head_maps, self.stacks, maps, layer, head, stack)

    @hides_frames
    def visible(
        self, layer: int | HeadName, head: int | None = None, *, stack: str | None = None
    ) -> NDArray[np.bool_] | None:
        """Return [Q, K], True where a word may see another word; None if all words see all words.

        A word sees a second word if a token of the first sees a token of the second.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`.
            head: Head; None if `layer` is the name of a head.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or the maps do not fit the memory.

        Example:
            >>> from attnwidget import load_model
            >>> load_model().attend("The cat sat.").words.visible(2, 8) is None
            True
        """
        layer, head, name = self.head_maps.head_in(stack, layer, head)
        visible_tokens = self.head_maps.visible(name, layer, head)
        if visible_tokens is None:
            return None
        share: Float32Array = word_weights(visible_tokens.astype(np.float32), *self._words[name])
        return share > 0

    @hides_frames
    def token_values(
        self,
        side: str,
        position: TokenName,
        *,
        layer: int | None = None,
        stack: str | None = None,
        quantity: str = "weights",
    ) -> Float32Array:
        """Return the values of every head from a word, or to a word.

        The shape is [H, n] for a layer, [L, H, n] for a stack, with NaN where masked. The numbers
        equal the row or column of `map`, but the other parts of the maps are not stored.

        Args:
            side: "query" for values from the word, "key" for values to it.
            position: Word by its number on this side, its text if it occurs once, or ("he", 2) for
                the second "he".
            layer: Number of the layer; None for all layers.
            stack: Stack, needed only if there are several.
            quantity: Quantity of the values: "weights", "norms" or "gradients".

        Raises:
            ValueError: The side, word, layer or stack does not exist, or the quantity is unknown.

        Example:
            >>> from attnwidget import load_model
            >>> words = load_model().attend("The otters purred.").words
            >>> words.tokens[2], words.token_values("query", 2).shape
            ('otters', (6, 12, 6))
        """
        self.head_maps.check_quantity(quantity)
        name = self.head_maps.stack(stack).name
        number = checked_place(self.stacks[name], side, position)
        tokens = self.head_maps.stacks[name]
        axis = tokens.query if side == "query" else tokens.key
        group = axis.word_groups()[number]
        query_words, key_words = self._words[name]
        this_word = np.zeros(len(group), np.int64)
        words = (this_word, key_words) if side == "query" else (query_words, this_word)
        return self.head_maps.of_tokens(side, group, quantity, layer, name, words)

    @hides_frames
    def stack_maps(self, stack: str) -> StackMaps:
        """Return the layers of a stack with words on both axes.

        Args:
            stack: Name of the stack.

        Example:
            >>> from attnwidget import load_model
            >>> maps = load_model().attend("The otters purred.").words.stack_maps("self")
            >>> len(maps.layers), maps.query.text[2]
            (6, 'otters')
        """
        layers = list(self.head_maps.layers[stack].values())
        axes = self.stacks[stack]
        return StackMaps(layers, axes.query, axes.key, self._words[stack])

    @cached_property
    def _words(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Word index of each query token and each key token, by stack."""
        return {
            name: (word_of_tokens(stack.query), word_of_tokens(stack.key))
            for name, stack in self.head_maps.stacks.items()
        }

    def _of(
        self,
        quantity: str,
        layer: int | HeadName | None,
        head: int | HeadName | None,
        stack: str | None,
    ) -> Float32Array:
        if names_head(layer) or names_head(head):
            layer, head, stack = self.head_maps.head_in(stack, layer, head)
        name = self.head_maps.stack(stack).name
        values = self.head_maps.maps(quantity, layer, head, name)
        merged: Float32Array = word_weights(values, *self._words[name])
        return merged

    def __repr__(self) -> str:
        return f"WordAttention({counted(len(self.tokens), 'word')})"
