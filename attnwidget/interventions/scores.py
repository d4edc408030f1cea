"""Scores of model answers: their names, the examples to which they apply, and their formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.argument_checks import one_of
from attnwidget.inputs.example import ExampleBatch, StudyExample
from attnwidget.interventions.pair_sentences import PairWords

#: A function of the model's output and the batch, which returns one number per input.
ScoreFunction: TypeAlias = Callable[[Any, ExampleBatch], Any]
Score: TypeAlias = (
    Literal["accuracy", "loss", "kl", "minimal pair", "minimal pair, all words"] | ScoreFunction
)
PatchScore: TypeAlias = Literal["logit difference", "loss", "accuracy"] | ScoreFunction
#: Scored words of minimal pairs, by score.
PAIR_SCORES: dict[str, PairWords | None] = {
    "minimal pair": None,
    "minimal pair, all words": "all",
}
#: Scores of `ablate` by name.
SCORES = ("accuracy", "loss", "kl", *PAIR_SCORES)
#: Scores of `patch_heads` by name.
PATCH_SCORES = ("logit difference", "loss", "accuracy")


def score_name(score: str | ScoreFunction) -> str:
    """Return the name of the score for captions."""
    return getattr(score, "__name__", type(score).__name__) if callable(score) else score


def check_name(score: str | ScoreFunction, names: Sequence[str]) -> None:
    """Raise ValueError for a score that is neither a function nor one of the names."""
    if not callable(score):
        one_of("scoring", score, names)


def check_score(score: str | ScoreFunction, examples: Sequence[StudyExample]) -> None:
    """Raise ValueError for an unknown score, or a score that does not fit the examples."""
    check_name(score, SCORES)
    has_pairs = any(example.sign < 0 for example in examples)
    if has_pairs and score in ("accuracy", "loss"):
        raise ValueError(f"minimal pairs have no {score}: scoring='minimal pair', or 'kl'")
    if not has_pairs and score in PAIR_SCORES:
        raise ValueError(
            f"scoring={score!r} takes pairs of sentences, and these examples are others: pass a "
            "list of MinimalPair('The girl washed herself.', 'The girl washed himself.')"
        )
    if score in ("accuracy", "loss") and not examples[0].targets:
        raise ValueError(
            f"scoring={score!r} takes examples with a label, (text, label): a classifier's "
            "segments have none"
        )


def scored_words(score: str | ScoreFunction | None) -> PairWords | None:
    """Return the scored words of minimal pairs; None = the default of the model."""
    return None if score is None or callable(score) else PAIR_SCORES.get(score)


def question_scores(
    score: str, logits: Tensor, batch: ExampleBatch, intact: Tensor | None = None
) -> Tensor:
    """Return a score for each question, [P].

    Args:
        score: Name of the score: "accuracy"; "loss" (nats); "log probability" of the answer, also
            under the names of the minimal pair scores; "kl", the divergence from the intact model;
            "logit difference" of log probabilities, the answer minus its rival; "difference of
            logits", the same difference of the logits in float64.
        logits: Logits of the questions, [P, V].
        batch: Batch with the questions.
        intact: Logits of the intact model; None if `logits` come from the intact model.
    """
    if score == "difference of logits":
        return _of_answers(logits.double(), batch.targets) - _of_answers(
            logits.double(), batch.rivals
        )
    answers = torch.log_softmax(logits.float(), -1)
    if score == "kl":
        intact_answers = answers if intact is None else torch.log_softmax(intact.float(), -1)
        return (intact_answers.exp() * (intact_answers - answers)).sum(-1)
    if score == "accuracy":
        assert batch.targets is not None
        return answers.argmax(-1).eq(batch.targets)
    answer_scores = _of_answers(answers, batch.targets)
    if score == "loss":
        return -answer_scores
    return (
        answer_scores - _of_answers(answers, batch.rivals)
        if score == "logit difference"
        else answer_scores
    )


def _of_answers(values: Tensor, ids: Tensor | None) -> Tensor:
    """Return the value of one answer to each question, [P], from values [P, V]."""
    assert ids is not None  # `check_score` refuses examples without answers.
    return values.gather(-1, ids[:, None])[:, 0]


def output_scores(
    score: str | ScoreFunction,
    output: Any,
    batch: ExampleBatch,
    parts: int = 1,
    intact: Tensor | None = None,
    *,
    narrowed: bool = False,
) -> Tensor:
    """Return a score for each question in an output with `parts` copies of a batch.

    Args:
        score: Name of a score in `question_scores`, or a function.
        output: Output of the model.
        batch: Inputs and their questions.
        parts: Number of copies of the batch in the output; 1 for a function.
        intact: Logits of the questions in the intact model for "kl", [P, V].
        narrowed: Whether the logits only cover the questions, [parts, P, V].

    Returns:
        Scores, float64 [parts, P]; [1, B] for a function.

    Raises:
        ValueError: If a function does not return one number per input.
    """
    if not callable(score):
        copies = batch.logits(output, parts, narrowed=narrowed)
        numbers = [question_scores(score, logits, batch, intact).double() for logits in copies]
        return torch.stack(numbers)
    scores = torch.as_tensor(
        score(output, batch), dtype=torch.float64, device=batch.rows.device
    ).detach()
    n_inputs = len(batch.questions)
    if scores.shape != (n_inputs,) or not bool(torch.isfinite(scores).all()):
        raise ValueError(
            f"a score gives one finite number an example, here {n_inputs}; "
            f"{score_name(score)} gave {scores!r:.80}"
        )
    return scores[None]


def input_scores(score: str | ScoreFunction, numbers: Tensor, batch: ExampleBatch) -> Tensor:
    """Return the sum over the questions of each input, [k, B], from `output_scores`."""
    return numbers if callable(score) else batch.per_input(numbers)


def example_scores(
    score: Score, numbers: NDArray[np.float64], inputs: Sequence[StudyExample]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the scores of the finished examples, and the indices of these examples.

    Args:
        score: Score of an example.
        numbers: Scores of the I inputs, [U, I]; NaN for unfinished inputs.
        inputs: Inputs of the study (I).

    Returns:
        Scores [U, N] and example indices, int [N].
    """
    examples = np.array([example.index for example in inputs])
    signs = np.array([example.sign for example in inputs], dtype=np.float64)
    n_questions = np.array([max(1, len(example.places)) for example in inputs], dtype=np.float64)
    count = int(examples.max()) + 1
    sums = np.zeros((count, len(numbers)))
    are_pairs = not callable(score) and score in PAIR_SCORES
    np.add.at(sums, examples, (numbers * (signs if are_pairs else 1.0)).T)
    sums = sums.T
    if are_pairs:
        values = np.where(np.isnan(sums), np.nan, sums > 0)
    elif callable(score):
        values = sums
    else:
        values = sums / np.bincount(examples, n_questions, count)
    finished = np.flatnonzero(~np.isnan(values).any(0))
    return values[:, finished], finished
