"""AtlasView: table of a model's heads, and the card of the selected head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import traitlets

from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.example_results import ExampleKind
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.advised_error import on_page
from attnwidget.text.counted import counted
from attnwidget.widgets.atlas_view.card_wire import MOST_EXAMPLES, card_to_wire
from attnwidget.widgets.atlas_view.head_rows import COLUMNS, rows_to_wire, shown_rows
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_labels import Notes
from attnwidget.widgets.shared.head_widget import HeadWidget, LayerOptions, StackShapes
from attnwidget.widgets.shared.linking import circle_of
from attnwidget.widgets.shared.opened_example import figures_of_texts, open_example
from attnwidget.widgets.shared.traits import Choice
from attnwidget.widgets.shared.widget_code import chosen_options

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

_KINDS = get_args(ExampleKind)


class AtlasViewOptions(LayerOptions, total=False):
    """Options of an `AtlasView`."""

    table: bool
    search: str
    sort: Literal["head", "name", "strength", "held out", "outcome"]
    descending: bool
    all_scores: bool
    examples: ExampleKind
    n_examples: int
    example: int | None
    notes: Mapping[Any, str] | Sequence[tuple[Any, str]]


class AtlasView(HeadWidget):
    """Table of the heads in an atlas, with the card of the selected head.

    Each row has a head's name, the strength of the name, the held-out score, and the outcome of the
    head's effect. The card has the scores of the head with their controls, its effect on the loss,
    example links, the words that the head writes, and the heads that feed it. Linked figures show
    the head that is selected here, and an example that is opened: they read the text of the example
    and lock the two tokens of the link. Options are the traits, passed as keywords. The head with
    the strongest name is selected by default.

    Args:
        atlas: Atlas from `atlas`, `load_atlas` or `demo.demo_atlas`.

    Raises:
        TypeError: If `atlas` is not an atlas, or if an option is unknown.
        traitlets.TraitError: If the value of an option is out of range.

    Example:
        >>> from attnwidget import AtlasView, atlas, load_model, make_segments
        >>> model = load_model()
        >>> texts = make_segments(["The cat sat on the mat.", "It slept there."] * 4, model)
        >>> found = atlas(model, texts, treebank=(), behaviors=["previous token"], effects=False,
        ...     n_random_models=0, progress=False)
        >>> AtlasView(found, search="previous").to_frame()[["layer", "head", "name"]].head(1)
           layer  head            name
        0      0     2  previous token
    """

    kind = "atlas_view"
    page_label = "atlas of heads"
    page_title = "Atlas of attention heads"
    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "selected": "the head with the strongest name, or [] with `layer`",
        "layer": "the layer of the selected head",
        "notes": "the notes of the atlas",
    }

    atlas = traitlets.Instance(Atlas, help="Atlas of the model.")
    attention = traitlets.Instance(
        Attention,
        allow_none=True,
        help="Attention of your own text, whose links the card shows before the examples; None = "
        "only the examples of the atlas. An explorer sets it to the attention of its text.",
    )
    # An explorer shows only the card, without the table, and reads the text of an opened example.
    table = traitlets.Bool(
        True, help="Whether the table of heads is shown; the card is always shown."
    ).tag(sync=True, option=True, set_by_explorer=True)
    search = traitlets.Unicode(
        help="Text to find in the head's number, name, runner-up, outcome or note; case and spaces "
        "are ignored."
    ).tag(sync=True, option=True)
    sort = Choice(
        COLUMNS, "strength", help="Column to sort by; heads without a value come last."
    ).tag(sync=True, option=True)
    descending = traitlets.Bool(True, help="Whether the largest value comes first.").tag(
        sync=True, option=True
    )
    all_scores = traitlets.Bool(
        False, help="Whether the card has the scores of all behaviors, not only the strongest ones."
    ).tag(sync=True, option=True)
    examples = Choice(
        _KINDS, "strongest", help="Kind of the example links, as in `HeadExamples.links`."
    ).tag(sync=True, option=True)
    n_examples = traitlets.Int(
        6, min=1, max=MOST_EXAMPLES, help="Maximum number of examples on the card."
    ).tag(sync=True, option=True)
    example = traitlets.Int(
        None,
        allow_none=True,
        min=0,
        help="Index of the opened example of the chosen kind, from 0; None = no example. Linked "
        "figures show its text with the link locked.",
    ).tag(sync=True, option=True, set_by_explorer=True)

    notes = Notes(
        help='Notes about heads, for example {(1, 3): "see the examples"}. Use notes[(1, 3)] = "…" '
        "to change a single note. The atlas stores and saves the notes."
    ).tag(
        sync=True,
        option=False,
        from_page=True,
        to_json=lambda notes, widget: notes.pairs(),
    )

    # Reason why the last example could not be opened, or "".
    _refused = traitlets.Unicode().tag(sync=True, from_page=True)

    def __init__(self, atlas: Atlas, **traits: Unpack[AtlasViewOptions]) -> None:
        # The heads that can be selected are known before any trait is set.
        if not isinstance(atlas, Atlas):
            raise TypeError(
                f"AtlasView shows an Atlas, got {type(atlas).__name__}. Make one with "
                "atlas(model), or read one with load_atlas(path)."
            )
        if not {"selected", "layer"} & traits.keys():
            traits["selected"] = _strongest(atlas)
        traits.setdefault("notes", atlas.notes)
        super().__init__(atlas=atlas, **traits)
        self._keep_notes()

    def _given(self) -> dict[str, Any]:
        return {"atlas": YOURS}

    def _chosen(self) -> dict[str, Any]:
        options = chosen_options(self, always=("selected",))
        if self.selected == _strongest(self.atlas):
            del options["selected"]
        return options

    def shapes(self) -> StackShapes:
        n_layers, n_heads = self.atlas.names.shape
        return {"self": (int(n_layers), int(n_heads))}

    @when_open("atlas")
    def _keep_heads(self, change: object) -> None:
        self.selected = [head for head in self.selected if self.has(head)]
        self.layer = min(self.layer, self.n_layers - 1)
        self.notes = self.atlas.notes

    @when_open("notes")
    def _notes_changed(self, change: object) -> None:
        self._keep_notes()

    def _keep_notes(self) -> None:
        """Copy the notes of the figure into the atlas."""
        notes = dict(self.notes)
        self.atlas.notes.clear()
        self.atlas.notes.update(notes)

    @property
    def example_link(self) -> ExampleLink | None:
        """Opened example; None if no example is opened."""
        return None if self.example is None else self._examples()[self.example]

    def _examples(self) -> tuple[ExampleLink, ...]:
        """Return the examples of the chosen kind on the card."""
        if self.head is None:
            return ()
        links = self.atlas.examples.get(Head(*self.head[:2]), {}).get(self.examples, ())
        return tuple(links[:MOST_EXAMPLES])

    @traitlets.validate("example")
    def _check_example(self, proposal: dict[str, Any]) -> int | None:
        number: int | None = proposal["value"]
        count = len(self._examples())
        if number is not None and number >= count:
            raise traitlets.TraitError(
                f"'example' is the number of an example, from 0: {self.head or 'no head'} has "
                f"{counted(count, 'example')} of the kind {self.examples!r}, got {number}"
            )
        return number

    @when_open("atlas", "selected", "examples")
    def _leave_example(self, change: object) -> None:
        self.example = None

    @when_open("example")
    def _open_example(self, change: dict[str, Any]) -> None:
        # Do not hold this figure's lock here, because a linked explorer takes its own lock first.
        self._refused = ""
        link = self.example_link
        if link is None:
            return
        try:
            open_example(figures_of_texts(circle_of(self)), link)
        except Exception as error:
            self.example = None
            self._refused = on_page(error)
            raise

    @computed("atlas")
    def _source(self) -> dict[str, Any]:
        return {
            "model": self.atlas.model_name,
            "note": _note(self.atlas),
            "no_effects": self.atlas.reasons.get("effects", ""),
        }

    @computed("atlas")
    def _heads(self) -> dict[str, Any]:
        return rows_to_wire(self.atlas)

    @computed("atlas", "attention", "selected", page_chooses=("selected",))
    def _card(self) -> dict[str, Any] | None:
        return self._card_of(self.head.layer, self.head.head) if self.head else None

    def _card_of(self, layer: int, head: int) -> dict[str, Any]:
        return card_to_wire(self.atlas.card(layer, head, attention=self.attention))

    def page_part(self) -> Part:
        """Return the saved page's data: the table, and the cards of all heads by page anchor."""
        n_layers, n_heads = self.atlas.names.shape
        cards = {
            f"L{layer}H{head}": self._card_of(layer, head)
            for layer in range(n_layers)
            for head in range(n_heads)
        }
        return replace(super().page_part(), own={"cards": cards})

    def to_frame(self) -> pd.DataFrame:
        """Return the current table rows, sorted, with the columns of the atlas."""
        return shown_rows(self.atlas.to_frame(), self.search, self.sort, self.descending)

    def __repr__(self) -> str:
        n_named = int((self.atlas.names != "").sum())
        selected = ", ".join(map(str, self.selected)) or "none"
        return (
            f"AtlasView({self.atlas.model_name}, {counted(self.atlas.names.size, 'head')}, "
            f"{n_named} named, selected: {selected})"
        )


def _strongest(atlas: Atlas) -> list[Head]:
    """Return a list with the head that has the strongest name; [] if no head has a name."""
    rows = shown_rows(atlas.to_frame(), "", "strength", True)
    named_heads = rows.loc[rows["name"] != "", ["layer", "head"]].head(1)
    return [Head(int(layer), int(head)) for layer, head in named_heads.to_numpy()]


def _note(atlas: Atlas) -> str:
    """Return the caption note about the data and the tests of an atlas."""
    table = atlas.table
    notes = [
        counted(table.n_segments, "text"),
        f"names: Holm-corrected p up to {table.alpha:g}, strength {table.min_strength:g} or more",
    ]
    if not atlas.complete:
        notes.append("interrupted")
    return " · ".join(notes)
