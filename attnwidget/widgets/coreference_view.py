"""CoreferenceView: the text of a document, its mentions and the antecedents a head chooses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import traitlets

from attnwidget.studies.coreference_results import (
    AMONG,
    CoreferenceAccuracies,
    Evaluated,
    EvaluatedWindow,
)
from attnwidget.text.antecedents import BASELINES
from attnwidget.text.mentions import Document
from attnwidget.widgets.heads import STATIC, HeadWidget, Shapes
from attnwidget.widgets.wire import to_wire


class CoreferenceView(HeadWidget):
    """The text of a document with its mentions, and the antecedent that the selected head chooses.

    Mentions are underlined in the colour of their cluster and carry its number; longer ones are
    underlined below those within them. Click a mention for the word that the head attends to most
    from it (Clark et al. 2019, section 4.3): a solid outline where that is the head word of an
    antecedent, dashed elsewhere, with the true antecedents and what simple rules choose.

    `accuracies` is what `probe_coreference` found, `documents` those of its documents to show
    (themselves, their names or indices), by default all that were read. Further options are the
    traits below, as keywords. The first head shown is the best, the first mention the first
    evaluated one. An unknown option raises TypeError, a value out of range traitlets.TraitError,
    a document that was not part of the study KeyError.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.coreference import probe_coreference
        >>> from attnwidget.text.coreference import Document
        >>> from attnwidget.widgets.coreference_view import CoreferenceView
        >>> words = "The captain told his men that he would not leave .".split()
        >>> spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")]
        >>> document = Document.from_spans(words, spans)
        >>> found = probe_coreference(load_model(), [document], progress=False)
        >>> view = CoreferenceView(found, selected=[(2, 4)], mention=3)
        >>> view.evaluated.antecedents
        (0, 1)
    """

    _esm = (STATIC / "coreference_view.js").read_text("utf-8")
    _css = (STATIC / "coreference_view.css").read_text("utf-8")

    document = traitlets.Int(0, min=0, help="Index of the document shown.").tag(sync=True)
    window = traitlets.Int(
        0, min=0, help="Index of the window shown, of those read of the document."
    ).tag(sync=True)
    mention = traitlets.Int(
        None,
        allow_none=True,
        help="The mention in question, an index into the document's `mentions`; None for none.",
    ).tag(sync=True)
    variant = traitlets.Enum(
        AMONG,
        AMONG[0],
        help='What the head chooses among: all other "words", or head words of "mentions" before.',
    ).tag(sync=True)

    # A dict once there is something to draw, else None.
    _drawn = traitlets.Any(None).tag(sync=True)
    _source = traitlets.Dict().tag(sync=True)
    # What the page asks for and what came of it, numbered.
    _jump = traitlets.Dict().tag(sync=True)
    _jumped = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        accuracies: CoreferenceAccuracies,
        documents: Iterable[Document | str | int] | None = None,
        **traits: Any,
    ) -> None:
        if not isinstance(accuracies, CoreferenceAccuracies):
            raise TypeError(
                f"CoreferenceView shows a CoreferenceAccuracies, got {type(accuracies).__name__}. "
                "Make one with probe_coreference(model, documents)."
            )
        self._accuracies = accuracies
        self._read = _windows_of(accuracies, documents)
        if "selected" not in traits:
            among = traits.get("variant")
            best = accuracies.best_head(among if among in AMONG else AMONG[0])
            traits = {"layer": best.layer, **traits, "selected": [best]}
        if not {"document", "window", "mention"} & traits.keys():
            traits["mention"] = self._read[0][0][0].evaluated[0].mention
        super().__init__(**traits)

    @property
    def accuracies(self) -> CoreferenceAccuracies:
        """What was measured."""
        return self._accuracies

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents that can be shown."""
        return tuple(self._accuracies.documents[read[0][0].document] for read in self._read)

    @property
    def evaluated(self) -> Evaluated | None:
        """The mention in question with its antecedents; None where it is not evaluated."""
        window, _ = self._shown()
        return next((one for one in window.evaluated if one.mention == self.mention), None)

    def jump(self, outcome: Literal["right", "wrong"], step: int = 1) -> int | None:
        """Show the next mention for which the shown head is right, or wrong.

        The search goes on through the other windows and documents, and at the other end of the
        list.

        Args:
            outcome: "right" or "wrong".
            step: 1 for the next mention, -1 for the previous one.

        Returns:
            The mention, or None where there is no other such mention or no head is selected.

        Raises:
            ValueError: another outcome or step.
        """
        if outcome not in ("right", "wrong") or step not in (1, -1):
            raise ValueError(
                f"jump('right' | 'wrong', step=1 | -1), got {outcome!r} and step={step!r}"
            )
        with self._lock, self.hold_sync():
            places = [place for place in self._places(outcome == "right") if place != self._place()]
            if not places:
                return None
            after = [place for place in places if place > self._place()]
            before = [place for place in places if place < self._place()]
            found = (after or places)[0] if step == 1 else (before or places)[-1]
            self.document, self.window, self.mention = found
            return self.mention

    def _place(self) -> tuple[int, int, int]:
        return self.document, self.window, -1 if self.mention is None else self.mention

    def _places(self, right: bool) -> list[tuple[int, int, int]]:
        """Document, window and mention for which the shown head is right or wrong, in order."""
        if self.head is None:
            return []
        at = (AMONG.index(self.variant), self.head.layer, self.head.head)
        is_correct = self._accuracies.is_correct[(slice(None), *at)]
        return sorted(
            (document, index, one.mention)
            for document, read in enumerate(self._read)
            for index, (window, first) in enumerate(read)
            for row, one in enumerate(window.evaluated, first)
            if is_correct[row] == right
        )

    def _shown(self) -> tuple[EvaluatedWindow, int]:
        """The window shown, and the row of its first mention in the accuracies."""
        return self._read[self.document][self.window]

    def _shapes(self) -> Shapes:
        n_layers, n_heads = self._accuracies.chosen.shape[2:]
        return {"self": (n_layers, n_heads)}

    @traitlets.validate("document")
    def _check_document(self, proposal: dict[str, Any]) -> int:
        return _checked("document", proposal["value"], len(self._read))

    @traitlets.validate("window")
    def _check_window(self, proposal: dict[str, Any]) -> int:
        return _checked("window", proposal["value"], len(self._read[self.document]))

    @traitlets.validate("mention")
    def _check_mention(self, proposal: dict[str, Any]) -> int | None:
        index = proposal["value"]
        if index is not None and index not in self._mentions():
            raise traitlets.TraitError(
                f"'mention' is None or one of {self._mentions()} in this window, got {index}"
            )
        return None if index is None else int(index)

    def _mentions(self) -> list[int]:
        """The mentions that lie within the window shown."""
        window, _ = self._shown()
        mentions = self._accuracies.documents[window.document].mentions
        return [
            index
            for index, mention in enumerate(mentions)
            if window.start <= mention.start and mention.end < window.end
        ]

    @traitlets.observe("document")
    def _other_document(self, change: object) -> None:
        if self._drawn:
            with self._answering():
                self.window, self.mention = 0, None
                self._draw()

    @traitlets.observe("window")
    def _other_window(self, change: object) -> None:
        if self._drawn:
            with self._answering():
                self.mention = None
                self._draw()

    @traitlets.observe("selected")
    def _other_head(self, change: object) -> None:
        if self._drawn:
            with self._answering():
                self._draw()

    @traitlets.observe("_jump")
    def _asked_to_jump(self, change: dict[str, Any]) -> None:
        asked = change["new"]
        with self._answering():
            found = self.jump(asked["outcome"], asked["step"])
            self._jumped = {"n": asked["n"], "found": found is not None}

    def _compute(self) -> None:
        n, *_ = self._accuracies.counts
        self._source = {
            "model": self._accuracies.model_name,
            "count": len(self._read),
            "layers": self.n_layers,
            "n": int(n),
            "baselines": {
                name: int(correct)
                for name, correct in zip(
                    BASELINES, self._accuracies.baseline_correct[:, 0], strict=True
                )
            },
        }
        self._draw()

    def _draw(self) -> None:
        """The window's text with its mentions, and what the shown head chooses for them."""
        window, first = self._shown()
        document, head = self._accuracies.documents[window.document], self.head
        mentions = [(index, document.mentions[index]) for index in self._mentions()]
        numbers = _numbers([mention.cluster for _, mention in mentions])
        chosen = None
        if head is not None:
            rows = slice(first, first + len(window.evaluated))
            at = (rows, slice(None), head.layer, head.head)
            correct = self._accuracies.correct[:, head.layer, head.head, 0]
            chosen = {
                "words": to_wire((self._accuracies.chosen[at].T - window.start).astype(np.int32)),
                "weights": to_wire(self._accuracies.weights[at].T.astype(np.float32)),
                "correct": [int(n) for n in correct],
            }
        self._drawn = {
            "document": self.document,
            "window": self.window,
            "windows": len(self._read[self.document]),
            "name": document.name or document.source,
            "start": window.start,
            "words": list(document.words[window.start : window.end]),
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

    def __repr__(self) -> str:
        n_layers, n_heads = self._shapes()["self"]
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"CoreferenceView({self._accuracies.model_name}, {n_layers}×{n_heads} heads, document "
            f"{self.document} of {len(self._read)}, among {self.variant}, selected: {chosen})"
        )


def _windows_of(
    accuracies: CoreferenceAccuracies, documents: Iterable[Document | str | int] | None
) -> list[list[tuple[EvaluatedWindow, int]]]:
    """By document shown: its windows, each with the row of its first mention in the accuracies."""
    read: dict[int, list[tuple[EvaluatedWindow, int]]] = {}
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


def _numbers(clusters: list[str]) -> dict[str, int]:
    """Clusters of several mentions numbered from 1 in the order of the text; 0 for the others."""
    several = [name for name in dict.fromkeys(clusters) if clusters.count(name) > 1]
    return {name: several.index(name) + 1 if name in several else 0 for name in set(clusters)}


def _checked(name: str, index: int, count: int) -> int:
    if not 0 <= index < count:
        raise traitlets.TraitError(f"'{name}' is 0 to {count - 1} here, got {index}")
    return int(index)
