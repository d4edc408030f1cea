"""Coreference probe: attention from mentions to antecedents (Clark et al. 2019, 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.argument_checks import DOCUMENTS, all_of, one_of
from attnwidget.corpus.other_texts import other_texts
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.word_maps import most_attended, word_rows
from attnwidget.text.antecedents import BASELINES, anaphors
from attnwidget.text.document_windows import windows as cut_windows
from attnwidget.text.loaded import left_out_of
from attnwidget.text.mentions import Document
from attnwidget.text.running_text import RunningText
from attnwidget.text.whole_number import whole_number
from attnwidget.words.coreference_results import (
    AntecedentChoices,
    CoreferenceAccuracies,
    Evaluated,
    EvaluatedWindow,
)
from attnwidget.words.probe_words import probe
from attnwidget.words.word_segments import WordAxes, WordSegmenter, word_segments

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

__all__ = ["AntecedentChoices", "Antecedents", "CoreferenceAccuracies", "probe_coreference"]


@in_plain_torch
def probe_coreference(
    model: AttentionModel,
    documents: Iterable[Document],
    *,
    windows: Literal["first", "all"] = "first",
    max_tokens: int = 128,
    skip_unaligned: bool = False,
    batch_size: int = 8,
    progress: bool | OnProgress = True,
) -> CoreferenceAccuracies:
    """Measure how often a mention's most attended word is the head word of an antecedent.

    The study follows Clark et al. 2019, section 4.3. The authors released no code and left details
    open, so their numbers cannot be reproduced exactly. `CoreferenceAccuracies.definitions` has the
    definitions used here, and the result prints them.

    Args:
        model: Model from `load_model`.
        documents: Documents with mentions (`load_coreference`).
        windows: Part of the documents to use. "first" uses the beginning of each document, as in
            the paper. "all" splits each document into windows; antecedents must then be in the same
            window.
        max_tokens: Number of tokens of a window, including special tokens.
        skip_unaligned: Whether to skip windows that have a word without tokens or a token of
            several words; the result counts them.
        batch_size: Number of windows in a forward pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Raises:
        ValueError: If a word has no tokens or a token has several words, `max_tokens` exceeds the
            model's limit, or no mention has an antecedent in its window.

    Example:
        >>> from attnwidget import Document, load_model
        >>> from attnwidget.words import probe_coreference
        >>> words = "The captain told his men that he would not leave .".split()
        >>> spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")]
        >>> document = Document.from_spans(words, spans)
        >>> found = probe_coreference(load_model(), [document], progress=False)
        >>> found.accuracy.shape, found.counts.tolist()
        ((2, 6, 12, 4), [2, 2, 0, 0])
    """
    one_of("windows", windows, ("first", "all"))
    documents = all_of(Document, documents, DOCUMENTS)
    segmenter = WordSegmenter(model)
    n_text_tokens = whole_number("max_tokens", max_tokens) - segmenter.n_special
    if n_text_tokens < 1 or (segmenter.room is not None and n_text_tokens > segmenter.room):
        upper_bound = (
            "" if segmenter.room is None else f" to {segmenter.room + segmenter.n_special}"
        )
        raise ValueError(
            f"max_tokens is {segmenter.n_special + 1}{upper_bound} for this model, got {max_tokens}"
        )
    study_windows = [
        window
        for index, document in enumerate(documents)
        for window in _windows(
            document, index, segmenter, n_text_tokens, first_only=windows == "first"
        )
        if window.evaluated
    ]
    if not study_windows:
        raise ValueError(
            f"no mention of the {len(documents)} documents has an antecedent in its window of "
            f"{max_tokens} tokens"
        )
    return probe(
        model,
        [_text(documents[window.document], window) for window in study_windows],
        lambda _, n_skipped: Antecedents(documents, study_windows, n_skipped),
        skip_unaligned=skip_unaligned,
        batch_size=batch_size,
        progress=progress,
    )


def _text(document: Document, window: EvaluatedWindow) -> RunningText:
    """Return the words of a window, with its name for errors."""
    label = f"{document.name or 'document'}, words {window.start + 1} to {window.end}"
    return replace(document.running.part(window.start, window.end), label=label)


def _windows(
    document: Document, index: int, segmenter: WordSegmenter, room: int, *, first_only: bool
) -> Iterable[EvaluatedWindow]:
    pieces: list[int] = []
    text = document.running
    for start, end in zip(
        document.sentence_starts, (*document.sentence_starts[1:], None), strict=True
    ):
        pieces += segmenter.pieces(text.part(start, end))
        if first_only and sum(pieces) > room:
            break
    try:
        window_bounds = cut_windows(pieces, document.sentence_starts, room, first_only=first_only)
    except ValueError as error:
        raise ValueError(f"{document.name or 'document'}: {error}") from None
    for start, end in window_bounds:
        # Some vocabularies need more tokens for a word at the beginning of a text.
        while sum(segmenter.pieces(text.part(start, end))) > room:
            end -= 1
        evaluated = tuple(
            Evaluated(
                index,
                anaphor.mention,
                anaphor.antecedents,
                anaphor.candidates,
                tuple(_index(rule(document, anaphor)) for rule in BASELINES.values()),
            )
            for anaphor in anaphors(document, start, end)
        )
        yield EvaluatedWindow(index, start, end, evaluated)


def _index(chosen: int | None) -> int:
    return -1 if chosen is None else chosen


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Indices and masks that one batch needs for every layer.

    A window has at most E evaluated mentions and m words, and the batch has N evaluated mentions.

    Attributes:
        rows: Weights of the means over the tokens of head words, float32 [B, E, n].
        columns: Mask with 1 at the tokens of each word, float32 [B, n, m].
        allowed: Words that may be chosen, bool [B, 2, E, m]: all words, or head words of
            preceding mentions.
        item: Window of each mention in the batch, int64 [N].
        row: Row of each mention in its window, int64 [N].
        slot: Row of each mention in the sums, int64 [N].
        start: First word of each mention's window, int64 [N].
    """

    rows: Tensor
    columns: Tensor
    allowed: Tensor
    item: Tensor
    row: Tensor
    slot: np.ndarray[Any, np.dtype[np.int64]]
    start: np.ndarray[Any, np.dtype[np.int64]]


class Antecedents(Accumulator[CoreferenceAccuracies]):
    """Most attended words of all heads from mentions, stored per mention.

    Args:
        documents: All documents.
        windows: Windows of the study; segment i is window i.
        n_skipped: Number of skipped windows, for the result.
    """

    name = "coreference"
    by_segment = ("_windows",)

    def __init__(
        self, documents: Sequence[Document], windows: Sequence[EvaluatedWindow], n_skipped: int = 0
    ) -> None:
        self._documents = tuple(documents)
        self._left_out = left_out_of(documents)
        self._windows = tuple(windows)
        self._n_skipped = n_skipped
        sizes = [len(window.evaluated) for window in windows]
        self._first_slot = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def options(self) -> dict[str, Any]:
        return {"windows": digest_of([[(w.start, w.end, w.evaluated) for w in self._windows]])}

    def of_segments_alone(self, segments: Iterable[Any]) -> dict[str, Any]:
        attributes = super().of_segments_alone(segments)
        document_indices = {window.document for window in attributes["_windows"].values()}
        return attributes | {
            "_documents": {index: self._documents[index] for index in document_indices}
        }

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self._model = subject.model
        shape = (int(self._first_slot[-1]), 2, self.n_layers, self.n_heads)
        # Chosen words count from 1; 0 marks windows that were not processed yet, so that sums add
        # up.
        self.sums = {
            "chosen": np.zeros(shape, np.int32),
            "weights": np.zeros(shape, np.float32),
            "read": np.zeros(len(self._first_slot) - 1, np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self._prepared = self._prepare(layer.batch)
        prepared = self._prepared
        weights = word_rows(layer.weights, prepared.rows, prepared.columns)  # [B, H, E, m]
        for variant in range(2):
            word_indices, weight = most_attended(
                weights, prepared.allowed[:, None, variant]
            )  # [B, H, E]
            mention_cells = (prepared.item, slice(None), prepared.row)
            words = word_indices[mention_cells].cpu().numpy()  # [N, H]
            cells = (prepared.slot, variant, layer.layer)
            self.sums["chosen"][cells] = words + prepared.start[:, None] + 1
            self.sums["weights"][cells] = weight[mention_cells].cpu().numpy()

    def end_batch(self, batch: Batch) -> None:
        self.sums["read"][[segment.index for segment in word_segments(batch)]] = 1

    def compute(self) -> CoreferenceAccuracies:
        is_processed = self.sums["read"].astype(bool)
        slots = np.repeat(is_processed, np.diff(self._first_slot))
        return CoreferenceAccuracies(
            documents=self._documents,
            windows=tuple(w for w, done in zip(self._windows, is_processed, strict=True) if done),
            chosen=self.layers.spread(self.sums["chosen"][slots] - 1, axis=2, fill=-1),
            weights=self.layers.spread(self.sums["weights"][slots], axis=2),
            model_name=self.model_name,
            n_skipped=self._n_skipped,
            complete=int(is_processed.sum()) == len(self._windows) - self._n_skipped,
            layers_without_attention=self.layers.layers_without_attention,
            left_out=self._left_out,
            other_texts=other_texts(
                "coreference", self._model, [document.words for document in self._documents]
            ),
        )

    def _prepare(self, batch: Batch) -> _Prepared:
        axes = WordAxes(batch)
        windows = [self._windows[segment.index] for segment in axes.segments]
        sizes = [len(window.evaluated) for window in windows]
        heads: list[list[int]] = []
        allowed = torch.zeros(
            len(windows), 2, max(sizes), axes.n_words, dtype=torch.bool, device="cpu"
        )
        for item, window in enumerate(windows):
            mentions = self._documents[window.document].mentions
            heads.append([mentions[e.mention].head - window.start for e in window.evaluated])
            for row, evaluated in enumerate(window.evaluated):
                allowed[item, 0, row, : window.end - window.start] = True
                allowed[item, 0, row, heads[item][row]] = False
                preceding = [mentions[i].head - window.start for i in evaluated.candidates]
                allowed[item, 1, row, preceding] = True
        pairs = [(item, row) for item, size in enumerate(sizes) for row in range(size)]
        items, rows = (np.array(values, np.int64) for values in zip(*pairs, strict=True))
        indices = np.array([segment.index for segment in axes.segments])
        device = batch.real.device
        return _Prepared(
            rows=axes.rows(heads),
            columns=axes.columns,
            allowed=allowed.to(device),
            item=torch.from_numpy(items).to(device),
            row=torch.from_numpy(rows).to(device),
            slot=self._first_slot[indices][items] + rows,
            start=np.array([window.start for window in windows])[items],
        )
