"""Widget that `Atlas.save` writes as an HTML page.

The widgets folder imports this folder, so this module cannot import it. `attnwidget/__init__.py`
imports both and sets the widget when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_Figure = Callable[[Any], Any]
_figures = list[_Figure]()


def set_figure(figure: _Figure) -> None:
    """Set the function that creates the widget of an atlas."""
    _figures[:] = [figure]


def figure_of(atlas: Any) -> Any:
    """Return the widget of an atlas."""
    return _figures[0](atlas)
