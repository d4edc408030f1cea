"""Explorer: a text, a model and all that the package shows of them, in one linked widget."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import traitlets

from attnwidget.capture.attention import Attention
from attnwidget.capture.comparable import refuse_incomparable
from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.probes.dependency_results import DependencyProbe
from attnwidget.probes.structural_result import StructuralProbe
from attnwidget.studies.progress_bar import said_when_slow
from attnwidget.text.counted import counted
from attnwidget.widgets.explorer.examples import (
    Story,
    examples_for,
    is_embedded,
    reads_pairs,
    reads_target,
    sharpest_head,
    story_of,
)
from attnwidget.widgets.explorer.relation_panels import RelationPanels
from attnwidget.widgets.head_grid.widget import CHANGE


def explore(
    model: Any = None,
    text: str | None = None,
    *,
    pair: str | None = None,
    target: str | None = None,
    versus: Any = None,
    versus_text: str | None = None,
    treebank: Any = None,
    probe: DependencyProbe | StructuralProbe | None = None,
    metrics: Any = None,
    **traits: Any,
) -> Explorer:
    """Everything about a text in one widget: all heads, one head, and how heads compare.

    Choose an example or edit the text and run it, step through the layers, select heads in any
    panel: all follow. What takes longer (how far heads are from each other, how well they predict
    relations) is measured once the figure is on the page, or by `wait()`.

    On the embedded model an example shows its head, with a word locked and a line on what there is
    to see. Elsewhere the head shown first is the one that looks most sharply at other words: the
    mean over words of the largest weight that a word gives to another one, above what that other
    one gets from all words on average, is the largest. Special tokens, punctuation, a word itself
    and its neighbours do not count. `selected` or `layer` choose another.

    Args:
        model: what `load_model` gave or takes; None = the embedded one.
        text: None = that of `example`, by default the first of `demo_texts()`.
        pair: the second sentence, for models trained on pairs.
        target: what the decoder of an encoder-decoder reads; None = what the model writes.
        versus: a second model, what `load_model` gave or takes: it reads the same text; grid and
            view show what is different, the first model minus this one.
        versus_text: a second text, which is read beside the first: by the second model, or by the
            same one.
        treebank: what relations are measured on: the path of a CoNLL-U file, a list of `Sentence`s,
            what `probe_relations` found, or `(accuracies, sentences)`; True = `demo_treebank()`,
            which None is too for the embedded model, while for others the page offers to measure
            it; False = no relations.
        probe: what `train_probe` or `structural_probe` gave: the arcs are what it answers, in place
            of the shown head; a structural one answers for the stepped layer.
        metrics: what `HeadGrid` takes, such as the result of `measure`; the distances between heads
            in it make the map. None = measured on the text shown, and the panels say so.
        traits: options of the explorer: `example`, `selected`, `layer`, `quantity`, `tab`, …

    Raises:
        ValueError: a text that is empty or too long for the model, a treebank without sentences, a
            text beside an example, a second model of another shape, texts without a common token,
            a probe of another model.
        TypeError: an unknown option, or a treebank of another form.
        traitlets.TraitError: an option out of range, metrics that do not fit the model.
        OSError: no such model, or a file that cannot be read.

    Example:
        >>> from attnwidget.widgets.explorer.widget import explore
        >>> explorer = explore(example="passive")
        >>> explorer.wait()
        True
        >>> explorer.choose("det")
        >>> explorer.grid.selected == explorer.view.selected == explorer.selected
        True
        >>> explorer.close()
    """
    options = {"pair": pair, "target": target, "treebank": treebank, "metrics": metrics}
    options |= {"versus": versus, "versus_text": versus_text, "probe": probe}
    with said_when_slow("Reading the text …"):
        return Explorer(model, text, **options, **traits)


class Explorer(RelationPanels):
    """A text with examples, one row of controls and linked figures; `explore` says the rest.

    `grid`, `view`, `lens`, `strip`, `head_map`, `table` and `arcs` are widgets with options of
    their own, such as `explorer.view.mode = "matrix"`. The last five are None until the first two
    are on the page and the others measured, `table` and `arcs` also without a treebank. Assign
    `example`, `text`, `pair` or `target` to read another input: one that the model cannot read
    raises ValueError, and what was shown stays.

    Example:
        >>> from attnwidget.widgets.explorer.widget import Explorer
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

    text = traitlets.Unicode(help="The text that the model reads; assign another one.").tag(
        sync=True
    )
    pair = traitlets.Unicode(
        None, allow_none=True, help="The second sentence, for models trained on pairs, or None."
    ).tag(sync=True)
    target = traitlets.Unicode(
        None,
        allow_none=True,
        help="What the decoder of an encoder-decoder reads; None for what the model writes.",
    ).tag(sync=True)
    versus_text = traitlets.Unicode(
        None,
        allow_none=True,
        help="The text that the other attention is of, where two are compared; None for the same.",
    ).tag(sync=True)
    example = traitlets.Unicode(
        None,
        allow_none=True,
        help="The name of the demonstration text that is shown, or None; assign another one.",
    ).tag(sync=True)

    # The examples that there are, and what is to be seen in the text while its head is shown.
    _examples: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    _look = traitlets.Unicode().tag(sync=True)
    # The second text that the model can read: "pair", "target" or "".
    _second = traitlets.Unicode().tag(sync=True)
    # Set by the page when the first figures are drawn.
    _painted = traitlets.Bool(False).tag(sync=True)
    # Counts how often a reader has asked for the sentence of the arcs.
    _sentence_asked = traitlets.Int(0).tag(sync=True)

    # The thread that sets several parts of an input, which are read together.
    _wishing = 0

    def __init__(
        self,
        model: Any = None,
        text: str | None = None,
        *,
        pair: str | None = None,
        target: str | None = None,
        versus: Any = None,
        versus_text: str | None = None,
        treebank: Any = None,
        probe: DependencyProbe | StructuralProbe | None = None,
        metrics: Any = None,
        _figures: Mapping[str, dict[str, Any]] | None = None,
        **traits: Any,
    ) -> None:
        self._refuse_unknown(traits)
        loaded = model if isinstance(model, AttentionModel) else load_model(model)
        self._demos = examples_for(loaded)
        self._story: Story | None = None
        name = traits.pop("example", None)
        if text is None:
            name = name or next(iter(self._demos), None)
            demo = self._demos[self._named_example(name)]
            text, pair = demo.text, demo.pair if pair is None else pair
        elif name is not None:
            demo = self._demos[self._named_example(name)]
            if (text, pair or None) != (demo.text, demo.pair):
                raise ValueError(f"the example {name!r} has a text of its own: pass one of the two")
        shown = {"text": text, "pair": pair, "target": target, "versus_text": versus_text}
        attention = _attention(loaded, shown)
        if versus is not None and not isinstance(versus, AttentionModel):
            versus = load_model(versus)
        self._versus_model: AttentionModel | None = versus
        other = (
            _compared_with(versus or loaded, attention, shown) if versus or versus_text else None
        )
        if is_embedded(loaded) and name is not None and (text, pair) == (demo.text, demo.pair):
            self._story = story_of(attention, demo)
        chooses = {"selected", "layer"} & traits.keys()
        if not chooses and self._story is None:
            self._story = sharpest_head(attention)
        stack = next(iter(attention.stacks))
        if self._story is not None and not chooses:
            story = self._story
            own = {"tokens": list(story.tokens), "hidden": list(story.hidden)}
            traits = {"selected": [story.head], **own, **traits}
        traits.setdefault("selected", [(traits.get("layer", 0), 0, stack)])
        self._examples = [
            {"name": one.name, "text": one.text, "pair": one.pair} for one in self._demos.values()
        ]
        self._second = (
            "target" if reads_target(loaded) else "pair" if pair or reads_pairs(loaded) else ""
        )
        options = {**shown, "example": name, **traits}
        own_probe = None if probe is None else probe.of_model(loaded)
        given = treebank, own_probe, metrics
        super().__init__(loaded, attention, *given, options, dict(_figures or {}))
        if other is not None:
            self.grid.versus = self.view.versus = other
            self.grid.metric = self.grid.metric or CHANGE

    def _named_example(self, name: object) -> str:
        """The name of an example that there is; TraitError for another one."""
        if not isinstance(name, str) or name not in self._demos:
            there = ", ".join(map(repr, self._demos)) or "none without a tokenizer"
            raise traitlets.TraitError(f"'example' is one of {there}; got {name!r}")
        return str(name)

    @traitlets.validate("example")
    def _check_example(self, proposal: dict[str, Any]) -> str | None:
        name = proposal["value"]
        return None if name is None else self._named_example(name)

    def read_sentence(self) -> None:
        """Read the sentence of the arcs: all figures speak of one.

        Raises:
            RuntimeError: there are no arcs.
        """
        if self.arcs is None:
            raise RuntimeError("there are no arcs, whose sentence could be read")
        text = self.arcs.sentences[self.arcs.sentence].text
        with self._answering():
            self._wish({"text": text, "pair": None, "target": None, "versus_text": None})
            self._read()

    @traitlets.observe("_sentence_asked")
    def _asked_for_sentence(self, change: object) -> None:
        self.read_sentence()

    @traitlets.observe("example")
    def _read_example(self, change: object) -> None:
        if not self._shown or self.example is None:
            return
        with self._answering():
            before, demo = self._asked(), self._demos[self.example]
            asked = {"text": demo.text, "pair": demo.pair, "target": None, "versus_text": None}
            known = asked == self._shown
            attention = self.attention if known else _attention(self._model, asked)
            # Another text that was asked for meanwhile comes next.
            if before == self._asked():
                self._show(attention, asked)

    @traitlets.observe("text", "pair", "target", "versus_text")
    def _read_again(self, change: object) -> None:
        if self._shown and self._wishing != threading.get_ident():
            with self._answering():
                self._read()

    def _read(self) -> None:
        """Read what is asked for, and show it."""
        # Taken once: another text may be asked for while this one is read, and comes after it.
        asked = self._asked()
        if asked != self._shown:
            attention = _attention(self._model, asked)
            if asked == self._asked():
                self._show(attention, asked)

    def _wish(self, asked: Mapping[str, Any]) -> None:
        """Ask for an input, all of it at once."""
        self._wishing = threading.get_ident()
        try:
            for name, value in asked.items():
                setattr(self, name, value)
        finally:
            self._wishing = 0

    def _asked(self) -> dict[str, str | None]:
        """The input that is wished for."""
        asked = {"text": self.text, "pair": self.pair, "target": self.target}
        return {name: text or None for name, text in asked.items()} | {
            "text": self.text,
            "versus_text": self.versus_text or None,
        }

    def show(
        self,
        attention: Attention,
        text: str = "",
        pair: str | None = None,
        target: str | None = None,
    ) -> None:
        """Show an attention in all figures, with the text that it is of; "" where none is known.

        Example:
            >>> from attnwidget.widgets.explorer.widget import Explorer
            >>> explorer = Explorer(text="The cat sat.", treebank=False)
            >>> text = "The cat sat on the mat."
            >>> explorer.show(explorer.model.attend(text), text)
            >>> explorer.text, len(explorer.attention.tokens)
            ('The cat sat on the mat.', 9)
            >>> explorer.close()
        """
        with self._answering():
            shown = {"text": text, "pair": pair, "target": target, "versus_text": None}
            self._show(attention, shown)

    def _show(self, attention: Attention, shown: dict[str, Any]) -> None:
        """All figures change at once: one computation and one message each, this one's the last."""
        model = self._versus_model or self._model
        compares = shown["text"] and (self._versus_model or shown["versus_text"])
        # Before anything has changed: another text may be one that cannot be compared.
        other = _compared_with(model, attention, shown) if compares else None
        if self.disabled:
            # Before anything has changed: another input may be one that no model can read again.
            attention = attention.without(self.disabled, self.method)
        demo = self._demos.get(self.example or "")
        tells = demo is not None and (demo.text, demo.pair) == (shown["text"], shown["pair"])
        with ExitStack() as figures:
            for figure in self._of_attention():
                figures.enter_context(figure._together())
            # First, so that the observers of the others find nothing to do.
            self._shown = shown
            self._of_text = attention
            self._wish(shown)
            before, self._story = self._story, None
            self.attention = attention
            self.grid.versus = self.view.versus = other
            # What was hidden to see something in another text is shown again.
            if before is not None and tuple(self.hidden) == before.hidden:
                self.hidden = []
            if not tells:
                self.example = None
            elif demo is not None and is_embedded(self._model):
                self._story = story = story_of(attention, demo)
                self.selected = [story.head]
                self.tokens, self.hidden = list(story.tokens), list(story.hidden)
            else:
                self.tokens = []
            self._tell()

    @traitlets.observe("selected", "hidden")
    def _tell_again(self, change: object) -> None:
        if self._shown:
            self._tell()

    def _tell(self) -> None:
        self._look = self._story.told(self.head, self.hidden) if self._story else ""

    @traitlets.observe("attention")
    def _show_assigned(self, change: object) -> None:
        """An attention that was assigned is of no text that is known here."""
        if self._shown and self.attention.intact is not self._of_text.intact:
            self.show(self.attention)

    def _compute(self) -> None:
        if not self._shown:
            self._shown = self._asked()
            self._of_text = self.attention
            self._tell()

    @traitlets.observe("_painted")
    def _begin_measuring(self, change: object) -> None:
        self._background.start()

    def _code(self) -> str:
        from attnwidget.widgets.explorer.code import code_of_explorer

        return code_of_explorer(self, self._shown)

    def to_state(self) -> dict[str, Any]:
        """All that is chosen and shown, as JSON: `Explorer.from_state` shows it again.

        What was measured, the model and the treebank are not in it, only their names and sizes.

        Raises:
            ValueError: an attention was assigned, which is of no text.

        Example:
            >>> import json
            >>> from attnwidget.widgets.explorer.widget import Explorer
            >>> explorer = Explorer(text="The cat sat.", treebank=False, selected=[(2, 4)])
            >>> kept = json.dumps(explorer.to_state())
            >>> again = Explorer.from_state(json.loads(kept))
            >>> again.text, str(again.head)
            ('The cat sat.', 'L2 H4')
            >>> again.close(), explorer.close()
            (None, None)
        """
        from attnwidget.widgets.explorer.state import state_of

        return state_of(self, self._shown)

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        model: Any = None,
        *,
        versus: Any = None,
        treebank: Any = None,
        probe: DependencyProbe | StructuralProbe | None = None,
        metrics: Any = None,
    ) -> Explorer:
        """The explorer that `to_state` described, in this session or another.

        Args:
            state: what `to_state` gave, also after a way through JSON.
            model: What `explore` takes. None loads a model of the package, if the state is of one.
                Any other model is passed again: a state, which may come from a stranger, must not
                decide which folder is read or what is fetched from the hub.
            versus: The second model, as `model`, if the state compares two.
            probe: The probe of the state, if it had one.
            treebank: The treebank of the state, if it had another one than that of the package.
            metrics: The metrics of the state, if it had any.

        Raises:
            ValueError: Not the state of an explorer, or one of another version; a model, treebank,
                probe or metrics that are missing or not those of the state.
            OSError: A model or a treebank that was passed cannot be read.
        """
        from attnwidget.widgets.explorer.state import restored

        return restored(cls, state, model, versus, treebank, probe, metrics)

    def _drawn_state(self) -> dict[str, Any]:
        drawn = {
            name: {"figure": child.kind, "state": child._drawn_state()}
            for name, child in self.children.items()
            if name in self.panels and name in ("grid", "view", self.tab)
        }
        return super()._drawn_state() | {"_drawn": drawn}

    def __repr__(self) -> str:
        waits = f", measuring {', '.join(self.progress)}" if self.progress else ""
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"Explorer({self._model.name}, {counted(len(self.attention.tokens), 'token')}, "
            f"selected: {chosen}{waits})"
        )


def _compared_with(
    model: AttentionModel, attention: Attention, asked: Mapping[str, Any]
) -> Attention:
    """What is compared with an attention: the other text, or what another model sees in it."""
    other = _attention(model, {**asked, "text": asked["versus_text"] or asked["text"]})
    if attention.is_long or other.is_long:
        longest = max(len(one.tokens) for one in (attention, other))
        raise ValueError(
            f"comparing needs whole maps, which are not made of an input of {longest:,} tokens: "
            "shorten the text"
        )
    refuse_incomparable(attention.stacks, other.stacks)
    return other


def _attention(model: AttentionModel, asked: Mapping[str, Any]) -> Attention:
    """What a model sees in an input."""
    options = {"target": asked["target"]} if asked["target"] else {}
    return model.attend(asked["text"], asked["pair"], **options)
