"""Links that an answer needs: against blocks of `scaled_links`, formulas and a planted link."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import transformers

from attnwidget import AttentionModel, Head, load_model
from attnwidget.behaviors import with_rules
from attnwidget.capture.tapping.last_token import LastToken
from attnwidget.interventions import needed_links
from attnwidget.results import NeededLinks
from fixtures import zoo
from fixtures.planted_circuit import planted_model
from refusals import naming

MASKED = "The captain told his men that [MASK] would not leave the ship."
SENTENCE = "The captain told his men that he would not leave the ship."
IDS = [7, 31, 55, 12, 80, 44, 9, 31, 20]


def by_blocks(
    model: AttentionModel, text: Any, needs: Any, source: Any, answer: int, **choice: Any
) -> np.ndarray:
    """The probability of an answer with the link to each word cut by a block of its own."""
    found = []
    at = {} if needs.position >= len(needs.words) + 1 else {"positions": [needs.position]}
    for group in needs.positions:
        with model.scaled_links([(source, group)], 0, **choice):
            predictions = model.predict(text, **at)
            found.append(np.exp(predictions.log_probabilities[0, answer]))
    return np.array(found)


def test_words_of_the_first_figure_are_needed_and_attended() -> None:
    needs = needed_links(load_model(device="cpu").attend(MASKED))
    table = needs.to_frame().set_index("position")
    assert needs.answer == "he" and needs.probability == pytest.approx(0.7255, abs=5e-4)
    assert table.loc[0, ["attention", "after"]].tolist() == pytest.approx([0.426, 0.672], abs=5e-4)
    assert table.loc[6, ["attention", "after"]].tolist() == pytest.approx([0.074, 0.398], abs=5e-4)
    assert needs.agreement == pytest.approx(0.23, abs=0.005)
    assert needs.control == pytest.approx(-0.01, abs=0.005)
    assert needs.finding.startswith(
        "At “[MASK]”, the model says “he” (73 %), and needs “that” most (−33 points). "
        "Most attention goes to “[CLS]” (43 %; without it: −5 points). "
        "Over 12 words, attention and need do not agree (0.23; attention of other words: −0.01)."
    )


def test_a_masked_word_is_asked_in_its_own_pass() -> None:
    model = load_model(device="cpu")
    attention = model.attend(SENTENCE)
    needs = needed_links(attention, position="he")
    masked = needed_links(model.attend(MASKED))
    assert needs.asked_by_mask and not masked.asked_by_mask
    np.testing.assert_allclose(needs.attention, masked.attention, atol=1e-6)
    np.testing.assert_allclose(needs.need, masked.need, atol=1e-6)
    own = attention.weights()[:, :, 7].mean((0, 1))
    assert np.abs(needs.attention - np.delete(own, 7)).max() > 0.01
    assert needs.finding.startswith("With “he” masked, the model says “he” (73 %)")


LONG = " ".join(["The captain said that he and the men left the ship ."] * 5)


def test_words_arrive_pass_by_pass() -> None:
    model = load_model(device="cpu")
    parts: list[NeededLinks] = []
    attention = model.attend(LONG)
    needs = needed_links(attention, position=5, n_random_links=0, on_pass=parts.append)
    known = [int((~np.isnan(part.need)).sum()) for part in parts]
    assert len(known) > 2 and known[0] == 0 and known == sorted(set(known))
    assert needs.complete and known[-1] < len(needs.words)
    for part, count in zip(parts, known, strict=True):
        assert not part.complete and np.isnan(part.need[count:]).all()
        np.testing.assert_array_equal(part.need[:count], needs.need[:count])
        np.testing.assert_array_equal(part.attention, needs.attention)


def test_a_word_costs_one_pass() -> None:
    model = load_model(device="cpu")
    attention = model.attend(LONG)
    n_inputs: list[int] = []
    hook = model.hf_model.bert.embeddings.register_forward_hook(
        lambda _module, _arguments, output: n_inputs.append(len(output))
    )
    try:
        needs = needed_links(attention, position=5, n_random_links=0)
    finally:
        hook.remove()
    # One pass more for the answer, one to check that few tokens need logits, and one to learn
    # whether tokens see later ones.
    assert len(needs.words) < sum(n_inputs) <= len(needs.words) + 3


@pytest.mark.parametrize(
    "choice", [{}, {"heads": ["L2 H11", "L3 H0"]}, {"layers": [4, 5]}, {"heads": "L2 H11"}]
)
def test_needs_are_those_of_blocks(choice: dict[str, Any]) -> None:
    model = load_model(device="cpu")
    needs = needed_links(model.attend(MASKED), **choice, n_random_links=0)
    answer = model.tokenizer.vocab["he"]
    expected = by_blocks(model, MASKED, needs, 7, answer, **choice)
    np.testing.assert_allclose(needs.probability - needs.need, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("text", "position", "choice"),
    [
        (IDS[:6], None, {}),
        (IDS[:6], 4, {"layers": [1]}),
        ("The man left.", 3, {}),
        ("The man left.", 3, {"heads": "L2 H11"}),
    ],
)
def test_a_map_of_needs_has_every_link_as_a_block(
    text: Any, position: int | None, choice: dict[str, Any]
) -> None:
    is_causal = not isinstance(text, str)
    model = load_model(zoo.build("llama") if is_causal else None, device="cpu")
    answer = 17 if is_causal else model.tokenizer.vocab["said"]
    where = {} if position is None else {"position": position}
    attention = model.attend(text)
    needs = needed_links(
        attention, answer, **where, **choice, queries="each", by="token", n_random_links=0
    )
    count = position if is_causal and position is not None else len(attention.tokens)
    assert needs.need_map is not None and needs.need_map.shape == (count, count)
    assert len(needs.map_words) == len(needs.map_columns) == count and needs.complete
    at = {} if position is None else {"positions": [position]}
    for i in range(count):
        for j in range(count):
            if is_causal and j > i:
                assert np.isnan(needs.need_map[i, j])
                continue
            with model.scaled_links([(i, j)], 0, **choice):
                after = np.exp(model.predict(text, **at).log_probabilities[0, answer])
            assert needs.probability - needs.need_map[i, j] == pytest.approx(after, abs=1e-6)
    # The row of the token that answers has the needs of the words.
    row = np.delete(needs.need_map[needs.query_position], needs.query_position)
    np.testing.assert_allclose(row, needs.need, atol=1e-6)


def test_a_map_of_needs_says_its_largest_link_and_its_limit() -> None:
    model = load_model(device="cpu")
    attention = model.attend("The captain said that he left.")
    needs = needed_links(attention, position="he", queries="each", n_random_links=0)
    assert needs.need_map is not None
    row, column = np.unravel_index(needs.need_map.argmax(), needs.need_map.shape)
    link = f"“{needs.map_words[row]}” to “{needs.map_columns[column]}” is needed most"
    assert f"Of {len(needs.map_words) ** 2} links, {link}" in needs.finding
    assert link in str(needs.map_chart().to_dict()["title"])
    with pytest.raises(ValueError, match=naming("queries='each'")):
        needed_links(attention, position="he", n_random_links=0).map_chart()
    long = model.attend("the cat and " * 25)
    with pytest.raises(ValueError, match=naming("64", "77", "queries='asked'")):
        needed_links(long, position=3, queries="each")


def refuse(last: LastToken, _: Any) -> list[Any]:
    last.works = False
    return []


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2", "gpt-oss", "bloom", "gpt-neox"])
def test_the_last_token_alone_gives_what_whole_passes_give(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(zoo.build(name), device="cpu")
    needs = needed_links(model.attend(IDS), 17, n_random_links=0)
    expected = by_blocks(model, IDS, needs, len(IDS) - 1, 17)
    np.testing.assert_allclose(needs.probability - needs.need, expected, atol=1e-6)
    assert np.abs(needs.need).max() > 1e-4
    monkeypatch.setattr(
        LastToken, "with_units", lambda self, _: setattr(self, "works", False) or []
    )
    whole = needed_links(model.attend(IDS), 17, n_random_links=0)
    np.testing.assert_allclose(needs.need, whole.need, atol=1e-6)
    np.testing.assert_allclose(needs.attention, whole.attention, atol=1e-6)


def test_a_causal_answer_inside_the_text_ignores_later_tokens() -> None:
    model = load_model(zoo.build("llama"), device="cpu")
    inside = needed_links(model.attend(IDS), 17, position=6, n_random_links=0)
    short = needed_links(model.attend(IDS[:6]), 17, n_random_links=0)
    np.testing.assert_allclose(inside.need, short.need, atol=1e-6)
    assert inside.query_position == 5 and inside.position == 6


def test_no_later_token_looks_at_a_word_on_request() -> None:
    model = load_model(zoo.build("llama"), device="cpu")
    needs = needed_links(model.attend(IDS), 17, queries="later", n_random_links=0)
    expected = by_blocks(model, IDS, needs, "all after", 17)
    np.testing.assert_allclose(needs.probability - needs.need, expected, atol=1e-6)
    with pytest.raises(ValueError, match=naming("queries='later'", "causal")):
        needed_links(load_model(device="cpu").attend(MASKED), queries="later")


@pytest.mark.parametrize("stack", ["cross", "decoder"])
def test_links_of_a_decoder_are_cut(stack: str) -> None:
    model = load_model(zoo.build("t5"), device="cpu")
    given = {"input_ids": torch.tensor([IDS]), "decoder_input_ids": torch.tensor([[0, 8, 23, 41]])}
    attention = model.attend(given)
    needs = needed_links(attention, 17, stack=stack, n_random_links=0)
    assert len(needs.words) == (len(IDS) if stack == "cross" else 3)
    found = []
    for group in needs.positions:
        with model.scaled_links([(3, group)], 0, stack=stack):
            found.append(np.exp(model.predict(given).log_probabilities[0, 17]))
    np.testing.assert_allclose(needs.probability - needs.need, found, atol=1e-6)
    with pytest.raises(ValueError, match=naming("stack='cross'", "stack='decoder'")):
        needed_links(attention, 17, stack="encoder")


def test_a_planted_link_is_needed_and_no_other() -> None:
    model = planted_model()
    text = [0, 3, 5, 9, 12, 7, 3]
    needs = needed_links(model.attend(text), n_random_links=6)
    order = np.argsort(-needs.need)
    assert needs.positions[order[0]] == (2,), "the token after the earlier copy"
    assert needs.need[order[0]] > 0.5
    assert np.abs(needs.need[order[1:]]).max() < 0.05
    assert np.abs(needs.random_need).max() < 0.05
    only = needed_links(model.attend(text), heads=(1, 2), n_random_links=0)
    assert int(only.need.argmax()) == order[0] and only.need.max() > 0.5
    others = [(layer, head) for layer in range(2) for head in range(4) if (layer, head) != (1, 2)]
    assert (
        np.abs(needed_links(model.attend(text), heads=others, n_random_links=0).need).max() < 0.05
    )


def test_agreement_and_control_are_rank_correlations_over_words() -> None:
    model = load_model(device="cpu")
    attention = model.attend(MASKED)
    needs = needed_links(attention)
    kept = [i for i in range(15) if i not in (0, 7, 14)]
    need = dict(zip([group[0] for group in needs.positions], needs.need, strict=True))
    mean = attention.weights().mean((0, 1))

    def agreement(query: int) -> float:
        keys = [key for key in kept if key != query]
        return float(scipy.stats.spearmanr(mean[query, keys], [need[key] for key in keys])[0])

    assert needs.n_compared == 12
    assert needs.agreement == pytest.approx(agreement(7), abs=1e-6)
    assert needs.control == pytest.approx(np.mean([agreement(q) for q in kept]), abs=1e-6)


def test_random_links_have_the_attention_of_the_strongest() -> None:
    model = load_model(device="cpu")
    needs = needed_links(model.attend(MASKED), n_random_links=5)
    strongest = np.sort(needs.attention[needs.compared])[::-1][:5]
    assert len(needs.random_need) == 5
    np.testing.assert_allclose(needs.random_attention, strongest, rtol=0.5)
    again = needed_links(model.attend(MASKED), n_random_links=5)
    np.testing.assert_array_equal(needs.random_need, again.random_need)


def test_heads_of_the_shown_attention_are_chosen() -> None:
    model = load_model(device="cpu")
    attention = model.attend(MASKED)
    needs = needed_links(attention, shown="L2 H11", n_random_links=0)
    row = np.delete(attention.weights(2, 11)[7], 7)
    np.testing.assert_allclose(needs.attention, row, atol=1e-6)
    assert needs.n_heads == 1


def test_heads_that_are_off_stay_off() -> None:
    model = load_model(device="cpu")
    attention = model.attend(MASKED)
    needs = needed_links(attention.disabled([(1, 8)]), n_random_links=0)
    assert needs.model_name.endswith("without L1 H8 (uniform)")
    answer = int(model.tokenizer.vocab[needs.answer])
    with model.disabled([(1, 8)]):
        assert np.exp(model.predict(MASKED).log_probabilities[0, answer]) == pytest.approx(
            needs.probability, abs=1e-6
        )
        expected = by_blocks(model, MASKED, needs, 7, answer)
    np.testing.assert_allclose(needs.probability - needs.need, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "text", "position", "source"),
    [
        (None, MASKED, 7, 7),
        ("attnwidget/induction", IDS, 4, 3),
        ("attnwidget/induction", IDS, 9, 8),
    ],
)
def test_the_rule_of_a_head_stays_in_its_place(
    name: str | None, text: Any, position: int, source: int
) -> None:
    model = load_model(device="cpu") if name is None else load_model(name, device="cpu")
    attention = model.attend(text)
    reading = attention.reading
    assert reading is not None
    ruled = with_rules(attention, {"L0 H2": "previous token"})
    needs = needed_links(ruled, position=position, n_random_links=0)
    answer = needs.answer
    for group, need in zip(needs.positions, needs.need, strict=True):
        cut = attention.scaled_links([(source, group)], 0).link_edits
        found = []
        for edits in ((), cut):
            with reading.edited([Head(0, 2)], "rule", edits):
                at = None if position == len(attention.tokens) else [position]
                predictions = model.predict(text, positions=at)
            chosen = predictions.answers.index(answer)
            found.append(float(np.exp(predictions.log_probabilities[0, chosen])))
        assert needs.probability == pytest.approx(found[0], abs=2e-6)
        assert need == pytest.approx(found[0] - found[1], abs=4e-6), group
    assert needs.model_name.endswith("previous token)")
    assert abs(needs.need - needed_links(attention, position=position).need).max() > 1e-4


def test_a_word_of_several_tokens_is_cut_as_one() -> None:
    model = load_model(device="cpu")
    attention = model.attend("The mathematicians said that [MASK] would not leave.")
    words, tokens = (needed_links(attention, by=by, n_random_links=0) for by in ("word", "token"))
    group = next(group for group in words.positions if len(group) > 1)
    assert words.words[words.positions.index(group)] == "mathematicians"
    assert len(tokens.words) > len(words.words)
    summed = sum(tokens.attention[tokens.positions.index((i,))] for i in group)
    assert words.attention[words.positions.index(group)] == pytest.approx(summed, abs=1e-9)


def test_a_study_stops_between_passes() -> None:
    attention = load_model(device="cpu").attend(MASKED)
    needs = needed_links(attention, stopped=lambda: True)
    assert not needs.complete and np.isnan(needs.need).all() and needs.finding == ""
    assert needs.attention.any()


def test_a_classifier_needs_links_of_its_first_token() -> None:
    torch.manual_seed(0)
    config = zoo.build("bert").config
    classifier = transformers.BertForSequenceClassification(config).eval()
    model = load_model(classifier, device="cpu")
    needs = needed_links(model.attend(IDS), 1, n_random_links=0)
    found = []
    for group in needs.positions:
        with model.scaled_links([(0, group)], 0):
            found.append(np.exp(model.predict(IDS).log_probabilities[0, 1]))
    np.testing.assert_allclose(needs.probability - needs.need, found, atol=1e-6)


def test_the_chart_has_both_quantities() -> None:
    needs = needed_links(load_model(device="cpu").attend(MASKED))
    chart = needs.chart().to_dict()
    assert [panel["encoding"]["x"]["title"] for panel in chart["hconcat"]] == [
        "attention, mean of 72 heads",
        "loss of “he” (73 %) without the word",
    ]
    title = chart["title"]
    assert title["text"] == ["Where “[MASK]” looks, and what “he” needs"]
    assert "links cut in all heads" in " ".join(title["subtitle"])


def test_what_has_no_answer_is_refused() -> None:
    model = load_model(device="cpu")
    attention = model.attend(MASKED)
    with pytest.raises(ValueError, match=naming("'nought'", "vocabulary entries")):
        needed_links(attention, "nought")
    with pytest.raises(ValueError, match=naming("queries", "'asked'", "'all'")):
        needed_links(attention, queries="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("0 mask tokens", "position='he'")):
        needed_links(model.attend(SENTENCE))
    with model.scaled_links([(7, 2)], 0):
        edited = model.attend(MASKED)
    with pytest.raises(ValueError, match=naming("the need of a link", "attend(text)")):
        needed_links(edited)
    with model.disabled([Head(0, 1)]), pytest.raises(RuntimeError, match="outside of the block"):
        needed_links(attention)
