"""The documents that a page's CoreferenceView can show, with every head's choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnwidget.widgets.coreference_view import CoreferenceView
from attnwidget.widgets.pages.room import AS_TEXT, held_around
from attnwidget.widgets.pages.rounding import as_text
from attnwidget.widgets.pages.states import readable

# A word and a weight, among all words and among mentions.
_BYTES_A_MENTION = 2 * (2 + 4)
# What JSON writes of a word and of a mention.
_TEXT_A_WORD, _TEXT_A_MENTION = 12, 250


def held_documents(view: CoreferenceView, room: float) -> range:
    """The documents around the one shown that fit into `room` bytes."""
    return held_around(view.document, document_sizes(view), room)


def document_sizes(view: CoreferenceView) -> list[float]:
    """Bytes in the page of each document with every head's choices."""
    heads = view.accuracies.chosen[0, 0].size
    sizes = []
    for windows in view._read:
        mentions = sum(len(window.evaluated) for window, _ in windows)
        words = sum(window.end - window.start for window, _ in windows)
        choices = AS_TEXT * _BYTES_A_MENTION * heads * mentions
        sizes.append(choices + _TEXT_A_MENTION * mentions + _TEXT_A_WORD * words)
    return sizes


def embedded_documents(view: CoreferenceView, held: range) -> dict[str, Any]:
    """Text, mentions and every head's choices of the documents in `held`; nothing is rounded."""
    found, windows = view.accuracies, view._read
    # A widget of its own goes through them: the user's stays where it is.
    reader = CoreferenceView(found, [view.documents[index] for index in held], selected=[])
    embedded = []
    try:
        for at, index in enumerate(held):
            reader.document = at
            for number, (window, first) in enumerate(windows[index]):
                reader.window = number
                rows = slice(first, first + len(window.evaluated))
                embedded.append(
                    {
                        "drawn": readable(reader.get_state()["_drawn"] | {"document": index}),
                        # A choice before the window cannot be, "nothing" (-1) can.
                        "words": as_text((found.chosen[rows] - window.start).astype(np.int16)),
                        "weights": as_text(found.weights[rows].astype(np.float32)),
                    }
                )
    finally:
        reader.close()
    return {
        "first": held.start,
        "stop": held.stop,
        "shape": list(found.chosen.shape[2:]),
        "held": embedded,
        # By variant, layer and head, over all kinds of mentions.
        "correct": found.correct[..., 0].astype(int).ravel().tolist(),
    }
