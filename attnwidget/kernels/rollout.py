"""What reaches a position from each input token through all layers: rollout and attention flow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

# scipy's maximum flow counts in int32; no flow exceeds 1, what leaves a position.
_UNIT = 2**30


def with_residual(weights: Tensor) -> Tensor:
    """Mean over heads plus the residual connection, rows divided by their sum.

    `weights` [..., H, n, n] without padding; returns float64 [..., n, n] with rows that sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.rollout import with_residual
        >>> with_residual(torch.full((1, 2, 2), 0.5))
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]], dtype=torch.float64)
    """
    mean = weights.double().mean(-3)
    mixed = mean + torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)
    return mixed / mixed.sum(-1, keepdim=True)


def rollout(weights: Tensor) -> Tensor:
    """Attention rollout (Abnar and Zuidema 2020): the product of all layers up to each one.

    R_0 = A_0 and R_l = A_l R_(l-1), with A_l the layer `with_residual`. In causal models nearly all
    of it ends at the first token, whatever the model does.

    `weights` [L, H, n, n] of one input without padding. Returns float64 [L, n, n]: how much of
    input token j (column) is in position i (row) after layer l; rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.rollout import rollout
        >>> rollout(torch.full((2, 3, 2, 2), 0.5))[1]
        tensor([[0.6250, 0.3750],
                [0.3750, 0.6250]], dtype=torch.float64)
    """
    layers = with_residual(weights)
    products = [layers[0]]
    for layer in layers[1:]:
        products.append(layer @ products[-1])
    return torch.stack(products)


def head_rollout(weights: Tensor, layer: int, head: int) -> Tensor:
    """Return rollout through one head of `layer`, and the mean of heads in lower layers.

    `weights` as in `rollout`; returns float64 [n, n], rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.rollout import head_rollout
        >>> head_rollout(torch.eye(2).repeat(2, 3, 1, 1), layer=1, head=0)
        tensor([[1., 0.],
                [0., 1.]], dtype=torch.float64)
    """
    top = with_residual(weights[layer, head : head + 1])
    return top @ rollout(weights[:layer])[-1] if layer else top


def flow_to_inputs(weights: Tensor, layer: int, queries: Sequence[int] | None = None) -> Tensor:
    """Attention flow (Abnar and Zuidema 2020): the maximum flow to each input token.

    Edges run from position i after a layer to position j before it, with the capacity A_l[i, j] of
    the layer `with_residual`. One maximum flow is found for every position and input token alone;
    rows are then divided by their sum. At layer 0 this is the rollout.

    Layers 0 and 1 are exact. In higher layers, capacities are rounded to 2**-30, so the error of a
    flow is at most 2**-31 per edge of its minimum cut: 1e-7 at 128 tokens. The time grows with n**4
    and with the layers: seconds for 64 tokens and 12 layers, so name the `queries` of longer
    inputs.

    `weights` [L, H, n, n] of one input without padding; `layer` is the one after which flow starts,
    `queries` the positions wanted (all by default). Returns float64 [queries, n], rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.rollout import flow_to_inputs
        >>> flow_to_inputs(torch.full((2, 3, 2, 2), 0.5), layer=1)
        tensor([[0.6667, 0.3333],
                [0.3333, 0.6667]], dtype=torch.float64)
    """
    capacity = with_residual(weights[: layer + 1]).cpu().numpy()
    n = capacity.shape[-1]
    starts = np.arange(n) if queries is None else np.asarray(queries, dtype=np.int64)
    if layer == 0:
        flows = capacity[0][starts]
    elif layer == 1:  # one path through each position
        flows = np.minimum(capacity[1][starts, :, None], capacity[0]).sum(1)
    else:
        flows = _maximum_flows(capacity, starts)
    return torch.from_numpy(flows / flows.sum(-1, keepdims=True))


def _maximum_flows(capacity: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[starts, n] flows through three layers or more; `capacity` [L, n, n], lowest layer first.

    The graph's rows: the start, the positions below the layers from the highest to the lowest, the
    input token. The start's edges and those to the input token change from flow to flow.
    """
    n = capacity.shape[-1]
    inner = len(capacity) - 1
    units = np.rint(capacity * _UNIT).astype(np.int32)
    sink = 1 + inner * n
    per_row = np.full(sink + 1, n)
    per_row[-1 - n : -1] = 1
    per_row[-1] = 0  # to the input token alone; from it to none
    blocks = 1 + np.arange(inner)[:, None] * n + np.arange(n)  # positions [inner, n]
    columns = [blocks[0], np.repeat(blocks[1:], n, axis=0).ravel(), np.full(n, sink)]
    values = np.concatenate([units[-1, 0], units[-2:0:-1].ravel(), units[0, :, 0]])
    graph = csr_array(
        (
            values,
            np.concatenate(columns).astype(np.int32),
            np.concatenate([[0], np.cumsum(per_row)]).astype(np.int32),
        ),
        shape=(sink + 1, sink + 1),
    )
    flows = np.empty((len(starts), n))
    for row, start in enumerate(starts):
        graph.data[:n] = units[-1, start]
        for token in range(n):
            graph.data[-n:] = units[0, :, token]
            flows[row, token] = maximum_flow(graph, 0, sink).flow_value / _UNIT
    return flows
