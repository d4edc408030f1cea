"""Recorded pass of a model: the outputs of all writers, and the statistics of all norms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.projection import projection_bias, projection_weight
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.mechanisms.frozen_norm import FrozenNorm, record_axis
from attnwidget.mechanisms.module_calls import first_argument
from attnwidget.mechanisms.stream_modules import StreamModules, WriterKind

# Tolerance for rounding errors between sums and outputs, as a share of the largest output.
_ROUNDING = 2e-5


@dataclass(frozen=True)
class Writer:
    """Part of the residual stream.

    Attributes:
        kind: Kind of writer: "embeddings", "positions", "token types", "head", "mlp", or "biases"
            for the constants of the model (biases of norms and projections, position tables that
            are not a module).
        layer: Layer of a head or MLP, otherwise -1.
        head: Index of a head within its layer, otherwise -1.
        stack: Stack of the writer: "self", "encoder", "decoder" or "cross".
        name: Name of a module that is one of several in its layer; otherwise "".

    Example:
        >>> from attnwidget.results import Writer
        >>> str(Writer("head", layer=2, head=8)), str(Writer("mlp", layer=0))
        ('L2 H8', 'L0 MLP')
    """

    kind: WriterKind
    layer: int = -1
    head: int = -1
    stack: str = "self"
    name: str = ""

    def __str__(self) -> str:
        if self.kind == "head":
            return str(Head(self.layer, self.head, self.stack))
        side = "" if self.stack == "self" else f"{self.stack} "
        if self.kind == "mlp":
            return f"{side}L{self.layer} {self.name or 'MLP'}"
        return f"{side}{self.kind}"


@dataclass(frozen=True, eq=False)
class Record:
    """Call of a module that writes to the stream.

    Attributes:
        writers: Writers that share the output; none for an attention module.
        output: Output of the module: a tensor, or a tuple that begins with it.
        summed: Input of an output projection, whose slices belong to the heads; None for other
            modules.
    """

    writers: tuple[Writer, ...]
    output: Any
    summed: Tensor | None = None

    @property
    def tensor(self) -> Tensor:
        """Output tensor, without further entries of a tuple."""
        tensor: Tensor = self.output[0] if isinstance(self.output, tuple) else self.output
        return tensor

    def with_tensor(self, tensor: Tensor) -> Any:
        """Return the output with another tensor instead of its tensor."""
        return (tensor, *self.output[1:]) if isinstance(self.output, tuple) else tensor

    def head_output(self, projection: nn.Module, head: int, dtype: torch.dtype) -> Tensor:
        """Return the output of a head: its slice of the input, after the projection."""
        assert self.summed is not None
        heads = self.summed.unflatten(-1, (len(self.writers), -1))[..., head, :].to(dtype)
        weight = projection_weight(projection).unflatten(1, (len(self.writers), -1))[:, head]
        return (heads @ weight.T.to(dtype)).reshape(self.tensor.shape)

    def at(self, tokens: Tensor, n_tokens: int) -> Record:
        """Return the record of some of the tokens.

        Raises:
            ValueError: If the output has no entry per token.
        """

        def cut(tensor: Tensor) -> Tensor:
            return tensor.index_select(record_axis(tuple(tensor.shape), n_tokens), tokens)

        summed = None if self.summed is None else cut(self.summed)
        return replace(self, output=self.with_tensor(cut(self.tensor)), summed=summed)


class StreamRecords:
    """Records of a model pass over an input.

    Attributes:
        modules: Modules of the model by their role in the stream.
        of_modules: Calls of each writing module, in the order of computation. Attention modules
            that may be replaced as a whole have records without writers.
        norms: Calls of each norm.
        calls: Attention module and number of its call, for each (stack, layer).
        writers: All writers in the order of computation.
        odd_norms: Class names of norms that are neither layer norms nor RMS norms.
        n_heads: Number of heads of the layer with the most heads.

    Raises:
        ValueError: If the heads' outputs do not sum to the output of their projection.
    """

    def __init__(
        self, hf_model: Any, inputs: Mapping[str, Tensor], options: Mapping[str, Any]
    ) -> None:
        opened: set[nn.Module] = set()
        while True:
            self._record(hf_model, inputs, options, opened)
            if not self._adding:
                break
            opened |= self._adding

    def _record(
        self,
        hf_model: Any,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        opened: set[nn.Module],
    ) -> None:
        self.modules = StreamModules.from_model(hf_model, opened)
        # Modules that may add the stream to their output.
        self._adding: set[nn.Module] = set()
        self.of_modules: dict[nn.Module, list[Record]] = {}
        self.norms: dict[nn.Module, list[FrozenNorm]] = {}
        self.calls: dict[tuple[str, int], tuple[nn.Module, int]] = {}
        self.odd_norms: set[str] = set()
        self.n_heads = 1
        self._own = {p: module for module, p in self.modules.projections.items()}
        # The stack of an embedding is only known when the first layer runs.
        self._waiting: list[tuple[nn.Module, WriterKind, Any]] = []
        self._layers: list[LayerAttention] = []
        self._n_calls: dict[nn.Module, int] = {}
        self._whole: set[nn.Module] = set(self.modules.sites)
        writers: list[Writer] = []
        self._writers = writers
        with (
            torch.no_grad(),
            hooked(self.modules.embeddings, after=self._embedded),
            hooked(self.modules.mlps, after=self._computed),
            hooked(self._own, after=self._projected),
            hooked(self.modules.sites, after=self._attended),
            hooked(self.modules.norms, after=self._normed),
            tap(hf_model, self._seen),
        ):
            hf_model(**inputs, **options)
        for module in set(self.modules.sites) - self._whole:
            self.of_modules.pop(module, None)
        self.writers = tuple(dict.fromkeys(writers))
        self._waiting.clear()
        self._layers.clear()

    def writes(self, stack: str, layer: int) -> bool:
        """Return whether the heads of a layer wrote anything but 0."""
        module, call = self.calls[stack, layer]
        calls = self.of_modules.get(self.modules.projections[module], [])
        summed = calls[call].summed if call < len(calls) else None
        return summed is not None and bool(summed.any())

    def _add(self, module: nn.Module, record: Record) -> None:
        # Clone the output, because models may add to it in place.
        record = replace(record, output=record.with_tensor(record.tensor.clone()))
        self.of_modules.setdefault(module, []).append(record)
        self._writers.extend(record.writers)

    def _embedded(self, module: nn.Module, _: object, __: object, output: Any) -> None:
        self._waiting.append((module, self.modules.embeddings[module], output))

    def _seen(self, seen: LayerAttention) -> None:
        for module, kind, output in self._waiting:
            self._add(module, Record((Writer(kind, stack=seen.stack),), output))
        self._waiting.clear()
        self._layers.append(seen)
        self.n_heads = max(self.n_heads, seen.weights.shape[1])
        call = self._n_calls.get(seen.module, 0)
        self._n_calls[seen.module] = call + 1
        self.calls[seen.stack, seen.layer] = (seen.module, call)

    def _computed(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any
    ) -> None:
        states = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
        states = [state for state in states if state.is_floating_point() and state.ndim > 1]
        if len(states) > 1 and next(module.children(), None) is not None:
            self._adding.add(module)
        if not self._layers:
            return
        latest = self._layers[-1]
        stack = "decoder" if latest.stack == "cross" else latest.stack
        writer = Writer("mlp", latest.layer, stack=stack, name=self.modules.mlps[module])
        self._add(module, Record((writer,), output))

    def _projected(self, module: nn.Module, args: tuple[Any, ...], _: object, output: Any) -> None:
        site = self._own[module]
        layer = next((layer for layer in reversed(self._layers) if layer.module is site), None)
        if layer is None:
            return
        n_heads = layer.weights.shape[1]
        heads = tuple(Writer("head", layer.layer, head, layer.stack) for head in range(n_heads))
        record = Record(heads, output, args[0])
        fits = isinstance(output, Tensor) and args[0].shape[-1] % n_heads == 0
        if not fits or not _close(self._sum_of_heads(module, record), output):
            raise ValueError(
                f"the heads of {type(site).__name__} do not sum to the output of its projection "
                "(an adapter beside it: merge it), so each head has no known output"
            )
        self._add(module, record)

    def _sum_of_heads(self, projection: nn.Module, record: Record) -> Tensor:
        outputs = [
            record.head_output(projection, head, record.tensor.dtype)
            for head in range(len(record.writers))
        ]
        bias = projection_bias(projection)
        return sum(outputs[1:], outputs[0]) if bias is None else sum(outputs, bias)

    def _attended(self, module: nn.Module, _: object, __: object, output: Any) -> None:
        record = Record((), output)
        projection = self.modules.projections[module]
        first: object = record.tensor
        if not isinstance(first, Tensor):
            self._whole.discard(module)
            return
        if projection in set(module.modules()):
            projected = self.of_modules.get(projection, [record])[-1].tensor
            if projected.numel() != record.tensor.numel() or not torch.equal(
                projected.flatten(), record.tensor.flatten()
            ):
                # The module contains a norm, or adds the stream itself.
                self._whole.discard(module)
        self.of_modules.setdefault(module, []).append(record)

    def _normed(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any
    ) -> None:
        frozen = FrozenNorm.from_call(module, first_argument(args, kwargs), output)
        if frozen is None:
            self.odd_norms.add(type(module).__name__)
        else:
            self.norms.setdefault(module, []).append(frozen)


def _close(summed: Tensor, output: Tensor) -> bool:
    tolerance = _ROUNDING * max(float(output.abs().max()), float(summed.abs().max()), 1e-6)
    return float((summed - output).abs().max()) <= tolerance
