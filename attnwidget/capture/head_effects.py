"""The effect of each head on one answer.

The effect is the answer's probability with the head off, minus the probability with the head on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.hub_model.losses import Task
from attnwidget.capture.hub_model.model_tensors import without_cache
from attnwidget.capture.hub_model.plain_forward import uncompiled
from attnwidget.capture.hub_model.question import Question
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.gradient_numbers import gradient_numbers
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.edits import Change, LayerChanges
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.replay import replaying
from attnwidget.capture.tapping.tap import LayerAttention, open_edits

Effects = NDArray[np.float64]


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
) -> Effects | None:
    """Return the change of an answer's probability if each head is switched off as well, [L, H].

    Args:
        reading: The input.
        answer: Id of a vocabulary entry, label, class or span.
        position: One of the positions that `Reading.predict` answers.
        heads: Heads that are already off; for them the effect is 0.
        method: Replacement of the outputs of heads that are off: "uniform", "zero" or "first";
            None = the default of the model.
        stack: Stack of the heads.
        exact: Whether to compute `exact_effects`, which leave the model free between passes, or
            `first_order_effects`.
        only: Heads whose exact effects are computed; None = all heads of the stack.
        stopped: Function that is called between passes; if it returns True, the result is None.

    Raises:
        TypeError, ValueError, RuntimeError: as `Reading.predict`.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> reading = model.attend("The woman washed [MASK] hands.").reading
        >>> effects_of(reading, model.tokenizer.vocab["her"], 4, stack="self").shape
        (6, 12)
    """
    model = reading.model
    reading.refuse_changed()
    method = method or model.default_method
    off = model.disabled(heads, method=method) if heads else nullcontext()
    with off:
        with model.lock:
            question = model.question(reading.inputs, position)
            question_parts = (model.hf_model, question, answer, method)
            if not exact:
                return first_order_effects(*question_parts, stack=stack)
        return exact_effects(
            *question_parts, stack=stack, lock=model.lock, only=only, stopped=stopped
        )


def first_order_effects(
    hf_model: Any, question: Question, answer: int, method: EditMethod, *, stack: str
) -> Effects:
    """Return estimates of `exact_effects` from a forward and a backward pass, [L, H].

    Let p be the answer's probability, z the outputs of a head before the output projection, and z'
    the replacements by `method`. The estimate is p times the sum over tokens of (z' - z) . d log
    p/dz (as in Michel et al. 2019, section 4.1). Both outputs are sums of the head's values with
    weights a' and a. The estimate is therefore p times the sum over pairs of tokens of (a' - a) d
    log p/da.

    Args:
        hf_model: A transformers model. Heads that are already off have an effect of 0.
        question: The question to the model.
        answer: Id of a vocabulary entry, label, class or span.
        method: Replacement of the outputs: "uniform", "zero" or "first".
        stack: Stack of the heads.

    Raises:
        ValueError: no gradient reaches a layer's weights; no such stack.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> text = model.tokenizer("The woman washed [MASK] hands.", return_tensors="pt")
        >>> question, answer = model.question(text, 4), model.tokenizer.vocab["her"]
        >>> first_order_effects(model.hf_model, question, answer, "uniform", stack="self").shape
        (6, 12)
    """
    change = Change(method, method)

    def moved_along(seen: LayerAttention, gradient: Tensor) -> Tensor:
        changes = LayerChanges(dict.fromkeys(range(seen.weights.shape[1]), change))
        replaced = changes.weights(seen.weights, seen.visible())
        moved = replaced.float() - seen.weights.float()
        return (moved * gradient.float()).sum((0, 2, 3), dtype=torch.float64)

    def log_probability(output: Any) -> Tensor:
        return question.log_probabilities(question.logits(output))[:, answer]

    task = Task("log probability", question.inputs, log_probability)
    numbers, loss = gradient_numbers(hf_model, task, moved_along, without_cache(hf_model))
    rows = [values for (own_stack, _), values in numbers.items() if own_stack == stack]
    if not rows:
        raise ValueError(f"there is no stack {stack!r} in {type(hf_model).__name__}")
    # The layers of a model may be on several devices.
    changes = torch.stack([row.to(loss.device) for row in rows])
    effects: Effects = (loss.double().exp() * changes).cpu().numpy()
    layers = layer_numbers(uncompiled(hf_model), find_sites(uncompiled(hf_model)))
    if stack in layers:
        effects = layers[stack].spread(effects)
    for head in open_edits(hf_model).changes:
        if head.stack == stack:
            effects[head.layer, head.head] = 0
    return effects


def exact_effects(
    hf_model: Any,
    question: Question,
    answer: int,
    method: EditMethod,
    *,
    stack: str,
    lock: AbstractContextManager[Any],
    only: Sequence[Head] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Effects | None:
    """Return the change of an answer's probability if each head alone is switched off, [L, H].

    Heads that are already off stay off, and have an effect of 0. Only the layers from the head's
    layer on run again, if `Replay` finds that the results are the same.

    Args:
        hf_model: A transformers model.
        question: The question to the model.
        answer: Id of a vocabulary entry, label, class or span.
        method: Replacement of the outputs: "uniform", "zero" or "first".
        stack: Stack of the heads.
        lock: Lock that is held during each pass and free between passes.
        only: Heads to switch off; None = all heads of the stack. The others have the effect NaN.
        stopped: Function that is called between passes; if it returns True, the result is None.

    Raises:
        ValueError: an edit that the model does not allow.
        KeyError: no such stack.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> text = model.tokenizer("The woman washed [MASK] hands.", return_tensors="pt")
        >>> question, answer = model.question(text, 4), model.tokenizer.vocab["her"]
        >>> asked = (model.hf_model, question, answer, "uniform")
        >>> effects = exact_effects(*asked, stack="self", lock=model.lock)
        >>> effects.shape
        (6, 12)
    """
    edits = intact_edits(hf_model)
    outer = open_edits(hf_model)
    counts = edits.heads_of[stack]
    every = [Head(layer, head, stack) for layer, n in enumerate(counts) for head in range(n)]
    wanted = every if only is None else [head for head in every if head in only]
    heads = [head for head in wanted if head not in outer.changes]
    effects = np.full((len(counts), max(counts)), np.nan)
    for head in wanted:
        effects[head.layer, head.head] = 0
    if not heads:
        return effects
    row = question.row
    place = None if row is None else torch.tensor([0, row], dtype=torch.long, device="cpu")
    places = None if place is None else (place[:1], place[1:])
    rows: list[Tensor] = []
    with replaying(hf_model, outer, edits) as replay:
        with lock:
            whole = question.logits(replay.intact(question.inputs))
            intact = question.log_probabilities(whole)[:, answer]
        units = [{head: Change(method, method)} for head in heads]
        passes = replay.without(question.inputs, units, places=places)
        while len(rows) < len(heads):
            # Sleep, so that a waiting thread gets the lock: a lock that is taken again at once
            # stays in this thread.
            time.sleep(0.001)
            with lock:
                if stopped():
                    return None
                _, _, output = next(passes)
            if replay.narrows:
                logs = torch.log_softmax(question.logits(output)[:, 0].float(), -1)
            else:
                logs = question.log_probabilities(question.logits(output))
            rows += logs[:, answer].unbind()
    rises = (torch.stack(rows).double().exp() - intact.double().exp()).cpu().numpy()
    for head, rise in zip(heads, rises, strict=True):
        effects[head.layer, head.head] = rise
    return effects
