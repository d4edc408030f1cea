"""Names of the heads in an explorer, from a given atlas or from tests on demand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.effects.rules_in_text import add_named_rules
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.build_atlas import atlas as make_atlas
from attnwidget.behaviors.head_atlas.kept_atlas import keep_atlas, known_atlas
from attnwidget.behaviors.named_links import named_links
from attnwidget.behaviors.registry import family_of
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.text.counted import counted
from attnwidget.widgets.atlas_view.widget import AtlasView
from attnwidget.widgets.explorer.atlas_names import STACK, names_in, refuse_atlas_of_other_heads
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.figure_set import FigureSet
from attnwidget.widgets.explorer.panel_status import PanelStatus
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.durations import duration_in_words
from attnwidget.widgets.shared.head_widget import StackShapes
from attnwidget.widgets.wire.values import to_wire
from attnwidget.words.explained_attention_result import FACTORS

_PANEL = "card"
#: Title of a share as a metric of the grid.
_SHARE = "decided by {}"
#: Maximum number of tokens for which the page receives the links of each name, as maps of bytes.
_MOST_TOKENS = 256
_KEEP = "keep these names for the next explorer of this model"
#: Cost of naming the heads, as the number of tokens in short texts that can be read in this time.
#: The model reads and scores 28,000 tokens. This takes the time of 38,000 tokens on a model with
#: 135 million weights, and of 18,000 tokens on the small BERT.
_TOKENS = 38_000


class HeadNames:
    """Tested names that describe what heads do.

    Args:
        explorer: Explorer of the names.
        figures: Figures of the explorer.
        status: Texts next to the panels.
        background: Jobs of the explorer, including "card".
        model: Model of the explorer, or None.
        atlas: Atlas of the heads. None = the bundled or stored atlas of the model; without such an
            atlas, the page has a button that names the heads. False = no atlas.
        shapes: Numbers of layers and heads of the explorer.
        seconds_per_token: Reading time of the explorer's text, in seconds per token.

    Raises:
        TypeError: If `atlas` is not an atlas.
        ValueError: If the atlas describes other heads.
    """

    def __init__(
        self,
        explorer: ExplorerFigure,
        figures: FigureSet,
        status: PanelStatus,
        background: Background,
        model: AttentionModel | None,
        atlas: Atlas | Literal[False] | None,
        shapes: StackShapes,
        *,
        seconds_per_token: float,
    ) -> None:
        self._explorer = explorer
        self._figures = figures
        self._status = status
        self._background = background
        self._model = model
        model_atlas = None if model is None else known_atlas(model)
        self.atlas = model_atlas if atlas is None else None if atlas is False else atlas
        #: Whether the atlas came with the model or was stored for it.
        self.is_own_atlas = atlas is None and self.atlas is not None
        self._seconds = _TOKENS * seconds_per_token
        self._are_wanted = atlas is not False and model is not None
        reads_texts = model is not None and model.tokenizer is not None
        self._may_offer = atlas is None and reads_texts and STACK in shapes
        if self.atlas is not None:
            refuse_atlas_of_other_heads(self.atlas, model, shapes)
        #: Separate thread, so that texts can be measured while the heads are named.
        self._naming = Background(("names",), lambda _, error: status.failed((_PANEL,), error))

    @property
    def by_head(self) -> dict[Head, str]:
        """Names by head; {} without an atlas."""
        return {} if self.atlas is None else names_in(self.atlas)

    @property
    def tested(self) -> list[dict[str, Any]] | None:
        """Tested names for the page; [] without an atlas, None with `atlas=False`."""
        if self.atlas is None and not self._are_wanted:
            return None
        return [
            {
                "head": list(head),
                "label": name,
                "family": family_of(name) or "other",
            }
            for head, name in self.by_head.items()
        ]

    @property
    def shares(self) -> dict[str, NDArray[np.float64]]:
        """Shares of what decides where heads look, by title, [L, H]; {} without measured shares."""
        explained = None if self.atlas is None else self.atlas.explained
        if explained is None:
            return {}
        parts = zip(FACTORS, explained.shares, strict=True)
        return {_SHARE.format(name): values for name, values in parts}

    @property
    def share_notes(self) -> dict[str, str]:
        """Notes about the texts of the shares, by title."""
        texts = "" if self.atlas is None else self.atlas.explained_texts
        note = f"share of explained deviance in {texts}, not in this text"
        return dict.fromkeys(self.shares, note)

    def links(self, attention: Attention, unit: str) -> dict[str, Any] | None:
        """Return the links that the names describe, for the page; None for long inputs.

        Args:
            attention: Attention of the text.
            unit: "tokens" or "words".

        Returns:
            "names": names with links. "values": links of each name, uint8 [names, queries, keys].
        """
        stack = attention.stacks.get(STACK)
        names = sorted(set(self.by_head.values()))
        if stack is None or not names or len(stack.query) > _MOST_TOKENS:
            return None
        links = named_links(stack.query, names, unit)
        if not links:
            return None
        values = np.stack([*links.values()]).astype(np.uint8)
        return {"names": [*links], "values": to_wire(values)}

    def add_rules(self, attention: Attention) -> None:
        """Add the rules of the names to a text, for heads with their rules in their places."""
        add_named_rules(attention, self.by_head)

    def show_text(self) -> None:
        """Show the links of the current text on the card of the head."""
        card = self._explorer.card
        if card is not None:
            card.attention = self._explorer.attention

    def begin(self) -> None:
        """Make the card of the current head, or offer to name the heads."""
        if self.atlas is not None:
            self._color_families()
            self._status.measuring({_PANEL: 0.0})
            self._background.add("card", self._card_job())
        elif self._may_offer:
            self._status.offer({_PANEL: f"name the heads: {duration_in_words(self._seconds)}"})

    def accept(self) -> None:
        """Handle a click on the button: name the heads in the background, or store the names."""
        if self.atlas is not None:
            self.keep()
            return
        self._status.withdraw(_PANEL)
        self._status.measuring({_PANEL: 0.0})
        self._naming.add("names", self._naming_job())
        self._naming.start()

    def keep(self) -> Path:
        """Store the names for the next explorer of the model, and return their file.

        Raises:
            ValueError: If the heads have no names.
            OSError: If the file cannot be written.
        """
        if self.atlas is None:
            raise ValueError("the heads have no names to keep: call name_heads() and wait() first")
        path = keep_atlas(self.atlas)
        self.is_own_atlas = True
        self._status.withdraw(_PANEL)
        self._status.note({_PANEL: f"kept in {path}"})
        return path

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the heads are named.

        Args:
            timeout: Time limit in seconds; None = no limit.

        Returns:
            False if the time limit was reached, otherwise True.

        Raises:
            Exception: If naming the heads failed.
        """
        return not self._naming.started or self._naming.wait(timeout)

    def close(self) -> None:
        """Stop naming."""
        self._naming.close()

    def _card_job(self) -> Job:
        yield self._show_card

    def _naming_job(self) -> Job:
        n_before = n_now = 0

        def read(n_done: int, total: int | None) -> None:
            nonlocal n_before, n_now
            if self._naming.closed:
                raise KeyboardInterrupt
            if n_done < n_now:
                # Another pass over the texts has started.
                n_before += n_now
            n_now = n_done
            self._status.note({_PANEL: f"{counted(n_before + n_now, 'text')} read"})

        try:
            # Read one text at a time, because a request of the user waits for the current batch.
            assert self._model is not None
            atlas = make_atlas(self._model, effects=False, batch_size=1, progress=read)
        except KeyboardInterrupt:
            return
        yield partial(self._take, atlas)

    def _take(self, found: Atlas) -> None:
        explorer = self._explorer
        with explorer._lock, explorer.together():
            if self._naming.closed:
                return
            self._status.note({_PANEL: ""})
            self._status.offer({_PANEL: _KEEP})
            self.atlas = found
            reading = explorer.attention.intact.reading
            if reading is not None:
                reading.rules.by_head = None
            self.add_rules(explorer.attention)
            explorer.labels = self.by_head | dict(explorer.labels)
            self._color_families()
            self._show_card()

    def _color_families(self) -> None:
        """Color the names of heads in the grid by what the heads do."""
        names = self.tested or []
        self._explorer.grid.color_names([[name["head"], name["family"]] for name in names])

    def _show_card(self) -> None:
        explorer = self._explorer
        with explorer._lock, explorer.together():
            if self.atlas is not None and explorer.card is None and not self._background.closed:
                self._figures.adopt(_PANEL, AtlasView(self.atlas, table=False, selected=[]))
                self.show_text()
            self._status.measured(_PANEL)
