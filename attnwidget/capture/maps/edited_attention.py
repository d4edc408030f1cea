"""Errors about attention with edits, for questions to the unchanged model."""

from __future__ import annotations

from typing import Protocol

from attnwidget.inputs.advised_error import AdvisedError


class Edited(Protocol):
    """Attention that knows the attention before its edits."""

    @property
    def intact(self) -> object:
        """Attention before the edits; the attention itself without edits."""

    @property
    def model_name(self) -> str:
        """Name of the model, with the edits."""


def refuse_edited(attention: Edited, what: str) -> None:
    """Raise an error if heads of an attention are off, or its links are scaled.

    Args:
        attention: Attention.
        what: Quantity that needs the unchanged model, to begin the message.

    Raises:
        ValueError: The attention has edits.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.edited_attention import refuse_edited
        >>> edited = load_model(device="cpu").attend("It sat.").disabled("L0 H2")
        >>> try:
        ...     refuse_edited(edited, "a factor")
        ... except ValueError as error:
        ...     print(str(error)[:77])
        a factor is known for the unchanged model only, and this attention is of smal
    """
    if attention.intact is not attention:
        raise AdvisedError(
            f"{what} is known for the unchanged model only, and this attention is of "
            f"{attention.model_name}",
            "pass attention.intact",
        )
