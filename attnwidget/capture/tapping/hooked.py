"""Hooks of modules that act in one thread and end with a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from torch import Tensor, nn

from attnwidget.text.thread_lock import this_thread
from attnwidget.text.undo import undone

#: Gets a module and the positional and further arguments of its forward; returns new ones or None.
BeforeForward = Callable[
    [nn.Module, tuple[Any, ...], dict[str, Any]], "tuple[tuple[Any, ...], dict[str, Any]] | None"
]
#: Gets a module, the arguments of its forward and the output; returns another output or None.
AfterForward = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], Any]


class _ThreadHook:
    """A hook that acts in the thread of its creation alone.

    Copies of a hooked model, also in other processes, have hooks that do nothing.
    """

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self._function = function
        self._thread = this_thread()

    def __call__(self, *arguments: Any) -> Any:
        if self._function is None or this_thread() is not self._thread:
            return None
        return self._function(*arguments)

    def end(self) -> None:
        """Do nothing from now on."""
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

    Other threads may run the same model meanwhile: their passes call no function.

    Args:
        modules: The modules.
        before: Function that is called with a module, its arguments and its named arguments. It
            may return other arguments and named arguments.
        after: Function that is called with a module, its arguments, its named arguments and its
            output. It may return another output.
        always: Whether `after` is also called if the forward fails, with None as the output.

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
        # Ctrl-C may come between two hooks that are removed: the rest must do nothing.
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
    """Remove a hook by itself: Ctrl-C may come before torch returns the handle of a new hook."""
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
            # The properties of a hook go first, because a repeated call finds the hook alone.
            for known in properties:
                known.pop(number, None)
            hooks.pop(number, None)


class ReachedError(Exception):
    """Ends a forward pass that has reached the states that were asked for."""


def tensors_before(module: nn.Module, run: Callable[[], object]) -> list[Tensor]:
    """Run a pass up to a module, and return the module's tensors; [] if the module has not run.

    Args:
        module: The module.
        run: Function that runs the pass. It may catch `ReachedError`.

    Example:
        >>> import torch
        >>> from torch import Tensor, nn
        >>> from attnwidget.capture.tapping.hooked import tensors_before
        >>> layers = nn.Sequential(nn.ReLU(), nn.Linear(1, 1))
        >>> tensors_before(layers[1], lambda: layers(torch.tensor([[-2.0]])))
        [tensor([[0.]])]
    """
    found: list[Tensor] = []

    def stop(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        found.extend(value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
        raise ReachedError

    with hooked([module], before=stop), suppress(ReachedError):
        run()
    return found
