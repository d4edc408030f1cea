"""Reader that adds the attention for pictures and sounds to accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnwidget.corpus.accumulator import Accumulator, Subject
from attnwidget.corpus.attention_reader import add_attention, measured_stack, subject_of
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.inputs.generate import decoder_ids
from attnwidget.inputs.media_input import MEDIA, MediaSegment
from attnwidget.model_facts.pickled_model import configuration_digest, weights_digest
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.model import AttentionModel


class MediaReader(StudyReader):
    """One model, and the accumulators that receive its attention for pictures and sounds.

    If a model has towers, the reader measures its language model. If it is an encoder-decoder, the
    reader measures its encoder. Other models have a single stack.

    Args:
        model: Model with its processor.
        accumulators: Accumulators that receive each layer, in this order.
    """

    def __init__(self, model: AttentionModel, accumulators: Sequence[Accumulator[Any]]) -> None:
        super().__init__(model, accumulators)
        self._first: tuple[Segment, Attention] | None = None
        self._stack = "encoder" if model.inputs.encodes_apart else None

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self.model, self._accumulators
        return type(self), arguments, {"worker_model": self.worker_model}

    def subject(self, segment: Segment) -> Subject:
        """Return the `Subject`, for which the model reads the first input.

        Args:
            segment: First input.

        Raises:
            ValueError: See `measure`.
        """
        with self.worker_model.lock.in_turn(), self.worker_model.reading():
            attention = self._attention(segment)
        # Keep the attention, so that the input is not read a second time.
        self._first = segment, attention
        stack = measured_stack(attention, self._accumulators, self._stack)
        return subject_of(stack, self.model.name, None)

    def add(self, segments: Sequence[Segment]) -> None:
        with self.worker_model.lock.in_turn(), self.worker_model.reading():
            for segment in segments:
                attention = self._attention(segment)
                stack = measured_stack(attention, self._accumulators, self._stack)
                raw = stack.query.raw
                ids = stack.query.ids or [raw.index(token) for token in raw]
                add_attention(attention, stack, self._accumulators, segment, ids)

    def about(self) -> dict[str, Any]:
        return {
            "model": type(self.model.hf_model).__name__,
            "weights": weights_digest(self.model.hf_model),
            "configuration": configuration_digest(self.model.hf_model),
            "edits": self.model.edits.digest or None,
            "inputs": "pictures and sounds",
            "metrics": {
                accumulator.name: accumulator.options for accumulator in self._accumulators
            },
        }

    def _attention(self, segment: Segment) -> Attention:
        """Return the attention of the model for one input."""
        if not isinstance(segment, MediaSegment):
            raise TypeError(f"expected pictures or sounds, got {type(segment).__name__}: {MEDIA}")
        first, self._first = self._first, None
        if first is not None and first[0] is segment:
            return first[1]
        media = segment.given.media
        options: dict[str, Any] = {}
        if self._stack is not None:
            # Only the encoder is measured, so the decoder need not generate text.
            options["target"] = decoder_ids(self.model.hf_model, [])
        return self.model.attend(
            segment.given.text,
            images=list(media.pictures) or None,
            audio=list(media.sounds) or None,
            **options,
        )
