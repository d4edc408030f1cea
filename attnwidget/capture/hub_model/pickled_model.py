"""A model on its way to another process: how to load it there, and a fingerprint of its weights."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from torch import Tensor, nn

from attnwidget.capture.hub_model.weight_placement import weight_of

# Weights from each parameter, to distinguish a model from others of the same class.
_SAMPLED = 64
# The models that this process received and still uses, so that each is loaded once.
_received: WeakValueDictionary[bytes, Any] = WeakValueDictionary()


def weights_digest(module: nn.Module) -> str:
    """A fingerprint that distinguishes a model's weights from other weights of the same shapes."""
    digest = blake2b(digest_size=16)
    for name, _ in module.named_parameters():
        path, _, attribute = name.rpartition(".")
        parameter: Any = weight_of(module.get_submodule(path), attribute)
        # How it is quantised: by its weights alone, or with what they multiply.
        kind = parameter.__tensor_flatten__()[1] if _is_nested(parameter) else ""
        digest.update(f"{name}{kind}".encode())
        for numbers in _stored(parameter.detach()):
            step = max(1, numbers.numel() // _SAMPLED)
            sample = numbers.flatten()[::step].double().cpu().numpy()
            digest.update(np.ascontiguousarray(sample).tobytes())
    for path, part in module.named_modules():
        if isinstance(off := getattr(part, "disable_adapters", None), bool):  # a layer of peft
            adapter: Any = part
            chosen = off, adapter.active_adapters, getattr(adapter, "scaling", None)
            digest.update(f"{path} {chosen}".encode())
        elif type(part).__module__.startswith("torch.ao.nn.quantized"):
            digest.update(path.encode() + repr(part.state_dict()).encode())
    return digest.hexdigest()


def _is_nested(parameter: Any) -> bool:
    return hasattr(parameter, "__tensor_flatten__")


def _stored(parameter: Any) -> Iterator[Tensor]:
    """The plain tensors that a parameter is kept in: a quantised one has several."""
    if not _is_nested(parameter):
        yield parameter
        return
    for name in parameter.__tensor_flatten__()[0]:
        yield from _stored(getattr(parameter, name))


class CannotSendError(TypeError):
    """Something that another process needs cannot be pickled."""


@dataclass(frozen=True)
class SentModel:
    """How another process comes by an `AttentionModel`.

    Attributes:
        load: makes the model: by its name or folder, or with the pickled model in it.
        attention: the implementation of attention that transformers runs.
        weights: A fingerprint of the weights.
    """

    load: Callable[[], Any]
    attention: str | None
    weights: str

    @classmethod
    def of(cls, model: Any, load: Callable[[], Any]) -> bytes:
        """The model as bytes.

        Raises:
            CannotSendError: a model that was passed as an object and does not pickle.
        """
        hf_model = model.hf_model
        sent = cls(load, attention_of(hf_model), weights_digest(hf_model))
        try:
            return pickle.dumps(sent)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            name = type(hf_model).__name__
            raise CannotSendError(
                f"this {name} cannot be sent to another process, since it does not pickle "
                f"({error}): save it with its tokenizer, save_pretrained(folder), and pass the "
                "path, load_model(folder)"
            ) from error

    def loaded(self) -> Any:
        """The model, loaded in this process.

        Raises:
            ValueError: if the model with this name or folder has other weights here.
            OSError: nothing is found there.
        """
        model = self.load()
        if self.attention != attention_of(model.hf_model):
            model.hf_model.set_attn_implementation(self.attention)
        if weights_digest(model.hf_model) != self.weights:
            raise ValueError(
                f"{model.made_by} gives other weights in the worker than the model has that was "
                "passed: it was changed since it was loaded, or the files differ; save it as it "
                "is, save_pretrained(folder), and pass the path, load_model(folder)"
            )
        return model


def attention_of(hf_model: Any) -> str | None:
    """The implementation of attention that transformers runs, such as "sdpa"."""
    return getattr(hf_model.config, "_attn_implementation", None)


def received_model(sent: bytes) -> Any:
    """The model of `SentModel.of`, the same object each time as long as somebody uses it.

    Raises:
        ValueError, OSError: as `SentModel.loaded`.
    """
    key = blake2b(sent).digest()
    model = _received.get(key)
    if model is None:
        model = _received[key] = pickle.loads(sent).loaded()
    return model
