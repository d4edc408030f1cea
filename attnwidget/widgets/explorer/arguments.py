"""What an explorer was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnwidget.behaviours.head_atlas.atlas_result import Atlas
from attnwidget.capture.model import AttentionModel
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.widgets.explorer.treebank import Treebank


@dataclass(frozen=True, eq=False)
class Arguments:
    """What an explorer was made from, beside its options, for its state and its code.

    Attributes:
        shown: The input that the figures show, by argument of `explore`.
        versus: The second model, or None.
        treebank: The treebank, or None.
        offers_treebank: Whether the page has a button that measures one.
        probe: The probe of the arcs, or None.
        metrics: The sorted titles of the metrics that the caller gave, or None.
        atlas: The atlas, or None.
        has_own_atlas: Whether the atlas came with the model or was kept for it.
        shows_effect: Whether the metric of the grid is the effect of heads.
        pending: Options of figures that do not exist yet, by panel.
    """

    shown: Mapping[str, Any]
    versus: AttentionModel | None
    treebank: Treebank | None
    offers_treebank: bool
    probe: DependencyProbe | StructuralProbe | None
    metrics: list[str] | None
    atlas: Atlas | None
    has_own_atlas: bool
    shows_effect: bool
    pending: Mapping[str, Mapping[str, Any]]
