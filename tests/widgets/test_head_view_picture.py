"""The picture of a HeadView: the same numbers, colors and marks as on the page."""

from __future__ import annotations

import io
import math
import re

import numpy as np
import pytest
import traitlets
from PIL import Image

from attnwidget import Attention, HeadView, load_model
from attnwidget.charts.theme import LIGHT
from attnwidget.drawing.engine import ThemeName
from attnwidget.drawing.png import png
from fixtures import zoo
from fixtures.svg_picture import (
    css,
    elements,
    images,
    levels,
    number,
    offset,
    ramp_table,
    strokes,
    texts,
)
from fixtures.vocabularies import word_tokenizer
from refusals import naming

TEXT = "The captain told his men that he would not leave the unsinkable ship."
# As on the page: more lines than these cannot be told apart.
MOST_LINES = 12_000
ROW = 18


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT)


@pytest.fixture(scope="module")
def pair() -> Attention:
    return load_model().attend("The cat sat on the mat.", "It was very tired.")


@pytest.fixture(scope="module")
def causal() -> Attention:
    return load_model(zoo.build("llama")).attend(zoo.inputs("llama", batch=1, padded=0))


@pytest.fixture(scope="module")
def long() -> Attention:
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.full(512, 0.1), size=(1, 2, 512)).astype(np.float32)
    return Attention.from_weights(weights, [f"t{i}" for i in range(512)])


def share(value: float) -> str:
    """A weight as it is printed."""
    if not value > 0:
        return "0"
    return "<0.0005" if value < 0.0005 else f"{float(f'{value:.3g}'):.10g}"


def spoken(value: float) -> str:
    """A weight as sentences and color bars have it, from 0.1 % on."""
    digits = 0 if value >= 0.0995 else 1
    return f"{math.floor(100 * 10**digits * value + 0.5) / 10**digits:.{digits}f}\xa0%"


def per_cent(value: float) -> str:
    """A share beside a word, of 1 % or more."""
    return f"{math.floor(100 * float(value) + 0.5)}\xa0%"


def aligned(value: float) -> str:
    """A weight among others of which the largest is at least 0.1."""
    return "<0.0005" if round(value, 3) == 0 else f"{value:.3f}"


def line_ends(view: HeadView, row: int = ROW) -> dict[tuple[int, int], str]:
    """The color of the line between a query and a key, rows being `row` pixels high."""
    found = {}
    for path in elements(view.figure(), "path"):
        for piece in re.findall(r"M[^MZ]*L[^MZ]*", path.get("d", "") if path.get("stroke") else ""):
            numbers = [float(x) for x in re.findall(r"-?[\d.]+", piece)]
            ends = (numbers[1] - 4) / row - 0.5, (numbers[-1] - 4) / row - 0.5
            found[round(ends[0]), round(ends[1])] = path.get("stroke", "")
    return found


def line_widths(view: HeadView, row: int = 18) -> dict[tuple[int, int], float]:
    """The thickness of the line of each pair."""
    found = {}
    for path in elements(view.figure(), "path"):
        for piece in re.findall(r"M[^MZ]*L[^MZ]*", path.get("d", "") if path.get("stroke") else ""):
            numbers = [float(x) for x in re.findall(r"-?[\d.]+", piece)]
            ends = (numbers[1] - 4) / row - 0.5, (numbers[-1] - 4) / row - 0.5
            found[round(ends[0]), round(ends[1])] = float(path.get("stroke-width", "1"))
    return found


def test_lines_are_as_thick_as_their_weights_from_a_least_weight_on(attention: Attention) -> None:
    for layer, head in [(3, 5), (1, 3), (0, 2)]:
        view = HeadView(attention, layer, head, hidden=[])
        weights = attention.weights(layer, head)
        least = max(1.5 / len(weights), 0.03)
        expected = {(q, k): 8 * float(weights[q, k]) for q, k in np.argwhere(weights >= least)}
        assert line_widths(view) == pytest.approx(expected, abs=0.02)
        # Opacity is constant: all lines have one color.
        assert len(set(line_ends(view).values())) == 1


@pytest.mark.parametrize("scale", ["linear", "sqrt", "log"])
def test_on_a_relative_scale_the_strongest_line_is_the_thickest(
    attention: Attention, scale: str
) -> None:
    view = HeadView(attention, 3, 5, scale=scale, hidden=[])
    weights = attention.weights(3, 5)
    level = levels(weights, float(weights.max()), scale)
    thick = {(q, k): 8 * level[q, k] / 255 for q, k in np.argwhere(level > 0).tolist()}
    assert line_widths(view) == pytest.approx(thick, abs=0.005)
    words = {"linear": "linear", "sqrt": "square-root", "log": "logarithmic"}[scale]
    assert f"L3 H5: attention between tokens · relative scale ({words})" in texts(view.figure())


def test_a_flat_head_has_no_line_and_says_so() -> None:
    rng = np.random.default_rng(3)
    scores = np.exp(rng.normal(scale=0.02, size=(1, 1, 12, 12)))
    weights = (scores / scores.sum(-1, keepdims=True)).astype("f4")
    view = HeadView(Attention.from_weights(weights, [f"w{i}" for i in range(12)]))
    assert line_ends(view) == {}
    assert "No link is stronger than 1.5 times an even share." in " ".join(texts(view.figure()))
    # In a narrow figure the words stand between the tokens, and not on them.
    narrow = view.figure(width=200)
    said = [text for text in elements(narrow, "text") if text.get("text-anchor") == "middle"]
    assert len(said) > 2


def test_a_locked_token_has_its_weights_beside_the_other_side(attention: Attention) -> None:
    view = HeadView(attention, 3, 5, tokens=[("query", 3)], hidden=[])
    row = attention.weights(3, 5)[3]
    written = texts(view.figure())
    # Shares below 1 % have no number.
    beside = [per_cent(weight) for weight in row if weight >= 0.01]
    numbers = [text for text in written if re.fullmatch(r"\d+\xa0%", text)]
    assert numbers[: len(beside)] == beside
    table = view.figure().table
    order = np.argsort(-row, kind="stable")[:15]
    assert table["from"].unique().tolist() == ["told"]
    assert table["weight"].tolist() == [aligned(float(row[i])) for i in order]
    assert table["to"].tolist() == [attention.tokens[i] for i in order]
    # Weights stand once in a figure: no list repeats them, unless tokens are out of sight.
    assert not any(text.startswith("strongest") for text in written)
    assert written.count(per_cent(row.max())) == 1
    # Its lines have the scale of all lines, and the legend says so.
    assert "thickness · absolute" in written
    view.tokens = [("key", 0)]
    column = attention.weights(3, 5)[:, 0]
    assert {per_cent(weight) for weight in column if weight >= 0.01} <= set(texts(view.figure()))
    # On a relative scale the lines of a token are scaled to the strongest of them.
    view.scale = "sqrt"
    assert f"0 to {spoken(float(column.max()))}" in view.caption.scale


def test_what_is_hidden_and_filtered_is_said(pair: Attention) -> None:
    view = HeadView(pair, 3, 5, hidden=["cls", "sep"], mode="matrix")
    weights = pair.weights(3, 5)
    special = [i for i, kind in enumerate(pair.stacks["self"].key.special) if kind]
    rows = [i for i in range(len(weights)) if i not in special]
    shown = weights[np.ix_(rows, rows)]
    assert float(view.figure().table["weight"][0]) == pytest.approx(float(shown.max()), abs=6e-4)
    assert cell_colors(view) == expected_cells(shown)
    part = 100 * weights[rows][:, special].sum() / weights[rows].sum()
    assert f"{part:.1f}\xa0%" in view.caption.text()
    view = HeadView(pair, 3, 5, sentences="ab", mode="matrix")
    segments = np.array(pair.stacks["self"].query.segments)
    assert cell_colors(view) == expected_cells(weights[np.ix_(segments == 0, segments == 1)])
    other = 100 * weights[segments == 0][:, segments == 0].sum() / (segments == 0).sum()
    assert f"A → B ({other:.1f}\xa0%" in view.caption.text()


def cell_colors(view: HeadView, theme: ThemeName = "light") -> dict[tuple[int, int], str]:
    """The color of each cell that is drawn one by one, from the picture's paths."""
    found = {}
    places = []
    for path in elements(view.figure(theme=theme), "path"):
        boxes = re.findall(r"M([\d.]+) ([\d.]+)h[\d.]+v[\d.]+h-[\d.]+Z", path.get("d", ""))
        places += [(float(y), float(x), path.get("fill", "")) for x, y in boxes]
    rows = sorted({y for y, _, _ in places})
    columns = sorted({x for _, x, _ in places})
    for y, x, fill in places:
        found[rows.index(y), columns.index(x)] = fill
    return found


def expected_cells(
    weights: np.ndarray, theme: str = "light", scale: str = "absolute"
) -> dict[tuple[int, int], str]:
    end = 1 if scale == "absolute" else float(np.nanmax(weights))
    colors = ramp_table(theme)[levels(weights, end, scale)]
    return {at: css(colors[at]) for at in np.ndindex(*weights.shape) if weights[at] == weights[at]}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cells_have_the_colors_of_their_weights(attention: Attention, theme: ThemeName) -> None:
    view = HeadView(attention, 3, 5, mode="matrix", hidden=[])
    assert cell_colors(view, theme) == expected_cells(attention.weights(3, 5), theme)
    # Wordpieces are written in two parts, the mark paler.
    assert {token.removeprefix("##") for token in attention.tokens} <= set(
        texts(view.figure(theme=theme))
    )


def test_the_hidden_half_of_a_causal_map_is_blank(causal: Attention) -> None:
    view = HeadView(causal, 1, 1, mode="matrix")
    visible = causal.visible(1, 1)
    assert visible is not None
    assert set(cell_colors(view)) == set(map(tuple, np.argwhere(visible).tolist()))
    assert not any(path.get("stroke-opacity") for path in elements(view.figure(), "path"))
    view.mode = "lines"
    assert all(k <= q for q, k in line_ends(view))


def test_other_masked_cells_are_hatched() -> None:
    queries, keys = np.random.default_rng(0).normal(size=(2, 1, 1, 4, 3)).astype(np.float32)
    mask = np.ones((1, 1, 4, 4), bool)
    mask[..., 2] = False
    given = Attention.from_queries_keys(queries, keys, scale=1, mask=mask, tokens=list("abcd"))
    view = HeadView(given, 0, 0, mode="matrix", hidden=[])
    assert any(path.get("stroke-opacity") == "0.4" for path in elements(view.figure(), "path"))


def test_a_map_without_masked_cells_has_no_hatching(attention: Attention) -> None:
    paths = elements(HeadView(attention, 3, 5, mode="matrix").figure(), "path")
    assert paths and not any(path.get("stroke-opacity") for path in paths)


def test_a_large_matrix_is_an_image_of_its_cells(long: Attention) -> None:
    view = HeadView(long, 0, 1, mode="matrix")
    picture = view.figure()
    assert len(elements(picture, "path")) < 10
    image = images(picture)[0]
    weights = long.weights(0, 1)
    expected = ramp_table("light")[levels(weights, 1, "absolute")]
    step = image.shape[0] // 512
    np.testing.assert_array_equal(image[::step, ::step], expected)
    assert not any("block maxima" in note for note in view.caption.notes)


def test_a_locked_pair_is_outlined_and_read_out(attention: Attention) -> None:
    view = HeadView(attention, 3, 5, mode="matrix", tokens=[("query", 3), ("key", 4)])
    frames = strokes(view.figure(), LIGHT.accent)
    assert len(frames) == 2 and all(number(frame, "stroke-width") == 2 for frame in frames)
    weight = float(attention.weights(3, 5)[3, 4])
    assert f"told → his {spoken(weight)}" in texts(view.figure())
    assert view.figure().table.values.tolist() == [["told", "his", share(weight)]]


def test_highlighted_words_have_the_second_color(attention: Attention) -> None:
    view = HeadView(attention, 3, 5, highlight=["captain"], mode="matrix", hidden=[])
    second = [int(LIGHT.second[i : i + 2], 16) for i in (1, 3, 5)]
    weights = attention.weights(3, 5)
    strongest = levels(weights, 1, "absolute")[2, 0] / 255
    mixed = [int(255 + (c - 255) * strongest + 0.5) for c in second]
    assert cell_colors(view)[2, 0] == css(mixed)
    assert "second color: attention from and to captain" in texts(view.figure())
    view.mode = "lines"
    assert "mix-blend-mode:darken" in view.figure().svg
    assert "mix-blend-mode:lighten" in view.figure(theme="dark").svg


def test_other_quantities_have_their_own_numbers(attention: Attention) -> None:
    view = HeadView(attention, 3, 5, quantity="norms", tokens=[("query", 3)], hidden=[])
    norms = attention.norms(3, 5)[3]
    written = texts(view.figure())
    assert f"{norms.max():.3g}" in written
    assert "thickness · ‖a·f(x)‖ · this head" in written
    assert view.figure().table.columns.tolist() == ["from", "to", "norm"]


@pytest.mark.slow
def test_many_tokens_show_the_lines_in_sight(long: Attention) -> None:
    view = HeadView(long, 0, 1, mode="lines", scale="sqrt")
    svg = view.figure().svg
    assert len(elements(view.figure(), "path")) <= 256 and len(svg) < 2_000_000
    weights = long.weights(0, 1)
    level = levels(weights, float(weights.max()), "sqrt")
    rows, columns = np.indices(weights.shape)
    seen = (level > 0) & ((rows < 42) | (columns < 42))
    drawn = line_ends(view, 13)
    assert len(drawn) == min(MOST_LINES, seen.sum())
    weakest = min(level[at] for at in drawn)
    assert all(at in drawn for at in map(tuple, np.argwhere(seen & (level > weakest)).tolist()))
    assert "tokens 0 to 41 of 512" in view.caption.text()
    assert (f"{MOST_LINES} lines" in view.caption.text()) == (seen.sum() > MOST_LINES)
    view.tokens = [("query", 300)]
    assert "t300" in texts(view.figure())
    (first, last), *_ = re.findall(r"tokens (\d+) to (\d+) of 512", view.caption.text())
    assert int(first) < 300 <= int(last) and {f"t{first}", f"t{last}"} <= set(texts(view.figure()))


def test_lines_that_go_on_outside_are_cut_at_the_figure(long: Attention) -> None:
    figure = HeadView(long, 0, 1, mode="lines").figure()
    inner = [each for each in elements(figure, "svg") if each.get("x")]
    width, height = figure.drawing.figures[0][2:]
    # What the columns are is written over them.
    assert [round(number(inner[0], name)) for name in ("width", "height")] == [width, height - 18]
    assert {"from", "to"} <= set(texts(figure))


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [40, 122])
@pytest.mark.parametrize("highlight", [[], ["t3"]])
def test_thousands_of_lines_are_the_same_as_pixels(tokens: int, highlight: list[str]) -> None:
    random = np.random.default_rng(1)
    weights = random.dirichlet(np.full(tokens, 0.4), size=(1, 1, tokens)).astype(np.float32)
    attention = Attention.from_weights(weights, [f"t{i}" for i in range(tokens)])
    picture = HeadView(attention, 0, 0, highlight=highlight, mode="lines").figure()
    drawings = [picture.drawn(density=1, dense=dense) for dense in (False, True)]
    assert [len(drawing.rasters) for drawing in drawings] == [1, 2]
    stroked, painted = (
        np.asarray(Image.open(io.BytesIO(png(drawing, pixels=round(drawing.width), scale=1))))
        for drawing in drawings
    )
    apart = np.abs(stroked.astype(int) - painted.astype(int)).max(axis=-1)
    assert (apart > 16).mean() < 0.01


@pytest.mark.parametrize("mode", ["lines", "matrix"])
def test_sides_are_named_and_letters_are_as_large_as_wished(
    attention: Attention, mode: str
) -> None:
    largest = []
    for size in "SML":
        picture = HeadView(attention, 3, 5, mode=mode, token_size=size).figure(width=900)
        assert {"from", "to", "captain"} <= set(texts(picture))
        (written,) = {
            number(text, "font-size") for text in elements(picture, "text") if text.text == "told"
        }
        largest.append(written)
    assert largest == ([11, 12, 17] if mode == "lines" else [10, 11, 16])
    with pytest.raises(traitlets.TraitError, match=naming("'token_size'", "'XL'")):
        HeadView(attention, token_size="XL")


@pytest.mark.slow
def test_a_window_shows_a_part_of_the_matrix_and_the_caption_says_which(long: Attention) -> None:
    view = HeadView(long, 0, 1, window=(100, 120, 300, 320), tokens=[("query", 105)], scale="sqrt")
    assert view.mode == "matrix"
    weights = long.weights(0, 1)
    # Colors end at the largest weight in sight, and the color bar and the caption say so.
    shown = weights[100:120, 300:320]
    colors = ramp_table("light")[levels(shown, float(shown.max()), "sqrt")]
    expected = {at: css(colors[at]) for at in np.ndindex(20, 20)}
    assert f"0 to {spoken(float(shown.max()))}" in view.caption.scale
    assert {"sqrt · in sight", spoken(float(shown.max()))} <= set(texts(view.figure()))
    assert cell_colors(view) == expected
    (zoomed,) = [note for note in view.caption.notes if note.startswith("zoomed")]
    assert all(part in zoomed for part in ("100 to 119", "300 to 319", "512"))
    assert {"t100", "t119", "t300", "t319"} <= set(texts(view.figure()))
    assert not {"t99", "t120"} & set(texts(view.figure()))
    assert view.figure().table["from"].tolist() == ["t105"] * 15
    assert set(view.figure().table["to"]) <= {f"t{i}" for i in range(300, 320)}
    view.window = None
    assert not any("zoomed" in note for note in view.caption.notes)


def test_the_frame_of_a_locked_row_covers_none_of_its_cells(long: Attention) -> None:
    view = HeadView(long, 0, 1, tokens=[("query", 300)])
    (frame,) = strokes(view.figure(), LIGHT.accent)
    # A stroke is one pixel wide unless it says otherwise, half of it to either side.
    assert frame.get("stroke-width") is None and number(frame, "height") - 1 == pytest.approx(1)


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_what_a_model_wrote_is_set_apart_from_its_prompt(unit: str) -> None:
    model = load_model(zoo.build("llama"), word_tokenizer(template=False))
    written = model.generate("w1 w2 w3 w4", max_new_tokens=5)
    for mode in ("lines", "matrix"):
        view = HeadView(written, 0, 1, unit=unit, mode=mode)
        assert {"prompt", "continuation"} <= set(texts(view.figure()))
        (note,) = [note for note in view.caption.notes if note.startswith("prompt")]
        assert f"4 {unit}" in note
    assert "prompt" not in texts(HeadView(load_model().attend("The cat."), 0, 1).figure())


def test_a_refused_quantity_is_said_in_the_picture(attention: Attention) -> None:
    view = HeadView(attention, 3, 5)
    with pytest.raises(ValueError, match=naming("gradients", "loss='auto'")):
        view.quantity = "gradients"
    said = " ".join(texts(view.figure()))
    assert "no loss was given" in said and "Select a head" not in said
    assert view.caption.head == "L3 H5 (4-6)"


def test_an_empty_selection_tells_the_user_what_to_do(attention: Attention) -> None:
    view = HeadView(attention, selected=[])
    assert "Select a head: click one in a HeadGrid" in " ".join(texts(view.figure()))
    assert view.figure().table.empty
    everything = HeadView(
        Attention.from_weights(np.ones((1, 1, 1, 1), np.float32), ["[CLS]"]), hidden=["cls"]
    )
    assert "Every token is hidden: show some again." in texts(everything.figure())
    assert everything.figure().table.empty


def test_hostile_tokens_stay_text() -> None:
    tokens = ["</text><script>x</script>", "a\x00b\x1b", "‮abc", " ", "##\n", "\ud800"]
    attention = Attention.from_weights(np.full((1, 1, 6, 6), 1 / 6, np.float32), tokens)
    for mode in ("lines", "matrix"):
        picture = HeadView(attention, mode=mode, tokens=[("query", 1)]).figure()
        assert {tokens[0][:8], "a␀b␛"} <= {text[:8] for text in texts(picture)}
        assert "<script" not in picture.svg


def test_a_matrix_with_hardly_any_room_is_small_and_not_mirrored() -> None:
    tokens = [f"{'long' * 6}{i}" for i in range(12)]
    view = HeadView(Attention.from_weights(np.full((1, 1, 12, 12), 1 / 12), tokens), mode="matrix")
    picture = view.figure(width=100)
    assert len(cell_colors(view)) == 144
    assert 'width="100"' in picture.svg
    for path in elements(picture, "path") + elements(picture, "rect"):
        assert number(path, "width") >= 0 and number(path, "height") >= 0
    x, _ = offset(strokes(picture, LIGHT.hairline)[0])
    assert x >= 0
    view.close()


def test_a_head_that_is_off_has_a_sentence_in_place_of_lines() -> None:
    # A strike from the last token to the first would look like the strongest line.
    view = HeadView(load_model(device="cpu").attend(TEXT), layer=1, head=3, disabled=[(1, 3)])
    drawn = view.figure()
    assert "This head is off: it looks nowhere." in " ".join(texts(drawn))
    on = HeadView(load_model(device="cpu").attend(TEXT), layer=1, head=3).figure()
    assert "This head is off" not in " ".join(texts(on))
