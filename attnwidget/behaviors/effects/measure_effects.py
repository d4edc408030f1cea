"""Effects of named heads at the tokens to which their behaviors apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.corpus_texts import CORPORA, Corpus, corpus_texts
from attnwidget.behaviors.effects.head_effect import RANDOM_HEADS, HeadEffect, head_effect
from attnwidget.behaviors.effects.question_losses import QuestionLosses, question_losses
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.batches import BatchMaker
from attnwidget.corpus.resume_file import ResumeFileError
from attnwidget.text.segments import Segment

#: Number of texts over which the outputs of a head are averaged.
REFERENCE_TEXTS = 16


@dataclass(frozen=True, eq=False)
class MeasuredEffects:
    """Effects of named heads.

    Attributes:
        effects: Effect of each head whose name has a rule.
        without: Reason why some heads have no effect; "" if every head has one.
        complete: False if the study was interrupted.
    """

    effects: Mapping[Head, HeadEffect]
    without: str
    complete: bool


def measure_effects(
    evidence: Evidence, names: Mapping[Head, BehaviorScore], *, n_texts: int
) -> MeasuredEffects:
    """Return the effects of heads at the tokens where the rules of their names apply.

    The texts come from the held-out half of the data. The output of a disabled head is replaced by
    its mean output over texts of the other half.

    Args:
        evidence: Model and data.
        names: Behavior of each head.
        n_texts: Largest number of texts of each corpus.

    Raises:
        ValueError: If a resume file belongs to another study.
        RuntimeError, OSError, WorkersError: As in `ablate`.
    """
    effects: dict[Head, HeadEffect] = {}
    without = ""
    complete = True
    for corpus in CORPORA:
        heads = {head: score for head, score in names.items() if score.corpus == corpus}
        if not heads:
            continue
        texts, reference = held_out_texts(evidence, corpus, n_texts)
        if not texts or not reference:
            without = f"there are too few texts in the {corpus}"
            continue
        try:
            with evidence.run.keeping(f"effects-{corpus}", f"effects in the {corpus}"):
                losses = question_losses(
                    evidence.model,
                    texts,
                    _with_others(heads, evidence),
                    reference,
                    batch_size=evidence.run.batch_size,
                    progress=evidence.run.progress,
                )
        except KeyboardInterrupt:
            complete = False
            break
        except ResumeFileError:
            raise  # This ValueError is about the resume file, not about the model.
        except (TypeError, ValueError) as error:
            # The model has no language-modeling head, or does not expose its values.
            without = str(error)
            continue
        complete &= losses.complete
        rules = {score.name: score.rule for score in heads.values() if score.rule is not None}
        fires = {name: _fires(evidence, rule, texts, losses) for name, rule in rules.items()}
        for head, score in heads.items():
            effects[head] = head_effect(
                score.name, head, losses, fires[score.name], seed=evidence.seed
            )
        if not complete:
            break
    return MeasuredEffects(effects, without, complete)


def held_out_texts(
    evidence: Evidence, corpus: Corpus, n_texts: int
) -> tuple[list[Segment], list[Segment]]:
    """Return texts of the held-out half, and reference texts of the other half."""
    halves: tuple[list[Segment], list[Segment]] = ([], [])
    for half, segment in corpus_texts(evidence, corpus):
        halves[half].append(segment)
    return halves[1][:n_texts], halves[0][:REFERENCE_TEXTS]


def _with_others(names: Mapping[Head, BehaviorScore], evidence: Evidence) -> list[Head]:
    """Return the named heads, and up to ten other heads of each of their layers."""
    heads = set(names)
    n_heads = evidence.model.n_heads
    for head in names:
        others = [number for number in range(n_heads) if number != head.head]
        draw = np.random.default_rng([evidence.seed, head.layer, head.head])
        size = min(RANDOM_HEADS, len(others))
        heads |= {Head(head.layer, int(i)) for i in draw.choice(others, size, replace=False)}
    return sorted(heads)


def _fires(
    evidence: Evidence, rule: LinkRule, texts: Sequence[Segment], losses: QuestionLosses
) -> NDArray[np.bool_]:
    """Return whether a rule predicts a link from the token of each question, bool [Q, N]."""
    model = evidence.model
    backbone = model.hf_model.base_model
    maker = BatchMaker(model, backbone, None, {})
    fires = np.zeros(losses.places.shape, bool)
    for column, text in enumerate(losses.texts):
        batch = maker([texts[text]])
        links = rule.visible_links(batch, causal=evidence.causal)[0].any(-1).cpu().numpy()
        is_question = losses.places[:, column] >= 0
        fires[is_question, column] = links[losses.places[is_question, column]]
    return fires
