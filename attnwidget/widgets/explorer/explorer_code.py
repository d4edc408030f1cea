"""The Python that makes an explorer again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnwidget.capture.maps.python_call import YOURS, Call, literal
from attnwidget.head_atlas.demo_atlas import own_atlas
from attnwidget.widgets.explorer.atlas_told import names_in
from attnwidget.widgets.explorer.examples import is_embedded
from attnwidget.widgets.explorer.given_text import as_argument
from attnwidget.widgets.explorer.panels import PANELS
from attnwidget.widgets.explorer.relation_panels import RelationPanels
from attnwidget.widgets.explorer.treebank import DEMO
from attnwidget.widgets.shared.widget_code import chosen_options, code_of
from attnwidget.widgets.wire.linked_traits import SHARED

#: What the explorer says by other means, or says of itself.
_ELSEWHERE = {*PANELS, "progress", "text", "pair", "target", "versus_text"}
#: Panels that are there at once, and the options of theirs that are not.
_AT_ONCE = ("grid", "view")
#: Options of the card that the explorer sets, and the notes, which the atlas has.
_OF_CARD = ("table", "notes", "example")
_OF_METRIC = ("metric", "sort", "descending", "filter", "outside")


def code_of_explorer(explorer: RelationPanels, shown: Mapping[str, Any]) -> str:
    """A cell of Python that shows the explorer; `shown` is its input."""
    chosen = chosen_options(explorer).items()
    options = {name: value for name, value in chosen if name not in _ELSEWHERE}
    if explorer._atlas is not None and "labels" in options:
        # The atlas gives its names, so the code has the labels of the user.
        names = names_in(explorer._atlas)
        short = explorer.labels.short()
        own = {key: text for key, text in short.items() if names.get(explorer._named(key)) != text}
        options["labels"] = own
        if not own:
            del options["labels"]
    arguments: dict[str, Any] = {"metrics": YOURS if explorer._has_metrics else None}
    arguments |= _treebank(explorer)
    if explorer._atlas is not None and not explorer._has_own_atlas:
        arguments["atlas"] = YOURS
    if explorer._atlas is None and own_atlas(explorer.model) is not None:
        arguments["atlas"] = False
    if explorer._probe is not None:
        arguments["probe"] = YOURS
    if explorer._versus_model is not None:
        arguments["versus"] = explorer._versus_model.made_by or YOURS
    first = {"model": explorer.model.made_by}
    pair = {name: shown.get(name) for name in ("pair", "target", "versus_text")}
    lines = []
    also = {}
    if "example" in options:
        pair = {}
    elif shown.get("text"):
        first["text"] = as_argument(shown["text"])
    else:
        # The attention was assigned, so the options follow the assignment.
        also["attention"] = explorer.attention.intact.made_by or Call("...")
        lines = ["explorer.attention = attention"]
        lines += [f"explorer.{name} = {literal(value)}" for name, value in options.items()]
        options = {}
    options = {**pair, **arguments, **options}
    lines += _figures(explorer)
    return code_of("explore", first, options, also=also, after=lines, called="explorer")


def _treebank(explorer: RelationPanels) -> dict[str, Any]:
    """Return the argument `treebank` if it is not the default."""
    bank = explorer._treebank
    embedded = is_embedded(explorer.model)
    if bank is None:
        return {} if explorer._offer else {"treebank": False}
    if bank.source == DEMO:
        return {} if embedded else {"treebank": True}
    return {"treebank": bank.source or YOURS}


def _figures(explorer: RelationPanels) -> list[str]:
    """Return a line for each option of a panel; options of measured panels follow `wait()`."""
    now: list[str] = []
    later: list[str] = []
    for name, child in explorer.children.items():
        for option, value in chosen_options(child).items():
            if name == "card" and option in _OF_CARD:
                continue
            written = literal(value)
            of_effect = name == "grid" and option in _OF_METRIC and explorer._shows_effect
            if option in SHARED or option == "stack" or written is None or of_effect:
                continue
            line = f"explorer.{name}.{option} = {written}"
            at_once = name in _AT_ONCE and option not in _OF_METRIC
            (now if at_once else later).append(line)
    return [*now, "explorer.wait()", *later] if later else now
