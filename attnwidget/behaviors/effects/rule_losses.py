"""Losses of single predictions with heads replaced by their mean output, or by a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.behaviors.effects.question_losses import mean_changes, padded_losses
from attnwidget.behaviors.effects.rule_links import RuleLinks, weights_of_links
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.edit_methods import RULED
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Replay
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.inputs.example import TextExample
from attnwidget.interventions.examples import batch_of, encode_examples
from attnwidget.interventions.unit_scores import read_unit_scores, unit_scores
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.segments import Segment

#: Replacements of a head, in the order of `RuleLosses.replaced`.
REPLACEMENTS = ("off", "rule", "wrong rule")


@dataclass(frozen=True, eq=False)
class RuleLosses:
    """Losses of all questions of N texts, with each of U heads replaced in three ways.

    Attributes:
        heads: U heads.
        texts: Index of the text of each input, int64 [N].
        places: Position of the token at which the model predicts, int64 [Q, N]; -1 pads texts with
            fewer questions.
        intact: Loss of the intact model in nats, [Q, N]; NaN pads texts with fewer questions.
        replaced: Loss with each head replaced, by `REPLACEMENTS`, [U, 3, Q, N].
        complete: False if the study was interrupted.
    """

    heads: tuple[Head, ...]
    texts: NDArray[np.int64]
    places: NDArray[np.int64]
    intact: Float64Array
    replaced: Float64Array
    complete: bool


def rule_losses(
    model: AttentionModel,
    texts: Sequence[Segment],
    links: Mapping[Head, Sequence[RuleLinks]],
    reference: Sequence[str | Segment],
    *,
    batch_size: int,
    progress: bool | OnProgress,
) -> RuleLosses:
    """Return the losses of single predictions with each head replaced in turn.

    "off" replaces the output of the head by its mean output over the reference texts. "rule"
    replaces its weights by equal weights over the links of the rule; a query without links has the
    mean output. "wrong rule" does the same with wrong links.

    Args:
        model: Language model with a single stack.
        texts: Texts in which tokens are predicted.
        links: Links of the rule of each head, for each text.
        reference: Texts over which the outputs of the heads are averaged.
        batch_size: Number of texts of equal length in a forward pass.
        progress: Whether to show a progress bar, as in `question_losses`.

    Raises:
        TypeError, ValueError, KeyboardInterrupt, RuntimeError, OSError, WorkersError: As in
            `question_losses`.
    """
    examples = encode_examples(
        model,
        [Segment(text.first, text.second, roles=text.roles, turns=text.turns) for text in texts],
    )
    if not examples[0].targets:
        raise TypeError(f"{type(model.hf_model).__name__} predicts no words")
    heads = sorted(links)
    with model.lock.in_turn():
        off = mean_changes(model, heads, reference)
        n_questions = max(len(example.places) for example in examples)
        study_key = {
            "units": digest_of(heads),
            "inputs": digest_of(examples),
            "reference": digest_of(reference),
            "links": digest_of(
                np.packbits(side).tobytes()
                for head in heads
                for text in links[head]
                for side in (text.right, text.wrong)
            ),
            "batch_size": batch_size,
        }
        numbers, complete, _ = read_unit_scores(
            "rule losses",
            study_key,
            model,
            partial(_read_losses, off=off, links=links, n_questions=n_questions),
            list(of_one_length(examples, batch_size, model.hf_model)),
            progress=progress,
            unit="text",
        )
    places = np.full((n_questions, len(examples)), -1, np.int64)
    for column, example in enumerate(examples):
        places[: len(example.places), column] = example.places
    return RuleLosses(
        heads=tuple(heads),
        texts=np.array([example.index for example in examples], np.int64),
        places=places,
        intact=numbers[0],
        replaced=numbers[1:].reshape(len(heads), len(REPLACEMENTS), *numbers.shape[1:]),
        complete=complete,
    )


def _read_losses(
    model: AttentionModel,
    replay: Replay,
    examples: Sequence[TextExample],
    *,
    off: Mapping[Head, Change],
    links: Mapping[Head, Sequence[RuleLinks]],
    n_questions: int,
) -> Float64Array:
    """Return the losses of the intact model and with each replacement, [1 + 3 U, Q, B]."""
    units = []
    for head, change in off.items():
        texts = [links[head][example.index] for example in examples]
        units.append({head: change})
        for said, sides in (
            ("its rule", [text.right for text in texts]),
            ("a wrong rule", [text.wrong for text in texts]),
        ):
            weights = torch.from_numpy(np.stack([weights_of_links(side) for side in sides]))
            units.append({head: Change(RULED, said, output=change.output, weights=weights)})
    passes = unit_scores(replay, batch_of(model, examples), units, "loss")
    losses = np.concatenate([numbers.cpu().numpy() for numbers in passes])
    return padded_losses(losses, examples, n_questions)
