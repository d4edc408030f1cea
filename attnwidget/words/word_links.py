"""Attention along labeled links between words (Kovaleva et al. 2019, sections 4.2 and 4.5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.corpus.argument_checks import all_of, one_of
from attnwidget.corpus.results import HeadMetrics
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.links import largest_link_weights
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.loaded import left_out_of
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import whole_number
from attnwidget.text.word_links import Link, LinkedSentence
from attnwidget.words.moved_links import moved_links
from attnwidget.words.probe_words import SentenceMeans, SentencesResult, probe
from attnwidget.words.word_segments import WordAxes

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

Pairing = Literal["zip", "all"]
AbsenceVariant = Literal["skip absent", "released"]
LinkControl = Literal["moved"]
ALL = "all"
"""Label under which all links of a sentence are scored together."""
_BEST_COLUMNS = (
    "label",
    "n",
    "layer",
    "head",
    "weight",
    "moved",
    "excess",
    "n_moved",
    "mean",
    "percentile_99",
)


@in_plain_torch
def probe_links(
    model: AttentionModel,
    sentences: Iterable[LinkedSentence],
    *,
    pairing: Pairing = "all",
    variant: AbsenceVariant = "skip absent",
    control: LinkControl | None = "moved",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> LinkWeights:
    """Measure the largest weight of every head along links, averaged over sentences.

    Links may be frame elements and their predicates (`load_framenet_links`), subjects and verbs
    (`subject_verb_links`), nouns and pronouns (`noun_pronoun_links`), or a table (`load_links`).
    The source of a link attends to its target.

    Heads that attend to a neighbor have large weights along short links, although they ignore the
    links. The control is therefore the same number for links that are moved to other places of
    their sentence, where the words have the same distance. `LinkWeights.best` ranks heads by the
    excess over this control.

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
        control: "moved" also measures moved links: both ends of a link move by the same number of
            words, to all other places within the sentence, or to a fixed random sample of 32
            places. No link moves onto a link of the sentence. With `pairing="zip"`, all links of a
            label move together, because their tokens are paired after they are joined. None
            measures no control, which takes less time.
        skip_unaligned: Whether to skip sentences that have a word without tokens or a token of
            several words, or are too long for the model; the result counts them.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If the pairing, variant or control is unknown, there are no links, a word has no
            tokens, or a token has several words.

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
    one_of("control", control, ("moved", None))
    if not any(sentence.links for sentence in sentences):
        raise ValueError(f"the {len(sentences)} sentences have no links")
    return probe(
        model,
        [sentence.running for sentence in sentences],
        lambda _, n_skipped: Links(sentences, pairing, variant, control, n_skipped),
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
        control: Control, as in `probe_links`.
        n_skipped: Number of skipped sentences, for the result.
    """

    name = "links"
    by_segment = ("_sentences",)

    def __init__(
        self,
        sentences: Sequence[LinkedSentence],
        pairing: Pairing = "all",
        variant: AbsenceVariant = "skip absent",
        control: LinkControl | None = "moved",
        n_skipped: int = 0,
    ) -> None:
        super().__init__(len(sentences), n_skipped, len(left_out_of(sentences)))
        self._sentences = sentences
        self._model: AttentionModel | None = None
        self._pairing = pairing
        self._variant = variant
        self._control: LinkControl | None = control
        labels = sorted({link.label for sentence in sentences for link in sentence.links} - {ALL})
        self._labels = (ALL, *labels)
        n_labels = len(self._labels)
        self.of_heads = {"weights": (n_labels,)}
        self.of_segments = {"counts": (n_labels,)}
        if control:
            self.of_heads |= {"movable": (n_labels,), "moved": (n_labels,)}
            self.of_segments |= {"moved counts": (n_labels,)}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self._model = subject.model

    @property
    def options(self) -> dict[str, Any]:
        links = digest_of([[sentence.links for sentence in self._sentences]])
        return {
            "links": links,
            "pairing": self._pairing,
            "variant": self._variant,
            "control": self._control,
        }

    def begin_batch(self, layer: LayerBatch) -> None:
        axes = WordAxes(layer.batch)
        self._links = _TokenPairs(layer.weights.device)
        self._movable = _TokenPairs(layer.weights.device)
        self._moved = _TokenPairs(layer.weights.device)
        # Cell [B * K] and number of placements for each placement of moved links.
        placed: list[tuple[int, int]] = []
        for item, segment in enumerate(axes.segments):
            sentence = self._sentences[segment.index]
            for number, label in enumerate(self._labels):
                cell = item * len(self._labels) + number
                links = [link for link in sentence.links if label in (ALL, link.label)]
                self._links.add(cell, item, self._tokens(axes, item, links))
                if not self._control or not links:
                    continue
                movable, placements = moved_links(
                    len(sentence.words), links, sentence.links, together=self._pairing == "zip"
                )
                self._movable.add(cell, item, self._tokens(axes, item, movable))
                for placement in placements:
                    self._moved.add(len(placed), item, self._tokens(axes, item, placement))
                    placed.append((cell, len(placements)))
        cells, n_placements = np.array(placed, np.int64).reshape(-1, 2).T
        self._placed = torch.from_numpy(cells.copy()).to(layer.weights.device)
        shares = (1 / n_placements).astype(np.float32)[:, None]
        self._shares = torch.from_numpy(shares).to(layer.weights.device)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        size = len(layer.batch.segments), len(self._labels)
        numbers = {"weights": self._links.largest(layer.weights, math.prod(size))}
        if self._control:
            numbers["movable"] = self._movable.largest(layer.weights, math.prod(size))
            placements = self._moved.largest(layer.weights, len(self._placed))
            moved = torch.zeros_like(numbers["movable"])
            numbers["moved"] = moved.index_add_(0, self._placed, placements * self._shares)
        # [B * K, H] to [B, H, K]
        return {name: cells.view(*size, -1).transpose(1, 2) for name, cells in numbers.items()}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        size = len(batch.segments), len(self._labels)
        counts = {"counts": self._links.present(size)}
        if self._control:
            counts["moved counts"] = self._movable.present(size)
        return counts

    def compute(self) -> LinkWeights:
        skips = self._variant == "skip absent"
        weights = self.mean("weights", "counts" if skips else "segments")
        counts = self.counted("counts")
        moved = movable = np.full(weights.shape, np.nan)
        moved_counts = np.zeros_like(counts)
        if self._control:
            over = "moved counts" if skips else "segments"
            moved = self.mean("moved", over)
            movable = self.mean("movable", over)
            moved_counts = self.counted("moved counts")
        return LinkWeights(
            labels=self._labels,
            weights=weights,
            counts=counts,
            moved=moved,
            movable=movable,
            moved_counts=moved_counts,
            pairing=self._pairing,
            variant=self._variant,
            control=self._control,
            sentences=self._sentences,
            model=self._model,
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


class _TokenPairs:
    """Pairs of tokens in groups, of which the largest weight counts.

    Args:
        device: Device of the weights.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._rows: list[tuple[int, int, int]] = []
        self._row_groups: list[int] = []

    def add(self, group: int, item: int, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the pairs (query, key) of one input in the batch to a group."""
        for query, key in pairs:
            self._rows.append((item, query, key))
            self._row_groups.append(group)

    @cached_property
    def _pairs(self) -> Tensor:
        pairs = torch.tensor(self._rows, dtype=torch.int64, device="cpu").reshape(-1, 3)
        return pairs.to(self._device)

    @cached_property
    def _groups(self) -> Tensor:
        return torch.tensor(self._row_groups, dtype=torch.int64, device="cpu").to(self._device)

    def largest(self, weights: Tensor, n_groups: int) -> Tensor:
        """Return the largest weight [B, H, n, n] of each group, [n_groups, H]."""
        return largest_link_weights(weights, self._pairs, self._groups, n_groups)

    def present(self, size: tuple[int, int]) -> Tensor:
        """Return 1 for each group that has a pair and 0 for the others, float32 of this size."""
        present = torch.zeros(size, dtype=torch.float32, device=self._device)
        present.view(-1)[self._groups] = 1
        return present


@dataclass(frozen=True, eq=False, repr=False)
class LinkWeights(SentencesResult):
    """Attention along labeled links.

    Attributes:
        labels: Labels (K). "all", for all links of a sentence together, comes first.
        weights: Largest weight along a sentence's links, averaged over sentences, float64 [K, L,
            H]; NaN for a label without links.
        counts: Number of sentences with links of each label, int64 [K].
        moved: The control: the same as `weights`, for links that are moved to other places of their
            sentence, averaged over the places, float64 [K, L, H]; NaN without a control.
        movable: The same as `weights`, over the links that have another place, float64 [K, L, H];
            NaN without a control. It equals `weights` if all links have another place.
        moved_counts: Number of sentences with links of each label that have another place, int64
            [K].
        pairing: Method that pairs tokens: "zip" or "all".
        variant: Handling of sentences without links: "skip absent" or "released".
        control: Control: "moved", or None.
        sentences: Sentences with their links, as passed to `probe_links`.
        model: Model, which reads the examples of `link_panels`; None in pickles and deep copies.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_links, subject_verb_links
        >>> links = subject_verb_links(demo_treebank()[:3])
        >>> found = probe_links(load_model(), links, progress=False)
        >>> found.labels, found.weights.shape
        (('all', 'SUBJ to VERB', 'VERB to SUBJ'), (3, 6, 12))
        >>> found.best().columns.tolist()[4:7]
        ['weight', 'moved', 'excess']
    """

    labels: tuple[str, ...]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    moved: NDArray[np.float64]
    movable: NDArray[np.float64]
    moved_counts: NDArray[np.int64]
    pairing: Pairing
    variant: AbsenceVariant
    control: LinkControl | None
    sentences: Sequence[LinkedSentence] = ()
    model: AttentionModel | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and deep copies, without the model."""
        return self.__dict__ | {"model": None}

    @property
    def finding(self) -> str:
        """The head with the largest excess over moved links, for the most frequent label.

        Of labels with equally many sentences, it is the label with the largest excess: in a causal
        model, only one direction of a pair can be attended to.
        """
        best = self.best()
        if best.empty:
            return ""
        own = best[best["label"] != ALL]
        rows = (own if len(own) else best).sort_values(
            ["n", "excess", "weight"], ascending=False, kind="stable"
        )
        row = rows.iloc[0]
        head = Head(int(row["layer"]), int(row["head"]))
        if not row["n_moved"]:
            return f"{head} has the largest weight along {row['label']}: {row['weight']:.3f}"
        return (
            f"{head} has the largest excess along {row['label']}: weight {row['weight']:.3f}, and "
            f"{row['moved']:.3f} along moved links"
        )

    @property
    def excess(self) -> NDArray[np.float64]:
        """Largest weight along links minus that along moved links, float64 [K, L, H].

        Both are over the links that have another place. NaN without a control.
        """
        return self.movable - self.moved

    def most_excess(self, label: str, count: int = 2) -> list[Head]:
        """Return the heads with the largest excess over moved links, or else the largest weight.

        Args:
            label: Label of the links.
            count: Number of heads.

        Raises:
            ValueError: If the label does not exist.
        """
        if label not in self.labels:
            raise ValueError(f"there is no label {label!r}: {among(label, self.labels)}")
        k = self.labels.index(label)
        numbers = self.excess[k] if self.moved_counts[k] else self.weights[k]
        order = np.argsort(-np.nan_to_num(numbers, nan=-np.inf), axis=None, kind="stable")
        return [Head(*divmod(int(i), numbers.shape[1])) for i in order[:count]]

    def best(self) -> pd.DataFrame:
        """Return the head with the largest excess over moved links for each label.

        A head that only attends to a neighbor has an excess of about 0. Without a control, or if no
        link of a label has another place, the head with the largest weight is named. The head is
        chosen and scored on the same sentences.

        Returns:
            Columns: label, n (sentences), layer, head, weight, moved, excess, n_moved (sentences
            with links that have another place), mean (weight over all heads), percentile_99 (of the
            weights of all heads; Kovaleva et al. call heads above it relation-specific).
        """
        import pandas as pd

        rows = []
        for k, label in enumerate(self.labels):
            if not self.counts[k]:
                continue
            weights = self.weights[k]
            ranks_by = self.excess[k] if self.moved_counts[k] else weights
            layer, head = np.unravel_index(int(np.nanargmax(ranks_by)), weights.shape)
            rows.append(
                {
                    "label": label,
                    "n": self.counts[k],
                    "layer": layer,
                    "head": head,
                    "weight": weights[layer, head],
                    "moved": self.moved[k, layer, head],
                    "excess": self.excess[k, layer, head],
                    "n_moved": self.moved_counts[k],
                    "mean": float(np.nanmean(weights)),
                    "percentile_99": float(np.nanpercentile(weights, 99)),
                }
            )
        return pd.DataFrame(rows, columns=list(_BEST_COLUMNS))

    def table(self) -> pd.DataFrame:
        """Return `best` with the head names of all tables, the most frequent label first.

        Returns:
            Columns Links, Sentences, Head ("L7 H10"), Weight, Moved, Excess; without a control only
            the first four.
        """
        import pandas as pd

        best = self.best().sort_values("n", ascending=False, kind="stable")
        table = pd.DataFrame(
            {
                "Links": best["label"],
                "Sentences": best["n"],
                "Head": [str(Head(*at)) for at in best[["layer", "head"]].to_numpy().tolist()],
                "Weight": best["weight"].round(3),
                "Moved": best["moved"].round(3),
                "Excess": best["excess"].round(3),
            }
        ).reset_index(drop=True)
        return table if self.control else table.drop(columns=["Moved", "Excess"])

    def _paper_frame(self) -> pd.DataFrame:
        return self.table()

    def heads(self) -> HeadMetrics:
        """Return two numbers per head for each label with sentences: float64 [L, H] by title.

        The numbers are the weight along links, and its excess over moved links.
        """
        arrays: HeadMetrics = {}
        for k, label in enumerate(self.labels):
            title = "links" if label == ALL else f"links, {label}"
            if self.counts[k]:
                arrays[title] = self.weights[k]
            if self.moved_counts[k]:
                arrays[f"{title}, above moved links"] = self.excess[k]
        return arrays

    def to_frame(self) -> pd.DataFrame:
        """Return one row per label and head.

        Columns: label, n (sentences), layer, head, weight, moved, excess, n_moved, as in `best`.
        """
        import pandas as pd

        label, layer, head = (i.ravel() for i in np.indices(self.weights.shape))
        frame = pd.DataFrame(
            {
                "label": np.array(self.labels, dtype=object)[label],
                "n": self.counts[label],
                "layer": layer,
                "head": head,
                "weight": self.weights.ravel(),
                "moved": self.moved.ravel(),
                "excess": self.excess.ravel(),
                "n_moved": self.moved_counts[label],
            }
        )
        # Labels without sentences, and layers without attention, have no weights.
        return frame[frame["weight"].notna()].reset_index(drop=True)

    def chart(self, *, limit: int = 4, width: int = 640) -> alt.TopLevelMixin:
        """Draw two heat maps of all heads for each of the most frequent labels.

        The first map has the weights along links, and the second the weights along moved links, on
        the same scale. Dots mark the two heads with the largest excess. Without a control, there is
        only the first map.

        Args:
            limit: Largest number of labels, including "all".
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.head_heatmap import head_heatmaps

        limit = whole_number("limit", limit, 1, "label")
        order = [i for i in np.argsort(-self.counts, kind="stable") if self.counts[i]][:limit]
        panels: dict[str, NDArray[np.float64]] = {}
        scales: dict[str, str] = {}
        dots: dict[str, NDArray[np.bool_]] = {}
        heads_of_labels = []
        for k in order:
            name = f"{self.labels[k]} ({self.counts[k]})"
            panels[name] = self.weights[k]
            if self.moved_counts[k]:
                panels[moved_name := f"{self.labels[k]}, moved ({self.moved_counts[k]})"] = (
                    self.moved[k]
                )
                scales[moved_name] = name
                heads = self.most_excess(self.labels[k])
                dots[name] = dots[moved_name] = np.zeros(self.weights[k].shape, bool)
                for head in heads:
                    dots[name][head.layer, head.head] = True
                named = [f"{head} +{self.excess[k, head.layer, head.head]:.2f}" for head in heads]
                heads_of_labels.append(f"{self.labels[k]}: {' and '.join(named)}")
        differing = f"\nDots: largest excess; {'; '.join(heads_of_labels)}" if dots else ""
        return head_heatmaps(
            panels,
            title=f"{self.finding}\n{self._subtitle}{differing}",
            value_title="weight",
            same_scale=scales,
            marked=dots,
            width=width,
        )

    @property
    def _subtitle(self) -> str:
        control = (
            "; moved: the same links at other places, with the same distance"
            if self.control
            else ""
        )
        pairing = "" if self.pairing == "all" else f", pairing {self.pairing!r}"
        return (
            f"{self.model_name}; largest weight from source to target{pairing}; "
            f"{self.n_sentences} sentences, in brackets those with the label{control}"
        )
