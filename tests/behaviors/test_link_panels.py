"""Heads of a link study on sentences of the study, with the link in red."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from attnwidget import AttentionModel, Head
from attnwidget.behaviors import head_gallery, link_panels
from attnwidget.demo import demo_treebank
from attnwidget.results import HeadPanel, LinkWeights
from attnwidget.words import probe_links, subject_verb_links
from refusals import naming

LABEL = "SUBJ to VERB"


@pytest.fixture(scope="module")
def links(model: AttentionModel) -> LinkWeights:
    return probe_links(model, subject_verb_links(demo_treebank()), progress=False)


def test_heads_are_those_with_the_largest_excess(links: LinkWeights) -> None:
    panels = link_panels(links, LABEL)
    assert [panel.head for panel in panels] == links.most_excess(LABEL)
    row = links.best().set_index("label").loc[LABEL]
    assert (panels[0].head.layer, panels[0].head.head) == (row["layer"], row["head"])
    assert f"{row['weight']:.2f}" in panels[0].name and f"{row['moved']:.2f}" in panels[0].name


def test_examples_are_sentences_of_the_study_whose_links_are_drawn_in_red(
    links: LinkWeights, model: AttentionModel
) -> None:
    gallery = head_gallery(link_panels(links, LABEL, ["L1 H4"], n_texts=2))
    chosen = gallery.to_frame().query("kind == 'chosen'")
    assert chosen["text"].nunique() == 2
    by_words = {one.words: one for one in links.sentences}
    for number, text in enumerate(gallery.texts[0]):
        words = tuple(word for word, is_special in zip(text.keys, text.special_keys, strict=True)
                      if not is_special)  # fmt: skip
        sentence = next(one for one in by_words if tuple(w.lower() for w in one) == words)
        own = [link for link in by_words[sentence].links if link.label == LABEL]
        # Word 0 of the sentence follows [CLS].
        ends = {(link.source[0] + 1, link.target[0] + 1) for link in own}
        rows = chosen[chosen["text"] == number]
        assert set(zip(rows["query"], rows["key"], strict=True)) == ends
        weights = model.attend(list(sentence)).words.weights("L1 H4")[1:-1, 1:-1].copy()
        np.fill_diagonal(weights, 0)
        assert all(weights[a - 1].argmax() == b - 1 for a, b in ends)


@pytest.mark.parametrize("heads", ["L1 H4", (1, 4), Head(1, 4), ["L1 H4"], [(1, 4)]])
def test_heads_are_named_in_every_form(links: LinkWeights, heads: Any) -> None:
    (panel,) = link_panels(links, LABEL, heads)
    assert panel.head == Head(1, 4)


def test_no_sentence_is_in_two_panels(links: LinkWeights) -> None:
    panels = link_panels(links, LABEL, ["L1 H4", "L2 H8"], n_texts=2)
    texts = [attention.tokens for panel in panels for attention in panel.attentions]
    assert len(texts) == len({tuple(tokens) for tokens in texts}) == 4


def test_partners_limit_the_chosen_links(model: AttentionModel) -> None:
    attention = model.attend("The old woman opened the heavy door.")
    panels = [
        HeadPanel("L1 H8", [attention], ["opened"], partners=partners)
        for partners in (None, ["woman"])
    ]
    frames = [head_gallery([panel]).to_frame().query("kind == 'chosen'") for panel in panels]
    assert set(frames[0]["from"]) == {"opened"} and len(frames[0]) > len(frames[1])
    assert set(frames[1]["to"]) <= {"woman"}
    subtitle = " ".join(head_gallery(panels[1:]).chart().to_dict()["title"]["subtitle"])
    assert "red: the chosen links" in subtitle


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"label": "SUBJ to VREB"}, ("'SUBJ to VREB'", "SUBJ to VERB")),
        ({"max_words": 1}, ("1 words", "max_words")),
        ({"n_texts": 0}, ("n_texts", "0")),
        ({"heads": ["L9 H9"]}, ("layer 9", "0 to 5")),
    ],
)
def test_what_cannot_be_shown_is_refused(
    links: LinkWeights, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises((ValueError, IndexError), match=naming(*parts)):
        link_panels(links, **{"label": LABEL} | options)


def test_weights_without_their_model_are_refused(links: LinkWeights) -> None:
    with pytest.raises(RuntimeError, match=naming("probe_links", "again")):
        link_panels(pickle.loads(pickle.dumps(links)), LABEL)


def test_partners_need_an_entry_for_each_text(model: AttentionModel) -> None:
    attention = model.attend("She slept.")
    panel = HeadPanel("L1 H8", [attention], ["slept"], partners=[])
    with pytest.raises(ValueError, match=naming("partners", "0", "1 texts")):
        head_gallery([panel])
