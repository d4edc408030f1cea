"""Python calls as code, for figures and captions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Placeholder for an argument that is written as the name of its parameter.
YOURS: Any = object()
_PLAIN = (bool, int, float, type(None))
#: Line length above which a call has one line per argument.
_LINE = 88


@dataclass(frozen=True)
class Call:
    """A call as Python code, `str(call)`.

    Attributes:
        code: Code of the call.
        imports: Names of this package in the code.
        unsaid: Values that cannot be written as code: name of each value, and the call that
            receives it.
    """

    code: str
    imports: tuple[str, ...] = ()
    unsaid: tuple[tuple[str, str], ...] = ()

    def then(self, other: Call) -> Call:
        """Return the other call as a method call on the result of this call."""
        return Call(f"{self.code}.{other.code}", self.imports, (*self.unsaid, *other.unsaid))

    def __str__(self) -> str:
        return self.code


def call(name: str, first: Mapping[str, Any], named: Mapping[str, Any] | None = None) -> Call:
    """Return the call of `name` as Python code, without arguments that are None.

    Strings, numbers and lists of these are written as literals, and other objects as their
    parameter's name.

    Args:
        name: Name of the function or method, for example "load_model".
        first: Positional arguments, by the names of their parameters.
        named: Keyword arguments.

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
        code = literal(value)
        if code is None:
            unsaid.append((parameter, name))
            return parameter
        return code

    parts = [said(key, value) for key, value in first.items() if value is not None]
    parts += [f"{k}={said(k, v)}" for k, v in (named or {}).items() if v is not None]
    line = f"{name}({', '.join(parts)})"
    if len(line) > _LINE and parts:
        line = f"{name}(\n" + "".join(f"    {_deeper(part)},\n" for part in parts) + ")"
    return Call(line, tuple(dict.fromkeys(imports)), tuple(dict.fromkeys(unsaid)))


def _deeper(part: str) -> str:
    # Line breaks inside of strings are escaped as \\n, so these line breaks belong to the code.
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
    kind = f"{type(value).__module__}.{type(value).__name__}"
    if isinstance(value, _PLAIN) or kind == "torch.dtype":
        return repr(value)
    if kind == "torch.device":
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
        items = ", ".join(part for part in parts if part is not None)
        if isinstance(value, list):
            return f"[{items}]"
        return f"({items},)" if len(parts) == 1 else f"({items})"
    return None
