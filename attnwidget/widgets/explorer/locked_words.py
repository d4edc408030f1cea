"""The words that an explorer locks by itself, because they make the shown map readable."""

from __future__ import annotations

from attnwidget.capture.model import AttentionModel
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.figure_set import FigureSet
from attnwidget.widgets.explorer.head_names import HeadNames
from attnwidget.widgets.explorer.opening import active_word

LockedTokens = tuple[tuple[str, int], ...]


def mask_of(model: AttentionModel) -> str | None:
    """Return the mask token of a model, or None."""
    return _spelled(model, "mask_token")


def unknown_of(model: AttentionModel) -> str | None:
    """Return the token of unknown words in the vocabulary of a model, or None."""
    return _spelled(model, "unk_token")


def _spelled(model: AttentionModel, name: str) -> str | None:
    token = getattr(model.tokenizer, name, None)
    return None if token is None else str(token)


class LockedWords:
    """The words that the explorer locks.

    A choice of the reader has precedence: tokens that a reader locks stay locked. Another text
    starts anew.

    Args:
        explorer: The explorer.
        figures: Its figures.
        names: The names of its heads.
        tokens: The tokens that it opens with, as `Explorer.tokens`.
    """

    def __init__(
        self, explorer: ExplorerFigure, figures: FigureSet, names: HeadNames, tokens: LockedTokens
    ) -> None:
        self._explorer = explorer
        self._figures = figures
        self._names = names
        self._own = tokens

    @property
    def are_own(self) -> bool:
        """Whether the locked tokens are those that the explorer chose."""
        return list(map(tuple, self._explorer.tokens)) == list(self._own)

    def forget(self) -> None:
        """Undo the locks of another text, also if both are the same sentence."""
        self._explorer.tokens = []
        self._own = ()

    def in_another_unit(self) -> None:
        """Lock a word again after the page unlocked all, because their places are of the unit."""
        if not self._explorer.tokens:
            self._own = ()
        self.focus()

    def focus(self) -> None:
        """Lock the tokens that make the map of the shown head readable."""
        explorer = self._explorer
        head = explorer.head
        if head is None or explorer.grid.versus is not None:
            return
        self.lock(
            active_word(
                explorer.attention,
                head,
                explorer.unit,
                names=self._names.by_head,
                mask=mask_of(explorer.model),
                unknown=unknown_of(explorer.model),
            )
        )

    def lock(self, tokens: LockedTokens) -> None:
        """Lock tokens, unless a reader has locked others."""
        are_own = self.are_own
        self._own = tokens
        if are_own:
            self._figures.give("tokens", list(tokens))
