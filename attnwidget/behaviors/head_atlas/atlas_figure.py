"""The figure that `Atlas.save` writes as a page.

Figures are in a folder above this folder. `attnwidget/__init__.py` is above both folders, and sets
the figure when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_Figure = Callable[[Any], Any]
_figures = list[_Figure]()


def set_figure(figure: _Figure) -> None:
    """Set the function that returns the figure of an atlas."""
    _figures[:] = [figure]


def figure_of(atlas: Any) -> Any:
    """Return the figure of an atlas."""
    return _figures[0](atlas)
