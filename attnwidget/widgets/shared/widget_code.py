"""Python code that creates a widget again."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from attnwidget.capture.maps.python_call import Call, call


class PythonCode(str):
    """Python code that a notebook displays as highlighted code.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> view = HeadView(load_model().attend("The cat sat."), 2, 1)
        >>> print(view.code()._repr_markdown_().splitlines()[0])
        ```python
    """

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        # Text inside the code may contain backticks, so make the fence longer than any of them.
        longest = max(map(len, re.findall("`+", self)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}python\n{self}\n{fence}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        for number, line in enumerate(self.splitlines()):
            if number:
                printer.break_()
            printer.text(line)


def code_of(
    name: str,
    first: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    also: Mapping[str, Call] | None = None,
    after: Collection[str] = (),
    called: str = "",
) -> str:
    """Return the code of a notebook cell that creates and shows a widget.

    Args:
        name: Function or class that creates the widget.
        first: Positional arguments by parameter name, as objects or as code that creates them.
        options: Keyword arguments.
        also: Code of further variables that are created before the widget, by name.
        after: Lines after the widget, which refer to it as `called`.
        called: Variable name of the widget; "" = no variable.
    """
    argument_calls = {key: value for key, value in first.items() if isinstance(value, Call)}
    widget_call = call(name, {**first, **{key: Call(key) for key in argument_calls}}, options)
    inputs = {**argument_calls, **(also or {})}
    calls = [*inputs.values(), widget_call]
    imports = sorted({statement for code in calls for statement in code.imports}, key=_as_sorted)
    placeholders = dict.fromkeys(pair for code in calls for pair in code.unsaid)
    lines = [f"from attnwidget import {', '.join(imports)}"]
    if any("dtype=torch." in str(code) for code in inputs.values()):
        lines.insert(0, "import torch\n")
    lines.append("")
    lines += [f"# {value}: put in what {owner} was given" for value, owner in placeholders]
    lines += [f"{key} = {argument_calls}" for key, argument_calls in inputs.items()]
    lines += [f"{called} = {widget_call}", *after, called] if called else [str(widget_call)]
    return "\n".join(lines)


def _as_sorted(name: str) -> tuple[bool, str]:
    """Return a sort key that puts classes before functions, like import sorters."""
    return name[0].islower(), name


def chosen_options(widget: Any, *, always: Collection[str] = ()) -> dict[str, Any]:
    """Return the widget's options whose values differ from their defaults.

    Layer and stack are left out if a head is selected, because the head includes them.

    Args:
        widget: Figure with options.
        always: Options that are returned even if they have their default values.
    """
    traits = widget.traits(option=True)
    # Options that the page does not need to know come last.
    options = {
        name: getattr(widget, name)
        for name in sorted(traits, key=lambda name: not traits[name].metadata.get("sync"))
        if name in always or getattr(widget, name) != traits[name].default(widget)
    }
    if widget.selected or "selected" in always:
        options.pop("selected", None)
        options = {"selected": _heads(widget), **options}
    if "labels" in options:
        options["labels"] = widget.labels.short()
    if widget.head:
        implied_options = widget.trait_names(follows_selection=True)
        options = {name: value for name, value in options.items() if name not in implied_options}
    return options


def _heads(widget: Any) -> list[tuple[Any, ...]]:
    """Return the selected heads, with their stack if the model has several stacks."""
    has_stacks = len(widget.shapes()) > 1
    return [tuple(head) if has_stacks else tuple(head[:2]) for head in widget.selected]
