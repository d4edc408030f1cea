"""Forward passes over batches, whose layers go to accumulators and are then released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.maps.layer_from_pass import streamed_layer
from attnwidget.capture.maps.whole_maps import reads_rows
from attnwidget.capture.model import AttentionModel, HeadsSeen
from attnwidget.capture.tapping.attention_sites import count_heads, find_sites
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.stack_names import is_cross, is_tower
from attnwidget.capture.tapping.tap import LayerAttention, LongAttention, tap
from attnwidget.corpus.accumulator import (
    Accumulator,
    Batch,
    LayerBatch,
    Subject,
    token_classes_of,
)
from attnwidget.corpus.batches import BatchMaker, TokenTypes
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.inputs.model_tensors import ModelBatch, without_cache
from attnwidget.model_facts.pickled_model import configuration_digest, weights_digest
from attnwidget.model_facts.weights_seen import WeightsSeen
from attnwidget.text.segments import Segment
from attnwidget.text.undo import undone

# Number of map cells of long segments in memory at a time.
_CELLS = 2 * 1024 * 1024


class ModelReader(StudyReader):
    """One model, and the accumulators that receive its attention.

    The prediction head of the model does not run, because attention does not depend on it.

    Args:
        model: Model; only the encoder of an encoder-decoder is read.
        accumulators: Accumulators that receive each layer, in this order.
        token_types: Token types, as in `BatchMaker`.
        pad_to: Number of tokens to which every batch is padded, as in `BatchMaker`.

    Attributes:
        model: The model.
        worker_model: The model, with the edits of the process that sent this reader.
        layers: Numbers of the layers with attention in a hybrid model; None for other models.

    Raises:
        ValueError: See `BatchMaker`. Also if different token classes have the same name.
    """

    def __init__(
        self,
        model: AttentionModel,
        accumulators: Sequence[Accumulator[Any]],
        token_types: TokenTypes,
        pad_to: int | None = None,
    ) -> None:
        super().__init__(model, accumulators)
        self._token_types = token_types
        self._backbone = _backbone(model.hf_model)
        self._options = without_cache(self._backbone)
        classes = token_classes_of(accumulators)
        self._maker = BatchMaker(model, self._backbone, token_types, classes, pad_to)
        self._pad_to = pad_to
        self._padding_checked = False
        self._sites = find_sites(self._backbone)
        layers = layer_numbers(self._backbone, self._sites)
        # Select a stack that reads only text, because vision and audio towers do not run.
        text_stacks = (stack for stack in layers if not is_cross(stack) and not is_tower(stack))
        self.layers = next((layers[stack] for stack in text_stacks), None)
        self._weights = WeightsSeen(self._backbone)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self.model, self._accumulators, self._token_types, self._pad_to
        return type(self), arguments, {"worker_model": self.worker_model}

    def subject(self, segment: Segment) -> Subject:
        """Return the `Subject` of a study.

        The model reads the beginning of a segment to count its heads. Later studies reuse the
        count.

        Args:
            segment: First segment.

        Raises:
            ValueError: The model has no maps over all tokens, or its layers have different numbers
                of heads.
        """
        modules = [(id(site.module), count_heads(site.module)) for site in self._sites]
        heads = self.model._heads_seen
        if heads is None or heads.modules != modules:
            heads = self.model._heads_seen = HeadsSeen(modules, self._heads_of_layers(segment))
        n_heads = heads.n_heads
        has_encoder = getattr(self.model.hf_model.config, "is_encoder_decoder", False)
        return Subject(
            n_layers=self.layers.n_layers if self.layers else len(n_heads),
            layers_without_attention=self.layers.layers_without_attention if self.layers else (),
            n_heads=n_heads[0],
            stack="encoder" if has_encoder else "self",
            model_name=self.model.name,
            model=self.model,
        )

    def _heads_of_layers(self, segment: Segment) -> list[int]:
        """Read the beginning of a segment, and return the number of heads per layer."""
        batch = self._maker([segment.beginning(4)])
        shapes = []
        # Links of an edit may be longer than the beginning of a segment.
        self._read(batch, lambda seen: shapes.append(tuple(seen.weights.shape)), edits=Edits())
        n = batch.real.shape[1]
        name = type(self.model.hf_model).__name__
        if not shapes or any((shape[0], *shape[2:]) != (1, n, n) for shape in shapes):
            raise ValueError(f"{name} computed no attention map over all tokens of its input")
        if len(set(shapes)) > 1:
            head_counts = ", ".join(str(shape[1]) for shape in shapes)
            raise ValueError(f"the layers of {name} differ in their number of heads: {head_counts}")
        return [shape[1] for shape in shapes]

    def add(self, segments: Sequence[Segment]) -> None:
        """Read one batch and add it to each accumulator.

        Args:
            segments: Segments of the batch.
        """
        with self.worker_model.lock.in_turn(), self.worker_model.reading():
            batch = self._maker(segments)
            if self._reads_by_rows(batch):
                self._read_long(batch, lambda layer: _update(self._accumulators, layer))
            else:
                self._read_whole(batch, lambda layer: _update(self._accumulators, layer), {})
            for accumulator in self._accumulators:
                accumulator.end_batch(batch)

    def read(self, segments: Sequence[Segment], on_layer: Callable[[LayerBatch], None]) -> Batch:
        """Read one batch and pass each layer to a function instead of the accumulators.

        Args:
            segments: Segments of the batch.
            on_layer: Function that receives each layer.

        Returns:
            The batch.
        """
        batch = self._maker(segments)
        if self._reads_by_rows(batch):
            self._read_long(batch, on_layer)
        else:
            self._read_whole(batch, on_layer, {})
        return batch

    def hidden_states(self, segments: Sequence[Segment]) -> tuple[Batch, tuple[Tensor, ...]]:
        """Return one batch and its hidden states, [B, n, d] for the embeddings and each layer.

        Args:
            segments: Segments of the batch.

        Raises:
            ValueError: The model returns no hidden states.
        """
        batch = self._maker(segments)
        output = self._read_whole(batch, lambda _: None, {"output_hidden_states": True})
        states = getattr(output, "hidden_states", None)
        if not states:
            raise ValueError(f"{type(self.model.hf_model).__name__} gives no hidden states")
        return batch, tuple(states)

    def _read_whole(
        self,
        batch: Batch,
        on_layer: Callable[[LayerBatch], None],
        asked: Mapping[str, Any],
    ) -> Any:
        """Read segments whose layers have complete maps, and return the model output."""
        has_padding = bool((~batch.real).any())

        def hand_on(seen: LayerAttention) -> None:
            if has_padding and not self._padding_checked:
                self._check_padding(seen, batch)
            with one_thread():
                on_layer(LayerBatch(batch, self._place(seen), seen.weights.float(), seen))

        with self.model.lock.in_turn():
            self.model._output_check.start(self._backbone)
            output = self._read(batch, hand_on, asked)
            options = {**self._options, **asked}
            self.model._output_check.check(self._backbone, batch.inputs, options, output)
            self._padding_checked |= has_padding
        return output

    def _place(self, seen: LayerAttention | LongAttention) -> int:
        """Return the index of a layer among the layers with attention."""
        return self.layers.place(seen.layer) if self.layers else seen.layer

    def _reads_by_rows(self, batch: Batch) -> bool:
        """Return whether to read the segments some rows at a time, if all accumulators can."""
        by_rows = all(accumulator.by_rows for accumulator in self._accumulators)
        inputs = ModelBatch(batch.inputs, batch.tokens)
        return by_rows and reads_rows(self._backbone, inputs, None)

    def _read_long(self, batch: Batch, on_layer: Callable[[LayerBatch], None]) -> None:
        """Read long segments, and pass a few rows of each layer at a time to `on_layer`."""

        def hand_on(seen: LongAttention) -> None:
            if is_cross(seen.stack):
                return
            layer_index = self._place(seen)
            with one_thread():
                layers = [streamed_layer(item) for item in seen.items]
                heads = slice(0, layers[0].n_heads)
                for rows in layers[0].row_slices(_CELLS):
                    # Leave out keys that no query sees, which halves the time of a causal layer.
                    keys = slice(0, max(layer.n_keys_seen(rows) for layer in layers))
                    parts = [layer.rows(heads, rows, keys) for layer in layers]
                    # A stack would copy the maps of a single segment.
                    weights = parts[0][None] if len(parts) == 1 else torch.stack(parts)
                    on_layer(LayerBatch(batch, layer_index, weights, None, rows.start))

        with self.model.lock.in_turn():
            self._check_model()
            self.model._output_check.start(self._backbone)
            open_tap = tap(self._backbone, lambda _: None, on_long=hand_on)
            with torch.no_grad(), open_tap:
                output = self._backbone(**batch.inputs, **self._options)
            self.model._output_check.check(
                self._backbone, batch.inputs, self._options, output, by_rows=True
            )

    def about(self) -> dict[str, Any]:
        """Return the settings, as JSON, that must equal those of a resume file."""
        return {
            "model": type(self.model.hf_model).__name__,
            "weights": weights_digest(self._backbone),
            "configuration": configuration_digest(self.model.hf_model),
            "edits": self.model.edits.digest or None,
            "token_types": self._token_types,
            "metrics": {
                accumulator.name: accumulator.options for accumulator in self._accumulators
            },
        }

    def _read(
        self,
        batch: Batch,
        on_layer: Callable[[LayerAttention], None],
        options: Mapping[str, Any] = MappingProxyType({}),
        edits: Edits | None = None,
    ) -> Any:
        """Run the model with a tap, and pass each self-attention layer to `on_layer`.

        Args:
            batch: Inputs of the pass.
            on_layer: Callback for each layer.
            options: Further arguments of the model.
            edits: Edits in place of those of the block; None keeps them.
        """

        def of_own_tokens(seen: LayerAttention) -> None:
            if not is_cross(seen.stack):
                on_layer(seen)

        with self.model.lock.in_turn():
            self._check_model()
            with torch.no_grad(), tap(self._backbone, of_own_tokens, edits):
                return self._backbone(**batch.inputs, **self._options, **options)

    def _check_model(self) -> None:
        """Raise RuntimeError if the model was closed or has changed."""
        self.model.check_open()
        self._weights.refuse_changed(self._backbone, "the first input was read: start over")

    def _check_padding(self, seen: LayerAttention, batch: Batch) -> None:
        """Refuse a model whose real tokens see padding, because all numbers would be wrong."""
        padding_weights = seen.weights.amax(1).masked_fill(batch.real[:, None], 0)  # [B, n, n]
        if bool((padding_weights * batch.real[..., None] > 1e-8).any()):
            raise ValueError(
                f"{type(self.model.hf_model).__name__} attends to padding: measure it with "
                "batch_size=1"
            )


def _update(accumulators: Sequence[Accumulator[Any]], layer: LayerBatch) -> None:
    for accumulator in accumulators:
        accumulator.update(layer)


def _backbone(hf_model: Any) -> nn.Module:
    """Return the model without its prediction head, or the encoder of an encoder-decoder."""
    if getattr(hf_model.config, "is_encoder_decoder", False):
        return hf_model.get_encoder()
    return hf_model.base_model


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block in one torch thread, because small operations are slower in two threads."""
    n_threads = torch.get_num_threads()
    with undone(lambda: torch.set_num_threads(n_threads)):
        torch.set_num_threads(1)
        yield
