"""Steps of long work over model layers, which a caller can count and stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attnwidget.text.undo import undone

_step: ContextVar[Callable[[], None] | None] = ContextVar("attnwidget_layer_step", default=None)


@contextmanager
def watched_layers(step: Callable[[], None]) -> Iterator[None]:
    """Call a function after each layer that this thread reads, draws or compares in the block.

    Args:
        step: Function without arguments. If it raises an exception, the work ends there.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.layer_steps import watched_layers
        >>> model, layers = load_model(), []
        >>> with watched_layers(lambda: layers.append(1)):
        ...     attention = model.attend("The cat sat.")
        >>> len(layers)
        6
    """
    previous = _step.get()
    with undone(lambda: _step.set(previous)):
        _step.set(step)
        yield


def layer_done() -> None:
    """Tell the caller of `watched_layers` that the work on a layer has ended."""
    step = _step.get()
    if step is not None:
        step()
