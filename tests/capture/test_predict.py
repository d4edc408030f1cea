"""Predictions against the model's own logits, their changes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from attnwidget import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.inputs.token_axes import plain_axis
from fixtures import zoo
from refusals import naming

TEXT = "The woman washed [MASK] hands."


def words() -> Any:
    """A tokenizer of `zoo.VOCABULARY` - 9 words: "w0" is 0, and so on."""
    vocabulary = {f"w{i}": i for i in range(zoo.VOCABULARY - 9)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w5"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    # As the tokenizers of causal models: transformers 4 gives token types too, which GPT-2 adds up.
    names = ["input_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="w5", model_input_names=names
    )


def log_softmax(logits: torch.Tensor) -> np.ndarray[Any, Any]:
    return torch.log_softmax(logits.float(), -1).numpy()


def test_masked_words() -> None:
    model = load_model(device="cpu")
    found = model.predict(TEXT, top=3)
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        logits = model.hf_model(**inputs).logits
    assert found.task == "masked" and found.positions == (4,)
    np.testing.assert_allclose(found.log_probabilities[0], log_softmax(logits[0, 4]), atol=1e-5)
    frame = found.to_frame()
    assert frame["token"].tolist() == [
        model.tokenizer.convert_ids_to_tokens(int(i)) for i in logits[0, 4].topk(3).indices
    ]
    assert found.probability(frame["token"][0]) == pytest.approx(frame["probability"][0])
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-4)
    assert found.log_probability is None


def test_named_tokens_are_masked_in_turn() -> None:
    model = load_model(device="cpu")
    both = model.predict("The woman washed her hands.", positions=[4, 2])
    alone = model.predict(TEXT)
    assert both.positions == (4, 2)
    np.testing.assert_allclose(both.log_probabilities[0], alone.log_probabilities[0], atol=1e-5)


def word_log_probability(model: AttentionModel, ids: list[int], pieces: list[int]) -> float:
    """The log probability of a word that is filled in from left to right, by the plain model."""
    total = 0.0
    for place in pieces:
        masked = torch.tensor([ids])
        masked[0, place : pieces[-1] + 1] = model.tokenizer.mask_token_id
        with torch.no_grad():
            logits = model.hf_model(masked).logits[0, place]
        total += float(torch.log_softmax(logits, -1)[ids[place]])
    return total


def test_a_word_of_several_pieces_is_masked_as_a_whole() -> None:
    model = load_model(device="cpu")
    text = "The mathematician proved it and she left."
    ids = model.tokenizer(text)["input_ids"]
    assert model.tokenizer.convert_ids_to_tokens(ids[2:6]) == ["math", "##em", "##atic", "##ian"]
    found = model.predict(text, positions=[2, 3, 4, 5])
    own = sum(float(logs[ids[2 + i]]) for i, logs in enumerate(found.log_probabilities))
    assert own == pytest.approx(word_log_probability(model, ids, [2, 3, 4, 5]), abs=1e-4)
    assert found.pieces == ((1, 4), (2, 4), (3, 4), (4, 4))
    assert found.asked(0) == "2: math, piece 1 of 4 of its word"
    # A token in the middle is asked with the pieces after it masked, and another word with none.
    alone = model.predict(text, positions=[4, 7])
    np.testing.assert_allclose(alone.log_probabilities[0], found.log_probabilities[2], atol=1e-5)
    assert alone.pieces == ((3, 4), (1, 1)) and alone.asked(1) == "7: it"


def test_words_that_are_given_decide_what_is_masked() -> None:
    model = load_model(device="cpu")
    text = ["The", "mathem", "atician", "left"]
    attention = model.attend(text)
    assert attention.reading is not None
    word = attention.stacks["self"].query.word_groups()[2]
    assert len(word) > 1
    ids = attention.reading.inputs["input_ids"][0].tolist()
    own = [ids[place] for place in word]
    for found in (model.predict(text, positions=word), attention.reading.predict(positions=word)):
        total = float(found.log_probabilities[range(len(word)), own].sum())
        assert total == pytest.approx(word_log_probability(model, ids, word), abs=1e-4)


def test_tokens_of_a_script_without_spaces_are_words_of_their_own() -> None:
    axis = plain_axis(["[CLS]", "\u8b77", "##\u58eb", "[SEP]"])
    assert axis.word_groups()[1] == [1, 2]
    assert axis.rest_of_word(1) == axis.pieces_of_word(1) == [1]


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom"])
def test_next_tokens(name: str) -> None:
    model = load_model(zoo.build(name), words())
    found = model.predict("w7 w8 w9 w10")
    ids = torch.tensor([[7, 8, 9, 10]])
    with torch.no_grad():
        scores = log_softmax(model.hf_model(ids).logits[0])
    np.testing.assert_allclose(found.log_probabilities, scores[-1:], atol=1e-5)
    expected = scores[0, 8] + scores[1, 9] + scores[2, 10]
    assert found.log_probability == pytest.approx(expected, abs=1e-5)
    assert found.positions == (4,) and found.asked(0) == "next token"
    assert "w7 w8 w9 w10" in str(found.chart().to_dict()["title"])
    named = model.predict("w7 w8 w9 w10", positions=[1])
    np.testing.assert_allclose(named.log_probabilities[0], scores[0], atol=1e-5)
    assert named.probability("w8") == pytest.approx(np.exp(scores[0, 8]), abs=1e-5)
    # The model has more entries than the tokenizer.
    assert len(model.predict("w7", top=99).to_frame()) == zoo.VOCABULARY


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_an_encoder_decoder_goes_on_from_its_target(name: str) -> None:
    model = load_model(zoo.build(name), words())
    start = model.hf_model.config.decoder_start_token_id
    for target, ids in ((None, [start]), ("w11 w12", [start, 11, 12])):
        found = model.predict("w7 w8 w9", target=target)
        with torch.no_grad():
            logits = model.hf_model(
                input_ids=torch.tensor([[7, 8, 9]]), decoder_input_ids=torch.tensor([ids])
            ).logits
        np.testing.assert_allclose(
            found.log_probabilities[0], log_softmax(logits[0, -1]), atol=1e-5
        )
        assert len(found.tokens) == len(ids)


def test_classes() -> None:
    model = load_model("attnwidget/genre", device="cpu")
    found = model.predict("The king rode out at dawn.")
    inputs = model.tokenizer("The king rode out at dawn.", return_tensors="pt")
    with torch.no_grad():
        logits = model.hf_model(**inputs).logits
    np.testing.assert_allclose(found.log_probabilities, log_softmax(logits), atol=1e-5)
    labels = model.hf_model.config.id2label
    assert found.to_frame()["answer"][0] == labels[int(logits.argmax())]
    with pytest.raises(ValueError, match=naming("'no such class'", "model.predict")):
        found.probability("no such class")
    with pytest.raises(TypeError, match=naming("positions=", "classifier")):
        model.predict("The king rode.", positions=[1])


def test_changes_are_sorted_and_named() -> None:
    model = load_model(device="cpu")
    before = model.predict(TEXT, top=5)
    with model.disabled((5, 8), method="zero"):
        after = model.predict(TEXT, top=5)
    change = after - before
    frame = change.to_frame()
    np.testing.assert_allclose(frame["change"], frame["after"] - frame["before"], atol=1e-6)
    sizes = frame["change"].abs().to_numpy()
    assert (np.diff(sizes) <= 0).all() and sizes[0] == np.abs(change.changes).max() > 0.001
    assert "without L5 H8 (zero)" in repr(after) and "without L5 H8 (zero)" in repr(change)
    assert "without L5 H8 (zero)" in str(change.chart().to_dict()["title"])
    assert "without" not in repr(before)
    again = model.predict(TEXT, top=5)
    assert np.array_equal(again.log_probabilities, before.log_probabilities)


def test_other_questions_make_no_change() -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming("'the'", "other tokens")):
        model.predict(TEXT) - model.predict("The man washed [MASK] hands.")
    with pytest.raises(ValueError, match=naming("other positions", "2")):
        model.predict("A cat sat.", positions=[1]) - model.predict("A cat sat.", positions=[2])


def test_a_log_probability_changes_too() -> None:
    model = load_model(zoo.build("gpt2"), words())
    before = model.predict("w7 w8 w9")
    with model.disabled(layers=[0, 1, 2], method="zero"):
        after = model.predict("w7 w8 w9")
    assert before.log_probability is not None and after.log_probability is not None
    change = (after - before).log_probability
    assert change == after.log_probability - before.log_probability != 0


def test_what_cannot_be_predicted_is_refused() -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming("[MASK]", "no")):
        model.predict("The cat sat.")
    with pytest.raises(ValueError, match=naming("token 40", "5")):
        model.predict("The cat sat.", positions=[40])
    with pytest.raises(ValueError, match=naming("positions", "empty")):
        model.predict("The cat sat.", positions=[])
    with pytest.raises(ValueError, match=naming("top", "got 0")):
        model.predict(TEXT, top=0)
    with pytest.raises(ValueError, match=naming("question 1")):
        model.predict(TEXT).probability("her", question=1)
    headless = AttentionModel(model.hf_model.bert, model.tokenizer, "headless")
    with pytest.raises(TypeError, match=naming("no head", "AutoModelForMaskedLM")):
        headless.predict(TEXT)
    config = transformers.BertConfig(**zoo.ZOO["bert"].fields, num_labels=1)
    one_number = load_model(transformers.BertForSequenceClassification(config), words())
    with pytest.raises(TypeError, match=naming("one number", "attend")):
        one_number.predict("w7 w8")
    model = load_model(device="cpu")
    model.close()
    with pytest.raises(RuntimeError, match=naming("load_model", "closed")):
        model.predict(TEXT)
