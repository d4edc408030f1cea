"""Answers to a figure's questions, which a background thread computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from attnwidget.inputs.advised_error import on_page
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.head_widget import HeadWidget

Question = TypeVar("Question")


class BackgroundAnswers(HeadWidget):
    """Figure with slow questions. An answer to a replaced question is never shown.

    A subclass either declares the trait `_problem`, which shows the error of a failed question, or
    overrides `_failed`.
    """

    #: Names of the thread's jobs, one per question, the most urgent first.
    jobs: ClassVar[tuple[str, ...]]
    _problem: Any

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. Questions can be asked while the constructor sets traits."""
        super().setup_instance(*args, **kwargs)
        # Current question of each job. The thread compares with these questions and does not read
        # computed traits, because it would then compute these traits itself.
        self._questions: dict[str, object] = {}
        self._background = Background(self.jobs, self._failed)

    def _ask(
        self,
        job: str,
        question: Question | None,
        answer: Callable[[Question], Job],
        *,
        delay: float = 0.0,
    ) -> None:
        """Replace the current question of a job.

        Args:
            job: Name of the job that computes the answer.
            question: New question; None = no question. Questions are compared by identity.
            answer: Function that returns the work for a question.
            delay: Seconds before the work starts.
        """
        self._questions[job] = question
        if question is None:
            self._background.remove(job)
        else:
            self._background.add(job, answer(question), delay=delay)
            self._background.start()

    def _is_asked_now(self, job: str, question: object) -> bool:
        """Return True if the figure still waits for the answer to a question."""
        return self._questions.get(job) is question and not self._background.closed

    def _unless_replaced(
        self, job: str, question: object, show: Callable[[], None]
    ) -> Callable[[], None]:
        """Return a function that shows an answer unless its question has been replaced."""

        def show_answer() -> None:
            with self._lock:
                if self._is_asked_now(job, question):
                    show()

        return show_answer

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all answers are available.

        Args:
            timeout: Time limit in seconds; None = no limit.

        Returns:
            False if the time limit was reached, otherwise True.

        Raises:
            Exception: If an answer could not be computed. The figure shows the error too.
        """
        return self._background.wait(timeout)

    def _failed(self, job: str, error: Exception) -> None:
        """Show the error of a failed question."""
        with self._lock:
            self._problem = on_page(error)

    def _suspend(self) -> None:
        """Leave the page; remaining answers wait for `wait` or `_resume`."""
        self._background.pause()
        super()._suspend()

    def _resume(self) -> None:
        """Return to the page and continue to compute."""
        if not self._is_suspended:
            return
        super()._resume()
        if self._background.started:
            self._background.start()

    def close(self) -> None:
        """Stop background work and close the figure."""
        self._background.close()
        super().close()
