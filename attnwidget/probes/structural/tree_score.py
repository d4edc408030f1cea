"""Score of a structural probe on further sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnwidget.capture.result import Result
from attnwidget.kernels.arrays import Float64Array
from attnwidget.probes.features import extract_features
from attnwidget.probes.layer_vectors import cache_folder
from attnwidget.probes.structural.structural_runs import StructuralRun, scores_of
from attnwidget.probes.structural.structural_scores import (
    MEASURES,
    GoldTree,
    Punctuation,
    chain_scores,
    usable_rule,
)
from attnwidget.probes.structural.structural_training import VectorTrees
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False, repr=False)
class TreeScore(Result):
    """Score of one layer and rank of a structural probe. Made by `StructuralProbe.score`.

    Attributes:
        values: Value, low end and high end of the 95 % interval (bootstrap over sentences, NaN with
            fewer than six), for UUAS, DSpr, root accuracy and NSpr, float64 [3, 4].
        chain: The same for the linear chain, float64 [3, 4].
        layer: Layer of the vectors, from 0.
        rank: Number of columns of the probe's map.
        n_sentences: Number of scored sentences.
        n_skipped: Number of skipped sentences.
        punctuation: Annotation that identifies punctuation: "xpos", "upos" or "relation".

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> score = demo_probe("trees").score(demo_treebank()[:20], progress=False)
        >>> score.to_frame()["measure"].unique().tolist()
        ['UUAS', 'DSpr', 'root accuracy', 'NSpr']
    """

    values: Float64Array
    chain: Float64Array
    layer: int
    rank: int
    n_sentences: int
    n_skipped: int
    punctuation: Punctuation

    @property
    def uuas(self) -> float:
        """Share of the edges of all trees that are predicted, 0 to 1."""
        return float(self.values[0, MEASURES.index("UUAS")])

    @property
    def dspr(self) -> float:
        """Spearman's correlation of distances, averaged over lengths 5 to 50."""
        return float(self.values[0, MEASURES.index("DSpr")])

    @property
    def root_accuracy(self) -> float:
        """Share of sentences with a correct root, 0 to 1."""
        return float(self.values[0, MEASURES.index("root accuracy")])

    @property
    def nspr(self) -> float:
        """Spearman's correlation of depths, averaged over lengths 5 to 50."""
        return float(self.values[0, MEASURES.index("NSpr")])

    @property
    def finding(self) -> str:
        """Share of edges in the layer, compared with the chain."""
        chain = float(self.chain[0, 0])
        relation = "more" if self.uuas > chain else "not more"
        return (
            f"L{self.layer} has {percent(self.uuas)} of the edges of the trees, {relation} than "
            f"the chain ({percent(chain)})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure and predictor: measure, predictor, value, low, high.

        Predictors are "probe" and "chain".
        """
        import pandas as pd

        rows = [
            (measure, predictor, *estimates[:, index])
            for index, measure in enumerate(MEASURES)
            for predictor, estimates in (("probe", self.values), ("chain", self.chain))
        ]
        return pd.DataFrame(rows, columns=["measure", "predictor", "value", "low", "high"])

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw UUAS and root accuracy of the probe and of the chain as bars; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.accuracy_bars import accuracy_bars

        frame = self.to_frame().rename(columns={"measure": "task"})
        shares = frame[frame["task"].isin(["UUAS", "root accuracy"])]
        skipped = f", {self.n_skipped} skipped" if self.n_skipped else ""
        title = (
            f"{self.finding}\n{self.model_name}, structural probe, rank {self.rank}\n"
            f"{counted(self.n_sentences, 'sentence')}{skipped}; 95\xa0% intervals over them"
        )
        return accuracy_bars(shares, title=title, width=width)

    def __repr__(self) -> str:
        return (
            f"TreeScore({self.model_name}, L{self.layer}, rank {self.rank}: UUAS {self.uuas:.1%}, "
            f"DSpr {self.dspr:.2f}, chain {self.chain[0, 0]:.1%}, "
            f"{counted(self.n_sentences, 'sentence')})"
        )


def measured_score(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    runs: Sequence[StructuralRun],
    *,
    layer: int,
    rule: Punctuation,
    skip_unaligned: bool,
    progress: bool,
) -> TreeScore:
    """Return the score of the maps of one layer.

    Args:
        model: Model of the training.
        sentences: Sentences with their trees.
        runs: Runs of one rank, with the map of the layer.
        layer: Layer of the vectors, from 0.
        rule: Rule for punctuation, if the sentences have its annotation.
        skip_unaligned: Whether to skip sentences that the model cannot read.
        progress: Whether to show a progress bar.
    """
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
        gold = [GoldTree.from_sentence(sentence, rule) for sentence in vectors.sentences]
        values, _ = scores_of(runs, VectorTrees(vectors.sentences, vectors), gold)
    return TreeScore(
        values=np.asarray(values[..., 0]),
        chain=chain_scores(gold).estimates()[..., 0],
        layer=layer,
        rank=runs[0].rank,
        n_sentences=len(gold),
        n_skipped=vectors.n_skipped,
        punctuation=rule,
        model_name=model.name,
    )
