"""What a study keeps while segments stream by: sums, which merge, can be stored, and restart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.hub_model.free_memory import refuse_no_room
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.studies.streaming.results import HeadResult
from attnwidget.studies.streaming.token_classes import TokenClass
from attnwidget.text.counted import counted
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from typing_extensions import Self

    from attnwidget.capture.model import AttentionModel

State = Mapping[str, NDArray[Any]]
R = TypeVar("R", bound=HeadResult, covariant=True)


@dataclass(frozen=True)
class Subject:
    """Whose heads an accumulator is about to see.

    Attributes:
        n_layers: layers of the stack, L, with those that have no attention.
        n_heads: attention heads a layer.
        stack: "self", or the name of a stack where there are several.
        model_name: the model's name.
        without_attention: the layers of a hybrid model that have no attention; else empty.
        model: The model, or None for the maps of an `Attention` alone.
    """

    n_layers: int
    n_heads: int
    stack: str = "self"
    model_name: str = ""
    model: AttentionModel | None = None
    without_attention: tuple[int, ...] = ()

    @property
    def layers(self) -> LayerNumbers:
        """The numbers of the layers that have attention."""
        return LayerNumbers.without(self.without_attention, self.n_layers)

    def needed_model(self, metric: str) -> AttentionModel:
        """The model, for a metric that reads more than maps; ValueError where there is none."""
        if self.model is None:
            raise ValueError(
                f"{metric} are not told by maps alone: measure them with the model that made the "
                "maps, measure(model, segments)"
            )
        return self.model


@dataclass(frozen=True, eq=False)
class Batch:
    """B segments that go through the model together, padded on the right to n tokens.

    Attributes:
        segments: the B segments.
        tokens: the tokens of each, as an axis of its maps.
        inputs: what the model is called with, input_ids, attention_mask... [B, n].
        lengths: int64 [B], tokens of each without padding.
        real: bool [B, n], False at padding.
        row_weights: float32 [B, n], 1 / lengths[b] at real tokens and 0 at padding: summing with
            them is the mean over the queries of each document.
        classes: bool [B, n] by name; a token may be in several classes, padding is in none.
            Always "[CLS]", "[SEP]", ". ,", "first token", and what accumulators add to them.
    """

    segments: Sequence[Segment]
    tokens: Sequence[Tokens]
    inputs: Mapping[str, Tensor]
    lengths: Tensor
    real: Tensor
    row_weights: Tensor
    classes: Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class LayerBatch:
    """The attention of one layer in one batch.

    Attributes:
        batch: the segments.
        layer: index of the layer among the layers of its stack that have attention, from 0.
        weights: float32 [B, H, n, n]; columns of padding are 0, rows of padding arbitrary but
            finite. Of long segments only the rows of some queries, [B, H, r, n].
        seen: the layer as the tap saw it: query, key, value, module...; None where there are maps
            alone.
        first: the query that the rows begin with; 0 where all are there.
    """

    batch: Batch
    layer: int
    weights: Tensor
    seen: LayerAttention | None
    first: int = 0

    @property
    def row_weights(self) -> Tensor:
        """Return values [B, n] of the batch for the queries whose rows are present, [B, r]."""
        return self.of_rows(self.batch.row_weights)

    def of_rows(self, values: Tensor) -> Tensor:
        """Return values [..., n] for the queries whose rows are present, [..., r]."""
        return values[..., self.first : self.first + self.weights.shape[-2]]


class Accumulator(ABC, Generic[R]):
    """Sums over segments: `update` adds a layer of a batch, `merge` another's, `compute` divides.

    `start` is called once, then `update` for every layer of a batch in order and `end_batch` after
    the last one. Sums are kept in `sums`, float64 or int64, so that `merged` is addition and
    a restored state continues bit for bit; an accumulator that needs more overrides `merged`,
    `state` and `restore`. Each batch is read from empty sums, here or by a worker, and merged in
    the order of the batches.
    Where the numbers are means over segments, `SegmentMeans` leaves less to write.

    Attributes:
        name: the key of its result in `Measurements`.
        by_rows: whether `update` takes some rows of a layer's maps at a time, as of long segments,
            of which no map is whole.
        by_segment: names of attributes that are looked up by the `index` of a segment; a worker is
            sent what they hold of its segments. All others go to every worker.
        sums: arrays by name, made in `start`.
        layers: numbers of the layers that have attention; known after `start`, as the following.
        n_layers: how many layers have attention: sums have a place for each of these, and results
            have a place for every layer of the model (`LayerNumbers.spread`).
        n_heads: attention heads a layer.
        stack: "self", or the name of a stack where there are several.
        model_name: the model's name.
    """

    name: ClassVar[str]
    by_rows: ClassVar[bool] = False
    by_segment: ClassVar[tuple[str, ...]] = ()
    sums: dict[str, NDArray[Any]]
    layers: LayerNumbers
    n_layers: int
    n_heads: int
    stack: str
    model_name: str

    @property
    def options(self) -> dict[str, Any]:
        """What the accumulator was asked for, as JSON: a checkpoint continues with the same."""
        return {}

    @property
    def token_classes(self) -> Mapping[str, TokenClass]:
        """Token classes by name to add to every batch's."""
        return {}

    def start(self, subject: Subject) -> None:
        """Get ready for `subject`; a subclass calls this first, then makes its `sums`."""
        self._made = self.as_made()
        self.layers = subject.layers
        self.n_layers = len(self.layers.numbers)
        self.n_heads = subject.n_heads
        self.stack = subject.stack
        self.model_name = subject.model_name
        self.sums = {}

    @abstractmethod
    def update(self, layer: LayerBatch) -> None:
        """Add one layer of a batch; its maps live no longer than this call."""

    def end_batch(self, batch: Batch) -> None:
        """Add what needs the whole batch: called after its last layer."""

    def merge(self, other: Self) -> None:
        """Add what another accumulator of the same options has seen."""
        self.restore(self.merged(self.state(), other.state()))

    def merged(self, first: State, second: State) -> dict[str, NDArray[Any]]:
        """Return the state of an accumulator that has seen the inputs of two others."""
        return {name: np.asarray(values + second[name]) for name, values in first.items()}

    @abstractmethod
    def compute(self) -> R:
        """The result over all segments so far."""

    def as_made(self) -> dict[str, Any]:
        """Return the attributes that the accumulator had before its start."""
        return vars(self).get("_made") or dict(vars(self))

    def of_segments_alone(self, segments: Iterable[Any]) -> dict[str, Any]:
        """The attributes of `by_segment` as far as they are about these segments."""
        indices = [segment.index for segment in segments] if self.by_segment else []
        return {
            name: {index: getattr(self, name)[index] for index in indices}
            for name in self.by_segment
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of all sums; `restore` continues from it exactly."""
        return {name: values.copy() for name, values in self.sums.items()}

    def restore(self, state: State) -> None:
        """Continue from a `state` of the same model and options.

        Raises:
            ValueError: if the state belongs to another sum.
        """
        shapes = [{name: values.shape for name, values in s.items()} for s in (self.sums, state)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"the stored sums of {self.name!r} do not fit: expected {shapes[0]}, got "
                f"{shapes[1]}; start over without the checkpoint"
            )
        for name, values in state.items():
            self.sums[name] = np.array(values, dtype=self.sums[name].dtype)


def token_classes_of(accumulators: Iterable[Accumulator[Any]]) -> dict[str, TokenClass]:
    """The token classes that some accumulators ask for, by name.

    Raises:
        ValueError: two of one name differ.
    """
    classes: dict[str, TokenClass] = {}
    for accumulator in accumulators:
        for name, members in accumulator.token_classes.items():
            if classes.setdefault(name, members) != members:
                raise ValueError(f"two metrics name different token classes {name!r}")
    return classes


def refuse_whole_maps(accumulators: Iterable[Accumulator[Any]], n_tokens: int) -> None:
    """Raise an error for metrics that need whole maps, if a segment is read without whole maps."""
    if whole := [accumulator.name for accumulator in accumulators if not accumulator.by_rows]:
        raise ValueError(
            f"{', '.join(whole)}: these metrics need whole maps, and an input of {n_tokens:,} "
            "tokens is read without whole maps: pass a shorter input, attend(text, long=False), or "
            "choose metrics for long inputs"
        )


def refuse_kept_maps(
    name: str, maps: Tensor, n_layers: int, *, times: int = 1, beside: int = 0, held: int = 0
) -> None:
    """Refuse a batch whose maps of all layers do not fit the memory together.

    Args:
        name: of what keeps them.
        maps: of the first layer, [B, H, m, n].
        n_layers: that are kept.
        times: how often they are kept.
        beside: Maps of one segment that a comparison needs at once.
        held: Bytes that are already in use.

    Raises:
        ValueError: they do not fit.
    """
    if maps.device.type != "cpu":
        return  # an accelerator says so itself
    size = len(maps)
    tokens = maps.shape[-1]
    each = 4 * n_layers * maps[0].numel()

    def advice(room: int) -> str:
        fits = max((room + held) // each - beside, 0) // times
        shorter = isqrt((room + held) * tokens**2 // (each * (times + beside)))
        return f"pass batch_size={fits}" if fits else f"pass at most {shorter} tokens a segment"

    refuse_no_room(
        each * (times * size + beside) - held,
        f"{name}: the maps of {n_layers * maps.shape[1]:,} heads, kept together for "
        f"{counted(size, 'segment')} of {tokens:,} tokens,",
        advice,
    )
