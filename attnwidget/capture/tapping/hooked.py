"""Hooks of modules that act only in the thread of their creation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def thread_hook(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook that acts only in this thread, because other threads may use the same model.

    Args:
        hook: A forward hook or forward pre-hook of a module.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from attnwidget.capture.tapping.thread_hooks import thread_hook
        >>> hook = thread_hook(lambda value: value + 1)
        >>> with ThreadPoolExecutor() as other:
        ...     hook(1), other.submit(hook, 1).result()
        (2, None)
    """
    thread = threading.get_ident()

    def call(*args: Any) -> Any:
        return hook(*args) if threading.get_ident() == thread else None

    return call
