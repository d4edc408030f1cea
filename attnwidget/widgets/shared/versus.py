"""Comparison of a figure's attention with the intact model or with another attention."""

from __future__ import annotations

import unicodedata
from itertools import takewhile
from textwrap import shorten
from typing import Any, Literal

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.maps.python_call import YOURS
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.attention_widget import AttentionOptions, AttentionWidget
from attnwidget.widgets.shared.computed import computed, when_open

#: Value of `versus` on the page for another attention.
OTHER = "other"
#: Maps of a comparison: the first minus the second, or one of the two.
COMPARISON_PARTS = ("difference", "first", "second")
# Maximum length of a name in a heading.
_LONGEST = 48


def as_the_page_has_it(value: object, widget: object = None) -> object:
    """Return the value of `versus` for a page, which has no attentions."""
    return OTHER if isinstance(value, Attention) else value


def _from_page(value: object, widget: Versus) -> object:
    return widget.versus if value == OTHER else value


class VersusOptions(AttentionOptions, total=False):
    """Options of a figure that can compare two attentions."""

    versus: Attention | Literal["intact"] | None


class Versus(AttentionWidget):
    """Figure that can show the difference from another attention."""

    versus = traitlets.Any(
        None,
        help="Attention to compare with, which has as many layers and heads and comes from another "
        'model, text or checkpoint. "intact" = the same input without switched-off heads. None = '
        "no comparison.",
    ).tag(
        sync=True,
        option=True,
        to_json=as_the_page_has_it,
        from_json=_from_page,
        takes='an `Attention`, "intact" or None',
    )

    def __init__(self, attention: Attention, **traits: Any) -> None:
        # Check `versus` before options that depend on it, because traitlets validates traits in no
        # particular order.
        if isinstance(attention, Attention):
            _check_pair(attention, traits.get("versus"))
        super().__init__(attention, **traits)

    @traitlets.validate("versus")
    def _check_versus(self, proposal: dict[str, Any]) -> object:
        value = proposal["value"]
        if not isinstance(value, Attention) and value not in (None, "intact"):
            raise traitlets.TraitError(
                f"'versus' must be an Attention, \"intact\" or None, got {value!r}: "
                "model.attend(text) reads another text, and selected=['L1 H3', 'L2 H4'] shows two "
                "heads of one text"
            )
        _check_pair(self.attention, value)
        return value

    @when_open("attention")
    def _stop_comparing(self, change: object) -> None:
        """Drop the comparison if the new attention cannot be compared."""
        self._compare()

    def _compare(self) -> None:
        if isinstance(self.versus, Attention):
            try:
                refuse_incomparable(self.attention.stacks, self.versus.stacks)
            except ValueError:
                self.versus = None

    @computed("attention", "versus")
    def _compared(self) -> list[str]:
        """Names of both sides of a comparison; [] without a comparison."""
        other = self._other()
        return [] if other is None else list(compared_names(self.attention, other))

    def _other(self) -> Attention | None:
        """Return the attention that the figure's attention is compared with, or None."""
        if self.versus == "intact":
            intact = self.attention.intact
            return intact if intact is not self.attention else None
        return self.versus if isinstance(self.versus, Attention) else None

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        if isinstance(self.versus, Attention):
            options["versus"] = self.versus.made_by or YOURS
        return options


def _check_pair(attention: Attention, other: object) -> None:
    if isinstance(other, Attention):
        try:
            refuse_incomparable(attention.stacks, other.stacks)
        except ValueError as error:
            raise traitlets.TraitError(f"'versus': {error}") from None


def compared_names(attention: Attention, other: Attention) -> tuple[str, str]:
    """Return names that tell two attentions apart: their edits, models or texts.

    Args:
        attention: First attention.
        other: Second attention.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.shared.versus import compared_names
        >>> model = load_model()
        >>> compared_names(model.attend("The cat sat."), model.attend("The dog sat."))
        ('The cat sat.', 'The dog sat.')
        >>> attention = model.attend("The cat sat.")
        >>> compared_names(attention.disabled([(0, 3)]), attention)
        ('without L0 H3 (uniform)', 'intact')
    """
    if attention.intact is other.intact:
        names = attention.edits or "intact", other.edits or "intact"
    elif attention.model_name != other.model_name:
        names = attention.model_name, other.model_name
    else:
        names = _excerpts(attention, other)
    if names[0] == names[1]:
        return "first", "second"
    return names[0], names[1]


def _excerpts(attention: Attention, other: Attention) -> tuple[str, str]:
    """Return the beginnings of two texts, or the parts with the first difference."""
    words_of_two = _words(attention), _words(other)
    common = takewhile(lambda pair: pair[0] == pair[1], zip(*words_of_two, strict=False))
    n_common = len(list(common))
    # If the beginnings are too long to reach the difference, start two words before it.
    start = max(0, n_common - 2) if len("".join(words_of_two[0][: n_common + 1])) >= _LONGEST else 0
    first, second = (_excerpt(words, start) for words in words_of_two)
    return first, second


def _words(attention: Attention) -> list[str]:
    """Return the words of an attention, each with the space before it."""
    axis: Tokens = next(iter(attention.stacks.values())).query.to_words()
    words = [
        text for text, kind in zip(axis.text, axis.special, strict=True) if kind in ("", "first")
    ]
    words = _spelled(words, attention.source_text)
    return [f" {word}" if word[:1].isalnum() else word for word in words]


def _spelled(words: list[str], text: str) -> list[str]:
    """Return words with the capitals and accents of the text, which a vocabulary may lack.

    If the text has different words, the words are returned unchanged.
    """
    spelled = []
    rest = text
    for word in words:
        rest = rest.lstrip()
        spelled.append(rest[: len(word.strip())])
        rest = rest[len(word.strip()) :]
    has_same_words = [_plain(word) for word in spelled] == [_plain(word.strip()) for word in words]
    return spelled if has_same_words else words


def _plain(text: str) -> str:
    """Return a text without capitals and accents."""
    parts = unicodedata.normalize("NFD", text.casefold())
    return "".join(character for character in parts if not unicodedata.combining(character))


def _excerpt(words: list[str], start: int) -> str:
    """Return the words from `start` on that fit into a heading."""
    text = "".join(words[start:]).strip()
    if len(text) > _LONGEST:
        shortened = shorten(text, _LONGEST, placeholder="…")
        # Cut a word that is longer than a heading.
        text = shortened if len(shortened) > 1 else f"{text[: _LONGEST - 1]}…"
    return f"… {text}" if start else text
