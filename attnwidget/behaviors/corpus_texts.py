"""The texts of a corpus of an atlas, in the form that the rules of its behaviors read."""

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
    """Return the half and the segment of each text of a corpus, in the order of the corpus.

    Segments of sentences and windows keep their number in the whole corpus, for the rules. Texts
    that the model cannot read word by word are left out.
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
    listed, _ = WordSegmenter(evidence.model).segments(texts, True)
    return [(halves[segment.index], segment) for segment in listed]


def document_windows(evidence: Evidence) -> list[EvaluatedWindow]:
    """Return the windows that coreference was measured in, in the order of the documents.

    `document` of a window is an index in `evidence.documents`.
    """
    windows = [
        replace(window, document=2 * window.document + half)
        for half, found in enumerate(evidence.coreference)
        for window in found.windows
    ]
    return sorted(windows, key=lambda window: (window.document, window.start))
