"""CoreferenceView: a document with its mentions, and the antecedents that a head chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import traitlets

from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.text.antecedents import BASELINES
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view.study_windows import (
    Read,
    held_windows,
    mentions_within,
    window_to_wire,
    windows_of,
)
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import LayerOptions, StackShapes
from attnwidget.widgets.shared.outcome_jumps import Outcome, OutcomeJumps, check_jump
from attnwidget.widgets.shared.traits import Choice
from attnwidget.widgets.shared.widget_code import chosen_options
from attnwidget.words.coreference_results import (
    AMONG,
    CoreferenceAccuracies,
    Evaluated,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class CoreferenceViewOptions(LayerOptions, total=False):
    """Options of a `CoreferenceView`."""

    document: int
    window: int
    mention: int | None
    variant: Literal["words", "mentions"]


class CoreferenceView(OutcomeJumps):
    """Document with its mentions, and the antecedent that the selected head chooses.

    Mentions are underlined in the color of their cluster and have its number; nested mentions are
    underlined above the longer mention. Click a mention to see the word that the head attends to
    most from this mention (Clark et al. 2019, section 4.3). The outline is solid if the word is the
    head word of an antecedent, and dashed otherwise. The figure also shows the true antecedents and
    the choices of simple rules.

    `accuracies` is a result of `probe_coreference`. `documents` are the documents to show, as
    documents, names or indices (default: all documents that were read). The figure opens on the
    best head and the first evaluated mention.

    Options are keywords, and traits of the figure. An unknown option raises TypeError, a value out
    of range raises traitlets.TraitError, and a document that was not part of the study raises
    KeyError.

    Example:
        >>> from attnwidget import CoreferenceView, Document, load_model
        >>> from attnwidget.words import probe_coreference
        >>> words = "The captain told his men that he would not leave .".split()
        >>> spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")]
        >>> document = Document.from_spans(words, spans)
        >>> found = probe_coreference(load_model(), [document], progress=False)
        >>> view = CoreferenceView(found, selected=[(2, 4)], mention=3)
        >>> view.evaluated.antecedents
        (0, 1)
    """

    kind = "coreference_view"
    page_label = "coreference"
    page_title = "Antecedents that attention heads find"
    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "selected": "the head that finds most antecedents",
        "layer": "the layer of the selected head",
        "mention": "the first evaluated mention, or None with `document` or `window`",
    }

    document = traitlets.Int(0, min=0, help="Index of the current document.").tag(
        sync=True, option=True
    )
    window = traitlets.Int(
        0, min=0, help="Index of the current window among the document's windows that were read."
    ).tag(sync=True, option=True)
    mention = traitlets.Int(
        None,
        allow_none=True,
        help="Index of the current mention in the document's `mentions`; None = no mention.",
    ).tag(sync=True, option=True)
    variant = Choice(
        AMONG,
        AMONG[0],
        help='Candidates of the head: all other "words", or the head words of earlier "mentions".',
    ).tag(sync=True, option=True)

    def __init__(
        self,
        accuracies: CoreferenceAccuracies,
        documents: Iterable[Document | str | int] | None = None,
        **traits: Unpack[CoreferenceViewOptions],
    ) -> None:
        if not isinstance(accuracies, CoreferenceAccuracies):
            raise TypeError(
                f"CoreferenceView shows a CoreferenceAccuracies, got {type(accuracies).__name__}. "
                "Make one with attnwidget.words.probe_coreference(model, documents), on the "
                "documents of load_coreference(path)."
            )
        self._accuracies = accuracies
        self._read = windows_of(accuracies, documents)
        if "selected" not in traits:
            among = traits.get("variant")
            best = accuracies.best_head(among if among in AMONG else AMONG[0])
            traits = {"layer": best.layer, **traits, "selected": [best]}
        if not {"document", "window", "mention"} & traits.keys():
            traits["mention"] = self._read[0][0][0].evaluated[0].mention
        super().__init__(**traits)

    def _given(self) -> dict[str, Any]:
        return {"accuracies": YOURS, "documents": YOURS}

    def _chosen(self) -> dict[str, Any]:
        # Always include these options: without them, the figure opens on the best head and the
        # first mention.
        return chosen_options(self, always=("selected", "document"))

    @property
    def accuracies(self) -> CoreferenceAccuracies:
        """Measured accuracies."""
        return self._accuracies

    @property
    def documents(self) -> tuple[Document, ...]:
        """Documents of the figure."""
        return tuple(self._accuracies.documents[windows[0][0].document] for windows in self._read)

    @property
    def evaluated(self) -> Evaluated | None:
        """Current mention with its antecedents; None if the mention was not evaluated."""
        window, _ = self._shown()
        return next(
            (mention for mention in window.evaluated if mention.mention == self.mention), None
        )

    def jump(self, outcome: Outcome, step: int = 1) -> int | None:
        """Show the next mention for which the current head is right, or wrong.

        The search continues in the next windows and documents, and wraps around at the end.

        Args:
            outcome: "right" or "wrong".
            step: 1 for the next mention, -1 for the previous one.

        Returns:
            Index of the mention; None if there is no further mention or no head is selected.

        Raises:
            ValueError: If `outcome` or `step` has another value.
        """
        check_jump(outcome, step)
        with self._lock, self.together():
            positions = [
                position
                for position in self._places(outcome == "right")
                if position != self._place()
            ]
            if not positions:
                return None
            after = [position for position in positions if position > self._place()]
            before = [position for position in positions if position < self._place()]
            target = (after or positions)[0] if step == 1 else (before or positions)[-1]
            self.document, self.window, self.mention = target
            return self.mention

    def _place(self) -> tuple[int, int, int]:
        return self.document, self.window, -1 if self.mention is None else self.mention

    def _places(self, right: bool) -> list[tuple[int, int, int]]:
        """Return (document, window, mention) for each right, or wrong, answer of the head."""
        if self.head is None:
            return []
        selection = (AMONG.index(self.variant), self.head.layer, self.head.head)
        is_correct = self._accuracies.is_correct[(slice(None), *selection)]
        return sorted(
            (document, index, mention.mention)
            for document, windows in enumerate(self._read)
            for index, (window, first) in enumerate(windows)
            for row, mention in enumerate(window.evaluated, first)
            if is_correct[row] == right
        )

    def _shown(self) -> Read:
        """Return the current window, and the row of its first mention in the accuracies."""
        return self._read[self.document][self.window]

    def shapes(self) -> StackShapes:
        n_layers, n_heads = self._accuracies.chosen.shape[2:]
        return {"self": (n_layers, n_heads)}

    def _layers(self, stack: str) -> LayerNumbers:
        layers_without_attention = self._accuracies.layers_without_attention
        return LayerNumbers.without(layers_without_attention, self.shapes()[stack][0])

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
                f"'mention' is None or a number from {self._mentions()} in this window, got {index}"
            )
        return None if index is None else int(index)

    def _mentions(self) -> list[int]:
        """Return the indices of the mentions inside the current window."""
        window, _ = self._shown()
        return mentions_within(self._accuracies, window)

    @when_open("document")
    def _show_first_window(self, change: object) -> None:
        self.window = 0
        self.mention = None

    @when_open("window")
    def _show_no_mention(self, change: object) -> None:
        self.mention = None

    def _jump_for_page(self, outcome: Outcome, step: int) -> dict[str, Any]:
        return {"found": self.jump(outcome, step) is not None}

    @computed()
    def _source(self) -> dict[str, Any]:
        n, *_ = self._accuracies.counts
        return {
            "model": self._accuracies.model_name,
            "count": len(self._read),
            "layers": self.n_layers,
            "layers_without_attention": list(self._accuracies.layers_without_attention),
            "n": int(n),
            "baselines": {
                name: int(correct)
                for name, correct in zip(
                    BASELINES, self._accuracies.baseline_correct[:, 0], strict=True
                )
            },
        }

    @computed("document", "window", "selected", page_chooses=("document", "window", "selected"))
    def _drawn(self) -> dict[str, Any]:
        """Text of the current window with its mentions, and the current head's choices."""
        windows = self._read[self.document]
        return {
            "document": self.document,
            "window": self.window,
            "windows": len(windows),
            **window_to_wire(self._accuracies, windows[self.window], self.head),
        }

    def page_part(self) -> Part:
        """Return the current document and its neighbors with the choices of every head."""
        accuracies = self._accuracies
        return replace(
            super().page_part(),
            # The order is variant, layer, head; the counts include all kinds of mentions.
            own={"correct": accuracies.correct[..., 0].astype(int).ravel().tolist()},
            holdings={"windows": held_windows(accuracies, self._read, self.document)},
        )

    def __repr__(self) -> str:
        n_layers, n_heads = self.shapes()["self"]
        selected = ", ".join(map(str, self.selected)) or "none"
        return (
            f"CoreferenceView({self._accuracies.model_name}, {n_layers}×{n_heads} heads, document "
            f"{self.document} of {len(self._read)}, among {self.variant}, selected: {selected})"
        )


def _checked(name: str, index: int, count: int) -> int:
    if not 0 <= index < count:
        raise traitlets.TraitError(f"'{name}' must be 0 to {count - 1} here, got {index}")
    return int(index)
