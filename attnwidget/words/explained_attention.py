"""Shares of a head's attention that position, grammar and equal words explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.argument_checks import SENTENCES, all_of
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.conditional_logit import Alternatives, conditional_logit, cross_entropies
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.loaded import left_out_of
from attnwidget.text.treebank import Sentence
from attnwidget.text.word_pair_features import FactorName, WordPairs, with_shuffled_words
from attnwidget.words.explained_attention_result import ExplainedAttention
from attnwidget.words.governors import word_pooling
from attnwidget.words.probe_words import probe
from attnwidget.words.word_segments import word_segments

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: The sentences are split into this many folds, and each fold is held out once.
FOLDS = 3
#: Largest number of weights of a fit; more heads are fitted in groups.
_WEIGHTS = 4_000_000
#: Smallest deviance of a head whose shares are computed, in nats per word.
_LEAST_DEVIANCE = 1e-6
# Factors in the order in which they are added.
_FACTORS: tuple[FactorName, ...] = ("position", "same word", "grammar")


@in_plain_torch
def explained_attention(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    *,
    seed: int = 0,
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool | OnProgress = True,
    resume: str | Path | None = None,
) -> ExplainedAttention:
    """Measure how much of each head's attention position, grammar and equal words explain.

    A softmax regression (conditional logit, McFadden 1974) predicts the weights of a head from a
    word to all words of its sentence. Factors are added one after the other:

    1. position: the offset between both words (offsets beyond 8 count as 8), and whether the
       attended word is the first of the sentence;
    2. same word: whether both words are equal apart from case, at different positions;
    3. grammar: the parts of speech of both words, and the dependency relation between them, in each
       direction.

    The share of a factor is the additional share of explained deviance: the part by which it
    reduces the gap between the cross-entropy of equal weights and the entropy of the head. What two
    factors explain together counts for the earlier one, which needs less annotation. Sentences are
    divided into three parts; each part is predicted by a regression that was fitted to the two
    other parts. A share can therefore be slightly below 0.

    Weights are between words (sums over the tokens of the attended word, means over the tokens of
    the attending word). Special tokens are left out: a word counts by the attention that it gives
    to words. The control repeats the regression with the annotations of the words in each sentence
    in random order. Every regression has a ridge penalty of 1 for the squared coefficients, halved.

    Args:
        model: Model from `load_model`; for an encoder-decoder, only the encoder is used.
        sentences: Sentences of a treebank with parts of speech (`load_treebank`), at least three.
        seed: Seed for the random order of the annotations.
        skip_unaligned: Whether to skip and count sentences that have a word without tokens or a
            token of several words, or are too long for the model; otherwise, they raise an error.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).
        resume: File (.npz) for the weights, as in `measure`.

    Raises:
        ValueError: If there are fewer than three sentences, a sentence has no parts of speech, or
            a sentence does not fit the model, as in `probe_relations`.
        RuntimeError: If the model was closed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import explained_attention
        >>> found = explained_attention(load_model(), demo_treebank()[:30], progress=False)
        >>> found.shares.shape
        (4, 6, 12)
        >>> bool(found.shares[0, 0, 2] > 0.9)
        True
    """
    sentences = all_of(Sentence, sentences, SENTENCES)
    if len(sentences) < FOLDS:
        raise ValueError(
            f"explained_attention needs at least {FOLDS} sentences, because it predicts sentences "
            f"to which it was not fitted, got {len(sentences)}: pass more sentences of a treebank"
        )
    for sentence in sentences:
        if not any(sentence.tags) and not any(sentence.xpos):
            raise ValueError(
                f"{sentence.label} has no parts of speech: pass sentences with tags= or xpos=, as "
                "load_treebank reads them"
            )
    with resume_from(resume_path(resume)):
        return probe(
            model,
            [sentence.running for sentence in sentences],
            lambda _, n_skipped: ExplainedAttentionFrom(sentences, seed=seed, n_skipped=n_skipped),
            skip_unaligned=skip_unaligned,
            batch_size=batch_size,
            progress=progress,
        )


class ExplainedAttentionFrom(Accumulator[ExplainedAttention]):
    """Word maps of all sentences, and the regressions on them; see `explained_attention`.

    Args:
        sentences: Sentences; segment i of the study is a `WordSegment` of sentence i.
        seed: Seed for the random order of the annotations.
        n_skipped: Number of skipped sentences, for the result.
    """

    name = "explained attention"
    by_segment = ("_sentences",)

    def __init__(self, sentences: Sequence[Sentence], *, seed: int = 0, n_skipped: int = 0) -> None:
        self._sentences = sentences
        self._seed = seed
        self._n_expected = len(sentences) - n_skipped
        self._n_skipped = n_skipped + len(left_out_of(sentences))

    @property
    def options(self) -> dict[str, Any]:
        words = ((s.words, s.governors, s.relations, s.tags, s.xpos) for s in self._sentences)
        return {"seed": self._seed, "sentences": digest_of(words)}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        # One row for each pair of words, query by query.
        self.rows = {
            "weights": np.zeros((0, self.n_layers, self.n_heads), np.float32),
            "sentence": np.zeros(0, np.int64),
        }
        self.sums = {"sentences": np.zeros((), np.int64)}

    def update(self, layer: LayerBatch) -> None:
        batch = layer.batch
        segments = word_segments(batch)
        if layer.layer == 0:
            self._pooling = word_pooling(batch, "words")
            sizes = [segment.n_words**2 for segment in segments]
            self._places = self.add_rows(sum(sizes))
            self.rows["sentence"][self._places] = np.repeat(
                [segment.index for segment in segments], sizes
            )
        maps = self._pooling(layer.weights).cpu().numpy()
        self.rows["weights"][self._places, layer.layer] = np.concatenate(
            [
                one[:, : segment.n_words, : segment.n_words].reshape(self.n_heads, -1).T
                for one, segment in zip(maps, segments, strict=True)
            ]
        )

    def end_batch(self, batch: Batch) -> None:
        self.sums["sentences"] += len(batch.segments)

    def compute(self) -> ExplainedAttention:
        order = np.argsort(self.rows["sentence"], kind="stable")
        indices = self.rows["sentence"][order]
        read = [self._sentences[index] for index in np.unique(indices)]
        weights = self.rows["weights"][order].reshape(len(order), -1)  # [C, L * H]
        pairs = WordPairs(read)
        # A word that no head attends to is hidden, as later words of a causal model.
        visible = weights.max(1, initial=0) > 0
        shuffled = WordPairs(with_shuffled_words(read, self._seed))
        designs = [pairs.features(_FACTORS[: number + 1]) for number in range(len(_FACTORS))]
        designs.append(shuffled.features(_FACTORS))
        n_heads = weights.shape[1]
        group = max(1, _WEIGHTS // max(1, len(weights)))
        groups = [
            _explained(
                designs,
                weights[:, first : first + group],
                visible,
                pairs.queries,
                pairs.sentences % FOLDS,
            )
            for first in range(0, n_heads, group)
        ]
        explained, deviance, on_words = (
            np.concatenate(parts, -1) for parts in zip(*groups, strict=True)
        )
        position, words, grammar, control = explained
        by_head = (self.n_layers, self.n_heads)
        shares = np.stack([position, grammar - words, words - position, 1 - grammar])
        return ExplainedAttention(
            shares=self.layers.spread(shares.reshape(-1, *by_head), axis=1),
            control=self.layers.spread((control - words).reshape(by_head)),
            deviance=self.layers.spread(deviance.reshape(by_head)),
            on_words=self.layers.spread(on_words.reshape(by_head)),
            n_words=sum(map(len, read)),
            n_sentences=int(self.sums["sentences"]),
            n_skipped=self._n_skipped,
            model_name=self.model_name,
            complete=bool(self.sums["sentences"] == self._n_expected),
        )


def _explained(
    designs: Sequence[Any],
    weights: NDArray[np.float32],
    visible: NDArray[np.bool_],
    queries: NDArray[np.int64],
    folds: NDArray[np.int64],
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the share of deviance that each design explains, with the deviance of each head.

    Args:
        designs: D feature matrices of the C pairs, sparse [C, F].
        weights: Weights of the pairs, [C, H].
        visible: Whether a query sees the key, [C].
        queries: Number of the query of each pair, increasing, [C].
        folds: Fold of each pair, [C].

    Returns:
        Explained shares [D, H], deviance in nats per word [H], and mean attention on words [H].
    """
    n_queries = int(queries.max()) + 1
    totals = np.zeros((n_queries, weights.shape[1]))
    np.add.at(totals, queries, weights)
    on_words = totals.mean(0)
    # Every head has the same total weight, so that the ridge penalty means the same for all.
    scaled = weights / np.maximum(on_words, np.finfo(float).tiny)
    gains = np.zeros((len(designs), weights.shape[1]))
    deviance = np.zeros(weights.shape[1])
    for fold in range(FOLDS):
        held_out = visible & (folds == fold)
        fitted = visible & (folds != fold)
        if not held_out.any() or not fitted.any():
            continue
        starts = _starts(queries[held_out])
        chosen = scaled[held_out].astype(np.float64)
        even, entropy = _even_and_entropy(chosen, starts)
        deviance += even - entropy
        for number, features in enumerate(designs):
            coefficients = conditional_logit(
                Alternatives(features[fitted], _starts(queries[fitted])),
                scaled[fitted].astype(np.float64),
            )
            predicted = Alternatives(features[held_out], starts).log_probabilities(coefficients)
            gains[number] += even - cross_entropies(chosen, predicted)
    told = deviance / n_queries > _LEAST_DEVIANCE
    shares = np.divide(gains, deviance, out=np.full(gains.shape, np.nan), where=told)
    return shares, deviance / n_queries, on_words


def _starts(queries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the first pair of each query."""
    return np.flatnonzero(np.diff(queries, prepend=-1)).astype(np.int64)


def _even_and_entropy(
    weights: Float64Array, starts: NDArray[np.int64]
) -> tuple[Float64Array, Float64Array]:
    """Return the cross-entropy of equal weights and the entropy of the weights, [H] each."""
    sizes = np.diff(starts, append=len(weights))
    totals = np.add.reduceat(weights, starts, axis=0)
    even = (totals * np.log(sizes)[:, None]).sum(0)
    entropy = (scipy.special.xlogy(totals, totals)).sum(0) - scipy.special.xlogy(
        weights, weights
    ).sum(0)
    return even, entropy
