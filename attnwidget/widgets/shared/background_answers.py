"""Answers about what a figure shows, found in a thread beside the notebook's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from attnwidget.inputs.advised_error import on_page
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.head_widget import HeadWidget

Question = TypeVar("Question")


class BackgroundAnswers(HeadWidget):
    """A figure with questions that take long. An answer to a former question never appears.

    A subclass declares the trait `_problem`, which shows why an answer could not be found, or
    replaces `_failed`.
    """

    #: The jobs of the thread, one for each question, the most urgent first.
    jobs: ClassVar[tuple[str, ...]]
    _problem: Any

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. Questions can be asked while the constructor sets traits."""
        super().setup_instance(*args, **kwargs)
        # By job. The thread compares with these questions, and reads no computed trait, since it
        # would then compute that trait itself.
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
        """Ask a question in place of the former question; None = no question.

        Args:
            job: The job that finds the answer.
            question: The question. A job belongs to one object, and equal questions differ.
            answer: Returns the work of the job.
            delay: Seconds before the work begins.
        """
        self._questions[job] = question
        if question is None:
            self._background.remove(job)
        else:
            self._background.add(job, answer(question), delay=delay)
            self._background.start()

    def _is_asked_now(self, job: str, question: object) -> bool:
        """Whether the figure still waits for the answer to a question."""
        return self._questions.get(job) is question and not self._background.closed

    def _unless_replaced(
        self, job: str, question: object, show: Callable[[], None]
    ) -> Callable[[], None]:
        """Return a function for a job to yield, which shows the answer to the present question."""

        def show_answer() -> None:
            with self._lock:
                if self._is_asked_now(job, question):
                    show()

        return show_answer

    def wait(self, timeout: float | None = None) -> bool:
        """Return when all answers are found; False if `timeout` seconds were not enough.

        Raises:
            Exception: What went wrong in finding them; the figure shows it too.
        """
        return self._background.wait(timeout)

    def _failed(self, job: str, error: Exception) -> None:
        """Show why an answer could not be found."""
        with self._lock:
            self._problem = on_page(error)

    def _suspend(self) -> None:
        """Leave the page; what is not computed yet waits for `wait` or `_resume`."""
        self._background.pause()
        super()._suspend()

    def _resume(self) -> None:
        """Return to the page, and go on computing."""
        if not self._is_suspended:
            return
        super()._resume()
        if self._background.started:
            self._background.start()

    def close(self) -> None:
        """Stop computing, and free the widget."""
        self._background.close()
        super().close()
