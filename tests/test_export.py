"""Figures as files: their exact sizes, what is written in them, and what is refused."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pypdf
import pytest
import vl_convert
from numpy.typing import NDArray
from PIL import Image, ImageColor

from attnwidget.figures.caption import Caption
from attnwidget.figures.export import write_chart
from attnwidget.figures.images import map_image
from attnwidget.figures.levels import colour_table
from attnwidget.figures.offline import offline
from attnwidget.figures.raster import png
from attnwidget.figures.raster_curves import with_curves_as_images
from attnwidget.figures.raster_lines import with_lines_as_images
from attnwidget.figures.svg import Drawing, document
from attnwidget.figures.theme import DARK, LIGHT, Theme, in_dark, publication

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert(1)</script>"
TOKENS = ["[CLS]", "naïve", "##ing", "Ωmega", 'a"b&c', HOSTILE, 'x role="img" y']
CAPTION = Caption(
    "One attention head",
    model="bert-base-cased",
    head="L7 H9 (8-10)",
    quantity="attention weights between tokens",
    scale="square-root colour scale, 0 to 0.81",
    notes=("[SEP] hidden", "renormalised", HOSTILE),
)


def chart(tokens: list[str] | None = None, *, title: str = "One head") -> alt.LayerChart:
    """Tokens beside a map of three sharp bands, 0, 128 and 255 of the ramp."""
    levels = np.repeat(np.array([[0], [128], [255]], np.uint8), 3, axis=1)
    rows = [{"token": token, "y": 20 * k} for k, token in enumerate(tokens or TOKENS)]
    place = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, 150], range=[0, 150]))
    names = alt.Chart(alt.Data(values=rows)).mark_text(align="left", clip=True)
    picture = map_image(levels, LIGHT.ramp)
    image = alt.Chart(alt.Data(values=[{}])).mark_image(
        url=picture, width=150, height=150, align="right", baseline="top"
    )
    layers = names.encode(x=alt.value(0), y=place, text="token:N") + image.encode(
        x=alt.value(400), y=alt.value(0)
    )
    return offline(publication(layers.properties(width=400, height=150), title))


def texts(path: Path) -> list[str]:
    root = ET.parse(path).getroot()
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def save(tmp_path: Path, name: str, **options: Any) -> Path:
    return write_chart(chart(), tmp_path / name, caption=CAPTION, **options)


@pytest.mark.parametrize("width", [None, 200, 333, 720.5])
def test_an_svg_has_exactly_the_width_and_keeps_its_shape(
    tmp_path: Path, width: float | None
) -> None:
    own = ET.parse(save(tmp_path, "own.svg")).getroot()
    root = ET.parse(save(tmp_path, "figure.svg", width=width)).getroot()
    natural = float(own.get("width", "nan")), float(own.get("height", "nan"))
    wanted = natural[0] if width is None else width
    assert float(root.get("width", "nan")) == wanted
    assert float(root.get("height", "nan")) == round(natural[1] * wanted / natural[0])
    box = [float(number) for number in root.get("viewBox", "").split()]
    assert box[:3] == [0, 0, natural[0]]
    assert box[3] / box[2] == pytest.approx(float(root.get("height", "nan")) / wanted, abs=1e-5)


def test_an_svg_holds_the_tokens_as_text_and_no_other_elements(tmp_path: Path) -> None:
    path = save(tmp_path, "figure.svg")
    assert set(TOKENS) < set(texts(path))
    names = {element.tag.removeprefix(SVG) for element in ET.parse(path).getroot().iter()}
    assert "script" not in names and "foreignObject" not in names


def test_an_svg_says_what_it_shows(tmp_path: Path) -> None:
    root = ET.parse(save(tmp_path, "figure.svg")).getroot()
    assert root.get("role") == "img"
    # The first child names the picture for who cannot see it.
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "One attention head · bert-base-cased · L7 H9 (8-10)"
    assert root.findtext(f"{SVG}desc") == CAPTION.text()
    said = {element.tag.rpartition("}")[2]: element.text for element in root.iter()}
    assert said["head"] == "L7 H9 (8-10)" and said["quantity"] == CAPTION.quantity
    assert said["notes"] == f"[SEP] hidden; renormalised; {HOSTILE}"
    assert (said["creator"] or "").startswith("attnwidget ")
    # Vega's own descriptions would be read aloud mark by mark.
    assert not any(name.startswith("aria-") for element in root.iter() for name in element.attrib)


def test_two_svgs_on_one_page_do_not_share_identifiers(tmp_path: Path) -> None:
    files = [
        write_chart(chart(tokens), tmp_path / f"{k}.svg", caption=CAPTION)
        for k, tokens in enumerate((["one"], ["two"]))
    ]
    first, second = (
        {element.get("id") for element in ET.parse(path).getroot().iter()} - {None}
        for path in files
    )
    assert first and second and not first & second
    for path, ids in zip(files, (first, second), strict=True):
        uses = path.read_text("utf-8").split("url(#")[1:]
        assert {use.partition(")")[0] for use in uses} == ids


def test_signs_that_xml_forbids_are_replaced(tmp_path: Path) -> None:
    path = write_chart(
        chart(["a\x00b", "c\x1bd"]), tmp_path / "figure.svg", caption=Caption("x\x07y")
    )
    assert {"a\ufffdb", "c\ufffdd"} <= set(texts(path))
    assert ET.parse(path).getroot()[0].text == "x\ufffdy"
    png = write_chart(chart(["a\x00b"]), tmp_path / "figure.png", caption=Caption("x\x07y"))
    with Image.open(png) as picture:
        assert picture.info["Title"] == "x\ufffdy"


@pytest.mark.parametrize("scale", [None, 1, 2, 3, 1.5])
def test_a_png_has_exactly_the_stated_pixels(tmp_path: Path, scale: float | None) -> None:
    path = save(tmp_path, "figure.png", width=333, scale=scale)
    svg = ET.parse(save(tmp_path, "figure.svg")).getroot()
    shape = float(svg.get("height", "nan")) / float(svg.get("width", "nan"))
    with Image.open(path) as picture:
        pixels = round(333 * (scale or 2))
        assert picture.size == (pixels, round(pixels * shape))
        assert picture.info["dpi"][0] == pytest.approx(96 * pixels / 333, abs=0.1)


def test_a_png_says_what_it_shows(tmp_path: Path) -> None:
    with Image.open(save(tmp_path, "figure.png")) as picture:
        info = dict(picture.info)
    assert info["Title"] == "One attention head · bert-base-cased · L7 H9 (8-10)"
    assert info["Description"] == CAPTION.text()
    assert info["Head"] == "L7 H9 (8-10)" and info["Notes"].startswith("[SEP] hidden; ")
    assert info["Software"].startswith("attnwidget ")


@pytest.mark.parametrize("width", [401.0, 640.0, 1234.0])
def test_the_cells_of_maps_stay_sharp_at_any_size(tmp_path: Path, width: float) -> None:
    path = write_chart(chart(["a"]), tmp_path / "figure.png", caption=CAPTION, width=width, scale=1)
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    column = [tuple(map(int, pixel)) for pixel in pixels[:, -60]]
    middle, dark = (tuple(map(int, colour_table(LIGHT.ramp)[level])) for level in (128, 255))
    shades = [colour for colour in column if colour != (255, 255, 255)]
    assert shades[1] == middle and shades[-2] == dark
    # A row of pixels at each edge may be a mixture.
    assert sum(colour not in (middle, dark) for colour in shades) <= 3
    assert shades.count(middle) == pytest.approx(shades.count(dark), abs=2)


@pytest.mark.parametrize("width", [None, 240, 512.5])
def test_a_pdf_is_one_page_of_that_size_with_text_in_embedded_fonts(
    tmp_path: Path, width: float | None
) -> None:
    path = save(tmp_path, "figure.pdf", width=width)
    svg = ET.parse(save(tmp_path, "figure.svg", width=width)).getroot()
    reader = pypdf.PdfReader(path)
    (page,) = reader.pages
    assert float(page.mediabox.width) == float(svg.get("width", "nan"))
    assert float(page.mediabox.height) == float(svg.get("height", "nan"))
    lines = [line.strip() for line in page.extract_text().splitlines()]
    for token in TOKENS:
        assert token.strip() in lines
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
    assert info.title == "One attention head · bert-base-cased · L7 H9 (8-10)"
    assert info.subject == CAPTION.text()
    assert "L7 H9 (8-10)" in info["/Keywords"] and info["/Model"] == "bert-base-cased"
    assert info.creator is not None and info.creator.startswith("attnwidget ")
    assert reader.trailer["/Root"]["/Lang"] == "en"


def test_a_pdf_warns_of_signs_that_no_font_has(tmp_path: Path) -> None:
    # A private sign: no font of any machine has it.
    with pytest.warns(UserWarning, match="no font of this machine has .*\U000f1234"):
        write_chart(chart(["\U000f1234a"]), tmp_path / "figure.pdf", caption=CAPTION)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(tmp_path, "figure.pdf")


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    files = [save(tmp_path, f"{k}{suffix}", width=300).read_bytes() for k in range(4)]
    assert len(set(files)) == 1


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from test_export import save\n"
        "save(Path(sys.argv[1]), 'other.pdf'); save(Path(sys.argv[1]), 'other.svg')"
    )
    environment = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    setup = f"import sys; sys.path[:0] = {environment}; "
    subprocess.run([sys.executable, "-c", setup + code, str(tmp_path)], check=True)
    for suffix in (".pdf", ".svg"):
        own = save(tmp_path, f"own{suffix}").read_bytes()
        assert own == (tmp_path / f"other{suffix}").read_bytes()


@pytest.mark.parametrize("width", [300, 800])
def test_the_caption_is_drawn_under_the_figure_on_request(tmp_path: Path, width: float) -> None:
    bare = ET.parse(save(tmp_path, "bare.svg", width=width)).getroot()
    path = save(tmp_path, "captioned.svg", width=width, drawn_caption=True)
    root = ET.parse(path).getroot()
    assert root.get("width") == bare.get("width")
    assert float(root.get("height", "nan")) > float(bare.get("height", "nan"))
    lines = [e for e in root.iter(f"{SVG}text") if e.get("x")]
    assert " ".join("".join(line.itertext()) for line in lines) == CAPTION.text()
    assert len(lines) > 1
    box, bottom = map(float, root.get("viewBox", "").split()[2:])
    natural = float(bare.get("viewBox", "").split()[3])
    assert all(natural < float(line.get("y", "nan")) < bottom for line in lines)
    # Inside the page, as the fonts of pictures place it.
    data = save(tmp_path, "captioned.png", width=width, scale=1, drawn_caption=True)
    with Image.open(data) as picture:
        margin = np.asarray(picture.convert("L"))[round(natural * width / box) + 4 :, -4:]
    assert margin.size and margin.min() == 255
    with pypdf.PdfReader(
        save(tmp_path, "captioned.pdf", width=width, drawn_caption=True)
    ) as reader:
        assert "renormalised" in reader.pages[0].extract_text()


def test_a_long_word_in_a_caption_is_broken(tmp_path: Path) -> None:
    caption = Caption("x" * 400)
    path = write_chart(
        chart(), tmp_path / "figure.svg", caption=caption, drawn_caption=True, width=300
    )
    lines = [
        "".join(e.itertext()) for e in ET.parse(path).getroot().iter(f"{SVG}text") if e.get("x")
    ]
    assert "".join(lines) == "x" * 400 and max(map(len, lines)) < 80


def test_a_dark_figure_has_a_dark_ground(tmp_path: Path) -> None:
    path = write_chart(
        in_dark(chart()), tmp_path / "figure.png", caption=CAPTION, theme="dark", drawn_caption=True
    )
    ground = tuple(int(DARK.ground[k : k + 2], 16) for k in (1, 3, 5))
    with Image.open(path) as picture:
        corners = [(0, 0), (picture.width - 1, 0), (0, picture.height - 1)]
        corners.append((picture.width - 1, picture.height - 1))
        assert {picture.convert("RGB").getpixel(corner) for corner in corners} == {ground}


@pytest.mark.parametrize(
    ("name", "options", "error", "says"),
    [
        ("figure.jpg", {}, ValueError, "'.jpg'.*one of .svg, .pdf, .png.*html"),
        ("figure", {}, ValueError, "no suffix"),
        ("figure.svg", {"width": 0}, ValueError, "width is a number above 0.*got 0"),
        ("figure.svg", {"width": float("nan")}, ValueError, "width .*got nan"),
        ("figure.svg", {"width": "480"}, ValueError, "width .*got '480'"),
        ("figure.png", {"scale": -1}, ValueError, "scale is a number above 0.*got -1"),
        ("figure.png", {"scale": float("inf")}, ValueError, "scale .*got inf"),
        ("figure.png", {"width": 1e5}, ValueError, "million pixels.*make width or scale smaller"),
        (
            "figure.svg",
            {"theme": "blue"},
            ValueError,
            "theme is one of 'light', 'dark', got 'blue'",
        ),
        ("nowhere/figure.svg", {}, FileNotFoundError, "no folder .*nowhere.*make it first"),
    ],
)
def test_what_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
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
    path = write_chart(chart(), str(tmp_path / "figure.SVG"), caption=CAPTION)
    assert path == tmp_path / "figure.SVG" and ET.parse(path).getroot().tag == f"{SVG}svg"


def test_a_caption_says_its_parts_in_order() -> None:
    assert Caption("A", head="L0 H1", notes=("n", "", "m")).text() == "A · L0 H1 · n · m"
    assert Caption("A", notes=("n", "m")).to_dict() == {"figure": "A", "notes": "n; m"}
    with pytest.raises(ValueError, match="says what the figure is"):
        Caption(" ")


def crossing(n: int, *, curved: bool = False) -> Drawing:
    """`n` lines or curves as Vega writes them, a path a colour, half of them dark."""
    body, gap = "", 4 if curved else 1
    for k, stroke in enumerate(("#b8bbff", "#190074")):
        ends = ""
        for y, end in ((i * gap, 7 * i % n * gap) for i in range(k, n, 2)):
            lean = 0.1 * (end - y)
            between = f"C70,{y + lean:g},130,{end - lean:g}," if curved else "L"
            ends += f"M10,{y}{between}190,{end}"
        paint = f'fill-opacity="1" stroke="{stroke}" stroke-opacity="1" opacity="1"'
        body += f'<path transform="translate(0,0)" d="{ends}" {paint}/>'
    return Drawing(f'<g fill="none">{body}</g>', 200, n * gap)


def blocks_of(data: bytes) -> NDArray[np.float64]:
    """Means of 20 x 20 pixels, since edges are smoothed in other ways."""
    with Image.open(io.BytesIO(data)) as picture:
        grey = np.asarray(picture.convert("L"), float)
    rows, columns = (range(0, size, 20) for size in grey.shape)
    return np.add.reduceat(np.add.reduceat(grey, rows, 0), columns, 1).ravel() / 400


@pytest.mark.parametrize(("n", "curved"), [(200, False), (900, False), (20, True), (60, True)])
def test_many_strokes_are_where_few_would_be(n: int, curved: bool) -> None:
    drawing = crossing(n, curved=curved)
    svg = document(drawing, LIGHT)
    assert svg.count("<image") == 0, "a vector file keeps its lines"
    lines = with_lines_as_images(drawing.body, 1, drawing.height).count("<image")
    curves = with_curves_as_images(drawing.body, 1).count("<image")
    assert (lines, curves) == (n == 900, curved and n == 60)
    vector = blocks_of(vl_convert.svg_to_png(svg))
    for colours in (None, 256):
        data = png(drawing, LIGHT, pixels=round(drawing.width), scale=1, colours=colours)
        assert np.corrcoef(blocks_of(data), vector)[0, 1] > 0.95


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_fewer_colours_leave_the_ground_as_it_is(theme: Theme) -> None:
    data = png(crossing(200), theme, pixels=200, scale=1, colours=256)
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.mode == "P"
        assert picture.convert("RGB").getpixel((1, 1)) == ImageColor.getrgb(theme.ground)
