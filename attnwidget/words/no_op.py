"""Attention to tokens without content, with and without a relation (Clark et al. 2019, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.head import HeadName, head_of_result
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.argument_checks import SENTENCES, all_of, one_of
from attnwidget.corpus.results import HeadMetrics, heads_frame
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.classes import class_mass
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.linguistic_features import feature_words
from attnwidget.text.treebank import Sentence
from attnwidget.words.probe_words import SentenceMeans, SentencesResult, probe
from attnwidget.words.relation_results import DIRECTIONS
from attnwidget.words.word_segments import WordAxes, WordSegment

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.capture.model import AttentionModel

TARGETS = ("[SEP]", "[CLS]", "punctuation")


@in_plain_torch
def probe_no_op(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    relation: str,
    *,
    direction: str = DIRECTIONS[0],
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> NoOpWeights:
    """Compare weights on [SEP], [CLS] and punctuation from words with and without a relation.

    According to Clark et al., a head attends to [SEP], which has no effect, if the function of the
    head does not apply to a word. Words with the relation then put less weight on [SEP] than words
    without it.

    Args:
        model: Model from `load_model`.
        sentences: Sentences of a treebank.
        relation: Relation ("obj"), subtype ("nsubj:pass"), or relation with its subtypes
            ("nsubj (all)").
        direction: Words whose weights are compared. "dependent to governor": dependents with the
            relation. "governor to dependent": governors of a dependent with the relation.
        skip_unaligned: Whether to skip sentences that have a word without tokens or a token of
            several words, or are too long for the model; the result counts them.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If the direction is unknown, no word or every word has the relation, or a word
            has no tokens.

    Example:
        >>> from attnwidget import Sentence, load_model
        >>> from attnwidget.words import probe_no_op
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2],
        ...     ["nsubj", "root", "obj"], tags=["NOUN", "VERB", "NOUN"])
        >>> found = probe_no_op(load_model(), [cats], "obj", progress=False)
        >>> found.weights.shape, found.counts
        ((2, 3, 6, 12), (1, 2))
    """
    sentences = all_of(Sentence, sentences, SENTENCES)
    one_of("direction", direction, DIRECTIONS)
    related_words = [_words_with(sentence, relation, direction) for sentence in sentences]
    punctuation = [_punctuation(sentence) for sentence in sentences]

    def accumulator(segments: list[WordSegment], n_skipped: int) -> NoOpWeightsFrom:
        n_with = sum(len(related_words[segment.index]) for segment in segments)
        n_words = sum(len(sentences[segment.index]) for segment in segments)
        if n_with in (0, n_words):
            relations = sorted({r for sentence in sentences for r in sentence.relations})
            raise ValueError(
                f"{n_with} of {n_words} words have the relation {relation!r}, so one "
                f"group of words is empty; choose from {', '.join(relations)}"
            )
        return NoOpWeightsFrom(
            related_words, punctuation, relation, direction, n_skipped, len(sentences.left_out)
        )

    return probe(
        model,
        [sentence.running for sentence in sentences],
        accumulator,
        skip_unaligned=skip_unaligned,
        batch_size=batch_size,
        progress=progress,
    )


def _words_with(sentence: Sentence, relation: str, direction: str) -> frozenset[int]:
    pooled = relation.removesuffix(" (all)")
    dependents = [
        word
        for word, label in enumerate(sentence.relations)
        if label == relation or (pooled != relation and label.split(":")[0] == pooled)
    ]
    if direction == DIRECTIONS[0]:
        return frozenset(dependents)
    return frozenset(sentence.governors[w] - 1 for w in dependents if sentence.governors[w])


def _punctuation(sentence: Sentence) -> frozenset[int]:
    if any(sentence.tags) or any(sentence.xpos):
        return frozenset(feature_words(sentence, "PUNCT"))
    return frozenset(
        i for i, word in enumerate(sentence.words) if not any(c.isalnum() for c in word)
    )


class NoOpWeightsFrom(SentenceMeans["NoOpWeights"]):
    """Sums of weights on tokens without content, for words with and without a relation.

    Args:
        has: Words with the relation, for each sentence; segment i of the study is sentence i.
        punctuation: Words that are punctuation, for each sentence.
        relation: Relation, as in `probe_no_op`.
        direction: Words whose weights are compared, as in `probe_no_op`.
        n_skipped: Number of skipped sentences, for the result.
        n_left_out: Number of sentences that were left out earlier, when the list was loaded.
    """

    name = "no_op"
    by_segment = ("_has", "_punctuation")
    of_heads = {"weights": (2, len(TARGETS))}
    of_segments = {"words": (2,)}

    def __init__(
        self,
        has: Sequence[frozenset[int]],
        punctuation: Sequence[frozenset[int]],
        relation: str,
        direction: str,
        n_skipped: int = 0,
        n_left_out: int = 0,
    ) -> None:
        super().__init__(len(has), n_skipped, n_left_out)
        self._has = has
        self._punctuation = punctuation
        self._relation = relation
        self._direction = direction

    @property
    def options(self) -> dict[str, Any]:
        words = digest_of([[sorted(words) for words in (*self._has, *self._punctuation)]])
        return {"relation": self._relation, "direction": self._direction, "words": words}

    def begin_batch(self, layer: LayerBatch) -> None:
        batch = layer.batch
        axes = WordAxes(layer.batch)
        n_segments, n = batch.real.shape
        # Products with maps sum over words.
        rows = torch.zeros(n_segments, 2, n, dtype=torch.float32, device="cpu")
        counts = torch.zeros(n_segments, 2, dtype=torch.float32, device="cpu")
        punctuation = torch.zeros(n_segments, n, dtype=torch.float32, device="cpu")
        for item, segment in enumerate(axes.segments):
            for word in range(segment.words[-1] + 1):
                tokens = axes.tokens(item, word)
                group = int(word not in self._has[segment.index])
                rows[item, group, tokens] = 1 / len(tokens)
                counts[item, group] += 1
                punctuation[item, tokens] = float(word in self._punctuation[segment.index])
        device = batch.real.device
        special = [batch.classes[name].float() for name in TARGETS[:2]]
        self._rows = rows.to(device)
        self._counts = counts.to(device)
        self._members = torch.stack([*special, punctuation.to(device)], 1)  # [B, 3, n]

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        return {"weights": class_mass(layer.weights, self._rows, self._members)}  # [B, H, 2, 3]

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return {"words": self._counts}

    def compute(self) -> NoOpWeights:
        n_with, n_without = self.counted("words").tolist()
        return NoOpWeights(
            relation=self._relation,
            direction=self._direction,
            weights=self.mean("weights", over="words"),
            counts=(n_with, n_without),
            **self.about,
        )


@dataclass(frozen=True, eq=False, repr=False)
class NoOpWeights(SentencesResult):
    """Weights on [SEP], [CLS] and punctuation from words with and without a relation.

    Attributes:
        relation: Name of the relation.
        direction: Words whose weights are compared.
        weights: Mean over words of the weight on all tokens of each of `TARGETS` together, float64
            [2, 3, L, H]: from words with the relation, then from words without it.
        counts: Numbers of words with and without the relation.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_no_op
        >>> found = probe_no_op(load_model(), demo_treebank()[:5], "obj", progress=False)
        >>> found.relation, found.weights.shape, found.counts
        ('obj', (2, 3, 6, 12), (3, 82))
    """

    relation: str
    direction: str
    weights: NDArray[np.float64]
    counts: tuple[int, int]

    def heads(self) -> HeadMetrics:
        return {
            f"to {target} {group}": self.weights[i, j]
            for j, target in enumerate(TARGETS)
            for i, group in enumerate(self._groups)
        }

    def head(self, layer: int | HeadName, head: int | None = None) -> pd.DataFrame:
        """Return one head's weights: one row per target, one column per group of words.

        Args:
            layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
            head: Number of the head within the layer; not needed if `layer` is a head.

        Raises:
            ValueError: If there is no such head.
        """
        layer, head, _ = head_of_result(layer, head, self.weights.shape[2:])
        columns = dict(zip(self._groups, self.weights[:, :, layer, head], strict=True))
        return pd.DataFrame(columns, index=list(TARGETS))

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw weights from words with and without the relation, one panel per target.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.curve_panels import curve_panels

        frames = []
        for j, target in enumerate(TARGETS):
            series = {name: self.weights[i, j] for i, name in enumerate(self._groups)}
            frames.append(heads_frame(series).assign(quantity=f"to {target}"))
        frame = pd.concat(frames, ignore_index=True).rename(columns={"metric": "series"})
        n_with, n_without = self.counts
        return curve_panels(
            frame,
            title=f"Weight from words with {self.relation} and from others\n"
            f"{self.model_name}, {self.direction}; {n_with} words with it, {n_without} without",
            width=width,
        )

    @property
    def _groups(self) -> tuple[str, str]:
        role = "as dependent" if self.direction == DIRECTIONS[0] else "as governor"
        return f"with {self.relation} {role}", f"without {self.relation} {role}"
