"""Shared code of studies of words: texts are cut into tokens and read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attnwidget.corpus.accumulator import Accumulator, R
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.results import HeadResult
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.running_text import RunningText
from attnwidget.words.word_segments import WordSegment, WordSegmenter

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def probe(
    model: AttentionModel,
    texts: Iterable[RunningText],
    accumulator: Callable[[list[WordSegment], int], Accumulator[R]],
    *,
    skip_unaligned: bool,
    batch_size: int,
    progress: bool | OnProgress,
) -> R:
    """Cut texts into the tokens of a model, read them, and return what an accumulator found.

    Args:
        model: A model from `load_model`.
        texts: The words of each text, with its name in errors.
        accumulator: A function that creates the accumulator from the segments and the number of
            texts left out.
        skip_unaligned: Whether to leave out texts that have a word without tokens or a token of
            several words, or are too long for the model.
        batch_size: Number of texts in one pass of the model.
        progress: Whether to show a progress bar; or a function that is called with the number of
            inputs read and their number (None if unknown).

    Raises:
        TypeError: `model` does not come from `load_model`.
        ValueError: as `WordSegmenter.segments` and `measure`.
    """
    segments, n_skipped = WordSegmenter(model).segments(
        texts, skip_unaligned, progress=progress is True
    )
    metric = accumulator(segments, n_skipped)
    measured = measure(
        model,
        segments,
        [metric],
        batch_size=batch_size,
        progress=progress,
    )
    return cast("R", measured[metric.name])


@dataclass(frozen=True, eq=False, repr=False)
class SentencesResult(HeadResult):
    """Base class of results over sentences.

    Attributes:
        n_sentences: Number of sentences.
        n_skipped: Number of sentences left out because they are invalid (`skip_invalid` of
            `load_treebank`), a word has no tokens, a token has several words, or the sentence is
            too long.
        model_name: Name of the model.
        complete: False if the pass was interrupted.
    """

    n_sentences: int
    n_skipped: int


class SentenceMeans(SegmentMeans[R]):
    """Means over sentences, some of which may have been left out.

    Args:
        n_sentences: Number of all sentences.
        n_skipped: Number of these sentences that were left out, for the result.
        n_left_out: Number of sentences that were left out before, when the list was loaded.
    """

    def __init__(self, n_sentences: int, n_skipped: int, n_left_out: int = 0) -> None:
        self._n_sentences = n_sentences
        self._n_skipped = n_skipped
        self._n_left_out = n_left_out

    @property
    def about(self) -> dict[str, Any]:
        """The fields of a `SentencesResult`."""
        return {
            "n_sentences": self.n_segments,
            "n_skipped": self._n_skipped + self._n_left_out,
            "model_name": self.model_name,
            "complete": self.n_segments == self._n_sentences - self._n_skipped,
        }
