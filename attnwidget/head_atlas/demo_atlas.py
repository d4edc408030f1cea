"""The atlas that comes with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

from attnwidget.head_atlas.cards.atlas_file import load_atlas
from attnwidget.head_atlas.cards.atlas_result import Atlas


def demo_atlas() -> Atlas:
    """Load the atlas of the embedded model.

    The atlas was made from the texts and the treebank of the package, with ten examples of each
    kind per head. Its numbers have 6 significant digits. `python -m attnwidget.demo.make_atlas`
    makes it again.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> demo_atlas().find("previous token")[0]
        Head(layer=0, head=2, stack='self')
    """
    with as_file(files("attnwidget").joinpath("demo/atlas.json")) as path:
        return load_atlas(path)
