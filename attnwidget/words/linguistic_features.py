"""Attention to words with linguistic features (Kovaleva et al. 2019, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.argument_checks import SENTENCES, all_of, each_once, one_of
from attnwidget.corpus.results import HeadMetrics
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.links import largest_class_weights
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.linguistic_features import FEATURES, feature_words
from attnwidget.text.treebank import Sentence
from attnwidget.words.probe_words import SentenceMeans, SentencesResult, probe
from attnwidget.words.word_links import AbsenceVariant
from attnwidget.words.word_segments import WordAxes

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_SPECIAL = ("[CLS]", "[SEP]")


@in_plain_torch
def probe_features(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    *,
    features: Sequence[str] = FEATURES,
    variant: AbsenceVariant = "skip absent",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> FeatureWeights:
    """Measure the attention of heads to nouns, verbs, subjects, negation and other features.

    The score of a head on a sentence is the largest weight that a token of the feature receives,
    averaged over all queries including special tokens (Kovaleva et al. 2019, section 4.4). The
    score from [CLS] is the largest weight from [CLS]. Scores are averaged over the sentences with
    the feature.

    Args:
        model: Model from `load_model`.
        sentences: Sentences of a treebank; `feature_words` defines the words of each feature.
        features: Names among NOUN, PRON, VERB, SUBJ, OBJ, NEG, PUNCT; [CLS] and [SEP] are added.
        variant: Handling of sentences without the feature. "skip absent" excludes them. "released"
            counts them as 0, as in the authors' code, but excludes them for NEG and for the
            attention from [CLS]. The authors' code finds words by their spelling anywhere in a
            text; both variants here use the tagged words.
        skip_unaligned: Whether to skip sentences that have a word without tokens or a token of
            several words, or are too long for the model; the result counts them.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If a feature or variant is unknown, there are no sentences, or a sentence has no
            tags or tokens.

    Example:
        >>> from attnwidget import Sentence, load_model
        >>> from attnwidget.words import probe_features
        >>> cats = Sentence.from_lists(["Cats", "purr", "."], [2, 0, 2],
        ...     ["nsubj", "root", "punct"], tags=["NOUN", "VERB", "PUNCT"])
        >>> found = probe_features(load_model(), [cats], progress=False)
        >>> found.weights.shape, dict(zip(found.features, found.counts.tolist()))["SUBJ"]
        ((9, 6, 12), 1)
    """
    sentences = all_of(Sentence, sentences, SENTENCES)
    one_of("variant", variant, ("skip absent", "released"))
    names = tuple(each_once("features", features))
    words = words_of_features(sentences, names)
    return probe(
        model,
        [sentence.running for sentence in sentences],
        lambda _, n_skipped: LinguisticFeatures(
            names, words, variant, n_skipped, len(sentences.left_out)
        ),
        skip_unaligned=skip_unaligned,
        batch_size=batch_size,
        progress=progress,
    )


def words_of_features(
    sentences: Iterable[Sentence], features: Sequence[str] = FEATURES
) -> list[list[list[int]]]:
    """Return the words with each feature for each sentence, from 0.

    Args:
        sentences: Sentences of a treebank.
        features: Names of the features.

    Raises:
        ValueError: If a feature is unknown, or a sentence has no tags.
    """
    return [[feature_words(sentence, name) for name in features] for sentence in sentences]


class LinguisticFeatures(SentenceMeans["FeatureWeights"]):
    """Largest weight on each feature, summed over sentences.

    Args:
        features: Names of the F features.
        words: Words with each feature, for each sentence; segment i is sentence i.
        variant: Handling of sentences without the feature, as in `probe_features`.
        n_skipped: Number of skipped sentences, for the result.
        n_left_out: Number of sentences that were left out earlier, when the list was loaded.
    """

    name = "features"
    by_segment = ("_words",)

    def __init__(
        self,
        features: tuple[str, ...],
        words: Sequence[Sequence[Sequence[int]]],
        variant: AbsenceVariant = "skip absent",
        n_skipped: int = 0,
        n_left_out: int = 0,
    ) -> None:
        super().__init__(len(words), n_skipped, n_left_out)
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
        members = torch.zeros(
            len(axes.segments),
            len(self._features),
            batch.real.shape[1],
            dtype=torch.float32,
            device="cpu",
        )
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
        features: Names of the F features.
        weights: Largest weight that a token of the feature receives, averaged over the queries,
            float64 [F, L, H]; NaN if no sentence has the feature.
        from_first: Largest weight from the first token, [CLS], float64 [F, L, H].
        counts: Number of sentences with each feature, int64 [F].
        variant: Handling of sentences without the feature: "skip absent" or "released".
        first: Name of the first token: "[CLS]", or "first token".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_features
        >>> found = probe_features(load_model(), demo_treebank()[:2], progress=False)
        >>> found.features[:3], found.weights.shape
        (('NOUN', 'PRON', 'VERB'), (9, 6, 12))
    """

    features: tuple[str, ...]
    weights: NDArray[np.float64]
    from_first: NDArray[np.float64]
    counts: NDArray[np.int64]
    variant: AbsenceVariant
    first: str

    def heads(self) -> HeadMetrics:
        """Return one number per head for each feature with sentences: float64 [L, H] by title."""
        elements = [i for i, n in enumerate(self.counts) if n]
        titles = [f"feature {self.features[i]}" for i in elements]
        from_first = {
            f"{title} from {self.first}": self.from_first[i]
            for title, i in zip(titles, elements, strict=True)
        }
        return dict(zip(titles, self.weights[elements], strict=True)) | from_first

    def last_layer(self) -> pd.DataFrame:
        """Return the weights from [CLS] in the last layer, with one row per feature.

        The model's decision depends on [CLS], which attends to these tokens in the last layer
        (Kovaleva et al. 2019, section 4.4).
        """
        import pandas as pd

        return pd.DataFrame(self.from_first[:, -1], index=list(self.features))

    def chart(self, *, from_first: bool = False, width: int = 640) -> alt.TopLevelMixin:
        """Draw one heat map of all heads per feature.

        Args:
            from_first: Whether to draw the weights from [CLS].
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.head_heatmap import head_heatmaps

        values = self.from_first if from_first else self.weights
        origin = f"from {self.first}" if from_first else "averaged over queries"
        return head_heatmaps(
            {
                f"{name} ({n})": values[i]
                for i, (name, n) in enumerate(zip(self.features, self.counts, strict=True))
                if n
            },
            title="Attention to linguistic features\n"
            f"{self.model_name}; largest weight to a token of each, {origin}; "
            f"{self.n_sentences} sentences, in brackets those that have it",
            value_title="weight",
            width=width,
        )
