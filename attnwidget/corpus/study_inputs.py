"""Inputs of studies, texts or pictures and sounds, and the readers of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from attnwidget.capture.cut_inputs import watched_segments
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.batches import TokenTypes
from attnwidget.corpus.media_reader import MediaReader
from attnwidget.corpus.media_segments import MediaSegment, media_segments
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.corpus.segmenting import rows_as_segments
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.inputs.media_input import is_media
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def study_inputs(items: Iterable[Any], model: AttentionModel) -> Iterator[Segment]:
    """Return the inputs of a study as segments: all texts, or all pictures and sounds.

    Args:
        items: Inputs as in `measure`; the first input decides between texts and media.
        model: The model that reads them.

    Raises:
        TypeError, ValueError: As `media_segments` and `rows_as_segments`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.study_inputs import study_inputs
        >>> from attnwidget.demo import drawn_shapes
        >>> inputs = study_inputs(drawn_shapes(2).pictures, load_model("attnwidget/shapes"))
        >>> [type(segment).__name__ for segment in inputs]
        ['MediaSegment', 'MediaSegment']
    """
    inputs = iter(items)
    first = list(islice(inputs, 1))
    inputs = chain(first, inputs)
    if first and (isinstance(first[0], MediaSegment) or is_media(first[0])):
        return media_segments(inputs)
    return watched_segments(rows_as_segments(inputs, model))


def reader_of(
    model: AttentionModel,
    accumulators: Sequence[Accumulator[Any]],
    first: Segment | None,
    token_types: TokenTypes = None,
    pad_to: int | None = None,
) -> StudyReader:
    """Return the reader of a study.

    Args:
        model: The model.
        accumulators: The accumulators that get each layer, in this order.
        first: The first input; None without inputs.
        token_types: As in `measure`.
        pad_to: As in `compare`.

    Raises:
        ValueError: Options of texts for pictures and sounds; or as `ModelReader`.
    """
    if not isinstance(first, MediaSegment):
        return ModelReader(model, accumulators, token_types, pad_to)
    for name, value in (("token_types", token_types), ("padded", pad_to)):
        if value is not None:
            raise ValueError(
                f"{name} is an option of texts: pictures and sounds take None, got {value!r}"
            )
    return MediaReader(model, accumulators)
