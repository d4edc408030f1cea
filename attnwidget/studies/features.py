"""Attention to words with linguistic features (Kovaleva et al. 2019, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.figures.panels_of_heads import head_panels
from attnwidget.kernels.links import largest_class_weights
from attnwidget.studies.accumulator import Accumulator, Batch, LayerBatch
from attnwidget.studies.engine import measure_one
from attnwidget.studies.given import all_of
from attnwidget.studies.results import HeadMetrics, Result
from attnwidget.studies.templates import Template
from attnwidget.studies.word_segments import WordAxes, WordSegmenter
from attnwidget.text.features import FEATURES, feature_words
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_SPECIAL = ("[CLS]", "[SEP]")
Variant = Literal["skip absent", "released"]


def probe_features(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    *,
    features: Sequence[str] = FEATURES,
    variant: Variant = "skip absent",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> FeatureWeights:
    """How strongly heads attend to nouns, verbs, subjects, negation..., and [CLS] in particular.

    A head's score on a sentence is the largest weight that a token of the feature receives on
    average over all queries, special ones too (Kovaleva et al. 2019, section 4.4); from [CLS]
    alone, the largest weight from it. The mean over the sentences that have the feature.

    Args:
        model: what `load_model` gave.
        sentences: of a treebank; `feature_words` says which words have which feature.
        features: some of NOUN, PRON, VERB, SUBJ, OBJ, NEG, PUNCT; [CLS] and [SEP] are added.
        variant: "released" counts a sentence without the feature as 0, as the authors' code does,
            except NEG and what [CLS] attends to, where it skips them too. Their code finds words by
            spelling anywhere in a text; both variants take the tagged words themselves.
        skip_unaligned: leave out sentences with a word that has no tokens, or too long for the
            model; the result counts them.
        batch_size: sentences that go through the model together.
        progress: show a bar.
        checkpoint: file to go on from, as in `measure`.

    Raises:
        ValueError: an unknown feature or variant, no sentences, or one without tags or tokens.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.features import probe_features
        >>> from attnwidget.text.treebank import Sentence
        >>> cats = Sentence.from_lists(["Cats", "purr", "."], [2, 0, 2],
        ...     ["nsubj", "root", "punct"], tags=["NOUN", "VERB", "PUNCT"])
        >>> found = probe_features(load_model(), [cats], progress=False)
        >>> found.weights.shape, dict(zip(found.features, found.counts.tolist()))["SUBJ"]
        ((9, 6, 12), 1)
    """
    sentences = all_of(Sentence, sentences, "read them with load_treebank(path)")
    if variant not in ("skip absent", "released"):
        raise ValueError(f"variant is 'skip absent' or 'released', got {variant!r}")
    if not features or len(set(features)) < len(features):
        raise ValueError(f"features are one or more, each once, got {list(features)}")
    words = [[feature_words(sentence, name) for name in features] for sentence in sentences]
    segments, n_skipped = WordSegmenter(model).segments(
        [(sentence.words, sentence.label) for sentence in sentences], skip_unaligned
    )
    accumulator = Features(tuple(features), words, variant, n_skipped)
    return measure_one(
        model,
        segments,
        accumulator,
        batch_size=batch_size,
        progress=progress,
        checkpoint=checkpoint,
    )


class Features(Accumulator["FeatureWeights"]):
    """The largest weight to each feature, summed over sentences.

    Args:
        features: names of F features.
        words: by sentence and feature, the words that have it; segment i is sentence i.
        variant: as in `probe_features`.
        n_skipped: sentences that were left out, for the result to say.
    """

    name: ClassVar[str] = "features"

    def __init__(
        self,
        features: tuple[str, ...],
        words: Sequence[Sequence[Sequence[int]]],
        variant: Variant = "skip absent",
        n_skipped: int = 0,
    ) -> None:
        self._features = (*features, *_SPECIAL)
        self._words = words
        self._variant = variant
        self._n_skipped = n_skipped
        self._members: tuple[Batch, torch.Tensor] | None = None

    @property
    def options(self) -> dict[str, Any]:
        words = blake2b(repr(self._words).encode(), digest_size=16).hexdigest()
        return {"features": list(self._features), "words": words, "variant": self._variant}

    def start(self, model: AttentionModel, n_layers: int, n_heads: int) -> None:
        super().start(model, n_layers, n_heads)
        self._template = Template.of(model.tokenizer, pair=False)
        shape = (len(self._features), n_layers, n_heads)
        self.sums = {
            "weights": np.zeros(shape),
            "from_first": np.zeros(shape),
            "counts": np.zeros(len(self._features), np.int64),
            "sentences": np.zeros((), np.int64),
            "cls_first": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        members = self._of(layer.batch)
        received = (layer.batch.row_weights[:, None, None] @ layer.weights)[:, :, 0]  # [B, H, n]
        for name, of_queries in (("weights", received), ("from_first", layer.weights[:, :, 0])):
            largest = largest_class_weights(of_queries, members).double().sum(0)  # [H, F]
            self.sums[name][:, layer.layer] += largest.T.cpu().numpy()

    def end_batch(self, batch: Batch) -> None:
        self.sums["counts"] += self._of(batch).any(-1).sum(0).cpu().numpy()
        self.sums["sentences"] += len(batch.segments)
        self.sums["cls_first"] += int(batch.classes["[CLS]"][:, 0].sum())
        self._members = None

    def compute(self) -> FeatureWeights:
        counts, n = self.sums["counts"], int(self.sums["sentences"])
        divisors = counts
        if self._variant == "released":
            skipped = np.isin(self._features, ["NEG", *_SPECIAL])
            divisors = np.where(skipped, counts, n)
        with np.errstate(invalid="ignore"):  # of a feature that no sentence has there is no mean
            return FeatureWeights(
                features=self._features,
                weights=self.sums["weights"] / divisors[:, None, None],
                from_first=self.sums["from_first"] / counts[:, None, None],
                counts=counts.copy(),
                n_sentences=n,
                n_skipped=self._n_skipped,
                variant=self._variant,
                first="[CLS]" if self.sums["cls_first"] else "first token",
                model_name=self.model_name,
                complete=n == len(self._words) - self._n_skipped,
            )

    def _of(self, batch: Batch) -> torch.Tensor:
        """Bool [B, F, n]: the tokens of each feature."""
        if self._members is None or self._members[0] is not batch:
            axes = WordAxes(batch, self._template)
            members = torch.zeros(len(axes.segments), len(self._features), batch.real.shape[1])
            for item, segment in enumerate(axes.segments):
                for feature, words in enumerate(self._words[segment.index]):
                    for word in words:
                        members[item, feature, axes.tokens(item, word)] = 1
            special = torch.stack([batch.classes[name] for name in _SPECIAL], 1)
            members[:, -len(_SPECIAL) :] = special.float().cpu()
            self._members = batch, members.bool().to(batch.real.device)
        return self._members[1]


@dataclass(frozen=True, eq=False, repr=False)
class FeatureWeights(Result):
    """Attention to words with features.

    Attributes:
        features: F names.
        weights: float64 [F, L, H], the largest weight that a token of the feature receives on
            average over the queries; NaN where no sentence has the feature.
        from_first: float64 [F, L, H], the largest weight from the first token alone, [CLS].
        counts: int64 [F], sentences that have the feature.
        n_sentences: sentences read.
        n_skipped: sentences left out because a word has no tokens or the model takes fewer.
        variant: "skip absent" or "released".
        first: what the first token is: "[CLS]", or "first token".
        model_name: what was probed.
        complete: False where the pass was interrupted.
    """

    features: tuple[str, ...]
    weights: NDArray[np.float64]
    from_first: NDArray[np.float64]
    counts: NDArray[np.int64]
    n_sentences: int
    n_skipped: int
    variant: Variant
    first: str
    model_name: str
    complete: bool

    def heads(self) -> HeadMetrics:
        """As for all results; features that no sentence has are left out."""
        found = [i for i, n in enumerate(self.counts) if n]
        titles = [f"feature {self.features[i]}" for i in found]
        from_first = {
            f"{title} from {self.first}": self.from_first[i]
            for title, i in zip(titles, found, strict=True)
        }
        return dict(zip(titles, self.weights[found], strict=True)) | from_first

    def last_layer(self) -> pd.DataFrame:
        """Weights from [CLS] in the last layer: one row a feature, one column a head.

        Where the whole input goes into a decision: what counts for it is what [CLS] reads last
        (Kovaleva et al. 2019, section 4.4).
        """
        import pandas as pd

        return pd.DataFrame(self.from_first[:, -1], index=list(self.features))

    def chart(self, *, from_first: bool = False) -> alt.TopLevelMixin:
        """One heat map of all heads a feature.

        Args:
            from_first: the weights from [CLS] alone.
        """
        values = self.from_first if from_first else self.weights
        where = f"from {self.first}" if from_first else "averaged over queries"
        return head_panels(
            {
                f"{name} ({n})": values[i]
                for i, (name, n) in enumerate(zip(self.features, self.counts, strict=True))
                if n
            },
            title=f"Attention to linguistic features\nlargest weight to a token of each, {where}; "
            f"{self.n_sentences} sentences, in brackets those that have it",
            value_title="weight",
        )
