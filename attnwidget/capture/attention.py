"""Attention: what every head of a model looked at in one input, computed when asked for."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import index as as_index
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.capture.axes import plain_axis
from attnwidget.capture.frames import weights_frame
from attnwidget.capture.given import given_axes, given_layers, given_stacks
from attnwidget.capture.head import Head
from attnwidget.capture.layers import KeptLayer
from attnwidget.capture.maps import Floats, Maps
from attnwidget.capture.stack import Stack, chosen_stack
from attnwidget.capture.thumbnails import Thumbnails, draw_thumbnails, word_index
from attnwidget.kernels.words import word_weights
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd


class Attention:
    """The attention of one input, in every layer and head of a model.

    Made by `AttentionModel.attend` or `Attention.from_weights`. Keeps queries and keys and computes
    a map when asked; where a model yields only weights, keeps those and says so in `note`. Weights
    are the model's own in float32 to 1e-6, so rows sum to 1 but for attention sinks (`row_sums`).

    Layers and heads count from 0. `stack` may be left out where there is one.

    Attributes:
        stacks: the stacks of layers by name, in the order of computation.
        model_name: the model's class, or the name given to `from_weights`.
        note: "" or which layers hold weights in place of queries and keys.
        n_prompt: tokens of the prompt where the rest was generated, else None.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The cat sat.")
        >>> attention
        Attention(BertForMaskedLM, self 6×12, 6 tokens)
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
    ) -> None:
        self.stacks: dict[str, Stack] = {
            name: Stack(name, len(kept), kept[0].n_heads, kept[0].n_key_heads, *axes[name])
            for name, kept in layers.items()
        }
        self.model_name = model_name
        self.n_prompt = n_prompt
        self._maps = Maps(layers, lock if lock is not None else threading.RLock())

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
        """How far weights are kept in place of queries and keys; "" where they are not."""
        kept = [layer.products is None for layers in self._maps.layers.values() for layer in layers]
        if all(kept):
            return "weights only"
        return f"weights kept for {sum(kept)} of {len(kept)} layers" if any(kept) else ""

    def head(self, value: Head | Sequence[Any]) -> Head:
        """The head that (layer, head) or (layer, head, stack) names.

        Raises:
            ValueError: there is no such head, or its stack has to be said.
        """
        if isinstance(value, str) or not 2 <= len(value) <= 3:
            raise ValueError(f"a head is (layer, head) or (layer, head, stack), got {value!r}")
        # A plain Head says "self"; an encoder-decoder then has to be told its stack.
        stack = self._stack(value[2] if len(value) == 3 else None)
        layer, head = as_index(value[0]), as_index(value[1])
        for name, number, count in (
            ("layer", layer, stack.n_layers),
            ("head", head, stack.n_heads),
        ):
            if not 0 <= number < count:
                raise ValueError(f"{name} {number} is not among 0 to {count - 1} of {stack.name!r}")
        return Head(layer, head, stack.name)

    def has(self, value: Head | Sequence[Any]) -> bool:
        """Whether there is such a head."""
        try:
            self.head(value)
        except (ValueError, TypeError):
            return False
        return True

    def weights(
        self, layer: int | None = None, head: int | None = None, *, stack: str | None = None
    ) -> Floats:
        """Attention weights: [Q, K] of one head, [H, Q, K] of a layer, [L, H, Q, K] of a stack.

        Raises:
            ValueError: no such layer, head or stack.
        """
        name = self._stack(stack).name
        if layer is None:
            if head is not None:
                raise ValueError(f"head {head} of which layer? pass layer= too, or neither of them")
            return np.stack(
                [self.weights(i, stack=name) for i in range(len(self._maps.layers[name]))]
            )
        layer, number, name = self.head((layer, 0 if head is None else head, name))
        return self._maps.get(name, layer, None if head is None else number).copy()

    def rows(
        self, layer: int, head: int, query: int | Sequence[int], *, stack: str | None = None
    ) -> Floats:
        """The rows of some queries in one head's map: [K] for one query, [n, K] for n of them.

        Raises:
            ValueError: no such layer, head, stack or query.
        """
        layer, head, name = self._named(layer, head, stack)
        wanted = [as_index(i) for i in query] if isinstance(query, Iterable) else [as_index(query)]
        count = len(self.stacks[name].query)
        for i in wanted:
            if not 0 <= i < count:
                raise ValueError(f"query {i} is not among 0 to {count - 1} of {name!r}")
        rows = self._maps.rows(name, layer, head, wanted)
        return rows if isinstance(query, Iterable) else rows[0]

    def visible(
        self, layer: int, head: int, *, stack: str | None = None
    ) -> NDArray[np.bool_] | None:
        """[Q, K] True where the query may see the key; None = every query may see every key.

        Raises:
            ValueError: no such layer, head or stack.
        """
        layer, head, name = self._named(layer, head, stack)
        return self._maps.visible(name, layer, head)

    def row_sums(self, *, stack: str | None = None) -> Floats:
        """[L, H, Q] sums over the keys: 1 but for attention sinks."""
        name = self._stack(stack).name
        return np.stack(
            [self._maps.get(name, i).sum(-1) for i in range(len(self._maps.layers[name]))]
        )

    def words(self, stack: str | None = None) -> list[str]:
        """The words of the attending tokens, those of the first stack where none is named."""
        name = next(iter(self.stacks)) if stack is None else self._stack(stack).name
        return list(self.stacks[name].query.to_words().text)

    def word_weights(self, layer: int, head: int, *, stack: str | None = None) -> Floats:
        """[Wq, Wk] between words: summed over an attended word's tokens, their attenders' mean.

        Raises:
            ValueError: no such layer, head or stack.
        """
        layer, head, name = self._named(layer, head, stack)
        maps = torch.from_numpy(self._maps.get(name, layer, head))
        axes = self.stacks[name]
        merged: Floats = word_weights(maps, word_index(axes.query), word_index(axes.key)).numpy()
        return merged

    def word_visible(
        self, layer: int, head: int, *, stack: str | None = None
    ) -> NDArray[np.bool_] | None:
        """[Wq, Wk] True where some token of a word may see one of the other; None = everywhere.

        Raises:
            ValueError: no such layer, head or stack.
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

    def thumbnails(
        self,
        stack: str | None = None,
        *,
        unit: str = "tokens",
        hidden: Collection[str] = (),
    ) -> Thumbnails:
        """Small pictures of all heads of a stack, without the tokens whose kind is in `hidden`.

        Raises:
            ValueError: no such stack, or a unit other than "tokens" and "words".
        """
        if unit not in ("tokens", "words"):
            raise ValueError(f"unit is 'tokens' or 'words', got {unit!r}")
        axes = self._stack(stack)
        with self._maps.lock, torch.no_grad():
            return draw_thumbnails(
                self._maps.layers[axes.name],
                axes.query,
                axes.key,
                words=unit == "words",
                hidden=hidden,
            )

    def to_frame(self, stack: str | None = None) -> pd.DataFrame:
        """One row a weight: stack, layer, head, query, key, query_token, key_token, weight.

        All stacks where none is named.

        Raises:
            ValueError: no such stack.
        """
        names = list(self.stacks) if stack is None else [self._stack(stack).name]
        return weights_frame([(self.stacks[name], self.weights(stack=name)) for name in names])

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
            ValueError: empty, more than one input, shapes that do not fit each other or the tokens,
                values that are no attention weights.

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
        stacks = given_stacks(weights, stack, allow_unnormalised=allow_unnormalised)
        layers = {name: given_layers(maps, name) for name, maps in stacks.items()}
        axes = {name: given_axes(name, query, key, kept[0]) for name, kept in layers.items()}
        return cls(layers, axes, model_name=model_name)

    def __repr__(self) -> str:
        stacks = ", ".join(f"{s.name} {s.n_layers}×{s.n_heads}" for s in self.stacks.values())
        note = f", {self.note}" if self.note else ""
        return f"Attention({self.model_name}, {stacks}, {len(self.tokens)} tokens{note})"

    def _named(self, layer: int, head: int, stack: str | None) -> Head:
        return self.head((layer, head, self._stack(stack).name))

    def _stack(self, name: str | None) -> Stack:
        return chosen_stack(self.stacks, name, self.model_name)
