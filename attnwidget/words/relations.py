"""Relation probe: heads whose most attended word is the governor (Clark et al. 2019, 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.argument_checks import SENTENCES, all_of, each_once, one_of
from attnwidget.corpus.other_texts import other_texts
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.kernels.arrays import Int64Array
from attnwidget.kernels.governors import GovernorHits, governors_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.loaded import left_out_of
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_numbers
from attnwidget.words.governors import (
    GovernorPredictions,
    Possessive,
    WordUnit,
    possessors,
    predict_governors,
    word_pooling,
)
from attnwidget.words.probe_words import probe
from attnwidget.words.relation_results import (
    DIRECTIONS,
    RelationAccuracies,
)
from attnwidget.words.word_segments import word_segments

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

__all__ = [
    "DIRECTIONS",
    "GovernorPredictions",
    "RelationAccuracies",
    "RelationHits",
    "Relations",
    "predict_governors",
    "probe_relations",
]

_UNITS = ("words", "first", "tokens")


@in_plain_torch
def probe_relations(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    *,
    unit: WordUnit = "words",
    offsets: Iterable[int] = range(-3, 3),
    possessive: Possessive = "clark",
    special_tokens: bool = False,
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool | OnProgress = True,
    resume: str | Path | None = None,
) -> RelationAccuracies:
    """Measure how often a head's most attended word is the governor (Clark et al. 2019, Table 1).

    Every head is evaluated in both directions: the predicted governor of a word is its most
    attended word, or the word with the most attention to it. Special tokens are excluded, the
    weight of a word on itself counts as 0, ties go to the first word, and weights are not
    renormalized. A prediction is correct if the treebank has the same governor. Words of all
    sentences are pooled. No head predicts the root, so the accuracy on "all" words, which include
    the root, is below 1.

    The baseline predicts a governor at a fixed offset: the word's position plus the offset, clipped
    to 0 (the root) and to the last word. As in the paper, +3 is not among the offsets.

    Args:
        model: Model from `load_model`; for an encoder-decoder, only the encoder is used. Causal
            heads attend only to earlier words.
        sentences: Sentences of a treebank (`load_treebank`); all are tokenized before the first is
            processed.
        unit: Pooling of tokens to words. "words" sums over the tokens of the attended word and
            averages over the tokens of the attending word, as in the paper. "first" uses only the
            row of the attending word's first token, as in the released code. "tokens" uses the
            weight between the first tokens of both words.
        offsets: Offsets of the baseline; a negative offset means that the governor comes before the
            word.
        possessive: Rule for possessors. "clark" evaluates a possessor (poss, nmod:poss) before "'s"
            by the prediction for the "'s", unless the prediction for the possessor is the last
            word; the rule also applies to baselines. None treats possessors like all words.
        special_tokens: Whether [CLS] and [SEP] are possible predictions, which are always wrong
            (footnote 3 of the paper). False leaves them out, as in Table 1.
        skip_unaligned: Whether to skip and count sentences that have a word without tokens or a
            token of several words, or are too long for the model; otherwise, they raise an error.
            `Sentence.with_spaces` puts a space between all words, so that no token has several
            words.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).
        resume: File (.npz) for the sums, as in `measure`.

    Raises:
        ValueError: If a sentence is too long, or has a word without tokens or a token of several
            words; if there are no sentences, or no or repeated offsets; if the model has no
            tokenizer; if the unit or rule is unknown; or if the resume file belongs to another
            study.
        RuntimeError: If the model was closed.

    Example:
        >>> from attnwidget import Sentence, load_model
        >>> from attnwidget.words import probe_relations
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> found = probe_relations(load_model(), [cats], progress=False)
        >>> found.relations, found.accuracy.shape
        (('all', 'nsubj', 'obj', 'root'), (6, 12, 2, 4))
        >>> best = found.best(min_count=1, skip=["all", "root"])
        >>> best[["relation", "n", "baseline", "offset"]].values.tolist()
        [['nsubj', 1, 1.0, 1], ['obj', 1, 1.0, -1]]
    """
    sentences = all_of(Sentence, sentences, SENTENCES)
    if not sentences:
        raise ValueError("there are no sentences to probe: pass those of a treebank")
    with resume_from(resume_path(resume)):
        return probe(
            model,
            [sentence.running for sentence in sentences],
            lambda _, n_skipped: Relations(
                sentences,
                unit=unit,
                offsets=offsets,
                possessive=possessive,
                special_tokens=special_tokens,
                n_skipped=n_skipped,
            ),
            skip_unaligned=skip_unaligned,
            batch_size=batch_size,
            progress=progress,
        )


class Relations(Accumulator[RelationAccuracies]):
    """Counts of words for which heads and fixed offsets are correct; see `probe_relations`.

    Args:
        sentences: Sentences; segment i of the study is a `WordSegment` of sentence i.
        unit: Pooling of tokens to words, as in `probe_relations`.
        offsets: Offsets of the baseline.
        possessive: Rule for possessors, as in `probe_relations`.
        special_tokens: Whether special tokens are possible predictions.
        n_skipped: Number of skipped sentences, for the result.

    Raises:
        ValueError: As in `probe_relations`.
    """

    name = "relations"
    by_segment = ("_sentences",)

    def __init__(
        self,
        sentences: Sequence[Sentence],
        *,
        unit: WordUnit = "words",
        offsets: Iterable[int] = range(-3, 3),
        possessive: Possessive = "clark",
        special_tokens: bool = False,
        n_skipped: int = 0,
    ) -> None:
        self._sentences = sentences
        self._unit = unit
        self._offsets = tuple(each_once("offsets", whole_numbers("offsets", offsets)))
        self._possessive = possessive
        self._special_tokens = special_tokens
        self._n_skipped = n_skipped
        self._n_left_out = len(left_out_of(sentences))
        self._labels = sorted({label for sentence in sentences for label in sentence.relations})
        self._ids = {label: i for i, label in enumerate(self._labels)}
        one_of("unit", unit, _UNITS)
        one_of("possessive", possessive, ("clark", None))

    @property
    def options(self) -> dict[str, Any]:
        annotations = (
            (sentence.words, sentence.governors, sentence.relations) for sentence in self._sentences
        )
        return {
            "unit": self._unit,
            "offsets": list(self._offsets),
            "possessive": self._possessive,
            "sentences": digest_of(annotations),
        } | ({"special_tokens": True} if self._special_tokens else {})

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self._model = subject.model
        n_labels = len(self._labels)
        n_offsets = len(self._offsets)
        head_axes = (self.n_layers, self.n_heads, len(DIRECTIONS))
        self.sums = {
            "counts": np.zeros(n_labels, np.int64),
            "correct": np.zeros((*head_axes, n_labels), np.int64),
            "baseline": np.zeros((n_offsets, n_labels), np.int64),
            "both": np.zeros((*head_axes, n_offsets, n_labels), np.int64),
            "sentences": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self._pooling = word_pooling(layer.batch, self._unit, special=self._special_tokens)
            self._hits = self._hits_of(layer.batch)
        maps = self._pooling(layer.weights)
        if self._special_tokens:
            # Some models have no special tokens after the text.
            n_missing = self._hits.n_words + 2 - maps.shape[-1]
            maps = torch.nn.functional.pad(maps, (0, n_missing, 0, n_missing))
        self._hits.add(maps)

    def end_batch(self, batch: Batch) -> None:
        head_counts = self._hits.of_heads()
        offset_counts = self._hits.of_offsets()
        self.sums["counts"] += offset_counts[0]
        self.sums["baseline"] += offset_counts[1:]
        self.sums["correct"] += head_counts[..., 0, :]
        self.sums["both"] += head_counts[..., 1:, :]
        self.sums["sentences"] += len(batch.segments)

    def compute(self) -> RelationAccuracies:
        names, members = _rows(self._labels, self.sums["counts"])
        n_expected = len(self._sentences) - self._n_skipped
        return RelationAccuracies(
            relations=names,
            counts=self.sums["counts"] @ members,
            correct=self.layers.spread(self.sums["correct"] @ members, fill=0),
            offsets=self._offsets,
            baseline_correct=self.sums["baseline"] @ members,
            both_correct=self.layers.spread(self.sums["both"] @ members, fill=0),
            n_sentences=int(self.sums["sentences"]),
            n_skipped=self._n_skipped + self._n_left_out,
            complete=bool(self.sums["sentences"] == n_expected),
            unit=self._unit,
            possessive=self._possessive,
            special_tokens=self._special_tokens,
            model_name=self.model_name,
            stack=self.stack,
            model=self._model,
            other_texts=None
            if self._special_tokens
            else other_texts(
                "relations",
                self._model,
                [sentence.words for sentence in self._sentences],
                unit=self._unit,
                possessive=self._possessive,
            ),
            layers_without_attention=self.layers.layers_without_attention,
        )

    def _hits_of(self, batch: Batch) -> RelationHits:
        batch_sentences = [self._sentences[segment.index] for segment in word_segments(batch)]
        return RelationHits(
            batch_sentences,
            [[self._ids[label] for label in sentence.relations] for sentence in batch_sentences],
            n_labels=len(self._labels),
            offsets=self._offsets,
            possessive=self._possessive,
            special_tokens=self._special_tokens,
            n_words=max(map(len, batch_sentences)),
            device=self._pooling.device,
        )


def _with_special(governors: Tensor, n: int) -> Tensor:
    """Return governors [B, m] as positions among n special tokens, the words, and n special tokens.

    Special tokens have no governor, -1, and negative positions stay negative.
    """
    shifted = torch.where(governors < 0, governors, governors + n)
    return torch.nn.functional.pad(shifted, (n, n), value=-1)


def _rows(labels: Sequence[str], counts: Int64Array) -> tuple[tuple[str, ...], Int64Array]:
    """Return the names of the relations of the result, and the labels [N, R] of each relation."""
    by_base: dict[str, list[int]] = {}
    rows: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if counts[i]:
            rows[label] = [i]
            by_base.setdefault(label.partition(":")[0], []).append(i)
    rows |= {f"{base} (all)": subtypes for base, subtypes in by_base.items() if len(subtypes) > 1}
    names = sorted(rows, key=lambda name: (-int(counts[rows[name]].sum()), name))
    members = np.zeros((len(labels), len(rows) + 1), np.int64)
    members[:, 0] = 1
    for r, name in enumerate(names, 1):
        members[rows[name], r] = 1
    return ("all", *names), members


class RelationHits:
    """Counts of correct predictions of heads and fixed offsets for B sentences of a treebank.

    Args:
        sentences: Sentences with at most m words.
        labels: Relation of each word of each sentence, as numbers from 0.
        n_labels: Number of relations, R.
        offsets: Offsets (O) from a word to its governor; clipped to the root and the last word.
        possessive: Rule for possessors, as in `probe_relations`.
        n_words: Number of words m to which predictions are padded.
        device: Device of the predictions.
        special_tokens: Whether the maps have the special tokens before and after a text as its
            first and last word.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        labels: Sequence[Sequence[int]],
        *,
        n_labels: int,
        offsets: Sequence[int],
        possessive: Possessive,
        n_words: int,
        device: torch.device,
        special_tokens: bool = False,
    ) -> None:
        lengths = torch.tensor(
            [len(sentence) for sentence in sentences], dtype=torch.long, device="cpu"
        )[:, None]
        judged = torch.zeros(len(sentences), n_words, dtype=torch.bool, device="cpu")
        for item, sentence in enumerate(sentences) if possessive == "clark" else ():
            for word in possessors(sentence):
                judged[item, word] = True
        # Positions count from 0. -1 is the root, which an offset can predict, and -2 is padding.
        self._governors = (
            _padded([sentence.governors for sentence in sentences], -1, n_words).to(device) - 1
        )
        self.n_words = n_words
        self._n_before = int(special_tokens)
        self._predicted = GovernorHits(_with_special(self._governors, self._n_before))
        self._possessors = judged.to(device)
        self._lengths = lengths.to(device)
        self._possessors_at = self._possessors.nonzero(as_tuple=True)
        positions = torch.arange(1, n_words + 1, dtype=torch.long, device="cpu")
        guesses = [(positions + offset).clamp_min(0).minimum(lengths) - 1 for offset in offsets]
        is_offset_correct = self.right(torch.stack(guesses, 1).to(device)[:, None])[
            :, 0
        ]  # [B, O, m]
        relation = _padded(labels, n_labels, n_words)
        # Words with equal features form a kind, and hits are counted once per kind.
        word_features = (
            torch.cat([relation[:, None], is_offset_correct.cpu()], 1)
            .transpose(0, 1)
            .flatten(1)
            .numpy()
        )
        kind, example = _kinds(word_features)
        one_hot = torch.nn.functional.one_hot(torch.from_numpy(kind), len(example))
        self._kinds = one_hot.to(device, torch.float32)  # [B * m, K]
        # Each kind counts for its relation: once for all words, and once for each correct offset.
        relation = word_features[0, example]
        offset = word_features[1:, example]
        counted = np.concatenate([np.ones((1, len(example))), offset])  # [1 + O, K]
        has_relation = np.arange(n_labels)[:, None] == relation  # [R, K]; padding has no relation
        self._counted = (counted[:, None] * has_relation).astype(np.float32)
        self._hits: list[Tensor] = []

    def add(self, maps: Tensor) -> None:
        """Count the correct predictions of one layer's word maps [B, H, m, m], layer by layer.

        The maps are overwritten. With special tokens, they are [B, H, m + 2, m + 2].
        """
        text, word = self._possessors_at
        first = self._n_before
        rows = torch.cat([word, word + 1]) + first
        predictions = governors_of(maps, text.repeat(2), rows) - first
        ordinary, at_clitic = predictions.tensor_split(2)
        right = self._predicted(maps)[..., first : maps.shape[-1] - first]  # [B, H, 2, m]
        governor = self._governors[text, word][:, None, None]
        length = self._lengths[text][:, None]
        is_right = torch.where(ordinary + 1 < length, at_clitic, ordinary) == governor
        right[text, :, :, word] = is_right
        flat = right.permute(1, 2, 0, 3).flatten(2).float()
        self._hits.append(flat @ self._kinds)  # Counts below 2^24 are exact in float32.

    def right(self, predicted: Tensor) -> Tensor:
        """Return whether `predicted` [B, ..., m] (positions from 0) is the governor, bool.

        A possessor before its clitic takes the prediction for the clitic, unless its own prediction
        is the last word (`probe_relations`).
        """
        axes = (slice(None), *[None] * (predicted.dim() - 2))
        governors = self._governors[axes]
        lengths = self._lengths[axes]
        at_clitic = predicted.roll(-1, -1) == governors
        uses_clitic = self._possessors[axes] & (predicted + 1 < lengths)
        return torch.where(uses_clitic, at_clitic, predicted == governors)

    def of_heads(self) -> NDArray[np.int64]:
        """Return the number of words for which heads are correct, int64 [L, H, 2, 1 + O, R].

        The first number counts all words, the remaining numbers count the words for which an offset
        is correct.
        """
        return self._summed(torch.stack(self._hits).cpu().numpy())

    def of_offsets(self) -> NDArray[np.int64]:
        """Return the number of all words, and of words with a correct offset, int64 [1 + O, R]."""
        return self._summed(self._kinds.sum(0).cpu().numpy())

    def _summed(self, counts: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the sums [..., 1 + O, R] from the counts of kinds [..., K]."""
        _, n_labels, n_kinds = self._counted.shape
        sums = counts @ self._counted.reshape(-1, n_kinds).T
        return np.rint(sums).astype(np.int64).reshape(*counts.shape[:-1], -1, n_labels)


def _kinds(told: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the kind of each column of [N, W], int [W], and the first column of each kind, [K].

    Equal columns have the same kind. Columns are compared as single numbers, which is many times
    faster than entry by entry.
    """
    code = np.zeros(told.shape[1], np.int64)
    n_codes = 1
    for row in told:
        n_values = int(row.max()) + 1
        if n_codes * n_values >= 2**63:
            values, code = np.unique(code, return_inverse=True)
            n_codes = len(values)
        code, n_codes = code * n_values + row, n_codes * n_values
    _, example, kind = np.unique(code, return_index=True, return_inverse=True)
    return kind, example


def _padded(rows: Iterable[Sequence[int]], filler: int, longest: int) -> Tensor:
    padded = [[*row, *[filler] * (longest - len(row))] for row in rows]
    return torch.from_numpy(np.array(padded))  # This takes a third of the time of torch.tensor.
