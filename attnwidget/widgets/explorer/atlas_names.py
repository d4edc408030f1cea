"""Head names in an atlas, and a check that an atlas describes a model's heads."""

from __future__ import annotations

from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.widgets.shared.head_widget import StackShapes

#: Stack whose heads an atlas describes.
STACK = "self"


def refuse_atlas_of_other_heads(
    atlas: object, model: AttentionModel | None, shapes: StackShapes
) -> None:
    """Raise an error if an atlas does not describe the heads of an explorer.

    Args:
        atlas: Value that the user passed.
        model: Model of the explorer; None = compare only the numbers of layers and heads.
        shapes: Numbers of layers and heads of the explorer.

    Raises:
        TypeError: If `atlas` is not an atlas.
        ValueError: If the numbers of layers and heads, or the weights, differ.
    """
    if not isinstance(atlas, Atlas):
        raise TypeError(
            f"atlas= takes an Atlas, or False for none, got {type(atlas).__name__}. Make one with "
            "atlas(model), or read one with load_atlas(path)"
        )
    n_layers, n_heads = atlas.names.shape
    if shapes.get(STACK) != (n_layers, n_heads):
        shapes_text = ", ".join(
            f"{name} {layers}×{heads}" for name, (layers, heads) in shapes.items()
        )
        raise ValueError(
            f"the atlas of {atlas.model_name} has {n_layers}×{n_heads} heads, and the model has "
            f"{shapes_text}: pass the atlas of this model"
        )
    if model is not None and atlas.provenance.get("weights") != weights_digest(model.hf_model):
        raise ValueError(
            f"the atlas of {atlas.model_name} was made with other weights than {model.name} has: "
            "call atlas(model), or pass the names as labels={(layer, head): name, ...}"
        )


def names_in(atlas: Atlas) -> dict[Head, str]:
    """Return the names in an atlas by head, without heads that have no name."""
    return atlas.names_by_head
