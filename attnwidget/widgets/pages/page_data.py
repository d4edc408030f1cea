"""The content of a page: the states of its linked figures, and the data of its own kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnwidget.widgets.pages.page_document import as_json, code_size
from attnwidget.widgets.pages.page_part import Holding, Part
from attnwidget.widgets.pages.size_limit import NEIGHBORS_SHARE, ContentSize, refuse_above
from attnwidget.widgets.wire.linked_traits import fitting

#: Figures in their order on a page. Further figures follow by name.
_FIRST = (
    "explorer",
    "head_grid",
    "head_view",
    "head_scatter",
    "relation_table",
    "dependency_arcs",
    "coreference_view",
    "prediction_view",
    "link_view",
    "atlas_view",
)


@dataclass(frozen=True)
class PageData:
    """What a page holds.

    Attributes:
        data: as its script reads it.
        notes: what its caption says of that.
        sizes: of all that is in `data`.
    """

    data: dict[str, Any]
    notes: list[str]
    sizes: list[ContentSize]


def page_data(parts: Mapping[str, Part], limit_mb: float) -> PageData:
    """What a page of these figures holds.

    Raises:
        ValueError: if the page would exceed `limit_mb` megabytes, as far as known in advance.
    """
    states = _in_step(parts)
    fixed = _fixed_options(parts)
    figures: list[dict[str, Any]] = []
    sizes = []
    for name in sorted(parts, key=_place):
        part = parts[name]
        figures.append(
            {
                "name": name,
                "label": part.label,
                "remark": part.remark,
                "state": states[name] | {"_fixed": fixed[name]},
                "own": part.own,
                "shapes": part.shapes,
                "relations": part.relations,
                "children": part.children,
            }
        )
        sizes.append(ContentSize(f"what {part.figure} shows", _bytes(figures[-1])))
    code = ContentSize("the figures' own code", code_size(parts))
    holdings = {name: one for part in parts.values() for name, one in part.holdings.items()}
    limit = limit_mb * 1e6
    if len(parts) == 1 and _total([*sizes, code, *_least(holdings)]) > limit:
        (part,) = parts.values()
        holdings = dict(part.smaller or holdings)
        for holding in holdings.values():
            figures[0]["state"]["_fixed"] |= holding.fixed
    # Before anything large is computed.
    expected = [*sizes, code, *_least(holdings)]
    refuse_above(limit_mb, expected)
    room = min(NEIGHBORS_SHARE * limit, (limit - _total(expected)) / 2)
    held: dict[str, Any] = {}
    notes: list[str] = []
    for name, holding in holdings.items():
        held[name], said = holding.embed(room)
        notes += said
        sizes.append(ContentSize(holding.what, _bytes(held[name]), holding.remedy))
    return PageData({"figures": figures, "held": held}, notes, sizes)


def _place(name: str) -> tuple[int, str]:
    """The place of a figure on a page."""
    return _FIRST.index(name) if name in _FIRST else len(_FIRST), name


def _in_step(parts: Mapping[str, Part]) -> dict[str, dict[str, Any]]:
    """The figures' states, linked: what the first has of a shared trait, all have."""
    states = {name: dict(part.state) for name, part in parts.items()}
    for trait in dict.fromkeys(name for part in parts.values() for name in part.shared):
        having = {name: part for name, part in parts.items() if trait in part.shared}
        # Without a head there is nothing to start from.
        heads = trait in ("selected", "layer")
        lead = next((one for one in having.values() if one.state["selected"] or not heads), None)
        if lead is not None:
            for name, part in having.items():
                value = lead.state[trait]
                states[name][trait] = fitting(trait, value, part.shapes, part.relations)
    return states


def _fixed_options(parts: Mapping[str, Part]) -> dict[str, dict[str, str]]:
    """The options that each figure cannot change, with the reason."""
    together = {
        trait: reason
        for part in parts.values()
        for trait, reason in part.fixed.items()
        if trait in part.shared
    }
    return {
        name: {
            **{trait: reason for trait, reason in together.items() if trait in part.shared},
            **part.fixed,
            **part.fixed_here,
        }
        for name, part in parts.items()
    }


def _least(holdings: Mapping[str, Holding]) -> list[ContentSize]:
    return [
        ContentSize(holding.what, holding.least, holding.remedy) for holding in holdings.values()
    ]


def _total(things: list[ContentSize]) -> float:
    return sum(thing.size for thing in things)


def _bytes(value: object) -> int:
    return len(as_json(value).encode("utf-8"))
