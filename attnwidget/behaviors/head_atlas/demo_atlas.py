"""Atlases of the bundled models."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from attnwidget.behaviors.head_atlas.atlas_file import load_atlas
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.corpus.argument_checks import one_of
from attnwidget.hidden_frames import hides_frames
from attnwidget.model_facts.pickled_model import weights_digest

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_FILES = {"embedded": "atlas.json", "attnwidget/genre": "atlas_genre.json"}


@hides_frames
def demo_atlas(model: str = "embedded") -> Atlas:
    """Load the atlas of a bundled model.

    The atlas was made from the bundled texts, treebank and passages, with ten examples of each kind
    per head. Its numbers have 6 significant digits. `python docs/models/make_atlas.py` makes it
    again.

    Args:
        model: Model name: "embedded", or "attnwidget/genre" for the sibling that was fine-tuned to
            classify genres. The sibling predicts no words, so its atlas has no effects.

    Raises:
        ValueError: If the package has no atlas of this model.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> demo_atlas().find("previous token")[0]
        Head(layer=0, head=2, stack='self')
        >>> demo_atlas("attnwidget/genre").find("previous token")[0]
        Head(layer=0, head=2, stack='self')
    """
    one_of("model", model, tuple(_FILES))
    return replace(_loaded(model), notes={})


def own_atlas(model: AttentionModel) -> Atlas | None:
    """Return the bundled atlas of a model; None for other models or changed weights.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors.head_atlas.demo_atlas import own_atlas
        >>> own_atlas(load_model())
        Atlas(small BERT (in the package), 72 heads, 38 named, 39 behaviors)
        >>> own_atlas(load_model("attnwidget/induction")) is None
        True
    """
    if model.source not in _FILES:
        return None
    bundled = demo_atlas(model.source)
    return bundled if bundled.provenance["weights"] == weights_digest(model.hf_model) else None


@cache
def _loaded(model: str) -> Atlas:
    """Read an atlas once, because every explorer of its model uses it."""
    with as_file(files("attnwidget").joinpath(f"demo/{_FILES[model]}")) as path:
        return load_atlas(path)
