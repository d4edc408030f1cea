"""A check whether the weights of a model have changed since a read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.model_facts.all_modules import all_parameters

_PLAIN = (nn.Parameter, Tensor)


class WeightsSeen:
    """The state of a model's weights, without a copy of the weights.

    For each parameter: device, type, memory address, version counter, and the value in its middle,
    because the version counter ignores writes through `.data`. Weights with special types, such as
    quantized weights, move during a pass: only their device and type count.

    Args:
        hf_model: A model, or a module of a model.

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
        """Return whether the weights of the same model have changed."""
        parameters = all_parameters(hf_model)
        return _places(parameters) != self._places or _numbers(parameters) != self._numbers

    def refuse_changed(
        self, hf_model: nn.Module, again: str = "this was read: read it again, attend(text)"
    ) -> None:
        """Raise an error if weights have changed.

        Args:
            hf_model: The same model.
            again: End of the message: the time of the read, and the next step.

        Raises:
            RuntimeError: weights were moved, converted, trained or changed otherwise.
        """
        if not self.changed(hf_model):
            return
        places = _places(all_parameters(hf_model))
        how = "was trained, or its weights were changed otherwise,"
        for before, now in zip(self._places, places, strict=False):
            if before[:2] != now[:2]:
                how = f"was moved or converted, from {_form(before)} to {_form(now)},"
                break
        raise RuntimeError(f"{type(hf_model).__name__} {how} since {again}")


def _places(parameters: Sequence[Tensor]) -> list[tuple[Any, ...]]:
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
    """Return the middle number of every parameter as bytes, because NaN differs from NaN."""
    alike: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for parameter in parameters:
        if _is_plain(parameter) and parameter.numel():
            if parameter.is_contiguous():
                middle = parameter.as_strided(
                    (), (), parameter.storage_offset() + parameter.numel() // 2
                )
            else:
                middle = parameter[tuple(size // 2 for size in parameter.shape)]
            alike.setdefault((parameter.device, parameter.dtype), []).append(middle)
    return [torch.stack(numbers).double().cpu().numpy().tobytes() for numbers in alike.values()]


def _is_plain(parameter: Tensor) -> bool:
    return type(parameter) in _PLAIN and not parameter.is_meta


def _form(place: tuple[Any, ...]) -> str:
    return f"{str(place[1]).removeprefix('torch.')} on {place[0]}"
