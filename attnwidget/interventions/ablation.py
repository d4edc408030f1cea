"""Ablation: a model's score without each head, or without all heads of a layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import HeadName
from attnwidget.capture.tapping.replay import Changes, Replay
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.inputs.example import StudyExample
from attnwidget.interventions.ablation_results import Ablation
from attnwidget.interventions.examples import batch_of, encode_examples, originals_of
from attnwidget.interventions.scores import (
    Score,
    check_score,
    example_scores,
    score_name,
    scored_words,
)
from attnwidget.interventions.unit_scores import read_unit_scores, unit_scores_of_inputs
from attnwidget.interventions.units import scores_by_place, studied_stack, units_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.option_names import other_options
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@in_plain_torch
@other_options(metric="scoring", score="scoring")
def ablate(
    model: AttentionModel,
    examples: Iterable[Any],
    *,
    scoring: Score | None = None,
    method: EditMethod | None = None,
    heads: Literal["all", "layers"] | HeadName | Iterable[HeadName] = "all",
    stack: str | None = None,
    reference: object = None,
    batch_size: int = 32,
    resume: str | Path | None = None,
    progress: bool = True,
) -> Ablation:
    """Measure a model's score on examples, intact and with each head disabled in turn.

    The study follows Kovaleva et al. 2019, section 4.6 (`method="uniform"`: the head's weights are
    1/L; the default for BERT and other encoders) and Michel et al. 2019, section 3 (`"zero"`; the
    default for causal models). The outputs of the layers below a head are stored from one pass of
    the intact model, and only the head's layer and later layers run again. The first batch is
    compared with complete passes, to 1e-5 in float32. If the check fails, or the layers cannot run
    separately, every head takes a complete pass, and the `note` of the result says so.

    Args:
        model: Model with a prediction head; heads may already be disabled.
        examples: Examples of one kind: (text, label), (text, second text, label), `MinimalPair`,
            texts or `Segment`, or (picture, label) and (sound, label) with pictures and sounds as
            in `measure`. A text without a label becomes a segment as in `make_segments`. The label
            is a class, by name or number; for a masked language model, the word at the single mask
            token of the text; for a causal model, the next token. In a `Segment`, a masked language
            model predicts 15 % of the tokens, masked as in the training of BERT, and a causal model
            predicts every next token. The label of a question about a picture, {"image": picture,
            "text": question}, is the next token. The label for a speech recognition model such as
            Whisper is the transcript, and each of its tokens is a question.
        scoring: Score of an example: "accuracy" (correct answers), "loss" (cross entropy in nats)
            or "kl" (divergence from the intact model's predictions, in nats), each averaged over
            the questions of an example; "minimal pair" (whether the acceptable sentence is
            likelier, as in `measure_minimal_pairs`: for a masked language model by the differing
            words); "minimal pair, all words" (by all words of the sentences); or a function of the
            model's output and the batch (`examples`, `inputs`) that returns one number per example.
            None = "accuracy" for examples with labels, "minimal pair" for minimal pairs, "loss" for
            texts.
        method: Replacement method, as in `AttentionModel.disabled`, except "patch"; None = the
            default of the model, or "mean" with a `reference`. The `method` of the result names it.
        heads: Heads to disable. "all" disables each head, and all heads of each layer together.
            "layers" only disables complete layers. Otherwise a head or a list of heads, each as
            (1, 3), "L1 H3" or a `Head`.
        stack: Stack of the heads; None = the only stack, or the language model of a model with
            towers. An encoder-decoder has "encoder", "decoder" and "cross".
        reference: Reference of the method "mean", as in `disabled`.
        batch_size: Number of inputs in a forward pass. They have equal shapes, without padding.
        resume: File (.npz) for finished work. If it exists, the study continues from it.
        progress: Whether to show a progress bar.

    Raises:
        TypeError: If `model` is not a model, has no prediction head, or is an encoder-decoder and
            the examples are texts; or if `examples` has another type.
        ValueError: If there are no examples or several kinds of examples, a label does not fit, a
            score does not apply to the examples, there is no such head or method, or the resume
            file belongs to another study.
        RuntimeError: If the model was closed or has changed, or another run writes the resume file.
        OSError: If the resume file cannot be written. The earlier resume file is then unchanged.
        WorkersError: As in `measure`.
        KeyboardInterrupt: If Ctrl-C was pressed before the first example was done. A later Ctrl-C
            ends the study, and the result has the finished examples.

    Example:
        >>> from attnwidget import MinimalPair, ablate, load_model
        >>> pairs = [MinimalPair("The girl washed herself.", "The girl washed himself.")]
        >>> heads = [(5, 8), (2, 3)]
        >>> ablate(load_model(), pairs, scoring="minimal pair", heads=heads, progress=False).score
        'minimal pair'
    """
    refuse_no_model(model)
    batch_size = whole_number("batch_size", batch_size, 1)
    if method == "patch":
        raise ValueError("'patch' is of one input, and not of many examples: method='mean'")
    stack = studied_stack(model, stack)
    inputs = encode_examples(
        model, examples, answered=not callable(scoring), words=scored_words(scoring), stack=stack
    )
    if scoring is None:
        scoring = _default_score(inputs)
    check_score(scoring, inputs)
    with model.lock.in_turn(), resume_from(resume_path(resume)):
        units, shape = units_of(model, heads, stack=stack)
        disabled_heads = sorted({head for unit in units for head in unit.heads})
        with model.disabled(disabled_heads, method=method, reference=reference):
            edits = model.edits
        changes = [{head: edits.changes[head] for head in unit.heads} for unit in units]
        study_key = {
            "edits": edits.digest,
            "units": digest_of(units),
            "scoring": score_name(scoring),
            "inputs": digest_of(inputs),
            "batch_size": batch_size,
        }
        numbers, complete, note = read_unit_scores(
            "ablation",
            study_key,
            model,
            partial(ablated_scores, units=changes, score=scoring),
            list(of_one_length(inputs, batch_size, model.hf_model)),
            progress=progress,
        )
    values, example_indices = example_scores(scoring, numbers, inputs)
    if not len(example_indices):
        raise KeyboardInterrupt
    originals = originals_of(inputs)
    head_scores, layer_scores, _ = scores_by_place(units, values[1:], shape)
    return Ablation(
        score=score_name(scoring),
        method=next(iter(changes[0].values())).method,
        intact=values[0],
        head_scores=head_scores,
        layer_scores=layer_scores,
        examples=tuple(originals[index] for index in example_indices),
        complete=complete,
        note=note,
        stack=stack,
        model_name=model.name,
    )


def _default_score(examples: Sequence[StudyExample]) -> Score:
    """Return the score of examples for which the caller names none."""
    if any(example.sign < 0 for example in examples):
        return "minimal pair"
    has_label = isinstance(originals_of(examples)[0], (tuple, list))
    return "accuracy" if has_label else "loss"


def ablated_scores(
    model: AttentionModel,
    replay: Replay,
    examples: Sequence[StudyExample],
    *,
    units: Sequence[Changes],
    score: Score,
) -> NDArray[np.float64]:
    """Return the scores of the intact model and with each unit disabled, [1 + U, B]; for workers.

    Args:
        model: Model from `load_model`.
        replay: Replay of the model's layers.
        examples: B examples of a batch.
        units: Groups of heads that are disabled in turn.
        score: Score to compute.
    """
    return unit_scores_of_inputs(replay, batch_of(model, examples), units, score)
