"""Maps in the graph of autograd, computed again in the backward pass instead of stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.maps.keep_layer import SharedTensors, keep_layer
from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.kernels.array_library import as_torch

# Smaller tensors are stored as usual, because storing them is faster.
_FEWEST_CELLS = 1024 * 1024


class GraphMaps(torch.autograd.graph.saved_tensors_hooks):
    """A block whose graph stores queries and keys in place of large maps.

    Call `release` with every layer that a tap hands over in the block. From then on, the graph
    holds the maps of the layer only if they do not follow from its queries and keys.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.graph_maps import GraphMaps
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
            keep_layer(seen, item, None, None, self._shared) for item in range(weights.shape[0])
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
        # The tensor itself may be the output of the operation that stores it: a circle.
        self._tensor: Tensor | None = tensor.detach()
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
