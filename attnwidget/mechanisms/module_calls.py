"""Arguments and outputs of the modules of a model in one forward pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from attnwidget.capture.tapping.hooked import hooked

# Keyword of a module's input if it is not a positional argument.
_INPUT = "hidden_states"


@dataclass(frozen=True, eq=False)
class ModuleCall:
    """Call of a module.

    Attributes:
        args: Positional arguments.
        kwargs: Keyword arguments.
        output: Output of the module.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    output: Any

    @property
    def input(self) -> Tensor | None:
        """Input vectors of the module; None if they are not a tensor."""
        value = self.args[0] if self.args else self.kwargs.get(_INPUT)
        return value if isinstance(value, Tensor) else None

    def repeat(self, module: nn.Module, vectors: Tensor) -> Any:
        """Call a module again, with other vectors as its input."""
        if self.args:
            return module(vectors, *self.args[1:], **self.kwargs)
        return module(**{**self.kwargs, _INPUT: vectors})


@contextmanager
def recorded_calls(modules: Iterable[nn.Module]) -> Iterator[dict[nn.Module, ModuleCall]]:
    """Record the latest call of each module by this thread in the block.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.module_calls import recorded_calls
        >>> module = torch.nn.Linear(2, 3)
        >>> with recorded_calls([module]) as calls:
        ...     _ = module(torch.ones(1, 2))
        >>> calls[module].input.shape
        torch.Size([1, 2])
    """
    calls: dict[nn.Module, ModuleCall] = {}

    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        calls[module] = ModuleCall(args, kwargs, output)

    with hooked(modules, after=keep):
        yield calls


@contextmanager
def without_output(module: nn.Module) -> Iterator[None]:
    """Replace the output of a module by zeros in the block, in this thread."""

    def zeros(_: nn.Module, __: object, ___: object, output: Any) -> Any:
        if isinstance(output, Tensor):
            return output.new_zeros(output.shape)
        return (output[0].new_zeros(output[0].shape), *output[1:])

    with hooked([module], after=zeros):
        yield


def first_argument(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
    """Return the first tensor among the arguments of a module.

    Raises:
        StopIteration: If no argument is a tensor.
    """
    return next(value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))


def first_tensor(output: Any) -> Tensor | None:
    """Return the first tensor of a module's output; None if the output starts otherwise."""
    first = output[0] if isinstance(output, (tuple, list)) and output else output
    return first if isinstance(first, Tensor) else None


def same_tensor(one: Tensor | None, other: Tensor | None) -> bool:
    """Return whether two tensors share their memory and their shape."""
    if one is None or other is None:
        return False
    return one.data_ptr() == other.data_ptr() and one.shape == other.shape
