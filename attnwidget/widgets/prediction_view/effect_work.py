"""Estimated computing time for the effects of heads."""

from __future__ import annotations

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading

#: Maximum duration of work that starts without a request, in seconds.
MOST_SECONDS = 10
#: Assumed work per second of two cores and a GPU, in weights times tokens. The speed is not
#: measured, so that the decision is the same each time.
_SPEED = 30_000_000_000
_SPEED_OF_A_GPU = 3_000_000_000_000
#: Number of weights that take as long as one map cell.
_WEIGHTS_PER_CELL = 32
#: Cost of an estimate in passes, for a forward and a backward pass.
ESTIMATE = 3.0
# Number of passes that check whether layers can be skipped.
_CHECKS = 6


def pass_work(attention: Attention, reading: Reading[Attention]) -> int:
    """Return the work of a forward pass, in weights times tokens.

    Args:
        attention: Attention of the input.
        reading: Input with its model.

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
    """Return the number of complete passes for the exact effects in a stack.

    A pass without a head starts at the layer of the head, so it is half a pass on average.

    Args:
        attention: Attention of the input.
        stack: Stack name.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.prediction_view.effect_work import passes_of_exact_effects
        >>> passes_of_exact_effects(load_model().attend("The cat sat."), "self")
        42.0
    """
    axes = attention.stacks[stack]
    return _CHECKS + len(axes.layers.numbers) * axes.n_heads / 2


def speed(reading: Reading[Attention]) -> int:
    """Return the assumed speed of a model's device, in weights times tokens per second."""
    device = next(reading.model.hf_model.parameters()).device
    return _SPEED if device.type == "cpu" else _SPEED_OF_A_GPU
