"""How much work effects of heads are, and how long they take."""

from __future__ import annotations

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading

#: Seconds of the largest work that begins without being asked for.
MOST_SECONDS = 10
#: Work per second, in weights times tokens, of two cores and of an accelerator. The speed is not
#: measured, so that the same effects begin by themselves each time.
_SPEED = 30_000_000_000
_SPEED_OF_A_GPU = 3_000_000_000_000
#: A cell of a map takes as long as so many weights.
_WEIGHTS_PER_CELL = 32
#: Passes of an estimate: a forward and a backward pass.
ESTIMATE = 3.0
# Passes that check whether layers can be passed by.
_CHECKS = 6


def pass_work(attention: Attention, reading: Reading[Attention]) -> int:
    """Return the work of a pass over an input, in weights times tokens.

    Args:
        attention: The attention to the input.
        reading: The input.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.prediction_view.effect_work import pass_work
        >>> attention = load_model("attnwidget/induction").attend("The cat sat.")
        >>> pass_work(attention, attention.reading) < 100_000_000
        True
    """
    weights = sum(parameter.numel() for parameter in reading.model.hf_model.parameters())
    stacks = attention.stacks.values()
    cells = sum(
        len(stack.layers.numbers) * stack.n_heads * len(stack.query) * len(stack.key)
        for stack in stacks
    )
    tokens = max(len(stack.query) for stack in stacks)
    return weights * tokens + cells * _WEIGHTS_PER_CELL


def passes_of_exact_effects(attention: Attention, stack: str) -> float:
    """Return the number of whole passes that the exact effects of a stack take.

    A pass without a head begins at the layer of the head, so it is half a pass on average.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.prediction_view.effect_work import passes_of_exact_effects
        >>> passes_of_exact_effects(load_model().attend("The cat sat."), "self")
        42.0
    """
    axes = attention.stacks[stack]
    return _CHECKS + len(axes.layers.numbers) * axes.n_heads / 2


def speed(reading: Reading[Attention]) -> int:
    """Return how much work the device of a model does in a second, in weights times tokens."""
    device = next(reading.model.hf_model.parameters()).device
    return _SPEED if device.type == "cpu" else _SPEED_OF_A_GPU
