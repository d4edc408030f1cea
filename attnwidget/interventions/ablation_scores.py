"""Scores of a model's predictions in ablation studies, one number per example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.hub_model.answer_logits import answer_logits
from attnwidget.corpus.argument_checks import one_of
from attnwidget.interventions.inputs_with_answers import Asked, ExampleBatch
from attnwidget.interventions.minimal_pairs import PairWords

Score: TypeAlias = (
    Literal["accuracy", "loss", "kl", "minimal pair", "minimal pair, all words"]
    | Callable[[Any, ExampleBatch], Any]
)
#: The scored words of minimal pairs, by score.
PAIR_SCORES: dict[str, PairWords | None] = {
    "minimal pair": None,
    "minimal pair, all words": "all",
}
SCORES = ("accuracy", "loss", "kl", *PAIR_SCORES)


def words_of(score: Score) -> PairWords | None:
    """Return the scored words of minimal pairs; None = the default of the model."""
    return None if callable(score) else PAIR_SCORES.get(score)


def check_score(score: Score, questions: Sequence[Asked]) -> None:
    """Raise an error if the score does not exist or does not apply to the examples.

    Raises:
        ValueError: an unknown score, or a score that does not apply.
    """
    if callable(score):
        return
    one_of("score", score, SCORES)
    pairs = any(question.sign < 0 for question in questions)
    if pairs and score in ("accuracy", "loss"):
        raise ValueError(f"minimal pairs have no {score}: score='minimal pair', or 'kl'")
    if not pairs and score in PAIR_SCORES:
        raise ValueError(f"score={score!r} takes MinimalPair examples; these are others")
    if score in ("accuracy", "loss") and not questions[0].targets:
        raise ValueError(
            f"score={score!r} takes examples with a label, (text, label): a classifier's segments "
            "have none"
        )


def input_numbers(
    score: Score,
    output: Any,
    batch: ExampleBatch,
    parts: int = 1,
    intact: Tensor | None = None,
    *,
    narrowed: bool = False,
) -> Tensor:
    """Return a score of each input, float64 [parts, B], from an output with `parts` batches.

    Args:
        score: the score.
        output: Output of the model.
        batch: The inputs and their questions.
        parts: Number of copies of the batch in the output.
        intact: The intact model's predictions for "kl", [P, V].
        narrowed: Whether the logits are only of the questions, [parts, P, V].

    Raises:
        ValueError: a function does not return one number per example.
    """
    if callable(score):
        scores = torch.as_tensor(
            score(output, batch), dtype=torch.float64, device=batch.rows.device
        ).detach()
        if scores.shape != (len(batch.asked),) or not bool(torch.isfinite(scores).all()):
            raise ValueError(
                f"a score gives one finite number an example, here {len(batch.asked)}; "
                f"{score_name(score)} gave {scores!r:.80}"
            )
        return scores[None]
    numbers = []
    for logits in answer_logits(output).chunk(parts):
        answers = torch.log_softmax(logits[0].float(), -1) if narrowed else batch.answers(logits)
        if score == "kl":
            before = answers if intact is None else intact
            values = (before.exp() * (before - answers)).sum(-1)
        else:
            targets = batch.targets
            assert targets is not None  # by check_score
            values = answers.gather(-1, targets[:, None])[:, 0]
            if score == "accuracy":
                values = answers.argmax(-1) == targets
            elif score == "loss":
                values = -values
        numbers.append(batch.per_input(values.double()))
    return torch.stack(numbers)


def loss_of_inputs(output: Any, batch: ExampleBatch) -> Tensor:
    """Return the mean cross entropy of each input's questions in nats, [B], with gradients."""
    n_questions = batch.per_input(
        torch.ones(len(batch.rows), dtype=torch.float32, device=batch.rows.device)
    )
    return log_loss_of_inputs(output, batch) / n_questions


def log_loss_of_inputs(output: Any, batch: ExampleBatch) -> Tensor:
    """Return minus the log probability of each input's answers in nats, [B], with gradients."""
    targets = batch.targets
    assert targets is not None  # minimal pairs have tokens to answer with
    values = -batch.answers(answer_logits(output)).gather(-1, targets[:, None])[:, 0]
    return batch.per_input(values)


def example_scores(
    score: Score, numbers: NDArray[np.float64], asked_questions: Sequence[Asked]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the scores of the examples that are done, and the indices of these examples.

    Args:
        score: the score.
        numbers: Scores of the I inputs, [U, I]; NaN for inputs that were not read.
        asked_questions: The I inputs.

    Returns:
        [U, N] and int [N].
    """
    examples = np.array([question.example for question in asked_questions])
    signs = np.array([question.sign for question in asked_questions], dtype=np.float64)
    questions = np.array(
        [max(1, len(question.places)) for question in asked_questions], dtype=np.float64
    )
    count = int(examples.max()) + 1
    sums = np.zeros((count, len(numbers)))
    of_pairs = not callable(score) and score in PAIR_SCORES
    np.add.at(sums, examples, (numbers * (signs if of_pairs else 1.0)).T)
    sums = sums.T
    if of_pairs:
        values = np.where(np.isnan(sums), np.nan, sums > 0)
    elif callable(score):
        values = sums
    else:
        values = sums / np.bincount(examples, questions, count)
    done = np.flatnonzero(~np.isnan(values).any(0))
    return values[:, done], done


def score_name(score: Score) -> str:
    """Return the name of the score in captions."""
    return getattr(score, "__name__", type(score).__name__) if callable(score) else score
