"""A gallery of heads: its links and words, what a reader sees, and how examples are chosen."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import vl_convert

from attnwidget import Attention, AttentionModel, Sentence, load_model
from attnwidget.behaviors import head_gallery, relation_panels
from attnwidget.charts.theme import LIGHT
from attnwidget.demo import demo_treebank
from attnwidget.results import HeadGallery, HeadPanel, RelationAccuracies
from attnwidget.words import predict_governors, probe_relations
from refusals import naming

CAPTAIN = "The captain told his men that he would wait."
WOMAN = "The old woman opened the heavy door."


@pytest.fixture(scope="module")
def captain(model: AttentionModel) -> Attention:
    return model.attend(CAPTAIN)


@pytest.fixture(scope="module")
def halves(model: AttentionModel) -> tuple[RelationAccuracies, RelationAccuracies]:
    first, second = demo_treebank()[::2], demo_treebank()[1::2]
    return (
        probe_relations(model, first, progress=False),
        probe_relations(model, second, progress=False),
    )


@pytest.fixture(scope="module")
def gallery(model: AttentionModel, captain: Attention) -> HeadGallery:
    return head_gallery(
        [
            HeadPanel(
                "L1 H3", [captain], [["his", "he"]], accuracy=0.84, baseline=0.5, n_words=207
            ),
            HeadPanel((2, 8), [model.attend(WOMAN), captain], [("the", 2), []], "articles"),
        ]
    )


def test_links_are_those_of_the_word_maps_from_the_threshold_on(
    gallery: HeadGallery, captain: Attention
) -> None:
    weights = captain.words.weights("L1 H3")
    least = max(1.5 / len(weights), 0.03)
    frame = gallery.to_frame()
    links = frame[frame["head"] == "L1 H3"]
    expected = {(q, k) for q, k in np.argwhere(weights >= least).tolist()}
    assert set(zip(links["query"], links["key"], strict=True)) == expected
    assert 0 < len(expected) < weights.size / 2
    for row in links.to_dict("records"):
        assert row["weight"] == pytest.approx(weights[row["query"], row["key"]])
        assert row["from"] == captain.words.tokens[row["query"]]
        special = bool(captain.words.special[row["query"]] or captain.words.special[row["key"]])
        chosen = row["from"] in ("his", "he")
        assert row["kind"] == ("special" if special else "chosen" if chosen else "other")


@pytest.mark.parametrize(("min_weight", "least"), [(0.0, 0.125), (0.03, 0.125), (0.5, 0.5)])
def test_the_threshold_is_the_larger_of_a_weight_and_one_and_a_half_even_shares(
    captain: Attention, min_weight: float, least: float
) -> None:
    assert len(captain.words.tokens) == 12
    found = head_gallery([HeadPanel("L1 H3", [captain], ["he"])], min_weight=min_weight)
    assert found.texts[0][0].least.tolist() == [least] * 12
    assert found.to_frame()["weight"].min() >= least
    assert f"{100 * min_weight:g}\xa0%" in found.chart().to_dict()["description"]


def test_words_of_a_causal_model_have_the_even_share_of_what_they_see() -> None:
    attention = load_model("attnwidget/induction").attend("The cat sat on the mat.")
    (text,) = head_gallery([HeadPanel("L1 H3", [attention], [[2]])]).texts[0]
    n_visible = attention.words.visible("L1 H3").sum(-1)  # type: ignore[union-attr]
    np.testing.assert_allclose(text.least, np.maximum(0.03, 1.5 / n_visible))


def marks(spec: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for part in spec["layer"] if part["mark"]["type"] == kind]


def rows_of(spec: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["datasets"][part["data"]["name"]]
    return rows


def test_chosen_words_and_their_partners_are_red_and_special_links_are_gray(
    gallery: HeadGallery,
) -> None:
    spec = gallery.chart().to_dict()
    lines = {part["mark"]["color"]: part for part in marks(spec, "line")}
    assert list(lines) == [LIGHT.hairline, LIGHT.ramp[1], LIGHT.second], "chosen links on top"
    frame = gallery.to_frame()
    for color, kind in zip(lines, ("special", "other", "chosen"), strict=True):
        n_points = len(rows_of(spec, lines[color]))
        assert n_points == 4 * (frame["kind"] == kind).sum()
        scale = lines[color]["encoding"]["strokeWidth"]["scale"]
        assert scale["domain"] == [0, 1] and scale["range"][0] == 0, "thickness is linear"
    red = [part for part in marks(spec, "text") if part["mark"]["color"] == LIGHT.second]
    written = sorted(row["word"] for part in red for row in rows_of(spec, part))
    assert written == sorted(["his", "he", "captain", "the", "door"])


def test_the_heading_has_the_head_its_name_and_its_accuracy(gallery: HeadGallery) -> None:
    svg = vl_convert.vegalite_to_svg(gallery.chart().to_dict())
    for text in ("L1 H3 (2-4)", "L2 H8 (3-9)", "articles", "2 heads and the words that they link"):
        assert text in svg
    assert "84\xa0% of\xa0207 (baseline: 50\xa0%)" in svg
    panel = HeadPanel("L1 H3", [], [], accuracy=0.5, baseline=0.25, offset=-2)
    assert panel.label == "50\xa0% (offset\xa0\N{MINUS SIGN}2: 25\xa0%)"
    assert replace(panel, accuracy=None).label == ""


@pytest.mark.parametrize("width", [219, 320, 455, 640, 900])
def test_no_text_lies_on_another_and_the_figure_has_its_width(
    model: AttentionModel, captain: Attention, width: int
) -> None:
    panel = HeadPanel("L2 H8", [captain, model.attend(WOMAN)], [["his"], ["old"]])
    panels = [replace(panel, name="determiner to its noun", accuracy=0.5, n_words=9, offset=1)] * 5
    spec = head_gallery(panels).chart(width=width).to_dict()
    assert spec["width"] == width - 16
    boxes = []
    for part in marks(spec, "text"):
        size = part["mark"]["fontSize"]
        align = part["mark"]["align"]
        for row in rows_of(spec, part):
            text = row.get("word", row.get("text"))
            length = len(text) * size * 0.45
            left = row["x"] - (length if align == "right" else 0)
            boxes.append((left, row["y"] - size / 2, left + length, row["y"] + size / 2))
            assert left >= -1 and left + length <= spec["width"] + 1 and row["y"] < spec["height"]
    assert len(boxes) > 5 * 2 * (len(captain.words.tokens) + 9)
    array = np.array(boxes)
    across = np.minimum.outer(array[:, 2], array[:, 2]) - np.maximum.outer(array[:, 0], array[:, 0])
    down = np.minimum.outer(array[:, 3], array[:, 3]) - np.maximum.outer(array[:, 1], array[:, 1])
    overlaps = (across > 0) & (down > 0.5)
    np.fill_diagonal(overlaps, False)
    assert not overlaps.any()


def test_words_that_are_attended_to_are_marked_on_the_right(captain: Attention) -> None:
    found = head_gallery([HeadPanel("L1 H3", [captain], ["captain"], side="key")])
    chosen = found.to_frame().query("kind == 'chosen'")
    assert len(chosen) and set(chosen["to"]) == {"captain"}
    weights = captain.words.weights("L1 H3")[1:-1, 2]
    (text,) = found.texts[0]
    assert text.partners("key") == {int(weights.argmax()) + 1}


def test_panels_of_relations_have_the_best_heads_and_measured_accuracies(
    halves: tuple[RelationAccuracies, RelationAccuracies],
) -> None:
    first, second = halves
    panels = relation_panels(first, ["obj", "det"], demo_treebank(), scored_on=second)
    best = first.best(1).set_index("relation")
    for panel, relation in zip(panels, ["obj", "det"], strict=True):
        row = best.loc[relation]
        assert panel.head[:2] == (row["layer"], row["head"])
        index = second.relations.index(relation)
        side = 0 if row["direction"] == "dependent to governor" else 1
        assert panel.accuracy == second.accuracy[(*panel.head[:2], side, index)]
        assert panel.baseline == second.baseline[index]
        assert (panel.offset, panel.n_words) == (
            second.baseline_offset[index],
            second.counts[index],
        )
        assert panel.scored_on == "57 sentences that did not choose the heads"
    assert [panel.name for panel in panels] == ["object to its verb", "determiner to its noun"]
    (own,) = relation_panels(first, ["det"], demo_treebank(), n_texts=1)
    assert own.scored_on == "the 58 sentences that also chose the heads"
    assert len(own.attentions) == 1 and own.accuracy == max(
        first.accuracy[..., first.relations.index("det")].ravel()
    )


def test_examples_are_right_and_have_the_farthest_governors(
    model: AttentionModel, halves: tuple[RelationAccuracies, RelationAccuracies]
) -> None:
    (panel,) = relation_panels(halves[0], ["obj"], demo_treebank(), max_words=10)
    layer, head, _ = panel.head
    distances = {}
    for sentence in demo_treebank():
        words = [i for i, label in enumerate(sentence.relations) if label == "obj"]
        if not words or len(sentence) > 10:
            continue
        predicted = predict_governors(model, sentence)
        governors = np.array(sentence.governors)[words]
        right = predicted.governors[layer, head, 0, words] == governors
        heavy = predicted.weights[layer, head, 0, words] >= max(0.03, 1.5 / (len(sentence) + 2))
        if right.all() and heavy.all():
            text = tuple(word.lower() for word in sentence.words)
            distances[text] = np.abs(governors - 1 - words).mean()
    shown = [tuple(attention.words.tokens[1:-1]) for attention in panel.attentions]
    assert [distances[text] for text in shown] == sorted(distances.values(), reverse=True)[:2]
    for attention, words in zip(panel.attentions, panel.words, strict=True):
        (sentence,) = (
            sentence
            for sentence in demo_treebank()
            if [word.lower() for word in sentence.words] == attention.words.tokens[1:-1]
        )
        chosen = [i + 1 for i, label in enumerate(sentence.relations) if label == "obj"]
        assert list(words) == chosen  # type: ignore[call-overload]


def test_no_sentence_is_in_two_panels(
    halves: tuple[RelationAccuracies, RelationAccuracies],
) -> None:
    panels = relation_panels(halves[0], ["obj", "det", "case"], demo_treebank())
    shown = [tuple(attention.tokens) for panel in panels for attention in panel.attentions]
    assert len(set(shown)) == len(shown) == 6


def test_a_gallery_is_copied_saved_and_says_what_it_shows(
    gallery: HeadGallery, tmp_path: Any
) -> None:
    for again in (pickle.loads(pickle.dumps(gallery)), copy.deepcopy(gallery)):
        assert again.to_frame().equals(gallery.to_frame())
    assert repr(gallery) == "HeadGallery(small BERT (in the package), 2 heads: L1 H3, L2 H8)"
    for suffix in ("svg", "pdf", "png"):
        gallery.chart(width=455).save(tmp_path / f"heads.{suffix}")
        assert (tmp_path / f"heads.{suffix}").stat().st_size > 5_000
    assert "image/png" in gallery.chart()._repr_mimebundle_()[0]


def test_what_is_no_gallery_is_refused(model: AttentionModel, captain: Attention) -> None:
    panel = HeadPanel("L1 H3", [captain], ["he"])
    with pytest.raises(ValueError, match=naming("no panels", "HeadPanel", "relation_panels")):
        head_gallery([])
    with pytest.raises(TypeError, match=naming("HeadPanel", "str")):
        head_gallery(["L1 H3"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=naming("one entry for each text", "2", "1")):
        head_gallery([replace(panel, words=["he", "his"])])
    with pytest.raises(ValueError, match=naming("she", "no token")):
        head_gallery([replace(panel, words=["she"])])
    with pytest.raises(ValueError, match=naming("layer", "9")):
        head_gallery([replace(panel, head="L9 H3")])
    with pytest.raises(ValueError, match=naming("side", "middle", "query")):
        head_gallery([replace(panel, side="middle")])  # type: ignore[arg-type]
    for min_weight in (-0.1, 1.5, float("nan"), True):
        with pytest.raises(ValueError, match=naming("min_weight", "0 to 1", repr(min_weight))):
            head_gallery([panel], min_weight=min_weight)
    long = HeadPanel("L1 H3", [model.attend("cat " * 80)], [[1]])
    with pytest.raises(ValueError, match=naming("60 words", "82", "HeadView")):
        head_gallery([long])
    other = load_model("attnwidget/genre").attend(CAPTAIN)
    with pytest.raises(ValueError, match=naming("one model")):
        head_gallery([panel, replace(panel, attentions=[other])])


def test_relations_without_examples_are_refused(
    halves: tuple[RelationAccuracies, RelationAccuracies],
) -> None:
    first, second = halves
    with pytest.raises(ValueError, match=naming("no relation", "object", "obj")):
        relation_panels(first, ["object"], demo_treebank())
    cats = Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"])
    with pytest.raises(ValueError, match=naming("det", "max_words", "12 words")):
        relation_panels(first, ["det"], [cats])
    with pytest.raises(RuntimeError, match=naming("without their model", "probe_relations")):
        relation_panels(replace(first, model=None), ["det"], demo_treebank())
    with pytest.raises(ValueError, match=naming("one model", "another")):
        relation_panels(
            first, ["det"], demo_treebank(), scored_on=replace(second, model_name="another")
        )


def test_links_of_causal_heads_are_drawn_in_every_example() -> None:
    """The first words see few words, so that a link needs a larger weight to be drawn."""
    causal = load_model("attnwidget/induction")
    sentences = demo_treebank()
    found = probe_relations(causal, sentences, skip_unaligned=True, progress=False)
    panels = relation_panels(found, ["det"], sentences, n_texts=8)
    links = head_gallery(panels).to_frame().query("kind == 'chosen'")
    for text, words in enumerate(panels[0].words):
        drawn = links[links["text"] == text]
        ends = drawn["query" if panels[0].side == "query" else "key"]
        assert set(words) <= set(ends)
