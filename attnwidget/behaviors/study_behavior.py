"""Behaviors that are scored in a separate study, and the error if a study does not apply."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from attnwidget.behaviors.behavior import Behavior
from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.evidence import Evidence


class NotApplicableError(ValueError):
    """A behavior has no score for this model or data; the message gives the reason."""


class StudyBehavior(Behavior):
    """Behaviors that are scored in a separate study, for example the relations of a treebank.

    The `name` of the study is not the name of a behavior: each `BehaviorScore` has its own name.
    """

    @abstractmethod
    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        """Run the study and return the scores of its behaviors.

        Raises:
            NotApplicableError: If the model or the data do not allow the study.
            KeyboardInterrupt: Ctrl-C.
        """
