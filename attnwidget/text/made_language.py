"""Sentence pairs of a made language, whose word alignment is known exactly."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.aligned_pairs import AlignedPair, WordLink
from attnwidget.text.whole_number import whole_number

NOUNS = [
    "dog",
    "cat",
    "bird",
    "fox",
    "horse",
    "wolf",
    "bear",
    "fish",
    "mouse",
    "goat",
    "king",
    "queen",
    "child",
    "sailor",
    "baker",
    "tree",
    "river",
    "house",
    "boat",
    "stone",
]
ADJECTIVES = ["old", "young", "big", "small", "red", "green", "quick", "quiet", "brave", "cold"]
VERBS = [
    "sees",
    "hears",
    "follows",
    "finds",
    "paints",
    "loves",
    "carries",
    "meets",
    "watches",
    "helps",
]
ADVERBS = ["often", "rarely", "gladly", "slowly", "never"]
ARTICLE = "the"
MARKER = "o"
"""Word before an object, which has no counterpart."""


def _made_words() -> dict[str, str]:
    """Return the counterpart of each English word: two syllables that no other word has."""
    words = [*NOUNS, *ADJECTIVES, *VERBS, *ADVERBS]
    syllables = [consonant + vowel for consonant in "ptkmnlrs" for vowel in "aeiou"]
    forms = [first + second for first in syllables for second in syllables if first != second]
    return dict(zip(words, random.Random(0).sample(forms, len(words)), strict=True))


COUNTERPARTS = _made_words()


@hides_frames
def demo_alignments(n: int = 100, *, seed: int = 0) -> list[AlignedPair]:
    """Return sentence pairs of English and a made language, with their word alignment.

    The made language begins with the verb and the adverb, puts adjectives after the noun, has no
    articles, and marks the object with "o", a word without a counterpart. The order of the words
    therefore differs in every pair, and every other word has exactly one counterpart. The bundled
    model `load_model("attnwidget/translation")` translates such sentences.

    Args:
        n: Number of pairs.
        seed: Seed of the pairs. Seeds from 1,000,000 were drawn for the training of the model.

    Example:
        >>> from attnwidget.demo import demo_alignments
        >>> pair = demo_alignments(1, seed=3)[0]
        >>> len(pair.sure) == len(pair.target) - 1, "o" in pair.target
        (True, True)
    """
    n = whole_number("n", n, 1, "pair")
    draw = random.Random(whole_number("seed", seed, 0))
    return [_pair(draw, f"made pair {number}") for number in range(n)]


def _pair(draw: random.Random, name: str) -> AlignedPair:
    """Return one pair: subject, adverb, verb and object in English."""
    subject, patient = _noun_phrase(draw), _noun_phrase(draw)
    adverb = [draw.choice(ADVERBS)] if draw.random() < 0.5 else []
    source = [*subject, *adverb, draw.choice(VERBS), *patient]
    verb = len(subject) + len(adverb)
    target: list[str] = []
    links: list[WordLink] = []

    def add(positions: Iterator[int] | list[int]) -> None:
        for position in positions:
            links.append((position, len(target)))
            target.append(COUNTERPARTS[source[position]])

    add([verb, *range(len(subject), verb)])
    add(_in_made_order(0, len(subject)))
    target.append(MARKER)
    add(_in_made_order(verb + 1, len(source)))
    return AlignedPair(tuple(source), tuple(target), tuple(links), name=name)


def _noun_phrase(draw: random.Random) -> list[str]:
    adjectives = draw.sample(ADJECTIVES, draw.choice([0, 0, 1, 1, 2]))
    return [ARTICLE, *adjectives, draw.choice(NOUNS)]


def _in_made_order(start: int, end: int) -> list[int]:
    """Return the positions of the noun and of its adjectives, without the article."""
    return [end - 1, *range(start + 1, end - 1)]
