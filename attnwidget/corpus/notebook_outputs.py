"""Detection of the notebook cell output that displays an object."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any


def in_notebook() -> bool:
    """Return whether IPython runs in a notebook, where a cell may have several outputs.

    Example:
        >>> from attnwidget.corpus.notebook_outputs import in_notebook
        >>> in_notebook()
        False
    """
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell is not None and type(shell.display_pub) is not DisplayPublisher


@dataclass(frozen=True)
class Output:
    """An output that IPython is about to publish.

    Attributes:
        name: The `display_id`, with which a later update replaces the output; "" = no name.
        is_update: Whether the output replaces the output with this name.
        has_all_formats: Whether the output has all formats, because the cell did not select any.
    """

    name: str = ""
    is_update: bool = False
    has_all_formats: bool = True


def output_of(displayed: object) -> Output | None:
    """Return the notebook output for which IPython requests the representation of an object.

    IPython requests the representation of an object before it publishes an output. The
    representation becomes a new output, replaces an earlier output, or goes to another caller of
    the formatter, such as `ipywidgets.Output.append_display_data`. Only the call stack shows which
    of these applies.

    Args:
        displayed: Object whose representation IPython requests.

    Returns:
        The output; None if the representation goes to another caller, or outside notebooks.

    Example:
        >>> from attnwidget.corpus.notebook_outputs import output_of
        >>> output_of("no cell displays this text") is None
        True
    """
    if not in_notebook():
        return None
    from IPython.core.displayhook import DisplayHook
    from IPython.display import display

    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is DisplayHook.__call__.__code__:
            return Output() if frame.f_locals["result"] is displayed else None
        if frame.f_code is display.__code__:
            return _output_of_call(frame.f_locals, displayed)
        frame = frame.f_back
    return None


def _output_of_call(arguments: Mapping[str, Any], displayed: object) -> Output | None:
    """Return the output that a call of IPython's `display` is about to publish."""
    if arguments["obj"] is not displayed:
        return None
    keywords = arguments["kwargs"]
    return Output(
        name=keywords.get("transient", {}).get("display_id", ""),
        is_update=bool(keywords.get("update")),
        has_all_formats=not (arguments["include"] or arguments["exclude"]),
    )
