"""Links of a reader's own text that the name of a head predicts, beside a slow search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attnwidget import Attention, Head, load_model
from attnwidget.behaviors.examples.rule_outcomes import rule_outcomes
from attnwidget.behaviors.examples.text_examples import TextExamples, text_examples
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.corpus.accumulator import Batch
from attnwidget.demo import demo_atlas
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."
Outcome = tuple[str, int, int]


def slow_outcomes(
    weights: NDArray[Any], links: NDArray[Any], resting: NDArray[Any], seen: NDArray[Any]
) -> list[Outcome]:
    """Kind, query and key of each outcome of one map, one query after the other."""
    found: list[Outcome] = []
    for query in range(len(weights)):
        predicted = [key for key in range(len(weights)) if links[query, key]]
        if not predicted:
            continue
        counted = [key for key in range(len(weights)) if key in predicted or not resting[key]]
        top = max(counted, key=lambda key: weights[query, key])
        found.append(("right" if top in predicted else "wrong", query, top))
        if sum(weights[query, key] for key in predicted) < len(predicted) / seen[query]:
            found.append(("missed", query, predicted[0]))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_outcomes_are_those_of_a_slow_loop(seed: int) -> None:
    random = np.random.default_rng(seed)
    causal = seed % 2 == 1
    n = 9
    scores = random.normal(0, 2, (2, 3, n, n))
    links = random.random((2, n, n)) < 0.15
    if causal:
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
        links &= np.tri(n, dtype=bool)
    exponents = np.exp(scores)
    weights = exponents / exponents.sum(-1, keepdims=True)
    resting = random.random((2, n)) < 0.2
    seen = np.broadcast_to(np.arange(1.0, n + 1) if causal else np.full(n, float(n)), (2, n))
    outcomes = rule_outcomes(
        torch.tensor(weights),
        torch.tensor(links).clone(),
        torch.tensor(resting),
        torch.tensor(seen.copy()),
    )
    for item, head in np.ndindex(2, 3):
        found: set[Outcome] = set()
        for kind, is_kind, keys in (
            ("right", outcomes.right, outcomes.top_keys),
            ("wrong", outcomes.wrong, outcomes.top_keys),
            ("missed", outcomes.missed, outcomes.predicted_keys),
        ):
            for query in np.flatnonzero(is_kind[item, head]).tolist():
                found.add((kind, query, int(keys[item, head, query])))
        expected = slow_outcomes(weights[item, head], links[item], resting[item], seen[item])
        assert expected and found == set(expected)


def in_text(head: str, text: str = TEXT) -> TextExamples | None:
    return demo_atlas().card(head, attention=load_model().attend(text)).in_text


def test_a_head_whose_rule_reads_tokens_is_right_or_wrong() -> None:
    found = in_text("L0 H2")
    assert found is not None and found.is_exact and found.likelihood == ""
    assert found.n_predicted == len(found.links["right"]) + len(found.links["wrong"]) == 14
    assert all(link.query - link.key == 1 for link in found.links["right"])
    weights = load_model().attend(TEXT).weights("L0 H2")
    for links in found.links.values():
        assert [link.weight for link in links] == [
            pytest.approx(float(weights[link.query, link.key])) for link in links
        ]
    links = [(-round(link.weight, 2), link.query) for link in found.links["right"]]
    assert links == sorted(links)


def test_names_that_need_a_parse_have_likely_links() -> None:
    found = in_text("L1 H3")
    assert found is not None and not found.is_exact and found.likelihood == "likely "
    words = {(link.spelt(link.query), link.spelt(link.key)) for link in found.links["right"]}
    assert words == {("his", "captain"), ("he", "captain")}
    card = demo_atlas().card("L1 H3", attention=load_model().attend(TEXT))
    assert "in this text, likely right: he → captain" in repr(card)


def test_a_text_without_a_prediction_says_so() -> None:
    found = in_text("L1 H3", "The ship sank.")
    assert found is not None and found.n_predicted == 0 and not any(found.links.values())
    card = demo_atlas().card("L1 H3", attention=load_model().attend("The ship sank."))
    assert "in this text: the name predicts no link" in repr(card)


def test_heads_without_a_rule_for_tokens_have_no_links_of_a_text() -> None:
    assert in_text("L2 H0") is None, "an object needs a parse"
    assert in_text("L0 H0") is None, "the head has no name"
    assert demo_atlas().card("L0 H2").in_text is None, "there is no text"
    attention = load_model().attend(TEXT)
    off = attention.disabled("L0 H2")
    assert demo_atlas().card("L0 H2", attention=off).in_text is None
    assert demo_atlas().card("L2 H9", attention=off).in_text is not None


def test_a_rule_of_your_own_predicts_links_in_your_text() -> None:
    class ToFirst(LinkRule):
        name = "to the first"

        def links(self, batch: Batch) -> torch.Tensor:
            first = torch.zeros_like(batch.real)
            first[:, 0] = True
            return first[:, None].expand(-1, batch.real.shape[1], -1)

    atlas = demo_atlas()
    number = next(i for i, score in enumerate(atlas.table.scores) if score.name == "previous token")
    scores = list(atlas.table.scores)
    scores[number] = replace(scores[number], name=ToFirst.name, rule=ToFirst())
    own = replace(atlas, table=replace(atlas.table, scores=tuple(scores)))
    found = own.card("L0 H2", attention=load_model().attend(TEXT)).in_text
    assert found is not None and found.is_exact and found.n_predicted == 15
    assert [link.query for link in found.links["right"]] == [0, 1]


def test_links_of_a_causal_model_look_back() -> None:
    model = load_model("attnwidget/induction")
    maps = np.tril(np.ones((1, 1, 4, 4))) / np.arange(1, 5)[:, None]
    attention = Attention.from_weights(maps, ["a", "b", "a", "b"])
    later = text_examples(attention, Head(0, 0), "next token")
    assert later is not None and later.n_predicted == 0
    earlier = text_examples(attention, Head(0, 0), "previous token")
    assert earlier is not None and earlier.n_predicted == 3
    with pytest.raises(ValueError, match=naming("2×4 heads", "6×12", "same model")):
        demo_atlas().card("L0 H2", attention=model.attend("a b a"))
