"""How many tokens an input has, and whether it is read with whole maps or some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Any

from torch import Tensor

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.tap import open_edits
from attnwidget.model_facts.free_memory import refuse_no_room
from attnwidget.model_facts.plain_forward import uncompiled

#: Inputs with more tokens are read without whole maps, unless the caller of `attend` decides
#: otherwise.
LONG_FROM = 1024


class LimitReached(Exception):  # noqa: N818  it stops a pass, and reaches no caller of the package
    """A layer reads more tokens than whole maps are made of.

    Attributes:
        length: Number of tokens that the layer reads.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        super().__init__(f"a layer reads {length} tokens")


def text_length(inputs: Mapping[str, Tensor]) -> int:
    """Return the number of tokens of the longest text of an input; 0 without texts.

    Example:
        >>> import torch
        >>> from attnwidget.capture.maps.whole_maps import text_length
        >>> text_length({"input_ids": torch.zeros(1, 7), "pixel_values": torch.zeros(1, 3, 8, 8)})
        7
    """
    names = ("input_ids", "decoder_input_ids", "inputs_embeds")
    return max((inputs[name].shape[1] for name in names if name in inputs), default=0)


def refuse_longer(limit: int, n_inputs: int, arguments: Iterable[object]) -> None:
    """Raise `LimitReached` if an attention module gets the states of more than `limit` tokens.

    Patches of a picture and frames of sound have no number before the model has made them. Most
    modules get states [B, n, d]; some get [n, B, d], or the tokens of all pictures as [n, d].

    Args:
        limit: The largest number of tokens.
        n_inputs: Number of inputs in the batch, B.
        arguments: The arguments of the module; the first tensor of numbers has the states.

    Raises:
        LongInput: There are more tokens.
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
    """Return whether to read an input some rows at a time: `long`, or by the text's length if None.

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
    return length > LONG_FROM and can_read_rows(hf_model, inputs, length)


def can_read_rows(hf_model: Any, inputs: Mapping[str, Tensor], length: int) -> bool:
    """Return whether an input of more than `LONG_FROM` tokens can be read some rows at a time.

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
