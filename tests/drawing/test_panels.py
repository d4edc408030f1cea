"""Several figures as one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import pypdf
import pytest
from PIL import Image

from attnwidget import Attention, HeadGrid, HeadView, join_figures, load_model
from fixtures.svg_picture import elements, number, texts
from refusals import naming


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend("The captain told his men a story.")


@pytest.fixture(scope="module")
def three(attention: Attention) -> list[Any]:
    view = HeadView(attention, 1, 3)
    return [view, view.figure(title=False), HeadGrid(attention, selected=[(1, 3)])]


def test_two_stand_side_by_side_and_the_last_has_the_whole_width(three: list[Any]) -> None:
    drawing = join_figures(three, width=800).drawing
    assert (drawing.width, len(drawing.figures)) == (800, 3)
    (x0, y0, _, h0), (x1, y1, w1, _), (x2, y2, w2, _) = drawing.figures
    assert x0 < 100 and x1 > 400 and x2 < 100
    assert y0 < y2 and y0 + h0 < y2 and y1 < y2
    assert w2 > 2 * w1, "the grid is as wide as both views"


def test_each_is_what_it_is_alone_in_its_place(three: list[Any]) -> None:
    """The code that draws one draws the other: the same letters, lines and cells."""
    joined = join_figures(three, width=800, labels=False)
    alone = three[0].figure(width=392)
    count = len(texts(alone))
    assert texts(joined)[:count] == texts(alone)
    apart = elements(alone, "path")[0].get("d")
    assert elements(joined, "path")[0].get("d") == apart


def test_letters_stand_where_titles_begin(three: list[Any]) -> None:
    picture = join_figures(three, width=800)
    letters = [text for text in elements(picture, "text") if text.text in ("a", "b", "c")]
    bold = [text for text in letters if text.get("font-weight") == "700"]
    assert [text.text for text in bold] == ["a", "b", "c"]
    title = next(t for t in elements(picture, "text") if (t.text or "").startswith("L1 H3"))
    assert title.get("transform") != bold[0].get("transform"), "beside the letter, not on it"
    unlettered = join_figures(three, width=800, labels=False)
    strong = {t.text for t in elements(unlettered, "text") if t.get("font-weight") == "700"}
    assert not {"a", "b", "c"} & strong


def test_titles_are_left_out_where_papers_have_their_own(three: list[Any]) -> None:
    said = " ".join(texts(join_figures(three, width=800)))
    assert said.count("L1 H3: attention") == 1, "the second picture was made without"
    plain = texts(join_figures(three, width=800, title=False))
    assert "All heads, self-attention" not in plain and "a" in plain


def test_a_width_of_ones_own_is_kept(attention: Attention) -> None:
    view = HeadView(attention, 1, 3, mode="matrix")
    (x0, *_), (x1, *_) = join_figures([view.figure(width=300), view], width=800).drawing.figures
    assert 300 < x1 < 300 + 16 + 100 + x0
    assert join_figures([view.figure(width=700), view], width=480).drawing.width > 700, "never cut"


def test_caption_and_table_are_those_of_all(three: list[Any]) -> None:
    said = join_figures(three, caption=True)
    assert (
        said.caption.figure == "Figure of 3 panels"
        and said.caption.model == three[0].attention.model_name
    )
    (first, _, last) = said.caption.notes
    assert (
        first.startswith("a: One attention head · L1 H3 (2-4)") and said.caption.model not in first
    )
    assert last.startswith("c: All heads")
    drawn = " ".join(texts(said)).split()
    assert drawn[-len(said.caption.text().split()) :] == said.caption.text().split()
    table = said.table
    assert list(dict.fromkeys(table["panel"])) == ["a", "b", "c"]
    assert {"from", "to", "weight", "head"} <= {*table.columns}
    assert join_figures(three, labels=False).caption.notes[1].startswith("panel 2: ")


@pytest.mark.slow
def test_as_svg_pdf_and_png(three: list[Any], tmp_path: Path) -> None:
    picture = join_figures(three, width=640, theme="dark")
    assert 'width="640"' in picture.save(tmp_path / "figure.svg").read_text("utf-8")
    assert (
        "#111111" in picture.svg and picture.svg == join_figures(three, width=640, theme="dark").svg
    )
    page = pypdf.PdfReader(picture.save(tmp_path / "figure.pdf")).pages[0]
    assert float(page.mediabox.width) == 640 and "captain" in page.extract_text()
    with Image.open(picture.save(tmp_path / "figure.png", scale=3)) as image:
        assert image.width == 1920 and image.text["Title"].startswith("Figure of 3 panels")
    with pytest.raises(ValueError, match=naming("'.html'", ".svg", ".pdf", ".png")):
        picture.save(tmp_path / "figure.html")


def test_one_alone_and_many_columns(three: list[Any]) -> None:
    assert join_figures(three[:1]).drawing.width == 640
    assert join_figures(three, columns=3).drawing.width == 3 * 480 + 2 * 16
    tops = [round(y) for _, y, *_ in join_figures(three, columns=1, labels=False).drawing.figures]
    assert tops == sorted(tops) and len(set(tops)) == 3


@pytest.mark.parametrize(
    ("figures", "options", "error", "parts"),
    [
        ([], {}, ValueError, ("no figure", "join_figures")),
        (["view"], {}, TypeError, ("join_figures", "str")),
        ([alt.Chart()], {}, TypeError, ("Chart", "chart.save(path)")),
        (None, {"columns": 0}, ValueError, ("columns", "0")),
        (None, {"columns": 1.5}, ValueError, ("columns", "1.5")),
        (None, {"labels": "A"}, TypeError, ("labels", "'A'")),
        (None, {"width": -1}, ValueError, ("width", "-1")),
        (None, {"theme": "gray"}, ValueError, ("theme", "'gray'")),
        (27, {}, ValueError, ("27 panels", "labels=False")),
    ],
)
def test_what_cannot_be_joined_is_refused(
    three: list[Any], figures: Any, options: Any, error: type[Exception], parts: tuple[str, ...]
) -> None:
    given = [three[1]] * figures if isinstance(figures, int) else figures
    with pytest.raises(error, match=naming(*parts)):
        join_figures(three if given is None else given, **options)
    with pytest.raises(TypeError, match=naming("HeadView", "join_figures([view, grid])")):
        join_figures(three[0])


def test_marks_of_the_page_alone_are_left_out(attention: Attention) -> None:
    grid = HeadGrid(attention, layer=4)
    dark_rows = [r for r in elements(grid.figure(), "rect") if r.get("fill") == "#1b1b1f"]
    assert dark_rows == []
    assert number(elements(grid.figure(), "rect")[0], "x") == 0
