"""What a page holds: the state of its figures, and what its own kernel answers from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from attnwidget.widgets.base import SHARED, AttentionWidget
from attnwidget.widgets.coreference_view import CoreferenceView
from attnwidget.widgets.dependency_arcs import DependencyArcs
from attnwidget.widgets.head_grid import HeadGrid
from attnwidget.widgets.head_map import HeadMap
from attnwidget.widgets.head_view import HeadView
from attnwidget.widgets.heads import HeadWidget
from attnwidget.widgets.metric_strip import MetricStrip
from attnwidget.widgets.metrics import metrics_to_wire
from attnwidget.widgets.pages.arcs import embedded_sentences, held_sentences, sentence_size
from attnwidget.widgets.pages.attention_maps import embedded_maps, maps_size
from attnwidget.widgets.pages.coreference import (
    document_sizes,
    embedded_documents,
    held_documents,
)
from attnwidget.widgets.pages.document import as_json, code_size
from attnwidget.widgets.pages.room import (
    NEIGHBOURS_SHARE,
    held_note,
    megabytes,
    refuse_above,
)
from attnwidget.widgets.pages.states import readable, state_of
from attnwidget.widgets.relation_choice import ALL, RelationChoice
from attnwidget.widgets.relation_table import RelationTable

#: Every kind of figure, by its name on a page.
KINDS: dict[str, type[HeadWidget]] = {
    "grid": HeadGrid,
    "view": HeadView,
    "map": HeadMap,
    "strip": MetricStrip,
    "table": RelationTable,
    "arcs": DependencyArcs,
    "coreference": CoreferenceView,
}
# What the page's own kernel computes from what it holds.
_COMPUTED = {
    "grid": ("_thumbnails", "_metrics", "_axes"),
    "view": ("_map", "_axes", "_highlighted"),
    "strip": ("_metrics",),
    "arcs": ("_drawn", "_measured"),
    "coreference": ("_drawn",),
}
_TITLES = {
    "map": "Attention heads in the plane",
    "strip": "Metrics of attention heads",
    "table": "Attention heads and dependency relations",
    "arcs": "Dependency arcs of attention heads",
    "coreference": "Antecedents that attention heads find",
}


@dataclass(frozen=True)
class Shown:
    """The figures of a page, by their names there, and what stands beside them.

    Attributes:
        figures: at most one of each of `KINDS`.
        text: what they are of, to be read beside them.
        remarks: what a figure's reader must know, by the figure's name.
        notes: what the caption must say, beside what the page holds.
        follows: whether arcs go to a sentence that has the relation chosen.
    """

    figures: Mapping[str, HeadWidget]
    text: str | None = None
    remarks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    follows: bool = False


def contents_of(shown: Shown, limit_mb: float) -> tuple[dict[str, Any], list[str]]:
    """What the page holds, and what its caption says of that.

    Raises:
        ValueError: it is more than `limit_mb` megabytes, as far as can be told before it is there.
    """
    figures = shown.figures
    data: dict[str, Any] = {
        name: state_of(figure, without=_COMPUTED.get(name, ())) for name, figure in figures.items()
    }
    _bring_in_step(figures, data)
    sizes: dict[str, float] = {name: len(as_json(part)) for name, part in data.items()}
    sizes["code"] = code_size(figures)
    attended = [one for one in figures.values() if isinstance(one, AttentionWidget)]
    arcs = cast("DependencyArcs | None", figures.get("arcs"))
    coreference = cast("CoreferenceView | None", figures.get("coreference"))
    if attended:
        quantities = dict.fromkeys(one.quantity for one in attended)
        sizes["maps"] = len(quantities) * maps_size(attended[0].attention)
    if arcs:
        sizes["sentences"] = sentence_size(arcs, arcs.sentences[arcs.sentence])
    if coreference:
        sizes["windows"] = document_sizes(coreference)[coreference.document]
    alone = _alone(figures, sizes, limit_mb)
    if alone:
        sizes["maps"] = maps_size(alone.attention, alone.head)
    # Before anything large is computed.
    refuse_above(limit_mb, sizes)

    data["remarks"] = dict(shown.remarks)
    data["metrics"] = {name: _metrics(figure) for name, figure in figures.items()}
    notes = []
    if attended:
        highlight = next((one.highlight for one in attended if isinstance(one, HeadView)), [])
        for one in attended:
            data[_name(one)]["_quantities"] = [one.quantity]
        data["maps"] = embedded_maps(
            attended[0].attention,
            quantities,
            head=alone.head if alone else None,
            highlight=highlight,
        )
        notes.append(_only_note(alone) if alone else "maps rounded to 8 bits")
    left = limit_mb * 1e6 - sum(sizes.values())
    room = min(NEIGHBOURS_SHARE * limit_mb * 1e6, left / 2)
    if arcs:
        held = held_sentences(arcs, room)
        data["sentences"] = embedded_sentences(arcs, held, follows=shown.follows)
        notes.append(held_note(held, len(arcs.sentences), "sentence"))
        notes.append("weights between words rounded to 8 bits, those of predicted arcs exact")
    if coreference:
        held = held_documents(coreference, room)
        data["windows"] = embedded_documents(coreference, held)
        notes.append(held_note(held, len(coreference.documents), "document"))
    return data, [*notes, *shown.notes]


def _bring_in_step(figures: Mapping[str, HeadWidget], data: dict[str, Any]) -> None:
    """Figures of a page are linked: what the first has of a shared trait, all have."""
    for name in SHARED:
        having = {key: one for key, one in figures.items() if one.has_trait(name)}
        chosen = [one for one in having.values() if name != "layer" or one.selected]
        lead = next((one for one in chosen if name != "selected" or one.selected), None)
        if lead is None:
            continue
        value = getattr(lead, name)
        for key, one in having.items():
            if name == "selected":
                data[key][name] = [head for head in value if one.has(head)]
            elif name == "layer":
                data[key][name] = min(value, one.n_layers - 1)
            elif name != "relation" or not isinstance(one, RelationChoice):
                data[key][name] = value
            else:
                data[key][name] = value if one.has_relation(value) else ALL


def _alone(
    figures: Mapping[str, HeadWidget], sizes: Mapping[str, float], limit_mb: float
) -> HeadView | None:
    """A view whose page has no room for all heads, and which shows one."""
    view = figures.get("view")
    if not isinstance(view, HeadView) or len(figures) > 1 or view.head is None:
        return None
    return view if sum(sizes.values()) > limit_mb * 1e6 else None


def _only_note(view: HeadView) -> str:
    every = megabytes(maps_size(view.attention))
    return (
        f"holds only {view.head}, rounded to 8 bits: the maps of all heads would be {every}, "
        "so that layers cannot be stepped through"
    )


def _metrics(figure: HeadWidget) -> list[Any]:
    """The metrics of each stack of a grid or a strip."""
    if not isinstance(figure, (HeadGrid, MetricStrip)):
        return []
    by_stack = figure.metrics or {}
    return [readable(metrics_to_wire(by_stack, stack)) for stack in by_stack]


def _name(widget: HeadWidget) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(widget, kind))


def title_of(figures: Mapping[str, HeadWidget]) -> str:
    """What is shown, and the model's name."""
    models = [_model_name(figure) for figure in figures.values()]
    name = next((model for model in models if model), "")
    shown = next((_TITLES[name] for name in figures if name in _TITLES), "")
    if "grid" in figures or "view" in figures:
        return f"Attention heads · {name}" if name else "Attention heads"
    return f"{shown}: {name}" if name else shown


def _model_name(figure: HeadWidget) -> str:
    return str(figure.get_state().get("_source", {}).get("model", ""))
