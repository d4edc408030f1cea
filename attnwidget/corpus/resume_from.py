"""Resume files of studies, which are set for a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from attnwidget.hidden_frames import hides_frames

_path: ContextVar[str | Path | None] = ContextVar("attnwidget_resume_file", default=None)


@hides_frames
@contextmanager
def resume_from(path: str | Path | None) -> Iterator[None]:
    """Store the finished work of the study in the block in a file, and continue from it.

    The file is written every few seconds. A repeated call with the same arguments continues from
    the file, and its result is bit-identical. Studies that usually take minutes, such as `measure`,
    also accept the file as `resume=`. Other threads are not affected.

    Args:
        path: An .npz file, which need not exist yet. For `atlas` and `measure_behaviors`, a folder,
            in which they store a file for each of their studies. None = no resume file.

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
    """Return the resume file of a study: its own argument, or else the file of the block.

    Args:
        resume: Argument of the study; None = the file of the surrounding `resume_from` block.
    """
    return _path.get() if resume is None else resume
