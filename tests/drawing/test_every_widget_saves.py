"""Every widget, from a script with no browser, as every kind of file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pypdf
import pytest
from PIL import Image

from attnwidget import (
    AtlasView,
    CoreferenceView,
    DependencyArcs,
    Document,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    RelationTable,
    explore,
    load_model,
)
from attnwidget.demo import demo_atlas
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words import probe_coreference, probe_relations
from fixtures.svg_picture import texts
from fixtures.tiers import only_first_is_fast
from refusals import naming

TEXT = "The captain told his men a story."
SENTENCE = Sentence.from_lists(
    ["The", "captain", "told", "his", "men", "a", "story", "."],
    [2, 3, 0, 5, 3, 7, 3, 3],
    ["det", "nsubj", "root", "nmod:poss", "iobj", "det", "obj", "punct"],
)
#: A text that each figure must hold, as text.
HOLDS = {
    "grid": "layer 0",
    "grid without heads": "off",
    "grid of differences": "difference",
    "lines": "captain",
    "matrix": "captain",
    "word": "captain",
    "pair": "layer",
    "map": "layer 0",
    "table": "nsubj",
    "arcs": "captain",
    "coreference": "captain",
    "predictions": "layer 0",
    "link": "captain",
    "atlas": "previous token",
    "explorer": "captain",
}


@pytest.fixture(scope="module")
def widgets() -> Iterator[dict[str, HeadWidget]]:
    model = load_model()
    attention = model.attend(TEXT)
    here = [(2, 8)]
    relations = probe_relations(model, [SENTENCE], progress=False)
    spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men")]
    document = Document.from_spans(list(SENTENCE.words), spans)
    coreference = probe_coreference(model, [document], progress=False)
    positions = np.random.default_rng(0).normal(size=(6, 12, 2))
    made: dict[str, HeadWidget] = {
        "grid": HeadGrid(attention, selected=here),
        "grid without heads": HeadGrid(attention, selected=here, disabled=[(1, 3)]),
        "grid of differences": HeadGrid(attention, disabled=[(1, 3)], versus="intact"),
        "lines": HeadView(attention, *here[0]),
        "matrix": HeadView(attention, *here[0], mode="matrix"),
        "word": HeadGrid(attention, tokens=[("query", 4)], selected=here),
        "pair": HeadGrid(attention, tokens=[("query", 4), ("key", 2)]),
        "map": HeadScatter.from_positions(positions, selected=here),
        "table": RelationTable(relations, min_count=1),
        "arcs": DependencyArcs(model, [SENTENCE], relations),
        "coreference": CoreferenceView(coreference),
        "predictions": PredictionView(attention, 4, disabled=here, selected=here),
        "link": LinkView(attention, 0, 3, query=4, key=2),
        "atlas": AtlasView(demo_atlas()),
        "explorer": explore(model, TEXT, treebank=False, panels=["grid", "view"]),
    }
    assert made["predictions"].wait()
    yield made
    for widget in made.values():
        widget.close()


@pytest.mark.parametrize("name", only_first_is_fast(HOLDS))
def test_as_svg_pdf_png_and_page(widgets: dict[str, HeadWidget], name: str, tmp_path: Path) -> None:
    widget = widgets[name]
    wanted = HOLDS[name]
    svg = ET.parse(widget.save(tmp_path / "figure.svg", width=640)).getroot()
    assert svg.get("width") == "640"
    assert any(wanted in "".join(text.itertext()) for text in svg.iter(f"{{{SVG}}}text"))
    pdf = pypdf.PdfReader(widget.save(tmp_path / "figure.pdf", width=640))
    # In some versions of a font, the space is also the no-break space.
    written = pdf.pages[0].extract_text().replace("\xa0", " ")
    assert wanted in written and float(pdf.pages[0].mediabox.width) == 640
    assert pdf.metadata is not None and pdf.metadata.subject == widget.caption.text()
    with Image.open(widget.save(tmp_path / "figure.png", width=640, scale=2)) as png:
        assert png.width == 1280
        assert png.height == pytest.approx(2 * float(svg.get("height", 0)), abs=2)
        assert len(png.convert("RGB").getcolors(2**24) or []) > 20, "an empty picture"
    page = widget.save(tmp_path / "figure.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") and "https://" not in page.replace(XMLNS, "")


@pytest.mark.parametrize("name", HOLDS)
def test_in_the_dark_with_its_caption(
    widgets: dict[str, HeadWidget], name: str, tmp_path: Path
) -> None:
    path = widgets[name].save(tmp_path / "dark.svg", theme="dark", caption=True)
    texts = [text.text or "" for text in ET.parse(path).getroot().iter(f"{{{SVG}}}text")]
    said = widgets[name].caption.text().split()
    assert " ".join(texts).split()[-len(said) :] == said
    assert "<rect" in path.read_text("utf-8") and "#111111" in path.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDS)
def test_without_its_title(widgets: dict[str, HeadWidget], name: str, tmp_path: Path) -> None:
    """The same figure, higher up: nothing else is gone."""
    widget = widgets[name]
    titled = widget.figure(width=640)
    plain = widget.figure(width=640, title=False)
    own = texts(titled)
    left = texts(plain)
    assert own[-len(left) :] == left or name == "explorer", "what stands above the figure is gone"
    assert len(left) < len(own) and HOLDS[name] in " ".join(left)
    assert plain.drawing.height < titled.drawing.height
    assert plain.drawing.caption == titled.drawing.caption
    assert widget.save(tmp_path / "plain.svg", width=640, title=False).read_text() == plain.svg
    page = pypdf.PdfReader(widget.save(tmp_path / "plain.pdf", width=640, title=False)).pages[0]
    assert float(page.mediabox.height) == pytest.approx(plain.drawing.height, abs=1)
    with Image.open(widget.save(tmp_path / "plain.png", width=640, title=False)) as png:
        assert png.height == pytest.approx(2 * plain.drawing.height, abs=2)
    with pytest.raises(ValueError, match=naming("'plain.html'", "title=False")):
        widget.save(tmp_path / "plain.html", title=False)
    with pytest.raises(TypeError, match=naming("title", "'no'")):
        widget.save(tmp_path / "plain.svg", title="no")  # type: ignore[arg-type]


SVG = "http://www.w3.org/2000/svg"
XMLNS = "https://www.w3.org"
