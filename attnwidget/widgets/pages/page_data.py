"""Content of a page: the states and the answers of its linked figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnwidget.widgets.pages.page_document import as_json, code_size
from attnwidget.widgets.pages.page_part import Holding, Part
from attnwidget.widgets.pages.size_limit import NEIGHBORS_SHARE, ContentSize, refuse_above
from attnwidget.widgets.wire.linked_traits import fitting

#: Order of the figures on a page; other figures follow, sorted by name.
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
    """Data of a page.

    Attributes:
        data: Data that the page's script reads.
        notes: Caption notes about the data.
        sizes: Sizes of the parts in `data`.
    """

    data: dict[str, Any]
    notes: list[str]
    sizes: list[ContentSize]


def page_data(parts: Mapping[str, Part], limit_mb: float) -> PageData:
    """Return the data of a page.

    Args:
        parts: Part of each figure, by folder name.
        limit_mb: Maximum size of the page in megabytes (10^6 bytes).

    Raises:
        ValueError: If it is clear in advance that the page would exceed the limit.
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
    holdings = {name: holding for part in parts.values() for name, holding in part.holdings.items()}
    limit = limit_mb * 1e6
    if len(parts) == 1 and _total([*sizes, code, *_least(holdings)]) > limit:
        (part,) = parts.values()
        holdings = dict(part.smaller or holdings)
        for holding in holdings.values():
            figures[0]["state"]["_fixed"] |= holding.fixed
    # Check the size before anything large is computed.
    expected = [*sizes, code, *_least(holdings)]
    refuse_above(limit_mb, expected)
    available = min(NEIGHBORS_SHARE * limit, (limit - _total(expected)) / 2)
    embedded: dict[str, Any] = {}
    notes: list[str] = []
    for name, holding in holdings.items():
        embedded[name], holding_notes = holding.embed(available)
        notes += holding_notes
        sizes.append(ContentSize(holding.what, _bytes(embedded[name]), holding.remedy))
    return PageData({"figures": figures, "held": embedded}, notes, sizes)


def _place(name: str) -> tuple[int, str]:
    """Return a sort key for the position of a figure on a page."""
    return _FIRST.index(name) if name in _FIRST else len(_FIRST), name


def _in_step(parts: Mapping[str, Part]) -> dict[str, dict[str, Any]]:
    """Return the states of the figures, with shared traits set to the first figure's values."""
    states = {name: dict(part.state) for name, part in parts.items()}
    for trait in dict.fromkeys(name for part in parts.values() for name in part.shared):
        parts_with_trait = {name: part for name, part in parts.items() if trait in part.shared}
        # Skip figures with an empty selection: start from a figure that has one.
        is_selection = trait in ("selected", "layer")
        source = next(
            (
                part
                for part in parts_with_trait.values()
                if part.state["selected"] or not is_selection
            ),
            None,
        )
        if source is not None:
            for name, part in parts_with_trait.items():
                value = source.state[trait]
                states[name][trait] = fitting(trait, value, part.shapes, part.relations)
    return states


def _fixed_options(parts: Mapping[str, Part]) -> dict[str, dict[str, str]]:
    """Return the options that each figure cannot change, with the reasons."""
    shared_reasons = {
        trait: reason
        for part in parts.values()
        for trait, reason in part.fixed.items()
        if trait in part.shared
    }
    return {
        name: {
            **{trait: reason for trait, reason in shared_reasons.items() if trait in part.shared},
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
