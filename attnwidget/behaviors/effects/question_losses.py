"""Losses of single predictions with each of several heads off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Changes, Replay
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.inputs.example import TextExample
from attnwidget.interventions.examples import batch_of, encode_examples
from attnwidget.interventions.unit_scores import read_unit_scores, unit_scores
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


def _read_losses(
    model: AttentionModel,
    replay: Replay,
    examples: Sequence[TextExample],
    *,
    units: Sequence[Changes],
    n_questions: int,
) -> Float64Array:
    """Return the losses of the intact model and with each unit changed, [1 + U, Q, B]; for workers.

    Args:
        model: The model.
        replay: The replay of the model's layers.
        examples: The B texts of a batch.
        units: The change of each head, in the order of the layers.
        n_questions: Number of questions to which texts are padded, Q.
    """
    passes = unit_scores(replay, batch_of(model, examples), units, "loss")
    losses = np.concatenate([numbers.cpu().numpy() for numbers in passes])
    found = np.full((len(losses), n_questions, len(examples)), np.nan)
    start = 0
    for item, example in enumerate(examples):
        stop = start + len(example.places)
        found[:, : stop - start, item] = losses[:, start:stop]
        start = stop
    return found


def question_losses(
    model: AttentionModel,
    texts: Sequence[Segment],
    heads: Sequence[Head],
    reference: Sequence[str | Segment],
    *,
    batch_size: int = 8,
    progress: bool | OnProgress = True,
) -> QuestionLosses:
    """Return the losses of single predictions with each head off in turn.

    The output of a head that is off is its mean output over the reference texts (mean ablation).

    Args:
        model: A language model of one stack.
        texts: The texts.
        heads: The heads; one head is off at a time.
        reference: Texts over which the outputs of the heads are averaged.
        batch_size: Number of texts of equal length in one pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            inputs read and their number (None if unknown).

    Raises:
        TypeError: The model has two stacks, or no language-modeling head.
        ValueError: The values of the heads are unknown, so outputs cannot be replaced.
        KeyboardInterrupt, RuntimeError, OSError, WorkersError: As in `ablate`.
    """
    examples = encode_examples(
        model,
        [Segment(text.first, text.second, roles=text.roles, turns=text.turns) for text in texts],
    )
    if not examples[0].targets:
        raise TypeError(f"{type(model.hf_model).__name__} predicts no words")
    ordered = sorted(heads)
    with model.lock.in_turn():
        with model.disabled(ordered, method="mean", reference=list(reference)):
            changes = model.edits.changes
        units = [{head: changes[head]} for head in ordered]
        n_questions = max(len(example.places) for example in examples)
        about = {
            "units": digest_of(ordered),
            "inputs": digest_of(examples),
            "reference": digest_of(reference),
            "batch_size": batch_size,
        }
        numbers, complete, _ = read_unit_scores(
            "question losses",
            about,
            model,
            partial(_read_losses, units=units, n_questions=n_questions),
            list(of_one_length(examples, batch_size, model.hf_model)),
            progress=progress,
            unit="text",
        )
    places = np.full((n_questions, len(examples)), -1, np.int64)
    for column, example in enumerate(examples):
        places[: len(example.places), column] = example.places
    return QuestionLosses(
        heads=tuple(ordered),
        texts=np.array([example.index for example in examples], np.int64),
        places=places,
        intact=numbers[0],
        without=numbers[1:],
        complete=complete,
    )
