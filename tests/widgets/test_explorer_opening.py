"""The rule that finds the head and the word to open on, for texts that nobody prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from attnwidget import Attention, AttentionModel, Head, load_model
from attnwidget.behaviors.head_atlas.demo_atlas import own_atlas
from attnwidget.behaviors.registry import family_of
from attnwidget.capture.maps.resting_places import resting_places
from attnwidget.demo import demo_atlas
from attnwidget.text.word_classes import plain_word, word_classes
from attnwidget.widgets.explorer.answer_effects import quick_effects
from attnwidget.widgets.explorer.atlas_names import names_in
from attnwidget.widgets.explorer.opening import (
    Opening,
    active_word,
    opening_of,
    opening_of_change,
)
from fixtures.chat_models import MESSAGES, chat_model
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build

LONG = (
    "The captain told his men that he would not leave the ship until they were safe. The storm had "
    "broken both masts, and water was rising in the hold. Some of the sailors wept and prayed, but "
    "most of them worked at the pumps all night without a word. At dawn a fisherman saw the wreck "
    "from the cliffs and called his neighbors. They launched two boats, although the waves were "
    "high, and rowed for three hours. The captain was the last to climb down. When he reached the "
    "shore, he counted his men and found that nobody was lost. The women of the village gave them "
    "bread and dry clothes."
)

PLANTED = "[CLS] the old nurse saw a young doctor and he met her un ##usual ##ly . [SEP]"


@pytest.fixture(scope="module")
def names() -> Mapping[Head, str]:
    return names_in(demo_atlas())


def opened(
    model: AttentionModel, text: str, names: Mapping[Head, str] | None = None
) -> tuple[Opening, str, str]:
    """Return the opening, the active word and the attended word."""
    attention = model.attend(text)
    opening = opening_of(attention, names)
    spelt = [
        plain_word("".join(attention.stacks[opening.head.stack].query.added[i] for i in tokens))
        for tokens in (opening.query, opening.key)
    ]
    return opening, spelt[0], spelt[1]


def random_bert(model: AttentionModel, seed: int) -> AttentionModel:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(model.tokenizer),
        hidden_size=96,
        intermediate_size=96,
        num_hidden_layers=12,
        num_attention_heads=8,
    )
    return load_model(BertForMaskedLM(config), model.tokenizer, device="cpu")


@pytest.mark.parametrize(
    ("text", "head", "query", "key"),
    [
        (
            "The captain told his men that he would not leave the ship until they were safe.",
            (1, 3),
            "he",
            "captain",
        ),
        (
            "The nurse who met the lawyers said that she was tired, because they had argued all "
            "night.",
            (1, 3),
            "she",
            "nurse",
        ),
        (LONG, (1, 3), "he", "captain"),
        (
            "The old king gave his daughter a horse, and she rode it home.",
            (1, 3),
            "she",
            "daughter",
        ),
        ("My brother sold the boat because it leaked.", (1, 3), "it", "boat"),
        (
            "Heavy rain destroyed several small bridges near the village.",
            (1, 4),
            "several",
            "bridges",
        ),
        ("Stop it now.", (5, 9), "now", "stop"),
    ],
)
def test_texts_of_the_study_open_on_the_heads_of_the_study(
    model: AttentionModel,
    names: Mapping[Head, str],
    text: str,
    head: tuple[int, int],
    query: str,
    key: str,
) -> None:
    opening, asks, answers = opened(model, text, names)
    assert opening.stands_out and (opening.head, asks, answers) == (Head(*head), query, key)
    words = model.attend(text).words
    axis = words.stacks["self"].query.text
    weights = words.weights(*head)
    found = [
        weights[i, j]
        for i, one in enumerate(axis)
        for j, other in enumerate(axis)
        if (one, other) == (query, key)
    ]
    assert opening.weight in np.array(found, np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_random_weights_open_on_nothing(model: AttentionModel, seed: int) -> None:
    random = random_bert(model, seed)
    for text in (
        "The captain told his men that he would not leave the ship until they were safe.",
        "My brother sold the boat because it leaked.",
        LONG,
    ):
        opening, query, key = opened(random, text)
        assert not opening.stands_out and opening.tokens == ()
        # The strongest link between two words is known, for the sentence that says so.
        assert query and key and query != key
        assert opening.even < opening.weight < max(0.1, 2 * opening.even)


def test_names_of_heads_decide_between_links(
    model: AttentionModel, names: Mapping[Head, str]
) -> None:
    text = "The nurse who met the lawyers said that she was tired, because they had argued."
    with_names, *_ = opened(model, text, names)
    without, *_ = opened(model, text)
    assert names[with_names.head] == "pronoun to its person" and without.head != with_names.head


def planted(*links: tuple[int, int, int, float]) -> Attention:
    """Return maps of 1 x 3 heads to [CLS], with links (head, query, key, weight) beside them."""
    words = PLANTED.split()
    maps = np.full((1, 3, len(words), len(words)), 1e-6, "f4")
    maps[..., 0] = 1
    for head, query, key, weight in links:
        maps[0, head, query, key] += weight
        maps[0, head, query, 0] -= weight
    return Attention.from_weights(maps, words)


def test_factors_of_a_score_are_those_of_the_documentation() -> None:
    def score(*links: tuple[int, int, int, float], **options: str) -> float:
        named = {Head(0, 0): options["name"]} if options else {}
        return opening_of(planted(*links), named).score

    content = (0, 7, 3, 0.4)  # doctor to nurse
    usual = 0.4 / 12  # the mean over the words
    assert score(content) == pytest.approx(0.5 * (0.4 - usual), rel=1e-3)
    assert score(content, name="determiner to its noun") == pytest.approx(
        0.75 * (0.4 - usual), rel=1e-3
    )
    assert score(content, name="previous token") == pytest.approx(0.125 * (0.4 - usual), rel=1e-3)
    function = (0, 8, 3, 0.4)  # and to nurse
    assert score(function) == pytest.approx(0.25 * (0.4 - usual), rel=1e-3)
    pronoun = (0, 9, 7, 0.4)  # he to doctor
    assert score(pronoun) == pytest.approx(0.4 - usual, rel=1e-3)
    assert score(pronoun, name="pronoun to its person") == pytest.approx(
        4 * (0.4 - usual), rel=1e-3
    )
    assert score(pronoun, name="determiner to its noun") == pytest.approx(
        0.25 * (0.4 - usual), rel=1e-3
    )
    second = (0, 9, 3, 0.3)  # he to nurse, beside he to doctor
    both = opening_of(planted(pronoun, second))
    assert both.key == (7,) and both.score == pytest.approx(0.4 - usual, rel=1e-3)


def test_links_to_neighbors_function_words_and_copies_do_not_count() -> None:
    for link in ((0, 4, 3, 0.9), (0, 9, 8, 0.9), (0, 9, 9, 0.9), (0, 9, 15, 0.9), (0, 9, 16, 0.9)):
        assert not opening_of(planted(link)).stands_out, link
    weak = opening_of(planted((1, 9, 7, 0.099)))
    assert not weak.stands_out and (weak.head, weak.query, weak.key) == (Head(0, 1), (9,), (7,))


def test_wordpieces_of_a_word_are_one_word() -> None:
    pieces = [(2, query, key, 0.2) for query in (12, 13, 14) for key in (3,)]
    opening = opening_of(planted(*pieces))
    assert opening.query == (12, 13, 14) and opening.weight == pytest.approx(0.2, rel=1e-3)
    assert opening.tokens == (("query", 12), ("query", 13), ("query", 14))
    axis = planted().stacks["self"].query
    assert opening.in_unit("words", axis) == (("query", 12),)
    to_pieces = opening_of(planted(*[(2, 9, key, 0.1) for key in (12, 13, 14)]))
    assert to_pieces.key == (12, 13, 14) and to_pieces.weight == pytest.approx(0.3, rel=1e-3)
    assert to_pieces.even == pytest.approx(3 / 17)


def test_hidden_resting_places_are_no_words() -> None:
    words = ["When", "Mary", "met", "John", "she", *(f"went{i}" for i in range(20))]
    maps = np.tril(np.full((1, 1, 25, 25), 1e-3, "f4"))
    maps[..., 0] = 1
    maps[0, 0, 4, :2] = 0.5, 0.5
    attention = Attention.from_weights(maps / maps.sum(-1, keepdims=True), words)
    assert resting_places(attention).kinds == ("first",)
    opening = opening_of(attention)
    assert (opening.query, opening.key) == ((4,), (1,))


# Causal models


def test_a_causal_model_opens_on_the_head_that_carries_its_answer() -> None:
    words = ["Paris", "is", "in", "France", "and", "Rome", "is", "in"]
    maps = np.tril(np.full((2, 2, 8, 8), 0.02, "f4"))
    maps[0, 0, 7, 5] = maps[1, 0, 7, 5] = 1
    maps[1, 1, 7, 3] = 3
    maps[0, 1, 7, 7] = 3
    attention = Attention.from_weights(maps / maps.sum(-1, keepdims=True), words)
    tried: list[Head] = []

    def effects(heads: Sequence[Head]) -> Mapping[Head, float]:
        tried.extend(heads)
        return dict.fromkeys(heads, 0.01) | {Head(1, 0): -0.2}

    opening = opening_of(attention, effects=effects)
    assert tried == [Head(0, 0), Head(1, 0), Head(1, 1)]
    assert (opening.rule, opening.head, opening.query, opening.key) == (
        "answer",
        Head(1, 0),
        (7,),
        (5,),
    )
    assert opening.effect == -0.2 and opening.stands_out
    little = opening_of(attention, effects=lambda heads: dict.fromkeys(heads, 0.019))
    assert little.rule == "link" and little.head == Head(1, 1) and little.query == (7,)


def test_quick_effects_are_the_changes_of_the_next_word() -> None:
    model = load_model("attnwidget/induction")
    text = "the small dog ran home. the small dog ran"
    attention = model.attend(text)
    effects = quick_effects(attention)
    assert effects is not None
    heads = [Head(1, head) for head in range(4)]
    found = effects(heads)
    before = np.exp(model.predict(text).log_probabilities[0])
    for head in heads:
        with model.disabled([head]):
            after = np.exp(model.predict(text).log_probabilities[0])
        change = after[before.argmax()] - before.max()
        assert found[head] == pytest.approx(float(change), abs=1e-5)
    assert quick_effects(load_model("attnwidget/genre").attend("The cat sat.")) is None
    assert quick_effects(load_model().attend("The cat sat.")) is None
    assert quick_effects(model.generate("the small dog ran", 3)) is None


def test_the_active_word_of_a_head_is_the_last_of_a_causal_map() -> None:
    causal = load_model(build("gpt2"), word_tokenizer(template=False))
    attention = causal.attend("w1 w2 w3 w4")
    assert active_word(attention, Head(1, 0)) == (("query", 3),)
    assert not opening_of(attention).stands_out


@pytest.mark.parametrize("template", ["chatml", "llama 3", "mistral"])
def test_words_of_a_chat_template_are_no_words_of_a_chat(template: str) -> None:
    model = chat_model(template, spread=3.0)
    for seen in (model.attend(MESSAGES), model.attend(MESSAGES[:2])):
        roles = seen.stacks["self"].query.roles
        opening = opening_of(seen)
        assert opening.query and opening.key
        assert all(roles[token] != "template" for token in opening.key)
        # The answer follows the last token, which the template writes.
        last = active_word(seen, Head(1, 0))[-1][1]
        assert last == len(roles) - 1 and roles[last] == "template"
    answered = model.attend(MESSAGES[:-1])
    last = active_word(answered, Head(1, 0))[-1][1]
    axis = answered.stacks["self"].query
    assert (axis.text[last], axis.roles[last]) == ("me", "assistant")


def test_a_mask_is_the_active_word(model: AttentionModel) -> None:
    attention = model.attend("The woman washed [MASK] hands because they were dirty.")
    opening = opening_of(attention, mask="[MASK]")
    assert [attention.tokens[i] for i in opening.query] == ["[MASK]"]


# Several stacks, comparisons and other languages


def test_an_encoder_decoder_opens_on_its_cross_attention() -> None:
    model = load_model(build("t5"), word_tokenizer())
    attention = model.attend("w1 w2 w3 w4", target="w5 w6 w7")
    assert opening_of(attention).head.stack == "cross"


def test_a_comparison_opens_on_the_largest_difference_between_words(
    model: AttentionModel,
) -> None:
    first = planted((1, 9, 7, 0.4), (2, 7, 3, 0.3))
    second = planted((1, 9, 7, 0.4), (2, 7, 3, 0.9))
    found = opening_of_change(first, second, first.changes(second), "self")
    assert (found.rule, found.stands_out) == ("change", True)
    assert (found.head, found.query, found.key) == (Head(0, 2), (7,), (3,))
    same = opening_of_change(first, first, first.changes(first), "self")
    assert not same.stands_out and same.tokens == ()
    other = model.attend("Another text.")
    text = model.attend("The cat sat.")
    changes = text.changes(other)
    elsewhere = opening_of_change(text, other, changes, "self")
    place = np.unravel_index(changes.argmax(), changes.shape)
    assert elsewhere.head == Head(int(place[0]), int(place[1])) and elsewhere.tokens == ()


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Die alte Frau sah den Hund , der im Garten lag .", "alte Frau Hund Garten"),
        ("La vieille femme a vu le chien dans le jardin .", "vieille femme chien dans jardin"),
        ("Старая женщина увидела собаку в саду .", "Старая женщина увидела собаку саду"),
        ("老 妇人 看见 了 狗 。", "老 妇人 看见 了 狗"),
        ("رأت المرأة العجوز الكلب", "رأت المرأة العجوز الكلب"),
        ("The old woman saw the dog that lay in her garden .", "old woman saw dog lay garden"),
        ("def add ( first , second ) : return first", "first second return"),
    ],
)
def test_words_of_content_are_found_in_several_languages(text: str, content: str) -> None:
    words = text.split()
    found = [
        word for word, kind in zip(words, word_classes(words), strict=True) if kind == "content"
    ]
    assert set(found) == set(content.split())


def test_long_inputs_have_an_opening_without_an_active_word() -> None:
    long = load_model("attnwidget/induction").attend("The cat sat on the mat. " * 8, long=True)
    opening = opening_of(long)
    assert opening.head.stack == "self" and active_word(long, Head(1, 3)) == ()


def test_embedded_models_have_an_atlas_of_their_own(model: AttentionModel) -> None:
    own = own_atlas(model)
    assert own is not None and own.names[1, 3] == "pronoun to its person"
    own.notes[Head(0, 0)] = "a note"
    again = own_atlas(model)
    assert again is not None and not again.notes
    sibling = own_atlas(load_model("attnwidget/genre"))
    assert sibling is not None and sibling.model_name != own.model_name
    assert own_atlas(load_model("attnwidget/induction")) is None
    changed = load_model()
    with torch.no_grad():
        changed.hf_model.bert.encoder.layer[1].attention.self.query.weight.mul_(2)
    assert own_atlas(changed) is None


def test_every_name_of_the_atlas_has_a_family(names: Mapping[Head, str]) -> None:
    assert {family_of(name) for name in names.values()} <= {
        "neighbor",
        "grammar",
        "pronoun",
        "same word",
        "rests",
    }
