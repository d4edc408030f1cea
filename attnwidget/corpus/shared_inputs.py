"""Inputs of a study of several models, as segments that all of them read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attnwidget.corpus.segment_indices import with_index
from attnwidget.corpus.segmenting import TEXTS, rows_as_segments
from attnwidget.inputs.input_list import INPUTS, each_input
from attnwidget.inputs.media_input import is_media, media_segments
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


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
        self.are_media = bool(self.rows) and is_media(self.rows[0])
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
