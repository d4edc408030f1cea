"""Heads that promote or suppress the attended token, measured from their weights."""

from __future__ import annotations

from collections.abc import Sequence

from attnwidget.behaviors.behavior import Need
from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, binomial_test
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.study_behavior import NotApplicableError, StudyBehavior
from attnwidget.capture.model import AttentionModel
from attnwidget.mechanisms.copying import N_NAMES, CopyingScores, copying_scores, known_names
from attnwidget.metrics.induction import start_and_vocabulary

_KINDS = {
    "copying": ("copying", "promotes the token that it attends to"),
    "negative copying": ("suppression", "suppresses the token that it attends to"),
}
_TOP = 5


class Copying(StudyBehavior):
    """Share of names that a head copies or suppresses, compared with the other names.

    The study is `copying_scores`, with half of the names at a time: "copying" is its `copying`,
    and "negative copying" its `suppression`. The control of a head is the share of the other names
    among the tokens that it promotes. If the output of a head is the same for every name, score and
    control are equal. A binomial test compares the score with the control, or with chance if chance
    is larger.
    """

    name = "copying"
    description = "promotes or suppresses the token that it attends to"
    source = "Wang et al. 2023; McDougall et al. 2023"
    needs: frozenset[Need] = frozenset({"circuits"})

    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        model = evidence.model
        try:
            ids = _names(model)
            halves = [copying_scores(model, names=ids[half::2]) for half in range(2)]
        except (TypeError, ValueError) as error:
            raise NotApplicableError(str(error)) from error
        chance = _TOP / int(model.hf_model.config.get_text_config().vocab_size)
        scores = []
        for name, (kind, description) in _KINDS.items():
            first, held_out = (_half(result, kind) for result in halves)
            scores.append(
                BehaviorScore.from_halves(
                    self,
                    first,
                    held_out,
                    binomial_test(*first, chance=chance),
                    name=name,
                    description=description,
                    control_name="the other names",
                    unit="name",
                    writes=True,
                )
            )
        return scores


def _names(model: AttentionModel) -> list[int]:
    """Return the ids of names, or of the first ordinary entries if there is no tokenizer."""
    if model.tokenizer is not None:
        try:
            return known_names(model)
        except ValueError:
            pass  # A small vocabulary has few names.
    return start_and_vocabulary(model)[1][:N_NAMES].tolist()


def _half(found: CopyingScores, kind: str) -> HalfScore:
    return HalfScore(getattr(found, kind), getattr(found, f"{kind}_of_others"), len(found.names))


BEHAVIORS = (Copying(),)
