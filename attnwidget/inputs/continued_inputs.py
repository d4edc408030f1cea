"""Dicts of inputs before and after a model has continued their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from attnwidget.inputs.model_tensors import is_of_text


def continuable(inputs: Mapping[str, Tensor], *, apart: bool = False) -> dict[str, Tensor]:
    """Return inputs that a model can continue.

    Args:
        inputs: Inputs of a model, for a single text without padding around it.
        apart: Whether the decoder of an encoder-decoder writes. It then reads no inputs yet.

    Raises:
        ValueError: There are no ids to continue, the dict has decoder inputs, or hidden tokens are
            between visible tokens.

    Example:
        >>> import torch
        >>> from attnwidget.inputs.continued_inputs import continuable
        >>> ids, mask = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 0, 1]])
        >>> continuable({"input_ids": ids, "attention_mask": mask})
        Traceback (most recent call last):
        ValueError: attention_mask hides tokens between visible ones, and a model writes after a \
whole text: leave these tokens out of input_ids
    """
    if apart:
        if names := [name for name in inputs if name.startswith("decoder_")]:
            raise ValueError(
                f"the decoder writes from its start token on: leave out {names[0]!r}, or read it "
                "with attend(dict)"
            )
        return dict(inputs)
    ids = inputs.get("input_ids")
    if ids is None:
        raise ValueError(
            f"a model goes on with vocabulary ids, and the dict has {', '.join(inputs)}: add "
            "input_ids"
        )
    mask = inputs.get("attention_mask")
    if mask is not None and mask.shape == ids.shape and not bool((mask != 0).all()):
        raise ValueError(
            "attention_mask hides tokens between visible ones, and a model writes after a whole "
            "text: leave these tokens out of input_ids"
        )
    return dict(inputs)


def continued(inputs: Mapping[str, Tensor], ids: Sequence[int]) -> dict[str, Tensor]:
    """Return inputs whose text has more tokens; pictures and sounds stay the same.

    Args:
        inputs: Inputs from `continuable`.
        ids: Vocabulary ids of the full text.

    Raises:
        ValueError: An input has an entry per token, and the entries of new tokens are unknown.

    Example:
        >>> import torch
        >>> from attnwidget.inputs.continued_inputs import continued
        >>> continued({"input_ids": torch.tensor([[5, 6]])}, [5, 6, 9])["input_ids"].tolist()
        [[5, 6, 9]]
    """
    old_ids = inputs["input_ids"]
    n_new = len(ids) - old_ids.shape[1]
    full_inputs = dict(inputs)
    for name, value in inputs.items():
        if not _is_along(name, value, old_ids):
            continue
        if name == "input_ids":
            full_inputs[name] = torch.tensor([list(ids)], dtype=value.dtype, device=value.device)
        elif name == "attention_mask":
            full_inputs[name] = torch.cat(
                [value, torch.ones_like(value[:, :1]).expand(1, n_new)], dim=1
            )
        elif name == "token_type_ids":
            # As in transformers' `generate`, new tokens have the last token's type.
            full_inputs[name] = torch.cat([value, value[:, -1:].expand(1, n_new)], dim=1)
        elif name == "mm_token_type_ids":
            # New tokens are text, which has the type 0.
            zeros = torch.zeros_like(value[:, :1])
            full_inputs[name] = torch.cat([value, zeros.expand(1, n_new)], dim=1)
        elif name == "position_ids":
            steps = torch.arange(1, n_new + 1, dtype=value.dtype, device=value.device)
            full_inputs[name] = torch.cat([value, value[:, -1:] + steps], dim=1)
        else:
            raise ValueError(
                f"it is not known which {name!r} the new tokens have: leave {name!r} out of the "
                "dict"
            )
    return full_inputs


def _is_along(name: str, value: Tensor, ids: Tensor) -> bool:
    """Return whether an input has an entry per token of the text."""
    return is_of_text(name) and value.shape[:2] == ids.shape
