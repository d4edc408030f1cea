"""Attention along labeled links between words (Kovaleva et al. 2019, sections 4.2 and 4.5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.argument_checks import all_of, one_of
from attnwidget.corpus.results import HeadMetrics
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.links import largest_link_weights
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.loaded import left_out_of
from attnwidget.text.word_links import Link, LinkedSentence
from attnwidget.words.probe_words import SentenceMeans, SentencesResult, probe
from attnwidget.words.word_segments import WordAxes

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

Pairing = Literal["zip", "all"]
AbsenceVariant = Literal["skip absent", "released"]
ALL = "all"
"""Label under which all links of a sentence are scored together."""


@in_plain_torch
def probe_links(
    model: AttentionModel,
    sentences: Iterable[LinkedSentence],
    *,
    pairing: Pairing = "all",
    variant: AbsenceVariant = "skip absent",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> LinkWeights:
    """Measure the largest weight of every head along links, averaged over sentences.

    Links may be frame elements and their predicates (`load_framenet_links`), subjects and verbs
    (`subject_verb_links`), nouns and pronouns (`noun_pronoun_links`), or a table (`load_links`).
    The source of a link attends to its target.

    Args:
        model: Model from `load_model`.
        sentences: Sentences with links between words. Links with the same label in a sentence are
            scored together, and so are the links of all labels.
        pairing: Method that pairs tokens at the ends of a link. "all": every token of the source
            with every token of the target, as in the paper's text. "zip": the first token with the
            first, the second with the second and so on, after the sources and the targets of all
            links are joined, as in the authors' code. A target with one token is then only paired
            with the first token of the first source.
        variant: Handling of sentences without links of a label. "skip absent" excludes them.
            "released" counts them as 0, as in the authors' code for subjects and verbs.
        skip_unaligned: Whether to skip sentences that have a word without tokens or a token of
            several words, or are too long for the model; the result counts them.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If the pairing or variant is unknown, there are no links, a word has no tokens,
            or a token has several words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.results import Link, LinkedSentence
        >>> from attnwidget.words import probe_links
        >>> words = ("he", "was", "becoming", "agitated", ".")
        >>> sentence = LinkedSentence(words, (Link((0,), (3,), "Experiencer"),))
        >>> found = probe_links(load_model(), [sentence], progress=False)
        >>> found.labels, found.weights.shape
        (('all', 'Experiencer'), (2, 6, 12))
    """
    advice = (
        "this study needs sentences with links: read them with load_links(path), or make them with "
        "subject_verb_links(sentences)"
    )
    sentences = all_of(LinkedSentence, sentences, advice)
    one_of("pairing", pairing, ("zip", "all"))
    one_of("variant", variant, ("skip absent", "released"))
    if not any(sentence.links for sentence in sentences):
        raise ValueError(f"the {len(sentences)} sentences have no links")
    return probe(
        model,
        [sentence.running for sentence in sentences],
        lambda _, n_skipped: Links(sentences, pairing, variant, n_skipped),
        skip_unaligned=skip_unaligned,
        batch_size=batch_size,
        progress=progress,
    )


class Links(SentenceMeans["LinkWeights"]):
    """Largest weight along the links of each label, summed over sentences.

    Args:
        sentences: Sentences; segment i of the study is sentence i.
        pairing: Method that pairs tokens, as in `probe_links`.
        variant: Handling of sentences without links, as in `probe_links`.
        n_skipped: Number of skipped sentences, for the result.
    """

    name = "links"
    by_segment = ("_sentences",)

    def __init__(
        self,
        sentences: Sequence[LinkedSentence],
        pairing: Pairing = "all",
        variant: AbsenceVariant = "skip absent",
        n_skipped: int = 0,
    ) -> None:
        super().__init__(len(sentences), n_skipped, len(left_out_of(sentences)))
        self._sentences = sentences
        self._pairing = pairing
        self._variant = variant
        labels = sorted({link.label for sentence in sentences for link in sentence.links} - {ALL})
        self._labels = (ALL, *labels)
        self.of_heads = {"weights": (len(self._labels),)}
        self.of_segments = {"counts": (len(self._labels),)}

    @property
    def options(self) -> dict[str, Any]:
        links = digest_of([[sentence.links for sentence in self._sentences]])
        return {"links": links, "pairing": self._pairing, "variant": self._variant}

    def begin_batch(self, layer: LayerBatch) -> None:
        axes = WordAxes(layer.batch)
        rows: list[tuple[int, int, int]] = []
        groups: list[int] = []
        for item, segment in enumerate(axes.segments):
            links = self._sentences[segment.index].links
            for number, label in enumerate(self._labels):
                labeled_links = [link for link in links if label in (ALL, link.label)]
                for query, key in self._tokens(axes, item, labeled_links):
                    rows.append((item, query, key))
                    groups.append(item * len(self._labels) + number)
        device = layer.weights.device
        # Pairs of tokens [P, 3], and the sentence and label of each pair as a group [P].
        self._pairs = torch.tensor(rows, dtype=torch.int64, device="cpu").reshape(-1, 3).to(device)
        self._groups = torch.tensor(groups, dtype=torch.int64, device="cpu").to(device)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        size = len(layer.batch.segments), len(self._labels)
        largest = largest_link_weights(layer.weights, self._pairs, self._groups, math.prod(size))
        return {"weights": largest.view(*size, -1).transpose(1, 2)}  # [B, H, K]

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        has_label = torch.zeros(
            len(batch.segments), len(self._labels), dtype=torch.float32, device=self._groups.device
        )
        has_label.view(-1)[self._groups] = 1
        return {"counts": has_label}

    def compute(self) -> LinkWeights:
        over = "counts" if self._variant == "skip absent" else "segments"
        return LinkWeights(
            labels=self._labels,
            weights=self.mean("weights", over),
            counts=self.counted("counts"),
            pairing=self._pairing,
            variant=self._variant,
            **self.about,
        )

    def _tokens(self, axes: WordAxes, item: int, links: Sequence[Link]) -> list[tuple[int, int]]:
        def tokens(words: Iterable[int]) -> list[int]:
            return [token for word in words for token in axes.tokens(item, word)]

        if self._pairing == "zip":
            # Predicates with several elements are one target, so count each source and target once.
            sources = dict.fromkeys(link.source for link in links)
            targets = dict.fromkeys(link.target for link in links)
            ends = ([t for words in spans for t in tokens(words)] for spans in (sources, targets))
            return list(zip(*ends, strict=False))
        return [
            pair for link in links for pair in product(tokens(link.source), tokens(link.target))
        ]


@dataclass(frozen=True, eq=False, repr=False)
class LinkWeights(SentencesResult):
    """Attention along labeled links.

    Attributes:
        labels: Labels (K). "all", for all links of a sentence together, comes first.
        weights: Largest weight along a sentence's links, averaged over sentences, float64 [K, L,
            H]; NaN for a label without links.
        counts: Number of sentences with links of each label, int64 [K].
        pairing: Method that pairs tokens: "zip" or "all".
        variant: Handling of sentences without links: "skip absent" or "released".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_links, subject_verb_links
        >>> links = subject_verb_links(demo_treebank()[:3])
        >>> found = probe_links(load_model(), links, progress=False)
        >>> found.labels, found.weights.shape
        (('all', 'SUBJ to VERB', 'VERB to SUBJ'), (3, 6, 12))
    """

    labels: tuple[str, ...]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    pairing: Pairing
    variant: AbsenceVariant

    def best(self) -> pd.DataFrame:
        """Return the head with the largest weight for each label, with the mean and a percentile.

        Returns:
            Columns: label, n (sentences), layer, head, weight, mean (over all heads), percentile_99
            (of all heads; Kovaleva et al. call heads above it relation-specific).
        """
        import pandas as pd

        rows = []
        for label, n, weights in zip(self.labels, self.counts, self.weights, strict=True):
            if n:
                layer, head = np.unravel_index(int(np.argmax(weights)), weights.shape)
                percentile = float(np.percentile(weights, 99))
                largest = float(weights[layer, head])
                rows.append((label, n, layer, head, largest, float(weights.mean()), percentile))
        names = ["label", "n", "layer", "head", "weight", "mean", "percentile_99"]
        return pd.DataFrame(rows, columns=names)

    def heads(self) -> HeadMetrics:
        """Return one number per head for each label with sentences: float64 [L, H] by title."""
        rows = zip(self.labels, self.counts, self.weights, strict=True)
        titles = {label: "links" if label == ALL else f"links, {label}" for label in self.labels}
        return {titles[label]: weights for label, n, weights in rows if n}

    def chart(self, *, limit: int = 9, width: int = 640) -> alt.TopLevelMixin:
        """Draw one heat map of all heads for each of the most frequent labels.

        Args:
            limit: Largest number of labels, including "all".
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.head_heatmap import head_heatmaps

        order = [i for i in np.argsort(-self.counts, kind="stable") if self.counts[i]][:limit]
        return head_heatmaps(
            {f"{self.labels[i]} ({self.counts[i]})": self.weights[i] for i in order},
            title="Attention along labeled links\n"
            f"{self.model_name}; largest weight from source to target, pairing {self.pairing!r}; "
            f"{self.n_sentences} sentences, in brackets those with the label",
            value_title="weight",
            width=width,
        )
