"""Base class of the readers that add batches of study inputs to accumulators."""

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
    """Accumulators of a study, and the model that reads its inputs.

    Args:
        model: Model that reads the inputs.
        accumulators: Accumulators that receive each layer, in this order.

    Attributes:
        model: The model.
        worker_model: The model, with the edits of the process that sent this reader.
        nothing: State of each accumulator before the first batch; available after `start`.
    """

    def __init__(self, model: AttentionModel, accumulators: Sequence[Accumulator[Any]]) -> None:
        self.model = model
        self.worker_model = WorkerModel(model)
        self.nothing: States = {}
        self._accumulators = accumulators

    @abstractmethod
    def subject(self, segment: Segment) -> Subject:
        """Return the model and stack to measure.

        Args:
            segment: First input.
        """

    @abstractmethod
    def add(self, segments: Sequence[Segment]) -> None:
        """Read one batch and add it to each accumulator.

        Args:
            segments: Segments of the batch.
        """

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Return the settings, as JSON, that must equal those of a resume file."""

    def start(self, segment: Segment) -> None:
        """Start the accumulators.

        Args:
            segment: First input.

        Raises:
            ValueError: See `subject`.
        """
        subject = self.subject(segment)
        for accumulator in self._accumulators:
            accumulator.start(subject)
        self.nothing = self.states()

    @property
    def unsummed(self) -> list[str]:
        """Names of the started accumulators with states that cannot be added."""
        return [
            accumulator.name for accumulator in self._accumulators if not accumulator.has_sums_alone
        ]

    def states_of(self, segments: Sequence[Segment]) -> States:
        """Return the state of each accumulator after a batch, starting from empty sums.

        Args:
            segments: Segments of the batch.
        """
        self.restore(self.nothing)
        self.add(segments)
        return self.states()

    def states(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the state of each accumulator by name."""
        return {accumulator.name: accumulator.state() for accumulator in self._accumulators}

    def merged(self, first: States, second: States) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the state of each accumulator after the batches of two states.

        Args:
            first: First states by accumulator name.
            second: Second states by accumulator name.
        """
        return {
            accumulator.name: accumulator.merged(first[accumulator.name], second[accumulator.name])
            for accumulator in self._accumulators
        }

    @contextmanager
    def without_segments(self) -> Iterator[None]:
        """Remove entries per segment from the accumulators during the block."""
        original_attributes = [dict(vars(accumulator)) for accumulator in self._accumulators]

        def restore() -> None:
            for accumulator, attributes in zip(
                self._accumulators, original_attributes, strict=True
            ):
                vars(accumulator).clear()
                vars(accumulator).update(attributes)

        with undone(restore):
            for accumulator in self._accumulators:
                initial_attributes = accumulator.as_made() | accumulator.of_segments_alone([])
                vars(accumulator).clear()
                vars(accumulator).update(initial_attributes)
            yield

    def know(self, of_segments: Sequence[Mapping[str, Any]]) -> None:
        """Set the entries per segment of each accumulator, in a worker.

        Args:
            of_segments: Result of `known_of` in the sending process.
        """
        for accumulator, attributes in zip(self._accumulators, of_segments, strict=True):
            vars(accumulator).update(attributes)

    def known_of(self, segments: Iterable[Segment]) -> list[dict[str, Any]]:
        """Return the entries per segment of each accumulator, the argument of `know`.

        Args:
            segments: Segments to send.
        """
        segment_list = list(segments)
        return [accumulator.of_segments_alone(segment_list) for accumulator in self._accumulators]

    def restore(self, states: States) -> None:
        """Restore the accumulators that have an entry in `states`.

        Args:
            states: States by accumulator name.
        """
        for accumulator in self._accumulators:
            if accumulator.name in states:
                accumulator.restore(states[accumulator.name])
