"""The picture of CoreferenceView: the same text, mentions and choices as the live figure."""

from __future__ import annotations

import itertools
import re
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from attnwidget import AttentionModel
from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.drawing.picture import Picture
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.words.coreference import CoreferenceAccuracies, probe_coreference
from fixtures.coreference_passages import PASSAGES
from fixtures.svg_picture import elements, fills, number, offset, strokes, texts

pytestmark = pytest.mark.usefixtures("recording")

HOSTILE = Document.from_spans(
    ["</svg><script>", "saw", "&amp;", "him", "."], [(0, 0, "a"), (3, 3, "a")], name="hostile"
)
LONG = Document.from_spans(
    ["Ann", *["saw", "her"] * 30, "."],
    [(0, 0, "a"), *((2 * i, 2 * i, "a") for i in range(1, 31))],
    name="long",
)
NESTED = Document.from_spans(
    ["The", "ship", "lost", "all", "of", "its", "masts", "(", "they", "broke", ")", ".", "They"],
    [
        (0, 1, "ship"),
        (3, 6, "all"),
        (5, 6, "masts"),
        (5, 5, "ship"),
        (8, 8, "masts"),
        (12, 12, "all"),
    ],
    name="nested",
)
HEBREW = Document.from_spans(
    ["דני", "ראה", "(", "את", ")", "עצמו"], [(0, 0, "a"), (5, 5, "a")], name="hebrew"
)
WORD = "14"
NUMBER = "10"


def of_size(picture: Picture, size: str) -> list[Element]:
    return [text for text in elements(picture, "text") if text.get("font-size") == size]


def words(picture: Picture) -> list[str]:
    return [text.text or "" for text in of_size(picture, WORD)]


def numbers(picture: Picture) -> list[str]:
    return [text.text or "" for text in of_size(picture, NUMBER)]


def lines(picture: Picture, color: str, width: float, *, dashed: bool = False) -> list[str]:
    """The paths of lines that look like this, one of what is drawn without a break."""
    return [
        part
        for line in strokes(picture, color)
        for part in re.findall("M[^M]*", line.get("d", ""))
        if float(line.get("stroke-width", 1)) == width
        and bool(line.get("stroke-dasharray")) == dashed
    ]


def start(path: str) -> tuple[float, float]:
    """Where a path begins."""
    found = re.match(r"M(-?[\d.]+) (-?[\d.]+)", path)
    assert found
    return float(found[1]), float(found[2])


@pytest.fixture(scope="module")
def found(model: AttentionModel) -> CoreferenceAccuracies:
    documents = [
        Document.from_spans(p.words, p.spans, governors=p.governors, tags=p.tags, name=p.name)
        for p in PASSAGES
    ]
    return probe_coreference(model, [*documents, HOSTILE, LONG, NESTED, HEBREW], progress=False)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_and_mention_is_drawn(found: CoreferenceAccuracies, theme: str) -> None:
    shown = CoreferenceView(found, mention=None).figure(theme=theme)
    colors = DARK if theme == "dark" else LIGHT
    # "The captain told his men that he would stay .": his men are mentioned once.
    assert words(shown) == PASSAGES[0].words
    assert numbers(shown) == ["1", "1", "1"]
    assert {text.get("fill") for text in of_size(shown, NUMBER)} == {colors.series[0]}
    under = lines(shown, colors.series[0], 2)
    assert len(under) == 3
    once = lines(shown, colors.muted, 1, dashed=True)
    assert len(once) == 2, "his men, and the key"
    inner = [start(path)[1] for path in under if start(path)[0] <= start(once[0])[0]]
    assert start(once[0])[1] > max(inner), "a longer mention is underlined below those within it"


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
            shown = view.figure()
            color = LIGHT.right if right else LIGHT.wrong
            other = LIGHT.wrong if right else LIGHT.right
            # The word chosen, and the key's sample.
            chosen, _ = lines(shown, color, 2, dashed=not right)
            assert len(lines(shown, other, 2, dashed=right)) == 1
            assert number(of_size(shown, WORD)[word], "x") - start(chosen)[0] == pytest.approx(
                2, abs=1
            )
            # An arrow head points at the middle of the word, and its line looks like the outline.
            assert len(fills(shown, color)) == 1
            assert (
                len([path for path in lines(shown, color, 1.5, dashed=not right) if "C" in path])
                == 1
            )
            weight = found.weights[row, at, layer, head]
            verdict = "right" if right else "wrong"
            said = next(text for text in texts(shown) if "with weight" in text)
            assert said.startswith(f"{PASSAGES[0].words[word]} (word {word}) with weight ")
            assert said.endswith(f", {verdict}")
            shown_weight = re.search(r"weight ([\d.]+)\u00a0%,", said)
            assert shown_weight and float(shown_weight[1]) == pytest.approx(100 * weight, abs=0.5)
            # Each antecedent has an outline, and the key's sample.
            assert len(lines(shown, LIGHT.muted, 1)) == len(one.antecedents) + 1
            assert len(lines(shown, LIGHT.accent, 1)) == 2, "the mention, and the key's sample"
    assert seen == {True, False}


def test_the_rules_are_said_with_their_outcome(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, mention=3)
    said = texts(view.figure())
    # As the passages have it: "he@6": nearest "his men@3" is wrong, the sieves find "his@3".
    assert "his men (word 3), wrong" in said and "nothing, wrong" in said
    assert "his (cluster 1, word 3), right" in said
    [first, *rest] = view.figure().table.to_dict("records")
    assert first["mention"] == "he (cluster 1, word 6)" and len(rest) == 1
    assert first["nearest"] == "his men (word 3), wrong"
    assert first["head match"] == "nothing, wrong"
    assert first["rule-based"] == "his (cluster 1, word 3), right"
    assert first["antecedents"] == "The captain (cluster 1, word 0), his (cluster 1, word 3)"


def test_the_title_has_the_accuracies(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, selected=[(1, 3)], variant="mentions")
    title, accuracy, source, *_ = texts(view.figure())
    assert title == "L1 H3 · among preceding mentions"
    n = int(found.counts[0])
    correct = int(found.correct[1, 1, 3, 0])
    right = int(found.is_correct[: len(found.windows[0].evaluated), 1, 1, 3].sum())
    assert accuracy == (
        f"right on {right} of 2 mentions here · {100 * correct / n:.0f}\xa0% of {n} in the study"
    )
    assert source == f"{found.model_name} · {PASSAGES[0].name}"
    caption = view.caption
    assert caption.head == "L1 H3 (2-4)" and caption.model == found.model_name
    assert accuracy in caption.notes
    nearest = 100 * found.baseline_correct[0, 0] / n
    assert f"nearest {nearest:.0f}\xa0%" in caption.text()


def test_without_a_head_there_is_the_text(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, selected=[])
    shown = view.figure()
    assert words(shown) == PASSAGES[0].words and not any("weight" in t for t in texts(shown))
    assert texts(shown)[0] == "Mentions · no head selected"
    assert "right or wrong" not in view.figure().table
    assert view.caption.head == "no head selected"


def test_a_mention_that_is_not_evaluated_says_why(found: CoreferenceAccuracies) -> None:
    said = " ".join(texts(CoreferenceView(found, mention=0).figure()))
    assert "not evaluated: no mention of its cluster precedes it" in said
    once = " ".join(texts(CoreferenceView(found, mention=2).figure()))
    assert "the window mentions this once" in once


def test_hostile_words_stay_text(found: CoreferenceAccuracies) -> None:
    shown = CoreferenceView(found, ["hostile"]).figure()
    assert words(shown) == list(HOSTILE.words) and "<script" not in shown.svg


@pytest.mark.parametrize("width", [480, 1200])
def test_a_long_text_wraps(found: CoreferenceAccuracies, width: int) -> None:
    view = CoreferenceView(found, ["long"])
    shown = view.figure(width=width)
    assert words(shown) == list(LONG.words) and len(numbers(shown)) == 31
    assert shown.drawing.width == width
    [(left, _, across, _)] = shown.drawing.figures
    places = [number(text, "x") + offset(text)[0] for text in of_size(shown, WORD)]
    assert all(left <= place < left + across for place in places)
    assert len({number(text, "y") for text in of_size(shown, WORD)}) > 2
    assert len(view.figure().table) == 20
    assert "20 of 30" in view.caption.text()


def test_a_word_longer_than_a_line_is_broken(model: AttentionModel) -> None:
    long = Document.from_spans(
        ["x" * 60, "saw", "herself"], [(0, 0, "a"), (2, 2, "a")], name="one long word"
    )
    found = probe_coreference(model, [long], progress=False)
    shown = CoreferenceView(found).figure(width=200)
    assert "".join(words(shown)) == "".join(long.words) and len(words(shown)) > 4
    assert shown.drawing.width == 200


def test_words_break_as_in_print(found: CoreferenceAccuracies) -> None:
    shown = CoreferenceView(found, ["nested"]).figure(width=150)
    placed = {text.text: (number(text, "x"), number(text, "y")) for text in of_size(shown, WORD)}
    for one, next_one in [("(", "they"), ("broke", ")"), (")", ".")]:
        assert placed[one][1] == placed[next_one][1], "a line parts them"
    assert len({y for _, y in placed.values()}) > 2
    # A point follows at once; between words there is a space.
    assert placed["."][0] - placed[")"][0] == pytest.approx(333 * 14 / 1000, abs=0.1)


def test_lines_under_nested_mentions_do_not_meet(found: CoreferenceAccuracies) -> None:
    shown = CoreferenceView(found, ["nested"], mention=None).figure()
    # By height: from where to where.
    spans: dict[float, list[tuple[float, float]]] = {}
    for color in LIGHT.series[:3]:
        for path in lines(shown, color, 2):
            (x, y), [end] = start(path), re.findall(r"L([\d.]+) ", path)
            spans.setdefault(y, []).append((x, float(end)))
    heights = sorted(spans)
    assert len(heights) == 3 and min(np.diff(heights)) >= 3
    for here in spans.values():
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(sorted(here)))
    # "all of its masts" goes under "its masts", and that under "its".
    [(left, right)] = spans[heights[2]]
    [(inner, end)] = spans[heights[1]]
    assert left < inner and end == right
    assert any(inner <= a and b < end for a, b in spans[heights[0]])


def test_right_to_left_text_runs_from_the_right(found: CoreferenceAccuracies) -> None:
    shown = CoreferenceView(found, ["hebrew"]).figure(width=300)
    placed = of_size(shown, WORD)
    assert [text.text.strip("\u200f") for text in placed if text.text] == list(HEBREW.words)
    places = [number(text, "x") for text in placed]
    assert all(text.get("text-anchor") == "end" for text in placed)
    assert places == sorted(places, reverse=True)
    [(_, _, across, _)] = shown.drawing.figures
    first = number(of_size(shown, NUMBER)[0], "x")
    assert first == across and places[0] < first, "the number stands before the word"
