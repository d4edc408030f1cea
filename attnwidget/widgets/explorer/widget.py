"""Explorer: all figures of a text and a model, linked in one widget."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import traitlets

from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.capture.load import load_model
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.progress_bar import said_when_slow
from attnwidget.inputs.text_encoder import TooLongError
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.text.near_names import among
from attnwidget.widgets.explorer.examples import (
    examples_for,
    reads_pairs,
    reads_target,
)
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure, ExplorerOptions
from attnwidget.widgets.explorer.explorer_page import page_part_of
from attnwidget.widgets.explorer.figure_set import FigureSet
from attnwidget.widgets.explorer.given_text import (
    model_and_text,
    shown_text,
    with_media_of,
)
from attnwidget.widgets.explorer.head_names import HeadNames
from attnwidget.widgets.explorer.own_choice import OwnChoice, unknown_of
from attnwidget.widgets.explorer.panel_status import PanelStatus
from attnwidget.widgets.explorer.panels import (
    COMPARISON_PART_AT_FIRST,
    DETAILS,
    OF_TEXT,
    OF_TREEBANK,
    TAB_NAMES,
)
from attnwidget.widgets.explorer.read_input import (
    NO_READER,
    attention_of,
    checked_max_tokens,
    compared_with,
    has_words,
    without_empty,
    without_model,
)
from attnwidget.widgets.explorer.relations import RelationPanels
from attnwidget.widgets.explorer.shortened_text import can_be_shortened, shortened
from attnwidget.widgets.explorer.text_measures import TextMeasures
from attnwidget.widgets.head_grid import CHANGE, HeadGrid
from attnwidget.widgets.head_view.widget import HeadView
from attnwidget.widgets.pages.page_part import Page
from attnwidget.widgets.prediction_view.locked_link import locked_pair
from attnwidget.widgets.prediction_view.scaled_links import links_in_head
from attnwidget.widgets.shared.attention_widget import AttentionWidget, Edit, attention_shapes
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.background_answers import BackgroundAnswers
from attnwidget.widgets.shared.computed import changed_together, computed, when_open
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.page_changes import changed_by_page
from attnwidget.widgets.shared.places import contents_note

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Seconds that a file waits for measurements.
_PATIENCE = 120
#: Delay in seconds before closed tabs are updated, and before the notebook's picture is redrawn.
_PAUSE = 0.3


class Explorer(BackgroundAnswers, ExplorerFigure):
    """Text with examples, one row of controls, and linked figures. See `explore`.

    `grid`, `view`, `head_scatter`, `predictions`, `why`, `card`, `table` and `arcs` are widgets
    with options, for example `explorer.view.mode = "matrix"`. `grid` and `view` exist from the
    start. The other figures are None until the page has drawn the grid and the view and the data
    have been measured. `table` and `arcs` stay None without a treebank, and `card` without an
    atlas.

    Assign `example`, `text`, `pair` or `target` to read another input. If the model cannot read an
    input, ValueError is raised and the figures do not change. Predictions need another forward
    pass. While their tab is closed, they are updated after the other figures; `wait()` also waits
    for this pass.

    Example:
        >>> from attnwidget import Explorer
        >>> explorer = Explorer(text="The cat sat.", treebank=False)
        >>> explorer.text = "The cat sat on the mat."
        >>> len(explorer.attention.tokens), explorer.table
        (9, None)
        >>> explorer.example = "pronouns"
        >>> str(explorer.head), explorer.tokens
        ('L1 H3', [('query', 7)])
        >>> explorer.close()
    """

    kind = "explorer"
    page_title = "Attention heads"
    jobs = ("card", "closed tabs", "text", "effects", "treebank", "picture")

    # Whether to return to the unit "words" when a text has words again.
    _is_word_by_word: bool = False

    def __init__(
        self,
        model: Any = None,
        text: Any = None,
        *,
        pair: str | None = None,
        target: str | None = None,
        versus: Any = None,
        versus_text: str | None = None,
        max_new_tokens: int | None = None,
        treebank: Any = None,
        probe: DependencyProbe | StructuralProbe | None = None,
        metrics: Any = None,
        atlas: Atlas | Literal[False] | None = None,
        **options: Unpack[ExplorerOptions],
    ) -> None:
        self._refuse_unknown(options)
        traits: dict[str, Any] = {**options, "max_new_tokens": max_new_tokens}
        self._refuse_no_choices(traits)
        if versus_text is not None and not isinstance(versus_text, str):
            raise TypeError(f"versus_text must be a string, got {type(versus_text).__name__}")
        if probe is not None and not isinstance(probe, (DependencyProbe, StructuralProbe)):
            raise TypeError(
                f"probe= takes a DependencyProbe or a StructuralProbe, got {type(probe).__name__}: "
                "make one with train_dependency_probe or train_structural_probe"
            )
        loaded, text = model_and_text(model, text)
        others = {"pair": pair, "target": target, "versus": versus, "versus_text": versus_text}
        others["max_new_tokens"] = max_new_tokens
        text = shown_text(loaded, text, others)
        self._demos = examples_for(loaded)
        name, text, pair = self._example_or_text(traits.pop("example", None), text, pair)
        inputs = {"text": text, "pair": pair, "target": target, "versus_text": versus_text}
        max_tokens = checked_max_tokens(max_new_tokens)
        began = time.perf_counter()
        attention = attention_of(loaded, inputs, max_tokens)
        seconds = time.perf_counter() - began
        self._model = loaded
        self._shown = without_empty(inputs)
        self._of_text = attention
        if versus is not None and not isinstance(versus, AttentionModel):
            versus = load_model(versus)
        self._versus_model: AttentionModel | None = versus
        # Attention to compare with.
        self._other: Attention | None = None
        other = (
            compared_with(versus or self._reader, attention, inputs, max_tokens)
            if versus or versus_text
            else None
        )
        # Generation steps are steps between tokens, so generated texts use tokens.
        self._is_word_by_word = max_tokens is None and traits.get("unit", "words") == "words"
        by_words = max_tokens is None and has_words(attention)
        traits.setdefault("unit", "words" if by_words else "tokens")
        user_chooses_head = bool({"selected", "layer"} & traits.keys())

        self._status = PanelStatus(self)
        self._figures = FigureSet(self)
        parts = self._figures, self._status, self._background
        self._names = HeadNames(
            self,
            *parts,
            loaded,
            atlas,
            attention_shapes(attention),
            seconds_per_token=seconds / len(attention.tokens),
        )
        if probe is not None:
            probe = probe.for_model(self._reader)
        self._names.add_rules(attention)
        self._relations_found = RelationPanels(self, *parts, loaded, treebank, probe)
        self._measures = TextMeasures(self, *parts, metrics, self._names)

        self._own = OwnChoice(self, self._figures, self._names)
        demo = None if name is None else self._demos[name]
        is_example_text = demo is not None and (text, pair) == (demo.text, demo.pair)
        traits.update(
            self._own.first(
                attention, demo if is_example_text else None, traits, compares=other is not None
            )
        )
        self._examples = [
            {"name": example.name, "text": example.text, "pair": example.pair}
            for example in self._demos.values()
        ]
        self._second = (
            "target" if reads_target(loaded) else "pair" if pair or reads_pairs(loaded) else ""
        )
        self._open(attention, metrics, {**inputs, "example": name, **traits})
        if self._names.by_head:
            self.labels = self._names.by_head | dict(self.labels)
        if other is not None:
            selected = self.selected
            self._compare_with(other, opens=True)
            self.tokens = traits.get("tokens", self.tokens)
            if user_chooses_head:
                self.selected = selected
                self._own.heads = None

    @property
    def _reader(self) -> AttentionModel:
        """Model that reads texts.

        Raises:
            ValueError: If the explorer shows an attention without a model.
        """
        if self._model is None:
            raise ValueError(f"{NO_READER}: explore(model, text) opens an explorer with a model")
        return self._model

    def _refuse_no_choices(self, traits: dict[str, Any]) -> None:
        """Raise TraitError for an invalid value of an option.

        Otherwise the grid would raise the error for shared options, and the message would name the
        grid.
        """
        for name, trait in self.traits().items():
            if isinstance(trait, traitlets.Enum) and traits.get(name) is not None:
                trait.validate(self, traits[name])

    def _example_or_text(
        self, name: str | None, text: Any, pair: str | None
    ) -> tuple[str | None, Any, str | None]:
        """Return the name of the example or None, the text and the second sentence.

        Raises:
            ValueError: If the text is not the text of the example, or if there is no example.
        """
        if text is None:
            name = name or next(iter(self._demos), None)
            if name is None:
                raise ValueError(
                    "there is no example for a model without a tokenizer: pass an input, for "
                    "example images=..., audio=... or a list of vocabulary ids"
                )
            demo = self._demos[self._named_example(name)]
            return name, demo.text, demo.pair if pair is None else pair
        if name is None:
            return None, text, pair
        demo = self._demos[self._named_example(name)]
        if (text, pair or None) != (demo.text, demo.pair):
            raise ValueError(f"the example {name!r} has a text of its own: pass one of the two")
        return name, text, pair

    def _open(self, attention: Attention, metrics: Any, traits: dict[str, Any]) -> None:
        """Open this widget with the grid and the view, and start the measurements."""
        # Do not pass the layer, because it follows the selected heads.
        shared_names = (
            set(HeadGrid.shared_traits()) - HeadGrid.class_traits(follows_selection=True).keys()
        )
        shared = {name: value for name, value in traits.items() if name in shared_names}
        panels: list[HeadWidget] = []
        try:
            panels.append(HeadGrid(attention, metrics=metrics, **shared))
            panels.append(HeadView(attention, comparison_part=COMPARISON_PART_AT_FIRST, **shared))
            super().__init__(attention, **traits)
        except Exception:
            for child in panels:
                child.close()
            raise
        try:
            with self._lock, self.together():
                self._figures.adopt("grid", panels[0])
                self._figures.adopt("view", panels[1])
                self._measures.begin()
                self._names.begin()
                self._relations_found.begin()
        except Exception:
            self.close()
            panels[1].close()
            raise

    @property
    def atlas(self) -> Atlas | None:
        """Atlas of the heads, which was passed, loaded or made here; None without names.

        `explorer.atlas.save("atlas.json")` saves the atlas, and
        `explore(model, atlas=load_atlas("atlas.json"))` shows it again.
        """
        return self._names.atlas

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is measured.

        Slow effects of heads are measured only on request, with `explorer.predictions.wait()`.

        Args:
            timeout: Time limit in seconds; None = no limit.

        Returns:
            False if the time limit was reached, otherwise True.

        Raises:
            Exception: If a measurement fails. Its panel shows the error too.
        """
        limit = None if timeout is None else time.monotonic() + timeout
        wait_functions = [self._background.wait, self._names.wait]
        if self._background.wait(timeout) and self.predictions is not None:
            # Wait for the effects first, because they become a metric of the grid.
            wait_functions = [self.predictions._wait_for_what_began, *wait_functions]
        if self.why is not None:
            wait_functions.append(self.why.wait)
        return all(
            wait(None if limit is None else max(0, limit - time.monotonic()))
            for wait in wait_functions
        )

    def choose(self, relation: str) -> None:
        """Choose a relation and its best head, like a click on a row of the table.

        The arcs show a sentence on which this head is right.

        Args:
            relation: Name of the relation.

        Raises:
            traitlets.TraitError: If there is no such relation.
            RuntimeError: If the relations are not measured yet, or if there is no treebank.
        """
        self._relations_found.choose(relation)

    def name_heads(self) -> None:
        """Start to test what every head does, like the button "name the heads".

        The tests take minutes in the background, and `wait()` waits for them. The names become
        labels and are shown in the line about the head. The tab "this head" has the card of the
        current head, and `atlas` has all results.

        Raises:
            RuntimeError: If the heads have names, or if the model reads no texts.
        """
        if self.atlas is not None or not self._status.offers("card"):
            raise RuntimeError(
                "the heads of this explorer have names, are being named, or belong to a model that "
                "reads no texts"
            )
        self._names.accept()

    def keep_names(self) -> Path:
        """Store the names of heads for the next explorer of this model, and return their file.

        The file is in the Hugging Face cache, and is identified by the weights of the model. Delete
        the file to remove the names.

        Raises:
            ValueError: If the heads have no names.
            OSError: If the file cannot be written; use `atlas.save` to write it elsewhere.
        """
        return self._names.keep()

    def _named_example(self, name: object) -> str:
        """Return the name if there is an example of this name, or raise TraitError."""
        if not isinstance(name, str) or name not in self._demos:
            suggestion = among(name, self._demos) if self._demos else "there is no tokenizer"
            raise traitlets.TraitError(f"there is no 'example' {name!r}: {suggestion}")
        return str(name)

    @traitlets.validate("example")
    def _check_example(self, proposal: dict[str, Any]) -> str | None:
        name = proposal["value"]
        return None if name is None else self._named_example(name)

    def read_sentence(self) -> None:
        """Read the sentence of the arcs, so that all figures show the same sentence.

        Raises:
            RuntimeError: If the explorer has no arcs.
        """
        if self.arcs is None:
            raise RuntimeError(
                "the explorer has no arcs, so there is no sentence to read: pass treebank="
            )
        text = self.arcs.sentences[self.arcs.sentence].text
        texts = {"text": text, "pair": None, "target": None, "versus_text": None}
        with self._lock, self._answering():
            self._show(attention_of(self._model, texts, self.max_new_tokens), texts)

    @when_open("_sentence_asked")
    def _asked_for_sentence(self, change: object) -> None:
        self.read_sentence()

    @when_open("example")
    def _read_example(self, change: object) -> None:
        if self.example is None:
            return
        with self._lock, self._answering():
            request = self._asked()
            demo = self._demos[self.example]
            texts = {"text": demo.text, "pair": demo.pair, "target": None, "versus_text": None}
            is_shown = texts == self._shown
            attention = (
                self.attention
                if is_shown
                else attention_of(self._model, texts, self.max_new_tokens)
            )
            # If another text was requested during the pass, it is read next.
            if request == self._asked():
                self._show(attention, texts)

    @when_open("text", "pair", "target", "versus_text")
    def _read_again(self, change: object) -> None:
        with self._lock, self._answering():
            # Read the request once. A request during the pass is handled afterwards.
            texts = self._asked()
            self._way_out = ""
            if texts == self._shown:
                return
            try:
                attention = attention_of(self._model, texts, self.max_new_tokens)
                if texts == self._asked():
                    self._show(attention, texts)
            except TooLongError as error:
                if can_be_shortened(self._reader, texts):
                    self._way_out = f"read the first {error.limit:,} tokens"
                raise

    @when_open("max_new_tokens")
    def _write_on(self, change: object) -> None:
        """Generate more or fewer tokens after the current text."""
        texts = self._asked()
        if texts["text"]:
            with self._lock, self._answering():
                self._show(attention_of(self._model, texts, self.max_new_tokens), texts)

    @when_open("_way_out_taken")
    def _read_beginning(self, change: object) -> None:
        """Read as much of the requested input as the model can read."""
        if self._way_out:
            with self.hold_trait_notifications():
                for name, text in shortened(self._reader, self._asked()).items():
                    setattr(self, name, text)

    def _asked(self) -> dict[str, str | None]:
        """Return the requested input. A typed text keeps the pictures of the current text."""
        inputs = {name: getattr(self, name) for name in self._shown}
        inputs["text"] = with_media_of(inputs["text"], self._shown["text"])
        return without_empty(inputs)

    def show(
        self,
        attention: Attention,
        text: str = "",
        pair: str | None = None,
        target: str | None = None,
    ) -> None:
        """Show an attention in all figures.

        Args:
            attention: Attention to show.
            text: Text of the input; "" if unknown.
            pair: Second sentence, or None.
            target: Text of the decoder, or None.

        Example:
            >>> from attnwidget import Explorer
            >>> explorer = Explorer(text="The cat sat.", treebank=False)
            >>> text = "The cat sat on the mat."
            >>> explorer.show(explorer.model.attend(text), text)
            >>> explorer.text, len(explorer.attention.tokens)
            ('The cat sat on the mat.', 9)
            >>> explorer.close()
        """
        if not isinstance(attention, Attention):
            raise TypeError(
                f"show takes an Attention, got {type(attention).__name__}: make one with "
                "explorer.model.attend(text), or assign explorer.text"
            )
        with self._lock, self._answering():
            inputs = {"text": text, "pair": pair, "target": target, "versus_text": None}
            self._show(attention, without_empty(inputs))

    def _show_input(self, attention: Attention, text: str, pair: str | None) -> None:
        self.show(attention, text, pair)

    def _show(self, attention: Attention, shown: dict[str, Any]) -> None:
        """Change all figures together, with one computation and one message per figure.

        The explorer's message comes last.
        """
        compares = shown["text"] and (self._versus_model or shown["versus_text"])
        # Compare before anything changes, because the comparison may fail.
        count = self.max_new_tokens
        other = None
        if compares:
            model = self._versus_model or self._reader
            other = compared_with(model, attention, shown, count)
        self._names.add_rules(attention)
        if self.disabled:
            # Switch heads off before anything changes, because this can fail too.
            attention = attention.disabled(self.disabled, self.method)
        demo = self._demos.get(self.example or "")
        is_example_text = demo is not None and (demo.text, demo.pair) == (
            shown["text"],
            shown["pair"],
        )
        self._figures.let_closed_tabs_wait()
        self._background.add("closed tabs", self._closed_tabs_job(), delay=_PAUSE)

        def change() -> None:
            # Set this trait first: observers of the other traits compare with it, and then do
            # nothing.
            self._shown = shown
            self._of_text = attention
            had_words, now_words = map(has_words, (self.attention, attention))
            is_own = self._own.is_head_own
            if had_words:
                self._is_word_by_word = self.unit == "words"
            if not now_words:
                self._figures.give("unit", "tokens")
            self.attention = attention
            if now_words and not had_words and self._is_word_by_word:
                self._figures.give("unit", "words")
            if not is_example_text:
                self.example = None
            self._compare_with(other, opens=is_own)
            if other is None:
                self._own.tell(attention, demo if is_example_text else None, opens=is_own)
            # Another thread may have requested a further input, which is then read here.
            with self.hold_trait_notifications():
                for name, value in shown.items():
                    setattr(self, name, value)

        # The last figure answers first, so that grid and view do not wait for predictions.
        changed_together([self, *reversed(self._attention_panels())], change)

    def _closed_tabs_job(self) -> Job:
        """Update the figures in closed tabs after the visible figures."""
        for name in DETAILS:
            yield partial(self._figures.answer, name)

    def _strongest_in(self, layer: int, stack: str) -> int | None:
        return None if self.grid is None else self.grid._strongest_in(layer, stack)

    @when_open("selected")
    def _note_choice(self, change: object) -> None:
        self._own.note_choice()

    def _compare_with(self, other: Attention | None, *, opens: bool) -> None:
        """Compare with another attention, or end the comparison.

        Args:
            other: Attention to compare with; None = no comparison.
            opens: Whether to select the head with the largest difference. A new comparison always
                does.
        """
        begins = other is not None and self._other is None
        self._other = other
        self.grid.versus = self.view.versus = other
        if other is None or not (begins or opens):
            return
        self._own.open_on_change(other)
        if begins:
            self.grid.metric = self.grid.metric or CHANGE

    # Reactions of the parts to trait changes

    @when_open("attention")
    def _read_another(self, change: object) -> None:
        self._measures.read_another()
        self._names.show_text()

    @when_open("tab")
    def _look_at_tab(self, change: object) -> None:
        if self.tab is not None:
            self._figures.answer(self.tab)
        self._measures.look_at_effects()

    @when_open("scaled_links")
    def _scale_links(self, change: dict[str, Any]) -> None:
        """Answer with these links, and restore the previous links if the model refuses them."""
        if self.predictions is None or not self._figures.is_linked("predictions"):
            return
        with self._lock, self._answering():
            try:
                self.predictions.scaled_links = self.scaled_links
            except Exception:
                self.scaled_links = change["old"]
                raise

    @when_open("selected")
    def _move_cut(self, change: object) -> None:
        """Move the change of the locked pair's link to the head that the page selects.

        A change in one layer moves to the layer of this head. Heads that Python selects leave the
        links as Python assigned them.
        """
        if not (changed_by_page() and self.selected and self.scaled_links):
            return
        head = self.selected[-1]
        link = locked_pair(self.attention, list(self.tokens), self.unit, head.stack)
        if link is not None:
            self.scaled_links = links_in_head(self.scaled_links, (link.query, link.key), head)

    @when_open("tokens")
    def _leave_cut_pair(self, change: object) -> None:
        """Remove the links when the page locks other words, because a cut belongs to its pair."""
        if changed_by_page():
            self.scaled_links = []

    @when_open("unit")
    def _focus_in_unit(self, change: object) -> None:
        are_own = self._own.are_tokens_own
        # Set the unit of the figures first, because locked tokens refer to it.
        self._figures.give("unit", self.unit)
        if are_own:
            self._own.forget_tokens()
        self._own.in_another_unit()

    @traitlets.observe("panels")
    def _open_detail(self, change: object) -> None:
        """Open a tab if there is no other visible panel."""
        if self.tab is None and not {"grid", "view"}.intersection(self.panels):
            self.tab = next((name for name in DETAILS if name in self.panels), None)

    @traitlets.observe("relation")
    def _jump_to_relation(self, change: object) -> None:
        self._relations_found.follow_the_table()

    @traitlets.observe("_accepted")
    def _take_the_offer(self, change: object) -> None:
        if not self._status.offers(self._accepted):
            return
        with self._lock, self.together():
            if self._accepted in OF_TREEBANK:
                self._relations_found.accept()
            elif self._accepted == "predictions":
                self.predictions.measure_effects()
            else:
                self._names.accept()
            self._accepted = ""

    @computed("labels", "card")
    def _tested(self) -> list[dict[str, Any]] | None:
        """Tested names of heads for the page; None with `atlas=False`."""
        return self._names.tested

    @computed("attention", "unit", "labels", "card")
    def _name_links(self) -> dict[str, Any] | None:
        """Links that the tested names describe, for the page; None without names."""
        return self._names.links(self.attention, self.unit)

    @computed("attention")
    def _unknown(self) -> str | None:
        """Token for unknown words in the model's vocabulary."""
        return unknown_of(self._model)

    @computed("attention")
    def _without_model(self) -> str:
        """Sentence about the functions that need a model; "" with a model."""
        return without_model(self._model, self.attention)

    def relations(self) -> tuple[str, ...]:
        return self._relations_found.names

    def _attention_panels(self) -> list[AttentionWidget]:
        return self._figures.of_attention()

    def _prepare(self, attention: Attention, edit: Edit) -> None:
        for figure in self._figures.of_attention():
            figure._prepare(attention, edit)

    @traitlets.observe("progress")
    def _renew_pictures(self, change: dict[str, Any]) -> None:
        """Redraw the notebook's pictures in the background when all measurements are done."""
        if change["old"] and not change["new"]:
            self._background.add("picture", self._picture_job(), delay=_PAUSE)

    def _picture_job(self) -> Job:
        self._renew_kept_pictures()
        yield None

    def _failed(self, job: str, error: Exception) -> None:
        self._status.failed(OF_TREEBANK if job == "treebank" else OF_TEXT, error)

    def close(self) -> None:
        """Stop all measurements and close all figures."""
        # An explorer with invalid arguments is closed too, but has no jobs.
        if hasattr(self, "_measures"):
            self._background.close()
            self._names.close()
            # Wait for a figure that another thread is making. Later no more figures are made.
            with self._lock:
                self._figures.close()
        super().close()

    @when_open("attention")
    def _show_assigned(self, change: object) -> None:
        """Show an assigned attention, whose text is unknown."""
        if self.attention.intact is not self._of_text.intact:
            self.show(self.attention)

    @traitlets.observe("_painted")
    def _begin_measuring(self, change: object) -> None:
        self._background.start()

    def _before_saving(self, page: bool) -> None:
        unfinished = self.progress.keys() & (
            set(self.panels) if page else {self.tab, "predictions"}
        )
        if unfinished and self._background.started:
            # Ignore errors here, because the panels show them.
            with said_when_slow("Waiting for measurements …"), suppress(Exception):
                self.wait(_PATIENCE)

    def _code(self) -> str:
        from attnwidget.widgets.explorer.explorer_code import Arguments, code_of_explorer

        arguments = Arguments(
            shown=self._shown,
            versus=self._versus_model,
            treebank=self._relations_found.treebank,
            offers_treebank=self._status.offers("table"),
            probe=self._relations_found.probe,
            has_metrics=self._measures.are_given,
            atlas=self._names.atlas,
            has_own_atlas=self._names.is_own_atlas,
            shows_effect=self._measures.shows_effect,
        )
        return code_of_explorer(self, arguments)

    def _drawn_state(self) -> dict[str, Any]:
        panels = {
            name: {"figure": child.kind, "state": child._drawn_state()}
            for name, child in self.children.items()
            if name in self.panels and name in ("grid", "view", self.tab)
        }
        answers = self._measures.predictions_of_input
        answers_state = answers._drawn_state() if answers is not None else None
        return super()._drawn_state() | {"_drawn": panels, "_answers": answers_state}

    def page_content(self) -> Page:
        """Return the content of a saved page, with the content of all panels."""
        panels = {name: child for name, child in self.children.items() if name in self.panels}
        parts = {}
        figures = {}
        for panel, child in panels.items():
            for name, part in child.page_content().parts.items():
                # In an explorer, the arcs show a sentence with the chosen relation.
                own_data = {**part.own, "follows": True} if panel == "arcs" else part.own
                parts[name] = replace(part, remark="", own=own_data)
                figures[panel] = name
        parts = {self.kind: page_part_of(self, super().page_part(), figures), **parts}
        input_kind = "input" if self.attention.media else "text"
        missing = without_model(self._model, self.attention).rstrip(".")
        notes = [missing or f"the page has no model: another {input_kind} needs a notebook"]
        if self.attention.media:
            notes.append(contents_note(self.attention.media))
        unfinished = [panel for panel in self.progress if panel in self.panels]
        if unfinished:
            names = ", ".join(TAB_NAMES.get(panel, panel) for panel in unfinished)
            notes.append(f"written before these were measured: {names}")
        # A single short text without a comparison is already visible in the view.
        is_short = self._other is None and not self.attention.is_long
        is_drawn = is_short and "view" in figures
        text = None if is_drawn else "\n".join(filter(None, self._shown.values()))
        return Page(parts, text=text, notes=tuple(notes))

    def __repr__(self) -> str:
        progress = f", measuring {', '.join(self.progress)}" if self.progress else ""
        selected = ", ".join(map(str, self.selected)) or "none"
        name = self.attention.model_name if self._model is None else self._model.name
        return f"Explorer({name}, {self._tokens_read()}, selected: {selected}{progress})"
