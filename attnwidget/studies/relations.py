"""How often a head's most attended word is a word's governor (Clark et al. 2019, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnwidget.studies.accumulator import Accumulator, Batch, LayerBatch
from attnwidget.studies.engine import measure_one
from attnwidget.studies.given import all_of
from attnwidget.studies.governors import GovernorPredictions, predict_governors, word_pooling
from attnwidget.studies.judged import JudgedBatch
from attnwidget.studies.relation_results import (
    DIRECTIONS,
    Integers,
    Possessive,
    RelationAccuracies,
    Unit,
)
from attnwidget.studies.templates import Template
from attnwidget.studies.word_segments import WordSegment, WordSegmenter
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

__all__ = [
    "DIRECTIONS",
    "GovernorPredictions",
    "RelationAccuracies",
    "Relations",
    "predict_governors",
    "probe_relations",
]

_UNITS = ("words", "first", "tokens")


def probe_relations(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    *,
    unit: Unit = "words",
    offsets: Iterable[int] = range(-3, 3),
    possessive: Possessive = "clark",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> RelationAccuracies:
    """How often each head's most attended word is a word's governor (Clark et al. 2019, Table 1).

    Every head is read in both directions: a word's governor is the other word that it attends to
    most, or the one that attends to it most. Special tokens are left out, weights on the word
    itself count as 0, the first of equals is taken, and nothing is renormalised. A prediction is
    right where the treebank has the same governor; words of all sentences are pooled. No head
    predicts the root, so "all" words, the root among them, are never all right.

    The baseline says that the governor is always so many words away: the word's position plus the
    offset, cut to 0 (the root) and to the last word. As in the paper +3 is not tried.

    Args:
        model: what `load_model` gave; of an encoder-decoder the encoder is read. Causal heads can
            only look back.
        sentences: of a treebank (`load_treebank`); all are cut into tokens before the first is
            read.
        unit: "words", sums over the tokens of the word that is attended to and means over those of
            the one that attends, as in the paper; "first", its first token's row instead, as the
            released code has it; "tokens", the weight between the first tokens of both.
        offsets: of the baseline; negative = the governor comes before the word.
        possessive: "clark" judges a possessor (poss, nmod:poss) before "'s" by what is predicted
            for the "'s", unless the prediction for the possessor itself is the last word; baselines
            as well. None judges it as every word.
        skip_unaligned: leave out sentences that have a word without tokens or are too long for the
            model, and count them, instead of raising.
        batch_size: sentences that go through the model together.
        progress: show a progress bar.
        checkpoint: an .npz file that keeps the sums, as in `measure`.

    Raises:
        ValueError: a sentence too long or with a word without tokens, no sentences, offsets none or
            twice, a model without a fast tokenizer, an unknown unit or rule, a checkpoint of
            another study.
        RuntimeError: the model was closed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.relations import probe_relations
        >>> from attnwidget.text.treebank import Sentence
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> found = probe_relations(load_model(), [cats], progress=False)
        >>> found.relations, found.accuracy.shape
        (('all', 'nsubj', 'obj', 'root'), (6, 12, 2, 4))
        >>> best = found.best(min_count=1, skip=["all", "root"])
        >>> best[["relation", "n", "baseline", "offset"]].values.tolist()
        [['nsubj', 1, 1.0, 1], ['obj', 1, 1.0, -1]]
    """
    sentences = all_of(Sentence, sentences, "read them with load_treebank(path)")
    if not sentences:
        raise ValueError("there are no sentences to probe: pass those of a treebank")
    segments, n_skipped = WordSegmenter(model).segments(
        [(sentence.words, sentence.label) for sentence in sentences], skip_unaligned
    )
    probe = Relations(
        sentences, unit=unit, offsets=offsets, possessive=possessive, n_skipped=n_skipped
    )
    return measure_one(
        model,
        segments,
        probe,
        batch_size=batch_size,
        progress=progress,
        checkpoint=checkpoint,
    )


class Relations(Accumulator[RelationAccuracies]):
    """Words on which heads and fixed offsets are right, by relation; see `probe_relations`.

    Args:
        sentences: segment i of the study is a `WordSegment` of sentence i.
        unit: as in `probe_relations`, like the following.
        offsets: of the baseline.
        possessive: how possessors are judged.
        n_skipped: sentences left out, for the result to say.

    Raises:
        ValueError: as `probe_relations`.
    """

    name: ClassVar[str] = "relations"

    def __init__(
        self,
        sentences: Sequence[Sentence],
        *,
        unit: Unit = "words",
        offsets: Iterable[int] = range(-3, 3),
        possessive: Possessive = "clark",
        n_skipped: int = 0,
    ) -> None:
        self._sentences = sentences
        self._unit = unit
        self._offsets = tuple(int(offset) for offset in offsets)
        self._possessive = possessive
        self._n_skipped = n_skipped
        self._labels = sorted({label for one in sentences for label in one.relations})
        self._ids = {label: i for i, label in enumerate(self._labels)}
        if unit not in _UNITS:
            raise ValueError(f"unit is one of {', '.join(map(repr, _UNITS))}, got {unit!r}")
        if possessive not in ("clark", None):
            raise ValueError(f"possessive is 'clark' or None, got {possessive!r}")
        if not self._offsets or len(set(self._offsets)) < len(self._offsets):
            raise ValueError(f"offsets are one or more, each once, got {list(self._offsets)}")

    @property
    def options(self) -> dict[str, Any]:
        digest = blake2b(digest_size=16)
        for one in self._sentences:
            digest.update(repr((one.words, one.governors, one.relations)).encode())
        return {
            "unit": self._unit,
            "offsets": list(self._offsets),
            "possessive": self._possessive,
            "sentences": digest.hexdigest(),
        }

    def start(self, model: AttentionModel, n_layers: int, n_heads: int) -> None:
        super().start(model, n_layers, n_heads)
        self._model = model
        self._template = Template.of(model.tokenizer, pair=False)
        n_labels, n_offsets = len(self._labels), len(self._offsets)
        of_heads = (n_layers, n_heads, len(DIRECTIONS))
        self.sums = {
            "counts": np.zeros(n_labels, np.int64),
            "correct": np.zeros((*of_heads, n_labels), np.int64),
            "baseline": np.zeros((n_offsets, n_labels), np.int64),
            "both": np.zeros((*of_heads, n_offsets, n_labels), np.int64),
            "sentences": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self._pooling = word_pooling(layer.batch, self._template, self._unit)
            self._judged = self._judge(layer.batch)
        self._judged.add(self._pooling(layer.weights))

    def end_batch(self, batch: Batch) -> None:
        of_heads, of_offsets = self._judged.of_heads(), self._judged.of_offsets()
        self.sums["counts"] += of_offsets[0]
        self.sums["baseline"] += of_offsets[1:]
        self.sums["correct"] += of_heads[..., 0, :]
        self.sums["both"] += of_heads[..., 1:, :]
        self.sums["sentences"] += len(batch.segments)

    def compute(self) -> RelationAccuracies:
        names, members = _rows(self._labels, self.sums["counts"])
        n_expected = len(self._sentences) - self._n_skipped
        return RelationAccuracies(
            relations=names,
            counts=self.sums["counts"] @ members,
            correct=self.sums["correct"] @ members,
            offsets=self._offsets,
            baseline_correct=self.sums["baseline"] @ members,
            both_correct=self.sums["both"] @ members,
            n_sentences=int(self.sums["sentences"]),
            n_skipped=self._n_skipped,
            complete=bool(self.sums["sentences"] == n_expected),
            unit=self._unit,
            possessive=self._possessive,
            model_name=self.model_name,
            stack=self.stack,
            model=self._model,
        )

    def _judge(self, batch: Batch) -> JudgedBatch:
        chosen = [self._sentences[s.index] for s in batch.segments if isinstance(s, WordSegment)]
        return JudgedBatch(
            chosen,
            [[self._ids[label] for label in one.relations] for one in chosen],
            n_labels=len(self._labels),
            offsets=self._offsets,
            by_clitic=self._possessive == "clark",
            n_words=self._pooling.n_words,
            device=self._pooling.device,
        )


def _rows(labels: Sequence[str], counts: Integers) -> tuple[tuple[str, ...], Integers]:
    """Names of the result's rows, and which labels [N, R] each of them counts."""
    by_base: dict[str, list[int]] = {}
    rows: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if counts[i]:
            rows[label] = [i]
            by_base.setdefault(label.partition(":")[0], []).append(i)
    rows |= {f"{base} (all)": own for base, own in by_base.items() if len(own) > 1}
    names = sorted(rows, key=lambda name: (-int(counts[rows[name]].sum()), name))
    members = np.zeros((len(labels), len(rows) + 1), np.int64)
    members[:, 0] = 1
    for r, name in enumerate(names, 1):
        members[rows[name], r] = 1
    return ("all", *names), members
