"""Several heads in one HeadView: which ones, what crosses to the page, and their picture."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import traitlets
from PIL import Image

from attnwidget import Attention, Head, HeadGrid, HeadView, LinkView, link_figures, load_model
from attnwidget.widgets.head_view import several
from fixtures import zoo
from fixtures.recording import on_page, updates
from fixtures.svg_picture import levels, ramp_table, texts
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."
THREE = [(1, 2), (2, 4), (2, 7)]


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT)


def test_several_chosen_heads_open_beside_each_other(attention: Attention) -> None:
    assert HeadView(attention, selected=THREE).arrangement == "beside"
    assert HeadView(attention, selected=["L1 H2", "L2 H4"]).arrangement == "beside"
    for one in ([(1, 2)], (1, 2), "L1 H2", []):
        assert HeadView(attention, selected=one).arrangement == "one"
    assert HeadView(attention, selected=THREE, arrangement="overlay").arrangement == "overlay"
    assert HeadView(attention, selected=[*np.ndindex(2, 7)][:13]).arrangement == "one"


def test_the_name_of_a_layer_shows_its_heads(attention: Attention) -> None:
    view = HeadView(attention, "L2")
    assert (view.arrangement, view.shown_heads, view.layer) == ("beside", "layer", 2)
    assert on_page(view, "maps")["heads"] == [Head(2, head) for head in range(12)]
    assert HeadView(attention, "L2", 3).arrangement == "one"
    assert HeadView(attention, "L2", arrangement="overlay").shown_heads == "layer"
    with pytest.raises(ValueError, match=naming("'L2'", "'L2 H0'")):
        HeadView(attention, "L2", versus=attention)
    with pytest.raises(ValueError, match=naming("'L2'", "'L2 H0'")):
        LinkView(attention, "L2")


def test_a_single_head_sends_no_further_data(attention: Attention) -> None:
    view = HeadView(attention, selected=THREE, arrangement="one")
    assert on_page(view, "maps") is None
    view.selected = [*THREE, (3, 3)]
    assert "_maps" not in updates(view)[-1][0]


def test_maps_of_the_drawn_heads_cross_once_in_one_message(attention: Attention) -> None:
    view = HeadView(attention, selected=THREE, arrangement="beside")
    assert on_page(view, "maps")["heads"] == [Head(*head, "self") for head in THREE]
    assert on_page(view, "maps")["exact"] and on_page(view, "maps")["values"]["dtype"] == "<f4"
    values = np.frombuffer(on_page(view, "maps")["values"]["view"], "<f4").reshape(
        3, *view.weights.shape
    )
    for one, head in zip(values, THREE, strict=True):
        np.testing.assert_array_equal(one, attention.weights(*head))
    # What the page has is not sent again.
    before = len(updates(view))
    view.selected = THREE[:2]
    view.arrangement = "overlay"
    assert not any("_maps" in state for state, _ in updates(view)[before:])
    view.shown_heads = "layer"
    (state, buffers), *_ = updates(view)[-1:]
    assert state["_maps"]["values"]["shape"][0] == 12 and len(buffers) == 1
    view.selected = [(2, 0)]
    assert "_maps" not in updates(view)[-1][0]
    view.unit = "words"
    assert updates(view)[-1][0]["_maps"]["unit"] == "words"
    view.arrangement = "one"
    assert on_page(view, "maps") is None
    view.close()


def test_another_input_sends_its_own_maps(attention: Attention) -> None:
    view = HeadView(attention, selected=THREE, arrangement="overlay")
    view.attention = load_model().attend("The cat sat.")
    assert on_page(view, "maps")["values"]["shape"] == [3, 6, 6]


def test_many_maps_are_bytes_with_their_maxima(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(several, "_EXACT_CELLS", 100)
    view = HeadView(attention, selected=THREE, arrangement="overlay")
    maps = on_page(view, "maps")
    assert not maps["exact"] and maps["values"]["dtype"] == "|u1"
    expected = [attention.weights(*head) for head in THREE]
    assert maps["maxima"] == pytest.approx([one.max() for one in expected])
    levels = np.frombuffer(maps["values"]["view"], "u1").reshape(maps["values"]["shape"])
    for one, level, most in zip(expected, levels, maps["maxima"], strict=True):
        decoded = np.sqrt(most) * (level.astype(float) - 1) / 254
        np.testing.assert_allclose(decoded, np.sqrt(one), atol=0.5 / 254)
    assert "rounded" in view.caption.notes


def test_masked_cells_are_masked_in_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    causal = load_model(zoo.build("llama")).attend(zoo.inputs("llama", batch=1, padded=0))
    view = HeadView(causal, selected=[(0, 1), (1, 1)], arrangement="beside")
    shape = on_page(view, "maps")["values"]["shape"]
    later = np.triu(np.ones(shape[1:], bool), 1)
    values = np.frombuffer(on_page(view, "maps")["values"]["view"], "<f4").reshape(shape)
    assert (np.isnan(values) == later).all()
    monkeypatch.setattr(several, "_EXACT_CELLS", 1)
    view = HeadView(causal, selected=[(1, 1), (0, 1)], arrangement="beside")
    levels = np.frombuffer(on_page(view, "maps")["values"]["view"], "u1").reshape(shape)
    assert ((levels == 0) == later).all()


def test_a_long_layer_is_as_much_as_a_page_holds() -> None:
    selected = [Head(0, 9, "self")]
    drawn = several.drawn_heads(selected, "overlay", "layer", 32, 2000 * 2000)
    assert [head.head for head in drawn] == [8, 9, 10, 11]


@pytest.mark.parametrize("name", ["arrangement", "shown_heads"])
def test_what_there_is_not_is_refused(attention: Attention, name: str) -> None:
    with pytest.raises(traitlets.TraitError):
        HeadView(attention, **{name: "all"})


@pytest.mark.parametrize("mode", ["lines", "matrix"])
@pytest.mark.parametrize("arrangement", ["beside", "overlay"])
def test_the_picture_has_all_heads(attention: Attention, arrangement: str, mode: str) -> None:
    view = HeadView(attention, selected=THREE, arrangement=arrangement, mode=mode)
    picture = view.figure(width=800)
    written = texts(picture)
    assert {"L1 H2", "L2 H4", "L2 H7"} <= set(written)
    table = picture.table
    assert table.columns.tolist() == ["from", "to", "L1 H2", "L2 H4", "L2 H7"]
    at = [attention.tokens.index(table[side][0]) for side in ("from", "to")]
    assert [float(x) for x in table.iloc[0, 2:]] == pytest.approx(
        [float(attention.weights(*head)[tuple(at)]) for head in THREE], abs=6e-4
    )


def test_one_scale_makes_the_same_weight_the_same_color() -> None:
    weights = np.full((1, 2, 2, 2), 0.5, "f4")
    weights[0, 1] = [[1, 0], [0.5, 0.5]]
    attention = Attention.from_weights(weights, ["a", "b"])
    view = HeadView(attention, selected=[(0, 0), (0, 1)], arrangement="beside", mode="matrix")
    half = tuple(ramp_table("light")[levels(0.5, 1, "absolute")])

    def cells(shown: HeadView) -> int:
        """Pixels in the color of a half, of which the color bar has few."""
        image = Image.open(io.BytesIO(shown.figure(width=480).png(1))).convert("RGB")
        counts = [n for n, color in image.getcolors(1 << 20) or [] if color == half]
        return sum(counts) if sum(counts) > 500 else 0

    # Four cells of the first head, and two of the second.
    alone = HeadView(attention, 0, 0, mode="matrix")
    assert cells(view) > 0 and cells(alone) > 0
    alone.scale = "sqrt"
    assert cells(alone) == 0


@pytest.mark.parametrize("arrangement", ["beside", "overlay"])
def test_a_page_holds_all_heads_and_how_they_are_drawn(
    attention: Attention, arrangement: str, tmp_path: Path
) -> None:
    view = HeadView(attention, selected=THREE, arrangement=arrangement)
    page = view.save(tmp_path / "heads.html").read_text("utf-8")
    start = page.index('id="attnw-data">') + len('id="attnw-data">')
    (figure,) = json.loads(page[start : page.index("</script>", start)])["figures"]
    assert figure["state"]["arrangement"] == arrangement
    assert "_maps" not in figure["state"]


def test_a_grid_selects_for_it(attention: Attention) -> None:
    grid = HeadGrid(attention)
    view = HeadView(attention, arrangement="beside")
    with link_figures(grid, view):
        grid.selected = THREE
        assert on_page(view, "maps")["heads"] == [Head(*head, "self") for head in THREE]
