"""One layer over a long input: its outputs and row statistics, without whole maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.lazy_mask import LazyMask, split_mask
from attnwidget.capture.tapping.lazy_rows import LazyRows
from attnwidget.capture.tapping.rows_without_keys import rows_without_keys, weight_without_keys
from attnwidget.capture.tapping.torch_functions import additive
from attnwidget.capture.tapping.weights_agree import spread_row_numbers, weights_agree
from attnwidget.kernels.streaming import Streamed, stream_attention
from attnwidget.kernels.weights import attention_weights

# Number of rows, spread over the input, that are compared with the model's own function.
_ROWS_CHECKED = 16
# Differences between head outputs that rounding explains, relative to the largest output.
_OUTPUT_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-5, torch.float16: 5e-2}


@dataclass(frozen=True, eq=False)
class StreamedItem:
    """One input of a batch in one layer: its map source, and the results of the pass.

    Attributes:
        query: Queries after position encoding, [H, Q, D].
        key: Keys after position encoding, [Hkv, K, D].
        value: Values with the value bias, [Hkv, K, Dv].
        output: Head outputs before the output projection, [H, Q, Dv].
        scaling: Factor of the scores.
        softcap: Bound of the scores, as in `attention_weights`; None for no bound.
        sinks: Scores of the attention sinks, [H], or None.
        mask: Keys that each query sees; None for all keys.
        bias: Bias added to the scores; None for no bias.
        streamed: Statistics of the rows.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    scaling: float
    softcap: float | None
    sinks: Tensor | None
    mask: LazyRows | None
    bias: LazyRows | None
    streamed: Streamed


def stream_layer(
    module: nn.Module,
    eager: Callable[..., tuple[Tensor, Tensor]],
    implementation: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: LazyMask | Tensor | None,
    *args: Any,
    **kwargs: Any,
) -> tuple[Tensor, list[StreamedItem], list[Tensor]]:
    """Return an attention function's output, [B, Q, H, Dv], and every input in the batch.

    The third result contains unread answers on a GPU, bool []: whether the weights follow from
    queries and keys in a known way. If one is false, raise `unknown_weights`. Answers on the CPU
    are read at once.

    The arguments are those of the attention function. `eager` is the model's own function, which
    computes some rows of the map for comparison. `implementation` names the attention
    implementation with which the model was loaded.

    Raises:
        ValueError: The weights do not follow from queries and keys in a known way.
    """
    scaling = kwargs.get("scaling")
    scaling = float(query.shape[-1] ** -0.5 if scaling is None else scaling)
    sinks = kwargs.get("s_aux")
    sinks = sinks.detach().reshape(-1) if isinstance(sinks, Tensor) else None
    softcap = kwargs.get("softcap")
    if isinstance(mask, Tensor):
        mask = _of_every_query(mask, query.shape[-2])
    if isinstance(kwargs.get("position_bias"), Tensor):
        kwargs["position_bias"] = _of_every_query(kwargs["position_bias"], query.shape[-2])
    outputs = []
    items = []
    pending = []
    for number in range(len(query)):
        visible, bias = _mask_and_bias(mask, kwargs.get("position_bias"), number)
        formula: dict[str, Any] = {"scaling": scaling, "softcap": softcap, "sinks": sinks}
        states = (query, key, value)
        agree = _agreement(module, eager, states, number, visible, bias, formula, args, kwargs)
        if agree.device.type != "cpu":
            pending.append(agree)
        elif not bool(agree):
            raise unknown_weights(module)
        empty_rows = None
        weight = None
        if isinstance(mask, Tensor):
            empty_rows = rows_without_keys(_of_item(mask, number))
            weight = weight_without_keys(mask, implementation)
        output, streamed = stream_attention(
            query[number],
            key[number],
            value[number],
            **formula,
            visible=None if visible is None else visible.part,
            bias=None if bias is None else bias.part,
            without_keys=None if weight is None else empty_rows,
            weight_without_keys=weight or 0.0,
            spans=None if visible is None else visible.spans,
        )
        outputs.append(output)
        items.append(
            StreamedItem(
                query=query[number].detach(),
                key=key[number].detach(),
                value=value[number].detach(),
                output=output,
                **formula,
                mask=visible,
                bias=bias,
                streamed=streamed,
            )
        )
    return torch.stack(outputs).transpose(1, 2).contiguous(), items, pending


def _mask_and_bias(
    mask: LazyMask | Tensor | None, position_bias: object, item: int
) -> tuple[LazyRows | None, LazyRows | None]:
    visible: LazyRows | None
    bias: LazyRows | None
    if isinstance(mask, LazyMask):
        visible = mask.item(item)
        bias = None
    elif isinstance(mask, Tensor):
        visible, bias = split_mask(_of_item(mask, item))
    else:
        visible = None
        bias = None
    if isinstance(position_bias, Tensor):
        bias_mask, bias_terms = split_mask(_of_item(position_bias, item))
        visible = bias_mask if visible is None else _joined(visible, bias_mask, torch.logical_and)
        bias = (
            bias_terms
            if bias is None or bias_terms is None
            else _joined(bias, bias_terms, torch.add)
        )
    return visible, bias


def _of_every_query(added: Tensor, n_query: int) -> Tensor:
    """Expand a mask or bias to [B, 1 or H, Q, K]; LayoutLM and T5 may have one row for all."""
    while added.ndim < 4:
        added = added[None]
    return added.expand(-1, -1, n_query, -1)


def _of_item(added: Tensor, item: int) -> Tensor:
    added = added.detach()
    return added[item if len(added) > 1 else 0]


def _joined(
    first: LazyRows, other: LazyRows | None, how: Callable[[Tensor, Tensor], Tensor]
) -> LazyRows:
    if other is None:
        return first
    heads = max(first.n_heads, other.n_heads)
    return LazyRows(heads, lambda rows, keys: how(first.part(rows, keys), other.part(rows, keys)))


def _agreement(
    module: nn.Module,
    eager: Callable[..., tuple[Tensor, Tensor]],
    states: tuple[Tensor, Tensor, Tensor],
    item: int,
    seen: LazyRows | None,
    bias: LazyRows | None,
    formula: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Tensor:
    """Return whether a layer's function gives the same weights in some rows, bool []."""
    query, key, value = (state[item : item + 1] for state in states)
    rows = spread_row_numbers(query.shape[-2], _ROWS_CHECKED, query.device)
    keys = slice(0, key.shape[-2])
    query = query[:, :, rows]
    visible = None if seen is None else seen.part(rows, keys)
    mask = None if visible is None else additive(visible, query.dtype)
    added_bias = None if bias is None else bias.part(rows, keys)
    eager_kwargs = dict(kwargs)
    eager_mask = mask
    if isinstance(eager_kwargs.get("position_bias"), Tensor):
        position_bias = _of_item(eager_kwargs["position_bias"], item)
        eager_kwargs["position_bias"] = position_bias[None, :, rows]
    elif added_bias is not None:
        eager_mask = added_bias if mask is None else added_bias + mask
    if eager_mask is not None:
        eager_mask = eager_mask[None]
    try:
        output, weights = eager(module, query, key, value, eager_mask, *args, **eager_kwargs)
        expected = attention_weights(query, key, **formula, position_bias=added_bias, mask=mask)
        group = query.shape[1] // value.shape[1]
        values = value if group == 1 else value.repeat_interleave(group, 1)
        head_outputs = expected.to(value.dtype) @ values
        largest = (
            head_outputs.abs().max().float().nan_to_num(nan=1.0, posinf=torch.inf).clamp(min=1.0)
        )
        tolerance = _OUTPUT_TOLERANCE.get(query.dtype, 3e-1) * largest
        difference = (output.transpose(1, 2) - head_outputs).nan_to_num().abs().max()
        return weights_agree(expected, weights) & (difference.float() <= tolerance)
    except (RuntimeError, IndexError, TypeError, AttributeError) as error:
        raise unknown_weights(module, f" ({error})") from error


def unknown_weights(module: nn.Module, why: str = "") -> ValueError:
    """Return the error for a layer whose weights do not follow in a known way."""
    return ValueError(_UNKNOWN.format(type(module).__name__, why))


_UNKNOWN = (
    "{} computes its attention in a way that cannot be read without whole maps{}: shorten the "
    "input, or pass long=False"
)
