"""Heads that attend from a mention to an antecedent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnwidget.behaviours.behaviour import Need, StudyBehaviour
from attnwidget.behaviours.behaviour_score import BehaviourScore
from attnwidget.behaviours.evidence import Evidence
from attnwidget.behaviours.not_applicable import NotApplicableError
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import better_than, paired_interval
from attnwidget.text.mentions import MentionKind
from attnwidget.words.coreference_results import CoreferenceAccuracies, Evaluated


class Coreference(StudyBehaviour):
    """Share of mentions whose most attended word is an antecedent, against the nearest mention.

    The study is `probe_coreference` over all windows of the documents.
    """

    name = "coreference"
    description = "attends from a mention to an antecedent"
    source = "Clark et al. 2019, 4.3"
    needs: frozenset[Need] = frozenset({"documents"})  # type: ignore[misc]

    def scores(self, evidence: Evidence) -> Sequence[BehaviourScore]:
        if len(evidence.documents) < 2:
            raise NotApplicableError("coreference needs two documents, one for each half")
        first, second = evidence.coreference
        kinds = [_kind(first, mention) for mention in first.evaluated]
        if set(kinds) == {"pronoun"}:
            raise NotApplicableError(
                "all mentions with an antecedent are pronouns, a behaviour of its own"
            )
        heads, nearest = _right(first)
        n = len(heads)
        only_head = (heads & ~nearest).sum(0)
        only_nearest = (nearest & ~heads).sum(0)
        p = better_than(only_head, only_nearest).astype(float)
        p[list(first.without_attention)] = np.nan
        low, high = paired_interval(only_head.astype(float), only_nearest.astype(float), n)
        score = _share(heads, first)
        return [
            BehaviourScore(
                name=self.name,
                description=self.description,
                source=self.source,
                control_name="the nearest mention",
                score=score,
                control=np.full(score.shape, nearest.mean()),
                low=low,
                high=high,
                p=p,
                n=n,
                unit="mention",
                held_out=_share(_right(second)[0], second),
                held_out_control=np.full(score.shape, _right(second)[1].mean()),
                held_out_n=len(second.evaluated),
                auc=np.full(score.shape, np.nan),
            )
        ]


def _kind(found: CoreferenceAccuracies, evaluated: Evaluated) -> MentionKind:
    return found.documents[evaluated.document].mentions[evaluated.mention].kind


def _right(found: CoreferenceAccuracies) -> tuple[np.ndarray, np.ndarray]:
    """Return whether heads, and the nearest mention, are right: bool [E, L, H] and [E, 1, 1]."""
    nearest = [mention.baselines[0] in mention.antecedents for mention in found.evaluated]
    return found.is_correct[:, 0], np.array(nearest)[:, None, None]


def _share(right: np.ndarray, found: CoreferenceAccuracies) -> Float64Array:
    share: Float64Array = right.mean(0, dtype=np.float64)
    share[list(found.without_attention)] = np.nan
    return share
