"""The traits that linked widgets have in common, and what one takes of another's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnwidget.capture.head import named_head

#: Traits under the same name in every widget; `link` joins these.
SHARED = (
    *("selected", "layer", "tokens", "hidden", "quantity", "unit", "scale", "token_size"),
    *("relation", "direction", "disabled", "method"),
)


def fitting(
    name: str,
    value: Any,
    shapes: Mapping[str, tuple[int, int]],
    relations: Sequence[str] | None = None,
) -> Any:
    """What a figure takes of the value that a linked figure has of a trait.

    A head that the figure lacks is left out, a layer below its last one is its last one, and for a
    relation that it has no word of it shows its first, which is all. Other values stay.

    Args:
        name: of the trait.
        value: what the linked figure has.
        shapes: layers and heads of each stack of the figure.
        relations: those of the figure; None for one that shows none.

    Example:
        >>> from attnwidget.widgets.shared.linked_traits import fitting
        >>> shapes = {"encoder": (6, 12)}
        >>> fitting("selected", [(7, 0, "encoder"), (2, 4, "encoder"), (2, 4, "cross")], shapes)
        [(2, 4, 'encoder')]
        >>> fitting("layer", 7, shapes), fitting("relation", "obj", shapes, ["all", "det"])
        (5, 'all')
    """
    if name in ("selected", "disabled"):
        return [head for head in value if is_among(head, shapes)]
    if name == "layer":
        return min(value, max(layers for layers, _ in shapes.values()) - 1)
    if name == "relation" and relations is not None and value not in relations:
        return relations[0]
    return value


def is_among(head: Sequence[Any], shapes: Mapping[str, tuple[int, int]]) -> bool:
    """Whether stacks of (layers, heads) have such a head."""
    try:
        named_head(head, shapes)
    except (ValueError, TypeError):
        return False
    return True
