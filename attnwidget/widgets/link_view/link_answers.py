"""Answers of a LinkView about a link, and their data for the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.advised_error import on_page
from attnwidget.mechanisms.bias_by_offset import offset_bias
from attnwidget.mechanisms.explain_link import LinkExplanation, explain_link
from attnwidget.mechanisms.head_writes import HeadWrites, head_writes
from attnwidget.mechanisms.input_positions import positions
from attnwidget.mechanisms.link_factors import LinkFactors, link_factors
from attnwidget.mechanisms.rotations import rotation_of
from attnwidget.mechanisms.score_at_distances import ScoresAtDistances, score_at_distances
from attnwidget.mechanisms.score_sources import ScoreSources, score_sources
from attnwidget.mechanisms.written_vocabulary import WrittenVocabulary, written_vocabulary
from attnwidget.text.factor_text import factor_text
from attnwidget.widgets.link_view.shown_link import ShownLink
from attnwidget.widgets.wire.values import to_wire

# Minimum number of distances for rotary positions or biases with a slope, and maximum number of
# distances.
_LEAST = 64
_MOST = 1024
# Maximum number of distances if the model has to run for every distance.
_MOST_RUN = 128


def shown_distances(attention: Attention, head: Head, query: int, key: int) -> ScoresAtDistances:
    """Return the score and weight of a key at all slider distances.

    With rotary positions and ALiBi, the distances go beyond the input. With learned positions, the
    key stays within the input. With relative biases, the distances are those that occur in the
    input.

    Args:
        attention: Attention of one input.
        head: Head of the link.
        query: Position of the query.
        key: Position of the key.

    Raises:
        ValueError: If `score_at_distances` raises it.
        RuntimeError: If `score_at_distances` raises it.

    Example:
        >>> from attnwidget import Head, load_model
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> shown_distances(attention, Head(0, 3), query=2, key=1).distances
        array([-3, -2, -1,  0,  1,  2])
    """
    link_arguments = (head.layer, head.head, query, key)
    # For a cross stack, this call raises an error with the reason.
    if head.stack == "cross":
        return score_at_distances(attention, *link_arguments, [0], stack=head.stack)
    all_positions = positions(attention, head.stack)
    distance_in_text = all_positions[query] - all_positions[key]
    if rotation_of(attention, head).why_not:
        low = query - (len(all_positions) - 1)
        high = query
        max_distances = _MOST_RUN
    else:
        high = max(_LEAST, distance_in_text, len(all_positions) - 1)
        low = -high
        max_distances = _MOST
        bias = offset_bias(attention, head)
        if bias is not None and bias.slope is None:
            low = min(bias.by_distance)
            high = max(bias.by_distance)
    if _is_causal(attention, head):
        low = max(low, 0)
    low = max(
        low, min(distance_in_text, 0) - max_distances // 2, distance_in_text - max_distances + 1
    )
    high = min(high, low + max_distances - 1)
    return score_at_distances(attention, *link_arguments, range(low, high + 1), stack=head.stack)


def _is_causal(attention: Attention, head: Head) -> bool:
    """Return True if the first query sees no later key."""
    visible = attention.score_parts(head, [0]).visible
    return visible is not None and not bool(visible[0, 1:].any())


# Maximum number of rows in each list of the page, and of rival keys that the page offers.
_ROWS = 10
_SOURCES = 8
_TOKENS = 6
_PROMOTED = 5
_SUPPRESSED = 3
_RIVALS = 40

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class LinkAnswer(Generic[Found]):
    """Answer to a question about a link, or the reason why there is no answer.

    Attributes:
        link: Link that the answer is about.
        found: Result, or None.
        problem: Reason why there is no result; "" if there is a result.
    """

    link: ShownLink
    found: Found | None
    problem: str = ""


def answered(link: ShownLink, compute: Callable[[], Found]) -> LinkAnswer[Found]:
    """Return the answer with a result, or with the reason why the result cannot be computed.

    Args:
        link: Link that the result is about.
        compute: Function that returns the result, or raises TypeError, ValueError or RuntimeError
            with the reason.
    """
    try:
        return LinkAnswer(link, compute())
    except (TypeError, ValueError, RuntimeError) as error:
        return LinkAnswer(link, None, on_page(error))


def explanation(link: ShownLink) -> LinkAnswer[LinkExplanation]:
    """Return the parts of the score difference between the key and the rival key."""
    if link.versus is None:
        problem = "the query sees no other key, so there is no rival to compare this key with"
        return LinkAnswer(link, None, problem)
    layer, head, stack = link.head
    positions = link.query, link.key, link.versus
    return answered(
        link, lambda: explain_link(link.attention, layer, head, *positions, stack=stack)
    )


def factors(link: ShownLink) -> LinkAnswer[LinkFactors]:
    """Return the factors of the weight, against the chosen rival or a typical word."""
    layer, head, stack = link.head
    against = None if link.is_runner_up else link.versus
    return answered(
        link,
        lambda: link_factors(
            link.attention, layer, head, link.query, link.key, against, stack=stack
        ),
    )


def distances(link: ShownLink) -> LinkAnswer[ScoresAtDistances]:
    """Return the score and weight of the key at other distances."""
    positions = link.query, link.key
    return answered(link, lambda: shown_distances(link.attention, link.head, *positions))


def sources(link: ShownLink) -> LinkAnswer[ScoreSources]:
    """Return the score parts by the heads and layers that wrote the query and the key."""
    layer, head, stack = link.head
    positions = link.query, link.key, link.versus
    return answered(
        link, lambda: score_sources(link.attention, layer, head, *positions, stack=stack)
    )


def writes(link: ShownLink) -> LinkAnswer[HeadWrites]:
    """Return the output of the head at the query, split by the attended tokens."""
    layer, head, stack = link.head
    return answered(
        link,
        lambda: head_writes(link.attention, layer, head, position=link.query, stack=stack),
    )


def vocabulary(link: ShownLink) -> LinkAnswer[WrittenVocabulary]:
    """Return the vocabulary entries that the head's output from the key promotes."""
    layer, head, stack = link.head
    positions = link.query, link.key
    return answered(
        link, lambda: written_vocabulary(link.attention, layer, head, *positions, stack=stack)
    )


def link_to_wire(link: ShownLink) -> dict[str, Any]:
    """Return the link and the available rival keys, for the page."""
    return {
        **_ends(link),
        "weight": float(link.weights[link.key]),
        "is_strongest": link.is_strongest,
        "rivals": [[i, float(link.weights[i])] for i in link.rivals[:_RIVALS]],
    }


def factors_to_wire(found: LinkFactors) -> dict[str, Any]:
    """Return the factors, their product and the sentence about them, for the page."""
    return {
        "factors": [[name, log, factor_text(factor)] for name, factor, log in found.rows()],
        "finding": found.finding,
        "rival": found.rival,
        "n_words": found.n_words,
        "written": found.written_finding if found.written else "",
    }


def wavelengths_to_wire(found: LinkExplanation) -> dict[str, Any]:
    """Return the parts of the score difference by wavelength, for the page."""
    others = dict(found.others())
    parts = [(name, value) for name, value in found.parts().items() if name not in others]
    largest, rest = _largest(parts, _ROWS)
    return {
        "parts": largest,
        "rest": rest,
        "others": [[name, value] for name, value in others.items()],
        "total": found.total,
        # A weight of 0 in float32 has no finite logarithm, and JSON has no infinity.
        "log_ratio": found.log_ratio if math.isfinite(found.log_ratio) else None,
        "note": found.note,
    }


def distances_to_wire(found: ScoresAtDistances) -> dict[str, Any]:
    """Return scores and weights at consecutive distances, for the page."""
    return {
        "first": int(found.distances[0]),
        "distance": found.distance,
        "scores": to_wire(found.scores.astype(np.float32)),
        "weights": to_wire(found.weights.astype(np.float32)),
    }


def sources_to_wire(found: ScoreSources, *, is_whole: bool) -> dict[str, Any]:
    """Return the strongest writer pairs and the sum of all pairs, for the page.

    Args:
        found: Parts of a difference of scores.
        is_whole: Whether the scores have neither a bias nor a soft cap, which no writer has.
    """
    pairs = [(f"{q} × {k}", value) for q, k, value in found.strongest(found.matrix.size)]
    largest, rest = _largest(pairs, _SOURCES)
    return {"pairs": largest, "rest": rest, "total": found.total, "is_whole": is_whole}


def writes_to_wire(found: HeadWrites, key: int) -> dict[str, Any]:
    """Return the shares of tokens in the head's output, the key first, for the page."""
    shares = found.shares
    order = [int(i) for i in np.argsort(-np.abs(shares), kind="stable") if i != key]
    shown_tokens = [key, *order[: _TOKENS - 1]]
    left_out = order[_TOKENS - 1 :]
    rest = float(shares[left_out].sum()), float(found.weights[left_out].sum())
    return {
        "tokens": [[i, float(shares[i]), float(found.weights[i])] for i in shown_tokens],
        "rest": [len(left_out), *rest],
        "layer_share": found.layer_share,
        "note": found.note,
    }


def vocabulary_to_wire(found: WrittenVocabulary) -> dict[str, Any]:
    """Return the words with the largest and the smallest logits, for the page."""
    return {
        "promoted": [[word.answer, word.logit] for word in found.promoted(_PROMOTED)],
        "suppressed": [[word.answer, word.logit] for word in found.suppressed(_SUPPRESSED)],
        "note": found.note,
    }


def answer_to_wire(
    answer: LinkAnswer[Found] | None, found_to_wire: Callable[[Found], dict[str, Any]]
) -> dict[str, Any] | None:
    """Return an answer with its link, for the page; None if it is still being computed."""
    if answer is None:
        return None
    result = None if answer.found is None else found_to_wire(answer.found)
    return {**_ends(answer.link), "problem": answer.problem, "found": result}


def _ends(link: ShownLink) -> dict[str, Any]:
    """Return the parts of a link by which the page matches an answer with the current link."""
    return {
        "head": list(link.head),
        "query": link.query,
        "key": link.key,
        "versus": link.versus,
        "is_runner_up": link.is_runner_up,
    }


def _largest(parts: Sequence[tuple[str, float]], count: int) -> tuple[list[list[Any]], list[Any]]:
    """Return the largest parts, and the number and the sum of the remaining parts."""
    order = sorted(parts, key=lambda part: -abs(part[1]))
    largest = order if len(order) <= count + 1 else order[:count]
    rest = order[len(largest) :]
    return [[name, value] for name, value in largest], [len(rest), sum(v for _, v in rest)]


@dataclass(frozen=True, eq=False)
class LinkAnswers:
    """Answers about one link; None for an answer that is still being computed."""

    factors: LinkAnswer[LinkFactors] | None = None
    distances: LinkAnswer[ScoresAtDistances] | None = None
    sources: LinkAnswer[ScoreSources] | None = None
    writes: LinkAnswer[HeadWrites] | None = None
    vocabulary: LinkAnswer[WrittenVocabulary] | None = None
