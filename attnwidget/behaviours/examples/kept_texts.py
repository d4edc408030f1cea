"""The texts of kept places, as arrays: the tokens of a segment, by its number in the corpus."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.accumulator import Batch, State
from attnwidget.inputs.token_axes import token_axis
from attnwidget.text.tokens import Tokens
from attnwidget.text.tokens_json import tokens_from_json, tokens_to_json

#: Names of the arrays of texts in a state: the numbers of the S segments, their numbers of tokens,
#: and the vocabulary id and sentence of all their tokens, one segment after the other. Tokens with
#: places in pictures and sounds are kept as bytes of JSON in place of ids, and the sentence of a
#: byte is -1.
TEXT_ARRAYS = ("text index", "text length", "text ids", "text sentence")


_BYTE = -1


def no_texts() -> dict[str, NDArray[Any]]:
    """Return the arrays of no text."""
    types = (np.int64, np.int64, np.int64, np.int8)
    return {name: np.zeros(0, kind) for name, kind in zip(TEXT_ARRAYS, types, strict=True)}


def texts_of(batch: Batch, indices: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the arrays of all segments of a batch, in the order of their numbers.

    Args:
        batch: B segments.
        indices: The number of each segment in the corpus, int64 [B].
    """
    texts = no_texts()
    order = np.argsort(indices)
    axes = [_stored(batch.tokens[int(item)]) for item in order]
    columns = (
        indices[order],
        [len(ids) for ids, _ in axes],
        [token for ids, _ in axes for token in ids],
        [sentence for _, sentences in axes for sentence in sentences],
    )
    return {
        name: np.asarray(column, dtype=texts[name].dtype)
        for name, column in zip(TEXT_ARRAYS, columns, strict=True)
    }


def merged_texts(first: State, second: State, used: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the texts of two states whose numbers are among `used`.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviours.examples.kept_texts import TEXT_ARRAYS, merged_texts
        >>> one = dict(zip(TEXT_ARRAYS, map(np.array, ([4, 7], [1, 2], [5, 6, 7], [0, 0, 0]))))
        >>> two = dict(zip(TEXT_ARRAYS, map(np.array, ([2], [1], [9], [0]))))
        >>> merged_texts(one, two, np.array([2, 7]))["text ids"].tolist()
        [9, 6, 7]
    """
    index, length, ids, sentence = (
        np.concatenate([first[name], second[name]]) for name in TEXT_ARRAYS
    )
    starts = np.cumsum(length) - length
    # A segment of two states is kept once.
    _, once = np.unique(index, return_index=True)
    kept = once[np.isin(index[once], used)]
    of_tokens = _ranges(starts[kept], length[kept])
    kept_arrays = index[kept], length[kept], ids[of_tokens], sentence[of_tokens]
    return dict(zip(TEXT_ARRAYS, kept_arrays, strict=True))


def split_texts(state: State) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return copies of the arrays of texts of a state, and its other arrays."""
    texts = {name: np.array(state[name]) for name in TEXT_ARRAYS}
    return texts, {name: values for name, values in state.items() if name not in TEXT_ARRAYS}


def text_axes(state: State, tokenizer: Any) -> dict[int, Tokens]:
    """Return the tokens of every kept segment by its number in the corpus.

    `tokenizer` is None for pictures and sounds.
    """
    index, length, ids, sentence = (state[name] for name in TEXT_ARRAYS)
    stops = np.cumsum(length)
    axes = {}
    for number, start, stop in zip(index, stops - length, stops, strict=True):
        tokens: Sequence[int] = ids[start:stop].tolist()
        if sentence[start] == _BYTE:
            axes[int(number)] = tokens_from_json(json.loads(zlib.decompress(bytes(tokens))))
            continue
        axes[int(number)] = token_axis(tokenizer, tokens, segments=sentence[start:stop].tolist())
    return axes


def _stored(axis: Tokens) -> tuple[Sequence[int], Sequence[int]]:
    """Return the ids and sentences of tokens, or the bytes of tokens that have no ids or places."""
    if axis.ids and not axis.places:
        return axis.ids, axis.segments
    written = zlib.compress(json.dumps(tokens_to_json(axis)).encode())
    return list(written), [_BYTE] * len(written)


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from start to start + length of all ranges, range after range."""
    before = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    return np.arange(total) + np.repeat(starts - before, lengths)
