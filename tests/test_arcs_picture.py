"""The picture of DependencyArcs: the same words, arcs and numbers as the live figure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from xml.etree import ElementTree

import comm
import ipywidgets
import numpy as np
import pytest
import vl_convert

from attnwidget import AttentionModel, load_model
from attnwidget.figures.arcs_layout import Tree, arc_levels, rows_of
from attnwidget.figures.dependency_arcs import dependency_arcs
from attnwidget.figures.theme import DARK, LIGHT, Theme
from attnwidget.studies.relations import DIRECTIONS, probe_relations
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs import DependencyArcs
from recording import RecordingComm

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
        *([4, 3, 4, 0, 6, 4]),
        *(6 * i + g if g else 4 for i in range(1, 10) for g in [4, 3, 4, 0, 6, 4]),
    ],
    [
        *(["cc", "det", "nsubj", "root", "det", "obj"]),
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
class Path:
    """A path of the picture: its points, its ends, how it is drawn."""

    points: list[tuple[float, float]]
    stroke: str
    width: float
    opacity: float
    dash: str

    @property
    def end(self) -> float:
        return self.points[-1][0]


class Picture:
    """What an SVG shows."""

    def __init__(self, svg: str, theme: Theme = LIGHT) -> None:
        self.svg, self.theme = svg, theme
        root = ElementTree.fromstring(svg)
        name = "{http://www.w3.org/2000/svg}"
        self.texts = ["".join(node.itertext()) for node in root.iter(f"{name}text")]
        self.paths = [
            Path(
                _points(node.get("d", "")),
                node.get("stroke", ""),
                float(node.get("stroke-width", 1)),
                float(node.get("stroke-opacity", 1)),
                node.get("stroke-dasharray", ""),
            )
            for node in root.iter(f"{name}path")
            if node.get("stroke")
        ]

    @property
    def predicted(self) -> list[Path]:
        """Predicted arcs; ticks and crosses are thinner."""
        both = (self.theme.right, self.theme.wrong)
        return [path for path in self.paths if path.stroke in both and path.width == 2]

    @property
    def annotated(self) -> list[Path]:
        return [path for path in self.paths if path.stroke == self.theme.text]


def _points(d: str) -> list[tuple[float, float]]:
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", d)]
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def picture(arcs: DependencyArcs, **options) -> Picture:
    svg = vl_convert.vegalite_to_svg(arcs.figure(**options).to_dict())
    return Picture(svg, DARK if options.get("theme") == "dark" else LIGHT)


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    yield
    ipywidgets.Widget.close_all()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_and_every_arc_is_drawn(
    model: AttentionModel, direction: str, theme: str
) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], direction=direction)
    shown = picture(arcs, theme=theme)
    assert [text for text in shown.texts if text in MAT.words] == list(MAT.words)
    labels = [text for text in shown.texts if text in MAT.relations]
    assert sorted(labels) == sorted(MAT.relations)
    assert len(shown.annotated) == 7  # of six words, and the root's
    at = (2, 8, DIRECTIONS.index(direction))
    governors, weights = arcs.predictions.governors[at], arcs.predictions.weights[at]
    right = {i: governors[i] == g for i, g in enumerate(MAT.governors) if g}
    centres = rows_of(_tree(MAT), 720)[0].centres
    drawn = {path.end: path for path in shown.predicted}
    assert sorted(drawn) == sorted(centres[i] for i in right)
    for i, is_right in right.items():
        path = drawn[centres[i]]
        governor = centres[governors[i] - 1]
        assert abs(path.points[0][0] - governor) == 6, "it begins beside its governor"
        assert path.stroke == (shown.theme.right if is_right else shown.theme.wrong)
        assert bool(path.dash) != is_right
        assert path.opacity == pytest.approx(0.25 + 0.75 * sqrt(weights[i]), abs=6e-4)


def _tree(sentence: Sentence) -> Tree:
    governors = tuple(governor - 1 for governor in sentence.governors)
    return Tree(sentence.words, governors, sentence.relations)


def test_strong_arcs_lie_over_weak_ones(model: AttentionModel) -> None:
    shown = picture(DependencyArcs(model, SENTENCES, selected=[(2, 8)]))
    opacities = [path.opacity for path in shown.predicted]
    assert opacities == sorted(opacities) and len(set(opacities)) > 1


def test_the_relation_and_the_threshold_filter(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], relation="det", sentence=1)
    words = [i for i, relation in enumerate(SIXTY.relations) if relation == "det"]
    shown = picture(arcs)
    assert len(shown.predicted) == len(words) == 20
    assert len(shown.annotated) == 20, "others are pale"
    assert shown.texts.count("det") == 20 and "nsubj" not in shown.texts
    weights = arcs.predictions.weights[2, 8, 0, words]
    arcs.threshold = float(np.median(weights))
    kept = int((weights >= arcs.threshold).sum())
    assert 0 < kept < 20
    assert len(picture(arcs).predicted) == kept
    assert f"{20 - kept} arcs below" in arcs.caption.text()
    assert len(arcs._table()) == 20


@pytest.mark.parametrize("width", [480, 720, 1200])
def test_a_long_sentence_breaks_into_rows(model: AttentionModel, width: int) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=1)
    rows = rows_of(_tree(SIXTY), width)
    assert len(rows) > 1 and [row.start for row in rows[1:]] == [row.end for row in rows[:-1]]
    assert all(row.width <= width for row in rows)
    for row in rows:
        assert list(row.centres) == sorted(row.centres)
    shown = picture(arcs, width=width)
    assert set(SIXTY.words) <= set(shown.texts)
    assert len(shown.predicted) == 59 and len(shown.annotated) == 60
    governors = arcs.predictions.governors[2, 8, 0] - 1
    named = [
        SIXTY.words[governor]
        for row in rows
        for word in range(row.start, row.end)
        if SIXTY.governors[word]
        for governor in (SIXTY.governors[word] - 1, governors[word])
        if governor not in row
    ]
    drawn = list(shown.texts)
    for word in SIXTY.words:
        drawn.remove(word)
    assert sorted(text for text in drawn if text in SIXTY.words) == sorted(named)
    assert all(0 <= x <= width for path in shown.predicted for x in (path.points[0][0], path.end))
    assert len(arcs._table()) == 20
    assert "the table lists the first 20 of 59 words" in arcs.caption.text()


def test_levels_are_the_live_figures() -> None:
    # Of the mat: the nearest words first, the root's own arcs above all that they span.
    assert arc_levels([(2, 0), (2, 1), (3, 2), (6, 4), (6, 5), (3, 6)]) == [2, 1, 1, 2, 1, 3]


def test_the_title_and_the_table_have_the_numbers(model: AttentionModel) -> None:
    found = probe_relations(model, [MAT, SIXTY], progress=False)
    arcs = DependencyArcs(model, [MAT, SIXTY], found, relation="det")
    layer, head, _ = arcs.head
    title = arcs.figure().title
    assert title.text == [f"{arcs.head} · {arcs.head.paper_name} · det · {arcs.direction}"]
    r, way = found.relations.index("det"), DIRECTIONS.index(arcs.direction)
    assert found.counts[r] == 21
    share = 100 * found.correct[layer, head, way, r] / 21
    assert f"{share:.0f} % of 21 in the treebank" in " ".join(title.subtitle)
    predicted = arcs.predictions.governors[layer, head, way, 0]
    assert f"right on {int(predicted == 3)} of 1 word here" in " ".join(title.subtitle)
    [row] = arcs._table().to_dict("records")
    weight = arcs.predictions.weights[layer, head, way, 0]
    assert row["word"] == "1 The" and row["governor"] == "3 cat"
    assert row["predicted"] == f"{predicted} {MAT.words[predicted - 1]}"
    assert float(row["weight"]) == pytest.approx(weight, rel=5e-3)
    assert row["right or wrong"] == ("right" if predicted == 3 else "wrong")
    assert arcs.caption.to_dict()["head"] == f"{arcs.head} ({arcs.head.paper_name})"


def test_hostile_words_stay_text(model: AttentionModel) -> None:
    shown = picture(DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=2))
    assert set(HOSTILE.words) | {"<b>"} <= set(shown.texts)
    assert "<script" not in shown.svg and len(shown.predicted) == 2


def test_one_word_has_a_root_and_no_prediction(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=3)
    shown = picture(arcs)
    assert {"Go", "root"} <= set(shown.texts)
    assert not shown.predicted and len(shown.annotated) == 1
    assert arcs._table().empty and next(iter(arcs._table())) == "word"
    assert "no such word here" in " ".join(arcs.figure().title.subtitle)


def test_without_a_head_there_is_the_tree(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES)
    shown = picture(arcs)
    assert len(shown.annotated) == 7 and not shown.predicted
    assert arcs.figure().title.text == ["no head selected · all relations · annotated arcs"]
    assert list(arcs._table()) == ["word", "relation", "governor"]
    assert arcs.caption.head == "no head selected"


def test_what_cannot_be_drawn_says_why(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 8)], sentence=4)
    shown = picture(arcs, width=240)
    assert "up to 1,000 are drawn" in " ".join(shown.texts)
    assert not shown.predicted and not shown.annotated
    assert "up to 1,000 are drawn" in arcs.caption.text()
    assert "up to 1,000" in arcs._table()["problem"][0]
    unreadable = Sentence.from_lists(["go"] * 600, [0, *[1] * 599], ["root", *["dep"] * 599])
    arcs.sentences = [unreadable]
    with pytest.raises(ValueError) as error:
        arcs.predictions  # noqa: B018
    assert str(error.value).split()[0] in " ".join(picture(arcs).texts)


def test_a_word_that_is_wider_than_the_figure_stays_whole() -> None:
    words = ["a", "w" * 200, "b"]
    chart = dependency_arcs(words, [2, 0, 2], ["det", "root", "obj"], title="Wide", width=200)
    shown = Picture(vl_convert.vegalite_to_svg(chart.to_dict()))
    assert set(words) <= set(shown.texts) and chart.width > 200


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"governors": [2, 0, 4]}, "'governors' are 3 positions"),
        ({"governors": [2, 0]}, "'governors' are 3 positions"),
        ({"predicted": [2, 0, -1]}, "'predicted' are 3 positions"),
        ({"weights": [2, 0, 0]}, "weights from 0 to 1"),
        ({"weights": [1, 0]}, "one relation, weight and stands_out a word"),
        ({"relations": ["a"]}, "one relation, weight and stands_out a word"),
        ({"title": ""}, "title is empty"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict, message: str) -> None:
    fitting = {
        "governors": [2, 0, 2],
        "relations": ["nsubj", "root", "obj"],
        "predicted": [2, 0, 1],
        "weights": [0.5, 0, 0.2],
        "title": "Cats",
    }
    with pytest.raises(ValueError, match=message):
        dependency_arcs(["Cats", "eat", "fish"], **fitting | wrong)
