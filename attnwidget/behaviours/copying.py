"""Heads that promote or suppress the token they attend to, from their weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from attnwidget.behaviours.behaviour import Need, StudyBehaviour
from attnwidget.behaviours.behaviour_score import BehaviourScore
from attnwidget.behaviours.evidence import Evidence
from attnwidget.behaviours.not_applicable import NotApplicableError
from attnwidget.capture.model import AttentionModel
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import wilson_interval
from attnwidget.mechanisms.copying import N_NAMES, CopyingScores, copying_scores, known_names
from attnwidget.metrics.induction import start_and_vocabulary

_KINDS = {
    "copying": ("copying", "promotes the token that it attends to"),
    "negative copying": ("suppression", "suppresses the token that it attends to"),
}
_TOP = 5


class Copying(StudyBehaviour):
    """Share of names that a head copies or suppresses, against the other names.

    The study is `copying_scores`. The control of a head is the share of the other names among the
    tokens that the head promotes. A head with the same output for every name has an equal score and
    control. The test is a binomial test against this share, or against chance if chance is larger.
    """

    name = "copying"
    description = "promotes or suppresses the token that it attends to"
    source = "Wang et al. 2023; McDougall et al. 2023"
    needs: frozenset[Need] = frozenset({"circuits"})  # type: ignore[misc]

    def scores(self, evidence: Evidence) -> Sequence[BehaviourScore]:
        model = evidence.model
        try:
            ids = _names(model)
            halves = [copying_scores(model, names=ids[half::2]) for half in range(2)]
        except (TypeError, ValueError) as error:
            raise NotApplicableError(str(error)) from error
        chance = _TOP / int(model.hf_model.config.get_text_config().vocab_size)
        return [
            _score(name, kind, description, self.source, halves, chance)
            for name, (kind, description) in _KINDS.items()
        ]


def _names(model: AttentionModel) -> list[int]:
    """Return the ids of names; in a model without a tokenizer, of the first ordinary entries."""
    if model.tokenizer is not None:
        try:
            return known_names(model)
        except ValueError:
            pass  # a small vocabulary has few names
    return start_and_vocabulary(model)[1][:N_NAMES].tolist()


def _score(
    name: str,
    kind: str,
    description: str,
    source: str,
    halves: Sequence[CopyingScores],
    chance: float,
) -> BehaviourScore:
    (score, control), (held_out, held_out_control) = (_with_control(h, kind) for h in halves)
    n = len(halves[0].names)
    hits = np.nan_to_num(np.rint(score * n))
    low, high = wilson_interval(hits, n)
    base = np.nan_to_num(np.clip(control, chance, 1.0))
    return BehaviourScore(
        name=name,
        description=description,
        source=source,
        control_name="the other names",
        score=score,
        control=control,
        low=low - control,
        high=high - control,
        p=np.where(np.isnan(score), np.nan, binom.sf(hits - 1, n, base)),
        n=n,
        unit="name",
        held_out=held_out,
        held_out_control=held_out_control,
        held_out_n=len(halves[1].names),
        auc=np.full(score.shape, np.nan),
        writes=True,
    )


def _with_control(found: CopyingScores, kind: str) -> tuple[Float64Array, Float64Array]:
    return getattr(found, kind), getattr(found, f"{kind}_of_others")
