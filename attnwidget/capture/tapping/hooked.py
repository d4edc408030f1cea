"""Module hooks that act in one thread and end with a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from torch import Tensor, nn

from attnwidget.text.thread_lock import this_thread
from attnwidget.text.undo import undone

#: Receives a module and its positional and keyword arguments; returns new arguments or None.
BeforeForward = Callable[
    [nn.Module, tuple[Any, ...], dict[str, Any]], "tuple[tuple[Any, ...], dict[str, Any]] | None"
]
#: Receives a module, its forward arguments and its output; returns another output or None.
AfterForward = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], Any]


class _ThreadHook:
    """A hook that acts only in the thread that created it.

    Copies of a hooked model, including copies in other processes, have hooks that do nothing.
    """

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self._function = function
        self._thread = this_thread()

    def __call__(self, *arguments: Any) -> Any:
        if self._function is None or this_thread() is not self._thread:
            return None
        return self._function(*arguments)

    def end(self) -> None:
        """Make the hook do nothing from now on."""
        self._function = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None,)


@contextmanager
def hooked(
    modules: Iterable[nn.Module],
    *,
    before: BeforeForward | None = None,
    after: AfterForward | None = None,
    always: bool = False,
) -> Iterator[None]:
    """Call functions before and after the forward of modules in the block.

    Other threads may run the same model at the same time: their passes call no function.

    Args:
        modules: Modules to hook.
        before: Function that receives a module, its positional and its keyword arguments. It may
            return new positional and keyword arguments.
        after: Function that receives a module, its positional arguments, its keyword arguments and
            its output. It may return another output.
        always: Whether `after` is also called, with None as the output, if the forward fails.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> import torch
        >>> from attnwidget.capture.tapping.hooked import hooked
        >>> module = torch.nn.Identity()
        >>> with ThreadPoolExecutor() as other:
        ...     with hooked([module], after=lambda module, args, kwargs, output: output + 1):
        ...         module(1), other.submit(module, 1).result()
        (2, 1)
    """
    enter = _ThreadHook(before)
    leave = _ThreadHook(after)
    hooked_modules = tuple(modules)

    def unhook() -> None:
        # Ctrl-C may arrive between the removal of two hooks. The remaining hooks must do nothing.
        enter.end()
        leave.end()
        for module in hooked_modules:
            _remove(module, enter)
            _remove(module, leave)

    with undone(unhook):
        for module in hooked_modules:
            if before is not None:
                module.register_forward_pre_hook(enter, with_kwargs=True)
            if after is not None:
                module.register_forward_hook(leave, with_kwargs=True, always_call=always)
        yield


def _remove(module: nn.Module, hook: _ThreadHook) -> None:
    """Remove a hook without its handle: Ctrl-C may arrive before torch returns the handle."""
    for hooks, *properties in (
        (module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs),
        (
            module._forward_hooks,
            module._forward_hooks_with_kwargs,
            module._forward_hooks_always_called,
        ),
    ):
        numbers = [number for number, registered in tuple(hooks.items()) if registered is hook]
        for number in numbers:
            # Remove the properties of a hook first, because a repeated call searches for the hook.
            for hook_properties in properties:
                hook_properties.pop(number, None)
            hooks.pop(number, None)


class ReachedError(Exception):
    """Signal that a forward pass has reached the requested states."""


def tensors_before(module: nn.Module, run: Callable[[], object]) -> list[Tensor]:
    """Run a pass up to a module, and return the module's tensors; [] if the module has not run.

    Args:
        module: Module that ends the pass.
        run: Function that runs the pass. It may catch `ReachedError`.

    Example:
        >>> import torch
        >>> from torch import Tensor, nn
        >>> from attnwidget.capture.tapping.hooked import tensors_before
        >>> layers = nn.Sequential(nn.ReLU(), nn.Linear(1, 1))
        >>> tensors_before(layers[1], lambda: layers(torch.tensor([[-2.0]])))
        [tensor([[0.]])]
    """
    tensors: list[Tensor] = []

    def stop(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tensors.extend(value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
        raise ReachedError

    with hooked([module], before=stop), suppress(ReachedError):
        run()
    return tensors
