"""The transformers model in what holds it: parallel and adapted models, pipelines, modules."""

from __future__ import annotations

from inspect import signature
from typing import Any

from torch import nn

# These adapters depend on the input, which is known only before the model runs.
_CHOOSING = {"PolyModel", "XLoraModel"}
# What transformers calls the input of a model: ids, vectors, pictures and sound.
_INPUTS = {"input_ids", "inputs_embeds", "pixel_values", "input_features", "input_values"}


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


def opened(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Return the transformers model that an object holds, and its tokenizer.

    The object is a model in the wrappers of `unwrapped`, a pipeline or a Trainer of transformers, a
    SentenceTransformer or a CrossEncoder, a module of Lightning, or another torch module with a
    single transformers model inside. The tokenizer is `tokenizer`, or that of the object if it has
    one. Objects without a transformers model are returned as they are, and so is a module with a
    configuration that is called with the inputs of a transformers model.

    Raises:
        TypeError: A module holds several transformers models, or as `unwrapped`.

    Example:
        >>> import torch
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.hub_model.wrapped_models import opened
        >>> class Classifier(torch.nn.Module):
        ...     def __init__(self, bert):
        ...         super().__init__()
        ...         self.bert = bert
        >>> model = load_model().hf_model
        >>> opened(Classifier(model), None) == (model, None)
        True
    """
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    while True:
        if isinstance(model, nn.Module):
            model = unwrapped(model)
            if isinstance(model, PreTrainedModel) or _is_called_like_a_model(model):
                return model, tokenizer
            inner = _models_in(model, PreTrainedModel)
        else:
            held = getattr(model, "model", None)
            inner = {"model": held} if isinstance(held, nn.Module) else {}
        if not inner:
            return model, tokenizer
        if len(inner) > 1:
            name = type(model).__name__
            ways = " or ".join(f"x.{path}" for path in inner)
            raise TypeError(
                f"this {name} holds {len(inner)} transformers models: pass one of them, where x is "
                f"your {name}: {ways}"
            )
        for attribute in ("tokenizer", "processing_class"):
            found = getattr(model, attribute, None)
            if tokenizer is None and isinstance(found, PreTrainedTokenizerBase):
                tokenizer = found
        (model,) = inner.values()


def _is_called_like_a_model(module: nn.Module) -> bool:
    """Whether a module takes the inputs of a transformers model, so that it is read as a whole."""
    return hasattr(module, "config") and bool(_INPUTS & {*signature(module.forward).parameters})


def _models_in(module: nn.Module, kind: type[nn.Module]) -> dict[str, nn.Module]:
    """Return the outermost models of a kind inside a module, also models of peft, by path."""
    found: dict[str, nn.Module] = {}
    for path, part in module.named_modules():
        is_inside = any(path.startswith(f"{outer}.") for outer in found)
        if path and not is_inside and (isinstance(part, kind) or hasattr(part, "peft_config")):
            found[path] = part
    return found


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
