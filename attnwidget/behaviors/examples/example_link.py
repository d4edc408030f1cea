"""Example of a link: one query and one key of a head in a text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import Place
from attnwidget.text.tokens import Tokens

_CONTEXT = 5


@dataclass(frozen=True, repr=False)
class ExampleLink:
    """A query that attends to a key in a text of the corpus.

    Attributes:
        tokens: Tokens of the text.
        segment: Number of the text in the corpus, from 0.
        query: Index of the attending token.
        key: Index of the attended token.
        weight: Attention weight, 0 to 1.
        strength: Weight times the norm of the transformed vector, ||a f(x)||; NaN in a model
            whose heads have no f(x).

    Example:
        >>> from attnwidget import load_model, make_segments
        >>> from attnwidget.behaviors import head_examples
        >>> model = load_model()
        >>> segments = make_segments(["The captain told his men to wait."], model)
        >>> link = head_examples(model, segments, n_examples=2, progress=False).links(0, 2)[0]
        >>> link.query - link.key
        1
        >>> print(link)
        captain → the (1.00): [CLS] [the] [captain] told his men to wait …
    """

    tokens: Tokens
    segment: int
    query: int
    key: int
    weight: float
    strength: float

    @property
    def query_place(self) -> Place | None:
        """Region of the query in a picture or a sound; None for texts and special tokens."""
        return self.tokens.places[self.query] if self.tokens.places else None

    @property
    def key_place(self) -> Place | None:
        """Region of the key in a picture or a sound; None for texts and special tokens."""
        return self.tokens.places[self.key] if self.tokens.places else None

    @property
    def sentence(self) -> str:
        """Words of the text around the link, with the query and the key in brackets.

        For a picture or a sound, this is the number of the input.
        """
        if self.tokens.places and not self.tokens.ids:
            return f"input {self.segment}"
        groups = self.tokens.word_groups()
        linked_words = [
            number
            for number, group in enumerate(groups)
            if self.query in group or self.key in group
        ]
        first = max(0, linked_words[0] - _CONTEXT)
        last = min(len(groups), linked_words[-1] + _CONTEXT + 1)
        words = ["".join(self._marked(token) for token in group) for group in groups[first:last]]
        before = "… " * (first > 0)
        after = " …" * (last < len(groups))
        return f"{before}{' '.join(words)}{after}"

    def _marked(self, token: int) -> str:
        text = self.spelt(token)
        return f"[{text}]" if token in (self.query, self.key) else text

    def spelt(self, token: int) -> str:
        """Return the spelling of a token without the marks of its position in a word."""
        return self.tokens.text[token].removeprefix("##").strip("␣")

    def __repr__(self) -> str:
        return f"ExampleLink({self})"

    def __str__(self) -> str:
        query = self.spelt(self.query)
        key = self.spelt(self.key)
        return f"{query} → {key} ({self.weight:.2f}): {self.sentence}"


def links_in(
    texts: Mapping[int, Tokens],
    places: Sequence[Sequence[int]] | NDArray[np.int64],
    weights: Sequence[float] | NDArray[np.float32],
    strengths: NDArray[np.float32] | None,
) -> list[ExampleLink]:
    """Return links in texts of a corpus.

    Args:
        texts: Tokens of each text, by its number in the corpus.
        places: Text, query and key of each link.
        weights: Attention weight of each link.
        strengths: Strength of each link; None if strengths are not measured.
    """
    link_strengths = [math.nan] * len(weights) if strengths is None else strengths
    return [
        ExampleLink(
            tokens=texts[int(segment)],
            segment=int(segment),
            query=int(query),
            key=int(key),
            weight=float(weight),
            strength=float(strength),
        )
        for (segment, query, key), weight, strength in zip(
            places, weights, link_strengths, strict=True
        )
    ]
