"""What a page without a kernel holds of a CoreferenceView."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnwidget.widgets.coreference_view.study_windows import Read, window_to_wire
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.widgets.pages.encoding import AS_TEXT, as_text, readable, state_of
from attnwidget.widgets.pages.page_part import Holding, Page, Part
from attnwidget.widgets.pages.size_limit import held_around, held_note

# A word and a weight, among all words and among mentions.
_BYTES_A_MENTION = 2 * (2 + 4)
# What JSON writes of a word and of a mention.
_TEXT_A_WORD = 12
_TEXT_A_MENTION = 250


def page(view: CoreferenceView) -> Page:
    """The document shown and its neighbours, with every head's choices; nothing is rounded."""
    part = Part(
        title="Antecedents that attention heads find",
        state=state_of(view, without=("_drawn",)),
        shapes=view._shapes(),
        # By variant, layer and head, over all kinds of mentions.
        own={"correct": view.accuracies.correct[..., 0].astype(int).ravel().tolist()},
        holdings={"windows": _windows(view)},
    )
    return Page({"coreference_view": part})


def _windows(view: CoreferenceView) -> Holding:
    documents = view._read
    n_heads = view.accuracies.chosen[0, 0].size
    sizes = [_size(windows, n_heads) for windows in documents]

    def embed(room: float) -> tuple[dict[str, Any], list[str]]:
        held = held_around(view.document, sizes, room)
        windows = [
            _embedded(view, (document, number), documents[document])
            for document in held
            for number in range(len(documents[document]))
        ]
        notes = [held_note(held, len(documents), "document")]
        return {"first": held.start, "stop": held.stop, "held": windows}, notes

    what = "the document with every head's choices"
    return Holding(what, "show a shorter document", sizes[view.document], embed)


def _size(windows: list[Read], n_heads: int) -> float:
    """Bytes in the page of a document with every head's choices."""
    mentions = sum(len(window.evaluated) for window, _ in windows)
    words = sum(window.end - window.start for window, _ in windows)
    choices = AS_TEXT * _BYTES_A_MENTION * n_heads * mentions
    return choices + _TEXT_A_MENTION * mentions + _TEXT_A_WORD * words


def _embedded(view: CoreferenceView, at: tuple[int, int], windows: list[Read]) -> dict[str, Any]:
    """A window with its mentions and every head's choices; `at` is its document and number."""
    document, number = at
    window, first = windows[number]
    rows = slice(first, first + len(window.evaluated))
    drawn = {
        "document": document,
        "window": number,
        "windows": len(windows),
        **window_to_wire(view.accuracies, windows[number], None),
    }
    return {
        "drawn": readable(drawn),
        # A choice before the window cannot be, "nothing" (-1) can.
        "words": as_text((view.accuracies.chosen[rows] - window.start).astype(np.int16)),
        "weights": as_text(view.accuracies.weights[rows].astype(np.float32)),
    }
