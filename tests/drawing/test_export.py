"""Figures as files: their exact sizes, what is written in them, and what is refused."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
import threading
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pypdf
import pytest
import vl_convert
from numpy.typing import NDArray
from PIL import Image, ImageColor

from attnwidget import Attention, HeadGrid, HeadView
from attnwidget.charts.theme import DARK, LIGHT, Theme
from attnwidget.drawing.caption import Caption
from attnwidget.drawing.engine import Pixels
from attnwidget.drawing.png import png
from attnwidget.drawing.svg import svg
from fixtures.svg_picture import levels, number, offset, ramp_table, texts
from refusals import naming

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>1</script>"
TOKENS = ["[CLS]", "naïve", "ing", "Ωmega", 'a"b&c', HOSTILE, 'x role="img" y']
TITLE = "One attention head · bert-base-cased · L7 H9 (8-10)"


def view(
    tokens: list[str] | None = None, name: str = "bert-base-cased", **options: Any
) -> HeadView:
    """The last of 8 x 10 heads, whose weights are the same in every run."""
    shown = tokens or [*TOKENS, "[SEP]"]
    weights = np.random.default_rng(0).dirichlet(np.full(len(shown), 0.3), (8, 10, len(shown)))
    attention = Attention.from_weights(weights.astype("f4"), shown, model_name=name)
    return HeadView(attention, 7, 9, hidden=["sep"])


def banded(n: int) -> HeadView:
    """A matrix of n x n cells in three bands from top to bottom: 0, 0.5 and 1 of the largest."""
    bands = np.repeat([0, 0.5, 1], -(-n // 3))[:n, None]
    weights = np.broadcast_to(bands, (n, n))[None, None].astype("f4")
    tokens = [f"t{i}" for i in range(n)]
    attention = Attention.from_weights(weights, tokens, allow_unnormalized=True)
    return HeadView(attention, 0, 0, mode="matrix", scale="linear")


def save(tmp_path: Path, name: str, **options: Any) -> Path:
    return view().save(tmp_path / name, **options)


@pytest.mark.parametrize("width", [None, 200, 333, 720.5])
def test_an_svg_has_exactly_the_width_and_keeps_its_shape(
    tmp_path: Path, width: float | None
) -> None:
    root = ET.parse(save(tmp_path, "figure.svg", width=width)).getroot()
    drawing = view().figure(width=width).drawing
    wanted = drawing.width if width is None else width
    height = float(root.get("height", "nan"))
    assert float(root.get("width", "nan")) == wanted
    assert height == round(drawing.height * wanted / drawing.width)
    box = [float(number) for number in root.get("viewBox", "").split()]
    assert box[:3] == [0, 0, drawing.width]
    assert box[3] / box[2] == pytest.approx(height / wanted, abs=1e-5)


def test_an_svg_holds_the_tokens_as_text_and_no_other_elements() -> None:
    picture = view().figure(width=1200)
    assert set(TOKENS) < set(texts(picture))
    names = {element.tag for element in ET.fromstring(picture.svg).iter() if SVG in element.tag}
    drawn = {"svg", "title", "desc", "metadata", "g", "rect", "path", "text", "image"}
    assert {name.removeprefix(SVG) for name in names} <= drawn


def test_an_svg_says_what_it_shows() -> None:
    picture = view(name=f"bert {HOSTILE}").figure()
    root = ET.fromstring(picture.svg)
    said = picture.caption
    assert root.get("role") == "img"
    # The first child names the picture for who cannot see it.
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == TITLE.replace("bert-base-cased", f"bert {HOSTILE}")
    assert root.findtext(f"{SVG}desc") == said.text()
    fields = {element.tag.rpartition("}")[2]: element.text for element in root.iter()}
    assert fields["head"] == "L7 H9 (8-10)" and fields["quantity"] == said.quantity
    assert fields["notes"] == "; ".join(said.notes) and "[SEP]" in said.notes[0]
    assert (fields["creator"] or "").startswith("attnwidget ")
    # Descriptions of single marks would be read aloud one by one.
    assert not any(name.startswith("aria-") for element in root.iter() for name in element.attrib)


def test_svgs_on_one_page_do_not_share_identifiers() -> None:
    for one in (view(), banded(3), banded(40)):
        page = one.figure().svg
        assert not any("id" in element.attrib for element in ET.fromstring(page).iter())
        assert "url(#" not in page


def test_signs_that_xml_forbids_are_replaced(tmp_path: Path) -> None:
    shown = view(["a\x00b", "c\x1bd"], name="x\x07y")
    picture = shown.figure()
    # Control characters have pictures that stand for them, elsewhere nothing does.
    assert {"a\u2400b", "c\u241bd"} <= set(texts(picture))
    assert "x\ufffdy" in (ET.fromstring(picture.svg)[0].text or "")
    with Image.open(shown.save(tmp_path / "figure.png")) as opened:
        assert "x\ufffdy" in opened.info["Title"]


@pytest.mark.parametrize("scale", [None, 1, 2, 3, 1.5])
def test_a_png_has_exactly_the_stated_pixels(tmp_path: Path, scale: float | None) -> None:
    path = save(tmp_path, "figure.png", width=333, scale=scale)
    drawing = view().figure(width=333).drawing
    with Image.open(path) as picture:
        pixels = round(333 * (scale or 2))
        assert picture.size == (pixels, round(pixels * drawing.height / drawing.width))
        assert picture.info["dpi"][0] == pytest.approx(96 * pixels / 333, abs=0.1)


def test_a_png_says_what_it_shows(tmp_path: Path) -> None:
    with Image.open(save(tmp_path, "figure.png")) as picture:
        info = dict(picture.info)
    assert info["Title"] == TITLE
    assert info["Description"] == view().caption.text()
    assert info["Head"] == "L7 H9 (8-10)" and info["Notes"].startswith("hidden: [SEP]")
    assert info["Software"].startswith("attnwidget ")


def rgb(data: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))


def test_dpi_sets_the_resolution_of_a_png(tmp_path: Path) -> None:
    path = save(tmp_path, "figure.png", width=320, dpi=300)
    with Image.open(path) as picture:
        assert picture.width == 1000
        assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    with pytest.raises(ValueError, match=naming("scale", "dpi")):
        save(tmp_path, "figure.png", scale=2, dpi=300)
    with pytest.raises(ValueError, match=naming("dpi", "0")):
        save(tmp_path, "figure.png", dpi=0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "scale"), [(None, 2), (401, 1), (640, 1.5)])
@pytest.mark.parametrize("kind", ["grid", "matrix", "large matrix", "difference"])
def test_a_png_has_the_pixels_that_the_converter_makes_of_the_svg(
    kind: str, width: float | None, scale: float, theme: Any
) -> None:
    """Large cells are areas in a PNG, where the SVG has an image."""
    size = 90 if kind == "large matrix" else 40
    weights = np.random.default_rng(2).dirichlet(np.full(size, 0.3), (2, 4, 6, size)).astype("f4")
    tokens = [f"t{i}" for i in range(size)]
    attention, other = (Attention.from_weights(stack, tokens) for stack in weights)
    widget = HeadGrid(attention) if kind == "grid" else HeadView(attention, 1, 2, mode="matrix")
    if kind == "difference":
        widget.versus = other
    picture = widget.figure(width=width, theme=theme)
    drawing = picture.drawn(density=scale, dense=True)
    page = svg(drawing, width=round((width or drawing.width) * scale), density=0)
    assert "<image" in page
    assert np.array_equal(rgb(picture.png(scale)), rgb(vl_convert.svg_to_png(page)))


def test_the_images_of_an_svg_have_the_colors_of_the_drawing() -> None:
    """256 colors have a palette, more colors and transparent colors have none."""
    picture = view().figure()
    random = np.random.default_rng(1)
    for count, opaque in [(2, True), (256, True), (257, True), (40_000, True), (300, False)]:
        colors = random.integers(0, 256, (count, 4), dtype=np.uint8)
        colors[:, 3] = 255 if opaque else colors[:, 3]
        pixels = colors[random.permutation(np.arange(90_000) % count)].reshape(300, 300, 4)
        body = '<image width="300" height="300" href="raster:0"/>'
        raster = Pixels(across=300, down=300, width=300, height=300, data=pixels.tobytes())
        page = svg(replace(picture.drawing, body=body, rasters=(raster,)), density=1)
        (url,) = re.findall(r'"data:image/png;base64,([^"]*)"', page)
        with Image.open(io.BytesIO(base64.b64decode(url))) as opened:
            assert np.array_equal(np.asarray(opened.convert("RGBA")), pixels)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [401.0, 640.0, 1234.0])
@pytest.mark.parametrize("n", [3, 40])
def test_the_cells_of_maps_stay_sharp_at_any_size(
    tmp_path: Path, n: int, width: float, theme: Any
) -> None:
    shown = banded(n)
    path = shown.save(tmp_path / "figure.png", width=width, scale=1, theme=theme)
    with Image.open(path) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    drawing = shown.figure(width=width, theme=theme).drawn(density=1)
    left, top, across, down = map_box(ET.fromstring(svg(drawing)), n)
    values = np.repeat([0, 0.5, 1], -(-n // 3))[:n]
    wanted = ramp_table(theme)[levels(values, 1, "linear")]
    column = pixels[:, int(left + across / n / 2)].astype(int)
    for row, color in enumerate(wanted):
        # A row of pixels at each edge may be a mixture.
        start = top + row * down / n + 1
        end = top + (row + 1) * down / n - 1
        cell = column[int(np.ceil(start)) : int(np.floor(end))]
        assert len(cell) and (cell == color).all()


def map_box(root: ET.Element, n: int) -> tuple[float, float, float, float]:
    """Where the cells of a map lie: few are drawn one by one, many are one image."""
    if n * n > 900:
        image = max(root.iter(f"{SVG}image"), key=lambda image: number(image, "height"))
        (x, y), names = offset(image), ("x", "y", "width", "height")
        left, top, across, down = (number(image, name) for name in names)
        return x + left, y + top, across, down
    cells = [e for e in root.iter(f"{SVG}path") if e.get("shape-rendering") == "crispEdges"]
    (x, y), path = offset(cells[0]), cells[0].attrib["d"]
    found = re.match(r"M([\d.]+) ([\d.]+)h([\d.]+)v", path)
    assert found
    left, top, cell = map(float, found.groups())
    return x + left, y + top, n * cell, n * cell


@pytest.mark.parametrize("width", [None, 240, 512.5, 1200])
def test_a_pdf_has_one_page_of_the_stated_size_with_embedded_fonts(
    tmp_path: Path, width: float | None
) -> None:
    path = save(tmp_path, "figure.pdf", width=width)
    drawn = ET.parse(save(tmp_path, "figure.svg", width=width)).getroot()
    reader = pypdf.PdfReader(path)
    (page,) = reader.pages
    assert float(page.mediabox.width) == float(drawn.get("width", "nan"))
    assert float(page.mediabox.height) == float(drawn.get("height", "nan"))
    written = page.extract_text()
    # Narrow columns cut the long ones short.
    for token in TOKENS if width == 1200 else ["[CLS]", "naïve", "Ωmega"]:
        assert token in written
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    assert fonts
    for font in fonts:
        descriptor = font["/DescendantFonts"][0].get_object()["/FontDescriptor"]
        assert {"/FontFile2", "/FontFile3"} & descriptor.keys()
        assert "/ToUnicode" in font


def test_a_pdf_says_what_it_shows(tmp_path: Path) -> None:
    reader = pypdf.PdfReader(save(tmp_path, "figure.pdf"))
    info = reader.metadata
    assert info is not None
    assert info.title == TITLE
    assert info.subject == view().caption.text()
    assert "L7 H9 (8-10)" in info["/Keywords"] and info["/Model"] == "bert-base-cased"
    assert info.creator is not None and info.creator.startswith("attnwidget ")
    assert reader.trailer["/Root"]["/Lang"] == "en"


def test_a_pdf_warns_of_signs_that_no_font_has(tmp_path: Path) -> None:
    # A private sign: no font of any machine has it.
    with pytest.warns(UserWarning, match=naming("\\U000f1234", "no font")):
        view(["\U000f1234a", "b"]).save(tmp_path / "figure.pdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(tmp_path, "figure.pdf")


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    files = [save(tmp_path, f"{k}{suffix}", width=300).read_bytes() for k in range(4)]
    assert len(set(files)) == 1


@pytest.mark.slow
def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from drawing.test_export import save\n"
        "save(Path(sys.argv[1]), 'other.pdf'); save(Path(sys.argv[1]), 'other.svg')"
    )
    environment = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    setup = f"import sys; sys.path[:0] = {environment}; "
    subprocess.run([sys.executable, "-c", setup + code, str(tmp_path)], check=True)
    for suffix in (".pdf", ".svg"):
        own = save(tmp_path, f"own{suffix}").read_bytes()
        assert own == (tmp_path / f"other{suffix}").read_bytes()


def test_threads_may_draw_at_once(tmp_path: Path) -> None:
    wanted = {n: banded(n).figure().svg for n in (3, 40)}
    made: list[tuple[int, str]] = []

    def draw(n: int) -> None:
        path = banded(n).save(tmp_path / f"{n}.svg")
        made.append((n, path.read_text("utf-8")))

    threads = [threading.Thread(target=draw, args=(n,)) for n in (3, 40, 3, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted([*wanted.items(), *wanted.items()])


@pytest.mark.parametrize("width", [300, 800, 1600])
def test_the_caption_is_drawn_under_the_figure_on_request(tmp_path: Path, width: float) -> None:
    bare = view().figure(width=width)
    path = save(tmp_path, "captioned.svg", width=width, caption=True)
    root = ET.parse(path).getroot()
    assert float(root.get("width", "nan")) == width
    box, bottom = map(float, root.get("viewBox", "").split()[2:])
    assert bottom > bare.drawing.height
    (_, y, _, height), said = bare.drawing.figures[0], bare.caption.text()
    lines: list[str] = []
    for text in reversed(list(root.iter(f"{SVG}text"))):
        assert y + height < offset(text)[1] + number(text, "y") < bottom
        lines.insert(0, text.text or "")
        if " ".join(lines) == said:
            break
    assert " ".join(lines) == said and (len(lines) > 1) == (width < 1600)
    assert number(text, "x") + offset(text)[0] == 8 and number(text, "y") + 12 <= bottom
    # Inside the page, as the fonts of pictures place it.
    data = save(tmp_path, "captioned.png", width=width, scale=1, caption=True)
    with Image.open(data) as picture:
        margin = np.asarray(picture.convert("L"))[round((y + height) * width / box) + 4 :, -4:]
    assert margin.size and margin.min() == 255
    with pypdf.PdfReader(save(tmp_path, "captioned.pdf", width=width, caption=True)) as reader:
        assert "[SEP]" in reader.pages[0].extract_text()


def test_a_long_word_in_a_caption_is_broken(tmp_path: Path) -> None:
    path = view(name="x" * 400).save(tmp_path / "figure.svg", caption=True, width=300)
    lines = [text.text or "" for text in ET.parse(path).getroot().iter(f"{SVG}text")]
    # Over the figure and under it.
    assert "".join(lines).count("x" * 400) == 2
    assert max(line.count("x") for line in lines) < 80


def test_a_dark_figure_has_a_dark_ground(tmp_path: Path) -> None:
    path = save(tmp_path, "figure.png", theme="dark", caption=True)
    ground = ImageColor.getrgb(DARK.ground)
    with Image.open(path) as picture:
        corners = [(0, 0), (picture.width - 1, 0), (0, picture.height - 1)]
        corners.append((picture.width - 1, picture.height - 1))
        assert {picture.convert("RGB").getpixel(corner) for corner in corners} == {ground}


@pytest.mark.parametrize(
    ("name", "options", "error", "parts"),
    [
        ("figure.jpg", {}, ValueError, ("'.jpg'", ".svg, .pdf, .png", "html")),
        ("figure", {}, ValueError, ("'figure'", "no suffix")),
        ("figure.svg", {"width": 0}, ValueError, ("width", "got 0")),
        ("figure.svg", {"width": float("nan")}, ValueError, ("width", "nan")),
        ("figure.svg", {"width": "480"}, ValueError, ("width", "'480'")),
        ("figure.png", {"scale": -1}, ValueError, ("scale", "-1")),
        ("figure.png", {"scale": float("inf")}, ValueError, ("scale", "inf")),
        ("figure.png", {"scale": 100}, ValueError, ("million pixels", "width or scale")),
        (
            "figure.svg",
            {"theme": "blue"},
            ValueError,
            ("theme", "'blue'", "'light'"),
        ),
        ("nowhere/figure.svg", {}, FileNotFoundError, ("nowhere", "'figure.svg'", "folder")),
    ],
)
def test_refused_saves_leave_no_file(
    tmp_path: Path,
    name: str,
    options: dict[str, Any],
    error: type[Exception],
    parts: tuple[str, ...],
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        save(tmp_path, name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_cannot_be_drawn_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "figure.svg"
    path.write_text("old")

    def interrupted(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, "figure.svg")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_an_upper_case_suffix_and_a_text_path_will_do(tmp_path: Path) -> None:
    path = view().save(str(tmp_path / "figure.SVG"))
    assert path == tmp_path / "figure.SVG" and ET.parse(path).getroot().tag == f"{SVG}svg"


def test_a_caption_says_its_parts_in_order() -> None:
    assert Caption("A", head="L0 H1", notes=("n", "", "m")).text() == "A · L0 H1 · n · m"
    assert Caption("A", notes=("n", "m")).to_dict() == {"figure": "A", "notes": "n; m"}
    with pytest.raises(ValueError, match=naming("caption", "figure=")):
        Caption(" ")


@pytest.fixture(scope="module")
def many() -> HeadView:
    """Lines by the thousand between 120 tokens."""
    weights = np.random.default_rng(0).dirichlet(np.full(120, 0.3), (1, 1, 120)).astype("f4")
    return HeadView(
        Attention.from_weights(weights, [f"t{i}" for i in range(120)]), 0, 0, mode="lines"
    )


def blocks_of(data: bytes) -> NDArray[np.float64]:
    """Means of 20 x 20 pixels, since edges are smoothed in other ways."""
    with Image.open(io.BytesIO(data)) as picture:
        gray = np.asarray(picture.convert("L"), float)
    rows, columns = (range(0, size, 20) for size in gray.shape)
    return np.add.reduceat(np.add.reduceat(gray, rows, 0), columns, 1).ravel() / 400


@pytest.mark.slow
def test_many_strokes_are_where_few_would_be(many: HeadView) -> None:
    picture = many.figure()
    vector = picture.drawing
    dense = picture.drawn(density=1, dense=True)
    lines = "a vector file keeps its lines; the color bar is an image"
    assert (len(vector.rasters), len(dense.rasters)) == (1, 2), lines
    page = picture.svg.replace(f'width="{vector.width}"', f'width="{dense.width}"')
    wanted = blocks_of(vl_convert.svg_to_png(page))
    for colors in (None, 256):
        data = png(dense, pixels=round(dense.width), scale=1, colors=colors)
        assert np.corrcoef(blocks_of(data), wanted)[0, 1] > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_fewer_colors_leave_the_ground_as_it_is(many: HeadView, theme: Theme) -> None:
    drawing = many.figure(theme="dark" if theme is DARK else "light").drawing
    data = png(drawing, pixels=200, scale=1, colors=256)
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.mode == "P"
        assert picture.convert("RGB").getpixel((1, 1)) == ImageColor.getrgb(theme.ground)
