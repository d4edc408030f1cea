"""Study inputs, which are texts or media (pictures and sounds), and the readers for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from attnwidget.capture.cut_inputs import watched_segments
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.argument_checks import INPUTS, each_input
from attnwidget.corpus.batches import TokenTypes
from attnwidget.corpus.media_reader import MediaReader
from attnwidget.corpus.media_segments import MediaSegment, media_segments
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.corpus.segment_indices import with_index
from attnwidget.corpus.segmenting import TEXTS, rows_as_segments
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.inputs.media_input import is_media
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def study_inputs(items: Iterable[Any], model: AttentionModel) -> Iterator[Segment]:
    """Return the inputs of a study as segments: either only texts, or only pictures and sounds.

    Args:
        items: Inputs as in `measure`; the first input decides between texts and media.
        model: Model that reads the inputs.

    Raises:
        TypeError, ValueError: See `each_input`, `media_segments` and `rows_as_segments`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.study_inputs import study_inputs
        >>> from attnwidget.demo import drawn_shapes
        >>> inputs = study_inputs(drawn_shapes(2).images, load_model("attnwidget/shapes"))
        >>> [type(segment).__name__ for segment in inputs]
        ['MediaSegment', 'MediaSegment']
    """
    inputs = iter(each_input(items))
    first = list(islice(inputs, 1))
    inputs = chain(first, inputs)
    if first and _is_media(first[0]):
        return media_segments(inputs)
    return watched_segments(rows_as_segments(inputs, model))


class SharedInputs:
    """Inputs for a study of several models, some of which are not loaded yet.

    The first model that reads the inputs tokenizes the texts, and all other models read the same
    segments.

    Args:
        items: Inputs as in `measure`.

    Attributes:
        rows: Original inputs.
        are_media: Whether the inputs are pictures and sounds.

    Raises:
        TypeError: See `each_input`. Also if an input has another type.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        self.rows = list(each_input(items))
        self.are_media = bool(self.rows) and _is_media(self.rows[0])
        self._segments: list[Segment] = []
        if self.are_media:
            self._segments = list(with_index(media_segments(self.rows)))
        for index, row in enumerate(self.rows):
            if not self.are_media and not isinstance(row, (Segment, Mapping, *TEXTS)):
                raise TypeError(
                    f"expected a list of segments, got {type(row).__name__} at {index}: {INPUTS}"
                )

    def __len__(self) -> int:
        return len(self.rows)

    def segments(self, model: AttentionModel) -> list[Segment]:
        """Return the segments of all inputs, with their indices.

        Args:
            model: Model that reads the inputs.

        Raises:
            TypeError, ValueError: See `rows_as_segments`.
        """
        if not self._segments:
            self._segments = list(with_index(rows_as_segments(self.rows, model)))
        return self._segments

    @property
    def documents(self) -> list[int] | None:
        """Source document of each input, or None if some documents are unknown."""
        documents = []
        for row in self.rows:
            document = getattr(row, "document", None)
            if isinstance(row, Mapping) and "first" in row:
                document = row.get("document")
            if document is None:
                return None
            documents.append(document)
        return documents

    @property
    def contents(self) -> list[Any]:
        """Content of each input, which identifies the inputs in a resume file."""
        inputs = self._segments if self.are_media else self.rows
        return [(row.first, row.second) if isinstance(row, Segment) else row for row in inputs]


def _is_media(item: object) -> bool:
    return isinstance(item, MediaSegment) or is_media(item)


def reader_of(
    model: AttentionModel,
    accumulators: Sequence[Accumulator[Any]],
    first: Segment | None,
    token_types: TokenTypes = None,
    pad_to: int | None = None,
) -> StudyReader:
    """Return the reader of a study.

    Args:
        model: Model that reads the inputs.
        accumulators: Accumulators that receive each layer, in this order.
        first: First input; None if there are no inputs.
        token_types: Token types, as in `measure`.
        pad_to: Number of tokens to which every batch is padded, as in `compare`.

    Raises:
        ValueError: A text option was passed for pictures and sounds. See also `ModelReader`.
    """
    if not isinstance(first, MediaSegment):
        return ModelReader(model, accumulators, token_types, pad_to)
    for name, value in (("token_types", token_types), ("pad_to", pad_to)):
        if value is not None:
            raise ValueError(
                f"{name} is an option of texts: pictures and sounds take None, got {value!r}"
            )
    return MediaReader(model, accumulators)
