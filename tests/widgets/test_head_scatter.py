"""HeadScatter with a recording comm: what crosses, what links, what is refused."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import dataclass
from pathlib import Path

import ipywidgets
import numpy as np
import pytest
import traitlets

from attnwidget import Attention, Head, HeadGrid, link_figures
from attnwidget.charts.series_style import MEANINGS
from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.metrics.head_distances import HeadDistances
from attnwidget.widgets.head_scatter import KNOWN, HeadScatter
from fixtures.recording import from_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

PALETTE = Path(__file__).parents[2] / "js" / "src" / "shared" / "palette.json"
rng = np.random.default_rng(0)
POSITIONS = rng.normal(size=(3, 4, 2))
LABELS = np.array(
    [
        ["to [SEP]", "next token", "other", "zebra"],
        ["to [SEP]", "to [SEP]", "other", "zebra"],
        ["next token", "apple", "other", "other"],
    ]
)


@dataclass
class Embedded:
    positions: np.ndarray
    stress: float = 0.5


@dataclass
class Measured:
    """Distances that are embedded already."""

    stack: str = "self"
    model_name: str = "BertForMaskedLM"
    n_tokens: int = 1234

    def embed(self) -> Embedded:
        return Embedded(POSITIONS)


@pytest.mark.slow
def test_a_map_opens_with_the_embedding_as_bytes() -> None:
    apart = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    measured = HeadDistances(1234 * apart, 1234, 7, 3, 4, "self", model_name="BertForMaskedLM")
    head_scatter = HeadScatter(measured)
    assert [kind for kind, _, _ in head_scatter.comm.sent].count("comm_open") == 1
    heads = head_scatter.get_state()["_heads"]
    embedding = measured.embed()
    assert heads["positions"]["shape"] == [3, 4, 2]
    sent = np.frombuffer(heads["positions"]["view"], "<f4").reshape(3, 4, 2)
    np.testing.assert_allclose(sent, embedding.positions, rtol=1e-6)
    np.testing.assert_array_equal(head_scatter.positions, embedding.positions)
    source = head_scatter.get_state()["_source"]
    assert source["model"] == "BertForMaskedLM"
    assert source["note"] == (
        f"metric MDS of Jensen-Shannon distances, 1,234 tokens · stress {embedding.stress:.3g}"
    )


def test_behaviors_of_the_paper_keep_their_marks() -> None:
    head_scatter = HeadScatter.from_positions(POSITIONS, LABELS)
    heads = head_scatter.get_state()["_heads"]
    assert heads["groups"] == [
        {"name": "to [SEP]", "slot": 1},
        {"name": "next token", "slot": 4},
        {"name": "apple", "slot": 0},
        {"name": "zebra", "slot": 2},
        {"name": "other", "slot": -1},
    ]
    group = np.frombuffer(heads["group"]["view"], "<i4").reshape(3, 4)
    names = np.array([entry["name"] for entry in heads["groups"]])
    np.testing.assert_array_equal(names[group], LABELS)


def test_a_behavior_looks_the_same_on_maps_and_charts() -> None:
    assert tuple(name.removeprefix("to ") for name in KNOWN) == MEANINGS
    palette = json.loads(PALETTE.read_text("utf-8"))
    for name, theme in {"light": LIGHT, "dark": DARK}.items():
        assert palette[name] == {
            "layers": list(theme.layers),
            "series": list(theme.series),
            "rest": theme.rest,
            "diverging": list(theme.diverging),
        }


def test_cluster_numbers_are_named_in_their_order() -> None:
    head_scatter = HeadScatter.from_positions(POSITIONS, np.arange(12).reshape(3, 4))
    groups = head_scatter.get_state()["_heads"]["groups"]
    assert [entry["name"] for entry in groups[:3]] == ["cluster 0", "cluster 1", "cluster 2"]
    assert groups[10] == {"name": "cluster 10", "slot": 10}


def test_other_behaviors_can_be_assigned_and_taken_away() -> None:
    head_scatter = HeadScatter.from_positions(POSITIONS)
    assert head_scatter.get_state()["_heads"]["groups"] == []
    head_scatter.behaviors = LABELS
    assert len(head_scatter.get_state()["_heads"]["groups"]) == 5
    head_scatter.comm.sent.clear()
    head_scatter.behaviors = None
    states = [state for state, _ in updates(head_scatter)]
    assert len(states) == 1
    assert states[0]["_heads"]["groups"] == []


def test_the_page_selects_and_python_sees_heads() -> None:
    head_scatter = HeadScatter(Measured())
    from_page(head_scatter, {"selected": [[0, 1, "self"], [2, 3, "self"]], "layer": 2})
    assert head_scatter.selected == [Head(0, 1), Head(2, 3)]
    assert (head_scatter.layer, head_scatter.head) == (2, Head(2, 3))
    head_scatter.layer = 1
    assert head_scatter.selected == [Head(1, 3)]


def attention() -> Attention:
    return Attention.from_weights(np.full((3, 4, 5, 5), 0.2, "f4"), list("abcde"))


def test_a_map_and_a_grid_follow_each_other() -> None:
    head_scatter = HeadScatter(Measured())
    grid = HeadGrid(attention())
    both = link_figures(head_scatter, grid)
    from_page(head_scatter, {"selected": [[0, 1, "self"], [2, 3, "self"]], "layer": 2})
    assert grid.selected == [Head(0, 1), Head(2, 3)]
    from_page(grid, {"selected": [[1, 1, "self"]], "layer": 1})
    assert head_scatter.selected == [Head(1, 1)]
    both.unlink()
    grid.selected = []
    assert head_scatter.selected == [Head(1, 1)]


def test_a_head_of_another_stack_leaves_the_map_alone() -> None:
    head_scatter = HeadScatter(Measured("encoder"), selected=(1, 1))
    grid = HeadGrid(attention())
    link_figures(grid, head_scatter)
    grid.selected = [(2, 2)]
    assert (grid.selected, head_scatter.selected) == ([Head(2, 2)], [])
    assert head_scatter.has((0, 0, "encoder")) and not head_scatter.has((0, 0, "self"))


def test_traits_that_one_lacks_cannot_be_linked() -> None:
    with pytest.raises(ValueError, match=naming("HeadScatter", "'scale'", "layer")):
        link_figures(HeadGrid(attention()), HeadScatter(Measured()), traits=["scale"])


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"behaviors": LABELS[:2]}, ("'behaviors'", "[2, 4]", "[3, 4]")),
        ({"selected": [(3, 0)]}, ("'selected'", "layer 3")),
        ({"selected": [(0, 0, "cross")]}, ("'selected'", "'cross'")),
        ({"layer": 3}, ("'layer'", "0 to 2", "got 3")),
    ],
)
def test_bad_values_are_refused_with_what_was_expected(
    options: dict[str, object], parts: tuple[str, ...]
) -> None:
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        HeadScatter(Measured(), **options)


def test_numbers_in_place_of_labels_are_refused() -> None:
    many = np.arange(27.0).reshape(3, 9)
    with pytest.raises(traitlets.TraitError, match=naming("'behaviors'", "27 labels", "24")):
        HeadScatter.from_positions(np.zeros((3, 9, 2)), many)


@pytest.mark.parametrize(
    ("positions", "parts"),
    [
        (np.zeros((3, 4)), ("positions", "[3, 4]", "[layers, heads, 2]")),
        (np.zeros((3, 4, 3)), ("positions", "[3, 4, 3]", "[layers, heads, 2]")),
        (np.where(np.arange(24).reshape(3, 4, 2) == 11, np.nan, 0), ("position", "L1 H1")),
    ],
)
def test_positions_must_be_finite_points(positions: np.ndarray, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        HeadScatter.from_positions(positions)


def test_what_is_no_distances_is_refused_with_a_remedy() -> None:
    with pytest.raises(TypeError, match=naming("ndarray", "HeadScatter.from_positions")):
        HeadScatter(POSITIONS)
    with pytest.raises(TypeError, match=naming("'behavior'", "'behaviors'")):
        HeadScatter(Measured(), behavior=LABELS)


def test_repr_is_short() -> None:
    assert repr(HeadScatter(Measured("encoder"), selected=(1, 2))) == (
        "HeadScatter(BertForMaskedLM, encoder 3×4, selected: encoder L1 H2)"
    )


def test_every_trait_has_help_and_closing_frees() -> None:
    before = len(ipywidgets.widgets.widget._instances)
    head_scatter = HeadScatter.from_positions(POSITIONS, LABELS)
    own = set(head_scatter.trait_names()) - set(ipywidgets.DOMWidget.class_trait_names())
    public = [name for name in own if not name.startswith("_") and name != "comm"]
    assert all(head_scatter.traits()[name].help for name in public)
    freed = weakref.ref(head_scatter)
    head_scatter.close()
    del head_scatter
    gc.collect()
    assert freed() is None
    assert len(ipywidgets.widgets.widget._instances) == before
