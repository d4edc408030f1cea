"""What an atlas says about a head, in the sentence of the explorer and as labels."""

from __future__ import annotations

from attnwidget.capture.tapping.head import Head
from attnwidget.head_atlas.cards.atlas_result import Atlas
from attnwidget.head_atlas.cards.head_card import HeadCard
from attnwidget.widgets.explorer.story import printed
from attnwidget.widgets.shared.head_widget import Shapes

#: The stack whose heads an atlas describes.
STACK = "self"


def refuse_other_heads(atlas: object, shapes: Shapes) -> None:
    """Check that an atlas is about the heads of a model.

    Raises:
        TypeError: `atlas` is not an atlas.
        ValueError: The atlas has other numbers of layers and heads than the model.
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


def names_in(atlas: Atlas) -> dict[Head, str]:
    """Return the names of the named heads of an atlas, by head."""
    n_layers, n_heads = atlas.names.shape
    return {
        Head(layer, head): str(atlas.names[layer, head])
        for layer in range(n_layers)
        for head in range(n_heads)
        if atlas.names[layer, head]
    }


def atlas_told(card: HeadCard) -> str:
    """Return what a head does, in words, with the numbers of its name; "" without a name.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> from attnwidget.widgets.explorer.atlas_told import atlas_told
        >>> atlas_told(demo_atlas().card(0, 2))
        'attends to the token before (0.99 against 0.0051 by the tokens beside the predicted \
token; primary cause)'
    """
    named = card.named_by
    if named is None:
        return ""
    outcome = "" if card.effect is None else card.effect.outcome
    said = "null effect" if outcome == "null" else outcome
    numbers = f"{printed(named.score)} against {printed(named.control)} by {named.control_name}"
    return f"{named.description} ({'; '.join(filter(None, [numbers, said]))})"
