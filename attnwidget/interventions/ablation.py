"""Ablation: a model's score without each head, or without all heads of a layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import replaying
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.input_numbers import input_numbers
from attnwidget.corpus.replayed_batches import ReplayedBatches
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.shards import Executor, Workers
from attnwidget.interventions.ablated_scores import AblatedScores
from attnwidget.interventions.ablation_results import Ablation
from attnwidget.interventions.ablation_scores import (
    Score,
    check_score,
    example_scores,
    score_name,
    words_of,
)
from attnwidget.interventions.inputs_with_answers import Asked, asked_of
from attnwidget.kernels.plain_torch import in_plain_torch

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@in_plain_torch
def ablate(
    model: AttentionModel,
    examples: Iterable[Any],
    *,
    score: Score,
    method: EditMethod | None = None,
    heads: Literal["all", "layers"] | Iterable[Sequence[int]] = "all",
    reference: object = None,
    batch_size: int = 32,
    resume: str | Path | None = None,
    progress: bool = True,
    executor: Executor | None = None,
) -> Ablation:
    """Measure a model's score on examples, intact and with each head off in turn.

    The study follows Kovaleva et al. 2019, section 4.6 (`method="uniform"`: the head's weights are
    1/L; the default for BERT and other encoders) and Michel et al. 2019, section 3 (`"zero"`; the
    default for causal models). The outputs of the layers below a head are
    kept from one pass of the intact model, and only the layers from the head's layer on run again.
    The first batch is compared with whole passes, to 1e-5 in float32. If the check fails, or the
    layers cannot run alone, every head takes a whole pass, and the `note` of the result says so.

    Args:
        model: A model with one stack and a prediction head; heads may be off already.
        examples: Examples of one kind: (text, label), (text, second text, label), `MinimalPair` or
            `Segment`. The label is a class, by name or number; for a masked language model, the
            word at the single mask token of the text; for a causal model, the next token. In a
            `Segment`, a masked language model predicts 15 % of the tokens, masked as in the
            training of BERT, and a causal model predicts every next token.
        score: "accuracy" (right answers), "loss" (cross entropy in nats) or "kl" (divergence from
            the intact model's predictions, in nats), each as the mean over the questions of an
            example; "minimal pair" (whether the acceptable sentence is likelier, as in
            `score_pairs`: for a masked language model by the differing words); "minimal pair, all
            words" (the same by all words of the sentences); or a function of the model's output
            and the batch (`examples`, `inputs`) that returns one number per example.
        method: As in `AttentionModel.disabled`, except "patch"; None = the default of the model,
            or "mean" with a `reference`. The `method` of the result names it.
        heads: "all" switches off each head, and all heads of each layer together. "layers" switches
            off only whole layers. A list of heads is [(layer, head), ...].
        reference: Reference of the method "mean", as in `disabled`.
        batch_size: Number of inputs in one pass. They have equal lengths, without padding.
        resume: An .npz file that keeps finished work. If it exists, the study continues from
            it.
        progress: Whether to show a progress bar.
        executor: Executor whose workers read all batches except the first, as in `measure`.

    Raises:
        TypeError: `model` is not a model, has two stacks or no prediction head; or `examples` has
            another type.
        ValueError: no examples, examples of several kinds, or a label that does not fit; a score
            that does not apply to the examples; no such head or method; a resume file of another
            study.
        RuntimeError: the model was closed or has changed; another run writes the resume file.
        OSError: the resume file cannot be written; the earlier resume file stays.
        WorkersError: As in `measure`.
        KeyboardInterrupt: Ctrl-C before the first example was done. A later Ctrl-C ends the study,
            and the result has the finished examples.

    Example:
        >>> from attnwidget import MinimalPair, ablate, load_model
        >>> pairs = [MinimalPair("The girl washed herself.", "The girl washed himself.")]
        >>> heads = [(5, 8), (2, 3)]
        >>> ablate(load_model(), pairs, score="minimal pair", heads=heads, progress=False).score
        'minimal pair'
    """
    refuse_no_model(model)
    if batch_size < 1:
        raise ValueError(f"batch_size is at least 1, got {batch_size}")
    if method == "patch":
        raise ValueError("'patch' is of one input, and not of many examples: method='mean'")
    listed, questions = asked_of(
        model, examples, answered=not callable(score), words=words_of(score)
    )
    check_score(score, questions)
    with model.lock:
        units, edits = _units(model, heads, method, reference)
        changes = [{head: edits.changes[head] for head in unit} for unit in units]
        work = ReplayedBatches(model, AblatedScores(changes, score))
        workers = None if executor is None else Workers(executor, work)
        about = {
            "edits": edits.digest,
            "units": digest_of(units),
            "score": score_name(score),
            "inputs": digest_of(questions),
            "batch_size": batch_size,
        }
        batches = list(of_one_length(questions, batch_size))

        def with_examples(asked: Sequence[Asked]) -> tuple[list[Any], Sequence[Asked]]:
            return [listed[question.example] for question in asked], asked

        with replaying(model.hf_model, model.edits, edits) as replay:
            numbers, complete = input_numbers(
                "ablation",
                about,
                model,
                lambda n_done: work.each(replay, batches, with_examples, workers, n_done),
                batches,
                resume=resume,
                progress=progress,
            )
        values, kept = example_scores(score, numbers, questions)
        if not len(kept):
            raise KeyboardInterrupt
        used = next(iter(changes[0].values())).method
        return _result(
            (model, score, used), units, values, [listed[i] for i in kept], complete, replay.note
        )


def _units(
    model: AttentionModel, heads: Any, method: EditMethod | None, reference: object
) -> tuple[list[tuple[Head, ...]], Edits]:
    """Return the groups of heads that are off together, in the order of layers, and their edits."""
    if isinstance(heads, str) and heads not in ("all", "layers"):
        raise ValueError(f"heads is 'all', 'layers' or [(layer, head), ...], got {heads!r}")
    if isinstance(heads, str):
        counts = intact_edits(model.hf_model).heads_of["self"]
        named: dict[str, Any] = {"layers": [layer for layer, n in enumerate(counts) if n]}
    else:
        heads = list(heads)
        heads = [heads] if heads and hasattr(heads[0], "__index__") else heads
        named = {"heads": heads}
    with model.disabled(**named, method=method, reference=reference):
        edits = model.edits
    if isinstance(heads, str):
        layers: dict[int, list[Head]] = {}
        for layer, count in enumerate(edits.heads_of["self"]):
            if count:
                layers[layer] = [Head(layer, head) for head in range(count)]
        whole = [[tuple(heads_of_layer)] for heads_of_layer in layers.values()]
        single = [
            [(head,) for head in heads_of_layer] if len(heads_of_layer) > 1 else []
            for heads_of_layer in layers.values()
        ]
        parts = whole if heads == "layers" else [a + b for a, b in zip(single, whole, strict=True)]
        return [unit for part in parts for unit in part], edits
    # Edits of an enclosing block come first.
    chosen = list(edits.changes)[-len(heads) :]
    return sorted((head,) for head in chosen), edits


def _result(
    what: tuple[AttentionModel, Score, str],
    units: Sequence[tuple[Head, ...]],
    values: NDArray[np.float64],
    examples: Sequence[Any],
    complete: bool,
    note: str,
) -> Ablation:
    model, score, method = what
    n_examples = len(examples)
    counts = model.n_layers
    of_heads = np.full((counts, model.n_heads, n_examples), np.nan)
    of_layers = np.full((counts, n_examples), np.nan)
    for unit, numbers in zip(units, values[1:], strict=True):
        if len(unit) > 1:
            of_layers[unit[0].layer] = numbers
        else:
            of_heads[unit[0].layer, unit[0].head] = numbers
    return Ablation(
        score=score_name(score),
        method=method,
        intact=values[0],
        head_scores=of_heads,
        layer_scores=of_layers,
        examples=tuple(examples),
        complete=complete,
        note=note,
        model_name=model.name,
    )
