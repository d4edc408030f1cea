"""Adaptation of shared trait values to a linked widget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnwidget.capture.tapping.head import named_head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers


def fitting(
    name: str,
    value: Any,
    shapes: Mapping[str, tuple[int, int]],
    relations: Sequence[str] | None = None,
    layers: Mapping[str, LayerNumbers] | None = None,
) -> Any:
    """Return the part of a linked figure's trait value that fits this figure.

    Heads that the figure lacks are left out. A layer that the figure lacks, or that has no
    attention, becomes the nearest layer. A relation that the figure lacks becomes the first
    relation, "all". Other values do not change.

    Args:
        name: Name of the trait.
        value: Value in the linked figure; labels are a mapping, or pairs as on a page.
        shapes: Numbers of layers and heads in each stack of the figure.
        relations: Relations of the figure; None for a figure without relations.
        layers: Layers with attention of each stack; None = every layer has attention.

    Example:
        >>> from attnwidget.widgets.wire.linked_traits import fitting
        >>> shapes = {"encoder": (6, 12)}
        >>> fitting("selected", [(7, 0, "encoder"), (2, 4, "encoder"), (2, 4, "cross")], shapes)
        [(2, 4, 'encoder')]
        >>> fitting("layer", 7, shapes), fitting("relation", "obj", shapes, ["all", "det"])
        (5, 'all')
    """
    if name in ("selected", "disabled"):
        return [head for head in value if _is_among(head, shapes, layers)]
    if name == "labels":
        if isinstance(value, Mapping):
            return dict(fitting(name, list(value.items()), shapes, layers=layers))
        return [(head, text) for head, text in value if _is_among(head, shapes, layers)]
    if name == "layer":
        last = max(n_layers for n_layers, _ in shapes.values()) - 1
        layer = min(value, last)
        return next(iter(layers.values())).nearest(layer) if layers and len(layers) == 1 else layer
    if name == "relation" and relations is not None and value not in relations:
        return relations[0]
    return value


def _is_among(
    head: Sequence[Any],
    shapes: Mapping[str, tuple[int, int]],
    layers: Mapping[str, LayerNumbers] | None,
) -> bool:
    """Return True if the stacks have such a head."""
    try:
        named_head(head, shapes, layers)
    except (ValueError, TypeError):
        return False
    return True
