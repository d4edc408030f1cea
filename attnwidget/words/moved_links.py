"""Control of link studies: the same links at other places of their sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from attnwidget.text.word_links import Link

#: Largest number of places of a link, so that long sentences do not take longer than the study.
_MOST_PLACES = 32
_SEED = 0


def moved_links(
    n_words: int, links: Sequence[Link], all_links: Sequence[Link], *, together: bool = False
) -> tuple[list[Link], list[list[Link]]]:
    """Move links to the other places of their sentence, with the same distances between words.

    Both ends of a link move by the same number of words. A link does not move to a place where it
    joins two words that a link of the sentence joins in the same direction. With more than 32
    places, a fixed random sample of 32 places is used.

    Args:
        n_words: Number of words in the sentence.
        links: Links to move.
        all_links: All links of the sentence.
        together: Whether all links move by the same number of words; False = each link moves
            independently of the others.

    Returns:
        The links that have another place, and the placements: in each placement, every one of these
        links is at another place. A link with fewer places than others is at its places in turn.

    Example:
        >>> from attnwidget.text.word_links import Link
        >>> from attnwidget.words.moved_links import moved_links
        >>> link = Link((0,), (2,), "subject")
        >>> movable, placements = moved_links(5, [link], [link])
        >>> sorted((moved.source, moved.target) for (moved,) in placements)
        [((1,), (3,)), ((2,), (4,))]
    """
    joined = {pair for link in all_links for pair in product(link.source, link.target)}
    movable: list[Link] = []
    places: list[list[list[Link]]] = []
    for group in [list(links)] if together else [[link] for link in links]:
        words = [word for link in group for word in (*link.source, *link.target)]
        shifts = range(-min(words, default=0), n_words - max(words, default=0))
        group_places = [
            moved
            for shift in shifts
            if shift and joined.isdisjoint(_pairs(moved := _moved(group, shift)))
        ]
        if group_places:
            # The order is random, so that the places of two links do not go in step.
            order = np.random.default_rng([_SEED, len(places)]).permutation(len(group_places))
            movable += group
            places.append([group_places[index] for index in order[:_MOST_PLACES]])
    n_placements = max(map(len, places), default=0)
    placements = [
        [link for group_places in places for link in group_places[k % len(group_places)]]
        for k in range(n_placements)
    ]
    return movable, placements


def _moved(links: Sequence[Link], shift: int) -> list[Link]:
    return [
        Link(
            tuple(word + shift for word in link.source),
            tuple(word + shift for word in link.target),
            link.label,
        )
        for link in links
    ]


def _pairs(links: Sequence[Link]) -> set[tuple[int, int]]:
    return {pair for link in links for pair in product(link.source, link.target)}
