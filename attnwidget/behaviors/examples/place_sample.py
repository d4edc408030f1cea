"""The base of accumulators that keep places of a corpus, with the tokens of their texts."""

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


class PlaceSample(Accumulator[R]):
    """An accumulator that keeps places of a corpus: a segment, a query and a key.

    A state has sums, a sample of places that all heads share, lists of the best places of every
    head, and the tokens of the texts of all these places. A subclass fills `found` for each batch,
    with the arrays of `nothing`. Batches can be merged in any order.

    Attributes:
        summed: Names of arrays that are added.
        lists: Names of the lists of places of every head, with the `PLACE_ARRAYS` of each.
        of_sample: Names of numbers of every head at the places of the sample, [L, H, N].
        n_listed: Number of places of every head in a list.
        n_sampled: Number N of places of the sample.
        found: The arrays of the batch that is being read.
        indices: The number of each segment of the batch in the corpus, int64 [B].
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
        """Return the sums and the lists of no places, and numbers of every head of the sample."""

    @abstractmethod
    def begin_batch(self, layer: LayerBatch) -> None:
        """Find the places of a batch, from its first layer; fill the sample (`keep_sample`)."""

    @abstractmethod
    def add_layer(self, layer: LayerBatch) -> None:
        """Fill the arrays of `found` of one layer."""

    def start(self, subject: Subject) -> None:
        super().start(subject)
        # The tokens of pictures and sounds are known without a model.
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
        """Return places with the number of the segment in the corpus, from items of the batch.

        Args:
            places: Item, query and key of each place, int64 [..., 3].
        """
        numbered = places.copy()
        numbered[..., 0] = self.indices[places[..., 0]]
        return numbered

    def keep_sample(self, places: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Write the sample of the batch.

        Args:
            places: Item, query and key of each place, int64 [P, 3].
            ranks: Their ranks, [P]; the places with the smallest ranks of the corpus are kept.
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
        places = [state[f"{name} place"][..., 0].ravel() for name in (*self.lists, "sample")]
        return state | merged_texts(first, second, np.unique(np.concatenate(places)))

    def restore(self, state: State) -> None:
        # The number of kept texts differs between states, and all further arrays have the same
        # shape.
        texts, others = split_texts(state)
        self.sums = split_texts(self.sums)[1]
        super().restore(others)
        self.sums |= texts

    def texts(self) -> dict[int, Tokens]:
        """Return the tokens of every kept text, by its number in the corpus."""
        return text_axes(self.sums, self._tokenizer)
