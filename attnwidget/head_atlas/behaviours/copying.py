"""Heads that promote or suppress the token they attend to, from their weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from attnwidget.capture.model import AttentionModel
from attnwidget.head_atlas.behaviours.behaviour import Need, StudyBehaviour
from attnwidget.head_atlas.behaviours.behaviour_score import BehaviourScore
from attnwidget.head_atlas.behaviours.evidence import Evidence
from attnwidget.head_atlas.behaviours.not_applicable import NotApplicableError
from attnwidget.kernels.arrays import Float64Array
from attnwidget.mechanisms.copying import N_NAMES, CopyingScores, copying_scores, known_names
from attnwidget.probes.untrained_model import untrained_like
from attnwidget.studies.metrics.induction import start_and_vocabulary
from attnwidget.studies.significance import wilson_interval

_KINDS = {
    "copying": ("copying", "promotes the token that it attends to"),
    "negative copying": ("suppression", "suppresses the token that it attends to"),
}
_TOP = 5


class Copying(StudyBehaviour):
    """Share of names that a head copies or suppresses, against the model with random weights.

    The study is `copying_scores`. The test is a binomial test against the share in the model with
    random weights, or against chance if chance is larger.
    """

    name = "copying"
    description = "promotes or suppresses the token that it attends to"
    source = "Wang et al. 2023; McDougall et al. 2023"
    needs: frozenset[Need] = frozenset({"circuits"})  # type: ignore[misc]

    def scores(self, evidence: Evidence) -> Sequence[BehaviourScore]:
        model = evidence.model
        try:
            ids = _names(model)
            first, second = (copying_scores(model, names=ids[half::2]) for half in range(2))
            random = copying_scores(untrained_like(model, seed=evidence.seed), names=ids)
        except (TypeError, ValueError) as error:
            raise NotApplicableError(str(error)) from error
        chance = _TOP / int(model.hf_model.config.get_text_config().vocab_size)
        return [
            _score(name, kind, description, self.source, (first, second, random), chance)
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
    parts: tuple[CopyingScores, CopyingScores, CopyingScores],
    chance: float,
) -> BehaviourScore:
    first, second, random = parts
    score: Float64Array = getattr(first, kind)
    base = float(np.nanmean(getattr(random, kind)))
    n = len(first.names)
    hits = np.rint(score * n)
    low, high = wilson_interval(np.nan_to_num(hits), n)
    p = np.where(np.isnan(score), np.nan, binom.sf(hits - 1, n, min(1.0, max(base, chance))))
    return BehaviourScore(
        name=name,
        description=description,
        source=source,
        control_name="the model with random weights",
        score=score,
        control=np.full(score.shape, base),
        low=low - base,
        high=high - base,
        p=p,
        n=n,
        unit="name",
        held_out=getattr(second, kind),
        held_out_control=np.full(score.shape, base),
        held_out_n=len(second.names),
        auc=np.full(score.shape, np.nan),
    )
