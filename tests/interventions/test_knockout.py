"""Answers without groups of links, in windows of layers: against blocks and a planted link."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import load_model, make_segments, run_on
from attnwidget.demo import drawn_shapes
from attnwidget.interventions import knockout, needed_links
from attnwidget.results import Box, Span
from attnwidget.text.link_ends import end_positions
from capture.test_predict import words
from fixtures.chat_models import CHATML, chat_model
from fixtures.planted_circuit import planted_llama, planted_tokenizer
from fixtures.speech_models import whisper_model
from fixtures.vision_language import llava_model
from refusals import naming

EXAMPLES = [
    ("The woman washed [MASK] hands.", "her"),
    ("The man washed [MASK] hands.", "his"),
    ("The girl quickly hurt [MASK] leg.", "her"),
    ("The boy hurt [MASK] leg.", "his"),
    ("The queen lost [MASK] crown.", "her"),
    ("The king lost [MASK] crown.", "his"),
    ("The mother called [MASK] son.", "her"),
]
SUBJECTS = ["woman", "man", "girl", "boy", "queen", "king", "mother"]


def study(model: Any = None, examples: Any = EXAMPLES, **options: Any) -> Any:
    model = load_model(device="cpu") if model is None else model
    given = {"to": {"subject": SUBJECTS}, "window": 2, "progress": False} | options
    return knockout(model, examples, **given)


def test_scores_are_those_of_blocks() -> None:
    model = load_model(device="cpu")
    found = study(model)
    assert found.groups == ("subject", "other words", "random links") and not found.note
    assert found.windows == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 5))
    for index in (0, 2):
        text, label = EXAMPLES[index]
        tokens = model.attend(text).tokens
        subject, mask = tokens.index(SUBJECTS[index]), tokens.index("[MASK]")
        rest = [i for i in range(len(tokens)) if i not in (subject, mask)]
        assert found.n_links[:, index].tolist() == [1, len(tokens) - 2, 1]
        assert found.intact[index] == pytest.approx(model.predict(text).probability(label))
        for row, (first, last) in enumerate(found.windows):
            for column, keys in enumerate(([subject], rest)):
                with model.scaled_links([(mask, keys)], 0, layers=range(first, last + 1)):
                    expected = model.predict(text).probability(label)
                assert found.scores[row, column, index] == pytest.approx(expected, abs=2e-6)


def test_the_subject_is_needed_in_upper_layers() -> None:
    found = study()
    table = found.to_frame()
    worst = table[table["group"] == "subject"].nsmallest(1, "difference").iloc[0]
    assert worst["layer"] == 4 and worst["difference"] < -0.2 and worst["high"] < 0
    random = table[table["group"] == "random links"]
    assert random["difference"].abs().max() < 0.03
    assert table.attrs["n"] == 7 and len(table) == 18
    assert found.finding.startswith(
        "Without its links to subject in layers 4 to 5, the probability of the answer goes from "
    )
    assert "95 % interval" in found.finding and "random links" in found.finding


def test_a_planted_link_is_found_and_no_other() -> None:
    model = load_model(planted_llama(), planted_tokenizer(), device="cpu")
    texts = [("w3 w5 w9 w12 w7 w3", "w5"), ("w8 w2 w11 w6 w2", "w11"), ("w4 w1 w13 w4", "w1")]
    answers = ["w5", "w11", "w1"]
    found = knockout(model, texts, {"copy": answers}, window=1, random_links=False, progress=False)
    assert found.groups == ("copy", "other words")
    change = found.changes.difference
    assert change[1, 0] < -0.5, "the induction head reads the copied token in layer 1"
    assert np.abs(np.delete(change.ravel(), 2)).max() < 0.05
    everywhere = knockout(
        model, texts, {"copy": answers}, from_="all after", window=2, progress=False
    )
    assert everywhere.changes.difference[0, 0] < -0.5


def test_roles_of_a_chat_are_groups() -> None:
    model = chat_model(CHATML, spread=3.0)
    chats = [
        [{"role": "system", "content": system}, {"role": "user", "content": user}]
        for system, user in (("be short", "go on"), ("be kind", "stop"))
    ]
    examples = [(chat, 40) for chat in chats]
    found = knockout(
        model,
        examples,
        {"system": "role=system", "user": "role=user"},
        window=2,
        random_links=False,
        progress=False,
    )
    roles = np.array(model.attend(chats[0]).stacks["self"].query.roles)
    assert found.groups == ("system", "user", "other words")
    assert found.n_links[0, 0] == (roles == "system").sum()
    asked = len(roles) - 1
    with model.scaled_links([(asked, "role=system")], 0, layers=[0, 1], text=chats[0]):
        expected = np.exp(model.predict(chats[0]).log_probabilities[0, 40])
    assert found.scores[0, 0, 0] == pytest.approx(expected, abs=1e-6)


def test_a_role_of_a_chat_can_look() -> None:
    model = chat_model(CHATML, spread=3.0)
    chat = [{"role": "system", "content": "be short"}, {"role": "user", "content": "go on"}]
    options = {"window": 2, "other": False, "random_links": False, "progress": False}
    found = knockout(model, [(chat, 40)], {"system": "role=system"}, from_="role=user", **options)
    with model.scaled_links([("role=user", "role=system")], 0, layers=[0, 1], text=chat):
        expected = np.exp(model.predict(chat).log_probabilities[0, 40])
    assert found.scores[0, 0, 0] == pytest.approx(expected, rel=5e-6)
    assert abs(found.scores[0, 0, 0] / found.intact[0] - 1) > 2e-5


def test_regions_of_pictures_are_groups() -> None:
    shapes = load_model("attnwidget/shapes", device="cpu")
    drawn = drawn_shapes(2, seed=11)
    examples = list(zip(drawn.images, drawn.names, strict=True))
    corner = Box(0, 0, 0, 16, 16)
    found = knockout(shapes, examples, {"corner": corner}, window=2, progress=False)
    for index, (picture, name) in enumerate(examples):
        attention = shapes.attend(images=picture)
        assert found.intact[index] == pytest.approx(
            shapes.predict(images=picture).probability(name), abs=1e-6
        )
        for row, (first, last) in enumerate(found.windows):
            layers = range(first, last + 1)
            with shapes.scaled_links([(0, _positions(attention, corner))], 0, layers=layers):
                expected = shapes.predict(images=picture).probability(name)
            assert found.scores[row, 0, index] == pytest.approx(expected, abs=2e-6)
    n_tokens = len(attention.tokens)
    n_corner = found.n_links[0, 0]
    assert 0 < n_corner < n_tokens / 2
    assert found.n_links[:, 0].tolist() == [n_corner, n_tokens - 1 - n_corner, n_corner]


def _positions(attention: Any, end: Any) -> tuple[int, ...]:
    positions = end_positions("key", end, attention.stacks["self"].key)
    assert not isinstance(positions, str)
    return positions


def test_regions_are_groups_for_words_about_pictures() -> None:
    model = llava_model()
    picture = drawn_shapes(1, seed=11).images[0]
    word = sorted(model.tokenizer.get_vocab())[40]
    example = ({"image": picture, "text": "what color"}, word)
    options = {"window": 2, "other": False, "random_links": False, "progress": False}
    box = Box(0, 0, 0, picture.shape[1], picture.shape[0])
    found = knockout(model, [example], {"picture": box}, **options)
    attention = model.attend("what color", images=picture)
    keys = _positions(attention, box)
    assert found.n_links[0, 0] == len(keys) > 1
    with model.scaled_links([(len(attention.tokens) - 1, keys)], 0, layers=[0, 1]):
        expected = model.predict("what color", images=picture).probability(word)
    assert found.scores[0, 0, 0] == pytest.approx(expected, abs=2e-6)
    with pytest.raises(ValueError, match=naming("example 0", "from_='all'")):
        knockout(model, [example], {"picture": box}, stack="vision", **options)


def test_spans_of_a_sound_are_groups_of_cross_attention() -> None:
    model = whisper_model(1)
    sound = np.random.default_rng(0).normal(0, 0.1, 16000).astype(np.float32)
    options = {"window": 1, "other": False, "random_links": False, "progress": False}
    span = Span(0, 0.1, 0.5)
    examples = [((sound, 16000), [7])]
    found = knockout(model, examples, {"begin": span}, stack="cross", scoring="loss", **options)
    attention = model.attend(audio=(sound, 16000), target=[3, 7])
    keys = end_positions("key", span, attention.stacks["cross"].key)
    assert found.n_links[0, 0] == len(keys) > 1
    inputs = model.processor(sound, sampling_rate=16000, return_tensors="pt")

    def loss() -> float:
        with torch.no_grad():
            output = model.hf_model(**inputs, decoder_input_ids=torch.tensor([[3, 7]]))
        return -float(output.logits[0, 0].log_softmax(-1)[7])

    assert found.intact[0] == pytest.approx(loss(), abs=1e-5)
    with model.scaled_links([(0, keys)], 0, layers=[0], stack="cross"):
        assert found.scores[0, 0, 0] == pytest.approx(loss(), abs=1e-5)
    with pytest.raises(ValueError, match=naming("'all after'", "example 0")):
        knockout(model, examples, {"a": span}, stack="cross", from_="all after", **options)


def test_a_causal_classifier_answers_at_its_last_token() -> None:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_labels=3,
        pad_token_id=0,
        initializer_range=0.6,
    )
    model = load_model(transformers.LlamaForSequenceClassification(config), words(), device="cpu")
    text = "w7 w8 w9 w11 w12"
    found = knockout(
        model, [(text, "LABEL_1")], {"word": "w8"}, window=2, random_links=False, progress=False
    )
    last = len(model.attend(text).tokens) - 1
    with model.scaled_links([(last, "w8")], 0):
        expected = model.predict(text).probability("LABEL_1")
    assert found.scores[0, 0, 0] == pytest.approx(expected, abs=1e-6)
    assert abs(found.scores[0, 0, 0] - found.intact[0]) > 1e-4
    needs = needed_links(model.attend(text), "LABEL_1", by="token")
    assert needs.query_position == last
    column = [group[0] for group in needs.positions].index(model.attend(text).tokens.index("w8"))
    assert needs.probability - needs.need[column] == pytest.approx(expected, abs=1e-6)
    assert not np.isnan(needs.random_need).any() and len(needs.random_need)


@pytest.mark.parametrize("scoring", ["loss", "accuracy"])
def test_scores_have_names(scoring: Any) -> None:
    found, probability = study(scoring=scoring), study()
    if scoring == "loss":
        np.testing.assert_allclose(np.exp(-found.scores), probability.scores, atol=1e-9)
        assert "nats" in found.finding
    else:
        assert set(np.unique(found.scores)) <= {0.0, 1.0}
        assert "share of right answers" in found.finding


def test_a_study_continues_from_its_file(tmp_path: Path) -> None:
    model = load_model(device="cpu")
    file = tmp_path / "knockout.npz"
    whole = study(model, resume=file)
    again = study(model, resume=file)
    np.testing.assert_array_equal(whole.scores, again.scores)
    with pytest.raises(ValueError, match=naming("knockout.npz", "another")):
        study(model, resume=file, window=3)


@pytest.mark.slow
def test_workers_give_the_same_bits() -> None:
    whole = study()
    with run_on(ProcessPoolExecutor(2, mp_context=get_context("spawn"))):
        shared = study()
    np.testing.assert_array_equal(whole.scores, shared.scores)


def test_links_that_are_cut_already_stay_cut() -> None:
    model = load_model(device="cpu")
    with model.scaled_links([("[MASK]", "hands")], 0):
        found = study(model, EXAMPLES[:2], to={"subject": SUBJECTS[:2]})
        expected = model.predict(EXAMPLES[0][0]).probability("her")
    assert found.intact[0] == pytest.approx(expected)
    assert "[MASK]→hands cut in all heads" in found.model_name


def test_the_chart_has_a_line_and_a_band_per_group() -> None:
    found = study()
    chart = found.chart().to_dict()
    assert "windows of 2 layers" in chart["title"]["text"][0]
    marks = [layer["mark"]["type"] for layer in chart["layer"]]
    assert marks == ["rule", "area", "line", "point"]
    assert set(chart["layer"][2]["encoding"]["color"]["scale"]["domain"]) == set(found.groups)
    table = found.to_frame()
    assert (table["low"] <= table["difference"]).all()
    assert (table["difference"] <= table["high"]).all()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"to": {}}, ("to must have an end for each group",)),
        ({"to": {"subject": SUBJECTS[:2]}}, ("to['subject']", "2 ends for 7 examples")),
        ({"to": {"other words": 1}}, ("'other words'", "name of a control")),
        ({"to": {"subject": "nought"}}, ("the key of example 0", "'nought'")),
        ({"to": {"late": 40}}, ("example", "no position 40")),
        ({"window": 0}, ("window",)),
        ({"scoring": "kl"}, ("scoring", "'kl'")),
    ],
)
def test_wrong_groups_are_refused(options: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        study(**options)


def test_examples_have_one_answer() -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming("example 0", "(text, label)")):
        study(model, make_segments(["It was late, and the men slept. " * 4], model), to={"a": 0})
