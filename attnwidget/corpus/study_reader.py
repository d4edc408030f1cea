"""The reader of a study: accumulators, and batches of inputs that are added to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attnwidget.corpus.accumulator import Accumulator, Subject
from attnwidget.corpus.resume_file import States
from attnwidget.corpus.worker_model import WorkerModel
from attnwidget.text.segments import Segment
from attnwidget.text.undo import undone

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


class StudyReader(ABC):
    """The accumulators of a study, and the model that reads its inputs.

    Args:
        model: The model.
        accumulators: The accumulators that get each layer, in this order.

    Attributes:
        model: The model.
        worker_model: The model, with the edits of the process that sent this reader.
        nothing: The state of every accumulator without any batch; known after `start`.
    """

    def __init__(self, model: AttentionModel, accumulators: Sequence[Accumulator[Any]]) -> None:
        self.model = model
        self.worker_model = WorkerModel(model)
        self.nothing: States = {}
        self._accumulators = accumulators

    @abstractmethod
    def subject(self, segment: Segment) -> Subject:
        """Return the numbers of layers and heads, given the first input."""

    @abstractmethod
    def add(self, segments: Sequence[Segment]) -> None:
        """Read one batch and add it to every accumulator."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Return the settings as JSON that a resume file must agree on."""

    def start(self, segment: Segment) -> None:
        """Start the accumulators; ValueError as `subject`."""
        subject = self.subject(segment)
        for accumulator in self._accumulators:
            accumulator.start(subject)
        self.nothing = self.states()

    @property
    def unsummed(self) -> list[str]:
        """The names of the started accumulators with states that cannot be added."""
        return [one.name for one in self._accumulators if not one.has_sums_alone]

    def states_of(self, segments: Sequence[Segment]) -> States:
        """Return the sums of a batch for every accumulator, read from empty sums."""
        self.restore(self.nothing)
        self.add(segments)
        return self.states()

    def states(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the state of every accumulator."""
        return {accumulator.name: accumulator.state() for accumulator in self._accumulators}

    def merged(self, first: States, second: States) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the state of every accumulator after the batches of two states."""
        return {
            accumulator.name: accumulator.merged(first[accumulator.name], second[accumulator.name])
            for accumulator in self._accumulators
        }

    @contextmanager
    def without_segments(self) -> Iterator[None]:
        """Keep the accumulators without their numbers of single segments during the block."""
        kept = [dict(vars(accumulator)) for accumulator in self._accumulators]

        def restore() -> None:
            for accumulator, attributes in zip(self._accumulators, kept, strict=True):
                vars(accumulator).clear()
                vars(accumulator).update(attributes)

        with undone(restore):
            for accumulator in self._accumulators:
                made = accumulator.as_made() | accumulator.of_segments_alone([])
                vars(accumulator).clear()
                vars(accumulator).update(made)
            yield

    def know(self, of_segments: Sequence[Mapping[str, Any]]) -> None:
        """Give every accumulator the result of `of_segments_alone` of the sending process."""
        for accumulator, attributes in zip(self._accumulators, of_segments, strict=True):
            vars(accumulator).update(attributes)

    def known_of(self, segments: Iterable[Segment]) -> list[dict[str, Any]]:
        """Return the argument of `know` for these segments."""
        listed = list(segments)
        return [accumulator.of_segments_alone(listed) for accumulator in self._accumulators]

    def restore(self, states: States) -> None:
        """Restore the accumulators to `states`, if there are states."""
        for accumulator in self._accumulators:
            if accumulator.name in states:
                accumulator.restore(states[accumulator.name])
