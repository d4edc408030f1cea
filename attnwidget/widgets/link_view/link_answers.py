"""The answers of a LinkView about a link, and what its page has of them."""

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
from attnwidget.mechanisms.rotations import rotation_of
from attnwidget.mechanisms.score_at_distances import ScoresAtDistances, score_at_distances
from attnwidget.mechanisms.score_sources import ScoreSources, score_sources
from attnwidget.mechanisms.written_vocabulary import WrittenVocabulary, written_vocabulary
from attnwidget.widgets.link_view.shown_link import ShownLink
from attnwidget.widgets.wire.values import to_wire

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


# Rows of each list on the page, and rivals that the page offers.
_ROWS = 10
_SOURCES = 8
_TOKENS = 6
_PROMOTED = 5
_SUPPRESSED = 3
_RIVALS = 40

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class LinkAnswer(Generic[Found]):
    """The answer to a question about a link, or the reason of a missing answer.

    Attributes:
        link: The link.
        found: The result, or None.
        problem: "", or the reason why there is no result.
    """

    link: ShownLink
    found: Found | None
    problem: str = ""


def answered(link: ShownLink, compute: Callable[[], Found]) -> LinkAnswer[Found]:
    """Return a result, or the reason of a refusal.

    Args:
        link: The link that the result is about.
        compute: Returns the result, or raises TypeError, ValueError or RuntimeError with the
            reason.
    """
    try:
        return LinkAnswer(link, compute())
    except (TypeError, ValueError, RuntimeError) as error:
        return LinkAnswer(link, None, on_page(error))


def explanation(link: ShownLink) -> LinkAnswer[LinkExplanation]:
    """Return why the head prefers the key to the rival."""
    if link.versus is None:
        said = "the query sees no other key, so there is no rival to compare this key with"
        return LinkAnswer(link, None, said)
    layer, head, stack = link.head
    ends = link.query, link.key, link.versus
    return answered(link, lambda: explain_link(link.attention, layer, head, *ends, stack=stack))


def distances(link: ShownLink) -> LinkAnswer[ScoresAtDistances]:
    """Return score and weight of the key at other distances."""
    ends = link.query, link.key
    return answered(link, lambda: shown_distances(link.attention, link.head, *ends))


def sources(link: ShownLink) -> LinkAnswer[ScoreSources]:
    """Return who wrote the query and the key."""
    layer, head, stack = link.head
    ends = link.query, link.key, link.versus
    return answered(link, lambda: score_sources(link.attention, layer, head, *ends, stack=stack))


def writes(link: ShownLink) -> LinkAnswer[HeadWrites]:
    """Return the output of the head at the query, split by the tokens that the head reads."""
    layer, head, stack = link.head
    return answered(
        link,
        lambda: head_writes(link.attention, layer, head, position=link.query, stack=stack),
    )


def vocabulary(link: ShownLink) -> LinkAnswer[WrittenVocabulary]:
    """Return what the head writes from the key, in words."""
    layer, head, stack = link.head
    ends = link.query, link.key
    return answered(
        link, lambda: written_vocabulary(link.attention, layer, head, *ends, stack=stack)
    )


def link_to_wire(link: ShownLink) -> dict[str, Any]:
    """Return the link, and the rivals that can be chosen."""
    return {
        **_ends(link),
        "weight": float(link.weights[link.key]),
        "is_strongest": link.is_strongest,
        "is_runner_up": link.is_runner_up,
        "rivals": [[i, float(link.weights[i])] for i in link.rivals[:_RIVALS]],
    }


def explanation_to_wire(found: LinkExplanation) -> dict[str, Any]:
    """Return the parts of the difference of scores."""
    others = dict(found.others())
    parts = [(name, value) for name, value in found.parts().items() if name not in others]
    shown, rest = _largest(parts, _ROWS)
    return {
        "parts": shown,
        "rest": rest,
        "others": [[name, value] for name, value in others.items()],
        "by": "wavelength" if len(found.wavelengths) else "dimension",
        "total": found.total,
        # A weight that is 0 in float32 has no logarithm, and JSON has no infinity.
        "log_ratio": found.log_ratio if math.isfinite(found.log_ratio) else None,
        "note": found.note,
    }


def distances_to_wire(found: ScoresAtDistances) -> dict[str, Any]:
    """Return scores and weights at consecutive distances."""
    return {
        "first": int(found.distances[0]),
        "distance": found.distance,
        "scores": to_wire(found.scores.astype(np.float32)),
        "weights": to_wire(found.weights.astype(np.float32)),
    }


def sources_to_wire(found: ScoreSources) -> dict[str, Any]:
    """Return the strongest pairs of writers, and the sum of all pairs."""
    pairs = [(f"{q} × {k}", value) for q, k, value in found.strongest(found.matrix.size)]
    shown, rest = _largest(pairs, _SOURCES)
    return {"pairs": shown, "rest": rest, "total": found.total}


def writes_to_wire(found: HeadWrites, key: int) -> dict[str, Any]:
    """Return the shares of tokens in the output of the head, the key first."""
    shares = found.shares
    order = [int(i) for i in np.argsort(-np.abs(shares), kind="stable") if i != key]
    shown = [key, *order[: _TOKENS - 1]]
    left_out = order[_TOKENS - 1 :]
    rest = float(shares[left_out].sum()), float(found.weights[left_out].sum())
    return {
        "tokens": [[i, float(shares[i]), float(found.weights[i])] for i in shown],
        "rest": [len(left_out), *rest],
        "layer_share": found.layer_share,
        "note": found.note,
    }


def vocabulary_to_wire(found: WrittenVocabulary) -> dict[str, Any]:
    """Return the words with the largest and the smallest logits."""
    return {
        "promoted": [[word.answer, word.logit] for word in found.promoted(_PROMOTED)],
        "suppressed": [[word.answer, word.logit] for word in found.suppressed(_SUPPRESSED)],
        "note": found.note,
    }


def answer_to_wire(
    answer: LinkAnswer[Found] | None, found_to_wire: Callable[[Found], dict[str, Any]]
) -> dict[str, Any] | None:
    """Return an answer with the link that it is about; None for an answer still computed."""
    if answer is None:
        return None
    found = None if answer.found is None else found_to_wire(answer.found)
    return {**_ends(answer.link), "problem": answer.problem, "found": found}


def _ends(link: ShownLink) -> dict[str, Any]:
    """Return what the page compares, to know whether an answer is about the shown link."""
    return {
        "head": list(link.head),
        "query": link.query,
        "key": link.key,
        "versus": link.versus,
    }


def _largest(parts: Sequence[tuple[str, float]], count: int) -> tuple[list[list[Any]], list[Any]]:
    """Return the largest parts, and the number and sum of the others."""
    order = sorted(parts, key=lambda part: -abs(part[1]))
    shown = order if len(order) <= count + 1 else order[:count]
    rest = order[len(shown) :]
    return [[name, value] for name, value in shown], [len(rest), sum(v for _, v in rest)]


@dataclass(frozen=True, eq=False)
class LinkAnswers:
    """All answers about one link; None for an answer that is still computed."""

    distances: LinkAnswer[ScoresAtDistances] | None = None
    sources: LinkAnswer[ScoreSources] | None = None
    writes: LinkAnswer[HeadWrites] | None = None
    vocabulary: LinkAnswer[WrittenVocabulary] | None = None
