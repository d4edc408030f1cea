"""Generated attention maps whose pattern is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.patterns import BLOCK, BOTH, DIAGONAL, VERTICAL

Map = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PatternMap:
    """A map of one head with the name of its pattern.

    Attributes:
        weights: [n, n], rows sum to 1.
        first: tokens of the first sentence, special ones included; n where there is one sentence.
        label: one of `kernels.patterns.PATTERNS`.
        causal: whether queries see no later token.
    """

    weights: Map
    first: int
    label: str
    causal: bool = False


def made_map(label: str, draw: np.random.Generator) -> PatternMap:
    """A map of 6 to 128 tokens that shows a pattern, as maps of trained models do: with noise.

    It is a sum of a noise map and of the pattern's own parts: *columns* at the special tokens, at
    one word or at several; a *line* at offset -1, 0 or +1, or a band around it; *sentences*, in
    which tokens attend to their own sentence. The share of each part, the noise, the softmax
    temperature and the attention of special tokens are drawn at random. One map in six is causal,
    but for blocks.

    Example:
        >>> import numpy as np
        >>> from pattern_maps import made_map
        >>> found = made_map("vertical", np.random.default_rng(0))
        >>> found.weights.sum(-1).round(6).min(), found.label
        (np.float64(1.0), 'vertical')
    """
    n = int(np.exp(draw.uniform(np.log(6 if label != BLOCK else 12), np.log(128))))
    causal = label != BLOCK and draw.random() < 1 / 6
    pair = label == BLOCK or (n >= 8 and draw.random() < 0.5)
    first = int(n * draw.uniform(0.25, 0.75)) if pair else n
    specials = sorted({0, first - 1, n - 1})
    noise = _noise(n, draw)
    columns = _columns(n, specials, draw)
    line = _line(n, draw)
    if label == VERTICAL:
        parts = [(columns, draw.uniform(0.3, 0.95))]
    elif label == DIAGONAL:
        along = draw.uniform(0.45 if n < 16 else 0.3, 0.97)
        parts = [(line, along), (columns, (1 - along) * draw.uniform(0, 0.08))]
    elif label == BOTH:
        across = draw.uniform(0.2, 0.6)
        parts = [(columns, across), (line, (1 - across) * draw.uniform(0.35, 0.95))]
    elif label == BLOCK:
        sentence = np.arange(n) < first
        kept = np.where(sentence[:, None] == sentence, 1, draw.uniform(0, 0.25))
        block = _noise(n, draw) * kept
        across = draw.uniform(0, 0.5)
        parts = [(columns, across), (block, (1 - across) * draw.uniform(0.6, 1))]
    else:
        parts = [(columns, draw.uniform(0, 0.08))]
    rest = 1 - sum(share for _, share in parts)
    weights = rest * noise + sum(share * _rows(part) for part, share in parts)
    if draw.random() < 0.3:
        strength = draw.uniform(0.5, 1)
        for token in specials:
            weights[token] *= 1 - strength
            weights[token, draw.choice(specials)] += strength
    weights = np.tril(weights + 1e-9) if causal else weights + 1e-9
    return PatternMap(_rows(weights), first, label, causal)


def _rows(weights: Map) -> Map:
    """The same with rows that sum to 1."""
    scaled: Map = weights / weights.sum(-1, keepdims=True).clip(1e-12)
    return scaled


def _noise(n: int, draw: np.random.Generator) -> Map:
    """No pattern: independent scores, words alike in rows and columns, or few strong links."""
    words = draw.normal(size=(draw.integers(2, 8), n))
    scores = draw.uniform(0, 1.2) * draw.normal(size=(n, n))
    scores += (
        draw.uniform(0, 0.8) * words.T @ draw.normal(size=(len(words),) * 2) @ words / len(words)
    )
    scores += draw.uniform(0, 0.5) * draw.normal(size=n)
    if draw.random() < 0.3:
        links = draw.integers(n, size=(2, max(1, n // 2)))
        scores[links[0], links[1]] += draw.uniform(1, 4)
    if draw.random() < 0.3:
        # Near tokens a little stronger, over far more of the map than any band.
        scores -= np.abs(np.subtract.outer(range(n), range(n))) / n * draw.uniform(0, 2)
    return _rows(np.exp(scores))


def _columns(n: int, specials: list[int], draw: np.random.Generator) -> Map:
    """Columns at special tokens or at words, stronger in some rows than in others."""
    kind = draw.random()
    chosen = specials[:1] if kind < 0.45 else specials
    if kind > 0.65:
        words = draw.choice(n, min(n, int(draw.integers(1, 3 + n // 12))), replace=False)
        chosen = [*words] if kind > 0.8 else [0, *words]
    weights = np.zeros((n, n))
    weights[:, chosen] = draw.dirichlet(np.ones(len(chosen)) * 2)
    return weights * np.exp(draw.uniform(0, 0.5) * draw.normal(size=(n, n)))


def _line(n: int, draw: np.random.Generator) -> Map:
    """A line at offset -1, 0 or +1, one or several tokens wide, with weaker parallel lines."""
    distance = np.subtract.outer(range(n), range(n)) + draw.integers(-1, 2)
    if draw.random() < 0.5:
        weights = (distance == 0) + draw.uniform(0, 0.5) * (np.abs(distance) == 1)
    else:
        width = draw.uniform(0.5, 1 + n / 24)
        weights = np.exp(-((np.abs(distance) / width) ** draw.choice([1, 2])))
        if draw.random() < 0.3:
            weights = weights * ((distance > 0) if draw.random() < 0.5 else (distance < 0))
    strength = np.exp(draw.uniform(0, 0.7) * draw.normal(size=(n, n)))
    return weights * strength + 1e-9
