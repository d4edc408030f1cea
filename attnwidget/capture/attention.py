"""Attention: what every head of a model looked at in one input, computed when asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.capture.axes import plain_axis
from attnwidget.capture.frames import weights_frame
from attnwidget.capture.given import given_axes, given_layers, given_stacks
from attnwidget.capture.head_maps import HeadMaps
from attnwidget.capture.maps import Floats
from attnwidget.capture.thumbnails import Thumbnails, draw_thumbnails, word_index
from attnwidget.kernels.words import word_weights
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

_NO_NORMS = (
    "it was made of weights alone; load_model(model, tokenizer).attend(text) keeps what norms need"
)


class Attention(HeadMaps):
    """The attention of one input, in every layer and head of a model.

    Made by `AttentionModel.attend` or `Attention.from_weights`. Keeps queries and keys and computes
    a map when asked; where a model yields only weights, keeps those and says so in `note`. Weights
    are the model's own in float32 to 1e-6, so rows sum to 1 but for attention sinks (`row_sums`).

    Beside weights it has norms ||a f(x)||, and gradients |dL/da| where a loss was given: what each
    weight moves, and what it matters (`quantities`).

    Layers and heads count from 0. `stack` may be left out where there is one.

    Attributes:
        stacks: the stacks of layers by name, in the order of computation.
        model_name: the model's name, or the one given to `from_weights`.
        note: "" or which layers hold weights in place of queries and keys.
        n_prompt: tokens of the prompt where the rest was generated, else None.
        loss: what gradients are of; None without them.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The cat sat.")
        >>> attention.n_layers, attention.n_heads, attention.tokens[1:3]
        (6, 12, ['the', 'cat'])
        >>> attention.weights(layer=2, head=3).shape
        (6, 6)
    """

    def words(self, stack: str | None = None) -> list[str]:
        """The words of the attending tokens, those of the first stack where none is named."""
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
    ) -> Floats:
        """One head's map of "weights", "norms" or "gradients", between tokens or words.

        [Q, K], or [Wq, Wk] between words: summed over an attended word's tokens, the mean over the
        attending word's.

        Raises:
            ValueError: no such layer, head, stack or unit; a quantity that is not known.
        """
        _check_unit(unit)
        values = self._of(quantity, layer, head, stack)
        if unit == "tokens":
            return values
        axes = self._stack(stack)
        owners = word_index(axes.query), word_index(axes.key)
        merged: Floats = word_weights(torch.from_numpy(values), *owners).numpy()
        return merged

    def word_weights(self, layer: int, head: int, *, stack: str | None = None) -> Floats:
        """[Wq, Wk] between words: summed over an attended word's tokens, their attenders' mean.

        Raises:
            ValueError: no such layer, head or stack.
        """
        return self.map("weights", layer, head, stack=stack, unit="words")

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
        quantity: str = "weights",
    ) -> Thumbnails:
        """Small pictures of all heads of a stack, without the tokens whose kind is in `hidden`.

        Raises:
            ValueError: no such stack, a unit other than "tokens" and "words", or a quantity that is
                not known.
        """
        self._check_quantity(quantity)
        _check_unit(unit)
        axes = self._stack(stack)
        with self._maps.lock, torch.no_grad():
            return draw_thumbnails(
                self._maps.layers[axes.name],
                axes.query,
                axes.key,
                words=unit == "words",
                hidden=hidden,
                quantity=quantity,
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
        return cls(layers, axes, model_name=model_name, no_norms=_NO_NORMS)

    def __repr__(self) -> str:
        stacks = ", ".join(f"{s.name} {s.n_layers}×{s.n_heads}" for s in self.stacks.values())
        note = f", {self.note}" if self.note else ""
        return f"Attention({self.model_name}, {stacks}, {len(self.tokens)} tokens{note})"


def _check_unit(unit: str) -> None:
    if unit not in ("tokens", "words"):
        raise ValueError(f"unit is 'tokens' or 'words', got {unit!r}")
