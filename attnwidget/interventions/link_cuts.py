"""Answers to a question with one link cut: in each head, in each layer, and in all heads.

The question is about a token, or about the complete input: its class, or a span of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attnwidget.capture.default_method import is_causal_model
from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import whole_reading_of
from attnwidget.capture.predict import prediction_task
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.inputs.example import ExampleBatch
from attnwidget.inputs.model_tensors import is_of_text
from attnwidget.interventions.cut_answers import CutAnswers, cut_unit, cutting_links
from attnwidget.kernels.arrays import Float64Array

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False)
class AskedLink:
    """A link from the token that answers a question to another word, or any link for a class.

    Attributes:
        attention: Attention of the input, with all heads on.
        position: Position of the predicted token, as in `Predictions.positions`; -1 for the class
            and for spans.
        query: Positions of the word that looks.
        key: Positions of the word that is looked at.
        stack: Stack of the link.
        answers: Ids of the A answers.
    """

    attention: Attention
    position: int
    query: tuple[int, ...]
    key: tuple[int, ...]
    stack: str
    answers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LinkCuts:
    """Probabilities of A answers with one link cut.

    Attributes:
        asked: The link.
        before: Probabilities with all links, [A].
        everywhere: Probabilities with the link cut in all heads, [A].
        layers: Probabilities with the link cut in one layer, [L, A]; NaN for layers without heads.
        heads: Probabilities with the link cut in one head, [L, H, A]; None until they are computed.
        others: Probability of the first answer with each other word cut in all heads, [W], without
            special tokens.
        weights: Weight of the link in each head in the pass that answers, [L, H].
        is_masked: Whether the word that looks is masked in this pass, so that the weights differ
            from those of the text.
    """

    asked: AskedLink
    before: Float64Array
    everywhere: Float64Array
    layers: Float64Array
    heads: Float64Array | None
    others: Float64Array
    weights: Float64Array
    is_masked: bool


def link_cuts(
    asked: AskedLink, *, by_head: bool = True, stopped: Callable[[], bool] = lambda: False
) -> Iterator[LinkCuts]:
    """Yield the answers with a link cut, first without and then with the cuts in single heads.

    Args:
        asked: Link from the token that answers.
        by_head: Whether the link is also cut in each head, with a pass per head.
        stopped: Function that is called before each pass; if it returns True, nothing more is
            yielded.

    Raises:
        TypeError: The model has no head that predicts words or labels.
        ValueError: The model does not show its attention, or the input is long.
        RuntimeError: The weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.link_cuts import AskedLink, link_cuts
        >>> model = load_model(device="cpu")
        >>> text = "The captain told his men that he would not leave the ship."
        >>> he = model.tokenizer.vocab["he"]
        >>> *_, cuts = link_cuts(AskedLink(model.attend(text), 7, (7,), (6,), "self", (he,)))
        >>> cuts.before.round(2), cuts.everywhere.round(2), cuts.heads[2, 11].round(2)
        (array([0.73]), array([0.4]), array([0.29]))
    """
    attention = asked.attention
    reading = whole_reading_of(attention, "an answer without a link")
    model: Any = reading.model
    batch, is_masked = _asked_batch(asked)
    counts = intact_edits(model.hf_model).heads_of[asked.stack]
    by_layer = [
        [Head(layer, head, asked.stack) for head in range(n)] for layer, n in enumerate(counts)
    ]
    all_heads = [head for heads in by_layer for head in heads]
    words = _other_words(asked)
    last = next(iter(batch.questions[0].places), None)
    from_last_token = (
        prediction_task(model.hf_model) == "next"
        and not model.inputs.encodes_apart
        and last is not None
        and asked.query == (last,)
        and batch.inputs.keys() <= {"input_ids", "attention_mask"}
        and batch.inputs["input_ids"].shape[1] == last + 1
    )
    link = [(asked.query, asked.key)]
    with cutting_links(model, batch, all_heads, from_last_token=from_last_token) as cut:
        weights = _weights(model, batch, asked, counts)
        everywhere = [cut_unit(link, all_heads)]
        for word in words:
            everywhere.append(cut_unit([(asked.query, word)], all_heads))
        layers = [cut_unit(link, heads) for heads in by_layer if heads]
        run = _Runner(cut, asked.answers, stopped, from_last_token=from_last_token)
        of_all = run(everywhere)
        of_layers = run(layers)
        if of_all is None or of_layers is None:
            return
        layer_table = np.full((len(counts), len(asked.answers)), np.nan)
        layer_table[[layer for layer, heads in enumerate(by_layer) if heads]] = of_layers
        cuts = LinkCuts(
            asked=asked,
            before=cut.asked.log_probabilities[list(asked.answers)].exp().numpy(),
            everywhere=of_all[0],
            layers=layer_table,
            heads=None,
            others=of_all[1:, 0],
            weights=weights,
            is_masked=is_masked,
        )
        yield cuts
        if not by_head:
            return
        of_heads = run([cut_unit(link, [head]) for head in all_heads])
        if of_heads is None:
            return
        head_table = np.full((len(counts), max(counts), len(asked.answers)), np.nan)
        for head, probabilities in zip(all_heads, of_heads, strict=True):
            head_table[head.layer, head.head] = probabilities
        yield replace(cuts, heads=head_table)


def sees_nothing_later(model: AttentionModel) -> bool:
    """Return whether the tokens of a text see no later tokens of the text.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.link_cuts import sees_nothing_later
        >>> sees_nothing_later(load_model()), sees_nothing_later(load_model("attnwidget/induction"))
        (False, True)
    """
    return prediction_task(model.hf_model) == "next" or is_causal_model(model.hf_model)


class _Runner:
    """Function that returns the answers of units, [k, A]; None if it was stopped."""

    def __init__(
        self,
        cut: CutAnswers,
        answers: Sequence[int],
        stopped: Callable[[], bool],
        *,
        from_last_token: bool,
    ) -> None:
        self._cut = cut
        self._answers = answers
        self._stopped = stopped
        self._from_last_token = from_last_token

    def __call__(self, units: Sequence[Any]) -> Float64Array | None:
        values = np.full((len(units), len(self._answers)), np.nan)
        lowest = [min(head.layer for head in unit) for unit in units]
        # Units of the first layer run through the whole model, the others start at their layer.
        groups = [
            [i for i, layer in enumerate(lowest) if layer == 0],
            sorted((i for i, layer in enumerate(lowest) if layer > 0), key=lowest.__getitem__),
        ]
        if self._from_last_token:
            groups = [list(range(len(units)))]
        for group in groups:
            steps = self._cut.probabilities(
                [units[i] for i in group],
                self._answers,
                from_last_token=self._from_last_token,
                stopped=self._stopped,
            )
            done = 0
            for start, stop, probabilities in steps:
                values[group[start:stop]] = probabilities
                done = stop
            if done < len(group):
                return None
        return values


def _asked_batch(asked: AskedLink) -> tuple[ExampleBatch, bool]:
    """Return the question, and whether a word of the text is masked for it."""
    reading = whole_reading_of(asked.attention, "an answer without a link")
    model: Any = reading.model
    reading.refuse_changed()
    with model.lock.in_turn():
        question = model.question(reading.inputs, asked.position, reading.tokens)
    inputs = question.encoded
    task = prediction_task(model.hf_model)
    if task == "next" and not model.inputs.encodes_apart and all(map(is_of_text, inputs)):
        # Later tokens do not change the answer.
        last = question.places[0]
        inputs = {name: value[:, : last + 1] for name, value in inputs.items()}
        question = replace(question, encoded=inputs)
    is_masked = task == "masked" and not torch.equal(
        inputs["input_ids"], reading.inputs["input_ids"]
    )
    return ExampleBatch(inputs, (replace(question, targets=()),)), is_masked


def _other_words(asked: AskedLink) -> list[tuple[int, ...]]:
    """Return the other words that the answer can see, without special tokens."""
    stack = asked.attention.stacks[asked.stack]
    is_one_text = stack.query == stack.key
    model: Any = whole_reading_of(asked.attention, "an answer without a link").model
    is_causal = asked.stack != "cross" and sees_nothing_later(model)
    own = {*asked.key, *(asked.query if is_one_text else ())}
    words = []
    for group in stack.key.word_groups():
        is_seen = not is_causal or group[-1] <= max(asked.query)
        if is_seen and not own & set(group) and not stack.key.special[group[0]]:
            words.append(tuple(group))
    return words


def _weights(
    model: Any, batch: ExampleBatch, asked: AskedLink, counts: Sequence[int]
) -> Float64Array:
    """Return the weight of the link in each head of the pass that answers, [L, H]."""
    weights = np.full((len(counts), max(counts)), np.nan)
    query, key = list(asked.query), list(asked.key)

    def keep(seen: LayerAttention) -> None:
        if seen.stack == asked.stack:
            rows = seen.weights[0, :, query][:, :, key].double()
            weights[seen.layer, : rows.shape[0]] = rows.sum(-1).mean(-1).cpu().numpy()

    with model.lock.in_turn(), torch.no_grad(), tap(model.hf_model, keep):
        model.hf_model(**batch.inputs)
    return weights
