"""The picture of DependencyArcs: the same words, arcs and numbers as on the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from attnwidget import AttentionModel
from attnwidget.charts.theme import DARK, LIGHT, Theme
from attnwidget.drawing.picture import Picture
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.words.relations import DIRECTIONS, probe_relations
from fixtures.svg_picture import elements, fills, number, offset, strokes, texts

pytestmark = pytest.mark.usefixtures("recording")

MAT = Sentence.from_lists(
    ["The", "old", "cat", "sat", "on", "my", "mat"],
    [3, 3, 4, 0, 7, 7, 4],
    ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
    name="mat",
)
# Ten clauses of six words, each joined to the first.
CLAUSE = ["and", "the", "cat", "saw", "a", "bird"]
SIXTY = Sentence.from_lists(
    [f"{word}{i}" for i in range(10) for word in CLAUSE],
    [
        4,
        3,
        4,
        0,
        6,
        4,
        *(6 * i + g if g else 4 for i in range(1, 10) for g in [4, 3, 4, 0, 6, 4]),
    ],
    [
        "cc",
        "det",
        "nsubj",
        "root",
        "det",
        "obj",
        *(["cc", "det", "nsubj", "conj", "det", "obj"] * 9),
    ],
)
HOSTILE = Sentence.from_lists(
    ["</svg><script>alert(1)</script>", "&amp;", '"quoted"'], [2, 0, 2], ["<b>", "root", "obj"]
)
ONE = Sentence.from_lists(["Go"], [0], ["root"])
LONG = Sentence.from_lists(["go"] * 1001, [0, *[1] * 1000], ["root", *["dep"] * 1000])
SENTENCES = [MAT, SIXTY, HOSTILE, ONE, LONG]


@dataclass(frozen=True)
class Arc:
    """A predicted arc: where it begins and ends, counted from the left, and how it is drawn."""

    start: float
    end: float
    stroke: str
    width: float
    opacity: float
    dash: str


def predicted(picture: Picture) -> list[Arc]:
    """Predicted arcs, in the order in which they are drawn; ticks and crosses have no opacity."""
    theme = colors(picture)
    return [
        Arc(
            *ends(path.get("d", "")),
            path.get("stroke", ""),
            number(path, "stroke-width"),
            number(path, "stroke-opacity"),
            path.get("stroke-dasharray", ""),
        )
        for path in elements(picture, "path")
        if path.get("stroke") in (theme.right, theme.wrong) and path.get("stroke-opacity")
    ]


def ends(d: str) -> tuple[float, float]:
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", d)]
    return numbers[0], numbers[-2]


def colors(picture: Picture) -> Theme:
    return DARK if picture.theme == "dark" else LIGHT


def annotated(picture: Picture) -> list[Element]:
    """Annotated arcs that stand out, and the root's."""
    return strokes(picture, colors(picture).text)


def rows(picture: Picture) -> list[dict[str, float]]:
    """By row: its words and where their middles are."""
    found = (
        {text.text or "": number(text, "x") for text in group if text.get("font-size") == "14"}
        for group in elements(picture, "g")
    )
    return [row for row in found if row]


def contrast(stroke: str, opacity: float, ground: str) -> float:
    """Of a stroke on its ground, by WCAG."""
    over, under = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in (stroke, ground))
    channels = np.stack([opacity * over + (1 - opacity) * under, under]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return float((light + 0.05) / (dark + 0.05))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_and_every_arc_is_drawn(
    model: AttentionModel, direction: str, theme: str
) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], direction=direction)
    shown = arcs.figure(theme=theme)
    [row] = rows(shown)
    assert tuple(row) == MAT.words
    labels = [text for text in texts(shown) if text in MAT.relations]
    assert sorted(labels) == sorted(MAT.relations)
    assert len(annotated(shown)) == 7  # of six words, and the root's
    at = (2, 8, DIRECTIONS.index(direction))
    governors = arcs.predictions.governors[at]
    weights = arcs.predictions.weights[at]
    right = {i: governors[i] == g for i, g in enumerate(MAT.governors) if g}
    centers = list(row.values())
    drawn = {arc.end: arc for arc in predicted(shown)}
    assert sorted(drawn) == sorted(centers[i] for i in right)
    for i, is_right in right.items():
        arc = drawn[centers[i]]
        governor = centers[governors[i] - 1]
        assert abs(arc.start - governor) == 6, "it begins beside its governor"
        assert arc.stroke == (colors(shown).right if is_right else colors(shown).wrong)
        assert bool(arc.dash) != is_right
        assert arc.opacity == 0.8
        assert arc.width == pytest.approx(max(0.75, 10 * weights[i]), abs=6e-4)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_faintest_arc_stands_out_from_the_ground(theme: Theme) -> None:
    for color in (theme.right, theme.wrong):
        assert contrast(color, 0.8, theme.ground) >= 3


def test_strong_arcs_lie_over_weak_ones(model: AttentionModel) -> None:
    shown = predicted(DependencyArcs(model, SENTENCES, selected=[(2, 8)]).figure())
    widths = [arc.width for arc in shown]
    assert widths == sorted(widths) and len(set(widths)) > 1


def test_the_relation_filters(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], relation="det", sentence=1)
    own = [i for i, relation in enumerate(SIXTY.relations) if relation == "det"]
    shown = arcs.figure()
    assert len(predicted(shown)) == len(own) == 20
    assert len(annotated(shown)) == 20
    assert len(strokes(shown, LIGHT.hairline)) == 40, "others are pale"
    assert texts(shown).count("det") == 20 and "nsubj" not in texts(shown)
    assert len(shown.table) == 20


@pytest.mark.parametrize("width", [480, 720, 1200])
def test_a_long_sentence_breaks_into_rows(model: AttentionModel, width: int) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=1)
    shown = arcs.figure(width=width)
    assert shown.drawing.width == width
    found = rows(shown)
    assert len(found) > 1 and [word for row in found for word in row] == list(SIXTY.words)
    for row in found:
        centers = list(row.values())
        assert centers == sorted(centers) and centers[0] > 0 and centers[-1] < width - 16
    drawn = predicted(shown)
    assert len(drawn) == 59 and len(annotated(shown)) == 60
    governors = arcs.predictions.governors[2, 8, 0] - 1
    # Governors in other rows are named at the edge, once for each arc.
    named = [
        SIXTY.words[governor]
        for row in found
        for i, word in enumerate(SIXTY.words)
        if word in row and SIXTY.governors[i]
        for governor in (SIXTY.governors[i] - 1, governors[i])
        if SIXTY.words[governor] not in row
    ]
    written = texts(shown)
    for word in SIXTY.words:
        written.remove(word)
    assert sorted(text for text in written if text in SIXTY.words) == sorted(named)
    assert all(0 <= x <= width - 16 for arc in drawn for x in (arc.start, arc.end))
    region, *others = shown.drawing.figures
    assert not others and region[2] == width - 16


def test_the_table_has_every_word_and_one_kept_with_a_notebook_the_first(
    model: AttentionModel,
) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=1)
    shown = arcs.figure()
    assert list(shown.table["word"]) == [f"{i + 1} {word}" for i, word in enumerate(SIXTY.words)]
    assert "the table lists" not in shown.caption.text()
    brief = shown.drawn(brief=True)
    assert brief.table.equals(shown.table[:20])
    assert "the table lists the first 20 of 60 words" in brief.caption.text()


def test_the_title_and_the_table_have_the_numbers(model: AttentionModel) -> None:
    found = probe_relations(model, [MAT, SIXTY], progress=False)
    arcs = DependencyArcs(model, [MAT, SIXTY], found, relation="det")
    layer, head, _ = arcs.head
    title, rightness, source, *_ = texts(arcs.figure())
    assert title == f"{arcs.head} · det · {arcs.direction}"
    assert source == f"{model.name} · mat"
    r = found.relations.index("det")
    way = DIRECTIONS.index(arcs.direction)
    assert found.counts[r] == 21
    share = 100 * found.correct[layer, head, way, r] / 21
    assert f"{share:.0f}\xa0% of 21 in the treebank" in rightness
    governor = arcs.predictions.governors[layer, head, way, 0]
    assert f"right on {int(governor == 3)} of 1 word here" in rightness
    [row] = arcs.figure().table.to_dict("records")
    weight = arcs.predictions.weights[layer, head, way, 0]
    assert row["word"] == "1 The" and row["governor"] == "3 cat"
    assert row["predicted"] == f"{governor} {MAT.words[governor - 1]}"
    assert float(row["weight"]) == pytest.approx(weight, rel=5e-3)
    assert row["right or wrong"] == ("right" if governor == 3 else "wrong")
    assert arcs.caption.to_dict()["head"] == f"{arcs.head} ({arcs.head.paper_name})"


def test_hostile_words_stay_text(model: AttentionModel) -> None:
    shown = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=2).figure()
    assert set(HOSTILE.words) | {"<b>"} <= set(texts(shown))
    assert "<script" not in shown.svg and len(predicted(shown)) == 2


def test_one_word_has_a_root_and_no_prediction(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=3)
    shown = arcs.figure()
    assert {"Go", "root"} <= set(texts(shown))
    assert not predicted(shown) and len(annotated(shown)) == 1
    [row] = shown.table.to_dict("records")
    assert next(iter(row)) == "word"
    assert [value for value in row.values() if value] == ["1 Go", "root"]
    assert "no such word here" in " ".join(texts(shown))


def test_without_a_head_there_is_the_tree(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES)
    shown = arcs.figure()
    assert len(annotated(shown)) == 7 and not predicted(shown)
    assert not fills(shown, LIGHT.right) and not fills(shown, LIGHT.wrong)
    assert texts(shown)[0] == "no head selected · all relations · annotated arcs"
    assert list(shown.table) == ["word", "relation", "governor"]
    assert arcs.caption.head == "no head selected"


def test_what_cannot_be_drawn_says_why(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=4)
    shown = arcs.figure(width=240)
    assert "up to 1,000 are drawn" in " ".join(texts(shown))
    last = elements(shown, "text")[-1]
    assert offset(last)[1] + number(last, "y") + 8 < shown.drawing.height, "nothing is cut"
    assert not predicted(shown) and not annotated(shown)
    assert "up to 1,000 are drawn" in arcs.caption.text()
    assert "up to 1,000" in shown.table["problem"][0]
    unreadable = Sentence.from_lists(["go"] * 600, [0, *[1] * 599], ["root", *["dep"] * 599])
    arcs.sentences = [unreadable]
    with pytest.raises(ValueError) as error:
        arcs.predictions  # noqa: B018
    assert str(error.value).split()[0] in " ".join(texts(arcs.figure()))


def test_a_word_that_is_wider_than_the_figure_stays_whole(model: AttentionModel) -> None:
    wide = Sentence.from_lists(["a", "w" * 200, "b"], [2, 0, 2], ["det", "root", "obj"])
    shown = DependencyArcs(model, wide).figure(width=200)
    assert set(wide.words) <= set(texts(shown)) and shown.drawing.width > 200
