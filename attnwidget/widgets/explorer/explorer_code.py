"""Python code that creates an explorer again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.kept_atlas import known_atlas
from attnwidget.capture.maps.python_call import YOURS, Call, literal
from attnwidget.capture.model import AttentionModel
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.widgets.explorer.atlas_names import names_in
from attnwidget.widgets.explorer.examples import is_embedded
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.given_text import as_argument
from attnwidget.widgets.explorer.panels import COMPARISON_PART_AT_FIRST, DETAILS
from attnwidget.widgets.explorer.treebank import DEMO, Treebank
from attnwidget.widgets.shared.widget_code import chosen_options, code_of

#: Options with another default in an explorer.
_OPENED_WITH = {"view": {"comparison_part": COMPARISON_PART_AT_FIRST}}


@dataclass(frozen=True, eq=False)
class Arguments:
    """Arguments of an explorer other than its options.

    Attributes:
        shown: Input of the figures, by `explore` argument.
        versus: Second model, or None.
        treebank: Treebank, or None.
        offers_treebank: Whether the page has a button that measures a treebank.
        probe: Probe of the arcs, or None.
        has_metrics: Whether the caller passed metrics.
        atlas: Atlas, or None.
        has_own_atlas: Whether the atlas came with the model or was stored for it.
        shows_effect: Whether the grid's metric is the effect of heads.
    """

    shown: Mapping[str, Any]
    versus: AttentionModel | None
    treebank: Treebank | None
    offers_treebank: bool
    probe: DependencyProbe | StructuralProbe | None
    has_metrics: bool
    atlas: Atlas | None
    has_own_atlas: bool
    shows_effect: bool


def code_of_explorer(explorer: ExplorerFigure, made: Arguments) -> str:
    """Return the code of a notebook cell that creates the explorer.

    Args:
        explorer: Explorer to create again.
        made: Arguments of the explorer other than its options.
    """
    inputs = explorer.trait_names(input=True)
    option_items = chosen_options(explorer).items()
    options = {name: value for name, value in option_items if name not in inputs}
    if made.atlas is not None and "labels" in options:
        # The names come from the atlas, so the code needs only the user's labels.
        names = names_in(made.atlas)
        short = explorer.labels.short()
        own_labels = {
            key: text for key, text in short.items() if names.get(explorer._find_head(key)) != text
        }
        options["labels"] = own_labels
        if not own_labels:
            del options["labels"]
    arguments: dict[str, Any] = {"metrics": YOURS if made.has_metrics else None}
    arguments |= _treebank(made, explorer.model)
    if made.atlas is not None and not made.has_own_atlas:
        arguments["atlas"] = YOURS
    model = explorer.model
    if made.atlas is None and model is not None and known_atlas(model) is not None:
        arguments["atlas"] = False
    if made.probe is not None:
        arguments["probe"] = YOURS
    if made.versus is not None:
        arguments["versus"] = made.versus.made_by or YOURS
    attention = explorer.attention.intact.made_by or Call("...")
    first = {"attention": attention} if model is None else {"model": model.made_by}
    pair = {name: made.shown.get(name) for name in ("pair", "target", "versus_text")}
    lines = []
    also = {}
    if "example" in options or model is None:
        pair = {}
    elif made.shown.get("text"):
        first["text"] = as_argument(made.shown["text"])
    else:
        # The attention was assigned, so set the options after the assignment.
        also["attention"] = attention
        lines = ["explorer.attention = attention"]
        lines += [f"explorer.{name} = {literal(value)}" for name, value in options.items()]
        options = {}
    options = {**pair, **arguments, **options}
    lines += _figures(explorer, made)
    return code_of("explore", first, options, also=also, after=lines, called="explorer")


def _treebank(made: Arguments, model: AttentionModel | None) -> dict[str, Any]:
    """Return the argument `treebank` if it is not the default."""
    bank = made.treebank
    if model is None:
        return {}
    embedded = is_embedded(model)
    if bank is None:
        return {} if made.offers_treebank else {"treebank": False}
    if bank.source == DEMO:
        return {} if embedded else {"treebank": True}
    return {"treebank": bank.source or YOURS}


def _figures(explorer: ExplorerFigure, made: Arguments) -> list[str]:
    """Return one line per option of a panel; options of measured panels come after `wait()`."""
    immediate: list[str] = []
    later: list[str] = []
    for name, child in explorer.children.items():
        of_metric = child.trait_names(of_metric=True)
        opened_with = _OPENED_WITH.get(name, {})
        set_last = child.trait_names(set_last=True)
        values = chosen_options(child, always=opened_with)
        for option in sorted(values, key=set_last.__contains__):
            value = values[option]
            tags = child.traits()[option].metadata
            # Skip options that the explorer sets itself, such as the shared options.
            if tags.get("shared") or tags.get("follows_selection") or tags.get("set_by_explorer"):
                continue
            if option in opened_with and value == opened_with[option]:
                continue
            of_effect = option in of_metric and made.shows_effect
            code = literal(value)
            if code is None or of_effect:
                continue
            line = f"explorer.{name}.{option} = {code}"
            is_later = name in DETAILS or option in of_metric
            (later if is_later else immediate).append(line)
    return [*immediate, "explorer.wait()", *later] if later else immediate
