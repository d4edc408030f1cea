"""Further arguments of attention functions, after queries, keys, values and a mask."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.lazy_mask import LazyMask

# Arguments that change no attention weight: settings for fused functions, packed sequences, and
# forward options that reach the layers.
_WITHOUT_EFFECT = frozenset(
    {
        "cache",
        "cache_position",
        "cu_seq_lens_k",
        "cu_seq_lens_q",
        "deterministic",
        "dropout",
        "encoder_attention_mask",
        "encoder_hidden_states",
        "is_causal",
        "max_length_k",
        "max_length_q",
        "num_items_in_batch",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "past_key_values",
        "position_embeddings",
        "position_ids",
        "return_dict",
        "scaling",
        "seq_idx",
        "sliding_window",  # The mask includes the window.
        "token_type_ids",
        "use_cache",
    }
)
# Arguments that the eager functions ignore or read from the module, and key selections that
# `with_selected_keys` adds to the mask.
_KNOWN = frozenset({"s_aux", "softcap", "position_bias", "indices", "block_indices"})


def forward_options(parts: Iterable[nn.Module]) -> frozenset[str]:
    """Return the forward argument names of a model and its inner models.

    A forward may pass any of them to the attention layers, such as `logits_to_keep`. The eager
    attention function receives these arguments too and ignores them.

    Args:
        parts: Model, and the models inside it.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.tapping.attention_arguments import forward_options
        >>> "input_ids" in forward_options([load_model(device="cpu").hf_model])
        True
    """
    return frozenset().union(*(_parameters(type(part).forward) for part in parts))


def check_arguments(
    module: nn.Module,
    eager: Callable[..., Any] | None,
    arguments: Mapping[str, Any],
    options: frozenset[str] = frozenset(),
) -> None:
    """Refuse an argument that may change the attention weights in an unknown way.

    Models check the name of their attention implementation. Under the tap's name, a model may pass
    as an argument what it would add to the mask under the name "eager".

    Args:
        module: Attention module.
        eager: Eager attention function of the module, or None.
        arguments: Further arguments that the module passes.
        options: Names that `forward_options` returns for the model.

    Raises:
        ValueError: An argument is not None, is unknown here, and belongs neither to the model's
            forward nor to its eager attention function.
    """
    known_names = _WITHOUT_EFFECT | _KNOWN | options
    if eager is not None:
        known_names |= _parameters(eager)
    unknown = [
        name for name, value in arguments.items() if value is not None and name not in known_names
    ]
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise ValueError(
            f"{type(module).__name__} passes {names} to its attention function. attnwidget does "
            f"not know this argument, so the weights could be wrong: the model cannot be read"
        )


def with_selected_keys(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    mask: Tensor | LazyMask | None,
    arguments: Mapping[str, Any],
) -> Tensor | LazyMask | None:
    """Return a mask that also hides the keys that a sparse attention layer did not select.

    DeepSeek V3.2 and related models select keys by `indices` [B, Q, n], MiniMax M3 blocks of keys
    by `block_indices` [B, heads, Q, n]. Under "eager" and "sdpa" these models add the selection to
    the mask themselves, with the same numbers.

    Raises:
        ValueError: The input is long, so its mask is never made as a whole.
    """
    indices: Tensor | None = arguments.get("indices")
    block_indices: Tensor | None = arguments.get("block_indices")
    if indices is None and block_indices is None:
        return mask
    if isinstance(mask, LazyMask):
        raise ValueError(
            f"{type(module).__name__} selects keys by its mask, so it cannot be read without "
            "whole maps: shorten the input, or pass long=False"
        )
    if block_indices is not None:
        return _with_selected_blocks(module, query, key, mask, block_indices, arguments)
    assert indices is not None
    n_key = key.shape[-2]
    is_hidden = torch.ones(*indices.shape[:-1], n_key, dtype=torch.bool, device=indices.device)
    is_hidden = is_hidden.scatter(-1, indices.long(), False).unsqueeze(1)  # [B, 1, Q, K]
    if mask is None:
        mask = torch.zeros((), dtype=query.dtype, device=query.device).expand(is_hidden.shape)
    if mask.dtype == torch.bool:
        return mask & ~is_hidden
    return mask.masked_fill(is_hidden, torch.finfo(query.dtype).min)


def _with_selected_blocks(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    block_indices: Tensor,
    arguments: Mapping[str, Any],
) -> Tensor:
    indexer: Any = getattr(module, "indexer", None)
    if indexer is None or not hasattr(indexer, "build_block_mask"):
        raise ValueError(
            f"{type(module).__name__} selects blocks of keys in a way that is not known, so its "
            "weights could be wrong: the model cannot be read"
        )
    positions = arguments.get("position_ids")
    if positions is None:
        first = key.shape[-2] - query.shape[-2]
        positions = torch.arange(first, key.shape[-2], dtype=torch.long, device=query.device)
    positions = (positions if positions.ndim > 1 else positions[None]).expand(len(query), -1)
    block_mask: Tensor = indexer.build_block_mask(
        block_indices, mask, key.shape[-2], query.dtype, query.device, positions
    )
    return block_mask


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)
