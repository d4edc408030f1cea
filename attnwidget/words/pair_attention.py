"""Cross-attention between the words of a sentence and its translation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.aligned_pairs import AlignedPair

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Quantity = Literal["weights", "norms"]
Row = Literal["written", "read"]
CROSS = "cross"


class PairAttention:
    """Cross-attention of a pair, and the words of its tokens.

    Args:
        model: Encoder-decoder with a tokenizer.
        pair: Sentence and translation. The decoder reads the translation.

    Raises:
        ValueError: If the model has no cross-attention to a text, or a word has no tokens.

    Attributes:
        attention: Attention of the pair.
        key_words: Source word of each key; None for special tokens.
    """

    def __init__(self, model: AttentionModel, pair: AlignedPair) -> None:
        target = model.inputs.encoder(list(pair.target), target=True).tokens
        self.attention = model.attend(list(pair.source), target=list(target.ids))
        stack = self.attention.stacks[CROSS]
        self.key_words = stack.key.words
        # The decoder's input begins with a start token, unless the target has this token already.
        self._before = len(stack.query) - len(target)
        self._target_words = target.words
        for words, text in ((self.key_words, pair.source), (target.words, pair.target)):
            missing = sorted({*range(len(text))} - {word for word in words if word is not None})
            if missing:
                raise ValueError(
                    f"{pair.name or 'pair'}: the word {text[missing[0]]!r} has no tokens: remove "
                    "the word and its links, or the pair"
                )

    def query_words(self, row: Row) -> list[int | None]:
        """Return the target word of each query: the word that it writes or that it reads."""
        words: list[int | None] = [*[None] * self._before, *self._target_words]
        return words if row == "read" else [*words[1:], None]

    def maps(self, quantity: Quantity) -> Float64Array:
        """Return the map of each layer and, after it, of its heads, float64 [L, 1 + H, Q, K]."""
        if quantity == "weights":
            heads = np.asarray(self.attention.weights(stack=CROSS), np.float64)
            layers = heads.mean(1)
        else:
            heads = np.asarray(self.attention.norms(stack=CROSS), np.float64)
            layers = np.stack(
                [
                    self.attention.summed_norms(layer, stack=CROSS)
                    for layer in self.attention.stacks[CROSS].layers.numbers
                ]
            ).astype(np.float64)
        return np.concatenate([layers[:, None], heads], axis=1)
