"""Traits of an explorer, which its parts read and set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import anywidget
import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.widgets.explorer.panels import DETAILS, PANELS
from attnwidget.widgets.prediction_view.scaled_links import (
    LinkScaling,
    LinkScalingOptions,
    ScaledLink,
)
from attnwidget.widgets.prediction_view.shown_question import predicted_input
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.relation_choice import DirectionChoice, DirectionOptions
from attnwidget.widgets.shared.token_size import TokenSize, TokenSizeOptions
from attnwidget.widgets.shared.traits import Choice, Subset

Detail = Literal["head_scatter", "predictions", "why", "card", "table", "arcs"]
Panel = Literal["grid", "view", Detail]


class ExplorerOptions(DirectionOptions, TokenSizeOptions, LinkScalingOptions, total=False):
    """Options of an explorer."""

    example: str | None
    panels: Panel | Sequence[Panel]
    tab: Detail | None


class Child(anywidget.WidgetTrait):
    """Trait for a widget that the page draws inside the explorer."""

    def __init__(self, help: str) -> None:
        super().__init__()
        self.help = help
        self.tag(sync=True, option=False)


class ExplorerFigure(DirectionChoice, TokenSize, LinkScaling):
    """Figure with panels: its input, its panels, and the texts next to the panels."""

    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "text": "the text of the example",
        "example": "the first example, if no text is given",
        "selected": "a head that suits the text",
        "tokens": "a word that suits the head",
        "unit": '"words" for texts of words that the model does not continue, otherwise "tokens"',
        "labels": "the names of the atlas",
    }

    text = traitlets.Unicode(help="The text that the model reads; assign another one.").tag(
        sync=True, option=True, input=True
    )
    pair = traitlets.Unicode(
        None, allow_none=True, help="Second sentence, for models trained on pairs, or None."
    ).tag(sync=True, option=True, input=True)
    target = traitlets.Unicode(
        None,
        allow_none=True,
        help="Text for the decoder of an encoder-decoder; None = the model generates it.",
    ).tag(sync=True, option=True, input=True)
    versus_text = traitlets.Unicode(
        None,
        allow_none=True,
        help="Text to compare with; None = the same text.",
    ).tag(sync=True, option=True, input=True)
    max_new_tokens = traitlets.Int(
        None,
        allow_none=True,
        min=1,
        help="Maximum number of tokens that the model generates after the text; None = do not "
        "generate.",
    ).tag(sync=True, option=True)
    example = traitlets.Unicode(
        None,
        allow_none=True,
        help="Name of the current example, or None. Assign a name to show another example.",
    ).tag(sync=True, option=True)

    panels = Subset(
        PANELS,
        default_value=list(PANELS),
        help='Panels of the explorer: some of "grid", "view", "head_scatter", "predictions", '
        '"why", "card", "table", "arcs".',
    ).tag(sync=True, option=True)
    tab = Choice(
        DETAILS,
        None,
        allow_none=True,
        help='Open tab in the row "more": "head_scatter", "predictions", "why", "card", "table" or '
        '"arcs"; None = the row is closed.',
    ).tag(sync=True, option=True)
    progress = traitlets.Dict(help="Progress of running measurements, 0 to 1, by panel.").tag(
        sync=True, option=False
    )

    unit = Choice(
        ["tokens", "words"],
        "words",
        help='Unit of the axes: "tokens" or "words". Word maps sum over the tokens of the attended '
        "word and average over the tokens of the attending word.",
    ).tag(sync=True, option=True, shared=True)

    grid = Child("The HeadGrid.")
    view = Child("The HeadView.")
    head_scatter = Child("The HeadScatter; None until the text is measured.")
    predictions = Child(
        "The PredictionView; None until grid and view are on the page, and of a model that "
        "predicts neither words nor classes."
    )
    why = Child("The LinkView; None until grid and view are on the page.")
    card = Child(
        "The AtlasView of the shown head; None without an atlas and until grid and view are on the "
        "page."
    )

    table = Child(
        "The RelationTable; None without a treebank and until it is measured, as are the arcs."
    )
    arcs = Child(
        "The DependencyArcs, or the ProbeView of a probe that was given; None without sentences."
    )

    # Input that the figures show. While the model reads a new input, the figures show the old one.
    _shown = traitlets.Dict().tag(sync=True)
    _notes = traitlets.Dict().tag(sync=True)
    _problems = traitlets.Dict().tag(sync=True)
    # Texts of the buttons in panels without a figure, by panel.
    _offers = traitlets.Dict().tag(sync=True)
    # Panel whose button was clicked.
    _accepted = traitlets.Unicode().tag(sync=True, from_page=True)
    _examples: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    # Kind of second text that the model can read: "pair", "target" or "".
    _second = traitlets.Unicode().tag(sync=True)
    # The page sets this trait when the first figures are drawn.
    _painted = traitlets.Bool(False).tag(sync=True, from_page=True)
    # Number of requests to read the arcs' sentence.
    _sentence_asked = traitlets.Int(0).tag(sync=True, from_page=True)
    # Text of the button for an input that is too long: "read the first 512 tokens", or "".
    _way_out = traitlets.Unicode().tag(sync=True)
    # Number of clicks on this button.
    _way_out_taken = traitlets.Int(0).tag(sync=True, from_page=True)
    # Model that reads the text, and the attention of the text.
    _model: AttentionModel | None
    _of_text: Attention

    @property
    def model(self) -> AttentionModel | None:
        """Model that reads the text; None for an attention without a model."""
        return self._model

    @property
    def children(self) -> dict[str, HeadWidget]:
        """Existing figures, by panel."""
        figures = ((name, getattr(self, name)) for name in PANELS)
        return {name: figure for name, figure in figures if figure is not None}

    @traitlets.validate("scaled_links")
    def _check_links(self, proposal: dict[str, Any]) -> list[ScaledLink]:
        links: list[ScaledLink] = proposal["value"]
        if links:
            try:
                predicted_input(self.attention)
            except (TypeError, ValueError) as error:
                raise traitlets.TraitError(f"'scaled_links': {error}") from None
        return links

    def _parts(self) -> Iterable[HeadWidget]:
        """Return the figures of the panels."""
        return self.children.values()

    def _show_beside_panels(
        self,
        *,
        notes: Mapping[str, str] | None = None,
        problems: Mapping[str, str] | None = None,
        offers: Mapping[str, str] | None = None,
    ) -> None:
        """Set the texts next to the panels, by panel; None keeps the current texts.

        Args:
            notes: Notes next to the names of panels.
            problems: Reasons why panels have no figure of the current input.
            offers: Texts of the buttons in panels without a figure.
        """
        if notes is not None:
            self._notes = dict(notes)
        if problems is not None:
            self._problems = dict(problems)
        if offers is not None:
            self._offers = dict(offers)

    def _key_of_input(self) -> tuple[object, ...] | None:
        """Return a key that identifies the current attention; None if its text is unknown."""
        # After an attention was assigned, `_shown` still has the previous text.
        is_of_text = self.attention.intact is self._of_text.intact
        if not is_of_text or not self._shown.get("text"):
            return None
        # Include the number of tokens, because the model may have generated tokens after the text.
        return (*self._shown.values(), len(self.attention.tokens), self.attention.edits)
