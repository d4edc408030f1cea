"""See and measure what every attention head of a Transformer looks at, live in the notebook."""

from __future__ import annotations

import ast
import sys
from importlib import import_module

from attnwidget.behaviours.atlas.atlas_figure import set_figure as _set_figure_of_atlas

__version__ = "0.1.0"


def _read_stub() -> dict[str, str]:
    """The module of each public name, and "" for public modules."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi")
    imports = [line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom)]
    return {alias.name: line.module or "" for line in imports for alias in line.names}


# Loaded on first use (PEP 562): `import attnwidget` must not cost the seconds that torch takes.
_HOMES = _read_stub()
_UNLISTED = ("metrics", "results")
__all__ = sorted(["__version__", *(name for name, home in _HOMES.items() if home not in _UNLISTED)])


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnwidget' has no attribute {name!r}")
    try:
        module = import_module(f".{_HOMES[name] or name}", __name__)
    except AttributeError as error:
        # Python would take this for a missing name, and hide the cause.
        hint = (
            "; run Python without -OO, which removes docstrings" if sys.flags.optimize > 1 else ""
        )
        raise ImportError(f"attnwidget.{name} cannot be loaded: {error}{hint}") from error
    value = getattr(module, name) if _HOMES[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


# The folder of atlases imports no figure, so `Atlas.save` gets the figure of a page from here.
_set_figure_of_atlas(lambda atlas: __getattr__("AtlasView")(atlas))
