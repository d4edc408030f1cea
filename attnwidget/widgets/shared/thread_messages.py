"""Messages to the page that each thread holds back for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anywidget

from attnwidget.text.thread_flag import ThreadFlag


class _HeldNames(ThreadFlag):
    """Whether a thread is in a block that holds messages back.

    Attributes:
        names: Names of the changed traits that the thread sends at the end of its block.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()


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
        return self._held.is_up

    @property
    def _states_to_send(self) -> set[str]:
        return self._held.names

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send the changes of this thread in one message, when the outermost block ends.

        Changes that Ctrl-C has kept from the page are sent with the next message.
        """
        held = self._held
        if held.is_up:
            yield
            return
        try:
            with held.raised():
                yield
        finally:
            self.send_state(held.names)
            held.names = set()
