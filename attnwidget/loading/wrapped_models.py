"""The transformers model inside its wrappers, and the tokenizer of a wrapper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from torch import nn

from attnwidget.inputs.processor import Processor

# Adapters that depend on the input, which is known only when the model runs.
_CHOOSING = {"PolyModel", "XLoraModel"}
# Attributes in which wrappers store their tokenizer: Trainer calls it a processing class.
_TOKENIZERS = ("tokenizer", "processing_class", "processor")
_PROCESSORS = ("processor", "processing_class", "image_processor", "feature_extractor")
# Input names of transformers models: ids, vectors, pictures and sound.
_INPUTS = {"input_ids", "inputs_embeds", "pixel_values", "input_features", "input_values"}
# Errors of wrapper properties, which may fail, for example before training has begun.
_NOT_THERE = (AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError)


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """A transformers model that was inside of another object.

    Attributes:
        hf_model: Transformers model.
        tokenizer: Tokenizer of the innermost wrapper that has one, or None.
        processor: Processor for pictures or sounds of the same wrapper, or None.
        path: Path from the wrapper to the model, such as "bert" or "encoder.model"; "" if the
            object is the model.
    """

    hf_model: Any
    tokenizer: Any = None
    path: str = ""
    processor: Processor | None = None


def unwrapped(
    model: Any, has_attention: Callable[[nn.Module], object] = lambda _: True
) -> Unwrapped:
    """Return the transformers model inside an object, or the object itself.

    The object is a module that contains one transformers model at any depth, or has a module as its
    attribute: a pipeline or a Trainer of transformers, a SentenceTransformer, a CrossEncoder, a
    Lightning module, or a wrapper of `torch.compile`, `torch.nn.DataParallel`,
    `DistributedDataParallel` or peft. Adapters inside the layers, such as LoRA, stay active.

    A module that is called like a transformers model counts as one: it has a transformers
    configuration, its forward names an input such as `input_ids`, and its attention can be read.

    Args:
        model: Object that contains a model.
        has_attention: Function that returns whether a module has attention to read. If an object
            contains several models, models without attention do not count.

    Raises:
        TypeError: The object contains no transformers model, or several; or it has adapters outside
            of the layers, as in prefix and prompt tuning.

    Example:
        >>> import torch
        >>> from attnwidget import load_model
        >>> from attnwidget.loading.wrapped_models import unwrapped
        >>> model = load_model().hf_model
        >>> unwrapped(torch.nn.DataParallel(model)).hf_model is model
        True
        >>> unwrapped(torch.nn.ModuleDict({"bert": model, "head": torch.nn.Linear(4, 2)})).path
        'bert'
    """
    models = list(_inside(model, Unwrapped(None), set(), has_attention))
    if len(models) > 1:
        # A vision network next to a language model may have no attention to read.
        models = [candidate for candidate in models if has_attention(candidate.hf_model)] or models
    if len(models) == 1:
        return models[0]
    kind = type(model).__name__
    if models:
        paths = [f"x.{candidate.path}" for candidate in models]
        choice = ", ".join(paths[:-1]) + f" or {paths[-1]}"
        raise TypeError(
            f"this {kind} contains {len(models)} transformers models: pass one of them, {choice}, "
            f"where x is the {kind}"
        )
    # A model from another library may have a dict as configuration.
    if isinstance(model, nn.Module) and hasattr(getattr(model, "config", None), "get_text_config"):
        return Unwrapped(model)
    if not isinstance(model, nn.Module):
        raise TypeError(
            "model is None, a name, a folder, a transformers model, or an object that contains one "
            f"transformers model, such as a pipeline; got {kind}"
        )
    raise TypeError(f"this {kind} contains no transformers model: {_way_out(model)}")


def _way_out(model: nn.Module) -> str:
    if any(isinstance(module, nn.MultiheadAttention) for module in model.modules()):
        return (
            "its torch.nn.MultiheadAttention can be read while the module runs, with "
            "watch_attention(module)"
        )
    return (
        "pass a transformers model, watch torch's attention functions while the module runs, "
        "watch_attention(module), or record queries and keys for Attention.from_queries_keys"
    )


def _inside(
    source: Any, outer: Unwrapped, seen: set[int], has_attention: Callable[[nn.Module], object]
) -> Iterator[Unwrapped]:
    """Yield each outermost transformers model inside an object once.

    A wrapper of the same model (compiled, parallel, with adapters) adds nothing to the path.

    Args:
        source: Object to search.
        outer: Path to `source`, and the tokenizer of the objects around it.
        seen: Ids of the objects that were searched, because modules may contain each other.
        has_attention: Function that returns whether a module has attention to read.
    """
    from transformers import PreTrainedModel

    if id(source) in seen:
        return
    seen.add(id(source))
    if isinstance(source, nn.Module):
        if "_orig_mod" in source._modules:
            yield from _inside(source._modules["_orig_mod"], outer, seen, has_attention)
            return
        if isinstance(source, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            yield from _inside(source.module, outer, seen, has_attention)
            return
        if hasattr(source, "peft_config") and "base_model" in source._modules:
            yield from _inside(_adapted(source), outer, seen, has_attention)
            return
        if isinstance(source, PreTrainedModel):
            yield replace(outer, hf_model=source)
            return
    tokenizer = _tokenizer_of(source) or outer.tokenizer
    processor = _processor_of(source) or outer.processor
    if _is_called_like_a_model(source) and has_attention(source):
        yield replace(outer, hf_model=source, tokenizer=tokenizer, processor=processor)
        return
    for name, part in _parts(source).items():
        path = f"{outer.path}.{name}" if outer.path else name
        yield from _inside(part, Unwrapped(None, tokenizer, path, processor), seen, has_attention)


def _parts(source: Any) -> Mapping[str, nn.Module]:
    """Return the modules inside a module or another object, by name."""
    if isinstance(source, nn.Module):
        return dict(source.named_children())
    with suppress(*_NOT_THERE):
        # A Trainer has a wrapped copy of its model in addition to the model.
        if isinstance(source.model, nn.Module):
            return {"model": source.model}
    attributes = {} if isinstance(source, type) else getattr(source, "__dict__", {})
    return {name: part for name, part in attributes.items() if isinstance(part, nn.Module)}


def _tokenizer_of(wrapper: Any) -> Any:
    """Return the tokenizer of a wrapper, also from inside a processor; None without one."""
    for name in _TOKENIZERS:
        with suppress(*_NOT_THERE):
            tokenizer = getattr(wrapper, name)
            if not hasattr(tokenizer, "convert_ids_to_tokens"):  # This is a processor.
                tokenizer = tokenizer.tokenizer
            if hasattr(tokenizer, "convert_ids_to_tokens"):
                return tokenizer
    return None


def _processor_of(wrapper: Any) -> Processor | None:
    """Return the processor of a wrapper for pictures or sounds; None without one."""
    for name in _PROCESSORS:
        with suppress(*_NOT_THERE):
            processor = Processor.from_object(getattr(wrapper, name))
            if processor is not None:
                return processor
    return None


def _is_called_like_a_model(source: Any) -> bool:
    """Return whether a module has a transformers configuration and a transformers input name."""
    from transformers import PretrainedConfig

    if not isinstance(source, nn.Module) or not isinstance(
        getattr(source, "config", None), PretrainedConfig
    ):
        return False
    return not _INPUTS.isdisjoint(signature(source.forward).parameters)


def _adapted(model: Any) -> nn.Module:
    """Return the model inside a peft model whose layers have adapters."""
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
