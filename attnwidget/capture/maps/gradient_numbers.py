"""Numbers from the gradient of each layer, without all gradients in memory."""

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

# Smaller tensors are stored as usual, because storing them is faster.
_FEWEST_CELLS = 1024 * 1024


class GraphMaps(torch.autograd.graph.saved_tensors_hooks):
    """A block whose graph stores queries and keys in place of large maps.

    Call `release` with every layer that a tap hands over in the block. From then on, the graph
    holds the maps of the layer only if they do not follow from its queries and keys.

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
        # The large tensors that the graph stored since the last layer.
        self._recent: list[_Stored] = []
        self._shared = SharedTensors()

    def release(self, seen: LayerAttention) -> Callable[[], Tensor]:
        """Return a function that returns the weights of a layer, [B, H, Q, K]."""
        weights = seen.weights.detach()
        stored = [each for each in self._recent if each.is_all_of(weights)]
        self._recent = []
        if not stored:
            return lambda: weights
        items = [
            whole_layer(seen, item, None, None, self._shared) for item in range(weights.shape[0])
        ]
        if any(kept.products is None for kept in items):
            return lambda: weights

        dtype = weights.dtype

        def again() -> Tensor:
            maps = [as_torch(kept.rows(slice(0, kept.n_heads))) for kept in items]
            # A stack would copy the maps of a single input.
            return (maps[0][None] if len(maps) == 1 else torch.stack(maps)).to(dtype)

        for each in stored:
            each.compute_by(again)
        return again

    def _pack(self, tensor: Tensor) -> Any:
        # The tensor itself may be the output of the operation that stores it: a circle.
        tensor = tensor.detach()
        if tensor.numel() < _FEWEST_CELLS or not tensor.is_contiguous():
            return tensor
        self._recent.append(_Stored(tensor))
        return self._recent[-1]

    def _unpack(self, packed: Any) -> Tensor:
        tensor: Tensor = packed.tensor() if isinstance(packed, _Stored) else packed
        return tensor


class _Stored:
    """A tensor that the graph stores, or the way to compute it."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor: Tensor | None = tensor
        self._shape = tensor.shape
        self._again: Callable[[], Tensor] | None = None

    def is_all_of(self, weights: Tensor) -> bool:
        """Whether this is a view of all weights, in their order."""
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


#: The stack and the index of a layer.
LayerPlace = tuple[str, int]


def gradient_numbers(
    hf_model: Any,
    task: LossTask,
    number_of: Callable[[LayerAttention, Tensor], Tensor],
    options: Mapping[str, Any] | None = None,
    *,
    stack: str | None = None,
) -> tuple[dict[LayerPlace, Tensor], Tensor]:
    """Return numbers from dL/da of every layer, in order of computation, and the losses, [B].

    The backward pass gives the gradient of a layer to `number_of` and then drops it. Large maps are
    computed again from queries and keys, so that no two layers have maps in memory at once.

    Args:
        hf_model: A transformers model.
        task: The inputs and their losses; L is the sum of the losses.
        number_of: Function of a layer's attention and of dL/da, [B, H, Q, K] in the dtype of the
            model.
        options: Further arguments of the model.
        stack: Stack whose layers are read; None = all stacks. If the loss depends on the first
            layers of a named stack only, as in models that read a tower before its last layer, the
            numbers of the last layers are 0.

    Raises:
        ValueError: as `attention_gradients`.

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
    found: dict[LayerPlace, Tensor] = {}
    layers: list[LayerAttention] = []
    maps = GraphMaps()

    def follow(seen: LayerAttention) -> None:
        if stack not in (None, seen.stack):
            return
        weights_of = maps.release(seen)
        # A reference to the weights would keep them.
        light = replace(seen, weights=seen.weights.new_empty(0))
        shape = seen.weights.shape
        layers.append(light)

        def take(gradient: Tensor) -> None:
            # A view of the computed weights has a gradient before the computed weights have it.
            place = light.stack, light.layer
            if place not in found and gradient.numel() == shape.numel():
                stop_if_wanted()
                with torch.no_grad():
                    whole = replace(light, weights=weights_of())
                    found[place] = number_of(whole, gradient.reshape(shape))

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
    if stack is not None and found:
        last = max(found)
        unused = [place for seen in layers if (place := (seen.stack, seen.layer)) > last]
        found |= {place: torch.zeros_like(found[last]) for place in unused}
    return _in_order(found, layers, hf_model), losses.detach().float().reshape(-1)


def _in_order(
    found: Mapping[LayerPlace, Tensor], layers: Sequence[LayerAttention], hf_model: Any
) -> dict[LayerPlace, Tensor]:
    """Return the numbers in the order of computation; raise ValueError for a missing layer."""
    for seen in layers:
        if (seen.stack, seen.layer) not in found:
            refuse_no_gradient(seen, hf_model)
    return {(seen.stack, seen.layer): found[seen.stack, seen.layer] for seen in layers}
