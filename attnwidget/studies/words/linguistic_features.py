"""Attention to words with linguistic features (Kovaleva et al. 2019, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.charts.head_heatmap import head_heatmaps
from attnwidget.kernels.links import largest_class_weights
from attnwidget.studies.argument_checks import all_of, each_once, one_of
from attnwidget.studies.streaming.accumulator import Batch, LayerBatch
from attnwidget.studies.streaming.checkpoint import digest_of
from attnwidget.studies.streaming.results import HeadMetrics
from attnwidget.studies.streaming.shards import Executor
from attnwidget.studies.words.probe_words import SentenceMeans, SentencesResult, probe
from attnwidget.studies.words.word_segments import WordAxes
from attnwidget.text.linguistic_features import FEATURES, feature_words
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_SPECIAL = ("[CLS]", "[SEP]")
AbsenceVariant = Literal["skip absent", "released"]


def probe_features(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    *,
    features: Sequence[str] = FEATURES,
    variant: AbsenceVariant = "skip absent",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
    checkpoint: str | Path | None = None,
    executor: Executor | None = None,
) -> FeatureWeights:
    """How strongly heads attend to nouns, verbs, subjects, negation..., and [CLS] in particular.

    A head's score on a sentence is the largest weight that a token of the feature receives on
    average over all queries, special ones too (Kovaleva et al. 2019, section 4.4); from [CLS]
    alone, the largest weight from it. The mean over the sentences that have the feature.

    Args:
        model: A model from `load_model`.
        sentences: of a treebank; `feature_words` says which words have which feature.
        features: some of NOUN, PRON, VERB, SUBJ, OBJ, NEG, PUNCT; [CLS] and [SEP] are added.
        variant: "released" counts a sentence without the feature as 0, as the authors' code does;
            NEG and the attention of [CLS] skip these sentences in both variants. Their code finds
            words by spelling anywhere in a text; both variants take the tagged words themselves.
        skip_unaligned: Whether to leave out sentences that have a word without tokens or are too
            long for the model; the result counts them.
        batch_size: Number of sentences in one pass of the model.
        progress: Whether to show a progress bar.
        checkpoint: An .npz file from which an interrupted study continues, as in `measure`.
        executor: Executor whose workers read the inputs, as in `measure`.

    Raises:
        ValueError: an unknown feature or variant, no sentences, or one without tags or tokens.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.words.linguistic_features import probe_features
        >>> from attnwidget.text.treebank import Sentence
        >>> cats = Sentence.from_lists(["Cats", "purr", "."], [2, 0, 2],
        ...     ["nsubj", "root", "punct"], tags=["NOUN", "VERB", "PUNCT"])
        >>> found = probe_features(load_model(), [cats], progress=False)
        >>> found.weights.shape, dict(zip(found.features, found.counts.tolist()))["SUBJ"]
        ((9, 6, 12), 1)
    """
    sentences = all_of(Sentence, sentences, "read them with load_treebank(path)")
    one_of("variant", variant, ("skip absent", "released"))
    names = tuple(each_once("features", features))
    words = [[feature_words(sentence, name) for name in names] for sentence in sentences]
    return probe(
        model,
        [(sentence.words, sentence.label) for sentence in sentences],
        lambda _, n_skipped: LinguisticFeatures(names, words, variant, n_skipped),
        skip_unaligned=skip_unaligned,
        batch_size=batch_size,
        progress=progress,
        checkpoint=checkpoint,
        executor=executor,
    )


class LinguisticFeatures(SentenceMeans["FeatureWeights"]):
    """The largest weight to each feature, summed over sentences.

    Args:
        features: names of F features.
        words: by sentence and feature, the words that have it; segment i is sentence i.
        variant: as in `probe_features`.
        n_skipped: Number of sentences that were left out, for the result.
    """

    name: ClassVar[str] = "features"
    by_segment = ("_words",)

    def __init__(
        self,
        features: tuple[str, ...],
        words: Sequence[Sequence[Sequence[int]]],
        variant: AbsenceVariant = "skip absent",
        n_skipped: int = 0,
    ) -> None:
        super().__init__(len(words), n_skipped)
        self._features = (*features, *_SPECIAL)
        self._words = words
        self._variant = variant
        size = (len(self._features),)
        self.of_heads = {"weights": size, "from_first": size}
        self.of_segments = {"counts": size, "cls_first": ()}

    @property
    def options(self) -> dict[str, Any]:
        words = digest_of([self._words])
        return {"features": list(self._features), "words": words, "variant": self._variant}

    def begin_batch(self, layer: LayerBatch) -> None:
        batch = layer.batch
        axes = WordAxes(layer.batch)
        members = torch.zeros(len(axes.segments), len(self._features), batch.real.shape[1])
        for item, segment in enumerate(axes.segments):
            for feature, words in enumerate(self._words[segment.index]):
                for word in words:
                    members[item, feature, axes.tokens(item, word)] = 1
        special = torch.stack([batch.classes[name] for name in _SPECIAL], 1)
        members[:, -len(_SPECIAL) :] = special.float().cpu()
        self._members = members.bool().to(batch.real.device)  # [B, F, n]

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        received = (layer.batch.row_weights[:, None, None] @ layer.weights)[:, :, 0]  # [B, H, n]
        return {
            "weights": largest_class_weights(received, self._members),
            "from_first": largest_class_weights(layer.weights[:, :, 0], self._members),
        }

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return {"counts": self._members.any(-1), "cls_first": batch.classes["[CLS]"][:, 0]}

    def compute(self) -> FeatureWeights:
        weights = self.mean("weights", over="counts")
        if self._variant == "released":
            skipped = np.isin(self._features, ["NEG", *_SPECIAL])
            weights = np.where(skipped[:, None, None], weights, self.mean("weights"))
        return FeatureWeights(
            features=self._features,
            weights=weights,
            from_first=self.mean("from_first", over="counts"),
            counts=self.counted("counts"),
            variant=self._variant,
            first="[CLS]" if self.counted("cls_first") else "first token",
            **self.about,
        )


@dataclass(frozen=True, eq=False, repr=False)
class FeatureWeights(SentencesResult):
    """Attention to words with features.

    Attributes:
        features: F names.
        weights: float64 [F, L, H], the largest weight that a token of the feature receives on
            average over the queries; NaN where no sentence has the feature.
        from_first: float64 [F, L, H], the largest weight from the first token alone, [CLS].
        counts: int64 [F], sentences that have the feature.
        variant: "skip absent" or "released".
        first: what the first token is: "[CLS]", or "first token".
    """

    features: tuple[str, ...]
    weights: NDArray[np.float64]
    from_first: NDArray[np.float64]
    counts: NDArray[np.int64]
    variant: AbsenceVariant
    first: str

    def heads(self) -> HeadMetrics:
        """As for all results; features that no sentence has are left out."""
        elements = [i for i, n in enumerate(self.counts) if n]
        titles = [f"feature {self.features[i]}" for i in elements]
        from_first = {
            f"{title} from {self.first}": self.from_first[i]
            for title, i in zip(titles, elements, strict=True)
        }
        return dict(zip(titles, self.weights[elements], strict=True)) | from_first

    def last_layer(self) -> pd.DataFrame:
        """Return the weights from [CLS] in the last layer, with one row per feature.

        The relevant position is where the model decides: the tokens that [CLS] reads last (Kovaleva
        et al. 2019, section 4.4).
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
        return head_heatmaps(
            {
                f"{name} ({n})": values[i]
                for i, (name, n) in enumerate(zip(self.features, self.counts, strict=True))
                if n
            },
            title=f"Attention to linguistic features\nlargest weight to a token of each, {where}; "
            f"{self.n_sentences} sentences, in brackets those that have it",
            value_title="weight",
        )
