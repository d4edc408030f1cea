"""The distances at which a key can stand, for the slider of a LinkView."""

from __future__ import annotations

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.mechanisms.bias_by_offset import offset_bias
from attnwidget.mechanisms.input_positions import positions
from attnwidget.mechanisms.rotations import rotation_of
from attnwidget.mechanisms.score_at_distances import ScoresAtDistances, score_at_distances

# Distances that are shown at least, if positions are rotary or a bias with a slope, and at most.
_LEAST = 64
_MOST = 1024
# Largest number of shown distances if the model has to run for every distance.
_MOST_RUN = 128


def shown_distances(attention: Attention, head: Head, query: int, key: int) -> ScoresAtDistances:
    """Return the score and weight of a key at all distances that the slider offers.

    With rotary positions and ALiBi these go beyond the input. With learned positions the key stays
    within the input, and with relative biases at the distances that the input shows.

    Args:
        attention: Attention of one input.
        head: The head.
        query: Place of the query.
        key: Place of the key.

    Raises:
        ValueError, RuntimeError: As `score_at_distances`.

    Example:
        >>> from attnwidget import Head, load_model
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> shown_distances(attention, Head(0, 3), query=2, key=1).distances
        array([-3, -2, -1,  0,  1,  2])
    """
    named = (head.layer, head.head, query, key)
    if head.stack == "cross":  # the refusal says why
        return score_at_distances(attention, *named, [0], stack=head.stack)
    places = positions(attention, head.stack)
    own = places[query] - places[key]
    if rotation_of(attention, head).why_not:
        low = query - (len(places) - 1)
        high = query
        most = _MOST_RUN
    else:
        high = max(_LEAST, own, len(places) - 1)
        low = -high
        most = _MOST
        bias = offset_bias(attention, head)
        if bias is not None and bias.slope is None:
            low = min(bias.by_distance)
            high = max(bias.by_distance)
    if _is_causal(attention, head):
        low = max(low, 0)
    low = max(low, min(own, 0) - most // 2, own - most + 1)
    high = min(high, low + most - 1)
    return score_at_distances(attention, *named, range(low, high + 1), stack=head.stack)


def _is_causal(attention: Attention, head: Head) -> bool:
    """Whether no query sees a later key, as far as the first query tells."""
    visible = attention.score_parts(head, [0]).visible
    return visible is not None and not bool(visible[0, 1:].any())
