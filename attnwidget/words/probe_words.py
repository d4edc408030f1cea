"""Shared code of word studies, which tokenize texts and process them once."""

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
    """Split texts into the tokens of a model, process them, and return an accumulator's result.

    Args:
        model: Model from `load_model`.
        texts: Words of each text, with its name for errors.
        accumulator: Function that creates the accumulator from the segments and the number of
            skipped texts.
        skip_unaligned: Whether to skip texts that have a word without tokens or a token of several
            words, or are too long for the model.
        batch_size: Number of texts in a forward pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Raises:
        TypeError: If `model` does not come from `load_model`.
        ValueError: As in `WordSegmenter.segments` and `measure`.
    """
    segments, n_skipped = WordSegmenter(model).segments(
        texts, skip_unaligned, progress=progress is True
    )
    metric = accumulator(segments, n_skipped)
    measurements = measure(
        model,
        segments,
        [metric],
        batch_size=batch_size,
        progress=progress,
    )
    return cast("R", measurements[metric.name])


@dataclass(frozen=True, eq=False, repr=False)
class SentencesResult(HeadResult):
    """Base class of results over sentences.

    Attributes:
        n_sentences: Number of sentences.
        n_skipped: Number of sentences that were skipped because they are invalid (`skip_invalid` of
            `load_treebank`), a word has no tokens, a token has several words, or the sentence is
            too long.
        model_name: Name of the model.
        complete: False if the pass was interrupted.
    """

    n_sentences: int
    n_skipped: int


class SentenceMeans(SegmentMeans[R]):
    """Means over sentences, some of which may have been skipped.

    Args:
        n_sentences: Number of all sentences.
        n_skipped: Number of these sentences that were skipped, for the result.
        n_left_out: Number of sentences that were left out earlier, when the list was loaded.
    """

    def __init__(self, n_sentences: int, n_skipped: int, n_left_out: int = 0) -> None:
        self._n_sentences = n_sentences
        self._n_skipped = n_skipped
        self._n_left_out = n_left_out

    @property
    def about(self) -> dict[str, Any]:
        """Fields of a `SentencesResult`."""
        return {
            "n_sentences": self.n_segments,
            "n_skipped": self._n_skipped + self._n_left_out,
            "model_name": self.model_name,
            "complete": self.n_segments == self._n_sentences - self._n_skipped,
        }
