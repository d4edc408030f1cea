"""What a trait is stands in its metadata: code, states, links and pages read it there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anywidget
import pytest
import traitlets

from attnwidget import Attention, AttentionModel, Explorer, HeadGrid, HeadView, link_figures
from attnwidget.widgets.explorer.explorer_figure import Child
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.shared.computed import Computed
from attnwidget.widgets.shared.head_widget import HeadWidget
from fixtures.figure_classes import FIGURE_CLASSES
from parity_vectors import SHARED

OF_JUPYTER = set(anywidget.AnyWidget.class_trait_names())
#: The metadata of the package, and those of ipywidgets.
KNOWN = {
    "edits",
    "follows_selection",
    "from_page",
    "input",
    "live",
    "of_metric",
    "option",
    "page_chooses",
    "set_by_explorer",
    "set_last",
    "shared",
    "takes",
}
OF_IPYWIDGETS = {"sync", "to_json", "from_json", "help"}


def own_traits(cls: type[HeadWidget]) -> Iterator[tuple[str, traitlets.TraitType[Any, Any]]]:
    """The traits of a figure that this package declares."""
    for name, trait in cls.class_traits().items():
        if name not in OF_JUPYTER:
            yield name, trait


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_each_trait_declares_what_it_is(cls: type[HeadWidget]) -> None:
    for name, trait in own_traits(cls):
        tags = trait.metadata
        assert tags.keys() <= KNOWN | OF_IPYWIDGETS, name
        if name.startswith("_"):
            # Only options have public names.
            assert not tags.get("option") and not tags.get("shared"), name
            assert not (isinstance(trait, Computed) and tags.get("from_page")), name
        elif tags.get("sync"):
            assert isinstance(tags.get("option"), bool), f"{cls.__name__}.{name}: tag `option`"
            assert trait.help, name
        if tags.get("shared") or tags.get("input") or tags.get("edits"):
            assert tags["option"], name
        if (chosen := tags.get("page_chooses")) is not None:
            assert isinstance(trait, Computed), name
            assert all(cls.class_traits()[option].metadata["option"] for option in chosen), name


def test_a_trait_of_one_name_is_shared_in_all_figures_or_in_none() -> None:
    shared = {name for cls in FIGURE_CLASSES for name in cls.shared_traits()}
    assert shared == set(SHARED)
    for cls in FIGURE_CLASSES:
        assert set(cls.shared_traits()) == shared & set(cls.class_trait_names()), cls.__name__


def test_the_page_sets_options_and_its_own_messages_only() -> None:
    found = {
        name
        for cls in FIGURE_CLASSES
        for name, trait in own_traits(cls)
        if trait.metadata.get("from_page", trait.metadata.get("option"))
    }
    options = {n for cls in FIGURE_CLASSES for n, t in own_traits(cls) if t.metadata.get("option")}
    assert found - options == {
        "notes",
        "_accepted",
        "_changes_reported",
        "_jump",
        "_needs_asked",
        "_painted",
        "_refused",
        "_search",
        "_sentence_asked",
        "_way_out_taken",
    }


def test_values_of_the_kernel_alone_are_sent_back(model: AttentionModel) -> None:
    view = HeadView(model.attend("The cat sat."))
    allowed = {name: view._page_sets(name) for name in view.keys}
    assert allowed["mode"] and allowed["layout"] and allowed["_view_count"] and allowed["_search"]
    for name in ("_tile", "_source", "_esm", "_circle", "_figure", "_model_name", "_search_answer"):
        assert not allowed[name], name
    panels = [n for n, t in Explorer.class_traits().items() if isinstance(t, Child)]
    assert len(panels) == 8


def test_a_page_has_no_trait_of_a_live_figure_and_none_that_it_computes(
    model: AttentionModel,
) -> None:
    view = HeadView(model.attend("The cat sat."))
    state = state_of(view)
    assert {"selected", "mode", "_source", "_stacks"} <= state.keys()
    assert not state.keys() & {"_esm", "_css", "_circle", "_figure", "layout", "_view_name"}
    computed = {"_tile", "_maps", "_axes", "_highlighted", "_places"}
    assert not state.keys() & computed
    assert state_of(view, whole=True).keys() == state.keys() | computed


def test_a_trait_passes_through_figures_that_lack_it(
    model: AttentionModel, attention: Attention
) -> None:
    """A figure between two links needs no trait of its own: links share all tagged traits."""
    views = [HeadView(attention), HeadView(attention)]
    grid = HeadGrid(attention)
    links = [link_figures(view, grid) for view in views]
    views[0].token_size = "L"
    assert views[1].token_size == "L"
    later = HeadView(attention)
    links.append(link_figures(grid, later))
    assert later.token_size == "L"
    for each in links:
        each.unlink()


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend("The cat sat on the mat.")
