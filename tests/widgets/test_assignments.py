"""What the lists of options refuse, and what a closed figure refuses."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import traitlets

from attnwidget import (
    Attention,
    AttentionModel,
    Explorer,
    HeadGrid,
    HeadView,
    LinkView,
    PredictionView,
    link_figures,
)
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend("The captain told his men that he would not leave.")


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    explorer = Explorer(text="The cat sat.", treebank=False, atlas=False)
    yield explorer
    explorer.close()


@pytest.mark.parametrize("option", ["selected", "tokens", "hidden", "disabled", "highlight"])
def test_a_list_of_an_option_refuses_changes_in_place(attention: Attention, option: str) -> None:
    view = HeadView(
        attention,
        selected=[(1, 3), (0, 2)],
        tokens=[("query", 2), ("key", 3)],
        hidden=["cls", "sep"],
        disabled=[(3, 1), (3, 2)],
        highlight=["captain", "men"],
    )
    values = getattr(view, option)
    before = list(values)
    assert len(before) == 2 and values == before
    changes: list[Callable[[], object]] = [
        lambda: values.append(before[0]),
        lambda: values.extend(before),
        lambda: values.insert(0, before[0]),
        lambda: values.remove(before[0]),
        lambda: operator.setitem(values, 0, before[1]),
        lambda: operator.delitem(values, 0),
        values.pop,
        values.clear,
        values.sort,
        values.reverse,
    ]
    for change in changes:
        with pytest.raises(TypeError, match=naming(f"figure.{option} = [*figure.{option}, item]")):
            change()
    assert getattr(view, option) == before
    # Copies are lists like any other.
    for copied in (copy.copy(values), copy.deepcopy(values), pickle.loads(pickle.dumps(values))):
        assert type(copied) is list and copied == before


def test_a_list_of_an_option_grows_by_assignment(attention: Attention) -> None:
    view = HeadView(attention, 1, 3)
    view.selected += [(0, 2)]
    assert view.selected == [(1, 3, "self"), (0, 2, "self")]
    sent = view.comm.sent[-1][1]["state"]["selected"]
    assert type(sent) is list and sent == view.selected
    assert type(HeadView(attention).get_state()["selected"]) is list
    view.selected = [*view.selected, (2, 2)]
    assert len(view.selected) == 3


def test_an_error_names_the_argument_that_was_passed(
    attention: Attention, model: AttentionModel
) -> None:
    with pytest.raises(traitlets.TraitError, match=naming("query 99")) as raised:
        LinkView(attention, 1, 3, query=99)
    assert "'tokens'" not in str(raised.value)
    with pytest.raises(traitlets.TraitError, match=naming("'highlight'")):
        HeadView(attention, highlight=3)
    for figure in (HeadGrid, PredictionView):
        with pytest.raises(TypeError, match=naming("'head'", "'selected'")):
            figure(attention, layer=1, head=3)
    view = LinkView(attention)
    with pytest.raises(AttributeError, match=naming("LinkView.head", "selected")):
        view.head = (1, 3)


@pytest.mark.parametrize(
    ("option", "error", "parts"),
    [
        ({"layer": 33}, traitlets.TraitError, ("'layer'", "33")),
        ({"unit": "letters"}, traitlets.TraitError, ("Explorer", "'unit'")),
        ({"versus_text": 3}, TypeError, ("versus_text", "int")),
        ({"probe": 3}, TypeError, ("probe=", "train_structural_probe")),
        ({"head": 3}, TypeError, ("'head'", "'selected'")),
    ],
)
def test_an_explorer_names_the_argument_that_was_passed(
    option: dict[str, Any], error: type[Exception], parts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        Explorer(text="The cat sat.", treebank=False, atlas=False, **option)


def test_a_closed_figure_names_the_way_to_make_it_again(
    attention: Attention, tmp_path: Path
) -> None:
    view = HeadView(attention, layer=2, head=1)
    code = view.code()
    shown = repr(view)
    view.close()
    says = naming("HeadView", "closed", "code()")
    calls = (
        view.figure,
        view.static,
        view.open,
        lambda: view.caption,
        lambda: view.save(tmp_path / "view.svg"),
        lambda: view.observe(print),
        lambda: link_figures(view, HeadGrid(attention)),
        lambda: setattr(view, "layer", 3),
        lambda: setattr(view, "mode", "matrix"),
        lambda: setattr(view, "tokens", ["captain"]),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match=says):
            call()
    # Its options, its code and its words stay.
    assert (view.layer, repr(view), view.code()) == (2, shown, code)
    view.close()


def test_a_misspelled_option_is_named_when_the_figure_is_displayed_or_saved(
    attention: Attention, tmp_path: Path
) -> None:
    view = HeadView(attention, layer=2, head=1)
    view.arangement = "overlay"  # type: ignore[attr-defined]
    view.my_remark = "strong"  # type: ignore[attr-defined]
    says = naming("HeadView", "'arangement'", "'arrangement'")
    for show in (view._repr_mimebundle_, lambda: view.save(tmp_path / "view.svg")):
        with pytest.warns(UserWarning, match=says) as warned:
            show()
        assert len(warned) == 1


def test_an_option_of_other_packages_is_answered_when_it_is_assigned_or_passed(
    attention: Attention,
) -> None:
    view = HeadView(attention, layer=2, head=1)
    view.title = "Head 1-3"  # type: ignore[attr-defined]
    view.colormap = "viridis"  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="has no option") as warned:
        view._repr_mimebundle_()
    title, colors = (str(warning.message) for warning in warned)
    assert "'title'" in title and "labels={(1, 3): 'a name'}" in title
    assert "'colormap'" in colors and "'scale'" in colors
    with pytest.raises(TypeError, match=naming("'width'", "save(path, width=600)")):
        HeadView(attention, width=400)  # type: ignore[call-arg]
    with pytest.raises(TypeError) as refused:
        HeadView(attention, first_thing=1, second_thing=2)  # type: ignore[call-arg]
    assert str(refused.value).count("arrangement") == 1


def test_a_closed_figure_is_freed(attention: Attention) -> None:
    view, grid = HeadView(attention), HeadGrid(attention)
    link_figures(view, grid)
    view.close()
    reference = weakref.ref(view)
    del view
    gc.collect()
    assert reference() is None and grid.comm is not None


def test_a_closed_explorer_has_closed_figures(explorer: Explorer) -> None:
    code = explorer.code()
    explorer.close()
    for call in (explorer.wait, explorer.read_sentence, explorer.name_heads):
        with pytest.raises(RuntimeError, match=naming("Explorer", "closed", "code()")):
            call()
    with pytest.raises(RuntimeError, match=naming("HeadGrid", "closed")):
        explorer.grid.figure()
    assert explorer.code() == code and "The cat sat." in code


def test_the_figures_linked_with_a_closed_figure_stay_linked(attention: Attention) -> None:
    grid, view, other = HeadGrid(attention), HeadView(attention), HeadView(attention)
    figure_link = link_figures(grid, view, other)
    view.close()
    grid.selected = [(2, 4)]
    assert other.head == (2, 4, "self") and view.head != other.head
    assert grid._circle == other._circle != ""
    figure_link.unlink()
    grid.selected = [(1, 1)]
    assert other.head == (2, 4, "self")
