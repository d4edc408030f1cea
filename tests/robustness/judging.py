"""What an error says, and whose it is."""

from __future__ import annotations

import traceback
from pathlib import Path


def raised_by_the_package(error: BaseException) -> bool:
    """Whether an error was raised by a line of the package, and not from within another one."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "/attnwidget/" in frame.filename and (frame.line or "").startswith("raise ")


def said_in(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except Exception:  # some errors of nltk cannot be printed
        return ""


def where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/attnwidget/" in frame.filename]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
