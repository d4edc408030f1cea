"""Squared length of tree edges in the vectors of a layer, by relation (Coenen et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import bootstrap_weights, percentile_interval
from attnwidget.probes.features import extract_features
from attnwidget.probes.layer_vectors import cache_folder
from attnwidget.probes.structural.structural_runs import StructuralRun
from attnwidget.probes.structural.structural_scores import Punctuation, is_punctuation, usable_rule
from attnwidget.text.counted import counted
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_DRAWS = 1000
_FEWEST = 30
"""Default number of edges from which a relation is drawn and named."""


@dataclass(frozen=True, eq=False, repr=False)
class EdgeLengths(Result):
    """Mean squared length of tree edges by relation. Made by `StructuralProbe.edge_lengths`.

    Attributes:
        relations: Relations, the one with the shortest edges first.
        lengths: Mean squared length, low end and high end of its 95 % interval (bootstrap over
            sentences, NaN with fewer than six sentences), float64 [3, R]. In a tree that the
            vectors represent exactly, every edge has the length 1.
        counts: Number of edges of each relation, int64 [R].
        layer: Layer of the vectors, from 0.
        rank: Number of columns of the probe's map.
        n_sentences: Number of sentences.
        n_skipped: Number of skipped sentences.

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> lengths = demo_probe("trees").edge_lengths(demo_treebank()[:20], progress=False)
        >>> bool(lengths.lengths[0, 0] < lengths.lengths[0, -1])
        True
    """

    relations: tuple[str, ...]
    lengths: Float64Array
    counts: NDArray[np.int64]
    layer: int
    rank: int
    n_sentences: int
    n_skipped: int

    @property
    def finding(self) -> str:
        """Relations with the shortest and the longest edges, among those with 30 edges or more."""
        frame = self.to_frame()
        frequent = frame[frame["n"] >= min(_FEWEST, frame["n"].max())]
        shortest, longest = frequent.iloc[0], frequent.iloc[-1]
        return (
            f"Edges of {shortest['relation']} are shortest ({shortest['length']:.2f}), edges of "
            f"{longest['relation']} longest ({longest['length']:.2f})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per relation: relation, n (edges), length, low, high."""
        import pandas as pd

        frame = pd.DataFrame({"relation": self.relations, "n": self.counts})
        frame[["length", "low", "high"]] = self.lengths.T
        return frame

    def chart(self, *, min_count: int = _FEWEST, width: int = 640) -> alt.VConcatChart:
        """Draw the mean squared length of each relation, the shortest first; needs no network.

        A dashed line marks the length 1, which every edge of the tree has.

        Args:
            min_count: Smallest number of edges of a relation.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If no relation has so many edges.
        """
        from attnwidget.charts.length_bars import length_bars

        min_count = whole_number("min_count", min_count, 1)
        frame = self.to_frame()
        frame = frame[frame["n"] >= min_count]
        if frame.empty:
            raise ValueError(
                f"no relation has {min_count} edges: the most frequent one has "
                f"{self.counts.max()}; pass a smaller min_count or more sentences"
            )
        title = (
            f"{self.finding}\n{self.model_name}, structural probe, L{self.layer}, "
            f"rank {self.rank}; {counted(self.n_sentences, 'sentence')}\n"
            f"relations with {min_count} edges or more; 95\xa0% intervals over sentences"
        )
        return length_bars(
            frame, title=title, value_title="mean squared length of an edge", width=width
        )

    def __repr__(self) -> str:
        return (
            f"EdgeLengths({self.model_name}, L{self.layer}, "
            f"{counted(len(self.relations), 'relation')}, "
            f"{counted(self.n_sentences, 'sentence')})"
        )


def measured_lengths(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    run: StructuralRun,
    *,
    layer: int,
    rule: Punctuation,
    skip_unaligned: bool,
    progress: bool,
) -> EdgeLengths:
    """Return the lengths of all edges that join two words, without punctuation.

    Args:
        model: Model of the training.
        sentences: Sentences with their trees.
        run: Run with the map of one layer.
        layer: Layer of the vectors, from 0.
        rule: Rule for punctuation, if the sentences have its annotation.
        skip_unaligned: Whether to skip sentences that the model cannot read.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If the sentences have no edges between words.
    """
    sums: dict[str, dict[int, list[float]]] = {}
    with cache_folder(None) as folder:
        vectors = extract_features(
            model,
            sentences,
            folder,
            kind="hidden",
            layers=[layer + 1],
            skip_unaligned=skip_unaligned,
            progress=progress,
        )
        rule = usable_rule(rule, vectors.sentences)
        for index, sentence in enumerate(vectors.sentences):
            distances = run.predicted(vectors[index])[0][0]
            is_mark = is_punctuation(sentence, rule)
            pairs = zip(sentence.governors, sentence.relations, strict=True)
            for word, (governor, relation) in enumerate(pairs):
                if governor and not is_mark[word] and not is_mark[governor - 1]:
                    of_relation = sums.setdefault(relation, {})
                    of_relation.setdefault(index, []).append(distances[word, governor - 1])
    if not sums:
        raise ValueError(
            f"the {counted(len(vectors.sentences), 'sentence')} have no edges between words: pass "
            "sentences of two words or more"
        )
    estimates = {relation: _estimate(values) for relation, values in sums.items()}
    order = sorted(estimates, key=lambda relation: float(estimates[relation][0]))
    return EdgeLengths(
        relations=tuple(order),
        lengths=np.stack([estimates[relation] for relation in order], axis=1),
        counts=np.array([sum(map(len, sums[relation].values())) for relation in order]),
        layer=layer,
        rank=run.rank,
        n_sentences=len(vectors.sentences),
        n_skipped=vectors.n_skipped,
        model_name=model.name,
    )


def _estimate(lengths: dict[int, list[float]]) -> Float64Array:
    """Return the mean over edges and its interval over sentences, [3]."""
    totals = np.array([sum(values) for values in lengths.values()])
    counts = np.array([float(len(values)) for values in lengths.values()])
    weights = bootstrap_weights(len(totals), _DRAWS)
    return percentile_interval((weights @ totals) / (weights @ counts), len(totals))
