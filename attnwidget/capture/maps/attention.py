"""Attention: the weights of every head of a model for one input, computed on request."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import index as as_index
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.hub_model.axes import plain_axis
from attnwidget.capture.hub_model.free_memory import refuse_no_room
from attnwidget.capture.hub_model.losses import Loss
from attnwidget.capture.maps.comparable import on_common_axes, refuse_incomparable
from attnwidget.capture.maps.from_weights import axes_of_stack, layers_of_weights, weights_by_stack
from attnwidget.capture.maps.head_scores import HeadScores, head_scores
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.kept_layer import KeptLayer, ScoreParts
from attnwidget.capture.maps.made_by import YOURS, Call, call
from attnwidget.capture.maps.map_cache import MapCache
from attnwidget.capture.maps.stack_axes import Stack, chosen_stack
from attnwidget.capture.maps.thumbnails import StackMaps, Thumbnails, draw_thumbnails, word_index
from attnwidget.capture.maps.weights_frame import weights_frame
from attnwidget.capture.maps.weights_of_token import one_token
from attnwidget.capture.tapping.edits import REFERRING, EditMethod
from attnwidget.capture.tapping.head import Head, named_head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.divergence import js_changes
from attnwidget.kernels.word_maps import word_weights
from attnwidget.text.counted import counted
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

QUANTITIES = ("weights", "norms", "gradients")

_NO_GRADIENTS = (
    "no loss was given; model.attend(text, loss='auto') takes the gradients of the loss that the "
    "model was trained with"
)
_NO_NORMS = (
    "it was made of weights alone; load_model(model, tokenizer).attend(text) keeps what norms need"
)

# Bytes of whole maps that are made of a long input at once; of those that are made without asking
# how much memory is free; and of a row of a table of weights while it is made.
_LARGEST_MAPS = 2**30
_UNASKED = 2**24
_ROW = 96

# The remarks that pages show about an attention, and the remarks that only Python shows.
NO_MODEL = (
    "heads are switched off in a model, and this attention is of given weights, or was made in a "
    "block of `disabled`"
)
NOT_READ_AGAIN = f"{NO_MODEL}: make one with load_model(...).attend(text), outside of such a block"


class Attention:
    """The attention of one input, in every layer and head of a model.

    Made by `AttentionModel.attend` or `Attention.from_weights`. Keeps queries and keys and computes
    a map when asked; where a model yields only weights, keeps those and says so in `note`. Weights
    are the model's own in float32 to 1e-6, so rows sum to 1 but for attention sinks (`row_sums`).

    Beside the weights, an attention has norms ||a f(x)||, and gradients |dL/da| if a loss was
    given: how far each weight moves the output, and how much it matters (`quantities`).

    Layers and heads count from 0, and layers have the model's own numbers. Hybrid models have
    layers without attention: arrays of all layers are NaN there, and a request for one of these
    layers is an error. `stack` may be left out if there is one stack.

    Attributes:
        stacks: the stacks of layers by name, in the order of computation.
        model_name: the model's name, or the one given to `from_weights`.
        note: A remark for readers of figures, or "": heads that were edited, a long input
            (`is_long`), how long the weights of queries and keys are kept, or a stack that is not
            shown because its attention is local or sparse (the encoders of LED and LongT5).
        edits: The heads that were off when the attention was read (`AttentionModel.disabled`); ""
            for none.
        n_prompt: tokens of the prompt where the rest was generated, else None.
        loss: what gradients are of; None without them.
        reading: the input, for its model to read it again; None of given weights and under edits.
        intact: the attention of which this one is `without` some heads; else itself.
        made_by: The Python call that made the attention, or None if unknown.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The cat sat.")
        >>> attention.n_layers, attention.n_heads, attention.tokens[1:3]
        (6, 12, ['the', 'cat'])
        >>> attention.weights(layer=2, head=3).shape
        (6, 6)
    """

    def __init__(
        self,
        layers: Mapping[str, Sequence[KeptLayer]],
        axes: Mapping[str, tuple[Tokens, Tokens]],
        *,
        model_name: str,
        n_prompt: int | None = None,
        lock: threading.RLock | None = None,
        no_norms: str = "",
        not_shown: str = "",
        loss: Loss | None = None,
        edits: str = "",
        reading: Reading | None = None,
        numbers: Mapping[str, LayerNumbers] | None = None,
    ) -> None:
        self.stacks: dict[str, Stack] = {}
        by_number: dict[str, dict[int, KeptLayer]] = {}
        for name, kept in layers.items():
            layer_numbers = LayerNumbers.without((), len(kept))
            if numbers is not None:
                layer_numbers = numbers.get(name, layer_numbers)
            by_number[name] = dict(zip(layer_numbers.numbers, kept, strict=True))
            self.stacks[name] = Stack(
                name,
                layer_numbers.n_layers,
                kept[0].n_heads,
                kept[0].n_key_heads,
                *axes[name],
                layer_numbers.without_attention,
            )
        self.model_name = model_name
        self.n_prompt = n_prompt
        self.loss = loss
        self.edits = edits
        self.reading = reading
        self.intact = self
        self.made_by: Call | None = None
        self._not_shown = not_shown
        self._no = {"norms": no_norms, "gradients": "" if loss else _NO_GRADIENTS}
        self._maps = MapCache(by_number, lock if lock is not None else threading.RLock())

    @property
    def n_layers(self) -> int:
        """Layers of the first stack."""
        return next(iter(self.stacks.values())).n_layers

    @property
    def n_heads(self) -> int:
        """Heads a layer of the first stack."""
        return next(iter(self.stacks.values())).n_heads

    @property
    def tokens(self) -> list[str]:
        """The attending tokens of the first stack."""
        return list(next(iter(self.stacks.values())).query.text)

    @property
    def special(self) -> list[str]:
        """For each of `tokens`: "cls", "sep", "first", "other" or ""."""
        return list(next(iter(self.stacks.values())).query.special)

    @property
    def note(self) -> str:
        """Edits, how far weights are kept in place of queries and keys, and what is not shown.

        "" for none of them.
        """
        kept = [layer.products is None for layer in self._kept_layers()]
        how_far = f"weights kept for {sum(kept)} of {len(kept)} layers" if any(kept) else ""
        how_far = "weights only" if all(kept) else how_far
        if self.is_long:
            how_far = "long input"
        edited = "edited" if self.edits else ""
        hybrid = (stack.layers.said(stack.name) for stack in self.stacks.values())
        return ", ".join(filter(None, [edited, how_far, *hybrid, self._not_shown]))

    @property
    def is_long(self) -> bool:
        """Whether the input was read without whole maps: parts of them are computed when asked for.

        `attend` says from how many tokens on. `weights` then gives the map of one head at a time,
        and `tile` gives any part of a map.
        """
        return any(layer.is_streamed for layer in self._kept_layers())

    def _kept_layers(self) -> Iterator[KeptLayer]:
        for layers in self._maps.layers.values():
            yield from layers.values()

    @property
    def quantities(self) -> tuple[str, ...]:
        """What there are maps of: "weights", and "norms" and "gradients" where they are known."""
        return tuple(name for name in QUANTITIES if not self._no.get(name))

    def head(self, value: Head | Sequence[Any]) -> Head:
        """The head that (layer, head) or (layer, head, stack) names.

        Raises:
            ValueError: there is no such head, or its stack has to be said.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.head((2, 8))
            Head(layer=2, head=8, stack='self')
        """
        shapes = {name: (stack.n_layers, stack.n_heads) for name, stack in self.stacks.items()}
        layers = {name: stack.layers for name, stack in self.stacks.items()}
        return named_head(value, shapes, layers)

    def has(self, value: Head | Sequence[Any]) -> bool:
        """Whether there is such a head.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.has((2, 8)), attention.has((6, 0))
            (True, False)
        """
        try:
            self.head(value)
        except (ValueError, TypeError):
            return False
        return True

    def weights(
        self, layer: int | None = None, head: int | None = None, *, stack: str | None = None
    ) -> Float32Array:
        """Attention weights: [Q, K] of one head, [H, Q, K] of a layer, [L, H, Q, K] of a stack.

        Raises:
            ValueError: no such layer, head or stack.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> weights = attention.weights(2, 8)
            >>> weights.shape, weights.sum(-1).round(3)
            ((6, 6), array([1., 1., 1., 1., 1., 1.], dtype=float32))
            >>> attention.weights(2).shape, attention.weights().shape
            ((12, 6, 6), (6, 12, 6, 6))
        """
        return self._of("weights", layer, head, stack)

    def norms(
        self, layer: int | None = None, head: int | None = None, *, stack: str | None = None
    ) -> Float32Array:
        """Norms ||a f(x)||, in the forms of `weights`: how much of each key reaches each query.

        f(x) is the key's value through the head's share of the output projection (Kobayashi et al.
        2020, section 3). Rows do not sum to 1.

        Raises:
            ValueError: no such layer, head or stack; the model has no f(x), or it is not known.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.norms(2, 8).shape
            (6, 6)
            >>> attention.norms(2, 8)[1].round(2)
            array([0.05, 0.12, 3.21, 2.17, 0.18, 0.03], dtype=float32)
        """
        return self._of("norms", layer, head, stack)

    def gradients(
        self, layer: int | None = None, head: int | None = None, *, stack: str | None = None
    ) -> Float32Array:
        """Gradient importance |dL/da|, in the forms of `weights`, 0 where masked.

        L is `loss`; a is the weight after the softmax (Clark et al. 2019, section 3.3).

        Raises:
            ValueError: no such layer, head or stack; no loss was given.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.", loss="masked")
            >>> attention.gradients(2, 8).shape
            (6, 6)
        """
        return self._of("gradients", layer, head, stack)

    def scores(self, layer: int, head: int, *, stack: str | None = None) -> HeadScores:
        """Return the scores of one head before the softmax: products, soft cap, bias, mask apart.

        Raises:
            ValueError: There is no such layer, head or stack, or the model shows its weights alone.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> scores = attention.scores(2, 8)
            >>> scores
            HeadScores(L2 H8, 6×6 tokens: products)
            >>> bool(abs(scores.weights() - attention.weights(2, 8)).max() < 1e-6)
            True
        """
        named = self._named(layer, head, stack)
        self._refuse_whole(named.stack, 6)
        parts = self.score_parts(named)
        return head_scores(named, self.stacks[named.stack], parts, self.model_name)

    def score_parts(
        self, head: Head, queries: Sequence[int] | None = None, keys: Sequence[int] | None = None
    ) -> ScoreParts:
        """Return the tensors that make the scores of one head, of some queries and keys.

        Args:
            head: The head.
            queries: Indices of the queries; None = all.
            keys: Indices of the keys; None = all.

        Raises:
            ValueError: The queries and keys of the layer are not known, only its weights.

        Example:
            >>> from attnwidget import Head, load_model
            >>> parts = load_model().attend("The cat sat.").score_parts(Head(2, 8), queries=[1])
            >>> parts.query.shape, parts.key.shape
            (torch.Size([1, 20]), torch.Size([6, 20]))
        """
        with self._maps.lock, torch.no_grad():
            parts = self._maps.layers[head.stack][head.layer].score_parts(head.head, queries, keys)
        if parts is None:
            raise ValueError(
                f"{self.model_name} shows the weights of L{head.layer}, but not the queries and "
                "keys of which they are made (given weights, an edited layer, or attention of a "
                "kind of its own): its scores have no parts"
            )
        return parts

    def value_norms(self, layer: int, *, stack: str | None = None) -> Float32Array:
        """||f(x)|| of every head and key of a layer, [H, K]: `norms` without the weight.

        Raises:
            ValueError: as `norms`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.value_norms(2).shape
            (12, 6)
        """
        kept = self._with_norms(layer, stack)
        with self._maps.lock, torch.no_grad():
            return kept.value_norms().cpu().numpy()

    def summed_norms(self, layer: int, *, stack: str | None = None) -> Float32Array:
        """||sum over the heads of a f(x)|| of a layer, [Q, K]: heads can add up, or cancel.

        Raises:
            ValueError: as `norms`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.summed_norms(2).shape
            (6, 6)
        """
        kept = self._with_norms(layer, stack)
        with self._maps.lock, torch.no_grad():
            return kept.summed_norms().cpu().numpy()

    def without(
        self, heads: Sequence[Head | Sequence[Any]], method: EditMethod = "uniform"
    ) -> Attention:
        """The attention of the same input, read again with heads off; itself where none is named.

        Later layers see what the model computes without these heads. The last few edited attentions
        are kept, so a repeated call costs nothing.

        Args:
            heads: (layer, head) or (layer, head, stack) of each.
            method: what stands in their place: "uniform", "zero" or "first", as in
                `AttentionModel.disabled`.

        Raises:
            ValueError: if the head or the method does not exist, the model does not allow the edit,
                or no model can read the attention again: given weights, or one made under edits.
            RuntimeError: the model was closed, or its weights are others by now.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.without([(0, 3)]).model_name
            'small BERT (in the package), without L0 H3 (uniform)'
        """
        named = [self.head(head) for head in heads]
        if not named:
            return self.intact
        if self.intact is not self:
            return self.intact.without(named, method)
        if self.reading is None:
            raise ValueError(NOT_READ_AGAIN)
        if method in REFERRING:
            raise ValueError(
                f"method={method!r} needs another input: with model.disabled(heads, "
                f"method={method!r}, reference=...): model.attend(text)"
            )
        edited: Attention = self.reading.without(named, method)
        edited.intact = self
        return edited

    def rows(
        self, layer: int, head: int, query: int | Sequence[int], *, stack: str | None = None
    ) -> Float32Array:
        """The rows of some queries in one head's map: [K] for one query, [n, K] for n of them.

        Raises:
            ValueError: no such layer, head, stack or query.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.rows(2, 8, 1).round(2)
            array([0.08, 0.03, 0.58, 0.27, 0.03, 0.01], dtype=float32)
            >>> attention.rows(2, 8, [1, 2]).shape
            (2, 6)
        """
        layer, head, name = self._named(layer, head, stack)
        wanted = [as_index(i) for i in query] if isinstance(query, Iterable) else [as_index(query)]
        count = len(self.stacks[name].query)
        for i in wanted:
            if not 0 <= i < count:
                raise ValueError(f"query {i} is not among 0 to {count - 1} of {name!r}")
        rows = self._maps.rows(name, layer, head, wanted)
        return rows if isinstance(query, Iterable) else rows[0]

    def row_blocks(self, layer: int, *, stack: str | None = None) -> Iterator[tuple[int, Tensor]]:
        """The weights of a layer's heads, some queries at a time: their first, and [H, r, K].

        Raises:
            ValueError: no such layer or stack.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> [(first, tuple(rows.shape)) for first, rows in attention.row_blocks(2)]
            [(0, (12, 6, 6))]
        """
        layer, _, name = self.head((layer, 0, self._stack(stack).name))
        with self._maps.lock, torch.no_grad():
            yield from self._maps.layers[name][layer].row_blocks()

    def tile(
        self,
        layer: int,
        head: int,
        queries: tuple[int, int],
        keys: tuple[int, int],
        *,
        step: int = 1,
        stack: str | None = None,
    ) -> Float32Array:
        """Weights of some queries and keys of one head, [queries, keys] with ends excluded.

        Exact at every length, and nothing else is computed. With `step`, the largest weight of each
        block of `step` by `step` tokens, counted from the first query and key. NaN where every key
        is masked.

        Raises:
            ValueError: no such layer, head, stack, queries or keys, or a step below 1.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat on the mat.")
            >>> attention.tile(2, 1, (0, 9), (0, 9), step=4).shape
            (3, 3)
        """
        layer, head, name = self._named(layer, head, stack)
        axes = self.stacks[name]
        _check_part("queries", queries, len(axes.query))
        _check_part("keys", keys, len(axes.key))
        if as_index(step) < 1:
            raise ValueError(f"step is at least 1 token, got {step}")
        with self._maps.lock, torch.no_grad():
            tile = self._maps.tiles[name].tile(layer, head, queries, keys, step)
        values: Float32Array = tile.cpu().numpy()
        return values

    def top_links(
        self,
        layer: int,
        head: int,
        count: int = 20,
        *,
        stack: str | None = None,
        within: tuple[int, int, int, int] | None = None,
        diagonal: bool = True,
    ) -> list[tuple[int, int, float]]:
        """The strongest links of one head as (query, key, weight), strongest first.

        `within` leaves (query from, query to, key from, key to), ends excluded; None = all. With
        `diagonal=False`, links of a token to itself are left out.

        Raises:
            ValueError: no such layer, head, stack, queries or keys, or a count below 1.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat on the mat.")
            >>> [(query, key) for query, key, _ in attention.top_links(2, 1, 2)]
            [(0, 0), (2, 0)]
        """
        layer, head, name = self._named(layer, head, stack)
        axes = self.stacks[name]
        part = (0, len(axes.query), 0, len(axes.key)) if within is None else within
        _check_part("queries", part[:2], len(axes.query))
        _check_part("keys", part[2:], len(axes.key))
        if as_index(count) < 1:
            raise ValueError(f"count is at least 1 link, got {count}")
        with self._maps.lock, torch.no_grad():
            tiles = self._maps.tiles[name]
            return tiles.top_links(layer, head, count, part, diagonal=diagonal)

    def visible(
        self, layer: int, head: int, *, stack: str | None = None
    ) -> NDArray[np.bool_] | None:
        """[Q, K] True where the query may see the key; None = every query may see every key.

        Raises:
            ValueError: no such layer, head or stack.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.visible(2, 8) is None
            True
        """
        layer, head, name = self._named(layer, head, stack)
        self._refuse_whole(name, 1)
        return self._maps.visible(name, layer, head)

    def row_sums(self, *, stack: str | None = None) -> Float32Array:
        """[L, H, Q] sums over the keys: 1 but for attention sinks.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.row_sums().shape
            (6, 12, 6)
        """
        name = self._stack(stack).name
        self._refuse_whole(name, self.stacks[name].n_heads)
        layers = self.stacks[name].layers
        return layers.spread(np.stack([self._maps.get(name, i).sum(-1) for i in layers.numbers]))

    def words(self, stack: str | None = None) -> list[str]:
        """Return the words of the attending tokens (of the first stack if `stack` is None).

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The otters purred.")
            >>> attention.tokens
            ['[CLS]', 'the', 'otter', '##s', 'pu', '##rre', '##d', '.', '[SEP]']
            >>> attention.words()
            ['[CLS]', 'the', 'otters', 'purred', '.', '[SEP]']
        """
        name = next(iter(self.stacks)) if stack is None else self._stack(stack).name
        return list(self.stacks[name].query.to_words().text)

    def map(
        self,
        quantity: str,
        layer: int,
        head: int,
        *,
        stack: str | None = None,
        unit: str = "tokens",
    ) -> Float32Array:
        """One head's map of "weights", "norms" or "gradients", between tokens or words.

        [Q, K], or [Wq, Wk] between words: summed over an attended word's tokens, the mean over the
        attending word's.

        Raises:
            ValueError: no such layer, head, stack or unit; a quantity that is not known.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The otters purred.")
            >>> attention.map("weights", 2, 8).shape
            (9, 9)
            >>> attention.map("weights", 2, 8, unit="words").shape
            (6, 6)
        """
        _check_unit(unit)
        self._refuse_words(unit)
        values = self._of(quantity, layer, head, stack)
        if unit == "tokens":
            return values
        axes = self._stack(stack)
        owners = word_index(axes.query), word_index(axes.key)
        merged: Float32Array = word_weights(torch.from_numpy(values), *owners).numpy()
        return merged

    def word_weights(self, layer: int, head: int, *, stack: str | None = None) -> Float32Array:
        """[Wq, Wk] between words: summed over an attended word's tokens, their attenders' mean.

        Raises:
            ValueError: no such layer, head or stack.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The otters purred.")
            >>> attention.word_weights(2, 8).shape
            (6, 6)
        """
        return self.map("weights", layer, head, stack=stack, unit="words")

    def word_visible(
        self, layer: int, head: int, *, stack: str | None = None
    ) -> NDArray[np.bool_] | None:
        """Return a [Wq, Wk] matrix, True where a word may see another; None = everywhere.

        A word sees a second word if a token of the first sees a token of the second.

        Raises:
            ValueError: no such layer, head or stack.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.word_visible(2, 8) is None
            True
        """
        layer, head, name = self._named(layer, head, stack)
        seen = self._maps.visible(name, layer, head)
        if seen is None:
            return None
        axes = self.stacks[name]
        share = word_weights(
            torch.from_numpy(seen).float(), word_index(axes.query), word_index(axes.key)
        )
        return (share > 0).numpy()

    def of_token(
        self,
        side: str,
        index: int,
        *,
        layer: int | None = None,
        stack: str | None = None,
        unit: str = "tokens",
        quantity: str = "weights",
    ) -> Float32Array:
        """Return the weights of every head from one query, or to one key.

        `side` is "query" or "key", `index` one of its tokens, or words. [H, n] of a layer,
        [L, H, n] of a stack, NaN where masked; the numbers equal the row or column in `map`, but
        the rest of each map is not kept.

        Raises:
            ValueError: no such side, token, layer, stack or unit; a quantity that is not known.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.tokens[2]
            'cat'
            >>> attention.of_token("query", 2).shape
            (6, 12, 6)
            >>> attention.of_token("query", 2, layer=2)[8].round(2)
            array([0.7 , 0.01, 0.05, 0.19, 0.04, 0.01], dtype=float32)
        """
        self._check_quantity(quantity)
        _check_unit(unit)
        self._refuse_words(unit)
        axes = self._stack(stack)
        if side not in ("query", "key"):
            raise ValueError(f"side is 'query' or 'key', got {side!r}")
        tokens = axes.query if side == "query" else axes.key
        count = len(tokens.to_words() if unit == "words" else tokens)
        if not 0 <= as_index(index) < count:
            raise ValueError(f"{side} {index} is not among 0 to {count - 1} of {axes.name!r}")
        kept = self._maps.layers[axes.name]
        layers = list(kept.values())
        if layer is not None:
            layers = [kept[self.head((layer, 0, axes.name)).layer]]
        with self._maps.lock, torch.no_grad():
            token_values = one_token(
                layers,
                axes.query,
                axes.key,
                side=side,
                index=index,
                words=unit == "words",
                quantity=quantity,
            )
        values: Float32Array = token_values.cpu().numpy()
        return axes.layers.spread(values) if layer is None else values[0]

    def thumbnails(
        self,
        stack: str | None = None,
        *,
        unit: str = "tokens",
        hidden: Collection[str] = (),
        quantity: str = "weights",
        minus: Attention | None = None,
    ) -> Thumbnails:
        """Small pictures of all heads of a stack, without the tokens whose kind is in `hidden`.

        With `minus`, of the differences from another attention of as many heads, between the tokens
        that both have.

        Raises:
            ValueError: if the stack, the unit or the quantity does not exist, or the other
                attention does not fit this one.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.thumbnails(hidden=["cls", "sep"]).values.shape
            (6, 12, 4, 4)
        """
        self._check_quantity(quantity)
        _check_unit(unit)
        self._refuse_words(unit)
        axes = self._stack(stack)
        if minus is not None:
            for attention in (self, minus):
                attention._refuse_long("compared")
            minus._check_quantity(quantity)
            refuse_incomparable(self.stacks, minus.stacks)
        with self._maps.lock, torch.no_grad():
            drawn = draw_thumbnails(
                self._all_maps(axes),
                words=unit == "words",
                hidden=hidden,
                quantity=quantity,
                minus=None if minus is None else minus._all_maps(minus._stack(axes.name)),
            )
        return Thumbnails(
            axes.layers.spread(drawn.values, fill=0),
            axes.layers.spread(drawn.maxima, fill=0),
            axes.layers.spread(drawn.strongest, fill=-1),
        )

    def _all_maps(self, stack: Stack) -> StackMaps:
        return StackMaps(list(self._maps.layers[stack.name].values()), stack.query, stack.key)

    def changes(self, other: Attention, stack: str | None = None) -> Float32Array:
        """Return the distance between each head's weights here and in another attention.

        The distance is the Jensen-Shannon divergence in nats, averaged over the queries of both
        attentions: float32 [L, H], exactly 0 where the maps are equal. A key that is missing in one
        attention has weight 0 there.

        Raises:
            ValueError: if the stack does not exist, the numbers of layers or heads differ, or the
                attentions share no token.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat on the mat.")
            >>> changes = attention.without([(1, 3)]).changes(attention)
            >>> changes[0].any(), changes[2:].all()
            (np.False_, np.True_)
        """
        axes = self._stack(stack)
        for attention in (self, other):
            attention._refuse_long("compared")
        refuse_incomparable(self.stacks, other.stacks)
        its = other._stack(axes.name)
        changed = []
        for layer in axes.layers.numbers:
            weights, others = (
                attention.weights(layer, stack=axes.name) for attention in (self, other)
            )
            maps = torch.from_numpy(weights), torch.from_numpy(others)
            changed.append(js_changes(*on_common_axes(maps, axes, its)))
        changes: Float32Array = torch.stack(changed).float().numpy()
        return axes.layers.spread(changes)

    def to_frame(self, stack: str | None = None) -> pd.DataFrame:
        """One row a weight: stack, layer, head, query, key, query_token, key_token, weight.

        All stacks where none is named. `attrs["model"]` of the frame is the model's name.

        Raises:
            ValueError: no such stack.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> frame = attention.to_frame()
            >>> frame.loc[:1, ["layer", "head", "query_token", "key_token", "weight"]].round(3)
               layer  head query_token key_token  weight
            0      0     0       [CLS]     [CLS]   0.340
            1      0     0       [CLS]       the   0.074
        """
        names = list(self.stacks) if stack is None else [self._stack(stack).name]
        axes = [self.stacks[name] for name in names]
        rows = sum(len(s.layers.numbers) * s.n_heads * len(s.query) * len(s.key) for s in axes)
        if rows * _ROW > _UNASKED:
            refuse_no_room(
                rows * _ROW,
                f"the {rows:,} rows of this table",
                lambda _: "ask for weights(layer, head)",
            )
        frame = weights_frame(
            [(self.stacks[name], self._of_all_layers("weights", name)) for name in names]
        )
        frame.attrs["model"] = self.model_name
        return frame

    @classmethod
    def from_weights(
        cls,
        weights: object,
        tokens: Sequence[str] | Tokens,
        *,
        key_tokens: Sequence[str] | Tokens | None = None,
        segments: Sequence[int] | None = None,
        stack: str = "self",
        model_name: str = "weights",
        allow_unnormalised: bool = False,
    ) -> Attention:
        """An `Attention` of weights computed elsewhere.

        Args:
            weights: an array [L, H, Q, K]; a sequence of layers, each [H, Q, K] or [1, H, Q, K],
                such as a model's `attentions`; or a model output that has them. numpy or torch.
            tokens: the Q attending tokens; with an encoder-decoder's output, those of the decoder.
            key_tokens: the K attended tokens where they are others; with an encoder-decoder's
                output, those of the encoder.
            segments: 0 or 1 for each of `tokens`: sentence A or B.
            stack: what an array or sequence is: "self", "encoder", "decoder" or "cross".
            model_name: what figures call the model.
            allow_unnormalised: take rows that do not sum to 1.

        Raises:
            TypeError: no weights at all.
            ValueError: if there are no weights, more than one input, shapes that disagree with each
                other or with the tokens, or values that are no attention weights.

        Example:
            >>> import numpy as np
            >>> Attention.from_weights(np.full((2, 4, 3, 3), 1 / 3), ["[CLS]", "cats", "[SEP]"])
            Attention(weights, self 2×4, 3 tokens, weights only)
        """
        if stack not in ("self", "encoder", "decoder", "cross"):
            raise ValueError(f"stack is 'self', 'encoder', 'decoder' or 'cross', got {stack!r}")
        query = tokens if isinstance(tokens, Tokens) else plain_axis(tokens, segments)
        key = key_tokens if isinstance(key_tokens, Tokens) else None
        if key_tokens is not None and key is None:
            key = plain_axis(key_tokens)  # type: ignore[arg-type]
        stacks = weights_by_stack(weights, stack, allow_unnormalised=allow_unnormalised)
        layers = {name: layers_of_weights(maps, name) for name, maps in stacks.items()}
        axes = {name: axes_of_stack(name, query, key, kept[0]) for name, kept in layers.items()}
        made = cls(layers, axes, model_name=model_name, no_norms=_NO_NORMS)
        options: dict[str, Any] = {"key_tokens": key_tokens, "segments": segments}
        options["stack"] = None if stack == "self" else stack
        options["model_name"] = None if model_name == "weights" else model_name
        options["allow_unnormalised"] = allow_unnormalised or None
        call_options = {"weights": YOURS, "tokens": tokens}
        made.made_by = call("Attention.from_weights", call_options, options)
        return made

    def __repr__(self) -> str:
        stacks = ", ".join(f"{s.name} {s.n_layers}×{s.n_heads}" for s in self.stacks.values())
        note = f", {self.note}" if self.note else ""
        return f"Attention({self.model_name}, {stacks}, {counted(len(self.tokens), 'token')}{note})"

    def _of(
        self, quantity: str, layer: int | None, head: int | None, stack: str | None
    ) -> Float32Array:
        """Maps of a quantity, in the forms of `weights`; they belong to the caller."""
        self._check_quantity(quantity)
        name = self._stack(stack).name
        if layer is None:
            if head is not None:
                raise ValueError(f"head {head} of which layer? pass layer= too, or neither of them")
            return self.stacks[name].layers.spread(self._of_all_layers(quantity, name))
        layer, number, name = self.head((layer, 0 if head is None else head, name))
        self._refuse_whole(name, self.stacks[name].n_heads if head is None else 1)
        return self._maps.get(name, layer, None if head is None else number, quantity).copy()

    def _of_all_layers(self, quantity: str, stack: str) -> Float32Array:
        """The maps of every layer with attention, one after another."""
        numbers = self.stacks[stack].layers.numbers
        self._refuse_whole(stack, self.stacks[stack].n_heads * len(numbers), copies=2)
        return np.stack([self._of(quantity, layer, None, stack) for layer in numbers])

    def _refuse_whole(self, stack: str, heads: int, copies: int = 1) -> None:
        """Refuse whole maps that would fill the memory, of a long input sooner."""
        axes = self.stacks[stack]
        size = 4 * heads * len(axes.query) * len(axes.key)
        if self.is_long and size > _LARGEST_MAPS:
            raise ValueError(
                f"{counted(heads, 'whole map')} of {len(axes.query):,} queries and "
                f"{len(axes.key):,} keys would take {size / 1e9:,.1f} GB: request one head, a "
                "part (`tile`), some queries (`rows`), or a metric of `measure`"
            )
        if size > _UNASKED:
            refuse_no_room(
                copies * size,
                f"the whole maps of {heads:,} heads over {len(axes.query):,} tokens",
                lambda _: "ask for one layer or head at a time",
            )

    def _refuse_words(self, unit: str) -> None:
        if unit == "words":
            self._refuse_long("read between words")

    def _refuse_long(self, what: str) -> None:
        if self.is_long:
            raise ValueError(
                f"long inputs are not {what}: attend(text, long=False) reads one with whole maps, "
                "where there is the memory"
            )

    def _check_quantity(self, quantity: str) -> None:
        if quantity not in QUANTITIES:
            listed = ", ".join(map(repr, QUANTITIES))
            raise ValueError(f"a quantity is one of {listed}, got {quantity!r}")
        if reason := self._no.get(quantity):
            raise ValueError(f"this attention has no {quantity}: {reason}")

    def _with_norms(self, layer: int, stack: str | None) -> KeptLayer:
        self._check_quantity("norms")
        layer, _, name = self.head((layer, 0, self._stack(stack).name))
        return self._maps.layers[name][layer]

    def _named(self, layer: int, head: int, stack: str | None) -> Head:
        return self.head((layer, head, self._stack(stack).name))

    def _stack(self, name: str | None) -> Stack:
        return chosen_stack(self.stacks, name, self.model_name)


def _check_part(name: str, part: tuple[int, ...], count: int) -> None:
    if len(part) != 2 or not 0 <= as_index(part[0]) < as_index(part[1]) <= count:
        raise ValueError(f"{name} are (from, to) among 0 to {count}, to excluded; got {part}")


def _check_unit(unit: str) -> None:
    if unit not in ("tokens", "words"):
        raise ValueError(f"unit is 'tokens' or 'words', got {unit!r}")
