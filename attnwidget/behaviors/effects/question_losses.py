"""Losses of single predictions with each of several heads disabled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.edits import Change
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
    """Losses of all questions of N texts, in the intact model and with each of U heads disabled.

    A question is a token that the model predicts: 15 % of the tokens for a masked language model,
    every next token for a causal model.

    Attributes:
        heads: U heads.
        texts: Index of the text of each input, int64 [N].
        places: Position of the token at which the model predicts, int64 [Q, N]; -1 pads texts with
            fewer questions.
        intact: Loss of the intact model in nats, [Q, N]; NaN pads texts with fewer questions.
        without: Loss with each head disabled, [U, Q, N].
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
        model: Language model.
        replay: Replay of the model's layers.
        examples: B texts of a batch.
        units: Change of each head, in layer order.
        n_questions: Number of questions Q to which texts are padded.
    """
    passes = unit_scores(replay, batch_of(model, examples), units, "loss")
    losses = np.concatenate([numbers.cpu().numpy() for numbers in passes])
    return padded_losses(losses, examples, n_questions)


def padded_losses(
    losses: Float64Array, examples: Sequence[TextExample], n_questions: int
) -> Float64Array:
    """Return the losses of the questions of each text, [U, Q, B], padded with NaN.

    Args:
        losses: Losses of all questions, text by text, [U, P].
        examples: B texts.
        n_questions: Number of questions Q to which texts are padded.
    """
    padded = np.full((len(losses), n_questions, len(examples)), np.nan)
    start = 0
    for item, example in enumerate(examples):
        stop = start + len(example.places)
        padded[:, : stop - start, item] = losses[:, start:stop]
        start = stop
    return padded


def mean_changes(
    model: AttentionModel, heads: Sequence[Head], reference: Sequence[str | Segment]
) -> dict[Head, Change]:
    """Return the replacement of each head by its mean output over reference texts.

    Raises:
        ValueError: If the values of the heads are unknown, so that outputs cannot be replaced.
    """
    with model.disabled(heads, method="mean", reference=list(reference)):
        changes = model.edits.changes
    return {head: changes[head] for head in heads}


def question_losses(
    model: AttentionModel,
    texts: Sequence[Segment],
    heads: Sequence[Head],
    reference: Sequence[str | Segment],
    *,
    batch_size: int = 8,
    progress: bool | OnProgress = True,
) -> QuestionLosses:
    """Return the losses of single predictions with each head disabled in turn.

    The output of a disabled head is replaced by its mean output over the reference texts (mean
    ablation).

    Args:
        model: Language model with a single stack.
        texts: Texts in which tokens are predicted.
        heads: Heads, which are disabled one at a time.
        reference: Texts over which the outputs of the heads are averaged.
        batch_size: Number of texts of equal length in a forward pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Raises:
        TypeError: If the model has two stacks or no language-modeling head.
        ValueError: If the values of the heads are unknown, so that outputs cannot be replaced.
        KeyboardInterrupt, RuntimeError, OSError, WorkersError: As in `ablate`.
    """
    examples = encode_examples(
        model,
        [Segment(text.first, text.second, roles=text.roles, turns=text.turns) for text in texts],
    )
    if not examples[0].targets:
        raise TypeError(f"{type(model.hf_model).__name__} predicts no words")
    sorted_heads = sorted(heads)
    with model.lock.in_turn():
        units = [{h: change} for h, change in mean_changes(model, sorted_heads, reference).items()]
        n_questions = max(len(example.places) for example in examples)
        study_key = {
            "units": digest_of(sorted_heads),
            "inputs": digest_of(examples),
            "reference": digest_of(reference),
            "batch_size": batch_size,
        }
        numbers, complete, _ = read_unit_scores(
            "question losses",
            study_key,
            model,
            partial(_read_losses, units=units, n_questions=n_questions),
            list(of_one_length(examples, batch_size, model.hf_model)),
            progress=progress,
            unit="text",
        )
    token_positions = np.full((n_questions, len(examples)), -1, np.int64)
    for column, example in enumerate(examples):
        token_positions[: len(example.places), column] = example.places
    return QuestionLosses(
        heads=tuple(sorted_heads),
        texts=np.array([example.index for example in examples], np.int64),
        places=token_positions,
        intact=numbers[0],
        without=numbers[1:],
        complete=complete,
    )
