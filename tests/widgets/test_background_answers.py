"""Answers that a thread finds: shown for the present question, and for no former one."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
import traitlets

from attnwidget import Attention
from attnwidget.widgets.head_grid import HeadGrid
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.background_answers import BackgroundAnswers


class Asking(BackgroundAnswers, HeadGrid):
    """A figure that answers with the question itself."""

    jobs = ("slow",)
    kind = "head_grid"
    answer = traitlets.Any(None)
    _problem = traitlets.Unicode().tag(sync=True)

    def __init__(self) -> None:
        self.computed = threading.Event()
        self.may_show = threading.Event()
        self.asked_still: list[bool] = []
        super().__init__(Attention.from_weights(np.ones((1, 1, 1, 1)), ["a"]))

    def ask(self, question: object) -> None:
        self._ask("slow", question, self._work)

    def _work(self, question: Any) -> Job:
        if isinstance(question, Exception):
            raise question
        yield None
        self.computed.set()
        assert self.may_show.wait(30)
        self.asked_still.append(self._is_asked_now("slow", question))
        yield self._unless_replaced("slow", question, partial(setattr, self, "answer", question))


def test_the_answer_to_the_present_question_appears() -> None:
    figure = Asking()
    figure.may_show.set()
    figure.ask(["first"])
    assert figure.wait(30)
    assert figure.answer == ["first"] and figure.asked_still == [True]


@pytest.mark.parametrize("later", [["first"], None])
def test_the_answer_to_a_former_question_does_not_appear(later: object) -> None:
    """A question that is equal to the former one is another question."""
    figure = Asking()
    figure.ask(["first"])
    assert figure.computed.wait(30)
    figure.ask(later)
    figure.may_show.set()
    assert figure.wait(30)
    assert figure.answer is later
    assert figure.asked_still[0] is False


def test_a_closed_figure_shows_no_answer() -> None:
    figure = Asking()
    figure.ask(["first"])
    assert figure.computed.wait(30)
    figure.close()
    figure.may_show.set()
    figure._background._thread.join(30)
    assert figure.answer is None and figure.asked_still == [False]


def test_an_error_is_shown_and_raised() -> None:
    figure = Asking()
    figure.ask(ValueError("no answer"))
    with pytest.raises(ValueError, match="no answer"):
        figure.wait(30)
    assert "no answer" in figure._problem
