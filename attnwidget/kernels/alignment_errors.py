"""Word alignments of cross-attention maps, and their error rate (Och and Ney 2003)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Float64Array

NO_WORD = -1


def aligned_words(
    maps: NDArray[np.floating], query_words: Sequence[int | None], key_words: Sequence[int | None]
) -> NDArray[np.int64]:
    """Return the source word to which each target word attends most.

    Values are summed over the tokens of a source word and averaged over the tokens of a target
    word. A target word that attends most to a special token has no source word. Ties go to the
    first word.

    Args:
        maps: Weights or norms, [..., Q, K].
        query_words: Target word of each query, from 0; None for queries of no word.
        key_words: Source word of each key, from 0; None for special tokens.

    Returns:
        Source word of each target word, int64 [..., n]; -1 for none. n is the largest target word
        plus 1.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.alignment_errors import aligned_words
        >>> maps = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.1, 0.3]])
        >>> aligned_words(maps, [0, 1], [0, 0, 1, None]).tolist()
        [-1, 0]
    """
    values = word_values(maps, query_words, key_words)
    n_words = 1 + max((word for word in key_words if word is not None), default=-1)
    best = values.argmax(-1)
    return np.where(best < n_words, best, NO_WORD)


def word_values(
    maps: NDArray[np.floating], query_words: Sequence[int | None], key_words: Sequence[int | None]
) -> Float64Array:
    """Return the map between words, [..., n, m + s], with the s special keys in the last columns.

    Args:
        maps: Weights or norms, [..., Q, K].
        query_words: Target word of each query, from 0; None for queries of no word.
        key_words: Source word of each key, from 0; None for special tokens.
    """
    n_words = 1 + max((word for word in key_words if word is not None), default=-1)
    n_special = sum(word is None for word in key_words)
    columns = np.zeros((len(key_words), n_words + n_special))
    special = n_words
    for key, word in enumerate(key_words):
        columns[key, special if word is None else word] = 1
        special += word is None
    n_rows = 1 + max((word for word in query_words if word is not None), default=-1)
    rows = np.zeros((n_rows, len(query_words)))
    for query, word in enumerate(query_words):
        if word is not None:
            rows[word, query] = 1
    rows /= np.maximum(rows.sum(1, keepdims=True), 1)
    by_word: Float64Array = rows @ np.asarray(maps, np.float64) @ columns
    return by_word


def link_hits(
    predicted: NDArray[np.int64], sure: Sequence[tuple[int, int]], links: Sequence[tuple[int, int]]
) -> Float64Array:
    """Return the numbers of predicted links, and of those that are sure and possible.

    Args:
        predicted: Source word of each target word, [..., n]; -1 for none.
        sure: Sure links (source word, target word).
        links: Sure and possible links.

    Returns:
        Float64 [3, ...]: number of predictions, predictions that are sure links, predictions that
        are sure or possible links.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.alignment_errors import link_hits
        >>> link_hits(np.array([0, -1, 1]), [(0, 0)], [(0, 0), (1, 2)]).tolist()
        [2.0, 1.0, 2.0]
    """
    counts = [(predicted != NO_WORD).sum(-1)]
    for gold in (sure, links):
        found = np.zeros(predicted.shape[:-1], np.int64)
        for source, target in set(gold):
            found += predicted[..., target] == source
        counts.append(found)
    return np.stack(counts).astype(np.float64)


def alignment_error_rate(hits: Float64Array, n_sure: Float64Array) -> Float64Array:
    """Return the alignment error rate 1 - (|A and S| + |A and P|) / (|A| + |S|).

    A are the predicted links, S the sure links, and P the sure and possible links.

    Args:
        hits: Numbers from `link_hits`, [3, ...].
        n_sure: Number of sure links, in a shape that fits [...].

    Returns:
        Error rates from 0 to 1, [...]; NaN without links.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.alignment_errors import alignment_error_rate
        >>> float(alignment_error_rate(np.array([2.0, 1.0, 2.0]), np.array(1.0)))
        0.0
    """
    n_predicted, sure, possible = hits
    total = n_predicted + n_sure
    found = np.divide(sure + possible, total, out=np.full(total.shape, np.nan), where=total > 0)
    return np.asarray(1 - found)
