"""Explorer: a text, a model and all that the package shows of them, in one linked widget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets

from attnwidget.capture.attention import Attention
from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.text.demonstrations import demo_texts
from attnwidget.widgets.explorer_panels import LinkedPanels
from attnwidget.widgets.explorer_treebank import given_treebank
from attnwidget.widgets.heads import STATIC

if TYPE_CHECKING:
    import pandas as pd

    from attnwidget.figures.caption import Caption
    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.static_figure import StaticFigure


def explore(
    model: Any = None,
    text: str | None = None,
    *,
    pair: str | None = None,
    treebank: Any = None,
    metrics: Any = None,
    **traits: Any,
) -> Explorer:
    """Everything about a text in one widget: all heads, one head, and how heads compare.

    Edit the text and run it again, step through the layers, select heads in any panel: all follow.
    What takes longer (how far heads are from each other, how well they predict relations) is
    measured once the figure is on the page, or by `wait()`.

    Args:
        model: what `load_model` gave or takes; None = the embedded one.
        text: None = the first of `demo_texts()`; on the embedded model its head is selected.
        pair: the second sentence, for models trained on pairs.
        treebank: what relations are measured on: the path of a CoNLL-U file, a list of `Sentence`s,
            what `probe_relations` found, or `(accuracies, sentences)`. None = `demo_treebank()` for
            the embedded model and no relations for others; False = no relations.
        metrics: what `HeadGrid` takes, such as the result of `measure`; the distances between heads
            in it make the map. None = measured on the text shown, and the panels say so.
        traits: options of the explorer: `selected`, `layer`, `quantity`, `relation`, `panels`, …

    Raises:
        ValueError: a text that is empty or too long for the model, a treebank without sentences.
        TypeError: an unknown option, or a treebank of another form.
        traitlets.TraitError: an option out of range, metrics that do not fit the model.
        OSError: no such model, or a file that cannot be read.

    Example:
        >>> from attnwidget.widgets.explorer import explore
        >>> explorer = explore(text="The cat sat on the mat.", selected=[(2, 4)])
        >>> explorer.wait()
        True
        >>> explorer.choose("det")
        >>> explorer.grid.selected == explorer.view.selected == explorer.selected
        True
        >>> explorer.close()
    """
    return Explorer(model, text, pair=pair, treebank=treebank, metrics=metrics, **traits)


class Explorer(LinkedPanels):
    """A text box, a layer stepper and six linked figures; made by `explore`, which says the rest.

    `grid`, `view`, `head_map`, `strip`, `table` and `arcs` are widgets with options of their own,
    such as `explorer.view.mode = "matrix"`; the last four are None until they are measured, the
    last two also without a treebank. Assign `text` or `pair` to read another input: one that the
    model cannot read raises ValueError, and what was shown stays.

    Example:
        >>> from attnwidget.widgets.explorer import Explorer
        >>> explorer = Explorer(text="The cat sat.", treebank=False)
        >>> explorer.text = "The cat sat on the mat."
        >>> len(explorer.attention.tokens), explorer.table
        (9, None)
        >>> explorer.close()
    """

    _esm = (STATIC / "explorer.js").read_text("utf-8")
    _css = (STATIC / "explorer.css").read_text("utf-8")

    text = traitlets.Unicode(help="The text that the model reads; assign another one.").tag(
        sync=True
    )
    pair = traitlets.Unicode(
        None, allow_none=True, help="The second sentence, for models trained on pairs, or None."
    ).tag(sync=True)

    # What the figures show: behind `text` while the model reads, and when it cannot.
    _shown = traitlets.Dict().tag(sync=True)
    # Set by the page when the first figures are drawn.
    _painted = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        model: Any = None,
        text: str | None = None,
        *,
        pair: str | None = None,
        treebank: Any = None,
        metrics: Any = None,
        _figures: Mapping[str, dict[str, Any]] | None = None,
        **traits: Any,
    ) -> None:
        self._reading = False
        self._refuse_unknown(traits)
        loaded = model if isinstance(model, AttentionModel) else load_model(model)
        head: tuple[int, ...] = (traits.get("layer", 0), 0)
        if text is None:
            demo = next(iter(demo_texts().values()))
            text, pair = demo.text, demo.pair if pair is None else pair
            if loaded.name == "embedded" and "layer" not in traits:
                head = demo.head
        attention = loaded.attend(text, pair)
        traits.setdefault("selected", [(*head, next(iter(attention.stacks)))])
        options = {"text": text, "pair": pair, **traits}
        super().__init__(
            *(loaded, attention, given_treebank(treebank, loaded), metrics),
            *(options, dict(_figures or {})),
        )

    def choose(self, relation: str) -> None:
        """Choose a relation and its best head in its direction, as a row of the table does.

        Raises:
            traitlets.TraitError: there is no such relation.
            RuntimeError: relations are not measured yet, or there is no treebank.
        """
        if self.table is None:
            waits = "table" in self.progress
            why = "call wait() first" if waits else "pass treebank= to explore()"
            raise RuntimeError(f"no relations were measured: {why}")
        self.table.choose(relation)

    @traitlets.observe("text", "pair")
    def _read_again(self, change: object) -> None:
        if self._shown and not self._reading:
            with self._answering():
                # Taken once: another text may be asked for while this one is read.
                text, pair = self.text, self.pair or None
                if {"text": text, "pair": pair} != self._shown:
                    attention = self._model.attend(text, pair)
                    self._key = text, pair
                    self._show_attention(attention, text, pair)

    @traitlets.observe("attention")
    def _forget_text(self, change: object) -> None:
        """An attention that was assigned is of no text that is known here."""
        if self._shown and not self._reading:
            with self._answering():
                self._show_attention(self.attention, "", None)

    def _show_attention(self, attention: Attention, text: str, pair: str | None) -> None:
        self._reading = True
        try:
            self.attention = attention
            self._shown = {"text": text, "pair": pair}
            if not text:
                self.text, self.pair = "", None
        finally:
            self._reading = False

    def _compute(self) -> None:
        if not self._shown:
            self._shown = {"text": self.text, "pair": self.pair or None}

    @traitlets.observe("_painted")
    def _begin_measuring(self, change: object) -> None:
        self._background.start()

    def to_state(self) -> dict[str, Any]:
        """All that is chosen and shown, as JSON: `Explorer.from_state` shows it again.

        What was measured, the model and the treebank are not in it, only their names and sizes.

        Raises:
            ValueError: an attention was assigned, which is of no text.

        Example:
            >>> import json
            >>> from attnwidget.widgets.explorer import Explorer
            >>> explorer = Explorer(text="The cat sat.", treebank=False, selected=[(2, 4)])
            >>> kept = json.dumps(explorer.to_state())
            >>> again = Explorer.from_state(json.loads(kept))
            >>> again.text, str(again.head)
            ('The cat sat.', 'L2 H4')
            >>> again.close(), explorer.close()
            (None, None)
        """
        from attnwidget.widgets.explorer_state import state_of

        return state_of(self)

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        model: Any = None,
        *,
        treebank: Any = None,
        metrics: Any = None,
    ) -> Explorer:
        """The explorer that `to_state` described, in this session or another.

        Args:
            state: what `to_state` gave, also after a way through JSON.
            model: what `explore` takes; None = loaded by the name in the state.
            treebank: the same as then, where it was neither the one of the package nor a file.
            metrics: the same as then, where there were any.

        Raises:
            ValueError: no state of an explorer or one of another version; a model that cannot be
                loaded by its name, or one of another size; a treebank or metrics that are missing
                or others.
            OSError: a file that cannot be read.
        """
        from attnwidget.widgets.explorer_state import restored

        given: Explorer = restored(cls, state, model, treebank, metrics)
        return given

    def figure(self, *, width: int | None = None, theme: ThemeName = "light") -> Any:
        """The unfolded panels as one Altair chart, as they are now.

        Args:
            width: of the whole in pixels; None = 1000.
            theme: "light" or "dark".

        Example:
            >>> from attnwidget.widgets.explorer import Explorer
            >>> explorer = Explorer(text="The cat sat.", treebank=False, panels=["grid", "view"])
            >>> len(explorer.figure(width=900).to_dict()["vconcat"]) > 0
            True
            >>> explorer.close()
        """
        from attnwidget.widgets.pictures import explorer

        return explorer.figure(self, width=width, theme=theme)

    @property
    def caption(self) -> Caption:
        """What is shown now, in words."""
        from attnwidget.widgets.pictures import explorer

        return explorer.caption(self)

    def _saved_with_notebook(self) -> StaticFigure:
        # All panels take a second; these two are what a display shows at once.
        from attnwidget.widgets.pictures import explorer
        from attnwidget.widgets.static_figure import static_figure

        with self._lock:
            quick = [name for name in ("grid", "view") if name in self.panels]
            panels = quick or self.panels
            chart = explorer.figure(self, width=None, theme="light", panels=panels)
            said, rows = explorer.caption(self, panels), self._table()
        return static_figure(chart, said, rows)

    def _table(self) -> pd.DataFrame:
        from attnwidget.widgets.pictures import explorer

        return explorer.table(self)

    def __repr__(self) -> str:
        waits = f", measuring {', '.join(self.progress)}" if self.progress else ""
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"Explorer({self._model.name}, {len(self.attention.tokens)} tokens, "
            f"selected: {chosen}{waits})"
        )
