"""Messages to the page that each thread holds back for itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anywidget


class _HeldNames(threading.local):
    """Names of the changed traits that a thread sends at the end of its block; None outside."""

    names: set[str] | None = None


class ThreadMessages(anywidget.AnyWidget):
    """A widget whose `hold_sync` holds back the messages of the calling thread only.

    ipywidgets keeps one set of names for all threads. A thread could clear the names that another
    thread has just added, and the page would never receive these values.
    """

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. Traits can change before `__init__`."""
        super().setup_instance(*args, **kwargs)
        self._held = _HeldNames()

    @property
    def _holding_sync(self) -> bool:
        return self._held.names is not None

    @property
    def _states_to_send(self) -> set[str]:
        return set() if self._held.names is None else self._held.names

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send the changes of this thread in one message, when the outermost block ends."""
        held = self._held
        if held.names is not None:
            yield
            return
        names: set[str] = set()
        held.names = names
        try:
            yield
        finally:
            held.names = None
            self.send_state(names)
