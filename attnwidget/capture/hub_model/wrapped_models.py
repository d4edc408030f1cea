"""The transformers model inside its wrappers: compiled, parallel, with adapters of peft."""

from __future__ import annotations

from typing import Any

from torch import nn

# These adapters depend on the input, which is known only before the model runs.
_CHOOSING = {"PolyModel", "XLoraModel"}


def unwrapped(model: nn.Module) -> Any:
    """Return the transformers model inside its wrappers, or the model itself.

    Wrappers are `torch.compile`, `torch.nn.DataParallel`, `DistributedDataParallel` and peft, also
    nested. Adapters inside the layers, such as LoRA, stay active.

    Raises:
        TypeError: adapters outside the layers, such as prefix and prompt tuning.

    Example:
        >>> import torch
        >>> from attnwidget import load_model
        >>> model = load_model().hf_model
        >>> unwrapped(torch.nn.DataParallel(model)) is model
        True
    """
    while True:
        if "_orig_mod" in model._modules:
            model = model._modules["_orig_mod"]  # type: ignore[assignment]
        elif isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        elif hasattr(model, "peft_config") and "base_model" in model._modules:
            model = _adapted(model)
        else:
            return model


def _adapted(model: Any) -> nn.Module:
    """Return the peft model whose layers have adapters."""
    tuner = model.base_model
    names = {base.__name__ for base in type(tuner).__mro__}
    if "BaseTuner" not in names or names & _CHOOSING:
        kinds = ", ".join(str(getattr(c, "peft_type", c)) for c in model.peft_config.values())
        raise TypeError(
            f"this {type(model).__name__} adapts its model from outside of the layers "
            f"({kinds.replace('PeftType.', '')}), so the attention of the layers alone would be "
            "wrong: pass the transformers model without adapters, or with adapters inside the "
            "layers, such as LoRA's"
        )
    return tuner.model
