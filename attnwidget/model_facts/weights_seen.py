"""Check for weight changes since a model was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.model_facts.all_modules import all_parameters

_PLAIN = (nn.Parameter, Tensor)


class WeightsSeen:
    """State of a model's weights, without a copy of the weights.

    The state has the device, type, memory address and version counter of each parameter. It also
    has the middle element, because the version counter ignores writes through `.data`. Weights with
    special types, such as quantized weights, move during a pass, so only their device and type are
    compared.

    Args:
        hf_model: Model, or a module of a model.

    Example:
        >>> import torch
        >>> from attnwidget.model_facts.weights_seen import WeightsSeen
        >>> model = torch.nn.Linear(2, 2)
        >>> seen = WeightsSeen(model)
        >>> seen.refuse_changed(model)
        >>> model.weight.data.add_(1)[0, 0] > 0
        tensor(True)
        >>> seen.refuse_changed(model)
        Traceback (most recent call last):
        RuntimeError: Linear was trained, or its weights were changed otherwise, since this was \
read: read it again, attend(text)
    """

    def __init__(self, hf_model: nn.Module) -> None:
        parameters = all_parameters(hf_model)
        self._places = _places(parameters)
        self._numbers = _numbers(parameters)

    def changed(self, hf_model: nn.Module) -> bool:
        """Return whether the weights have changed.

        Args:
            hf_model: The same model.
        """
        parameters = all_parameters(hf_model)
        return _places(parameters) != self._places or _numbers(parameters) != self._numbers

    def refuse_changed(
        self, hf_model: nn.Module, again: str = "this was read: read it again, attend(text)"
    ) -> None:
        """Raise an error if weights have changed.

        Args:
            hf_model: The same model.
            again: End of the message, with the time of the read and the next step.

        Raises:
            RuntimeError: The weights were moved, converted, trained or changed otherwise.
        """
        if not self.changed(hf_model):
            return
        states = _places(all_parameters(hf_model))
        change = "was trained, or its weights were changed otherwise,"
        for before, after in zip(self._places, states, strict=False):
            if before[:2] != after[:2]:
                change = f"was moved or converted, from {_form(before)} to {_form(after)},"
                break
        raise RuntimeError(f"{type(hf_model).__name__} {change} since {again}")


def _places(parameters: Sequence[Tensor]) -> list[tuple[Any, ...]]:
    """Return device, type, address and version of each parameter."""
    return [
        (
            parameter.device,
            parameter.dtype,
            parameter.data_ptr(),
            0 if parameter.is_inference() else parameter._version,
        )
        if _is_plain(parameter)
        else (parameter.device, parameter.dtype)
        for parameter in parameters
    ]


@torch.no_grad()
def _numbers(parameters: Sequence[Tensor]) -> list[bytes]:
    """Return the middle element of each parameter as bytes, so that NaN equals NaN."""
    by_kind: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for parameter in parameters:
        if _is_plain(parameter) and parameter.numel():
            if parameter.is_contiguous():
                middle = parameter.as_strided(
                    (), (), parameter.storage_offset() + parameter.numel() // 2
                )
            else:
                middle = parameter[tuple(size // 2 for size in parameter.shape)]
            by_kind.setdefault((parameter.device, parameter.dtype), []).append(middle)
    return [torch.stack(numbers).double().cpu().numpy().tobytes() for numbers in by_kind.values()]


def _is_plain(parameter: Tensor) -> bool:
    return type(parameter) in _PLAIN and not parameter.is_meta


def _form(place: tuple[Any, ...]) -> str:
    """Return type and device of a parameter for messages."""
    return f"{str(place[1]).removeprefix('torch.')} on {place[0]}"
