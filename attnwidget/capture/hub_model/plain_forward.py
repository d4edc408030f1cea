"""A model's forward pass as its code has it: neither compiled nor with dropout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from torch import nn

from attnwidget.capture.hub_model.held_attributes import Hold, held, unheld


def uncompiled(model: nn.Module) -> nn.Module:
    """The model that `torch.compile` wrapped; a model that it did not wrap itself."""
    return getattr(model, "_orig_mod", model)


def plain_forward(model: nn.Module) -> AbstractContextManager[None]:
    """Every module of `model` in eval mode and uncompiled in the block, then as it was before.

    Modules are compiled by `torch.compile(module)`, `module.compile()` or an assignment to
    `forward`: compiled code is kept for later, and no new code is compiled. Another thread's pass
    through the same model is plain too while the block lasts; other models are untouched.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model().hf_model.train()
        >>> with plain_forward(model):
        ...     any(module.training for module in model.modules())
        False
        >>> all(module.training for module in model.modules())
        True
    """
    return held(_holds(model))


def _holds(model: nn.Module) -> Iterator[Hold]:
    for module in model.modules():
        # Held where it is False already too: another block may end, and train mode with it.
        if unheld(module, "training") is not None:
            yield Hold(module, "training", False)
        if unheld(module, "_compiled_call_impl") is not None:
            yield Hold(module, "_compiled_call_impl", None)
        written = getattr(unheld(module, "forward"), "_torchdynamo_orig_callable", None)
        if written is not None:
            yield Hold(module, "forward", written)
