"""The atlases that come with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

from attnwidget.head_atlas.cards.atlas_file import load_atlas
from attnwidget.head_atlas.cards.atlas_result import Atlas
from attnwidget.studies.argument_checks import one_of

_FILES = {"embedded": "atlas.json", "attnwidget/genre": "atlas_genre.json"}


def demo_atlas(model: str = "embedded") -> Atlas:
    """Load the atlas of a model that comes with the package.

    The atlas was made from the texts and the treebank of the package, with ten examples of each
    kind per head. Its numbers have 6 significant digits. `python -m attnwidget.demo.make_atlas`
    makes it again.

    Args:
        model: "embedded", or "attnwidget/genre" for the sibling that was fine-tuned to classify
            genres. The sibling predicts no words, so its atlas has no effects.

    Raises:
        ValueError: The package has no atlas of this model.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> demo_atlas().find("previous token")[0]
        Head(layer=0, head=2, stack='self')
        >>> demo_atlas("attnwidget/genre").find("previous token")[0]
        Head(layer=0, head=2, stack='self')
    """
    one_of("model", model, tuple(_FILES))
    with as_file(files("attnwidget").joinpath(f"demo/{_FILES[model]}")) as path:
        return load_atlas(path)
