"""Captions of figures, for pictures, file metadata and screen readers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caption:
    """Caption of a figure: its model, heads, quantity and scale, and notes about omissions.

    Args:
        figure: Kind of figure, for example "One attention head".
        model: Name of the model.
        head: Head or heads in the figure, for example "L7 H9 (8-10)".
        quantity: Meaning of the numbers, for example "attention weights between tokens".
        scale: Mapping from numbers to colors or lengths, for example "square-root color scale, 0
            to 0.81".
        notes: One note per omission or change: hidden, merged, renormalized, filtered, cut or
            rounded values.

    Raises:
        ValueError: If `figure` is empty.

    Example:
        >>> from attnwidget.drawing.caption import Caption
        >>> Caption("One attention head", model="bert-base-cased", head="L7 H9 (8-10)").text()
        'One attention head · bert-base-cased · L7 H9 (8-10)'
    """

    figure: str
    model: str = ""
    head: str = ""
    quantity: str = ""
    scale: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.figure.strip():
            raise ValueError("a caption says what the figure is: figure= is empty")

    def text(self) -> str:
        """Return the whole caption in one line, its parts joined by " · "."""
        return " · ".join(filter(None, (*self._parts().values(), *self.notes)))

    def to_dict(self) -> dict[str, str]:
        """Return the parts that are not empty, by name; notes are joined by "; "."""
        parts = self._parts() | {"notes": "; ".join(filter(None, self.notes))}
        return {name: part for name, part in parts.items() if part}

    def _parts(self) -> dict[str, str]:
        return {
            "figure": self.figure,
            "model": self.model,
            "head": self.head,
            "quantity": self.quantity,
            "scale": self.scale,
        }
