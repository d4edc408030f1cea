"""An attention of any length, whose weights are a formula of their places: no map is ever made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget import Attention, Head
from attnwidget.capture.maps.stack_maps import StackMaps
from attnwidget.text.tokens import Tokens

WORDS = (
    "the",
    "cat",
    "that",
    "the",
    "dogs",
    "saw",
    "ran",
    "over",
    "a",
    "hill",
    "and",
    "then",
    "the",
    "bird",
    "sang",
    "of",
    "it",
    ".",
)
#: Tokens of the longest pass from one needle to the other.
NEEDLES = (1234, 7100)


class FormulaAttention(Attention):
    """Causal: most to the first token, more to tokens just before, one needle to another.

    Of 8,192 tokens a map would take 268 MB; `tile` answers from the formula, block by block.
    """

    asked: list[tuple[Any, ...]]

    def __init__(self, n: int = 8192, n_layers: int = 2, n_heads: int = 4) -> None:
        # Small maps that differ by head, for the thumbnails of grids.
        strengths = np.linspace(0.1, 1, n_layers * n_heads).reshape(n_layers, n_heads, 1, 1)
        small = Attention.from_weights(
            strengths * np.tri(64), ["t"] * 64, model_name="a formula", allow_unnormalized=True
        )
        text = ["<s>", *(WORDS[i % len(WORDS)] for i in range(n - 1))]
        for place in NEEDLES:
            if place < n:
                text[place] = "needle"
        tokens = Tokens.plain(text)
        self.__dict__.update(small.__dict__)
        self.intact = self
        self._small = small.stack_maps("self")
        self.stacks["self"] = replace(small.stacks["self"], query=tokens, key=tokens)
        self.head_maps.top_links = self._links_of_head  # type: ignore[method-assign]
        self.asked = []

    is_long = True
    note = ""

    def value(self, layer: int, head: int, q: Any, k: Any) -> NDArray[np.float32]:
        """Weights of places, which broadcast; NaN where masked."""
        return self._largest(layer, head, np.asarray(q), np.asarray(k), 1)

    def _largest(self, layer: int, head: int, q: Any, k: Any, step: int) -> NDArray[np.float32]:
        """The largest of blocks that begin at places: weights fall from one distance on."""
        nearest = np.maximum(q - k - step + 1, 0)
        farthest = q - k + step - 1
        gap = np.clip(head, nearest, np.maximum(farthest, 0))
        weights = 0.3 / (1.0 + np.abs(gap - head)) ** (1 + layer)
        weights = weights * (0.6 + 0.4 * np.sin(q // 64 * 12.9898 + k // 64 * 78.233))
        inside = [
            (at <= of) & (of < at + step) for at, of in zip((q, k), NEEDLES[::-1], strict=True)
        ]
        weights = np.where(inside[0] & inside[1], np.maximum(weights, 0.456), weights)
        weights = np.where(k == 0, 0.7, weights)
        return np.where(farthest < 0, np.nan, weights).astype(np.float32)

    def tile(
        self,
        layer: int,
        head: int,
        queries: tuple[int, int],
        keys: tuple[int, int],
        *,
        step: int = 1,
        stack: str | None = None,
        quantity: str = "weights",
    ) -> NDArray[np.float32]:
        self.asked.append((queries, keys, step))
        assert queries[0] % step == 0 and keys[0] % step == 0
        # Blocks of 64 have one factor.
        assert step <= 64
        places = np.arange(*queries, step)[:, None], np.arange(*keys, step)[None]
        return self._largest(layer, head, *places, step)

    def rows(self, layer: int, head: int, query: Any, *, stack: str | None = None) -> Any:
        return np.nan_to_num(self.value(layer, head, query, np.arange(len(self.tokens))))

    def _links_of_head(
        self, of: Head, count: int, part: tuple[int, int, int, int], *, diagonal: bool = True
    ) -> list[tuple[int, int, float]]:
        layer, head, _ = of
        q0, q1, k0, k1 = part
        # The formula falls from the place `head` before each query on.
        q = np.concatenate([np.arange(q0, q1)] * 8 + [[NEEDLES[1]]])
        k = np.concatenate([np.arange(q0, q1) - head + d for d in range(-4, 4)] + [[NEEDLES[0]]])
        inside = (k >= k0) & (k < k1) & (q >= q0) & (q < q1) & (k <= q)
        inside &= diagonal | (k != q)
        q, k = q[inside], k[inside]
        weights = self.value(layer, head, q, k)
        order = np.argsort(-weights, kind="stable")[:count]
        return [(int(q[i]), int(k[i]), float(weights[i])) for i in order]

    def stack_maps(self, stack: str) -> StackMaps:
        return self._small
