"""The number of tokens of an input, which a text states and only a pass tells of other inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor

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
        >>> from attnwidget.capture.maps.input_length import text_length
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
