"""The record of a forward pass over one long input: kept layers that hold no whole map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isqrt
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.hub_model.free_memory import refuse_no_room
from attnwidget.capture.hub_model.model_tensors import count_inputs, input_names
from attnwidget.capture.hub_model.plain_forward import uncompiled
from attnwidget.capture.maps.block_layers import BlockLayers
from attnwidget.capture.maps.block_probe import BlockProbe
from attnwidget.capture.maps.input_length import LONG_FROM as LONG_FROM
from attnwidget.capture.maps.input_length import text_length
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.norm_maps import NormMaps
from attnwidget.capture.maps.products import Products
from attnwidget.capture.maps.readable_stacks import attends_apart, leave_out_unreadable
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.output_check import refuse_nan
from attnwidget.capture.tapping.projection import Projections
from attnwidget.capture.tapping.streamed_layer import StreamedItem
from attnwidget.capture.tapping.tap import LayerAttention, LongAttention, open_edits, tap


def collect_long(
    hf_model: Any,
    inputs: Mapping[str, Tensor],
    options: Mapping[str, Any],
    projections: Projections,
    block_probe: BlockProbe,
) -> tuple[list[dict[str, list[Layer]]], str, str]:
    """Return the layers of each input by stack, the reason for missing norms, and a note.

    All follow from one forward pass. The layers need the memory of queries and keys of all layers,
    two numbers per query and head, a norm per key and head, and thumbnails. `projections` are the
    output projections of the model. `block_probe` finds the tokens of layers in blocks. The reason
    is "" if there are norms. The note names towers without maps.

    Raises:
        ValueError: the model shows only its weights, or computes them in an unknown way.
    """
    batch = count_inputs(inputs)
    items: list[dict[str, list[Layer]]] = [{} for _ in range(batch)]
    unreadable: dict[str, str] = {}

    model = uncompiled(hf_model)
    sites = find_sites(model)
    blocks = BlockLayers(model, sites, block_probe, inputs, batch)

    def keep(seen: LongAttention) -> None:
        if len(seen.items) != batch and not blocks.has_call(seen.module):
            unreadable[seen.stack] = attends_apart(len(seen.items), batch)
            return
        projections.see_long(seen)
        norms = projections.value_norms(seen)
        kept = [kept_of(item) for item in seen.items]
        if norms is not None:
            kept = [
                replace(layer, norms=NormMaps(layer.weights, lengths=lengths))
                for layer, lengths in zip(kept, norms, strict=True)
            ]
        blocks.add(seen.module, seen.stack, kept)
        for stacks, layer in zip(items, kept, strict=False):
            stacks.setdefault(seen.stack, []).append(layer)

    def keep_again(seen: LayerAttention | LongAttention) -> None:
        if isinstance(seen, LongAttention):
            blocks.add_again(seen.module, seen.stack, [kept_of(item) for item in seen.items])

    if "logits_to_keep" in input_names(hf_model):
        # The predictions for every token would need more memory than all kept layers.
        options = {"logits_to_keep": 1, **options}
    with (
        torch.no_grad(),
        projections.checking(),
        blocks.watching(),
        tap(hf_model, lambda _: None, on_long=keep, on_again=keep_again),
    ):
        output = hf_model(**inputs, **options)
    refuse_nan(hf_model, inputs, output)
    unreadable |= blocks.finish(items[0])
    if projections.refused:
        for stacks in items:
            for layers in stacks.values():
                layers[:] = [replace(kept, norms=None) for kept in layers]
    not_shown = leave_out_unreadable(items, unreadable, model, sites)
    return items, projections.refused, not_shown


def is_long(hf_model: Any, inputs: Mapping[str, Tensor], long: bool | None) -> bool:
    """Return whether to read an input without whole maps: `long`, or by the text's length if None.

    Raises:
        ValueError: whole maps of the text do not fit the memory, or an input that is to be read
            without whole maps has hidden tokens between its tokens.
    """
    if long and (name := _mask_with_hidden(inputs)) is not None and inputs[name].ndim == 2:
        raise ValueError(
            f"{name} hides tokens, and maps without hidden tokens are made from whole maps: pass "
            "long=None, or leave the hidden tokens out"
        )
    if long is not None:
        return long
    length = text_length(inputs)
    return length > LONG_FROM and reads_long(hf_model, inputs, length)


def reads_long(hf_model: Any, inputs: Mapping[str, Tensor], length: int) -> bool:
    """Return whether an input of more than `LONG_FROM` tokens can be read without whole maps.

    Raises:
        ValueError: it cannot, and whole maps of the input do not fit the memory.
    """
    if _mask_with_hidden(inputs) is None and not open_edits(hf_model) and shows_products(hf_model):
        return True
    _refuse_no_room(hf_model, length)
    return False


def _mask_with_hidden(inputs: Mapping[str, Tensor]) -> str | None:
    """Return the name of a mask of the text that hides tokens, or None."""
    names = ("attention_mask", "decoder_attention_mask")
    return next((name for name in names if name in inputs and not inputs[name].all()), None)


def shows_products(hf_model: Any) -> bool:
    """Return whether every layer of a model shows the queries and keys of its weights."""
    return all(site.route == "interface" for site in find_sites(uncompiled(hf_model)))


def _refuse_no_room(hf_model: Any, length: int) -> None:
    """Refuse an input whose whole maps do not fit the memory."""
    config = hf_model.config.get_text_config()
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(layers, int):  # LXMERT states a number for each of its stacks
        layers = len(find_sites(uncompiled(hf_model)))
    heads = int(config.num_attention_heads) * layers
    refuse_no_room(
        4 * heads * length**2,
        f"the whole maps of {heads} heads over {length:,} tokens",
        lambda room: (
            "this model is read whole where it shows its weights alone, has heads switched off or "
            f"padding; pass at most {isqrt(room // (4 * heads)):,} tokens"
        ),
    )


def kept_of(item: StreamedItem) -> Layer:
    """Return the kept layer of one input."""
    products = Products(
        query=item.query,
        key=item.key,
        scaling=item.scaling,
        softcap=item.softcap,
        mask=item.mask,
        bias=item.bias,
        sinks=item.sinks,
        streamed=item.streamed,
    )
    (n_heads, n_query, _), (n_key_heads, n_key, _) = item.query.shape, item.key.shape
    return Layer(n_heads, n_key_heads, n_query, n_key, weights=products, mask=item.mask)
