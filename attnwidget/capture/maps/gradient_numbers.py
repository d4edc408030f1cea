"""Numbers computed from the gradient of each layer, without all gradients in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.answers.losses import LossTask
from attnwidget.capture.maps.layer_from_pass import SharedTensors, whole_layer
from attnwidget.capture.model_lock import stop_if_wanted
from attnwidget.capture.tapping.gradients import (
    check_differentiable,
    differentiable,
    losses_of,
    refuse_no_gradient,
)
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.kernels.array_library import as_torch

# Smaller tensors are stored in the graph as usual, because that is faster.
_FEWEST_CELLS = 1024 * 1024


class GraphMaps(torch.autograd.graph.saved_tensors_hooks):
    """A block whose autograd graph stores queries and keys in place of large maps.

    Call `release` with every layer that a tap passes on in the block. From then on, the graph
    stores the maps of the layer only if they do not follow from its queries and keys.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.gradient_numbers import GraphMaps
        >>> from attnwidget.capture.tapping.tap import tap
        >>> model = load_model(device="cpu")
        >>> inputs = model.tokenizer("The cat sat.", return_tensors="pt")
        >>> shapes = []
        >>> maps = GraphMaps()
        >>> with maps, tap(model.hf_model, lambda seen: shapes.append(maps.release(seen)().shape)):
        ...     output = model.hf_model(**inputs)
        >>> shapes[0]
        torch.Size([1, 12, 6, 6])
    """

    def __init__(self) -> None:
        super().__init__(self._pack, self._unpack)
        # Large tensors that the graph has stored since the last layer.
        self._recent: list[_Stored] = []
        self._shared = SharedTensors()

    def release(self, seen: LayerAttention) -> Callable[[], Tensor]:
        """Return a function that returns the weights of a layer, [B, H, Q, K]."""
        weights = seen.weights.detach()
        stored = [tensor for tensor in self._recent if tensor.is_all_of(weights)]
        self._recent = []
        if not stored:
            return lambda: weights
        items = [
            whole_layer(seen, item, None, None, self._shared) for item in range(weights.shape[0])
        ]
        if any(layer.products is None for layer in items):
            return lambda: weights

        dtype = weights.dtype

        def again() -> Tensor:
            maps = [as_torch(layer.rows(slice(0, layer.n_heads))) for layer in items]
            # torch.stack would copy the maps of a single input.
            return (maps[0][None] if len(maps) == 1 else torch.stack(maps)).to(dtype)

        for tensor in stored:
            tensor.compute_by(again)
        return again

    def _pack(self, tensor: Tensor) -> Any:
        # Detach, because the tensor may be the output of the operation that stores it, and a
        # reference would then form a cycle.
        tensor = tensor.detach()
        if tensor.numel() < _FEWEST_CELLS or not tensor.is_contiguous():
            return tensor
        self._recent.append(_Stored(tensor))
        return self._recent[-1]

    def _unpack(self, packed: Any) -> Tensor:
        tensor: Tensor = packed.tensor() if isinstance(packed, _Stored) else packed
        return tensor


class _Stored:
    """A tensor that the graph stores, or a function that computes it."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor: Tensor | None = tensor
        self._shape = tensor.shape
        self._again: Callable[[], Tensor] | None = None

    def is_all_of(self, weights: Tensor) -> bool:
        """Return whether this is a view of all weights, in the same order."""
        tensor = self._tensor
        return (
            tensor is not None
            and tensor.data_ptr() == weights.data_ptr()
            and tensor.numel() == weights.numel()
            and weights.is_contiguous()
        )

    def compute_by(self, again: Callable[[], Tensor]) -> None:
        self._tensor = None
        self._again = again

    def tensor(self) -> Tensor:
        if self._tensor is not None:
            return self._tensor
        assert self._again is not None
        with torch.no_grad():
            return self._again().reshape(self._shape)


#: Stack name and index of a layer.
LayerPlace = tuple[str, int]


def gradient_numbers(
    hf_model: Any,
    task: LossTask,
    number_of: Callable[[LayerAttention, Tensor], Tensor],
    options: Mapping[str, Any] | None = None,
    *,
    stack: str | None = None,
) -> tuple[dict[LayerPlace, Tensor], Tensor]:
    """Return numbers from every layer's dL/da, in computation order, and the losses, [B].

    The backward pass passes the gradient of a layer to `number_of` and then drops it. Large maps
    are computed again from queries and keys, so that no two layers have maps in memory at once.

    Args:
        hf_model: Transformers model.
        task: Inputs and their losses; L is the sum of the losses.
        number_of: Function of a layer's attention and dL/da, [B, H, Q, K] in the model's dtype.
        options: Further arguments of the model.
        stack: Stack whose layers are read; None for all stacks. If the loss depends on a named
            stack's first layers only, as in models that read a tower before its last layer, the
            last layers' numbers are 0.

    Raises:
        ValueError: As in `attention_gradients`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.answers.losses import task_for
        >>> model = load_model(device="cpu")
        >>> inputs = model.tokenizer("The cat sat on the mat.", return_tensors="pt")
        >>> task = task_for(model.hf_model, model.tokenizer, inputs, "auto", seed=0)
        >>> numbers, loss = gradient_numbers(
        ...     model.hf_model, task, lambda seen, gradient: gradient.abs().mean((0, 2, 3))
        ... )
        >>> numbers["self", 5].shape
        torch.Size([12])
    """
    numbers: dict[LayerPlace, Tensor] = {}
    layers: list[LayerAttention] = []
    maps = GraphMaps()

    def follow(seen: LayerAttention) -> None:
        if stack not in (None, seen.stack):
            return
        weights_of = maps.release(seen)
        # A reference to the weights would keep them in memory.
        layer = replace(seen, weights=seen.weights.new_empty(0))
        shape = seen.weights.shape
        layers.append(layer)

        def take(gradient: Tensor) -> None:
            # A view's gradient arrives before the gradient of the weights themselves.
            key = layer.stack, layer.layer
            if key not in numbers and gradient.numel() == shape.numel():
                stop_if_wanted()
                with torch.no_grad():
                    with_weights = replace(layer, weights=weights_of())
                    numbers[key] = number_of(with_weights, gradient.reshape(shape))

        # A model that folds heads and batch into one dimension returns a view.
        for tensor in (seen.weights, seen.weights._base):
            if tensor is not None and tensor.requires_grad:
                tensor.register_hook(take)

    with torch.enable_grad():
        check_differentiable(hf_model)
        with differentiable(hf_model, task.inputs) as (inputs, sources):
            with maps, tap(hf_model, follow):
                output = hf_model(**inputs, **(options or {}))
            losses = losses_of(task, output)
            if losses.requires_grad and sources:
                torch.autograd.grad(losses.sum(), sources, allow_unused=True)
    if stack is not None and numbers:
        last = max(numbers)
        unused = [key for layer in layers if (key := (layer.stack, layer.layer)) > last]
        numbers |= {key: torch.zeros_like(numbers[last]) for key in unused}
    return _in_order(numbers, layers, hf_model), losses.detach().float().reshape(-1)


def _in_order(
    found: Mapping[LayerPlace, Tensor], layers: Sequence[LayerAttention], hf_model: Any
) -> dict[LayerPlace, Tensor]:
    """Return the numbers in computation order; raise ValueError for a missing layer."""
    for layer in layers:
        if (layer.stack, layer.layer) not in found:
            refuse_no_gradient(layer, hf_model)
    return {(layer.stack, layer.layer): found[layer.stack, layer.layer] for layer in layers}
