"""The maps of every head of one input, between tokens: weights, norms and gradients."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from operator import index as as_index
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.capture.head import Head, named_head
from attnwidget.capture.layers import KeptLayer
from attnwidget.capture.losses import Loss
from attnwidget.capture.maps import Floats, Maps
from attnwidget.capture.stack import Stack, chosen_stack
from attnwidget.text.tokens import Tokens

QUANTITIES = ("weights", "norms", "gradients")

_NO_GRADIENTS = (
    "no loss was given; model.attend(text, loss='auto') takes the gradients of the loss that the "
    "model was trained with"
)


class HeadMaps:
    """What `Attention` computes between tokens; `Attention` describes it."""

    def __init__(
        self,
        layers: Mapping[str, Sequence[KeptLayer]],
        axes: Mapping[str, tuple[Tokens, Tokens]],
        *,
        model_name: str,
        n_prompt: int | None = None,
        lock: threading.RLock | None = None,
        no_norms: str = "",
        loss: Loss | None = None,
    ) -> None:
        self.stacks: dict[str, Stack] = {
            name: Stack(name, len(kept), kept[0].n_heads, kept[0].n_key_heads, *axes[name])
            for name, kept in layers.items()
        }
        self.model_name = model_name
        self.n_prompt = n_prompt
        self.loss = loss
        self._no = {"norms": no_norms, "gradients": "" if loss else _NO_GRADIENTS}
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

    @property
    def quantities(self) -> tuple[str, ...]:
        """What there are maps of: "weights", and "norms" and "gradients" where they are known."""
        return tuple(name for name in QUANTITIES if not self._no.get(name))

    def head(self, value: Head | Sequence[Any]) -> Head:
        """The head that (layer, head) or (layer, head, stack) names.

        Raises:
            ValueError: there is no such head, or its stack has to be said.
        """
        shapes = {name: (stack.n_layers, stack.n_heads) for name, stack in self.stacks.items()}
        return named_head(value, shapes)

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
        return self._of("weights", layer, head, stack)

    def norms(
        self, layer: int | None = None, head: int | None = None, *, stack: str | None = None
    ) -> Floats:
        """Norms ||a f(x)||, in the forms of `weights`: how much of each key reaches each query.

        f(x) is the key's value through the head's share of the output projection (Kobayashi et al.
        2020, section 3). Rows do not sum to 1.

        Raises:
            ValueError: no such layer, head or stack; the model has no f(x), or it is not known.
        """
        return self._of("norms", layer, head, stack)

    def gradients(
        self, layer: int | None = None, head: int | None = None, *, stack: str | None = None
    ) -> Floats:
        """Gradient importance |dL/da|, in the forms of `weights`, 0 where masked.

        L is `loss`; a is the weight after the softmax (Clark et al. 2019, section 3.3).

        Raises:
            ValueError: no such layer, head or stack; no loss was given.
        """
        return self._of("gradients", layer, head, stack)

    def value_norms(self, layer: int, *, stack: str | None = None) -> Floats:
        """||f(x)|| of every head and key of a layer, [H, K]: `norms` without the weight.

        Raises:
            ValueError: as `norms`.
        """
        kept = self._with_norms(layer, stack)
        with self._maps.lock, torch.no_grad():
            return kept.value_norms().cpu().numpy()

    def summed_norms(self, layer: int, *, stack: str | None = None) -> Floats:
        """||sum over the heads of a f(x)|| of a layer, [Q, K]: heads can add up, or cancel.

        Raises:
            ValueError: as `norms`.
        """
        kept = self._with_norms(layer, stack)
        with self._maps.lock, torch.no_grad():
            return kept.summed_norms().cpu().numpy()

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

    def _of(self, quantity: str, layer: int | None, head: int | None, stack: str | None) -> Floats:
        """Maps of a quantity, in the forms of `weights`; they belong to the caller."""
        self._check_quantity(quantity)
        name = self._stack(stack).name
        if layer is None:
            if head is not None:
                raise ValueError(f"head {head} of which layer? pass layer= too, or neither of them")
            layers = range(self.stacks[name].n_layers)
            return np.stack([self._of(quantity, i, None, name) for i in layers])
        layer, number, name = self.head((layer, 0 if head is None else head, name))
        return self._maps.get(name, layer, None if head is None else number, quantity).copy()

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
