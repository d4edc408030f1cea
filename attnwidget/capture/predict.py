"""Predictions of a model: masked words, next tokens, token labels, classes, spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.answers.answer_places import answer_spans, labeled_places
from attnwidget.capture.answers.losses import language_model_head
from attnwidget.capture.answers.predictions import Answers, Predictions, Task
from attnwidget.capture.model_inputs import ModelInputs
from attnwidget.capture.model_lock import uninterrupted
from attnwidget.capture.tapping.tap import tap
from attnwidget.hidden_frames import warn_caller
from attnwidget.inputs.example import Example, ReadExample
from attnwidget.inputs.generate import decoder_ids
from attnwidget.inputs.mask_token import mask_id_of, mask_places
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.inputs.text_encoder import Text
from attnwidget.inputs.token_axes import entry_names
from attnwidget.kernels.sequence_scores import next_token_log_probabilities
from attnwidget.model_facts.answer_heads import answer_head
from attnwidget.model_facts.answer_logits import TokenSpan, answer_logits, span_logits
from attnwidget.model_facts.weight_placement import device_of
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import whole_number, whole_numbers

_LOAD_HEAD = (
    "load the model with one, as load_model(name) does where the model's config names it: "
    "load_model(AutoModelForMaskedLM.from_pretrained(name), tokenizer), or AutoModelForCausalLM, "
    "AutoModelForTokenClassification, AutoModelForQuestionAnswering or "
    "AutoModelForSequenceClassification"
)

# Discriminators were trained with a generator, and tell its words from the words of the text.
_DISCRIMINATORS = {"ElectraForPreTraining", "FunnelForPreTraining"}


def question_of(
    hf_model: Any,
    inputs: ModelInputs,
    tokenizer: Any,
    given: Mapping[str, Tensor],
    position: int,
    tokens: Tokens | None = None,
) -> ReadExample:
    """Return the question at one of `Predictions.positions`; `tokens` as in `predictions_of`.

    Raises:
        TypeError, ValueError: As in `predictions_of`.
    """
    task = prediction_task(hf_model)
    if task == "class":
        return Example(given)
    if task == "span":
        return Example(given, spans=answer_spans(tokenizer, _ids(given)))
    if task == "label":
        _check_places([position], range(given["input_ids"].shape[1]))
        return Example(given, (position,))
    if task == "next":
        given, name = _read_on(hf_model, inputs, tokenizer, given, None)
        _check_places([position], range(1, given[name].shape[1] + 1))
        return Example(given, (position - 1,))
    _check_places([position], range(given["input_ids"].shape[1]))
    tokens = _known_tokens(inputs, given, tokens)
    return Example(_masked_at(hf_model, tokenizer, given, tokens, position), (position,))


def prediction_task(hf_model: Any) -> Task:
    """Return the kind of predictions that the model's head makes.

    Raises:
        TypeError: The model has no head for predictions, or predicts neither words nor labels.
    """
    kind = language_model_head(hf_model)
    if kind is not None:
        return "masked" if kind == "masked" else "next"
    name = type(hf_model).__name__
    if {base.__name__ for base in type(hf_model).__mro__} & _DISCRIMINATORS:
        raise TypeError(
            f"{name} says of each token whether it was replaced, and predicts no words, labels or "
            f"spans: {_LOAD_HEAD}"
        )
    head = answer_head(hf_model)
    if head is None:
        raise TypeError(f"{name} has no head that predicts words, labels or spans: {_LOAD_HEAD}")
    if head == "numbers":
        config = hf_model.config
        outputs = "numbers" if config.problem_type == "regression" else "labels"
        items = "one number" if config.num_labels < 2 else f"several {outputs} at once"
        raise TypeError(
            f"the answers of this {name} are no classes of which one is right, because it gives "
            f"{items}: attend(text, loss='auto') has the gradients of its output, and ablate takes "
            "a function of the output as score"
        )
    return head


def predictions_of(
    hf_model: Any,
    inputs: ModelInputs,
    tokenizer: Any,
    given: Mapping[str, Tensor],
    target: Text | None,
    at: Iterable[int] | None,
    top: int,
    model_name: str,
    tokens: Tokens | None = None,
) -> Predictions:
    """Return the predictions for inputs with a batch of one, as in `AttentionModel.predict`.

    `tokens` are the input tokens with their words; None takes the ids' spelling.
    """
    top = whole_number("top", top, 1)
    task = prediction_task(hf_model)
    selected_positions = None if at is None else whole_numbers("at", at)
    if task == "span":
        return _spans(hf_model, inputs, tokenizer, given, selected_positions, top, model_name)
    if task == "class":
        if selected_positions is not None:
            raise TypeError("positions= names tokens; a classifier answers to the whole input")
        scores = torch.log_softmax(_logits(hf_model, given).float(), -1)
        token_texts = _spelt(inputs, given["input_ids"][0]) if "input_ids" in given else ()
        answers = class_answers(hf_model.config)
        return Predictions(
            task, token_texts, (-1,), scores.cpu().numpy(), answers, top, model_name=model_name
        )
    # The encoder may read pictures or sounds, so there may be no input_ids.
    is_decoded = task == "next" and inputs.encodes_apart
    if "input_ids" not in given and not is_decoded:
        raise ValueError(f"words are predicted from token ids; the inputs are {', '.join(given)}")
    probability = None
    pieces: tuple[tuple[int, int], ...] = ()
    if task == "label":
        ids = given["input_ids"][0]
        positions = (
            labeled_places(tokenizer, ids.tolist())
            if selected_positions is None
            else selected_positions
        )
        _check_places(positions, range(len(ids)))
        scores = torch.log_softmax(_logits(hf_model, given)[0, positions].float(), -1)
        return Predictions(
            task,
            _spelt(inputs, ids),
            tuple(positions),
            scores.cpu().numpy(),
            class_answers(hf_model.config),
            top,
            model_name=model_name,
        )
    if task == "masked":
        ids = given["input_ids"][0]
        axis = _known_tokens(inputs, given, tokens)
        positions, scores = _masked(hf_model, tokenizer, given, axis, selected_positions)
        pieces = tuple(map(partial(_piece, axis), positions))
    else:
        given, name = _read_on(hf_model, inputs, tokenizer, given, target)
        ids = given[name][0]
        logits = _logits(hf_model, given)
        if logits.shape[1] != len(ids):
            raise ValueError(
                f"{type(hf_model).__name__} gives logits at {logits.shape[1]} places for "
                f"{len(ids)} token ids, so their tokens are not known: pass an input whose ids "
                "have one placeholder per place of a picture, as a recent processor gives"
            )
        steps = next_token_log_probabilities(logits, ids[None])
        probability = float(steps.sum())
        positions = [len(ids)] if selected_positions is None else selected_positions
        _check_places(positions, range(1, len(ids) + 1))
        scores = torch.log_softmax(logits[0, [i - 1 for i in positions]].float(), -1)
    return Predictions(
        task,
        _spelt(inputs, ids),
        tuple(positions),
        scores.cpu().numpy(),
        vocabulary_answers(tokenizer, scores.shape[-1]),
        top,
        probability,
        pieces,
        model_name=model_name,
    )


def _spans(
    hf_model: Any,
    inputs: ModelInputs,
    tokenizer: Any,
    given: Mapping[str, Tensor],
    places: list[int] | None,
    top: int,
    model_name: str,
) -> Predictions:
    """Return the predicted spans that answer the question of the input."""
    if places is not None:
        raise TypeError(
            "positions= names tokens; the answer to a question is a span of the whole input"
        )
    spans = answer_spans(tokenizer, _ids(given))
    if not spans:
        raise ValueError("the input has no context: pass the question and the context as a pair")
    with torch.no_grad(), tap(hf_model, lambda _: None):
        output = hf_model(**{**given, **without_cache(hf_model)})
        scores = torch.log_softmax(span_logits(output, spans), -1)
    ids = given["input_ids"][0]
    texts = [_span_text(tokenizer, ids.tolist(), span) for span in spans]
    names = [f"{first}:{last}" for first, last in spans]
    answers = Answers(
        len(texts), partial(_spelt_spans, texts, names), partial(_found_span, texts, names)
    )
    numbers = scores.cpu().numpy()
    return Predictions(
        "span", _spelt(inputs, ids), (-1,), numbers, answers, top, model_name=model_name
    )


def _ids(given: Mapping[str, Tensor]) -> list[int]:
    if "input_ids" not in given:
        raise ValueError(f"spans are of token ids; the inputs are {', '.join(given)}")
    ids: list[int] = given["input_ids"][0].tolist()
    return ids


def _span_text(tokenizer: Any, ids: Sequence[int], span: TokenSpan) -> str:
    if span == (0, 0):
        return "no answer"
    if tokenizer is None:
        return f"tokens {span[0]} to {span[1]}"
    text: str = tokenizer.decode(list(ids[span[0] : span[1] + 1])).strip()
    return text


def _masked(
    hf_model: Any,
    tokenizer: Any,
    inputs: Mapping[str, Tensor],
    tokens: Tokens,
    places: list[int] | None,
) -> tuple[list[int], Tensor]:
    """Return the positions of masked tokens, and log probabilities [P, V] at these positions."""
    ids = inputs["input_ids"]
    mask_id_of(tokenizer, _masking(hf_model))
    if places is None:
        positions = mask_places(tokenizer, ids[0].tolist())
        if not positions:
            raise ValueError(
                f"the text has no {tokenizer.mask_token}: write it in place of a word, or name the "
                "tokens to mask in turn, positions=[3, 5]"
            )
        return positions, torch.log_softmax(_logits(hf_model, inputs)[0, positions].float(), -1)
    _check_places(places, range(ids.shape[1]))
    scores = []
    for position in places:
        logits = _logits(hf_model, _masked_at(hf_model, tokenizer, inputs, tokens, position))
        scores.append(torch.log_softmax(logits[0, position].float(), -1))
    return places, torch.stack(scores)


def _known_tokens(
    inputs: ModelInputs, given: Mapping[str, Tensor], tokens: Tokens | None
) -> Tokens:
    """Return the tokens of the input, or the tokens that its ids spell."""
    ids = given["input_ids"][0].tolist()
    return tokens if tokens is not None and len(tokens) == len(ids) else inputs.encoder.axis(ids)


def _piece(tokens: Tokens, place: int) -> tuple[int, int]:
    """Return the 1-based index of a token among the pieces of its word, and their number."""
    pieces = tokens.pieces_of_word(place)
    return pieces.index(place) + 1, len(pieces)


def _masked_at(
    hf_model: Any, tokenizer: Any, inputs: Mapping[str, Tensor], tokens: Tokens, place: int
) -> dict[str, Tensor]:
    """Return the input with masks over a token and the rest of its word."""
    masked_ids = inputs["input_ids"].clone()
    masked_ids[0, tokens.rest_of_word(place)] = mask_id_of(tokenizer, _masking(hf_model))
    return {**inputs, "input_ids": masked_ids}


def _masking(hf_model: Any) -> str:
    return f"a prediction of {type(hf_model).__name__}"


def _read_on(
    hf_model: Any,
    inputs: ModelInputs,
    tokenizer: Any,
    given: Mapping[str, Tensor],
    target: Text | None,
) -> tuple[dict[str, Tensor], str]:
    """Return a causal model's inputs, and the name of the input that the model continues."""
    if not inputs.encodes_apart:
        return dict(given), "input_ids"
    if "decoder_input_ids" in given:
        return dict(given), "decoder_input_ids"
    ids = [] if target is None else list(inputs.encoder(target, target=True).ids)
    # A text with an end token has no next token.
    while ids and ids[-1] == getattr(tokenizer, "eos_token_id", None):
        ids.pop()
    row = torch.tensor([decoder_ids(hf_model, ids)], dtype=torch.long, device=device_of(hf_model))
    return {**given, "decoder_input_ids": row}, "decoder_input_ids"


def _logits(hf_model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    # Use a tap, so that rounding is the same with heads on and off. Use no cache, as for maps: with
    # a cache, models do not separate the texts of packed position_ids.
    def run() -> Tensor:
        with torch.no_grad(), tap(hf_model, lambda _: None):
            return answer_logits(hf_model(**{**inputs, **without_cache(hf_model)}))

    return uninterrupted(run)


def _check_places(places: Sequence[int], allowed: range) -> None:
    if not places:
        raise ValueError("positions is empty: name the tokens to predict, such as positions=[3]")
    for position in places:
        if position not in allowed:
            raise ValueError(
                f"token {position} cannot be predicted, only {allowed.start} to {allowed.stop - 1} "
                "of this input"
            )


def _spelt(inputs: ModelInputs, ids: Tensor) -> tuple[str, ...]:
    return inputs.encoder.axis(ids.tolist()).text


def class_answers(config: Any) -> Answers:
    """Return the answers of a classifier or tagger: its labels."""
    labels = [str(config.id2label.get(i, i)) for i in range(config.num_labels)]
    return Answers(len(labels), partial(_spelt_classes, labels), partial(_found_class, labels))


# Module-level functions can be pickled with the predictions that hold them.
def _spelt_classes(labels: Sequence[str], ids: Sequence[int]) -> list[tuple[str, str]]:
    return [(labels[i], labels[i]) for i in ids]


def _found_class(labels: Sequence[str], label: str, *, warns: bool = True) -> int | None:
    return labels.index(label) if label in labels else None


def _spelt_spans(
    texts: Sequence[str], names: Sequence[str], ids: Sequence[int]
) -> list[tuple[str, str]]:
    return [(texts[i], names[i]) for i in ids]


def _found_span(
    texts: Sequence[str], names: Sequence[str], span: str, *, warns: bool = True
) -> int | None:
    for spellings in (names, texts):
        if span in spellings:
            return spellings.index(span)
    return None


def vocabulary_answers(tokenizer: Any, count: int) -> Answers:
    """Return the answers of a language model with `count` vocabulary entries.

    Entries that the tokenizer lacks are named by id; without a tokenizer, all entries are.
    """
    return Answers(count, partial(_spelt_entries, tokenizer), partial(found_entry, tokenizer))


def _spelt_entries(tokenizer: Any, ids: Sequence[int]) -> list[tuple[str, str]]:
    n_entries = 0 if tokenizer is None else len(tokenizer)
    ids_in_vocabulary = [i for i in ids if i < n_entries]
    names = (
        dict(zip(ids_in_vocabulary, entry_names(tokenizer, ids_in_vocabulary), strict=True))
        if ids_in_vocabulary
        else {}
    )
    return [names.get(i, (f"id {i}", f"id {i}")) for i in ids]


def found_entry(tokenizer: Any, token: str, *, warns: bool = True) -> int | None:
    """Return the id of a vocabulary entry, or of a word with its space such as " her".

    Args:
        tokenizer: Tokenizer; None has no entries.
        token: Vocabulary entry, as `convert_ids_to_tokens` spells it.
        warns: Whether to warn. A figure looks up entries of its own table without warnings.

    Warns:
        UserWarning: A vocabulary entry continues a word, and another entry with the same letters
            begins a word, such as "her" and "Ġher".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.predict import found_entry
        >>> tokenizer = load_model().tokenizer
        >>> found_entry(tokenizer, "her") == found_entry(tokenizer, " her")
        True
    """
    if tokenizer is None:
        return None
    number = tokenizer.get_vocab().get(token)
    ids = tokenizer(f" {token.removeprefix(' ')}", add_special_tokens=False)["input_ids"]
    is_entry = len(ids) == 1 and ids[0] != getattr(tokenizer, "unk_token_id", None)
    word_id = int(ids[0]) if is_entry else None
    if number is None:
        return word_id if token.startswith(" ") else None
    if warns and word_id not in (None, number) and token[:1].isalnum():
        entry = tokenizer.convert_ids_to_tokens(word_id)
        warn_caller(
            f"{token!r} continues the word before it: the entry that begins a word is {entry!r}",
        )
    return int(number)
