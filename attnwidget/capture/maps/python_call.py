"""A call as Python writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

#: Stands for an argument that is not written, whatever it is.
YOURS: Any = object()
_PLAIN = (bool, int, float, type(None), torch.dtype)
#: A line of code that is longer has a line for each argument.
_LINE = 88


@dataclass(frozen=True)
class Call:
    """A call as Python writes it, `str(call)`.

    Attributes:
        code: the call.
        imports: the names of this package in it.
        unsaid: Names in the code of values that cannot be written as code, each with the call that
            receives it.
    """

    code: str
    imports: tuple[str, ...] = ()
    unsaid: tuple[tuple[str, str], ...] = ()

    def then(self, other: Call) -> Call:
        """The other call, written as a method of the result of this call."""
        return Call(f"{self.code}.{other.code}", self.imports, (*self.unsaid, *other.unsaid))

    def __str__(self) -> str:
        return self.code


def call(name: str, first: Mapping[str, Any], named: Mapping[str, Any] | None = None) -> Call:
    """Return the call of `name` as Python code; arguments that are None are left out.

    Texts, numbers and lists of them are written, an object as the name of its parameter.

    Args:
        name: as it is called: "load_model", or "attend" of what is called before.
        first: the arguments by position, under the names of their parameters.
        named: the arguments by name.

    Example:
        >>> from attnwidget.capture.maps.python_call import call
        >>> str(call("load_model", {"model": object()}, {"revision": "main", "device": None}))
        'load_model(model, revision="main")'
    """
    unsaid: list[tuple[str, str]] = []
    imports = [name.partition(".")[0]]

    def said(parameter: str, value: Any) -> str:
        if isinstance(value, Call):
            imports.extend(value.imports)
            unsaid.extend(value.unsaid)
            return value.code
        written = literal(value)
        if written is None:
            unsaid.append((parameter, name))
            return parameter
        return written

    parts = [said(key, value) for key, value in first.items() if value is not None]
    parts += [f"{k}={said(k, v)}" for k, v in (named or {}).items() if v is not None]
    line = f"{name}({', '.join(parts)})"
    if len(line) > _LINE and parts:
        line = f"{name}(\n" + "".join(f"    {_deeper(part)},\n" for part in parts) + ")"
    return Call(line, tuple(dict.fromkeys(imports)), tuple(dict.fromkeys(unsaid)))


def _deeper(part: str) -> str:
    # A line break within a text is written as \\n: these are the code's own.
    return part.replace("\n", "\n    ")


def literal(value: Any) -> str | None:
    """Return a value as Python code, or None if the value cannot be written as code.

    Example:
        >>> from attnwidget.capture.maps.python_call import literal
        >>> literal([("query", 7)]), literal(object())
        ('[("query", 7)]', None)
    """
    if isinstance(value, (str, Path)):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, torch.device):
        return json.dumps(str(value))
    if isinstance(value, Mapping):
        pairs = [(literal(key), literal(inner)) for key, inner in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return f"{{{', '.join(f'{key}: {inner}' for key, inner in pairs)}}}"
    if isinstance(value, (list, tuple)):
        parts = [literal(inner) for inner in value]
        if None in parts:
            return None
        inside = ", ".join(part for part in parts if part is not None)
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(parts) == 1 else f"({inside})"
    return None
