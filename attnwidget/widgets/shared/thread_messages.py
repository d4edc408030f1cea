"""Messages to the page that each thread holds back separately."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anywidget

from attnwidget.text.thread_flag import ThreadFlag


class _HeldNames(ThreadFlag):
    """Flag that is up while a thread is in a block that holds messages back.

    Attributes:
        names: Names of changed traits, which the thread sends at the end of its block.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()


class ThreadMessages(anywidget.AnyWidget):
    """Widget whose `hold_sync` holds back only the messages of the calling thread.

    ipywidgets has one set of changed names for all threads. A thread could therefore clear names
    that another thread has just added, and the page would never receive these values.
    """

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. Traits can change before `__init__`."""
        super().setup_instance(*args, **kwargs)
        self._held = _HeldNames()

    @property
    def _holding_sync(self) -> bool:
        return self._held.is_up

    @property
    def _states_to_send(self) -> set[str]:
        return self._held.names

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send the changes of this thread in one message when the outermost block ends.

        If Ctrl-C interrupts the message, its changes are sent with the next message.
        """
        flag = self._held
        if flag.is_up:
            yield
            return
        try:
            with flag.raised():
                yield
        finally:
            self.send_state(flag.names)
            flag.names = set()
