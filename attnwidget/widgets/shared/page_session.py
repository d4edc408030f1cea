"""Page sessions of hosts in which widgets belong to a page: Shiny and Panel's Bokeh server.

Such a host opens a widget in the session of a page. Only code that the host calls for this page has
access to the session. Other threads can neither open a widget nor send its messages.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


class PageSession(ABC):
    """Page session, which must be created in its own thread."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    @property
    def is_here(self) -> bool:
        """True if the calling thread is the thread of the session."""
        return threading.get_ident() == self._thread

    @abstractmethod
    def entered(self) -> AbstractContextManager[object]:
        """Return a context in which the session's thread can open widgets in this session."""

    @abstractmethod
    def soon(self, function: Callable[[], None]) -> None:
        """Ask the host to call `function` in the session. Any thread may call this method."""


class _ShinySession(PageSession):
    def __init__(self, session: Any) -> None:
        super().__init__()
        self._session = session
        self._loop = asyncio.get_running_loop()

    def entered(self) -> AbstractContextManager[object]:
        from shiny.session import session_context

        context: AbstractContextManager[object] = session_context(self._session)
        return context

    def soon(self, function: Callable[[], None]) -> None:
        asyncio.run_coroutine_threadsafe(self._call(function), self._loop)

    async def _call(self, function: Callable[[], None]) -> None:
        from shiny import reactive

        async with reactive.lock():
            function()
            # Flush, because Shiny sends widget messages only then.
            with self.entered():
                await reactive.flush()


class _BokehSession(PageSession):
    def __init__(self, document: Any) -> None:
        super().__init__()
        self._document = document

    def entered(self) -> AbstractContextManager[object]:
        from bokeh.io.doc import patch_curdoc

        context: AbstractContextManager[object] = patch_curdoc(self._document)
        return context

    def soon(self, function: Callable[[], None]) -> None:
        self._document.add_next_tick_callback(function)


def current_session() -> PageSession | None:
    """Return the session whose code is running; None in a host without sessions."""
    shiny = sys.modules.get("shiny.session")
    if shiny is not None:
        session = shiny.get_current_session()
        if session is not None and not session.is_stub_session():
            return _ShinySession(session.root_scope())
    bokeh = sys.modules.get("bokeh.io")
    if bokeh is not None:
        document = bokeh.curdoc()
        if document.session_context is not None:
            return _BokehSession(document)
    return None
