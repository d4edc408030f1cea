"""Behaviours that are scored in a separate study, and the error of a study that does not apply."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from attnwidget.behaviours.behaviour import Behaviour
from attnwidget.behaviours.behaviour_score import BehaviourScore
from attnwidget.behaviours.evidence import Evidence


class NotApplicableError(ValueError):
    """A behaviour has no score for this model or data; the message has the reason."""


class StudyBehaviour(Behaviour):
    """Behaviours that are scored in a separate study, for example the relations of a treebank.

    The `name` of the study is not the name of a behaviour: each `BehaviourScore` has a name.
    """

    @abstractmethod
    def scores(self, evidence: Evidence) -> Sequence[BehaviourScore]:
        """Run the study, and return the scores of its behaviours.

        Raises:
            NotApplicableError: The model or the data do not allow the study.
            KeyboardInterrupt: Ctrl-C.
        """
