"""The behavior "pronoun to its person": score, control and test, and the names that it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnwidget import AttentionModel, Document, Head, atlas, load_model
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.corpus_texts import corpus_texts
from attnwidget.behaviors.evidence import Run
from attnwidget.behaviors.pronouns import PronounRule
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.behaviors.scores.measure_behaviors import evidence_of
from attnwidget.corpus.batches import BatchMaker
from attnwidget.demo import demo_atlas, demo_documents
from attnwidget.text.demonstrations import bracketed_passage
from behaviors.test_names_by_chance import random_bert
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

QUIET: dict[str, Any] = {"progress": False, "batch_size": 8}
NAME = "pronoun to its person"


def scored(model: AttentionModel, documents: list[Document] | None = None) -> BehaviorTable:
    return measure_behaviors(model, (), [NAME], treebank=(), documents=documents, **QUIET)


@pytest.fixture(scope="module")
def table(model: AttentionModel) -> BehaviorTable:
    return scored(model)


def test_the_head_that_notebook_8_shows_is_named_after_pronouns(table: BehaviorTable) -> None:
    assert table.names[1, 3] == NAME
    score = table[NAME]
    assert np.unravel_index(score.score.argmax(), score.score.shape) == (1, 3)
    assert score.score[1, 3] > 0.8 and score.held_out[1, 3] > 0.8
    assert 0.3 < score.control[1, 3] < 0.45 and 0.3 < score.held_out_control[1, 3] < 0.45
    assert score.control_name == "the nearest person" and score.unit == "pronoun"
    assert score.n + score.held_out_n == 207


@pytest.mark.parametrize("name", ["embedded", "attnwidget/genre"])
def test_the_stored_atlases_name_the_head_after_pronouns(name: str) -> None:
    stored = demo_atlas(name)
    assert stored.names[1, 3] == NAME and stored.find(NAME)[0] == Head(1, 3)
    assert stored.card(1, 3).examples["missed"]
    assert stored.provenance["n_documents"] == 60


def test_a_pronoun_is_right_if_its_most_attended_word_is_its_person(model: AttentionModel) -> None:
    """Compute the scores of the first half from whole maps."""
    right = []
    nearest = []
    for document in demo_documents()[::2]:
        attention = model.attend(document.running.text)
        weights = attention.words.weights()
        axis = attention.words.stacks["self"].query
        # The first entry is [CLS], the last [SEP].
        assert [text.lower() for text in axis.text[1:-1]] == [w.lower() for w in document.words]
        for mention in document.mentions:
            if mention.kind != "pronoun":
                continue
            named = [
                m for m in document.mentions if m.kind != "pronoun" and m.start < mention.start
            ]
            persons = [m.head for m in named if m.cluster == mention.cluster]
            if not persons:
                continue
            rows = weights[:, :, mention.head + 1, 1:-1].copy()
            rows[..., mention.head] = -1
            right.append(np.isin(rows.argmax(-1), persons))
            last = max(named, key=lambda m: (m.start, m.end))
            nearest.append(last.head in persons)
    score = scored(model)[NAME]
    assert score.n == len(right)
    np.testing.assert_allclose(score.score, np.mean(right, 0))
    np.testing.assert_allclose(score.control, np.mean(nearest))


def test_things_and_pronouns_without_a_noun_do_not_count(model: AttentionModel) -> None:
    texts = [
        "[a The boat] sank because [a it] was old, and [b the captain] wept. [b He] loved [a it].",
        "[a I] saw [b the girl], and [a I] called [b her].",
    ] * 2
    found = scored(model, [bracketed_passage(text) for text in texts])
    assert found[NAME].n == 2 and found[NAME].held_out_n == 2
    only_things = [bracketed_passage("[a The boat] sank because [a it] was old.")] * 2
    with pytest.raises(ValueError, match=naming("pronoun to its person", "first half")):
        scored(model, only_things)
    with pytest.raises(ValueError, match=naming("pronoun to its person", "two documents")):
        scored(model, only_things[:1])
    with pytest.raises(ValueError, match=naming("pronoun to its person", "coreference")):
        scored(model, [])


def test_the_rule_predicts_links_from_pronouns_to_their_persons(model: AttentionModel) -> None:
    evidence = evidence_of(model, (), (), None, 0, 0, Run(progress=False))
    texts = corpus_texts(evidence, "documents")
    assert [half for half, _ in texts] == [0, 1] * 30
    rule = scored(model)[NAME].rule
    assert isinstance(rule, PronounRule)
    maker = BatchMaker(model, model.hf_model.base_model, None, {})
    for place in (6, 28, 59):
        batch = maker([texts[place][1]])
        tokens = batch.tokens[0].text
        links = {(tokens[q], tokens[k]) for q, k in rule.links(batch)[0].nonzero().tolist()}
        assert (
            links
            == {
                6: {("his", "captain"), ("she", "wife"), ("he", "captain"), ("they", "sailors")},
                28: {("he", "tom"), ("they", "girls"), ("she", "witch")},
                59: {("they", "wolves"), ("he", "shepherd"), ("her", "princess")},
            }[place]
        )


def test_coreference_of_nouns_needs_documents_with_nouns(model: AttentionModel) -> None:
    found = measure_behaviors(model, (), ["coreference", NAME], treebank=(), **QUIET)
    assert found.behaviors == (NAME,)
    assert "all mentions with an antecedent are pronouns" in found.left_out["coreference"]
    passage = "[a The captain] came. [b The men] saw [a the captain], and [a he] told [b them]."
    both = measure_behaviors(
        model,
        (),
        ["coreference", NAME],
        treebank=(),
        documents=[bracketed_passage(passage)] * 4,
        **QUIET,
    )
    assert both.behaviors == ("coreference", NAME)


def test_a_model_that_cannot_read_the_passages_is_scored_without_them() -> None:
    causal = load_model(build("gpt2"), word_tokenizer(template=False))
    with pytest.raises(ValueError, match=naming("pronoun to its person", "coreference")):
        measure_behaviors(causal, (), [NAME], treebank=(), **QUIET)


@pytest.mark.parametrize("scale", [1, 20])
def test_random_weights_get_no_name_from_pronouns(model: AttentionModel, scale: float) -> None:
    for seed in range(3):
        found = scored(random_bert(model, seed, scale))
        assert not (found.names != "").any() and found[NAME].score.max() < 0.5


@pytest.mark.slow
def test_pronouns_have_effects_and_missed_links(model: AttentionModel) -> None:
    found = atlas(model, (), treebank=(), behaviors=[NAME], examples=False, n_examples=2, **QUIET)
    effect = found.card(1, 3).effect
    assert effect is not None and effect.n_places >= 10 and np.isfinite(effect.effect)
