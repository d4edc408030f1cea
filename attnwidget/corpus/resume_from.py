"""The resume file of a study, set for a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_path: ContextVar[str | Path | None] = ContextVar("attnwidget_resume_file", default=None)


@contextmanager
def resume_from(path: str | Path | None) -> Iterator[None]:
    """Let the study in the block keep its finished work in a file, and continue from it.

    The work is written every few seconds. A repeated call with the same arguments continues from
    there, and its result is the same to the last bit. Studies that usually take minutes, such as
    `measure`, take the file as `resume=` as well. Other threads are not affected.

    Args:
        path: An .npz file, which may not exist yet. `atlas` and `measure_behaviors` take a folder,
            and keep a file of each of their studies there. None = the block has no resume file.

    Raises:
        TypeError: `path` is neither a string nor a path.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import load_model, resume_from
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_features
        >>> path = Path(tempfile.mkdtemp(), "features.npz")
        >>> with resume_from(path):
        ...     found = probe_features(load_model(), demo_treebank()[:20],
        ...         progress=False)
        >>> path.exists()
        True
    """
    if path is not None and not isinstance(path, (str, Path)):
        raise TypeError(
            f"a resume file is {type(path).__name__}: pass the path of an .npz file, for example "
            'resume_from("run.npz")'
        )
    token = _path.set(path)
    try:
        yield
    finally:
        _path.reset(token)


def resume_path(resume: str | Path | None = None) -> str | Path | None:
    """Return the resume file of a study: its own argument, or the file of the block around it."""
    return _path.get() if resume is None else resume
