"""The versions that a report about an error should name."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from attnwidget import __version__

# The libraries that compute, the libraries that draw, and the hosts of widgets.
_PACKAGES = (
    "torch",
    "transformers",
    "numpy",
    "pandas",
    "anywidget",
    "ipywidgets",
    "traitlets",
    "altair",
    "mini-racer",
    "vl-convert-python",
    "jupyterlab",
    "notebook",
    "ipykernel",
    "marimo",
    "voila",
    "panel",
    "solara",
)


def versions() -> dict[str, str]:
    """Return the versions of this package, of Python and of the libraries that it works with.

    Nothing is imported. Libraries that are not installed are left out.

    Example:
        >>> import attnwidget
        >>> found = attnwidget.versions()
        >>> found["attnwidget"] == attnwidget.__version__, "torch" in found
        (True, True)
    """
    found = {
        "attnwidget": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
