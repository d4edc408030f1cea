"""Texts that are hostile to HTML, SVG, CSS, JSON or terminals, in every place a text can reach."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pypdf
import pytest
from PIL import Image

from attnwidget import (
    Attention,
    CoreferenceView,
    DependencyArcs,
    Document,
    HeadGrid,
    HeadScatter,
    HeadView,
    RelationTable,
    explore,
)
from attnwidget.corpus.segmenting import make_segments
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words import probe_coreference, probe_relations
from refusals import naming
from robustness.saved_work import model

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "end of text": "</text></svg><image href='https://evil.example/x.png'/>",
    "comment": "--><!--]]><![CDATA[<b>",
    "attribute": '" onload="alert(1)" x=\'',
    "entity": "&lt;&#60;&unknown;&amp",
    "css": "</style><style>@import url(https://evil.example);*{}",
    "url": "javascript:alert(1)",
    "template": "{{constructor}} ${alert(1)} `x` %s %(x)s {0}",
    "path": "../../etc/passwd\\..\\x",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85\u2028\u2029",
    "nul": "a\x00b",
    "terminal": "\x1b[31mred\x1b]0;title\x07",
    "right to left": "\u202eabc\u202c \u05d0\u05d1 \u0627\u0644",
    "joined": "👩\u200d👩\u200d👧 e\u0301\u0301 \u200b",
    "half a character": "a\ud83db",
    "no character": "\ufffe\uffff\U0001ffff",
    "one long": "W" * 3000,
}
Maker = Callable[[str], HeadWidget]


def weights(n: int) -> np.ndarray:
    random = np.random.default_rng(0)
    return random.dirichlet(np.ones(n), (2, 2, n)).astype(np.float32)


def attention(bad: str) -> Attention:
    return Attention.from_weights(weights(4), ["a", bad, "b", bad + "c"], model_name=bad)


def sentence(bad: str) -> Sentence:
    word = bad if bad.strip() else "x"
    return Sentence.from_lists(
        ["the", "cat", word, "sat"], [2, 4, 2, 0], ["det", "nsubj", bad, "root"], name=bad
    )


def of_treebank(bad: str) -> tuple[list[Sentence], object]:
    return [sentence(bad)], probe_relations(model(), [sentence(bad)], progress=False)


def coreference(bad: str) -> HeadWidget:
    document = Document.from_spans(
        ["the", "cat", bad, "it"], [(0, 1, bad), (3, 3, bad)], name=bad, source=bad
    )
    found = probe_coreference(model(), [document], max_tokens=64, progress=False)
    return CoreferenceView(found)


def predicted(bad: str) -> HeadWidget:
    sentences, found = of_treebank(bad)
    return DependencyArcs(model(), sentences, found, relation="all")  # type: ignore[arg-type]


MAKERS: dict[str, Maker] = {
    "grid": lambda bad: HeadGrid(
        attention(bad), metrics={bad: np.ones((2, 2))}, metric=bad, selected=[(0, 1)]
    ),
    "lines": lambda bad: HeadView(attention(bad), 0, 1, tokens=[("query", 1)]),
    "matrix": lambda bad: HeadView(attention(bad), 0, 1, mode="matrix"),
    "word": lambda bad: HeadGrid(attention(bad), tokens=[("query", 1)], selected=[(0, 1)]),
    "map": lambda bad: HeadScatter.from_positions(
        np.random.default_rng(0).normal(size=(2, 2, 2)), behaviors=[[bad, "b"], ["b", "b"]]
    ),
    "table": lambda bad: RelationTable(of_treebank(bad)[1], min_count=1),  # type: ignore[arg-type]
    "arcs": predicted,
    "coreference": coreference,
    "explorer": lambda bad: explore(model(), "the cat " + bad, treebank=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_no_text_is_more_than_a_text(name: str, tmp_path: Path) -> None:
    for kind, bad in HOSTILE.items():
        try:
            widget = MAKERS[name](bad)
        except ValueError as error:
            # No tokenizer takes the one, and no small model the other.
            if kind in ("half a character", "one long") and str(error):
                continue
            raise
        picture = widget.figure(width=600)
        _is_only_a_picture(picture.svg)
        assert json.loads(json.dumps(widget.caption.text()))
        if kind in ("script", "controls", "half a character", "right to left"):
            Image.open(io.BytesIO(picture.png())).verify()
            with (tmp_path / "a.pdf").open("wb") as file:
                file.write(widget.save(tmp_path / "b.pdf").read_bytes())
            assert len(pypdf.PdfReader(tmp_path / "a.pdf").pages) == 1
            page = widget.save(tmp_path / "page.html").read_text("utf-8")
            assert "alert(1)</script>" not in page
            assert "evil.example" not in re.sub(r'"[^"]*"', "", page)
        repr(widget), widget.code(), widget.figure().table.to_html()
        widget.close()


def _is_only_a_picture(svg: str) -> None:
    for element in ET.fromstring(svg.encode("utf-8")).iter():
        tag = element.tag.rpartition("}")[2].lower()
        assert tag not in ("script", "foreignobject", "iframe", "object", "embed", "use", "a")
        for attribute, value in element.attrib.items():
            local = attribute.rpartition("}")[2].lower()
            assert not local.startswith("on"), attribute
            if local in ("href", "src"):
                assert value.startswith(("data:", "#")), value
            assert "evil.example" not in value or local in ("aria-label",), attribute
        if tag == "style":
            assert "evil" not in (element.text or "")


def test_half_a_character_in_a_study_is_said() -> None:
    with pytest.raises(ValueError, match=naming("'a\\ud83db'", "character")):
        make_segments(["a\ud83db"], model())
    with pytest.raises(ValueError, match=naming("'the a\\ud83db'", "character")):
        probe_relations(
            model(),
            [Sentence.from_lists(["the", "a\ud83db"], [2, 0], ["det", "root"])],
            progress=False,
        )


def test_a_warning_about_fonts_has_no_signs_of_control(tmp_path: Path) -> None:
    view = HeadView(attention("\x85\u2028\u0e01"), 0, 1)
    with pytest.warns(UserWarning, match=naming("no font", "Noto Sans CJK")) as warned:
        view.save(tmp_path / "a.pdf")
    assert all(str(one.message).isprintable() for one in warned)
