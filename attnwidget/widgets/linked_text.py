"""LinkedText: a text whose words select heads and tokens in linked figures."""

from __future__ import annotations

import re
from typing import Any

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.shared.attention_widget import AttentionWidget
from attnwidget.widgets.shared.computed import computed

# Of nested brackets the innermost count: a search from each would take quadratic time.
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
# A target with single spaces: adjacent rows of spaces would be split in all ways.
_TARGET = re.compile(
    r"(?:(?:(?P<stack>\w+) )?L(?P<layer>\d+) H(?P<head>\d+))? ?"
    r"(?::? ?(?P<query>\S+)(?: ?-> ?(?P<key>\S+))?)?"
)
_FORMS = "'L1 H3', 'L1 H3: he -> captain', 'he -> captain' or 'he'"


class LinkedText(AttentionWidget):
    """A text with words that select a head, or lock tokens, in linked figures.

    A link is written as in Markdown, and names a head, a token that attends, a token that is
    attended to, or all three: `[she](L1 H3: he -> captain)`. Without a head, the selected head
    stays; without tokens, the locked tokens stay. A token is named by its text or, if it occurs
    several times, by its index. Blank lines separate paragraphs. Options are the traits, passed as
    keywords. Raises ValueError for a link to a head or a token that the attention lacks.

    Example:
        >>> from attnwidget import HeadView, LinkedText, link, load_model
        >>> attention = load_model().attend("The captain said that he would stay.")
        >>> text = LinkedText(attention, "A pronoun [looks at its noun](L1 H3: he -> captain).")
        >>> view = HeadView(attention)
        >>> both = link(text, view)
        >>> text.follow(0)
        >>> str(view.head), view.tokens
        ('L1 H3', [('query', 5), ('key', 2)])
    """

    kind = "linked_text"
    page_label = "text with links"
    page_title = "A text with links to heads"

    text = traitlets.Unicode(
        help="The text, with links such as `[she](L1 H3: he -> captain)`."
    ).tag(option=True)

    def __init__(self, attention: Attention, text: str, **traits: Any) -> None:
        if not isinstance(text, str):
            raise TypeError(f"LinkedText shows a text, a str, got {type(text).__name__}")
        super().__init__(attention, text=text, **traits)
        # A link that leads nowhere is an error of the author, not of the reader.
        self._links  # noqa: B018

    def _given(self) -> dict[str, Any]:
        return {**super()._given(), "text": self.text}

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        options.pop("text", None)
        return options

    @computed("attention", "text")
    def _links(self) -> list[dict[str, Any]]:
        """The head of each link, and its tokens by unit, as (side, index, name)."""
        return [self._target(target) for _, target in _LINK.findall(self.text)]

    @computed("text")
    def _paragraphs(self) -> list[list[list[Any]]]:
        """Pieces of each paragraph: a text, and the number of its link or None."""
        number = 0
        paragraphs = []
        for paragraph in re.split(r"\n\s*\n", self.text.strip()):
            pieces: list[list[Any]] = []
            for at, piece in enumerate(_LINK.split(paragraph)):
                # A split gives a text, the words of a link, its target, a text, and so on.
                if at % 3 == 0:
                    pieces.append([re.sub(r"\s+", " ", piece), None])
                elif at % 3 == 1:
                    pieces.append([re.sub(r"\s+", " ", piece), number])
                    number += 1
            paragraphs.append([piece for piece in pieces if piece[0]])
        return paragraphs

    def _target(self, target: str) -> dict[str, Any]:
        target = " ".join(target.split())
        found = _TARGET.fullmatch(target)
        if found is None or not target:
            raise ValueError(f"a link of the text names {_FORMS}, got {target[:60]!r}")
        head: Head | None = None
        if found["layer"]:
            named = (int(found["layer"]), int(found["head"]))
            try:
                head = self.find_head((*named, found["stack"]) if found["stack"] else named)
            except ValueError as error:
                raise ValueError(f"link {target!r}: {error}") from None
        stacks = self.attention.stacks
        stack = stacks[head.stack] if head else next(iter(stacks.values()))
        tokens: dict[str, list[Any]] = {"tokens": [], "words": []}
        for side, axis in (("query", stack.query), ("key", stack.key)):
            if found[side]:
                index = _index(found[side], list(axis.text), target)
                groups = axis.word_groups()
                word = next(i for i, group in enumerate(groups) if index in group)
                tokens["tokens"].append([side, index, axis.text[index]])
                tokens["words"].append([side, word, axis.text[index]])
        return {"head": list(head) if head else None, "tokens": tokens}

    def follow(self, number: int) -> None:
        """Select what a link of the text names, as a click on the link does.

        Args:
            number: The number of the link in the text, from 0.

        Raises:
            IndexError: The text has fewer links.

        Example:
            >>> from attnwidget import LinkedText, load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> text = LinkedText(attention, "See [this head](L2 H1) or [that one](L0 H2).")
            >>> text.follow(1)
            >>> str(text.head)
            'L0 H2'
        """
        links = self._links
        if not 0 <= number < len(links):
            raise IndexError(f"the text has links 0 to {len(links) - 1}, got {number}")
        link = links[number]
        with self._lock, self.together():
            if link["head"]:
                self.selected = [Head(*link["head"])]
            if tokens := link["tokens"][self.unit]:
                self.tokens = [(side, index) for side, index, _ in tokens]


def _index(name: str, texts: list[str], target: str) -> int:
    """The index of a token that a link names by its text or its index."""
    places = [index for index, text in enumerate(texts) if text == name]
    if len(places) == 1:
        return places[0]
    if not places and name.isdecimal() and int(name) < len(texts):
        return int(name)
    if places:
        said = ", ".join(map(str, places))
        raise ValueError(f"link {target!r}: {name!r} stands at {said}: write one of these numbers")
    raise ValueError(f"link {target!r}: no token {name!r} among {texts}")
