"""The Python that makes a widget again."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from attnwidget.capture.maps.python_call import Call, call


class PythonCode(str):
    """Python code, which a notebook shows as code and not as one line of text.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> view = HeadView(load_model().attend("The cat sat."), 2, 1)
        >>> print(view.code()._repr_markdown_().splitlines()[0])
        ```python
    """

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        # A text within the code can have a fence of its own.
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
    """A cell of Python that shows a widget: imports, what is made first, then the widget.

    Args:
        name: what is called for the widget.
        first: Arguments by position, under the names of their parameters: either code that creates
            them, or the objects.
        options: Arguments by keyword.
        also: what else is made first, by name.
        after: lines that follow, about the widget as `called`, which is shown last.
        called: the name that the widget has there.
    """
    made = {key: value for key, value in first.items() if isinstance(value, Call)}
    shown = call(name, {**first, **{key: Call(key) for key in made}}, options)
    inputs = {**made, **(also or {})}
    calls = [*inputs.values(), shown]
    imports = sorted({statement for each in calls for statement in each.imports}, key=_as_sorted)
    unsaid = dict.fromkeys(pair for each in calls for pair in each.unsaid)
    lines = [f"from attnwidget import {', '.join(imports)}"]
    if any("dtype=torch." in str(each) for each in inputs.values()):
        lines.insert(0, "import torch\n")
    lines.append("")
    lines += [f"# {value}: put in what {owner} was given" for value, owner in unsaid]
    lines += [f"{key} = {made}" for key, made in inputs.items()]
    lines += [f"{called} = {shown}", *after, called] if called else [str(shown)]
    return "\n".join(lines)


def _as_sorted(name: str) -> tuple[bool, str]:
    """Classes before functions, as import sorters have them."""
    return name[0].islower(), name


def chosen_options(widget: Any, *, always: Collection[str] = ()) -> dict[str, Any]:
    """Return the widget's options whose values differ from the default, and the `always` options.

    A head that is selected says its layer and its stack too.
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
        follow = widget.trait_names(follows_selection=True)
        options = {name: value for name, value in options.items() if name not in follow}
    return options


def _heads(widget: Any) -> list[tuple[Any, ...]]:
    """The selected heads, with their stack where a model has several."""
    several = len(widget.shapes()) > 1
    return [tuple(head) if several else tuple(head[:2]) for head in widget.selected]
