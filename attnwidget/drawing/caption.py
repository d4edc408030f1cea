"""What a figure shows, in words: under a picture, in a file's metadata, and read aloud."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caption:
    """The caption of a figure: the model, the head, the way of drawing, and all omissions.

    Args:
        figure: Kind of the figure, for example "One attention head".
        model: the model's name.
        head: the head or heads shown, "L7 H9 (8-10)".
        quantity: what the numbers are, "attention weights between tokens".
        scale: how numbers became colors or lengths, "square-root color scale, 0 to 0.81".
        notes: One remark per omission or change: hidden, merged, renormalized, filtered, cut or
            rounded values.

    Raises:
        ValueError: `figure` is empty.

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
        """What it says by name; what is empty is left out, notes are joined by "; "."""
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
