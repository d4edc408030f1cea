"""The names of heads in an atlas, and whether an atlas is about the heads of a model."""

from __future__ import annotations

from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.widgets.shared.head_widget import StackShapes

#: The stack whose heads an atlas describes.
STACK = "self"


def refuse_atlas_of_other_heads(
    atlas: object, model: AttentionModel | None, shapes: StackShapes
) -> None:
    """Check that an atlas is about the heads of a model; without a model, their numbers count.

    Raises:
        TypeError: `atlas` is not an atlas.
        ValueError: The numbers of layers and heads differ between atlas and model, or the weights
            differ.
    """
    if not isinstance(atlas, Atlas):
        raise TypeError(
            f"atlas= takes an Atlas, or False for none, got {type(atlas).__name__}. Make one with "
            "atlas(model), or read one with load_atlas(path)"
        )
    n_layers, n_heads = atlas.names.shape
    if shapes.get(STACK) != (n_layers, n_heads):
        there = ", ".join(f"{name} {layers}×{heads}" for name, (layers, heads) in shapes.items())
        raise ValueError(
            f"the atlas of {atlas.model_name} has {n_layers}×{n_heads} heads, and the model has "
            f"{there}: pass the atlas of this model"
        )
    if model is not None and atlas.provenance.get("weights") != weights_digest(model.hf_model):
        raise ValueError(
            f"the atlas of {atlas.model_name} was made with other weights than {model.name} has: "
            "call atlas(model), or pass the names as labels={(layer, head): name, ...}"
        )


def names_in(atlas: Atlas) -> dict[Head, str]:
    """Return the names of the named heads of an atlas, by head."""
    n_layers, n_heads = atlas.names.shape
    return {
        Head(layer, head): str(atlas.names[layer, head])
        for layer in range(n_layers)
        for head in range(n_heads)
        if atlas.names[layer, head]
    }
