"""Decision whether an input is read with whole maps or some rows at a time."""

from __future__ import annotations

from math import isqrt
from typing import Any

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.tap import open_edits
from attnwidget.inputs.model_tensors import ModelBatch
from attnwidget.model_facts.free_memory import refuse_no_room
from attnwidget.model_facts.plain_forward import uncompiled

#: Number of tokens above which inputs are read row by row, unless `attend` receives `long`.
LONG_FROM = 1024


def reads_rows(hf_model: Any, batch: ModelBatch, long: bool | None) -> bool:
    """Return whether to read an input some rows at a time.

    The result is `long`. If `long` is None, the length of the text decides.

    Raises:
        ValueError: Whole maps of the text do not fit in memory, or `long` is True for a text with
            hidden tokens.
    """
    if long and (name := batch.hiding_mask) is not None and batch.tensors[name].ndim == 2:
        raise ValueError(
            f"{name} hides tokens, and maps without hidden tokens are made from whole maps: pass "
            "long=None, or leave the hidden tokens out"
        )
    if long is not None:
        return long
    length = batch.text_length
    return length > LONG_FROM and can_read_rows(hf_model, batch, length)


def can_read_rows(hf_model: Any, batch: ModelBatch, length: int) -> bool:
    """Return whether an input of more than `LONG_FROM` tokens can be read some rows at a time.

    Raises:
        ValueError: It cannot be read row by row, and its whole maps do not fit in memory.
    """
    if batch.hiding_mask is None and not open_edits(hf_model) and shows_products(hf_model):
        return True
    _refuse_no_room(hf_model, length)
    return False


def shows_products(hf_model: Any) -> bool:
    """Return whether every layer of a model exposes the queries and keys behind its weights."""
    return all(site.route == "interface" for site in find_sites(uncompiled(hf_model)))


def _refuse_no_room(hf_model: Any, length: int) -> None:
    """Raise ValueError if the whole maps of an input do not fit in memory."""
    config = hf_model.config.get_text_config()
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(layers, int):  # LXMERT states one number per stack.
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
