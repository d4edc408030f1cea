"""Effect of each head on one answer: measured without the head, or estimated from a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reader, Reading
from attnwidget.capture.model_lock import ModelLock, uninterrupted
from attnwidget.capture.tapping.edit_methods import RULED, EditMethod
from attnwidget.capture.tapping.edits import Change, LayerChanges
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import replaying
from attnwidget.capture.tapping.tap import LayerAttention, open_edits
from attnwidget.inputs.example import ExampleBatch
from attnwidget.interventions.head_gradients import head_gradients
from attnwidget.interventions.scores import question_scores
from attnwidget.interventions.unit_scores import unit_scores
from attnwidget.kernels.arrays import Float64Array


def effects_of(
    reading: Reading[Attention],
    answer: int,
    position: int,
    heads: Sequence[Head] = (),
    method: EditMethod | None = None,
    *,
    stack: str,
    exact: bool = True,
    only: Sequence[Head] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Float64Array | None:
    """Return the change of an answer's probability if each head is disabled as well, [L, H].

    Args:
        reading: Input and model.
        answer: Id of a vocabulary entry, label, class or span.
        position: Position that `Reading.predict` answers.
        heads: Heads that are already disabled; their effect is 0.
        method: Replacement of the outputs of disabled heads: "uniform", "zero" or "first";
            None = the default of the model.
        stack: Stack of the heads.
        exact: Whether to compute `exact_effects`, which release the model between passes, or
            `first_order_effects`.
        only: Heads whose exact effects are computed; None = all heads of the stack.
        stopped: Function that is called between passes; if it returns True, the result is None.

    Raises:
        TypeError, ValueError, RuntimeError: As in `Reading.predict`.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> reading = model.attend("The woman washed [MASK] hands.").reading
        >>> effects_of(reading, model.tokenizer.vocab["her"], 4, stack="self").shape
        (6, 12)
    """
    if exact:
        effects = effects_on_answers(
            reading, (answer,), position, heads, method, stack=stack, only=only, stopped=stopped
        )
        return None if effects is None else effects[0]
    model = reading.model
    reading.refuse_changed()
    disabled_context = reading.edited(heads, method) if heads else nullcontext()
    method = method_of_others(model, method)
    with disabled_context, model.lock.in_turn():
        batch = _asked_batch(reading, (answer,), position)
        return uninterrupted(
            lambda: first_order_effects(model.hf_model, batch, method, stack=stack)
        )


def effects_on_answers(
    reading: Reading[Attention],
    answers: Sequence[int],
    position: int,
    heads: Sequence[Head] = (),
    method: EditMethod | None = None,
    *,
    stack: str,
    only: Sequence[Head] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Float64Array | None:
    """Return the exact effects of all heads on A answers to one question, [A, L, H].

    This takes as many passes as the effects on one answer.

    Args:
        reading: Input and model, as in `effects_of`.
        answers: Ids of the answers, as in `effects_of`.
        position: Position that is answered, as in `effects_of`.
        heads: Heads that are already disabled, as in `effects_of`.
        method: Replacement of the outputs, as in `effects_of`.
        stack: Stack of the heads, as in `effects_of`.
        only: Heads whose effects are computed, as in `effects_of`.
        stopped: Function that is called between passes, as in `effects_of`.

    Raises:
        TypeError, ValueError, RuntimeError: As in `Reading.predict`.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> reading = model.attend("The woman washed [MASK] hands.").reading
        >>> answers = [model.tokenizer.vocab[word] for word in ("her", "his")]
        >>> effects_on_answers(reading, answers, 4, stack="self").shape
        (2, 6, 12)
    """
    model = reading.model
    reading.refuse_changed()
    disabled_context = reading.edited(heads, method) if heads else nullcontext()
    method = method_of_others(model, method)
    with disabled_context:
        with model.lock.in_turn():
            batch = _asked_batch(reading, answers, position)
        return exact_effects(
            model.hf_model, batch, method, stack=stack, lock=model.lock, only=only, stopped=stopped
        )


def method_of_others(model: Reader[Attention], method: EditMethod | None) -> EditMethod:
    """Return the method by which the other heads are disabled, one at a time.

    Not every head has a rule, so next to heads with their rules in their places, the others are
    disabled by the default method of the model.
    """
    if method is None or method == RULED:
        return model.default_method
    return method


def _asked_batch(
    reading: Reading[Attention], answers: Sequence[int], position: int
) -> ExampleBatch:
    """Return the question at a position, once for each answer."""
    question = reading.model.question(reading.inputs, position, reading.tokens)
    positions = question.places * len(answers)
    question = replace(question, places=positions, targets=tuple(answers))
    return ExampleBatch(question.encoded, (question,))


def first_order_effects(
    hf_model: Any, batch: ExampleBatch, method: EditMethod, *, stack: str
) -> Float64Array:
    """Return estimates of `exact_effects` from a forward and a backward pass, [L, H].

    Let p be the answer's probability, z the outputs of a head before the output projection, and z'
    the replacements by `method`. The estimate is p times the sum over tokens of (z' - z) . d log
    p/dz (as in Michel et al. 2019, section 4.1). Both outputs are sums of the head's values with
    weights a' and a. The estimate is therefore p times the sum over pairs of tokens of (a' - a) d
    log p/da.

    Args:
        hf_model: Transformers model. Heads that are already disabled have an effect of 0.
        batch: One input, with a question and its answer.
        method: Replacement of the outputs: "uniform", "zero" or "first".
        stack: Stack of the heads.

    Raises:
        ValueError: If no gradient reaches a layer's weights, or there is no such stack.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.examples import batch_of, encode_examples
        >>> model = load_model(device="cpu")
        >>> example = ("The woman washed [MASK] hands.", "her")
        >>> batch = batch_of(model, encode_examples(model, [example]))
        >>> first_order_effects(model.hf_model, batch, "uniform", stack="self").shape
        (6, 12)
    """
    change = Change(method, method)

    def moved_along(seen: LayerAttention, gradient: Tensor) -> Tensor:
        changes = LayerChanges(dict.fromkeys(range(seen.weights.shape[1]), change))
        new_weights = changes.weights(seen.weights, seen.visible())
        weight_change = new_weights.float() - seen.weights.float()
        return (weight_change * gradient.float()).sum((0, 2, 3), dtype=torch.float64)

    def log_probability(output: Any) -> Tensor:
        return question_scores("log probability", batch.logits(output)[0], batch)

    changes, value = head_gradients(
        hf_model, batch.inputs, log_probability, moved_along, stack=stack
    )
    effects: Float64Array = float(value.double().exp()) * changes
    for head in open_edits(hf_model).changes:
        if head.stack == stack:
            effects[head.layer, head.head] = 0
    return effects


def exact_effects(
    hf_model: Any,
    batch: ExampleBatch,
    method: EditMethod,
    *,
    stack: str,
    lock: ModelLock,
    only: Sequence[Head] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Float64Array | None:
    """Return the change of answer probabilities with one head disabled at a time, [A, L, H].

    Heads that are already disabled remain disabled and have an effect of 0. Only the head's layer
    and later layers run again, if `Replay` finds that the results are the same.

    Args:
        hf_model: Transformers model.
        batch: One input, with a question for each of A answers.
        method: Replacement of the outputs: "uniform", "zero" or "first".
        stack: Stack of the heads.
        lock: Lock that is held during each pass and released between passes.
        only: Heads to disable; None = all heads of the stack. The others have the effect NaN.
        stopped: Function that is called between passes; if it returns True, the result is None.

    Raises:
        ValueError: If the model does not allow an edit.
        KeyError: If there is no such stack.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.examples import batch_of, encode_examples
        >>> model = load_model(device="cpu")
        >>> example = ("The woman washed [MASK] hands.", "her")
        >>> batch = batch_of(model, encode_examples(model, [example]))
        >>> effects = exact_effects(model.hf_model, batch, "zero", stack="self", lock=model.lock)
        >>> effects.shape
        (1, 6, 12)
    """
    edits = intact_edits(hf_model)
    outer = open_edits(hf_model)
    counts = edits.heads_of[stack]
    stack_heads = _heads_of(counts, stack)
    selected_heads = stack_heads if only is None else [head for head in stack_heads if head in only]
    heads = [head for head in selected_heads if head not in outer.changes]
    targets = batch.targets
    assert targets is not None
    no_effect = _by_head(selected_heads, np.zeros(len(selected_heads)), counts)
    effects = np.repeat(no_effect[None], len(targets), 0)
    if not heads:
        return effects
    units = [{head: Change(method, method)} for head in heads]
    with replaying(hf_model, outer, edits) as replay:
        passes = unit_scores(replay, batch, units, "log probability")
        scores = [row for part in _one_at_a_time(passes, lock, stopped) for row in part]
    if len(scores) <= len(heads):
        return None
    probabilities = torch.stack(scores).exp()
    rises = (probabilities[1:] - probabilities[0]).cpu().numpy()
    for head, rise in zip(heads, rises, strict=True):
        effects[:, head.layer, head.head] = rise
    return effects


def total_effects(hf_model: Any, batch: ExampleBatch) -> Float64Array:
    """Return the logit difference minus the difference with each head's output zero, [L, H].

    Only the head's layer and later layers run again, as in `ablate`. Layers without attention are
    NaN.

    Args:
        hf_model: Transformers model with one stack.
        batch: One input, with a question, its answer and the competing answer.
    """
    edits = intact_edits(hf_model)
    counts = edits.heads_of["self"]
    heads = _heads_of(counts, "self")
    units = [{head: Change("zero", "zero")} for head in heads]
    with replaying(hf_model, open_edits(hf_model), edits) as replay:
        scores = torch.cat(list(unit_scores(replay, batch, units, "difference of logits")))[:, 0]
    return _by_head(heads, (scores[0] - scores[1:]).cpu().numpy(), counts)


def _one_at_a_time(
    passes: Iterator[Tensor], lock: ModelLock, stopped: Callable[[], bool]
) -> Iterator[Tensor]:
    """Yield the scores of passes, with the lock held during each pass and released in between.

    The scores end early if `stopped` returns True before a pass.
    """
    while True:
        with lock.in_turn():
            scores = None if stopped() else next(passes, None)
        if scores is None:
            return
        yield scores


def _heads_of(counts: Sequence[int], stack: str) -> list[Head]:
    """Return all heads of a stack, from the number of heads of each layer."""
    return [Head(layer, head, stack) for layer, n in enumerate(counts) for head in range(n)]


def _by_head(heads: Sequence[Head], numbers: Float64Array, counts: Sequence[int]) -> Float64Array:
    """Return values of heads as an array [L, H]; NaN for other heads."""
    values = np.full((len(counts), max(counts)), np.nan)
    for head, number in zip(heads, numbers, strict=True):
        values[head.layer, head.head] = number
    return values
