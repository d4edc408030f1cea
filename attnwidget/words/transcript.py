"""Words of a transcript, and the rows of cross-attention that wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.places import Span

#: Stack in which a decoder attends to a sound.
CROSS = "cross"
#: Width of the median filter over time, in tokens of the sound, as in Whisper's method.
SMOOTHED = 7
# Control tokens, such as <|notimestamps|>, which some tokenizers do not list as special.
_CONTROL = re.compile(r"<\|.*\|>")


class Transcript:
    """Words of a transcript and the rows that wrote them.

    Args:
        attention: Attention of a speech model over a sound.

    Raises:
        ValueError: If the attention has no cross-attention to a sound, or the transcript has no
            words.

    Attributes:
        rows: Row that wrote each token of the transcript.
        words: Tokens of each word, as indices within the transcript.
        edges: Start of each sound token in seconds, and the end of the last token.
    """

    def __init__(self, attention: Attention) -> None:
        stack = attention.stacks.get(CROSS)
        spans = () if stack is None else stack.key.places
        sound_keys = [i for i, region in enumerate(spans) if isinstance(region, Span)]
        if stack is None or not sound_keys:
            raise ValueError(
                f"{attention.model_name} shows no cross-attention to a sound with known times: "
                "read a sound with a speech model, model.attend(audio=(samples, rate))"
            )
        self._attention = attention
        self._tokens = stack.query
        self._keys = sound_keys
        self._hidden = [i for i, kind in enumerate(stack.key.special) if kind == "padding"]
        starts = [region.start for region in spans if isinstance(region, Span)]
        ends = [region.end for region in spans if isinstance(region, Span)]
        self.edges: Float64Array = np.array([*starts, ends[-1]], dtype=np.float64)
        text_tokens = [
            i
            for i, (kind, word) in enumerate(
                zip(stack.query.special, stack.query.words, strict=True)
            )
            if i and not kind and word is not None and not _CONTROL.fullmatch(stack.query.raw[i])
        ]
        if not text_tokens:
            raise ValueError(
                "the transcript has no words: pass it as target=..., or let the model write it"
            )
        self._written = text_tokens
        self.rows = [i - 1 for i in text_tokens]
        self.words: list[list[int]] = []
        for region, token in enumerate(text_tokens):
            word = stack.query.words[token]
            before = text_tokens[region - 1] if region else None
            if before is not None and stack.query.words[before] == word:
                self.words[-1].append(region)
            else:
                self.words.append([region])

    def text(self, group: Sequence[int]) -> str:
        """Return a word of the transcript."""
        added = self._tokens.added
        return "".join(added[self._written[i]] for i in group).strip()

    def weights(self, layer: int, head: int) -> Float64Array:
        """Return the weights of the rows that wrote the transcript on the sound, [T, K]."""
        return self._map(layer, head)[self.rows][:, self._keys]

    def padding(self, layer: int, head: int) -> float:
        """Return the mean weight of these rows on padding."""
        return float(self._map(layer, head)[self.rows][:, self._hidden].sum(axis=1).mean())

    def standardized(self, layer: int, head: int) -> Float64Array:
        """Return the weights, standardized over the rows and smoothed over time, [T, K]."""
        from scipy.ndimage import median_filter

        weights = self.weights(layer, head)
        spread = weights.std(axis=0, keepdims=True)
        standard = (weights - weights.mean(axis=0, keepdims=True)) / np.maximum(spread, 1e-9)
        smoothed: Float64Array = median_filter(standard, size=(1, SMOOTHED), mode="reflect")
        return smoothed

    def share(self, start: float, end: float) -> Float64Array:
        """Return the share of each token of the sound that lies between two times, [K]."""
        left = np.clip(self.edges[:-1], start, end)
        right = np.clip(self.edges[1:], start, end)
        share: Float64Array = (right - left) / np.diff(self.edges)
        return share

    def _map(self, layer: int, head: int) -> Float64Array:
        return self._attention.weights(layer, head, stack=CROSS).astype(np.float64)
