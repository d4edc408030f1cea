"""The windows of documents in a coreference study, for a figure of some of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from attnwidget.capture.tapping.head import Head
from attnwidget.text.antecedents import BASELINES
from attnwidget.text.mentions import Document
from attnwidget.text.short_name import short_name
from attnwidget.widgets.pages.encoding import AS_TEXT, as_json_value, as_text
from attnwidget.widgets.pages.page_part import Holding
from attnwidget.widgets.pages.size_limit import held_around, held_note
from attnwidget.widgets.wire.values import to_wire
from attnwidget.words.coreference_results import CoreferenceAccuracies, EvaluatedWindow

# A word and a weight, among all words and among mentions.
_BYTES_A_MENTION = 2 * (2 + 4)
# What JSON writes of a word and of a mention.
_TEXT_A_WORD = 12
_TEXT_A_MENTION = 250
#: A window, and the row of its first mention in the accuracies.
Read = tuple[EvaluatedWindow, int]


def windows_of(
    accuracies: CoreferenceAccuracies, documents: Iterable[Document | str | int] | None
) -> list[list[Read]]:
    """The windows that were read, by document shown.

    Raises:
        KeyError: a document was not part of the study.
        ValueError: there are no documents, or a document has no window that was read.
    """
    read: dict[int, list[Read]] = {}
    first = 0
    for window in accuracies.windows:
        read.setdefault(window.document, []).append((window, first))
        first += len(window.evaluated)
    if documents is None:
        return list(read.values())
    if isinstance(documents, (Document, str)):
        documents = [documents]
    shown = [accuracies.choices(document).document for document in documents]
    if not shown:
        raise ValueError("no documents: give at least one, or leave them out to show all")
    index = {id(document): i for i, document in enumerate(accuracies.documents)}
    for document in shown:
        if index[id(document)] not in read:
            raise ValueError(
                f"{document.name or document} has no window that was read: no mention there has "
                "an antecedent, or a word has no tokens"
            )
    return [read[index[id(document)]] for document in shown]


def mentions_within(accuracies: CoreferenceAccuracies, window: EvaluatedWindow) -> list[int]:
    """The mentions of a document that lie within a window."""
    mentions = accuracies.documents[window.document].mentions
    return [
        index
        for index, mention in enumerate(mentions)
        if window.start <= mention.start and mention.end < window.end
    ]


def window_to_wire(
    accuracies: CoreferenceAccuracies, read: Read, head: Head | None
) -> dict[str, Any]:
    """A window's text with its mentions, and what a head chooses for them, for the page."""
    window, first = read
    document = accuracies.documents[window.document]
    mentions = [(index, document.mentions[index]) for index in mentions_within(accuracies, window)]
    numbers = cluster_numbers([mention.cluster for _, mention in mentions])
    chosen = None
    if head is not None:
        rows = slice(first, first + len(window.evaluated))
        at = (rows, slice(None), head.layer, head.head)
        correct = accuracies.correct[:, head.layer, head.head, 0]
        chosen = {
            "words": to_wire((accuracies.chosen[at].T - window.start).astype(np.int32)),
            "weights": to_wire(accuracies.weights[at].T.astype(np.float32)),
            "correct": [int(n) for n in correct],
        }
    return {
        "name": short_name(document.name or document.source),
        "start": window.start,
        "words": list(document.words[window.start : window.end]),
        "length": len(document.words),
        "mentions": [
            {
                "mention": index,
                "words": [word - window.start for word in mention.words],
                "head": mention.head - window.start,
                "cluster": numbers[mention.cluster],
                "kind": mention.kind,
            }
            for index, mention in mentions
        ],
        "evaluated": [
            {
                "mention": one.mention,
                "antecedents": list(one.antecedents),
                "baselines": dict(zip(BASELINES, one.baselines, strict=True)),
            }
            for one in window.evaluated
        ],
        "head": head,
        "chosen": chosen,
    }


def cluster_numbers(clusters: list[str]) -> dict[str, int]:
    """Clusters of several mentions numbered from 1 in the order of the text; 0 for the others.

    Example:
        >>> from attnwidget.widgets.coreference_view.study_windows import cluster_numbers
        >>> sorted(cluster_numbers(["b", "a", "once", "a", "b"]).items())
        [('a', 2), ('b', 1), ('once', 0)]
    """
    several = [name for name in dict.fromkeys(clusters) if clusters.count(name) > 1]
    return {name: several.index(name) + 1 if name in several else 0 for name in set(clusters)}


def held_windows(
    accuracies: CoreferenceAccuracies, documents: list[list[Read]], shown: int
) -> Holding:
    """Return the document shown and its neighbors, with the choices of every head, for a page.

    Choices and weights are exact.

    Args:
        accuracies: The result of the study.
        documents: The windows that were read, by document.
        shown: The index of the document shown.
    """
    n_heads = accuracies.chosen[0, 0].size
    sizes = [_size(windows, n_heads) for windows in documents]

    def embed(room: float) -> tuple[dict[str, Any], list[str]]:
        held = held_around(shown, sizes, room)
        windows = [
            _embedded(accuracies, (document, number), documents[document])
            for document in held
            for number in range(len(documents[document]))
        ]
        notes = [held_note(held, len(documents), "document")]
        return {"first": held.start, "stop": held.stop, "held": windows}, notes

    what = "the document with every head's choices"
    return Holding(what, "show a shorter document", sizes[shown], embed)


def _size(windows: list[Read], n_heads: int) -> float:
    """Bytes in the page of a document with every head's choices."""
    mentions = sum(len(window.evaluated) for window, _ in windows)
    words = sum(window.end - window.start for window, _ in windows)
    choices = AS_TEXT * _BYTES_A_MENTION * n_heads * mentions
    return choices + _TEXT_A_MENTION * mentions + _TEXT_A_WORD * words


def _embedded(
    accuracies: CoreferenceAccuracies, at: tuple[int, int], windows: list[Read]
) -> dict[str, Any]:
    """A window with its mentions and every head's choices; `at` is its document and number."""
    document, number = at
    window, first = windows[number]
    rows = slice(first, first + len(window.evaluated))
    drawn = {
        "document": document,
        "window": number,
        "windows": len(windows),
        **window_to_wire(accuracies, windows[number], None),
    }
    return {
        "drawn": as_json_value(drawn),
        # A choice before the window cannot be, "nothing" (-1) can.
        "words": as_text((accuracies.chosen[rows] - window.start).astype(np.int16)),
        "weights": as_text(accuracies.weights[rows].astype(np.float32)),
    }
