"""Scores of a patched run, one number per input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.capture.hub_model.answer_logits import answer_logits
from attnwidget.corpus.argument_checks import one_of
from attnwidget.interventions.ablation_scores import input_numbers, score_name
from attnwidget.interventions.inputs_with_answers import ExampleBatch
from attnwidget.interventions.patch_pairs import PatchPair

PatchScore: TypeAlias = (
    Literal["logit difference", "loss", "accuracy"] | Callable[[Any, ExampleBatch], Any]
)
SCORES = ("logit difference", "loss", "accuracy")


def check_patch_score(score: PatchScore) -> None:
    """Raise ValueError if there is no such score."""
    if not callable(score):
        one_of("score", score, SCORES)


def patch_score_name(score: PatchScore) -> str:
    """The score as captions say it."""
    return score_name(score) if callable(score) else score


def patch_scores(
    score: PatchScore,
    output: Any,
    batch: ExampleBatch,
    pair: PatchPair,
    parts: int = 1,
    *,
    narrowed: bool = False,
) -> NDArray[np.float64]:
    """Return the scores of an input in `parts` passes with a common batch, [parts].

    Args:
        score: The score.
        output: The output of the model.
        batch: The input, a batch of one.
        pair: The answers.
        parts: Number of copies of the input in the batch.
        narrowed: The logits are of the question alone, [parts, P, V].

    Raises:
        ValueError: A function does not give one number per input.
    """
    if score != "logit difference":
        assert callable(score) or score in ("loss", "accuracy")
        numbers = input_numbers(score, output, batch, parts, narrowed=narrowed)
        return numbers[:, 0].cpu().numpy()
    answer, rival = pair.clean.targets[0], pair.corrupted.targets[0]
    differences = []
    for logits in answer_logits(output).chunk(parts):
        chosen = torch.log_softmax(logits[0].float(), -1) if narrowed else batch.answers(logits)
        differences.append(chosen[0, answer] - chosen[0, rival])
    return torch.stack(differences).double().cpu().numpy()
