"""One question, one answer: what a head does is the same in every place that says it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from attnwidget import (
    AtlasView,
    AttentionModel,
    Head,
    HeadGrid,
    atlas,
    explore,
    load_model,
    measure,
    read_segments,
)
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.named_links import named_links
from attnwidget.behaviors.registry import known_behaviors
from attnwidget.behaviors.relations import name_of_relation, relation_of_name
from attnwidget.demo import demo_atlas, demo_prose, demo_treebank
from attnwidget.mechanisms import copying_scores
from attnwidget.metrics import clark_labels
from attnwidget.metrics.induction import sequence_scores, start_and_vocabulary
from attnwidget.metrics.repeated_tokens import SCORES, read_repeated, repeated_and_other
from attnwidget.results import Atlas
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.words.relation_results import DIRECTIONS
from fixtures.recording import on_page
from fixtures.svg_picture import texts

pytestmark = pytest.mark.usefixtures("recording")

#: A text of each model, in which no head is off and one word is locked.
TEXTS = {
    "embedded": "The captain told his men that he would not leave the ship.",
    "attnwidget/induction": "The cat sat. The cat",
}


def heads_of(found: Atlas) -> Iterator[tuple[Head, str]]:
    """Yield every head with its name."""
    for layer, head in np.ndindex(*found.names.shape):
        yield Head(layer, head), str(found.names[layer, head])


def is_about_link(name: str, line: str, explorer: Explorer) -> bool:
    """Whether a name is about the link from the locked word to the word that a line tells first."""
    axis = explorer.attention.stacks["self"].query
    links = named_links(axis, [name], explorer.unit).get(name)
    [(_, query)] = explorer.tokens
    keys = axis.word_groups() if explorer.unit == "words" else [[i] for i in range(len(axis))]
    told = re.search(r"looks at (?:“(.+?)”|(itself)|(no word):)", line)
    if links is None or told is None:
        return False
    word, itself, _ = told.groups()
    if itself:
        return bool(links[query, query])
    # A word that occurs twice is told without its place.
    texts_of = ["".join(axis.text[i].strip("▁Ġ #") for i in group).casefold() for group in keys]
    is_told = [
        text == word.casefold() if word else bool(axis.special[group[0]])
        for text, group in zip(texts_of, keys, strict=True)
    ]
    return bool(links[query][is_told].any())


def assert_one_answer(model: AttentionModel, found: Atlas, text: str) -> None:
    """Check card, grid, explorer and line of every head against the names of an atlas."""
    explorer = explore(model, text, treebank=False, atlas=found)
    assert explorer.wait(300)
    labels = {head: name for head, name in heads_of(found) if name}
    assert labels, "an atlas without names shows nothing"
    grid = HeadGrid(model.attend(text), labels=labels)
    cards = AtlasView(found)
    for head, name in heads_of(found):
        card = found.card(head.layer, head.head)
        assert card.name == name
        assert repr(card).startswith(f"{head}: {name or 'no name'}")
        assert (card.named_by is None) == (name == "")
        assert card.named_by is None or card.named_by.behavior == name
        assert (head in found.find(name)) if name else True
        # The grid of an explorer, and a grid with the names of the atlas as labels.
        assert explorer.labels.get(head, "") == explorer.grid.labels.get(head, "") == name
        explorer.selected = grid.selected = cards.selected = [head]
        shown = f" “{name}”" if name else ""
        assert explorer.grid.caption.head == grid.caption.head
        assert grid.caption.head.endswith(f"{shown}" if shown else ")"), grid.caption.head
        # The heading of the card, in the explorer and alone.
        title = f"{head} · {name or 'no name'}"
        for view in (explorer.card, cards):
            assert view.head == head
            assert title in texts(view.figure()), title
        # The line of the explorer says the name only of a link that the name is about.
        line = explorer.caption.notes[0]
        said = f" ({name})" if name and is_about_link(name, line, explorer) else ""
        assert line.startswith(f"In {head}{said}, "), line
    for figure in (explorer, grid, cards):
        figure.close()


def test_labels_cards_and_the_line_of_an_explorer_have_the_names_of_the_atlas(
    model: AttentionModel,
) -> None:
    found = demo_atlas()
    explorer = explore(model, TEXTS["embedded"], treebank=False)
    assert explorer.wait(300)
    names = {head: name for head, name in heads_of(found) if name}
    assert dict(explorer.labels) == dict(explorer.grid.labels) == dict(explorer.view.labels)
    assert dict(explorer.labels) == names
    tested = {Head(*said["head"]): said for said in on_page(explorer, "tested")}
    families = {Head(*head): family for head, family in on_page(explorer.grid, "families")}
    assert tested.keys() == families.keys() == names.keys()
    for head, name in heads_of(found):
        explorer.card.selected = [head]
        assert on_page(explorer.card, "card")["name"] == name
        if name:
            assert tested[head]["label"] == name
            assert tested[head]["family"] == families[head]
    explorer.close()


def test_no_two_behaviors_have_the_same_name() -> None:
    """Each relation and direction has a name of its own, from which both can be read again."""
    relations = {relation for sentence in demo_treebank() for relation in sentence.relations}
    ends = [(relation, direction) for relation in sorted(relations) for direction in DIRECTIONS]
    names = [name_of_relation(relation, direction) for relation, direction in ends]
    assert [relation_of_name(name) for name in names] == ends
    others = {*demo_atlas().table.behaviors, *(b.name for b in known_behaviors())}
    others |= {f"{name} (random tokens)" for name in ("induction", "duplicate token")}
    assert not {name for name in others if relation_of_name(name)} - {*names}
    assert len({*names}) == len(names)


def test_scores_of_one_name_are_one_number() -> None:
    model = load_model("attnwidget/induction")
    names = ["repeated random tokens", "copying"]
    table = measure_behaviors(model, (), names, treebank=(), n_random_models=0, progress=False)
    pairs = repeated_and_other(model, 16, 50, seed=0)
    read = read_repeated(model, pairs)
    for number, title in enumerate(SCORES[:2]):
        for half, score, control in (
            (0, table[title].score, table[title].control),
            (1, table[title].held_out, table[title].held_out_control),
        ):
            expected = read.scores[number][..., half::2].mean(-1)
            np.testing.assert_allclose(score, expected, rtol=0, atol=1e-6)
            expected = read.controls[number][..., half::2].mean(-1)
            np.testing.assert_allclose(control, expected, rtol=0, atol=1e-6)
    scores = sequence_scores(model, [pairs[0][0]])
    np.testing.assert_array_equal(scores, read.scores[:3, ..., :1])
    entries = start_and_vocabulary(model)[1][:30].tolist()
    copying = copying_scores(model, names=entries[::2])
    np.testing.assert_array_equal(table["copying"].score, copying.copying)
    np.testing.assert_array_equal(table["negative copying"].score, copying.suppression)


@pytest.mark.slow
def test_labels_by_the_rule_of_clark_agree_with_the_names_where_both_name_a_head(
    model: AttentionModel,
) -> None:
    segments = read_segments(demo_prose(), model)
    measured = measure(model, segments, ["position", "entropy", "classes"], progress=False)
    labels = clark_labels(measured)
    same = {
        "previous token": "previous token",
        "next token": "next token",
        "to [CLS]": "rests on [CLS]",
    }
    found = [
        (same[str(label)], str(name))
        for label, name in zip(labels.ravel(), demo_atlas().names.ravel(), strict=True)
        if label in same
    ]
    assert {label for label, _ in found} == set(same.values())
    assert all(label == name for label, name in found), found


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_figure_draws_the_name_of_a_head_in_the_atlas(model: AttentionModel) -> None:
    assert_one_answer(model, demo_atlas(), TEXTS["embedded"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_scores_made_again_name_the_heads_of_the_embedded_model_as_its_atlas(
    model: AttentionModel,
) -> None:
    table = measure_behaviors(model, progress=False)
    assert table.names.tolist() == demo_atlas().names.tolist()
    assert table.runners_up.tolist() == demo_atlas().table.runners_up.tolist()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_place_gives_a_head_of_the_causal_model_the_same_name() -> None:
    model = load_model("attnwidget/induction")
    found = atlas(model, effects=False, progress=False)
    table = measure_behaviors(model, progress=False)
    assert table.names.tolist() == found.names.tolist()
    assert_one_answer(model, found, TEXTS["attnwidget/induction"])
