"""Windows of the documents in a coreference study, for a figure."""

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

# Bytes of a choice: a word and a weight, chosen among all words and among mentions.
_BYTES_A_MENTION = 2 * (2 + 4)
# Approximate number of JSON characters per word and per mention.
_TEXT_A_WORD = 12
_TEXT_A_MENTION = 250
#: Window, and the row of its first mention in the accuracies.
Read = tuple[EvaluatedWindow, int]


def windows_of(
    accuracies: CoreferenceAccuracies, documents: Iterable[Document | str | int] | None
) -> list[list[Read]]:
    """Return the windows that the study has read, for each document of the figure.

    Args:
        accuracies: Result of the study.
        documents: Documents of the figure, as documents, names or indices; None = all documents.

    Raises:
        KeyError: If a document was not part of the study.
        ValueError: If there are no documents, or if the study has read no window of a document.
    """
    windows_by_document: dict[int, list[Read]] = {}
    first = 0
    for window in accuracies.windows:
        windows_by_document.setdefault(window.document, []).append((window, first))
        first += len(window.evaluated)
    if documents is None:
        return list(windows_by_document.values())
    if isinstance(documents, (Document, str)):
        documents = [documents]
    figure_documents = [accuracies.choices(document).document for document in documents]
    if not figure_documents:
        raise ValueError("no documents: give at least one, or leave them out to show all")
    index = {id(document): i for i, document in enumerate(accuracies.documents)}
    for document in figure_documents:
        if index[id(document)] not in windows_by_document:
            raise ValueError(
                f"{document.name or document} has no window that was read: no mention there has "
                "an antecedent, or a word has no tokens"
            )
    return [windows_by_document[index[id(document)]] for document in figure_documents]


def mentions_within(accuracies: CoreferenceAccuracies, window: EvaluatedWindow) -> list[int]:
    """Return the indices of a document's mentions that are inside a window."""
    mentions = accuracies.documents[window.document].mentions
    return [
        index
        for index, mention in enumerate(mentions)
        if window.start <= mention.start and mention.end < window.end
    ]


def window_to_wire(
    accuracies: CoreferenceAccuracies, read: Read, head: Head | None
) -> dict[str, Any]:
    """Return a window's text with its mentions and a head's choices for them, for the page."""
    window, first = read
    document = accuracies.documents[window.document]
    mentions = [(index, document.mentions[index]) for index in mentions_within(accuracies, window)]
    numbers = cluster_numbers([mention.cluster for _, mention in mentions])
    choices = None
    if head is not None:
        rows = slice(first, first + len(window.evaluated))
        selection = (rows, slice(None), head.layer, head.head)
        correct = accuracies.correct[:, head.layer, head.head, 0]
        choices = {
            "words": to_wire((accuracies.chosen[selection].T - window.start).astype(np.int32)),
            "weights": to_wire(accuracies.weights[selection].T.astype(np.float32)),
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
                "mention": evaluated.mention,
                "antecedents": list(evaluated.antecedents),
                "baselines": dict(zip(BASELINES, evaluated.baselines, strict=True)),
            }
            for evaluated in window.evaluated
        ],
        "head": head,
        "chosen": choices,
    }


def cluster_numbers(clusters: list[str]) -> dict[str, int]:
    """Return the numbers of clusters, from 1 in text order; 0 for clusters with one mention.

    Args:
        clusters: Cluster of each mention, in text order.

    Example:
        >>> from attnwidget.widgets.coreference_view.study_windows import cluster_numbers
        >>> sorted(cluster_numbers(["b", "a", "once", "a", "b"]).items())
        [('a', 2), ('b', 1), ('once', 0)]
    """
    repeated = [name for name in dict.fromkeys(clusters) if clusters.count(name) > 1]
    return {name: repeated.index(name) + 1 if name in repeated else 0 for name in set(clusters)}


def held_windows(
    accuracies: CoreferenceAccuracies, documents: list[list[Read]], shown: int
) -> Holding:
    """Return the current document and its neighbors with the choices of every head, for a page.

    Choices and weights are exact.

    Args:
        accuracies: Result of the study.
        documents: Windows that the study has read, by document.
        shown: Index of the current document.
    """
    n_heads = accuracies.chosen[0, 0].size
    sizes = [_size(windows, n_heads) for windows in documents]

    def embed(room: float) -> tuple[dict[str, Any], list[str]]:
        document_range = held_around(shown, sizes, room)
        windows = [
            _embedded(accuracies, (document, number), documents[document])
            for document in document_range
            for number in range(len(documents[document]))
        ]
        notes = [held_note(document_range, len(documents), "document")]
        return {"first": document_range.start, "stop": document_range.stop, "held": windows}, notes

    what = "the document with every head's choices"
    return Holding(what, "show a shorter document", sizes[shown], embed)


def _size(windows: list[Read], n_heads: int) -> float:
    """Return the size of a document with every head's choices in a page, in bytes."""
    mentions = sum(len(window.evaluated) for window, _ in windows)
    words = sum(window.end - window.start for window, _ in windows)
    choices = AS_TEXT * _BYTES_A_MENTION * n_heads * mentions
    return choices + _TEXT_A_MENTION * mentions + _TEXT_A_WORD * words


def _embedded(
    accuracies: CoreferenceAccuracies, at: tuple[int, int], windows: list[Read]
) -> dict[str, Any]:
    """Return a window with its mentions and every head's choices, for a saved page.

    Args:
        accuracies: Result of the study.
        at: Document index, and window index in the document.
        windows: Windows of the document.
    """
    document, number = at
    window, first = windows[number]
    rows = slice(first, first + len(window.evaluated))
    drawing_data = {
        "document": document,
        "window": number,
        "windows": len(windows),
        **window_to_wire(accuracies, windows[number], None),
    }
    return {
        "drawn": as_json_value(drawing_data),
        # A choice is never before the window, but it may be "nothing" (-1).
        "words": as_text((accuracies.chosen[rows] - window.start).astype(np.int16)),
        "weights": as_text(accuracies.weights[rows].astype(np.float32)),
    }
