"""Links whose weights a figure multiplies before the model answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import traitlets

from attnwidget.capture.maps.attention import NOT_READ_AGAIN, Attention
from attnwidget.capture.tapping.head import Head, HeadName, is_one_head, spells_head
from attnwidget.capture.tapping.link_edit import LinkEdit
from attnwidget.text.counted import counted
from attnwidget.text.link_ends import EndPositions
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.attention_widget import AttentionOptions, AttentionWidget
from attnwidget.widgets.shared.computed import when_open
from attnwidget.widgets.shared.option_list import ListOption

#: One end of a link by position: one token, several tokens, or a group such as "all before".
End: TypeAlias = int | EndPositions
#: Query, key, factor, and the heads in which the link is scaled: "L2 H11", "L2" or "all heads".
ScaledLink: TypeAlias = tuple[End, End, float, str]
#: Links with words or positions as ends, and with a head in any form as scope.
ScaledLinks: TypeAlias = Sequence[tuple[Any, Any, float, HeadName]]

_ALL = "all heads"
_SCOPE = re.compile(r"(?:(?P<stack>\S+)\s+)?(?:L(?P<layer>\d+)|(?P<all>all(?: heads)?))", re.I)
# Scope of one head or one layer, as `ScaledLinksTrait` spells it.
_ONE_LAYER = re.compile(r"(?:(?P<stack>\S+) )?L\d+(?P<head> H\d+)?")
_SCOPES = '"L2 H11" (one head), "L2" (a layer) or "all heads"'


class ScaledLinksTrait(ListOption[ScaledLink]):
    """Trait for a list of (query, key, factor, scope); ends become positions, scopes names."""

    info_text = 'a list of (query, key, factor, scope) such as [("he", "that", 0, "L2 H11")]'

    if TYPE_CHECKING:  # The trait accepts more types than it returns.

        def __set__(self, obj: Any, value: ScaledLinks) -> None: ...

    def validate(self, obj: Any, value: Any) -> list[ScaledLink]:
        """Return the links by position in the owner's attention."""
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        if not is_list or not all(_has_four_parts(item) for item in value):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        try:
            return list(dict.fromkeys(_by_position(obj.attention, item) for item in value))
        except (ValueError, TypeError) as error:
            raise traitlets.TraitError(f"{self.name!r}: {error}") from None


class LinkScalingOptions(AttentionOptions, total=False):
    """Options of a figure with the answers of a model whose links are scaled."""

    scaled_links: ScaledLinks


class LinkScaling(AttentionWidget):
    """Figure with the answers of a model in which links are cut, weakened or strengthened."""

    scaled_links = ScaledLinksTrait(
        help="Links whose attention weights are multiplied before the model answers, each as "
        "(query, key, factor, scope). An end is a word, a position of a token from 0, or another "
        "end of `AttentionModel.scaled_links`; a word of several tokens is all its tokens. The "
        "factor 0 cuts the link, 4 gives it 4 times the weight, and the row is divided by its new "
        'sum. The scope is "L2 H11", "L2" or "all heads", in encoder-decoders after the stack: '
        '"cross L2 H11". The maps keep the weights of the model, and another text removes the '
        "links."
    ).tag(
        sync=True,
        option=True,
        shared=True,
        set_last=True,
        takes='a list such as [("he", "that", 0, "L2 H11")]',
    )

    def _fitting(self, name: str, value: Any) -> Any:
        if name != "scaled_links":
            return super()._fitting(name, value)
        return [link for link in value if _fits(self.attention, link)]

    @when_open("attention")
    def _forget_links(self, change: dict[str, Any]) -> None:
        """Remove the links of another text."""
        if change["old"].intact is not self.attention.intact:
            self.scaled_links = []


def link_edits(attention: Attention, links: Sequence[ScaledLink]) -> tuple[LinkEdit, ...]:
    """Return the edits that scale links of an input.

    Args:
        attention: Attention of the input.
        links: Links by position.

    Raises:
        ValueError: The attention has no model, or a link does not exist.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.prediction_view.scaled_links import link_edits
        >>> attention = load_model().attend("The captain said that he left.")
        >>> edit = link_edits(attention, [(5, 2, 0, "L1")])[0]
        >>> edit.said, len(edit.heads)
        ('he→captain', 12)
    """
    return tuple(_edit_of(attention, link) for link in links)


def links_in_head(
    links: Sequence[ScaledLink], ends: tuple[EndPositions, EndPositions], head: Head
) -> list[ScaledLink]:
    """Return links with the changes of one link moved to a head, or to the layer of this head.

    Changes in all heads, of other links and in other stacks stay where they are.

    Args:
        links: Links by position.
        ends: Positions of the query and the key of the link that moves.
        head: Head to which a change in one head moves; a change in a layer moves to its layer.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.widgets.prediction_view.scaled_links import links_in_head
        >>> links = [(7, 6, 0, "L2 H11"), (7, 2, 0, "L2"), (7, 6, 4, "all heads")]
        >>> links_in_head(links, ((7,), (6,)), Head(3, 8))
        [(7, 6, 0, 'L3 H8'), (7, 2, 0, 'L2'), (7, 6, 4, 'all heads')]
    """
    moved = []
    for query, key, factor, scope in links:
        match = _ONE_LAYER.fullmatch(scope)
        if (
            match is not None
            and (match["stack"] or "self") == head.stack
            and (query, key) == (_short(ends[0]), _short(ends[1]))
        ):
            scope = str(head) if match["head"] else str(head).rsplit(" ", 1)[0]
        moved.append((query, key, factor, scope))
    return list(dict.fromkeys(moved))


def links_to_wire(attention: Attention, links: Sequence[ScaledLink]) -> list[dict[str, Any]]:
    """Return links for the page: positions of both ends, factor, scope, and the words."""
    return [
        {
            "query": edit.links[0][0],
            "key": edit.links[0][1],
            "factor": link[2],
            "scope": link[3],
            "name": edit.said,
        }
        for link, edit in zip(links, link_edits(attention, links), strict=True)
    ]


def _has_four_parts(item: object) -> bool:
    return isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 4


def _fits(attention: Attention, link: ScaledLink) -> bool:
    """Return whether an input has the link of another figure."""
    try:
        _edit_of(attention, link)
    except (ValueError, TypeError):
        return False
    return True


def _by_position(attention: Attention, item: Sequence[Any]) -> ScaledLink:
    """Return a link with its ends as positions, and with the usual spelling of its scope."""
    edit = _edit_of(attention, item)
    query, key = (_short(end) for end in edit.links[0])
    factor = int(edit.factor) if edit.factor.is_integer() else edit.factor
    first = edit.heads[0]
    of_stack = "" if first.stack == "self" else f"{first.stack} "
    scope = item[3]
    if _names_one_head(scope):
        return query, key, factor, str(first)
    match = _SCOPE.fullmatch(scope.strip())
    assert match is not None
    return query, key, factor, of_stack + (_ALL if match["all"] else f"L{first.layer}")


def _names_one_head(scope: Any) -> bool:
    """Return whether a scope is a head; the head need not exist."""
    return spells_head(scope) if isinstance(scope, str) else is_one_head(scope)


def _short(end: EndPositions) -> End:
    """Return a single position as an integer."""
    return end[0] if not isinstance(end, str) and len(end) == 1 else end


def _edit_of(attention: Attention, item: Sequence[Any]) -> LinkEdit:
    """Return the edit of one link.

    Raises:
        ValueError: The attention has no model; an end, the factor or the scope does not exist.
        TypeError: An end, the factor or the scope has another form.
    """
    reading = attention.intact.reading
    if reading is None:
        raise ValueError(NOT_READ_AGAIN)
    query, key, factor, scope = item
    # Lists are how messages from the page spell several positions.
    ends = [tuple(end) if isinstance(end, list) else end for end in (query, key)]
    heads, layers, stack = _heads_of_scope(attention, scope)
    axes = {name: (entry.query, entry.key) for name, entry in attention.stacks.items()}
    edit = reading.model._link_edit(
        [(ends[0], ends[1])],
        factor,
        heads,
        layers=layers,
        stack=stack,
        axes=axes,
        keeps_sum=False,
    )
    words = zip(axes[edit.heads[0].stack], edit.links[0], strict=True)
    return replace(edit, said="→".join(_words_of(axis, end) for axis, end in words))


def _heads_of_scope(
    attention: Attention, scope: Any
) -> tuple[HeadName | None, list[int] | None, str | None]:
    """Return the arguments `heads`, `layers` and `stack` of `scaled_links` for a scope."""
    if _names_one_head(scope):
        return attention.head(scope), None, None
    match = _SCOPE.fullmatch(scope.strip()) if isinstance(scope, str) else None
    if match is None:
        raise ValueError(f"the scope of a link must be {_SCOPES}, got {scope!r}")
    stack = match["stack"]
    if stack is None and len(attention.stacks) > 1:
        names = ", ".join(map(repr, attention.stacks))
        raise ValueError(
            f"the scope {scope!r} names no stack, and this model has {names}: write the stack "
            'first, for example "cross L2" or "cross all heads"'
        )
    return None, None if match["all"] else [int(match["layer"])], stack


def _words_of(axis: Tokens, end: EndPositions) -> str:
    """Return the text of an end for captions: "he", "mathematician" or "5 tokens"."""
    if isinstance(end, str):
        return end
    groups = axis.word_groups()
    words = [word for word, group in enumerate(groups) if set(group) & set(end)]
    if len(words) == 1 and set(groups[words[0]]) == set(end):
        return axis.to_words().text[words[0]].strip()
    return axis.text[end[0]].strip() if len(end) == 1 else counted(len(end), "token")
