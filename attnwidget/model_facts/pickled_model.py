"""Transfer of models to other processes, with a fingerprint of the weights."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from torch import Tensor, nn

from attnwidget.model_facts.weight_placement import weight_of

# Number of weights to sample from each parameter, enough to distinguish models of the same class.
_SAMPLED = 64
# Number of weights to hash at a time.
_PART = 1 << 22
# Configuration entries that describe the origin of a model and do not affect the computation.
_OF_FILES = ("_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures")
# Configuration entries about the output of a pass; transformers sets the first one with a loss.
_OF_OUTPUTS = (
    "problem_type",
    "use_cache",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
)
# Received models that this process still uses, so that they can be shared.
_received: WeakValueDictionary[bytes, Any] = WeakValueDictionary()


def weights_digest(module: nn.Module, *, whole: bool = False) -> str:
    """Return a fingerprint that distinguishes weights with the same shapes.

    Args:
        module: Model.
        whole: Whether to read all weights; False = read 64 weights per parameter.
    """
    digest = blake2b(digest_size=16)
    parts = dict(module.named_modules())
    for name, _ in module.named_parameters():
        path, _, attribute = name.rpartition(".")
        parameter: Any = weight_of(parts[path], attribute)
        # Include the kind of quantization: only of the weights, or also of their inputs.
        kind = parameter.__tensor_flatten__()[1] if _is_nested(parameter) else ""
        digest.update(f"{name}{kind}".encode())
        for numbers in _stored(parameter.detach()):
            step = 1 if whole else max(1, numbers.numel() // _SAMPLED)
            # Convert in parts, because float64 takes up to eight times the memory of the weights.
            for part in numbers.flatten()[::step].split(_PART):
                sample = part.double().cpu().numpy()
                digest.update(np.ascontiguousarray(sample).tobytes())
    for path, part in parts.items():
        # Layers of peft have this attribute.
        if isinstance(is_disabled := getattr(part, "disable_adapters", None), bool):
            adapter: Any = part
            adapter_state = is_disabled, adapter.active_adapters, getattr(adapter, "scaling", None)
            digest.update(f"{path} {adapter_state}".encode())
        elif type(part).__module__.startswith("torch.ao.nn.quantized"):
            digest.update(path.encode() + repr(part.state_dict()).encode())
    return digest.hexdigest()


def configuration_of(hf_model: Any, without: Sequence[str] = ()) -> str:
    """Return the configuration of a model as JSON, without entries about its files.

    Args:
        hf_model: Hugging Face model.
        without: Names of additional entries to leave out.
    """
    ignored_entries = (*_OF_FILES, *without)
    config = {k: v for k, v in hf_model.config.to_dict().items() if k not in ignored_entries}
    return json.dumps(config, sort_keys=True, default=str)


def configuration_digest(hf_model: Any) -> str:
    """Return a fingerprint of the configuration entries that affect the computation.

    Two models with the same weights may differ in these entries, for example in the base of rotary
    positions.

    Args:
        hf_model: Hugging Face model.
    """
    configuration = configuration_of(hf_model, _OF_OUTPUTS)
    return blake2b(configuration.encode(), digest_size=16).hexdigest()


def _is_nested(parameter: Any) -> bool:
    """Return whether a parameter consists of several tensors, like a quantized parameter."""
    return hasattr(parameter, "__tensor_flatten__")


def _stored(parameter: Any) -> Iterator[Tensor]:
    """Yield the plain tensors of a parameter; a quantized parameter has several."""
    if not _is_nested(parameter):
        yield parameter
        return
    for name in parameter.__tensor_flatten__()[0]:
        yield from _stored(getattr(parameter, name))


class CannotSendError(TypeError):
    """Error for an object that cannot be pickled for another process."""


@dataclass(frozen=True)
class SentModel:
    """An `AttentionModel` for another process.

    Attributes:
        load: Function that loads the model from its name or folder, or contains the pickled model.
        attention: Attention implementation of transformers.
        weights: Fingerprint of the weights.
        configuration: Fingerprint of the configuration.
    """

    load: Callable[[], Any]
    attention: str | None
    weights: str
    configuration: str

    @classmethod
    def from_model(cls, model: Any, load: Callable[[], Any]) -> bytes:
        """Return the pickled form of a model.

        Args:
            model: `AttentionModel` to send.
            load: Function that loads the model in the other process.

        Raises:
            CannotSendError: The model was passed as an object and cannot be pickled.
        """
        hf_model = model.hf_model
        instance = cls(
            load,
            implementation_of(hf_model),
            weights_digest(hf_model),
            configuration_digest(hf_model),
        )
        try:
            return pickle.dumps(instance)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            name = type(hf_model).__name__
            raise CannotSendError(
                f"this {name} cannot be sent to another process, since it does not pickle "
                f"({error}): save it with its tokenizer, save_pretrained(folder), and pass the "
                "path, load_model(folder)"
            ) from error

    def loaded(self) -> Any:
        """Load the model in this process.

        Raises:
            ValueError: The model with this name or folder has different weights or another
                configuration here.
            OSError: There is no model with this name or folder.
        """
        model = self.load()
        if self.attention != implementation_of(model.hf_model):
            model.hf_model.set_attn_implementation(self.attention)
        is_equal = {
            "weights": weights_digest(model.hf_model) == self.weights,
            "configuration": configuration_digest(model.hf_model) == self.configuration,
        }
        if differing := [name for name, is_same in is_equal.items() if not is_same]:
            raise ValueError(
                f"{model.made_by} gives other {' and '.join(differing)} in the worker than the "
                "model has that was passed: it was changed since it was loaded, or the files "
                "differ; save it as it is, save_pretrained(folder), and pass the path, "
                "load_model(folder)"
            )
        return model


def implementation_of(hf_model: Any) -> str | None:
    """Return the attention implementation of transformers, such as "sdpa".

    Args:
        hf_model: Hugging Face model.
    """
    return getattr(hf_model.config, "_attn_implementation", None)


def received_model(sent: bytes) -> Any:
    """Return the model from `SentModel.from_model`; the same object while it is in use.

    Args:
        sent: Result of `SentModel.from_model`.

    Raises:
        ValueError, OSError: See `SentModel.loaded`.
    """
    key = blake2b(sent).digest()
    model = _received.get(key)
    if model is None:
        model = _received[key] = pickle.loads(sent).loaded()
    return model
