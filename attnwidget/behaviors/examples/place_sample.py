"""Base class of accumulators that keep links of a corpus, with the tokens of their texts."""

from __future__ import annotations

import json
import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.examples.kept_places import best_places, best_sample, named, of_list
from attnwidget.behaviors.examples.place_priorities import NEVER
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, R, State, Subject
from attnwidget.corpus.segment_indices import segment_indices
from attnwidget.inputs.token_axes import token_axis
from attnwidget.kernels.causal import is_causal
from attnwidget.text.tokens import Tokens
from attnwidget.text.tokens_json import tokens_from_json, tokens_to_json

#: Names of the arrays of texts in a state: the numbers of the S segments, their lengths in tokens,
#: and the vocabulary id and sentence of all their tokens, one segment after the other. Tokens with
#: regions in pictures and sounds are stored as JSON bytes instead of ids, and the sentence of a
#: byte is -1.
TEXT_ARRAYS = ("text index", "text length", "text ids", "text sentence")


_BYTE = -1


def no_texts() -> dict[str, NDArray[Any]]:
    """Return empty arrays of texts."""
    types = (np.int64, np.int64, np.int64, np.int8)
    return {name: np.zeros(0, kind) for name, kind in zip(TEXT_ARRAYS, types, strict=True)}


def texts_of(batch: Batch, indices: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the arrays of all segments of a batch, ordered by segment number.

    Args:
        batch: Batch of B segments.
        indices: Number of each segment in the corpus, int64 [B].
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
    """Return the arrays of the texts of two states, limited to the numbers in `used`.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.examples.place_sample import TEXT_ARRAYS, merged_texts
        >>> one = dict(zip(TEXT_ARRAYS, map(np.array, ([4, 7], [1, 2], [5, 6, 7], [0, 0, 0]))))
        >>> two = dict(zip(TEXT_ARRAYS, map(np.array, ([2], [1], [9], [0]))))
        >>> merged_texts(one, two, np.array([2, 7]))["text ids"].tolist()
        [9, 6, 7]
    """
    index, length, ids, sentence = (
        np.concatenate([first[name], second[name]]) for name in TEXT_ARRAYS
    )
    starts = np.cumsum(length) - length
    # A segment that is in both states is kept once.
    _, unique_rows = np.unique(index, return_index=True)
    used_rows = unique_rows[np.isin(index[unique_rows], used)]
    token_rows = _ranges(starts[used_rows], length[used_rows])
    columns = index[used_rows], length[used_rows], ids[token_rows], sentence[token_rows]
    return dict(zip(TEXT_ARRAYS, columns, strict=True))


def split_texts(state: State) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Split a state into copies of its text arrays and its other arrays."""
    texts = {name: np.array(state[name]) for name in TEXT_ARRAYS}
    return texts, {name: values for name, values in state.items() if name not in TEXT_ARRAYS}


def text_axes(state: State, tokenizer: Any) -> dict[int, Tokens]:
    """Return the tokens of every stored segment, by its number in the corpus.

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
    """Return the ids and sentences of tokens, or JSON bytes if ids do not suffice."""
    if axis.ids and not axis.places:
        return axis.ids, axis.segments
    data = zlib.compress(json.dumps(tokens_to_json(axis)).encode())
    return list(data), [_BYTE] * len(data)


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from start to start + length of all ranges, one range after the other."""
    offsets = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    return np.arange(total) + np.repeat(starts - offsets, lengths)


class PlaceSample(Accumulator[R]):
    """Accumulator that keeps links of a corpus: a segment, a query and a key each.

    A state has sums, a sample of links at positions that all heads share, lists of the best links
    per head, and the tokens of the texts that contain these links. A subclass fills `found` for
    each batch, with the arrays of `nothing`. Batches can be merged in any order.

    Attributes:
        summed: Names of arrays that are added.
        lists: Names of the link lists per head, each with the `PLACE_ARRAYS`.
        of_sample: Names of arrays with one number per head at each sampled position, [L, H, N].
        n_listed: Number of links per head in a list.
        n_sampled: Number N of sampled positions.
        found: Arrays of the current batch.
        indices: Number of each segment of the batch in the corpus, int64 [B].
        is_causal: Whether queries of the batch see no later tokens.
    """

    summed: ClassVar[tuple[str, ...]]
    lists: ClassVar[tuple[str, ...]] = ()
    of_sample: ClassVar[tuple[str, ...]]
    n_listed: int = 0
    n_sampled: int
    found: dict[str, NDArray[Any]]
    indices: NDArray[np.int64]
    is_causal: bool

    @abstractmethod
    def nothing(self) -> Mapping[str, NDArray[Any]]:
        """Return empty sums and lists, and arrays of zeros for the sample."""

    @abstractmethod
    def begin_batch(self, layer: LayerBatch) -> None:
        """Select the links of a batch from its first layer; store the sample (`keep_sample`)."""

    @abstractmethod
    def add_layer(self, layer: LayerBatch) -> None:
        """Fill the arrays of `found` for one layer."""

    def start(self, subject: Subject) -> None:
        super().start(subject)
        # Tokens of pictures and sounds are available without a model.
        self._tokenizer = None if subject.model is None else subject.model.tokenizer
        self._nothing = {
            **self.nothing(),
            "sample rank": np.full(self.n_sampled, NEVER),
            "sample place": np.full((self.n_sampled, 3), -1, np.int64),
            **no_texts(),
        }
        self.sums = {name: values.copy() for name, values in self._nothing.items()}

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self.indices = segment_indices(layer.batch.segments)
            self.is_causal = is_causal(layer.weights, layer.batch.real)
            self.found = {name: values.copy() for name, values in self._nothing.items()}
            self.begin_batch(layer)
        self.add_layer(layer)

    def in_corpus(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return positions with the number of the segment in the corpus instead of the batch item.

        Args:
            places: Item, query and key of each link, int64 [..., 3].
        """
        corpus_positions = places.copy()
        corpus_positions[..., 0] = self.indices[places[..., 0]]
        return corpus_positions

    def keep_sample(self, places: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Store the sample of the batch.

        Args:
            places: Item, query and key of each sampled position, int64 [P, 3].
            ranks: Rank of each position, [P]; the corpus sample keeps the smallest ranks.
        """
        size = len(places)
        self.found["sample rank"][:size] = ranks
        self.found["sample place"][:size] = self.in_corpus(places)

    def end_batch(self, batch: Batch) -> None:
        self.found |= texts_of(batch, self.indices)
        self.restore(self.merged(self.state(), self.found))

    def merged(self, first: State, second: State) -> dict[str, NDArray[Any]]:
        state = {name: np.asarray(first[name] + second[name]) for name in self.summed}
        for name in self.lists:
            best = best_places(of_list(name, first), of_list(name, second), self.n_listed)
            state |= named(name, best)
        state |= best_sample(first, second, self.n_sampled, self.of_sample)
        segments = [state[f"{name} place"][..., 0].ravel() for name in (*self.lists, "sample")]
        return state | merged_texts(first, second, np.unique(np.concatenate(segments)))

    def restore(self, state: State) -> None:
        # The number of stored texts differs between states. All other arrays have a fixed shape.
        texts, others = split_texts(state)
        self.sums = split_texts(self.sums)[1]
        super().restore(others)
        self.sums |= texts

    def texts(self) -> dict[int, Tokens]:
        """Return the tokens of every stored text, by its number in the corpus."""
        return text_axes(self.sums, self._tokenizer)
