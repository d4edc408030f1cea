"""Accumulators: sums over the segments of a study, which can be merged, stored and continued."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.corpus.results import HeadResult
from attnwidget.corpus.token_classes import TokenClass
from attnwidget.model_facts.free_memory import refuse_no_room
from attnwidget.text.counted import counted
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from typing_extensions import Self

    from attnwidget.capture.model import AttentionModel


class GrowingRows:
    """Buffer with spare capacity for appending rows to an array.

    Returned arrays never change: new rows are written after their last row. Rows are copied only
    when the buffer is full; its capacity is then doubled.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.accumulator import GrowingRows
        >>> growing = GrowingRows()
        >>> one = growing.joined(np.array([1, 2]), np.array([3]))
        >>> two = growing.joined(one, np.array([4]))
        >>> one, two, one.base is two.base
        (array([1, 2, 3]), array([1, 2, 3, 4]), True)
    """

    def __init__(self) -> None:
        self._room: NDArray[Any] = np.empty(0)
        self._used = 0

    def joined(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return an array with the rows of `first`, then the rows of `second`.

        Args:
            first: Array, usually the result of the previous call.
            second: Rows to append.
        """
        begin = len(first)
        end = begin + len(second)
        # Rows after `first` may belong to an array that another call returned.
        is_last = first.base is self._room and begin == self._used
        if not is_last or end > len(self._room):
            self._room = np.empty((2 * end, *first.shape[1:]), first.dtype)
            self._room[:begin] = first
        self._room[begin:end] = second
        self._used = end
        return self._room[:end]


State = Mapping[str, NDArray[Any]]
R = TypeVar("R", bound=HeadResult, covariant=True)


@dataclass(frozen=True)
class Subject:
    """Model and stack whose heads an accumulator measures.

    Attributes:
        n_layers: Number of layers in the stack, L, including layers without attention.
        n_heads: Number of attention heads per layer.
        stack: "self", or the name of the stack if there are several.
        model_name: Name of the model.
        layers_without_attention: Layers without attention in a hybrid model; empty for other
            models.
        model: Model, or None if only the maps of an `Attention` are available.

    Example:
        >>> from attnwidget.metrics import Subject
        >>> hybrid = Subject(n_layers=4, n_heads=8, layers_without_attention=(0, 2))
        >>> hybrid.layers.numbers
        (1, 3)
    """

    n_layers: int
    n_heads: int
    stack: str = "self"
    model_name: str = ""
    model: AttentionModel | None = None
    layers_without_attention: tuple[int, ...] = ()

    @property
    def layers(self) -> LayerNumbers:
        """Numbers of the layers with attention."""
        return LayerNumbers.without(self.layers_without_attention, self.n_layers)

    def needed_model(self, metric: str) -> AttentionModel:
        """Return the model, for a metric that needs more than maps.

        Args:
            metric: Name of the metric, for the message.

        Raises:
            ValueError: There is no model.
        """
        if self.model is None:
            raise ValueError(
                f"{metric} are not told by maps alone: measure(model, make_segments(texts, model), "
                f"[{metric!r}]) measures texts. A study reads pictures, sounds and an Attention as "
                "maps. For one input, attend(..., loss='auto') gives an Attention with "
                "gradients(layer, head) and norms(layer, head)"
            )
        return self.model


@dataclass(frozen=True, eq=False)
class Batch:
    """B segments in one forward pass, padded on the right to n tokens.

    Attributes:
        segments: B segments.
        tokens: Token axis of each segment's maps.
        inputs: Model inputs such as input_ids and attention_mask, [B, n].
        lengths: Number of tokens in each segment without padding, int64 [B].
        real: Mask of real tokens, bool [B, n]; False at padding.
        row_weights: 1 / lengths[b] at real tokens and 0 at padding, float32 [B, n]. A sum with
            these weights is the mean over the queries of each document.
        classes: Masks of the tokens in each token class by name, bool [B, n]. A token may be in
            several classes; padding is in no class. The classes "[CLS]", "[SEP]", ". ," and "first
            token" always exist, and accumulators may add classes.
        n_prompts: Number of prompt tokens in each segment if the model generated the rest, else
            None; empty without generated segments.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.metrics import SegmentMeans
        >>> class ToSeparators(SegmentMeans):
        ...     name = "separators"
        ...     of_heads = {"mass": ()}
        ...     def head_numbers(self, layer):
        ...         batch = layer.batch
        ...         received = (batch.row_weights[:, None, None] @ layer.weights)[:, :, 0]
        ...         return {"mass": (received * batch.classes["[SEP]"][:, None]).sum(-1)}
        ...     def compute(self):
        ...         return self.mean("mass")
        >>> attention = load_model().attend("The cat sat.")
        >>> measure_attention(attention, [ToSeparators()])["separators"].shape
        (6, 12)
    """

    segments: Sequence[Segment]
    tokens: Sequence[Tokens]
    inputs: Mapping[str, Tensor]
    lengths: Tensor
    real: Tensor
    row_weights: Tensor
    classes: Mapping[str, Tensor]
    n_prompts: Sequence[int | None] = ()


@dataclass(frozen=True, eq=False)
class LayerBatch:
    """Attention of one layer for a batch.

    Attributes:
        batch: Segments of the batch.
        layer: Index of the layer among the stack's layers with attention, from 0.
        weights: Attention weights, float32 [B, H, n, n]. Padding columns are 0, and padding rows
            are arbitrary but finite. For long segments, only the rows of some queries,
            [B, H, r, k]: none of these queries sees the keys after the first k.
        seen: Record of the tap (query, key, value, module...), or None if there are only maps.
        first: Index of the query in the first row; 0 if all rows are present.
        norms: Function that returns the norms of the transported vectors, ||a f(x)||, in the shape
            of `weights`; None if they come from `seen` or are not available. It raises ValueError
            with the reason if the model has no f(x).

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.metrics import SegmentMeans
        >>> class Squares(SegmentMeans):
        ...     name = "squares"
        ...     of_heads = {"squares": ()}
        ...     def head_numbers(self, layer):
        ...         squares = layer.weights.square().sum(-1)
        ...         return {"squares": (squares * layer.row_weights[:, None]).sum(-1)}
        ...     def compute(self):
        ...         return self.mean("squares")
        >>> attention = load_model().attend("The cat sat.")
        >>> measure_attention(attention, [Squares()])["squares"].shape
        (6, 12)
    """

    batch: Batch
    layer: int
    weights: Tensor
    seen: LayerAttention | None
    first: int = 0
    norms: Callable[[], Tensor] | None = None

    @property
    def row_weights(self) -> Tensor:
        """Entries of the batch's `row_weights` for the queries in `weights`, [B, r]."""
        return self.of_rows(self.batch.row_weights)

    def of_rows(self, values: Tensor) -> Tensor:
        """Return the values for the queries in `weights`, [..., r].

        Args:
            values: Value of each token, [..., n].
        """
        return values[..., self.first : self.first + self.weights.shape[-2]]

    def of_keys(self, values: Tensor) -> Tensor:
        """Return the values for the keys in `weights`, [..., k].

        Args:
            values: Value of each token, [..., n].
        """
        return values[..., : self.weights.shape[-1]]


class Accumulator(ABC, Generic[R]):
    """Sums over segments: `update` adds a layer, `merge` adds sums, `compute` returns the result.

    `start` is called once. For each batch, `update` is called for each layer in order, and
    `end_batch` after the last layer. The values of `sums` are float64 or int64 arrays, so `merged`
    is addition, and a restored state continues with bit-identical results. An accumulator with
    additional state overrides `merged`, `state` and `restore`. Each batch starts from empty sums,
    in this process or in a worker, and batches are merged in order. `SegmentMeans` is a simpler
    base class for means over segments.

    Attributes:
        name: Key of the result in `Measurements`.
        by_rows: Whether `update` accepts only some rows of a layer's maps at a time. Long segments
            have no complete maps.
        along_line: Whether the numbers depend on distances along the token axis, which have no
            meaning for the patches of a picture.
        by_segment: Names of attributes with one entry per segment, indexed by `segment.index`. A
            worker receives only the entries of its segments, and all other attributes.
        sums: Arrays by name, created in `start`.
        rows: Arrays by name with one row per segment, in reading order. `start` creates them
            without rows, and `merged` appends the rows of the next batch.
        layers: Numbers of the layers with attention. This and the following attributes are set by
            `start`.
        n_layers: Number of layers with attention. Sums have an entry for each of these layers;
            results have an entry for every layer of the model (`LayerNumbers.spread`).
        n_heads: Number of attention heads per layer.
        stack: "self", or the name of the stack if there are several.
        model_name: Name of the model.

    Example:
        >>> import numpy as np
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Accumulator
        >>> class Tokens(Accumulator):
        ...     name = "tokens"
        ...     def start(self, subject):
        ...         super().start(subject)
        ...         self.sums = {"tokens": np.zeros(self.n_layers, np.int64)}
        ...     def update(self, layer):
        ...         self.sums["tokens"][layer.layer] += int(layer.batch.lengths.sum())
        ...     def compute(self):
        ...         return self.sums["tokens"]
        >>> model = load_model()
        >>> segments = make_segments(["It slept.", "The cat sat on the mat."], model)
        >>> measure(model, segments, [Tokens()], progress=False)["tokens"].tolist()
        [14, 14, 14, 14, 14, 14]
    """

    name: str
    by_rows: ClassVar[bool] = False
    along_line: ClassVar[bool] = False
    by_segment: ClassVar[tuple[str, ...]] = ()
    sums: dict[str, NDArray[Any]]
    rows: dict[str, NDArray[Any]]
    layers: LayerNumbers
    n_layers: int
    n_heads: int
    stack: str
    model_name: str

    @property
    def options(self) -> dict[str, Any]:
        """Options of the accumulator as JSON; a run can resume only with the same options."""
        return {}

    @property
    def token_classes(self) -> Mapping[str, TokenClass]:
        """Token classes by name to add to every batch."""
        return {}

    def start(self, subject: Subject) -> None:
        """Prepare for a model; a subclass calls this method first, then creates its `sums`.

        Args:
            subject: Model and stack to measure.
        """
        self._made = self.as_made()
        self.layers = subject.layers
        self.n_layers = len(self.layers.numbers)
        self.n_heads = subject.n_heads
        self.stack = subject.stack
        self.model_name = subject.model_name
        self.sums = {}
        self.rows = {}
        self._growing: dict[str, GrowingRows] = {}

    def add_rows(self, count: int) -> slice:
        """Append rows of zeros to all `rows`, and return their slice.

        Args:
            count: Number of segments in the batch.
        """
        n_rows = len(next(iter(self.rows.values()), ()))
        for name, values in self.rows.items():
            new_rows = np.zeros((count, *values.shape[1:]), values.dtype)
            self.rows[name] = np.concatenate([values, new_rows])
        return slice(n_rows, n_rows + count)

    @abstractmethod
    def update(self, layer: LayerBatch) -> None:
        """Add one layer of a batch; its maps are released after this call.

        Args:
            layer: Attention of the layer.
        """

    def end_batch(self, batch: Batch) -> None:
        """Add numbers of the entire batch; called after its last layer.

        Args:
            batch: Segments of the batch.
        """

    def merge(self, other: Self) -> None:
        """Add the sums of another accumulator.

        Args:
            other: Accumulator with the same options.
        """
        self.restore(self.merged(self.state(), other.state()))

    def merged(self, first: State, second: State) -> dict[str, NDArray[Any]]:
        """Return the state of an accumulator with the inputs of two others.

        Args:
            first: State of the first accumulator.
            second: State of the second accumulator.
        """
        return {
            name: self._growing.setdefault(name, GrowingRows()).joined(values, second[name])
            if name in self.rows
            else np.asarray(values + second[name])
            for name, values in first.items()
        }

    @property
    def has_sums_alone(self) -> bool:
        """Whether merging two states is only addition; available after `start`."""
        return type(self).merged is Accumulator.merged and not self.rows

    @abstractmethod
    def compute(self) -> R:
        """Return the result over all segments so far."""

    def as_made(self) -> dict[str, Any]:
        """Return the attributes of the accumulator before `start`."""
        return vars(self).get("_made") or dict(vars(self))

    def of_segments_alone(self, segments: Iterable[Any]) -> dict[str, Any]:
        """Return the entries of the `by_segment` attributes for some segments.

        Args:
            segments: Segments with an `index`.
        """
        indices = [segment.index for segment in segments] if self.by_segment else []
        return {
            name: {index: getattr(self, name)[index] for index in indices}
            for name in self.by_segment
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """Return a copy of all sums and rows, from which `restore` continues exactly."""
        return {name: values.copy() for name, values in (self.sums | self.rows).items()}

    def restore(self, state: State) -> None:
        """Continue from a `state` with the same model and options.

        Args:
            state: Result of `state`.

        Raises:
            ValueError: The state belongs to another accumulator.
        """
        expected_shapes, state_shapes = (
            {
                name: values.shape[1:] if name in self.rows else values.shape
                for name, values in arrays.items()
            }
            for arrays in (self.sums | self.rows, state)
        )
        if expected_shapes != state_shapes:
            raise ValueError(
                f"the stored sums of {self.name!r} do not fit: expected {expected_shapes}, got "
                f"{state_shapes}; start over without the resume file"
            )
        for name, values in state.items():
            target = self.rows if name in self.rows else self.sums
            target[name] = np.array(values, dtype=target[name].dtype)


def token_classes_of(accumulators: Iterable[Accumulator[Any]]) -> dict[str, TokenClass]:
    """Return the token classes of several accumulators by name.

    Args:
        accumulators: Accumulators.

    Raises:
        ValueError: Two different classes have the same name.
    """
    classes: dict[str, TokenClass] = {}
    for accumulator in accumulators:
        for name, members in accumulator.token_classes.items():
            if classes.setdefault(name, members) != members:
                raise ValueError(f"two metrics name different token classes {name!r}")
    return classes


def refuse_raster(accumulators: Iterable[Accumulator[Any]], tokens: Tokens, stack: str) -> None:
    """Raise an error if a metric needs distances along a line and the tokens are picture patches.

    Args:
        accumulators: Metrics.
        tokens: Token axis.
        stack: Name of the stack, for the message.

    Raises:
        ValueError: `tokens` are not along a line, and a metric requires it.
    """
    names = [accumulator.name for accumulator in accumulators]
    refused = [accumulator.name for accumulator in accumulators if accumulator.along_line]
    if tokens.are_along_line or not refused:
        return
    others = [name for name in names if name not in refused] or ["entropy", "confidence"]
    raise ValueError(
        f"{', '.join(refused)}: these metrics measure distances along a line, and the tokens of "
        f"{stack!r} are patches of a picture, where the next token may be in another row: choose "
        f"other metrics, such as {others}"
    )


def refuse_kept_maps(
    name: str, maps: Tensor, n_layers: int, *, times: int = 1, beside: int = 0, held: int = 0
) -> None:
    """Refuse a batch whose maps of all layers do not fit in memory together.

    Args:
        name: Name of the accumulator that stores the maps.
        maps: Maps of the first layer, [B, H, m, n].
        n_layers: Number of layers to store.
        times: Number of copies to store.
        beside: Number of additional copies of one segment's maps that a comparison needs.
        held: Number of bytes that are already in use.

    Raises:
        ValueError: The maps do not fit in memory.
    """
    # An accelerator raises its own error.
    if maps.device.type != "cpu":
        return
    size = len(maps)
    tokens = maps.shape[-1]
    size_each = 4 * n_layers * maps[0].numel()

    def advice(room: int) -> str:
        fits = max((room + held) // size_each - beside, 0) // times
        shorter = isqrt((room + held) * tokens**2 // (size_each * (times + beside)))
        return f"pass batch_size={fits}" if fits else f"pass at most {shorter} tokens a segment"

    refuse_no_room(
        size_each * (times * size + beside) - held,
        f"{name}: the maps of {n_layers * maps.shape[1]:,} heads, kept together for "
        f"{counted(size, 'segment')} of {tokens:,} tokens,",
        advice,
    )
