"""Panels for the heads that attend along labeled links, with sentences that show the link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from attnwidget.behaviors.gallery.gallery_result import TIMES_EVEN, HeadPanel
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head, HeadName, listed_heads
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import whole_number
from attnwidget.text.word_links import Link, LinkedSentence
from attnwidget.words.word_links import ALL, LinkWeights

_LEAST = 0.03
"""Smallest weight of a link in an example, as drawn by `head_gallery`."""


@in_plain_torch
def link_panels(
    links: LinkWeights,
    label: str,
    heads: HeadName | Iterable[HeadName] | None = None,
    *,
    n_texts: int = 1,
    max_words: int = 12,
) -> list[HeadPanel]:
    """Return a panel of `head_gallery` for each head that attends along links of a label.

    This is Kovaleva et al. 2019, Figure 4: the heads of a link study on sentences of the study. The
    sentences are chosen by a rule: the target of every link of the label is the word to which its
    source attends most, with a weight that `head_gallery` draws. Sentences with the longest links
    come first, then shorter sentences. No sentence is in two panels.

    Args:
        links: Weights from `probe_links`.
        label: Label of the links.
        heads: Head or list of heads; None = the two heads with the largest excess over moved links.
        n_texts: Largest number of sentences per head.
        max_words: Largest number of words in a sentence.

    Raises:
        ValueError: If the label does not exist, or there is no sentence of at most `max_words`
            words in which a head attends along its links.
        RuntimeError: If `links` came without its model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import head_gallery, link_panels
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_links, subject_verb_links
        >>> links = probe_links(load_model(), subject_verb_links(demo_treebank()), progress=False)
        >>> panels = link_panels(links, "SUBJ to VERB", ["L1 H4"])
        >>> len(head_gallery(panels).heads)
        1
    """
    if label not in links.labels:
        raise ValueError(f"there is no label {label!r}: {among(label, links.labels)}")
    n_texts = whole_number("n_texts", n_texts, 1, "sentence")
    max_words = whole_number("max_words", max_words, 1, "word")
    if links.model is None:
        raise RuntimeError(
            "these weights came without their model: link_panels reads the examples with it, so "
            "run probe_links again"
        )
    index = links.labels.index(label)
    examples = _Examples(links, label, max_words)
    panels = []
    for name in links.most_excess(label) if heads is None else listed_heads(heads):
        texts = examples.take(name, n_texts)
        head = texts[0][0].head(name)
        at = index, head.layer, head.head
        moved = f", moved {links.moved[at]:.2f}" if links.moved_counts[index] else ""
        panels.append(
            HeadPanel(
                head,
                [attention for attention, _, _ in texts],
                [sources for _, sources, _ in texts],
                name=f"{label}: weight {links.weights[at]:.2f}{moved}",
                partners=[targets for _, _, targets in texts],
            )
        )
    return panels


class _Examples:
    """Sentences in which a head attends along all links of a label.

    Each sentence is read once, and given out once.
    """

    def __init__(self, links: LinkWeights, label: str, max_words: int) -> None:
        self._links = links
        self._label = label
        self._max_words = max_words
        self._attentions: dict[int, Attention] = {}
        self._taken: set[int] = set()
        ranked = []
        for number, sentence in enumerate(links.sentences):
            own = self._own(sentence)
            if own and len(sentence.words) <= max_words:
                distance = float(np.mean([_distance(link) for link in own]))
                ranked.append((-distance, len(sentence.words), number))
        self._ranked = [number for *_, number in sorted(ranked)]

    def take(self, head: HeadName, count: int) -> list[tuple[Attention, list[int], list[int]]]:
        """Return attentions of at most `count` sentences, with the ends of their links."""
        texts = []
        for number, attention, positions in self._shown(head):
            self._taken.add(number)
            own = self._own(self._links.sentences[number])
            sources = [positions[word] for link in own for word in link.source]
            targets = [positions[word] for link in own for word in link.target]
            texts.append((attention, sources, targets))
            if len(texts) == count:
                return texts
        if not texts:
            raise ValueError(
                f"there is no sentence of at most {self._max_words} words in which {head} attends "
                f"along {self._label}: pass other heads, or a larger max_words"
            )
        return texts

    def _own(self, sentence: LinkedSentence) -> list[Link]:
        """Return the links of the label."""
        return [link for link in sentence.links if self._label in (ALL, link.label)]

    def _shown(self, head: HeadName) -> Iterator[tuple[int, Attention, list[int]]]:
        """Yield sentences in which the head attends along all links, with positions of words."""
        model = self._links.model
        assert model is not None
        for number in self._ranked:
            if number in self._taken:
                continue
            sentence = self._links.sentences[number]
            if number not in self._attentions:
                try:
                    self._attentions[number] = model.attend(list(sentence.words))
                except ValueError:
                    # A word without tokens: `probe_links` skips such sentences too.
                    continue
            attention = self._attentions[number]
            found = attention.head(head)
            positions = _word_positions(attention, found)
            if len(positions) < len(sentence.words):
                continue
            weights = attention.words.weights(found.layer, found.head, stack=found.stack)
            weights = weights[np.ix_(positions, positions)]
            least = max(TIMES_EVEN / (len(positions) + 2), _LEAST)
            if all(_is_along(weights, link, least) for link in self._own(sentence)):
                yield number, attention, positions


def _is_along(weights: np.ndarray, link: Link, least: float) -> bool:
    """Return whether the largest weight from the source to another word is at the target."""
    rows = weights[list(link.source)].copy()
    rows[:, list(link.source)] = 0
    largest = rows.max()
    return bool(largest >= least and rows[:, list(link.target)].max() == largest)


def _distance(link: Link) -> int:
    """Return the number of words from the source to the target."""
    return min(abs(a - b) for a in link.source for b in link.target)


def _word_positions(attention: Attention, head: Head) -> list[int]:
    """Return the positions of the words of the sentence on the axis of words."""
    axis = attention.words.stacks[head.stack].query
    return [position for position, word in enumerate(axis.words) if word is not None]
