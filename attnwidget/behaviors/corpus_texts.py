"""Texts of an atlas corpus, in the form that link rules read."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from attnwidget.behaviors.evidence import Evidence
from attnwidget.text.segments import Segment
from attnwidget.words.coreference_results import EvaluatedWindow
from attnwidget.words.word_segments import WordSegmenter

Corpus = Literal["segments", "treebank", "documents"]
CORPORA: tuple[Corpus, ...] = ("segments", "treebank", "documents")


def corpus_texts(evidence: Evidence, corpus: Corpus) -> list[tuple[int, Segment]]:
    """Return the half and the segment of each text of a corpus, in corpus order.

    Rules look sentences and windows up by their number, so segments keep the number in the whole
    corpus. Texts that the model cannot read word by word are left out.
    """
    if corpus == "segments":
        return [
            ((number if segment.document is None else segment.document) % 2, segment)
            for number, segment in enumerate(evidence.segments)
        ]
    if corpus == "treebank":
        texts = [sentence.running for sentence in evidence.treebank]
        halves = [number % 2 for number in range(len(texts))]
    else:
        windows = document_windows(evidence)
        texts = [
            evidence.documents[window.document].running.part(window.start, window.end)
            for window in windows
        ]
        halves = [window.document % 2 for window in windows]
    segments, _ = WordSegmenter(evidence.model).segments(texts, True)
    return [(halves[segment.index], segment) for segment in segments]


def document_windows(evidence: Evidence) -> list[EvaluatedWindow]:
    """Return the windows in which coreference was measured, in the order of the documents.

    The `document` of a window is an index into `evidence.documents`.
    """
    windows = [
        replace(window, document=2 * window.document + half)
        for half, result in enumerate(evidence.coreference)
        for window in result.windows
    ]
    return sorted(windows, key=lambda window: (window.document, window.start))
