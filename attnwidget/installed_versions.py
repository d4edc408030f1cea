"""Versions of the package and its libraries, for bug reports."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from attnwidget import __version__
from attnwidget.hidden_frames import hides_frames

# Libraries for computation, libraries for drawing, and widget hosts.
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


@hides_frames
def versions() -> dict[str, str]:
    """Return the versions of this package, Python and the libraries that the package uses.

    The function imports none of the libraries and leaves out libraries that are not installed.

    Example:
        >>> import attnwidget
        >>> found = attnwidget.versions()
        >>> found["attnwidget"] == attnwidget.__version__, "torch" in found
        (True, True)
    """
    package_versions = {
        "attnwidget": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for name in _PACKAGES:
        try:
            package_versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return package_versions
