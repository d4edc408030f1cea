"""Residual stream of one input: its writers, and the share of each writer in later states.

Recorded outputs replace the modules that write to the stream, and frozen norms replace the norms.
The rest of the model is affine. The model then runs with a single writer in each entry of a
batch, so any state of an entry is the share of its writer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.tapping.hooked import ReachedError
from attnwidget.capture.tapping.projection import projection_bias
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.capture.tapping.thread_forwards import MakeForward, replaced_forwards
from attnwidget.inputs.model_tensors import input_names, without_cache
from attnwidget.mechanisms.exact_linear import (
    exact_dtype,
    exact_forward,
    has_exact_forward,
    refuse_coarse_weights,
)
from attnwidget.mechanisms.module_calls import first_argument
from attnwidget.mechanisms.stream_records import Record, StreamRecords, Writer

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.input_reading import Reading

# Largest number of elements in a state of all batch entries, or in the maps of a layer.
_NUMBERS_AT_ONCE = 16 * 1024 * 1024
# Tolerance for rounding errors, and smallest share that counts, relative to the largest value.
_ROUNDING = {torch.float64: 1e-5, torch.float32: 1e-4}
_NOTHING = 1e-6

RecordedStates = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Shares:
    """Parts of some states, one for each writer; they sum to the states.

    Attributes:
        writers: Writers (W) that reach the states, in the order of computation, "biases" last.
        parts: Tensor [W, ...] for each state, by name.
    """

    writers: tuple[Writer, ...]
    parts: Mapping[str, Tensor]


class ResidualStream:
    """Residual stream of one input of a model, split by its writers.

    Args:
        hf_model: Transformers model in float32 or float64, not quantized.
        inputs: Model inputs, a batch of one.

    Attributes:
        records: Outputs of all writers in one pass over the input.
        writers: All writers in the order of computation.

    Raises:
        ValueError: If the weights have too little precision or are quantized, or the outputs of the
            heads do not sum to the output of their projection.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.residual_stream import ResidualStream
        >>> model = load_model(device="cpu")
        >>> inputs = model.tokenizer("The cat sat.", return_tensors="pt")
        >>> stream = ResidualStream(model.hf_model, dict(inputs))
        >>> shares = stream.at_attention(1)
        >>> sorted(str(writer) for writer in shares.writers if writer.kind != "head")
        ['L0 MLP', 'biases', 'embeddings', 'positions', 'token types']
        >>> shares.parts["query"].shape  # writers, heads, tokens, dimensions
        torch.Size([17, 12, 6, 20])
    """

    def __init__(self, hf_model: Any, inputs: Mapping[str, Tensor]) -> None:
        self._hf_model = hf_model
        self._name = type(hf_model).__name__
        self._inputs = dict(inputs)
        refuse_coarse_weights(hf_model)
        self._options = without_cache(hf_model)
        self.records = StreamRecords(hf_model, inputs, self._options)
        self.writers = self.records.writers
        first = next(iter(inputs.values()))
        self._device = first.device
        self._n_tokens = first.shape[1] if first.ndim == 2 else 0

    def at_attention(
        self, layer: int, stack: str = "self", tokens: Sequence[int] | None = None
    ) -> Shares:
        """Return the shares of the queries and keys of a layer, after the position encoding.

        Args:
            layer: Number of the layer.
            stack: Stack of the layer.
            tokens: Indices of the tokens to compute; None = all tokens. If the model takes
                `position_ids`, only these tokens run, which saves time and changes no value.

        Returns:
            "query" [W, H, n, D] and "key" [W, Hkv, n, D], float64 if the device has it.

        Raises:
            ValueError: If the queries or keys are not linear in the residual stream.
        """
        target = self.records.calls.get((stack, layer))

        def run(entries: _Entries) -> RecordedStates:
            states: RecordedStates = {}

            def on_layer(seen: LayerAttention) -> None:
                if (seen.layer, seen.stack) != (layer, stack):
                    return
                if seen.query is not None and seen.key is not None:
                    states["query"] = seen.query
                    states["key"] = seen.key
                raise ReachedError

            with tap(self._hf_model, on_layer):
                self._run(entries, target)
            return states

        shares = self._shares(run, tokens)
        self._check_heads(shares, layer, stack)
        return shares

    def _check_heads(self, shares: Shares, layer: int, stack: str) -> None:
        """Refuse shares in which all heads of an earlier layer are missing.

        They are missing if a module adds the stream to its output and was mistaken for a writer.
        """
        module, _ = self.records.calls[stack, layer]
        if module not in self.records.modules.projections:
            raise ValueError(
                f"the layers of {stack!r} write to a stream of their own, beside that of the text: "
                "load this part of the model alone to see what wrote a query or a key"
            )
        reached_layers = {w.layer for w in shares.writers if w.kind == "head" and w.stack == stack}
        for earlier in {number for name, number in self.records.calls if name == stack}:
            if (
                earlier < layer
                and earlier not in reached_layers
                and self.records.writes(stack, earlier)
            ):
                raise ValueError(self._not_linear())

    def _shares(
        self, run: Callable[[_Entries], RecordedStates], tokens: Sequence[int] | None
    ) -> Shares:
        """Return the shares of the states that `run` catches, for some tokens."""
        if tokens is None:
            return self._of_all_tokens(run)
        indices = torch.as_tensor(list(tokens), dtype=torch.long, device=self._device)
        if self._takes_some_tokens:
            try:
                return self._summed(run, indices, exact_dtype(self._device))
            except (ValueError, RuntimeError, TypeError, IndexError):
                pass  # This model cannot process a part of an input, so run all tokens.
        shares = self._of_all_tokens(run)
        parts = {name: part.index_select(-2, indices) for name, part in shares.parts.items()}
        return replace(shares, parts=parts)

    def _of_all_tokens(self, run: Callable[[_Entries], RecordedStates]) -> Shares:
        errors = []
        for dtype in dict.fromkeys([exact_dtype(self._device), torch.float32]):
            try:
                return self._summed(run, None, dtype)
            except (RuntimeError, TypeError, IndexError) as error:
                errors.append(error)  # The model's code may insist on its own type.
        raise ValueError(self._not_linear()) from errors[-1]

    def _entries(
        self, writers: Sequence[Sequence[Writer]], tokens: Tensor | None, dtype: torch.dtype
    ) -> _Entries:
        return _Entries(writers, tokens, self._n_tokens, dtype)

    def _summed(
        self, run: Callable[[_Entries], RecordedStates], tokens: Tensor | None, dtype: torch.dtype
    ) -> Shares:
        """Return shares, after a check that they sum to the states.

        Raises:
            ValueError: If the shares do not sum to the states, or the states were not reached.
        """
        with torch.no_grad():
            # The first entry has all writers, and the second entry has none.
            references = run(self._entries([self.writers, ()], tokens, dtype))
            if not references:
                raise ValueError(
                    f"the queries and keys are not visible in {self._name}: it shows its attention "
                    "weights alone"
                )
            differences: dict[str, list[Tensor]] = {name: [] for name in references}
            for chunk in self._chunks():
                states = run(self._entries([(w,) for w in chunk], tokens, dtype))
                for name, state in states.items():
                    differences[name].append(state - references[name][1])
        parts = {name: torch.cat(chunks) for name, chunks in differences.items()}
        largest = {name: float(state[0].abs().max()) for name, state in references.items()}
        reaches = [
            any(
                float(part[w].abs().max()) > _NOTHING * largest[name]
                for name, part in parts.items()
            )
            for w in range(len(self.writers))
        ]
        is_reached = torch.tensor(reaches, dtype=torch.bool, device=self._device)
        for name, part in parts.items():
            biases = references[name][1] + part[~is_reached].sum(0)
            tolerance = _ROUNDING[dtype] * max(largest[name], float(part.abs().max()), 1e-6)
            parts[name] = torch.cat([part[is_reached], biases[None]])
            difference = float((parts[name].sum(0) - references[name][0]).abs().max())
            if not difference <= tolerance:
                raise ValueError(self._not_linear())
        writers = [w for w, flag in zip(self.writers, is_reached.tolist(), strict=True) if flag]
        return Shares((*_plainly_named(writers), Writer("biases")), parts)

    def _not_linear(self) -> str:
        norms = f" ({', '.join(sorted(self.records.odd_norms))})" if self.records.odd_norms else ""
        return (
            f"{self._name} has blocks that are not linear in the residual stream even with frozen "
            f"norms{norms}: the parts of its writers do not sum to the whole, so that there are no "
            "exact sources"
        )

    def _chunks(self) -> Iterator[Sequence[Writer]]:
        """Yield groups of writers whose states fit into memory together."""
        sizes = [r.tensor.numel() for calls in self.records.of_modules.values() for r in calls]
        size = max(*sizes, self.records.n_heads * self._n_tokens**2)
        step = max(1, _NUMBERS_AT_ONCE // size)
        for first in range(0, len(self.writers), step):
            yield self.writers[first : first + step]

    @property
    def _takes_some_tokens(self) -> bool:
        """Whether the model can process some tokens of the input at their own positions."""
        mask = self._inputs.get("attention_mask")
        return (
            "position_ids" in input_names(self._hf_model)
            and not getattr(self._hf_model.config, "is_encoder_decoder", False)
            and all(tuple(v.shape) == (1, self._n_tokens) for v in self._inputs.values())
            and (mask is None or bool(mask.all()))
        )

    def _run(self, entries: _Entries, target: tuple[nn.Module, int] | None) -> None:
        """Run the model with replaced writers until a hook ends the pass."""
        inputs = entries.inputs(self._inputs)
        try:
            with self._replaced(entries, target):
                self._hf_model(**inputs, **self._options)
        except ReachedError:
            return

    def _replaced(
        self, entries: _Entries, target: tuple[nn.Module, int] | None
    ) -> AbstractContextManager[None]:
        """Replace writers and norms in this thread, except for the call of the target module."""
        calls: Counter[nn.Module] = Counter()

        def replacing(module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
            def stand_in(*args: Any, **kwargs: Any) -> Any:
                call = calls[module]
                calls[module] += 1
                if (module, call) == target:
                    return forward(*args, **kwargs)
                if module in self.records.norms:
                    norm = entries.norm(self.records.norms[module][call])
                    return norm(first_argument(args, kwargs))
                return self._written(entries, module, call)

            return stand_in

        replaced_modules = (*self.records.of_modules, *self.records.norms)
        makers: dict[nn.Module, MakeForward] = {
            module: partial(replacing, module) for module in replaced_modules
        }
        for module in self._hf_model.modules():
            if module not in makers and has_exact_forward(module):
                makers[module] = partial(exact_forward, module)
        return replaced_forwards(makers)

    def _written(self, entries: _Entries, module: nn.Module, call: int) -> Any:
        """Return the output of a writer's call, which includes the states of the entries.

        The output of an attention module goes to its output projection, which is also a writer. If
        the projection is inside of the module, the module's output is the output of the projection.
        """
        record = self.records.of_modules[module][call]
        modules = self.records.modules
        if module not in modules.sites or modules.projections[module] not in set(module.modules()):
            return record.with_tensor(entries.output(record, module))
        projection = modules.projections[module]
        projected = entries.output(self.records.of_modules[projection][call], projection)
        shape = entries.cut(record).tensor.shape
        return record.with_tensor(projected.reshape(-1, *shape[1:]))


class _Entries:
    """Entries of one batch: the writers of each, and the tokens that run.

    Args:
        writers: Writers of each of the B entries.
        tokens: Indices of the tokens; None = all tokens.
        n_tokens: Number of tokens of the input.
        dtype: Type in which the shares are computed.
    """

    def __init__(
        self,
        writers: Sequence[Sequence[Writer]],
        tokens: Tensor | None,
        n_tokens: int,
        dtype: torch.dtype,
    ) -> None:
        self._writers = [set(on) for on in writers]
        self._tokens = tokens
        self._n_tokens = n_tokens
        self._dtype = dtype

    def inputs(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the inputs of the model for all entries."""
        selected_inputs = dict(inputs)
        if self._tokens is not None:
            tokens = self._tokens
            selected_inputs = {
                name: value.index_select(1, tokens) if value.ndim > 1 else value
                for name, value in inputs.items()
            }
            selected_inputs.setdefault("position_ids", tokens[None])
        count = len(self._writers)
        return {
            name: value.expand(count, *value.shape[1:]) if value.ndim else value
            for name, value in selected_inputs.items()
        }

    def cut(self, record: Record) -> Record:
        """Return a record limited to the tokens that run."""
        return record if self._tokens is None else record.at(self._tokens, self._n_tokens)

    def norm(self, norm: Any) -> Any:
        """Return a frozen norm limited to the tokens that run."""
        return norm if self._tokens is None else norm.at(self._tokens, self._n_tokens)

    def output(self, record: Record, module: nn.Module) -> Tensor:
        """Return the output of a module in all entries, limited to the writers of each entry."""
        record = self.cut(record)
        full_output = record.tensor.to(self._dtype)
        bias = None if record.summed is None else projection_bias(module)
        outputs = []
        for entry_writers in self._writers:
            if record.writers and entry_writers.issuperset(record.writers):
                outputs.append(full_output)
                continue
            output = torch.zeros_like(full_output)
            if bias is not None:
                output = output + bias
            for head, writer in enumerate(record.writers):
                if writer in entry_writers:  # A record with several writers consists of heads.
                    output = output + record.head_output(module, head, self._dtype)
            outputs.append(output)
        return torch.cat(outputs)


def _plainly_named(writers: Sequence[Writer]) -> list[Writer]:
    """Return the writers, without the module name if a layer has only one MLP."""
    counts = Counter((w.stack, w.layer) for w in writers if w.kind == "mlp")
    return [
        replace(w, name="") if w.kind == "mlp" and counts[w.stack, w.layer] == 1 else w
        for w in writers
    ]


_streams: WeakKeyDictionary[Reading[Attention], ResidualStream] = WeakKeyDictionary()


def stream_of(attention: Attention) -> ResidualStream:
    """Return the residual stream for the input of an attention; it is recorded once.

    Args:
        attention: Attention from an intact model, not from given weights.

    Raises:
        ValueError: If no model can process the input again; otherwise as in `ResidualStream`.
        RuntimeError: If the model was closed, or its weights have changed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.residual_stream import stream_of
        >>> len(stream_of(load_model(device="cpu").attend("The cat sat.")).writers)
        87
    """
    reading = reading_of(attention, "the residual stream")
    reading.refuse_changed()
    with reading.model.lock.in_turn():
        if reading not in _streams:
            _streams[reading] = ResidualStream(reading.model.hf_model, reading.inputs)
        return _streams[reading]
