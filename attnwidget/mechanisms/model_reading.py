"""The input of an attention, which its model can read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.input_reading import Reading


def reading_of(attention: Attention, what: str) -> Reading[Attention]:
    """Return the input of an attention, which its model reads again.

    Args:
        attention: Made by a model that is still there.
        what: What is asked of the model, to begin an error message.

    Raises:
        ValueError: Given weights, or edited heads.
        RuntimeError: The weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> sorted(reading_of(load_model().attend("It sat."), "a score").inputs)
        ['attention_mask', 'input_ids', 'token_type_ids']
    """
    reading = attention.reading
    if reading is None:
        raise ValueError(
            f"{what} is read from a model, and this attention has none (given weights, given "
            "queries and keys, or heads switched off): make one with load_model(...).attend(text), "
            "outside of `disabled`"
        )
    reading.refuse_changed()
    return reading


def whole_reading_of(attention: Attention, what: str) -> Reading[Attention]:
    """Return the input of an attention if it has whole maps and no padding.

    Args:
        attention: As in `reading_of`.
        what: As in `reading_of`.

    Raises:
        ValueError: As `reading_of`; a long input, or padding.
        RuntimeError: As `reading_of`.
    """
    reading = reading_of(attention, what)
    if attention.is_long:
        raise ValueError(
            f"{what} needs whole maps, and this input was read without them: "
            "attend(text, long=False) reads it with whole maps"
        )
    for name, mask in reading.inputs.items():
        if name.endswith("attention_mask") and not bool(mask.bool().all()):
            raise ValueError(
                f"{what} is of inputs without padding; {name} hides tokens: leave the padding out"
            )
    return reading
