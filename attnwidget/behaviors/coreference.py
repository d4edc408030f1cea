"""Heads that attend from a mention to an antecedent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior import Need
from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, paired_test
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.study_behavior import NotApplicableError, StudyBehavior
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.mentions import MentionKind
from attnwidget.words.coreference_results import CoreferenceAccuracies, Evaluated


class Coreference(StudyBehavior):
    """Share of mentions whose most attended word is an antecedent.

    The control is the nearest mention. The study is `probe_coreference` over all windows of the
    documents.
    """

    name = "coreference"
    description = "attends from a mention to an antecedent"
    source = "Clark et al. 2019, 4.3"
    needs: frozenset[Need] = frozenset({"documents"})
    family = "pronoun"

    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        if len(evidence.documents) < 2:
            raise NotApplicableError("coreference needs two documents, one for each half")
        first, second = evidence.coreference
        kinds = [_kind(first, mention) for mention in first.evaluated]
        if set(kinds) == {"pronoun"}:
            raise NotApplicableError(
                "all mentions with an antecedent are pronouns, a behavior of its own"
            )
        heads, nearest = _right(first)
        return [
            BehaviorScore.from_halves(
                self,
                _half(first),
                _half(second),
                paired_test(heads, nearest),
                control_name="the nearest mention",
                unit="mention",
            )
        ]


def share_right(right: NDArray[np.bool_], found: CoreferenceAccuracies) -> Float64Array:
    """Return the share of mentions for which each head is correct, [L, H]; NaN without attention.

    Args:
        right: Whether each head is correct, per mention, [N, L, H].
        found: Result of the coreference study.
    """
    share: Float64Array = (
        right.mean(0, dtype=np.float64) if len(right) else np.full(right.shape[1:], np.nan)
    )
    share[list(found.layers_without_attention)] = np.nan
    return share


def _half(found: CoreferenceAccuracies) -> HalfScore:
    heads, nearest = _right(found)
    score = share_right(heads, found)
    return HalfScore(score, np.full(score.shape, nearest.mean()), len(found.evaluated))


def _kind(found: CoreferenceAccuracies, evaluated: Evaluated) -> MentionKind:
    return found.documents[evaluated.document].mentions[evaluated.mention].kind


def _right(found: CoreferenceAccuracies) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether heads and the nearest mention are correct: bool [E, L, H] and [E, 1, 1]."""
    nearest = [mention.baselines[0] in mention.antecedents for mention in found.evaluated]
    return found.is_correct[:, 0], np.array(nearest)[:, None, None]


BEHAVIORS = (Coreference(),)
