"""The picture of a HeadGrid: the same maps, numbers, marks and words as on the page."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from attnwidget import Attention, HeadGrid, load_model
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.drawing.engine import ThemeName
from attnwidget.widgets.wire.values import in_unit
from fixtures import zoo
from fixtures.recording import on_page
from fixtures.svg_picture import (
    elements,
    fills,
    images,
    levels,
    number,
    offset,
    ramp_table,
    strokes,
    texts,
)
from refusals import naming

TEXT = "The captain told his men that he would not leave the unsinkable ship."


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT)


@pytest.fixture(scope="module")
def translating() -> Attention:
    return load_model(zoo.build("bart")).attend(zoo.inputs("bart", batch=1, padded=0))


@pytest.fixture(scope="module")
def causal() -> Attention:
    return load_model(zoo.build("llama")).attend(zoo.inputs("llama", batch=1, padded=0))


@pytest.fixture(scope="module")
def long() -> Attention:
    """Two heads and more tokens than a thumbnail has cells."""
    weights = np.random.default_rng(0).dirichlet(np.full(512, 0.1), size=(1, 2, 512))
    return Attention.from_weights(weights.astype(np.float32), [f"t{i}" for i in range(512)])


@pytest.fixture(scope="module")
def wide() -> Attention:
    """24 x 16 heads."""
    weights = np.random.default_rng(0).dirichlet(np.full(6, 0.5), size=(24, 16, 6))
    return Attention.from_weights(weights.astype(np.float32), list("abcdef"))


def place(element: ElementTree.Element) -> tuple[float, float]:
    """Where a rectangle or an image is in the picture."""
    x, y = offset(element)
    return x + number(element, "x"), y + number(element, "y")


#: Pixels of the line round a cell, at two for each of the picture's.
EDGE = 2


def cell_side(width: float, columns: int, rows: int = 1) -> float:
    """Pixels of a cell in a picture of this width: whole ones at two for each of the picture's."""
    room = (width - 16 - 48 - 4) / columns - 2
    high = (780 - 20 - 4) / rows - 2
    return float(np.floor(2 * max(4, min(64, room, high))) / 2)


def corner(side: int, layer: int, head: int) -> tuple[int, int]:
    """Where a head begins in the image."""
    return EDGE + layer * (side + 4), EDGE + head * (side + 4)


def resized(cells: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """A map of `side` x `side` pixels: the largest cell that a pixel covers, or the nearest one."""
    for axis, n in enumerate(cells.shape):
        pixel = np.arange(side)
        nearest = ((pixel + 0.5) * n / side).astype(int)
        first = pixel * n // side if side < n else nearest
        end = -(-(pixel + 1) * n // side) if side < n else nearest + 1
        spans = (np.arange(*span) for span in zip(first, end, strict=True))
        cells = np.stack([cells.take(span, axis).max(axis) for span in spans], axis)
    return cells


def assert_thumbnails(
    grid: HeadGrid, theme: ThemeName = "light", width: float | None = None
) -> None:
    """Every pixel of the image is the thumbnails' bytes through the scale, every head in place."""
    image = images(grid.figure(theme=theme, width=width))[0]
    shown = in_unit(grid.attention, grid.unit)
    maps = draw_thumbnails(shown, grid.stack, hidden=grid.hidden, quantity=grid.quantity)
    n_layers, n_heads = maps.maxima.shape
    room = width or 640
    upright, turned = cell_side(room, n_heads, n_layers), cell_side(room, n_layers, n_heads)
    # The longer side lies across where cells stay large enough: a column is a layer then.
    turns = n_layers > n_heads and (turned >= 10 or turned > upright)
    side = round(2 * (turned if turns else upright))
    n_rows, n_columns = (n_heads, n_layers) if turns else (n_layers, n_heads)
    assert image.shape == (*corner(side, n_rows, n_columns), 3)
    scale = ramp_table(theme)
    maxima = maps.maxima.astype(np.float64)
    for layer in range(n_layers):
        for head in range(n_heads):
            y, x = corner(side, *((head, layer) if turns else (layer, head)))
            end = 1 if grid.quantity == "weights" else maxima.max()
            gain = maxima[layer, head] / end if grid.scale == "absolute" else 1
            shares = (resized(maps.values[layer, head], side) / 255) ** 2 * gain
            np.testing.assert_array_equal(
                image[y : y + side, x : x + side],
                scale[levels(shares, 1, grid.scale)],
                err_msg=f"L{layer} H{head}",
            )
    lines = (DARK if theme == "dark" else LIGHT).hairline
    ruled = [int(lines[i : i + 2], 16) for i in (1, 3, 5)]
    rows = n_rows * (side + 4)
    assert (image[:rows, EDGE + side : EDGE + side + 4][:, :2] == ruled).all()
    assert (image[:rows, :EDGE] == ruled).all() and (image[:EDGE, :-EDGE] == ruled).all()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("scale", ["absolute", "linear", "sqrt", "log"])
def test_the_image_is_the_thumbnails(attention: Attention, scale: str, theme: ThemeName) -> None:
    grid = HeadGrid(attention, scale=scale)
    assert_thumbnails(grid, theme)
    is_absolute = scale == "absolute"
    assert ("absolute" if is_absolute else f"{scale} · per head") in texts(grid.figure())
    words = {"linear": "linear", "sqrt": "square-root", "log": "logarithmic"}.get(scale, scale)
    # A scale that the reader asked for is in the title.
    title = "All heads, self-attention" + ("" if is_absolute else f" · relative scale ({words})")
    assert title in texts(grid.figure())


def test_the_darkness_of_a_head_rises_with_its_largest_weight() -> None:
    """Of 200 heads that look at one key of twenty each, from evenly to at nothing else."""
    n = 20
    largest = np.linspace(1 / n, 1, 200)
    rng = np.random.default_rng(1)
    weights = np.empty((10, 20, n, n), np.float32)
    for at, most in zip(np.ndindex(10, 20), largest, strict=True):
        others = np.full(n, (1 - most) / (n - 1))
        for query in range(n):
            weights[at][query] = others
            weights[at][query, rng.integers(n)] = most
    attention = Attention.from_weights(weights, ["[CLS]", *(f"w{i}" for i in range(n - 1))])
    image = images(HeadGrid(attention, hidden=[]).figure(width=1200))[0].astype(float)
    side = round(2 * cell_side(1200, 20, 10))
    table = ramp_table("light").astype(float)
    for at, most in zip(np.ndindex(10, 20), largest, strict=True):
        y, x = corner(side, *at)
        cells = image[y : y + side, x : x + side].reshape(-1, 3)
        strongest = cells.min(0)
        # The darkest cell has the ink of the largest weight, whatever the other heads have.
        ink = table[levels(most, 1, "absolute")]
        assert np.abs(strongest - ink).max() <= 3


def test_random_heads_are_darker_the_larger_their_largest_weight() -> None:
    rng = np.random.default_rng(5)
    n = 20
    scores = rng.normal(size=(10, 20, n, n)) * rng.uniform(0, 8, (10, 20, 1, 1))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True)).astype("f4")
    tokens = ["[CLS]", *(f"w{i}" for i in range(n - 1))]
    grid = HeadGrid(Attention.from_weights(weights, tokens), hidden=[])
    image = images(grid.figure(width=1200))[0].astype(float)
    side = round(2 * cell_side(1200, 20, 10))
    darkest = []
    for at in np.ndindex(10, 20):
        y, x = corner(side, *at)
        cell = image[y : y + side, x : x + side].mean(-1)
        darkest.append(255 - cell.min())
    order = np.argsort(weights.max((-2, -1)).ravel(), kind="stable")
    assert (np.diff(np.array(darkest)[order]) >= -1).all()


def test_a_head_that_is_off_is_empty_and_struck_through(attention: Attention) -> None:
    grid = HeadGrid(attention, disabled=[(1, 8)], method="first")
    image = images(grid.figure())[0]
    side = round(2 * cell_side(640, 12))
    y, x = corner(side, 1, 8)
    assert (image[y : y + side, x : x + side] == 255).all()
    assert grid.figure().table.set_index("head").loc["L1 H8 (2-9)", "from → to"] == ""


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_every_stack_has_its_picture(translating: Attention, stack: str) -> None:
    grid = HeadGrid(translating, stack=stack, selected=[(1, 2, stack)])
    assert_thumbnails(grid)
    axes = translating.stacks[stack]
    assert f"{stack} attention" in grid.caption.figure
    assert grid.caption.head == f"{stack} L1 H2 (2-3)"
    count = f"{len(axes.query)} × {len(axes.key)}" if stack == "cross" else str(len(axes.key))
    assert f"{count} tokens" in grid.caption.quantity
    assert grid.figure().table["head"][0] == f"{stack} L1 H2 (2-3)"


def test_hidden_tokens_and_words_change_the_thumbnails(attention: Attention) -> None:
    grid = HeadGrid(attention, hidden=["cls", "sep"])
    assert_thumbnails(grid)
    grid.unit = "words"
    assert_thumbnails(grid)


def test_nothing_but_hidden_tokens_is_said(attention: Attention) -> None:
    alone = Attention.from_weights(np.ones((1, 2, 1, 1), np.float32), ["[CLS]"])
    picture = HeadGrid(alone, hidden=["cls"]).figure()
    # The cells are there, with nothing in them.
    cells = fills(picture, LIGHT.hairline)
    assert [(number(cell, "width"), number(cell, "height")) for cell in cells] == [(64, 64)] * 2
    assert picture.table["from → to"].tolist() == ["", ""]


def test_sixty_four_cells_stand_for_long_inputs(long: Attention) -> None:
    grid = HeadGrid(long)
    assert_thumbnails(grid)


@pytest.mark.parametrize("width", [480, 720, 1200])
def test_a_thumbnail_smaller_than_its_map_keeps_its_strongest_cells(width: int) -> None:
    weights = np.zeros((2, 16, 64, 64), np.float32)
    weights[..., 5, 41] = 1
    tokens = [f"t{i}" for i in range(64)]
    grid = HeadGrid(Attention.from_weights(weights, tokens, allow_unnormalized=True))
    image = images(grid.figure(width=width))[0]
    side = round(2 * cell_side(width, 16))
    assert (side < 64) == (width == 480)
    for layer, head in np.ndindex(2, 16):
        y, x = corner(side, layer, head)
        strongest = (image[y : y + side, x : x + side] == ramp_table("light")[255]).all(axis=-1)
        assert strongest[int(5.5 * side / 64), int(41.5 * side / 64)]
        assert 1 <= strongest.sum() <= 4
    assert_thumbnails(grid, width=width)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_selected_heads_are_framed_in_their_cells(attention: Attention, theme: ThemeName) -> None:
    colors = DARK if theme == "dark" else LIGHT
    picture = HeadGrid(attention, selected=[(1, 2), (3, 5)]).figure(theme=theme)
    x0, y0 = place(elements(picture, "image")[0])
    cell = cell_side(640, 12)
    frames = strokes(picture, colors.accent)
    assert [
        (*place(frame), number(frame, "width"), number(frame, "height")) for frame in frames
    ] == [
        (x0 + head * (cell + 2), y0 + layer * (cell + 2), cell + 2, cell + 2)
        for layer, head in ((1, 2), (3, 5))
    ]
    assert all(number(frame, "stroke-width") == 2 for frame in frames)
    # Solid on the head that a view shows, with a hole on the others.
    notches = [path for path in elements(picture, "path") if path.get("fill") != "none"]
    assert [path.get("fill") for path in notches].count(colors.accent) == 2
    assert [path.get("fill") for path in notches].count(colors.ground) == 3
    assert {"head", "layer 0", "5", "11"} <= set(texts(picture))
    # Rows and columns of the selected heads are strong; what the next step starts from is no
    # part of a picture.
    assert fills(picture, colors.text) == []
    strong = [text for text in elements(picture, "text") if text.get("fill") == colors.text]
    numbers = [text.text for text in strong if (text.text or "").isdecimal()]
    assert numbers[:4] == ["2", "5", "1", "3"]


def test_metrics_sort_filter_and_print(attention: Attention) -> None:
    strongest = attention.weights().max(axis=(-2, -1))
    grid = HeadGrid(attention, metrics={"strongest": strongest}, metric="strongest")
    wished = {f"{value:.3f}" for value in strongest.astype(np.float32).ravel()}
    assert wished <= set(texts(grid.figure()))
    bars = fills(grid.figure(), "#008060")
    cell = cell_side(640, 12)
    lengths = [number(bar, "width") for bar in bars]
    np.testing.assert_allclose(lengths, cell * (strongest / strongest.max()).ravel(), atol=1e-3)
    assert len(fills(grid.figure(theme="dark"), "#00a87b")) == 72
    grid.sort = "all"
    grid.filter = (0.9, 1.0)
    picture = grid.figure()
    order = np.argsort(-strongest.astype(np.float32), axis=None, kind="stable")
    names = [text for text in texts(picture) if re.fullmatch(r"\d·\d+", text)]
    assert names == [f"{i // 12}·{i % 12}" for i in order]
    assert {"rank", "strongest, largest first →", "61"} <= set(texts(picture))
    veils = [area for area in fills(picture, LIGHT.ground) if area.get("fill-opacity") == "0.8"]
    assert len(veils) == 72 - len(grid.passing) > 0
    assert f"{len(grid.passing)} of 72 heads have 0.9 to 1" in grid.caption.text()
    table = picture.table
    assert len(table) == min(20, len(grid.passing))
    assert table["head"][0].startswith(f"L{order[0] // 12} H{order[0] % 12} ")
    assert table["strongest"][0] == f"{strongest.max():.3f}"
    grid.sort = "rows"
    picture = grid.figure()
    names = [text for text in texts(picture) if re.fullmatch(r"H\d+", text)]
    assert names == [f"H{i % 12}" for i in sorted(order, key=lambda head: head // 12)]
    assert "strongest, 0 to 1" in grid.caption.text()


def test_what_is_said_of_the_order_is_as_long_as_there_is_room() -> None:
    two = Attention.from_weights(np.full((1, 2, 3, 3), 1 / 3, np.float32), list("abc"))
    for title, width in (("a metric with a name", None), ("a long name " * 20, 300)):
        grid = HeadGrid(two, metrics={title: np.ones((1, 2))}, metric=title, sort="all")
        picture = grid.figure(width=width)
        said = [text for text in texts(picture) if text.startswith("a ")]
        assert (f"{title}, largest first →" in said) == (width is None)
        assert said[0].endswith("…") == (width is not None)
        assert any(title in note for note in picture.caption.notes)
        assert width is None or picture.drawing.width == width


def test_large_grids_and_shared_keys(wide: Attention, causal: Attention) -> None:
    for width in (480, 1200):
        assert_thumbnails(HeadGrid(wide), width=width)
        picture = HeadGrid(wide).figure(width=width)
        assert picture.drawing.width == width
        assert ElementTree.fromstring(picture.svg).get("width") == str(width)
    grid = HeadGrid(causal)
    picture = grid.figure()
    bands = fills(picture, LIGHT.muted)
    image = elements(picture, "image")[0]
    assert [(place(band)[0], number(band, "height")) for band in bands] == [
        (place(image)[0] + 2 + half * (number(image, "width") - 1) / 2, 2) for half in (0, 1)
    ]


def test_the_table_names_heads_and_pairs(attention: Attention) -> None:
    grid = HeadGrid(attention, selected=[(3, 5)], hidden=[])
    table = grid.figure().table
    weights = attention.weights(3, 5)
    query, key = np.unravel_index(weights.argmax(), weights.shape)
    assert table.loc[0].to_dict() == {
        "head": "L3 H5 (4-6)",
        "selected": "yes",
        "largest weight": f"{weights.max():.3g}",
        "from → to": f"{attention.tokens[query]} → {attention.tokens[key]}",
    }
    assert len(table) == 20
    # The others in the order of their largest values.
    largest = attention.weights().max(axis=(-2, -1)).ravel()
    order = [i for i in np.argsort(-largest, kind="stable") if i != 3 * 12 + 5]
    assert table["head"][1:].tolist() == [
        f"L{i // 12} H{i % 12} ({i // 12 + 1}-{i % 12 + 1})" for i in order[:19]
    ]


def test_of_many_selected_heads_the_caption_names_some(attention: Attention) -> None:
    grid = HeadGrid(attention, selected=[(0, head) for head in range(8)])
    assert grid.caption.head.startswith("L0 H0 (1-1), L0 H1 (1-2)")
    assert grid.caption.head.endswith("L0 H5 (1-6) and 2 more")
    assert HeadGrid(attention).caption.head == ""


def test_other_quantities_have_their_own_numbers(attention: Attention) -> None:
    grid = HeadGrid(attention, quantity="norms", hidden=[])
    assert_thumbnails(grid)
    top = f"{max(attention.norms(layer).max() for layer in range(6)):.3g}"
    assert {"‖a·f(x)‖ · one scale for all heads", top} <= set(texts(grid.figure()))
    assert f"0 to {top}" in grid.caption.scale
    assert "largest norm" in grid.figure().table.columns and float(
        grid.figure().table["largest norm"][0]
    ) == float(top)


def test_what_could_not_be_computed_is_said_in_the_pictures_place(attention: Attention) -> None:
    grid = HeadGrid(attention)
    with pytest.raises(ValueError, match=naming("gradients", "loss='auto'")):
        grid.quantity = "gradients"
    picture = grid.figure()
    assert on_page(grid, "error") in " ".join(texts(picture))
    assert not images(picture) and picture.table.empty


@pytest.mark.slow
def test_pixels_of_a_file_are_those_of_the_thumbnails() -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(70, 0.1), size=(2, 16, 70))
    tokens = [f"t{i}" for i in range(70)]
    picture = HeadGrid(Attention.from_weights(weights.astype(np.float32), tokens)).figure()
    for scale in (1, 2, 3):
        drawing = picture.drawn(density=float(scale))
        assert drawing.width == picture.drawing.width
        maps, (left, top, *_) = drawing.rasters[0], drawing.figures[0]
        wanted = np.frombuffer(maps.data, np.uint8).reshape(maps.down, maps.across, 4)[..., :3]
        x = round(scale * (left + 47))
        y = round(scale * (top + 19))
        with Image.open(io.BytesIO(picture.png(scale=scale))) as file:
            drawn = np.asarray(file.convert("RGB"))[y : y + maps.down, x : x + maps.across]
        np.testing.assert_array_equal(drawn, wanted)
