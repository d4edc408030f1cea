"""Labels, spans and classes as answers: against the model's own logits, and with heads off."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, Head, PredictionView, ablate, load_model
from attnwidget.interventions import head_importance
from attnwidget.interventions.head_effects import effects_of
from attnwidget.text.segments import Segment
from refusals import naming

TEXT = "The captain told his men to leave the ship."
QUESTION = "Who told the men?"
LABELS = ("O", "B-PER", "I-PER", "B-LOC")
KINDS = ("Bert", "DistilBert", "Roberta")
_SIZES = {"Bert": {}, "Roberta": {"type_vocab_size": 1}}


def model_with(kind: str, head: str, **config: Any) -> AttentionModel:
    """A small random model of a kind with a head, which reads with the embedded tokenizer."""
    tokenizer = load_model().tokenizer
    if kind == "Roberta":  # whose tokenizers give no token types
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "intermediate_size": 48,
        **_SIZES.get(kind, {}),
    }
    if kind == "DistilBert":
        sizes = {"dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 48}
    made = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=0, **sizes, **config
    )
    torch.manual_seed(0)
    hf_model = getattr(transformers, f"{kind}For{head}")(made).eval()
    with torch.no_grad():
        for parameter in hf_model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.2)
    return load_model(hf_model, tokenizer, device="cpu")


def tagger(kind: str) -> AttentionModel:
    return model_with(kind, "TokenClassification", id2label=dict(enumerate(LABELS)))


def output_of(model: AttentionModel, *texts: str) -> tuple[Any, list[int]]:
    names = inspect.signature(model.hf_model.forward).parameters
    given = {k: v for k, v in model.tokenizer(*texts, return_tensors="pt").items() if k in names}
    with torch.no_grad():
        return model.hf_model(**given), given["input_ids"][0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_tagger_predicts_the_label_of_every_token(kind: str) -> None:
    model = tagger(kind)
    found = model.predict(TEXT)
    output, ids = output_of(model, TEXT)
    expected = torch.log_softmax(output.logits[0, 1:-1], -1).numpy()
    assert found.task == "label"
    assert found.positions == tuple(range(1, len(ids) - 1))
    np.testing.assert_allclose(found.log_probabilities, expected, atol=1e-5)
    best = found.to_frame().drop_duplicates("question")
    assert best["answer"].tolist() == [LABELS[i] for i in expected.argmax(-1)]
    assert found.asked(1) == "2: captain"
    named = model.predict(TEXT, positions=[2])
    np.testing.assert_allclose(named.log_probabilities[0], expected[1], atol=1e-5)
    assert named.probability("B-PER") == pytest.approx(float(np.exp(expected[1, 1])), abs=1e-5)
    with pytest.raises(ValueError, match=naming("token 40", "11")):
        model.predict(TEXT, positions=[40])
    with pytest.raises(ValueError, match=naming("'B-ORG'", "4 labels", "model.predict")):
        named.probability("B-ORG")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_for_questions_predicts_spans_of_the_context(kind: str) -> None:
    model = model_with(kind, "QuestionAnswering")
    found = model.predict(QUESTION, TEXT, top=5)
    output, ids = output_of(model, QUESTION, TEXT)
    start = output.start_logits[0].double().numpy()
    end = output.end_logits[0].double().numpy()
    first = ids.index(model.tokenizer.sep_token_id) + 1
    last = len(ids) - 1
    scores = {(i, j): start[i] + end[j] for i in range(first, last) for j in range(i, last)}
    scores[0, 0] = start[0] + end[0]
    total = np.log(sum(np.exp(score) for score in scores.values()))
    frame = found.to_frame()
    best = max(scores, key=lambda span: scores[span])
    assert frame["token"][0] == f"{best[0]}:{best[1]}"
    assert frame["log_probability"][0] == pytest.approx(scores[best] - total, abs=1e-4)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-4)
    span = (first + 1, first + 1)
    assert model.tokenizer.decode(ids[first + 1]) == "captain"
    assert found.probability("captain") == pytest.approx(np.exp(scores[span] - total), abs=1e-5)
    assert found.probability("no answer") == pytest.approx(np.exp(scores[0, 0] - total), abs=1e-5)
    assert found.positions == (-1,) and found.asked(0) == "answer"
    with pytest.raises(TypeError, match=naming("positions=", "span")):
        model.predict(QUESTION, TEXT, positions=[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["TokenClassification", "QuestionAnswering"])
def test_effects_of_heads_are_the_changes_of_the_answer(kind: str, head: str) -> None:
    model = model_with(kind, head)
    texts = (QUESTION, TEXT) if head == "QuestionAnswering" else (TEXT,)
    at = None if head == "QuestionAnswering" else [3]
    reading = model.attend(*texts).reading
    assert reading is not None
    before = model.predict(*texts, positions=at)
    answer = int(before.log_probabilities[0].argmax())
    effects = effects_of(reading, answer, before.positions[0], method="zero", stack="self")
    assert effects is not None and effects.shape == (2, 4)
    for layer, number in ((0, 1), (1, 2)):
        with model.disabled([Head(layer, number)], method="zero"):
            change = model.predict(*texts, positions=at) - before
        assert effects[layer, number] == pytest.approx(change.changes[0, answer], abs=1e-5)
    assert np.abs(effects).max() > 1e-4
    estimate = effects_of(
        reading, answer, before.positions[0], method="zero", stack="self", exact=False
    )
    assert estimate is not None
    assert np.corrcoef(estimate.ravel(), effects.ravel())[0, 1] > 0.5


def own_loss(model: AttentionModel, *texts: str) -> float:
    found = model.predict(*texts)
    return float(-found.log_probabilities.max(-1).mean())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("TokenClassification", "own labels"),
        ("QuestionAnswering", "own span"),
        ("SequenceClassification", "own class"),
    ],
)
def test_gradients_are_of_the_loss_of_the_own_answer(kind: str, head: str, name: str) -> None:
    model = model_with(kind, head)
    texts = (QUESTION, TEXT) if head == "QuestionAnswering" else (TEXT,)
    attention = model.attend(*texts, loss="auto")
    assert attention.loss is not None and attention.loss.name == name
    assert attention.loss.value == pytest.approx(own_loss(model, *texts), abs=1e-5)
    assert "nats" in str(attention.loss)
    assert attention.gradients().max() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_with_one_number_has_gradients_of_the_number_and_no_classes(kind: str) -> None:
    model = model_with(kind, "SequenceClassification", num_labels=1)
    attention = model.attend(TEXT, loss="auto")
    output, _ = output_of(model, TEXT)
    assert attention.loss is not None and attention.loss.name == "output"
    assert attention.loss.value == pytest.approx(output.logits.item(), abs=1e-5)
    assert attention.gradients().max() > 0
    with pytest.raises(TypeError, match=naming("one number", "loss='auto'")):
        model.predict(TEXT)


@pytest.mark.parametrize(
    ("problem_type", "several"),
    [("multi_label_classification", "labels"), ("regression", "numbers")],
)
def test_several_labels_at_once_have_gradients_of_their_sum(
    problem_type: str, several: str
) -> None:
    model = model_with("Bert", "SequenceClassification", num_labels=3, problem_type=problem_type)
    attention = model.attend(TEXT, loss="auto")
    output, _ = output_of(model, TEXT)
    assert attention.loss is not None
    assert attention.loss.value == pytest.approx(output.logits.sum().item(), abs=1e-5)
    with pytest.raises(TypeError, match=naming(f"several {several}", "loss='auto'")):
        model.predict(TEXT)


def test_padding_changes_no_loss_of_an_own_answer() -> None:
    for head in ("TokenClassification", "QuestionAnswering"):
        model = model_with("Bert", head)
        texts = (QUESTION, TEXT) if head == "QuestionAnswering" else (TEXT,)
        given = dict(
            model.tokenizer(*texts, return_tensors="pt", padding="max_length", max_length=40)
        )
        padded = model.attend(given, loss="auto").loss
        assert padded is not None
        assert padded.value == pytest.approx(own_loss(model, *texts), abs=1e-5)


def test_heads_of_a_tagger_are_ablated_by_the_labels_of_its_tokens() -> None:
    model = tagger("Bert")
    labels = [LABELS[i] for i in model.predict(TEXT).log_probabilities.argmax(-1)]
    found = ablate(model, [(TEXT, labels)], scoring="loss", method="zero", progress=False)
    with model.disabled([Head(1, 2)], method="zero"):
        logs = model.predict(TEXT).log_probabilities
    loss = -sum(logs[i, LABELS.index(label)] for i, label in enumerate(labels))
    scores = found.to_frame()
    row = scores[(scores["layer"] == 1) & (scores["head"] == 2)].iloc[0]
    assert row["score"] == pytest.approx(loss / len(labels), abs=1e-4)
    importance = head_importance(model, [(TEXT, labels)], progress=False)
    assert importance.values.shape == (2, 4)
    with pytest.raises(ValueError, match=naming("list", "10 labels", "5", "model.predict")):
        ablate(model, [(TEXT, "B-PER")], scoring="loss", progress=False)
    spans = model_with("Bert", "QuestionAnswering")
    with pytest.raises(TypeError, match=naming("score", "BertForQuestionAnswering", "spans")):
        ablate(
            spans, [Segment(tuple(spans.tokenizer.tokenize(TEXT)))], scoring="kl", progress=False
        )


def test_figures_ask_for_labels_and_spans() -> None:
    model = tagger("Bert")
    view = PredictionView(model.attend(TEXT), position=2)
    view.wait()
    assert view.figure().caption.figure
    assert str(view.figure()).count("masked") == 0
    spans = model_with("Bert", "QuestionAnswering")
    view = PredictionView(spans.attend(QUESTION, TEXT))
    view.wait()
    best = spans.predict(QUESTION, TEXT).to_frame()["answer"][0]
    assert best in str(view.figure().table)


def test_a_model_of_two_pretraining_tasks_predicts_masked_words() -> None:
    model = model_with("Bert", "PreTraining")
    text = "The captain told [MASK] men."
    output, ids = output_of(model, text)
    place = ids.index(model.tokenizer.mask_token_id)
    found = model.predict(text)
    assert found.task == "masked" and found.positions == (place,)
    expected = torch.log_softmax(output.prediction_logits[0, place], -1).numpy()
    np.testing.assert_allclose(found.log_probabilities[0], expected, atol=1e-5)
    attention = model.attend(TEXT, loss="auto")
    assert attention.loss is not None and attention.loss.name == "masked-LM"
    electra = transformers.ElectraForPreTraining(
        transformers.ElectraConfig(
            vocab_size=99,
            hidden_size=32,
            num_attention_heads=4,
            num_hidden_layers=2,
            intermediate_size=48,
            embedding_size=16,
        )
    ).eval()
    with pytest.raises(TypeError, match=naming("ElectraForPreTraining", "load_model", "predicts")):
        load_model(electra, None).predict({"input_ids": torch.tensor([[5, 6, 7]])})
