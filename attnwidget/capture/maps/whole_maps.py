"""Length of inputs, and the decision to read an input with whole maps or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Any

from torch import Tensor

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.tap import open_edits
from attnwidget.model_facts.free_memory import refuse_no_room
from attnwidget.model_facts.plain_forward import uncompiled

#: Number of tokens above which inputs are read row by row, unless the caller of `attend` decides
#: otherwise.
LONG_FROM = 1024


class LimitReached(Exception):  # noqa: N818  it stops a pass, and reaches no caller of the package
    """A layer reads too many tokens for whole maps.

    Attributes:
        length: Number of tokens that the layer reads.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        super().__init__(f"a layer reads {length} tokens")


def text_length(inputs: Mapping[str, Tensor]) -> int:
    """Return the number of tokens in the longest text of an input; 0 without texts.

    Example:
        >>> import torch
        >>> from attnwidget.capture.maps.whole_maps import text_length
        >>> text_length({"input_ids": torch.zeros(1, 7), "pixel_values": torch.zeros(1, 3, 8, 8)})
        7
    """
    names = ("input_ids", "decoder_input_ids", "inputs_embeds")
    return max((inputs[name].shape[1] for name in names if name in inputs), default=0)


def refuse_longer(limit: int, n_inputs: int, arguments: Iterable[object]) -> None:
    """Raise `LimitReached` if an attention module receives the states of more than `limit` tokens.

    The number of picture patches and sound frames is unknown until the model has made them. Most
    modules receive states [B, n, d]; some receive [n, B, d], or the tokens of all pictures as
    [n, d].

    Args:
        limit: Largest number of tokens.
        n_inputs: Number of inputs in the batch, B.
        arguments: Arguments of the module; the first floating-point tensor has the states.

    Raises:
        LimitReached: There are more tokens.
    """
    for argument in arguments:
        if not isinstance(argument, Tensor) or not argument.is_floating_point():
            continue
        sizes = list(argument.shape[:-1])
        if n_inputs in sizes:
            sizes.remove(n_inputs)
        length = max(sizes, default=1)
        if length > limit:
            raise LimitReached(length)
        return


def reads_rows(hf_model: Any, inputs: Mapping[str, Tensor], long: bool | None) -> bool:
    """Return whether to read an input row by row: `long`, or if None, by the length of the text.

    Raises:
        ValueError: Whole maps of the text do not fit the memory, or an input with hidden tokens
            between its tokens should be read row by row.
    """
    if long and (name := _mask_with_hidden(inputs)) is not None and inputs[name].ndim == 2:
        raise ValueError(
            f"{name} hides tokens, and maps without hidden tokens are made from whole maps: pass "
            "long=None, or leave the hidden tokens out"
        )
    if long is not None:
        return long
    length = text_length(inputs)
    return length > LONG_FROM and can_read_rows(hf_model, inputs, length)


def can_read_rows(hf_model: Any, inputs: Mapping[str, Tensor], length: int) -> bool:
    """Return whether an input of more than `LONG_FROM` tokens can be read row by row.

    Raises:
        ValueError: It cannot be read row by row, and its whole maps do not fit the memory.
    """
    if _mask_with_hidden(inputs) is None and not open_edits(hf_model) and shows_products(hf_model):
        return True
    _refuse_no_room(hf_model, length)
    return False


def _mask_with_hidden(inputs: Mapping[str, Tensor]) -> str | None:
    """Return the name of a text mask that hides tokens, or None."""
    names = ("attention_mask", "decoder_attention_mask")
    return next((name for name in names if name in inputs and not inputs[name].all()), None)


def shows_products(hf_model: Any) -> bool:
    """Return whether every layer of a model exposes the queries and keys behind its weights."""
    return all(site.route == "interface" for site in find_sites(uncompiled(hf_model)))


def _refuse_no_room(hf_model: Any, length: int) -> None:
    """Refuse an input whose whole maps do not fit the memory."""
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
