"""Remarks of results and figures about truncated inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from attnwidget.inputs.cut_segments import watching
from attnwidget.text.counted import counted
from attnwidget.text.segments import Segment

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def cut_to(n_read: int, n_tokens: int) -> str:
    """Return the remark about a truncated input.

    Args:
        n_read: Number of tokens that were read.
        n_tokens: Number of tokens in the full input.

    Example:
        >>> from attnwidget.capture.cut_inputs import cut_to
        >>> cut_to(512, 1204)
        'cut to 512 of 1,204 tokens'
    """
    return f"cut to {n_read:,} of {n_tokens:,} tokens"


def says_cuts(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Add remarks about truncated inputs to the results of a study.

    Every public function that makes results from an attention or from segments has this decorator.
    The remark covers arguments with an attribute `cut`, and the segments that pass through
    `watched_segments`. It becomes `Result.cut` and a part of `Result.note`.
    """

    @wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        with watching() as segments:
            result = function(*args, **kwargs)
        remarks = list(dict.fromkeys(_remarks_of([*args, *kwargs.values()])))
        if segments:
            remarks.append(_remark_about(segments))
        if remarks:
            _add_remark(result, ", ".join(remarks))
        return result

    called.says_cuts = True  # type: ignore[attr-defined]
    return called


def _remark_about(segments: Iterable[Segment]) -> str:
    segments = list(segments)
    n_read = sum(map(len, segments))
    n_tokens = n_read + sum(segment.n_cut for segment in segments)
    return f"{counted(len(segments), 'input')} {cut_to(n_read, n_tokens)}"


def _remarks_of(arguments: Iterable[Any]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, list | tuple):
            yield from _remarks_of(argument)
        else:
            remark = getattr(argument, "cut", "")
            if isinstance(remark, str) and remark:
                yield remark


def _add_remark(result: Any, remark: str) -> None:
    """Add a remark to a result, or to each of several results."""
    from attnwidget.capture.result import Result

    if isinstance(result, Result):
        result.add_cut(remark)
    elif isinstance(result, Mapping):
        _add_remark(list(result.values()), remark)
    elif isinstance(result, list | tuple):
        for part in result:
            _add_remark(part, remark)
