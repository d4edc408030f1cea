"""Forward passes without compiled code and without dropout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain

from torch import nn

from attnwidget.model_facts.all_modules import all_modules
from attnwidget.model_facts.held_attributes import Hold, held, unheld


def uncompiled(model: nn.Module) -> nn.Module:
    """Return the model inside the wrapper of `torch.compile`, or the model itself.

    Args:
        model: Model, compiled or not.
    """
    return getattr(model, "_orig_mod", model)


def plain_forward(model: nn.Module) -> AbstractContextManager[None]:
    """Run all modules of a model in eval mode and uncompiled in the block.

    Modules may have been compiled by `torch.compile(module)`, `module.compile()` or an assignment
    to `forward`. The compiled code remains available after the block, and no new code is compiled.
    During the block, forward passes through the same model in other threads are plain too. Other
    models are not changed.

    Args:
        model: Model.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model().hf_model.train()
        >>> with plain_forward(model):
        ...     any(module.training for module in model.modules())
        False
        >>> all(module.training for module in model.modules())
        True
    """
    return held(chain(_eval_mode(model), _uncompiled(model)))


def uncompiled_forward(model: nn.Module) -> AbstractContextManager[None]:
    """Run all modules of a model uncompiled in the block, in their current mode.

    Args:
        model: Model.

    Example:
        >>> import torch
        >>> from attnwidget.model_facts.plain_forward import uncompiled_forward
        >>> layer = torch.nn.Linear(2, 2)
        >>> layer.compile()
        >>> with uncompiled_forward(layer):
        ...     layer._compiled_call_impl is None, layer.training
        (True, True)
    """
    return held(_uncompiled(model))


def _eval_mode(model: nn.Module) -> Iterator[Hold]:
    """Yield the holds that keep all modules in eval mode."""
    for module in all_modules(model):
        # Hold the value even if it is already False, because another block may end and restore
        # train mode.
        if unheld(module, "training") is not None:
            yield Hold(module, "training", False)


def _uncompiled(model: nn.Module) -> Iterator[Hold]:
    """Yield the holds that keep all modules uncompiled."""
    for module in all_modules(model):
        if unheld(module, "_compiled_call_impl") is not None:
            yield Hold(module, "_compiled_call_impl", None)
        original_forward = getattr(unheld(module, "forward"), "_torchdynamo_orig_callable", None)
        if original_forward is not None:
            yield Hold(module, "forward", original_forward)
