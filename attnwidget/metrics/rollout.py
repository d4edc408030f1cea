"""Attention rollout and attention flow: the share of each input token at each position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import HeadName, head_parts
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.counted import counted
from attnwidget.text.index_among import index_among

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention


# scipy's maximum flow uses int32. No flow exceeds 1, the total capacity from a position.
_UNIT = 2**30


@dataclass(frozen=True, eq=False, repr=False)
class TokenRelevance(Result):
    """Share of each input token at some positions, after some layers.

    Attributes:
        relevance: Shares, float64 [layers, queries, n]; rows sum to 1.
        layers: Layers of the first axis, from 0.
        queries: Positions of the second axis, from 0.
        tokens: Texts of the n input tokens.
        name: Name of the quantity in figures.
        stack: Stack of the layers.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import attention_rollout
        >>> found = attention_rollout(load_model().attend("The cat sat."))
        >>> found.relevance.shape, found.relevance[-1].sum(1).round(2)
        ((6, 6, 6), array([1., 1., 1., 1., 1., 1.]))
    """

    relevance: NDArray[np.float64]
    layers: tuple[int, ...]
    queries: tuple[int, ...]
    tokens: tuple[str, ...]
    name: str
    stack: str

    def after_layer(self, layer: int) -> NDArray[np.float64]:
        """Return the shares after `layer`, [queries, n].

        Raises:
            ValueError: If the result does not have this layer.
        """
        if layer not in self.layers:
            raise ValueError(f"{self.name} was computed for the layers {list(self.layers)}")
        return self.relevance[self.layers.index(layer)]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per value: layer, query, key, query_token, key_token, value."""
        import pandas as pd

        layer, query, key = (i.ravel() for i in np.indices(self.relevance.shape))
        query = np.asarray(self.queries)[query]
        tokens = np.array(self.tokens, dtype=object)
        return pd.DataFrame(
            {
                "layer": np.asarray(self.layers)[layer],
                "query": query,
                "key": key,
                "query_token": tokens[query],
                "key_token": tokens[key],
                "value": self.relevance.ravel(),
            }
        )

    def chart(self, layer: int | None = None, *, width: int = 640) -> alt.Chart:
        """Draw a heat map of tokens after the last layer, or after `layer`.

        Args:
            layer: Layer to draw; None = the last.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the result does not have this layer.
        """
        from attnwidget.charts.token_heatmap import token_heatmap

        layer = self.layers[-1] if layer is None else layer
        return token_heatmap(
            self.after_layer(layer),
            [self.tokens[query] for query in self.queries],
            self.tokens,
            title=f"{self.name} after L{layer}\n{self.model_name}",
            value_title=self.name.split(" through ")[0].lower(),
            width=width,
        )

    def __repr__(self) -> str:
        layers = ", ".join(f"L{layer}" for layer in self.layers)
        return f"TokenRelevance({self.name}, {layers}, {counted(len(self.tokens), 'token')})"


@in_plain_torch
@says_cuts
def attention_rollout(
    attention: Attention,
    *,
    head: HeadName | None = None,
    stack: str | None = None,
) -> TokenRelevance:
    """Compute attention rollout after every layer (Abnar and Zuidema 2020, section 3).

    Each layer is the mean of its heads plus the residual connection, with normalized rows. Layers
    are multiplied, later layers on the left. In a causal model, almost all of the rollout ends at
    the first token: compare rows with each other, not the tokens of a row.

    Args:
        attention: Attention of one input.
        head: Head, "L1 H3" or (1, 3), for a rollout through this head in its layer, and through
            the mean of heads in lower layers. The result then has only this layer.
        stack: Stack to follow if there are several; not "cross".

    Raises:
        ValueError: If the head or stack does not exist, or the stack's queries attend to another
            sequence.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import attention_rollout
        >>> attention_rollout(load_model().attend("The cat sat.")).relevance.shape
        (6, 6, 6)
    """
    weights, labels = _square(attention, stack)
    if head is None:
        products = rollout(weights)
        layers = tuple(range(len(products)))
        name = "Rollout"
    else:
        parts = head_parts(head, None)
        target = attention.head(parts if len(parts) == 3 else (*parts, labels["stack"]))
        if target.stack != labels["stack"]:
            raise ValueError(
                f"the rollout follows {labels['stack']!r}, and {target} is of another stack: pass "
                f"stack={target.stack!r}, or a head of {labels['stack']!r}"
            )
        products = head_rollout(weights, target.layer, target.head)[None]
        layers = (target.layer,)
        name = f"Rollout through L{target.layer} H{target.head}"
    n = products.shape[-1]
    return TokenRelevance(products.numpy(), layers, tuple(range(n)), name=name, **labels)


@in_plain_torch
@says_cuts
def attention_flow(
    attention: Attention,
    layer: int | None = None,
    *,
    queries: Sequence[int] | None = None,
    stack: str | None = None,
) -> TokenRelevance:
    """Compute attention flow after one layer (Abnar and Zuidema 2020, section 3).

    The flow is the maximum flow from each position to each input token, with the weights of
    `attention_rollout` as capacities. Rows are divided by their sum. The computation takes a second
    for 32 tokens and 6 layers, and most of a minute for 128 tokens, so name the `queries` of longer
    inputs.

    Args:
        attention: Attention of one input.
        layer: Last layer of the flow, from 0; None = the model's last layer.
        queries: Positions, from 0; None = all.
        stack: Stack to follow if there are several; not "cross".

    Raises:
        ValueError: If the layer, position or stack does not exist, or the stack's queries attend to
            another sequence.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import attention_flow
        >>> attention_flow(load_model().attend("The cat sat."), queries=[0])
        TokenRelevance(Attention flow, L5, 6 tokens)
    """
    weights, labels = _square(attention, stack)
    last = len(weights) - 1
    n = weights.shape[-1]
    layer = last if layer is None else index_among("layer", layer, last + 1, repr(labels["stack"]))
    positions = tuple(range(n)) if queries is None else tuple(int(query) for query in queries)
    if not positions or not all(0 <= query < n for query in positions):
        raise ValueError(f"queries must be some of 0 to {n - 1}, got {list(positions)}")
    flows = flow_to_inputs(weights, layer, positions)
    return TokenRelevance(flows.numpy()[None], (layer,), positions, name="Attention flow", **labels)


def _square(attention: Attention, stack: str | None) -> tuple[torch.Tensor, dict[str, Any]]:
    """Return the weights [L, H, n, n] of a stack that attends to itself, and its labels."""
    refuse_no_attention(attention)
    attention.head_maps.refuse_no_shares("chained: rollout and flow read shares")
    weights = torch.from_numpy(attention.weights(stack=stack))
    name = stack or next(iter(attention.stacks))
    if name == "cross" or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(
            f"the layers of {name!r} attend to another stack's tokens and cannot be chained: "
            'choose "encoder" or "decoder"'
        )
    tokens = tuple(attention.stacks[name].key.text)
    return weights, {"tokens": tokens, "stack": name, "model_name": attention.model_name}


def with_residual(weights: Tensor) -> Tensor:
    """Return the mean over heads plus the residual connection, with rows divided by their sum.

    Args:
        weights: Attention weights [..., H, n, n] without padding.

    Returns:
        Mixed attention, float64 [..., n, n]; rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.metrics.rollout import with_residual
        >>> with_residual(torch.full((1, 2, 2), 0.5))
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]], dtype=torch.float64)
    """
    mean = weights.double().mean(-3)
    mixed = mean + torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)
    return mixed / mixed.sum(-1, keepdim=True)


def rollout(weights: Tensor) -> Tensor:
    """Return attention rollout (Abnar and Zuidema 2020): the product of layers up to each layer.

    R_0 = A_0 and R_l = A_l R_(l-1), where A_l is layer l after `with_residual`. In causal models,
    nearly all of the rollout ends at the first token, regardless of the model.

    Args:
        weights: Attention weights of one input without padding, [L, H, n, n].

    Returns:
        Share of input token j (column) at position i (row) after each layer, float64 [L, n, n];
        rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.metrics.rollout import rollout
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
    """Return rollout through one head of `layer`, and through the mean of heads in lower layers.

    Args:
        weights: Attention weights of one input without padding, [L, H, n, n].
        layer: Number of the layer.
        head: Number of the head within the layer.

    Returns:
        Share of input token j (column) at position i (row), float64 [n, n]; rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.metrics.rollout import head_rollout
        >>> head_rollout(torch.eye(2).repeat(2, 3, 1, 1), layer=1, head=0)
        tensor([[1., 0.],
                [0., 1.]], dtype=torch.float64)
    """
    top = with_residual(weights[layer, head : head + 1])
    return top @ rollout(weights[:layer])[-1] if layer else top


def flow_to_inputs(weights: Tensor, layer: int, queries: Sequence[int] | None = None) -> Tensor:
    """Return attention flow (Abnar and Zuidema 2020): the maximum flow to each input token.

    Edges run from position i after a layer to position j before it, with the capacity A_l[i, j] of
    the layer after `with_residual`. The maximum flow is computed separately for every position and
    input token; rows are then divided by their sum. At layer 0, this is the rollout.

    Layers 0 and 1 are exact. In higher layers, capacities are rounded to 2**-30, so the error of a
    flow is at most 2**-31 per edge of its minimum cut: 1e-7 at 128 tokens. The time grows with n**4
    and with the number of layers: seconds for 64 tokens and 12 layers, so name the `queries` of
    longer inputs.

    Args:
        weights: Attention weights of one input without padding, [L, H, n, n].
        layer: Number of the layer after which the flow starts.
        queries: Positions i where the flow starts (Q); None = all.

    Returns:
        Flow to each input token, float64 [Q, n]; rows sum to 1.

    Example:
        >>> import torch
        >>> from attnwidget.metrics.rollout import flow_to_inputs
        >>> flow_to_inputs(torch.full((2, 3, 2, 2), 0.5), layer=1)
        tensor([[0.6667, 0.3333],
                [0.3333, 0.6667]], dtype=torch.float64)
    """
    capacity = with_residual(weights[: layer + 1]).cpu().numpy()
    n = capacity.shape[-1]
    starts = np.arange(n) if queries is None else np.asarray(queries, dtype=np.int64)
    if layer == 0:
        flows = capacity[0][starts]
    elif layer == 1:  # There is exactly one path through each position.
        flows = np.minimum(capacity[1][starts, :, None], capacity[0]).sum(1)
    else:
        flows = _maximum_flows(capacity, starts)
    return torch.from_numpy(flows / flows.sum(-1, keepdims=True))


def _maximum_flows(capacity: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return flows [starts, n] through three or more layers; `capacity` [L, n, n], lowest first.

    The rows of the graph are the start, the positions below each layer from the highest to the
    lowest layer, and the input token. Only edges from the start and edges to the input token differ
    between flows.
    """
    n = capacity.shape[-1]
    inner = len(capacity) - 1
    units = np.rint(capacity * _UNIT).astype(np.int32)
    sink = 1 + inner * n
    per_row = np.full(sink + 1, n)
    per_row[-1 - n : -1] = 1
    per_row[-1] = 0  # The input token has no outgoing edges.
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
