"""Losses of single predictions with each of several heads off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.hub_model.answer_logits import answer_logits
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import replaying
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.input_numbers import ReadInputs, input_numbers
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.shards import Executor
from attnwidget.interventions.inputs_with_answers import Asked, asked_of, batch_of
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.segments import Segment


@dataclass(frozen=True, eq=False)
class QuestionLosses:
    """Losses of all questions of N texts, in the intact model and with each of U heads off.

    A masked language model is asked for 15 % of the tokens, a causal model for every next token.

    Attributes:
        heads: The U heads.
        texts: Index of the text of each input, int64 [N].
        places: The token where each question is asked, int64 [Q, N]; -1 for texts with fewer
            questions.
        intact: Loss of the intact model in nats, [Q, N]; NaN for texts with fewer questions.
        without: Loss with each head off, [U, Q, N].
        complete: False if the study was interrupted.
    """

    heads: tuple[Head, ...]
    texts: NDArray[np.int64]
    places: NDArray[np.int64]
    intact: Float64Array
    without: Float64Array
    complete: bool

    def change(self, head: Head) -> Float64Array:
        """Return the rise of the loss without a head, [Q, N]."""
        change: Float64Array = self.without[self.heads.index(head)] - self.intact
        return change


@dataclass(frozen=True, eq=False)
class _ReadLosses:
    """Reader of the losses of a batch, which can be sent to a worker.

    Attributes:
        units: The change of each head, in the order of the layers.
        n_questions: Number of questions to which texts are padded.
    """

    units: Sequence[Mapping[Head, Change]]
    n_questions: int

    def __call__(self, model: AttentionModel, asked: Sequence[Asked]) -> Float64Array:
        """Return the losses of the intact model and of each unit, [1 + U, Q, B]."""
        edits = intact_edits(model.hf_model)
        batch = batch_of(model, asked, asked)
        assert batch.columns is not None and batch.targets is not None
        losses = []
        with replaying(model.hf_model, model.edits, edits) as replay:
            intact = replay.intact(batch.inputs)
            losses.append(self._losses(batch.answers(answer_logits(intact)), batch.targets))
            places = batch.rows, batch.columns
            for first, last, output in replay.without(batch.inputs, self.units, places=places):
                for logits in answer_logits(output).chunk(last - first):
                    if replay.narrows:
                        answers = torch.log_softmax(logits[0].float(), -1)
                    else:
                        answers = batch.answers(logits)
                    losses.append(self._losses(answers, batch.targets))
        found = np.full((len(losses), self.n_questions, len(asked)), np.nan)
        start = 0
        for item, question in enumerate(asked):
            stop = start + len(question.places)
            found[:, : stop - start, item] = np.array(losses)[:, start:stop]
            start = stop
        return found

    @staticmethod
    def _losses(answers: Tensor, targets: Tensor) -> NDArray[np.float64]:
        """Return the loss of each question, [P], from log probabilities [P, V]."""
        losses: NDArray[np.float64] = (
            -answers.gather(-1, targets[:, None])[:, 0].double().cpu().numpy()
        )
        return losses


def question_losses(
    model: AttentionModel,
    texts: Sequence[Segment],
    heads: Sequence[Head],
    reference: Sequence[str | Segment],
    *,
    batch_size: int = 8,
    resume: str | Path | None = None,
    progress: bool | OnProgress = True,
    executor: Executor | None = None,
) -> QuestionLosses:
    """Return the losses of single predictions with each head off in turn.

    The output of a head that is off is its mean output over the reference texts (mean ablation).

    Args:
        model: A language model of one stack.
        texts: The texts.
        heads: The heads; one head is off at a time.
        reference: Texts over which the outputs of the heads are averaged.
        batch_size: Number of texts of equal length in one pass.
        resume: An .npz file that keeps finished work.
        progress: Whether to show a progress bar; or a function that is called with the number of
            inputs read and their number (None if unknown).
        executor: Executor whose workers read the texts.

    Raises:
        TypeError: The model has two stacks, or no language-modelling head.
        ValueError: The values of the heads are unknown, so outputs cannot be replaced.
        KeyboardInterrupt, RuntimeError, OSError, WorkersError: As in `ablate`.
    """
    _, asked = asked_of(
        model,
        [Segment(text.first, text.second, roles=text.roles, turns=text.turns) for text in texts],
    )
    if not asked[0].targets:
        raise TypeError(f"{type(model.hf_model).__name__} predicts no words")
    ordered = sorted(heads)
    with model.lock:
        with model.disabled(ordered, method="mean", reference=list(reference)):
            changes = model.edits.changes
        units = [{head: changes[head]} for head in ordered]
        n_questions = max(len(question.places) for question in asked)
        batches = list(of_one_length(asked, batch_size))
        about = {
            "units": digest_of(ordered),
            "inputs": digest_of(asked),
            "reference": digest_of(reference),
            "batch_size": batch_size,
        }
        numbers, complete = input_numbers(
            "question losses",
            about,
            model,
            ReadInputs(model, _ReadLosses(units, n_questions)).results(batches, executor),
            batches,
            resume=resume,
            progress=progress,
            unit="text",
        )
    listed = [question for batch in batches for question in batch]
    places = np.full((n_questions, len(listed)), -1, np.int64)
    for column, question in enumerate(listed):
        places[: len(question.places), column] = question.places
    return QuestionLosses(
        heads=tuple(ordered),
        texts=np.array([question.example for question in listed], np.int64),
        places=places,
        intact=numbers[0],
        without=numbers[1:],
        complete=complete,
    )
