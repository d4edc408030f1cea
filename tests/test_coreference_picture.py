"""The picture of CoreferenceView: the same text, mentions and choices as the live figure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import comm
import ipywidgets
import numpy as np
import pytest
import vl_convert

from attnwidget import AttentionModel, load_model
from attnwidget.figures.passage import passage
from attnwidget.figures.passage_layout import (
    PassageMention,
    PlacedWord,
    mention_levels,
    mirrored,
    placed_words,
)
from attnwidget.figures.theme import DARK, LIGHT, Theme
from attnwidget.studies.coreference import CoreferenceAccuracies, probe_coreference
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view import CoreferenceView
from coreference_passages import PASSAGES
from recording import RecordingComm

HOSTILE = Document.from_spans(
    ["</svg><script>", "saw", "&amp;", "him", "."], [(0, 0, "a"), (3, 3, "a")], name="hostile"
)
LONG = Document.from_spans(
    ["Ann", *["saw", "her"] * 30, "."],
    [(0, 0, "a"), *((2 * i, 2 * i, "a") for i in range(1, 31))],
    name="long",
)


class Picture:
    """What an SVG shows."""

    def __init__(self, svg: str, theme: Theme = LIGHT) -> None:
        self.svg, self.theme = svg, theme
        root = ElementTree.fromstring(svg)
        name = "{http://www.w3.org/2000/svg}"
        self.texts = ["".join(node.itertext()) for node in root.iter(f"{name}text")]
        self.words = [
            "".join(node.itertext())
            for node in root.iter(f"{name}text")
            if node.get("font-size") == "14px"
        ]
        self.numbers = [
            "".join(node.itertext())
            for node in root.iter(f"{name}text")
            if node.get("font-size") == "10px"
        ]
        self._lines = [node.attrib for node in root.iter(f"{name}path") if node.get("stroke")]

    def lines(self, colour: str, width: float, *, dashed: bool = False) -> list[str]:
        """The paths of lines that look like this."""
        return [
            line["d"]
            for line in self._lines
            if line["stroke"] == colour
            and float(line.get("stroke-width", 1)) == width
            and bool(line.get("stroke-dasharray")) == dashed
        ]


def picture(view: CoreferenceView, **options) -> Picture:
    svg = vl_convert.vegalite_to_svg(view.figure(**options).to_dict())
    return Picture(svg, DARK if options.get("theme") == "dark" else LIGHT)


def left(path: str) -> float:
    """Where a path begins."""
    return float(re.match(r"M(-?[\d.]+)", path)[1])


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def found(model: AttentionModel) -> CoreferenceAccuracies:
    documents = [
        Document.from_spans(p.words, p.spans, governors=p.governors, tags=p.tags, name=p.name)
        for p in PASSAGES
    ]
    return probe_coreference(model, [*documents, HOSTILE, LONG], progress=False)


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    yield
    ipywidgets.Widget.close_all()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_and_mention_is_drawn(found: CoreferenceAccuracies, theme: str) -> None:
    view = CoreferenceView(found, mention=None)
    shown = picture(view, theme=theme)
    # "The captain told his men that he would stay .": his men are mentioned once.
    assert shown.words == PASSAGES[0].words
    assert shown.numbers == ["1", "1", "1"]
    assert len(shown.lines(shown.theme.series[0], 2)) == 3
    once = shown.lines(shown.theme.muted, 1, dashed=True)
    assert len(once) == 2, "his men, and the key"
    inner = [path for path in shown.lines(shown.theme.series[0], 2) if left(path) <= left(once[0])]
    heights = [float(re.match(r"M[\d.]+[, ]([\d.]+)", path)[1]) for path in (*inner, once[0])]
    assert heights[-1] == max(heights), "a longer mention is underlined below those within it"


@pytest.mark.parametrize("variant", ["words", "mentions"])
def test_what_was_chosen_is_outlined_and_said(found: CoreferenceAccuracies, variant: str) -> None:
    view = CoreferenceView(found, variant=variant)
    at = ["words", "mentions"].index(variant)
    seen = set()
    for row, one in enumerate(found.windows[0].evaluated):
        view.mention = one.mention
        is_correct = found.is_correct[row, at]
        # One head that is right, one that is wrong, where there are such.
        heads = np.concatenate([np.argwhere(is_correct)[:1], np.argwhere(~is_correct)[:1]])
        for layer, head in heads.tolist():
            view.selected = [(layer, head)]
            word = int(found.chosen[row, at, layer, head])
            right = bool(found.is_correct[row, at, layer, head])
            seen.add(right)
            shown = picture(view)
            colour = LIGHT.right if right else LIGHT.wrong
            other = LIGHT.wrong if right else LIGHT.right
            # The word chosen, and the key's sample.
            assert len(shown.lines(colour, 2, dashed=not right)) == 2
            assert len(shown.lines(other, 2, dashed=right)) == 1
            weight = found.weights[row, at, layer, head]
            verdict = "right" if right else "wrong"
            said = next(text for text in shown.texts if "with weight" in text)
            assert said.startswith(f"{PASSAGES[0].words[word]} (word {word}) with weight ")
            assert said.endswith(f", {verdict}")
            number = float(re.search(r"weight (\S+),", said)[1])
            assert number == pytest.approx(weight, rel=5e-3)
            # Each antecedent has an outline, and the key's sample.
            assert len(shown.lines(LIGHT.muted, 1)) == len(one.antecedents) + 1
    assert seen == {True, False}


def test_the_rules_are_said_with_their_outcome(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, mention=3)
    texts = picture(view).texts
    # As the passages have it: "he@6": nearest "his men@3" is wrong, the sieves find "his@3".
    assert "his men (word 3), wrong" in texts and "nothing, wrong" in texts
    assert "his (cluster 1, word 3), right" in texts
    [first, *rest] = view._table().to_dict("records")
    assert first["mention"] == "he (cluster 1, word 6)" and len(rest) == 1
    assert first["nearest"] == "his men (word 3), wrong"
    assert first["head match"] == "nothing, wrong"
    assert first["rule-based"] == "his (cluster 1, word 3), right"
    assert first["antecedents"] == "The captain (cluster 1, word 0), his (cluster 1, word 3)"


def test_the_title_has_the_accuracies(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, selected=[(1, 3)], variant="mentions")
    title = view.figure().title
    assert title.text == ["L1 H3 · 2-4 · among preceding mentions"]
    n, correct = int(found.counts[0]), int(found.correct[1, 1, 3, 0])
    assert f"{100 * correct / n:.0f} % of {n} in the study" in " ".join(title.subtitle)
    right = int(found.is_correct[: len(found.windows[0].evaluated), 1, 1, 3].sum())
    assert f"right on {right} of 2 mentions here" in " ".join(title.subtitle)
    assert view.caption.head == "L1 H3 (2-4)" and view.caption.model == found.model_name


def test_without_a_head_there_is_the_text(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, selected=[])
    shown = picture(view)
    assert shown.words == PASSAGES[0].words and not any("weight" in t for t in shown.texts)
    assert view.figure().title.text == ["Mentions · no head selected"]
    assert "right or wrong" not in view._table()
    assert view.caption.head == "no head selected"


def test_a_mention_that_is_not_evaluated_says_why(found: CoreferenceAccuracies) -> None:
    said = " ".join(picture(CoreferenceView(found, mention=0)).texts)
    assert "not evaluated: no mention of its cluster precedes it" in said
    once = " ".join(picture(CoreferenceView(found, mention=2)).texts)
    assert "the window mentions this once" in once


def test_hostile_words_stay_text(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, ["hostile"])
    shown = picture(view)
    assert shown.words == list(HOSTILE.words) and "<script" not in shown.svg


@pytest.mark.parametrize("width", [480, 1200])
def test_a_long_text_wraps(found: CoreferenceAccuracies, width: int) -> None:
    view = CoreferenceView(found, ["long"])
    shown = picture(view, width=width)
    assert shown.words == list(LONG.words) and len(shown.numbers) == 31
    assert view.figure(width=width).width == width
    assert len(view._table()) == 20
    assert "the table lists 20 of 30 evaluated mentions" in view.caption.text()


def test_words_break_as_in_print() -> None:
    placed = placed_words(["(", "The", "end", ".", ")"], [], 56, 0)
    assert [word.line for word in placed] == [0, 0, 1, 1, 1]
    assert placed[1].x == placed[0].right and placed[3].x == placed[2].right


def test_lines_under_nested_mentions_do_not_meet() -> None:
    nested = [
        PassageMention((0, 1, 2), 2, 1),
        PassageMention((1, 2), 2, 2),
        PassageMention((1,), 1, 3),
    ]
    assert mention_levels([*nested, PassageMention((4,), 4, 1)]) == [2, 1, 0, 0]


def test_right_to_left_text_runs_from_the_right() -> None:
    words = ["שלום", "עולם"]
    placed = mirrored(placed_words(words, [], 300, 0), 300)
    assert isinstance(placed[0], PlacedWord) and placed[0].right == 300
    assert placed[1].right < placed[0].x
    chart = passage(words, [], title="Greeting", width=300)
    assert Picture(vl_convert.vegalite_to_svg(chart.to_dict())).words == words


def test_mentions_of_words_that_there_are_not_are_refused() -> None:
    for words in [(), (2,)]:
        with pytest.raises(ValueError, match="mentions of words 0 to 1"):
            passage(["a", "b"], [PassageMention(words, 0, 1)], title="Two")
