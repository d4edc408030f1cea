"""The result of a structural probe, and the trees that it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.corpus.argument_checks import all_of, one_of
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.minimum_spanning_tree import spanning_edges
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.probes.layer_vectors import layer_vectors
from attnwidget.probes.saved_arrays import refuse_other_weights, write_probe
from attnwidget.probes.structural.structural_runs import StructuralRun
from attnwidget.probes.structural.structural_scores import MEASURES, GoldTree, Punctuation
from attnwidget.text.counted import counted
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_SAID = (
    "layers",
    "ranks",
    "n_seeds",
    "n_train",
    "n_dev",
    "n_skipped",
    "punctuation",
    "complete",
    "model_name",
    "model_digest",
)
_RUN_SAID = ("rank", "seed", "epochs", "complete")
_RUN_ARRAYS = ("distance", "depth", "dev_losses")
_COLUMNS = ("predictor", "rank", "layer", "measure", "value", "low", "high", "deviation")
_PUNCTUATION = {
    "xpos": "punctuation by the treebank's own (Penn) tags",
    "upos": "punctuation by the universal tag PUNCT",
    "relation": "punctuation by the relation punct",
}


@dataclass(frozen=True, eq=False)
class PredictedTree:
    """The predictions of a structural probe for the m words of a sentence, and the annotated tree.

    Attributes:
        sentence: the sentence.
        layer: the layer that was read, from 0.
        rank: columns of the probe's map.
        distances: float64 [m, m], predicted; squared lengths, in edges.
        depths: float64 [m], predicted, in edges from the root.
        edges: pairs of words, from 0, of the minimum spanning tree of the predicted distances;
            punctuation has none.
        root: the word, from 0, of the least predicted depth that is no punctuation.
        gold_distances: int64 [m, m].
        gold_depths: int64 [m].
        gold_edges: as `edges`, by the gold distances: the tree, where no word hangs on punctuation.
        gold_root: the word that the tree has as its root.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_structural_probe
        >>> model, trees = load_model(), demo_treebank()
        >>> options = {"layers": [2], "rank": 4, "epochs": 1, "progress": False}
        >>> probe = train_structural_probe(model, trees[:6], trees[6:8], **options)
        >>> tree = probe.predictions(trees[39])
        >>> tree.distances.shape, len(tree.edges)
        ((15, 15), 12)
    """

    sentence: Sentence
    layer: int
    rank: int
    distances: Float64Array
    depths: Float64Array
    edges: tuple[tuple[int, int], ...]
    root: int
    gold_distances: NDArray[np.int64]
    gold_depths: NDArray[np.int64]
    gold_edges: tuple[tuple[int, int], ...]
    gold_root: int

    @property
    def found(self) -> NDArray[np.int64]:
        """Int64 [m]: 1 where the edge of a word and its governor is predicted, 0 where it is not.

        -1 where it is no gold edge: of punctuation. The root has 1 where it is `root`.
        """
        gold = {*self.gold_edges}
        marks = np.full(len(self.sentence), -1)
        for word, governor in enumerate(self.sentence.governors):
            edge = min(word, governor - 1), max(word, governor - 1)
            if edge in gold:
                marks[word] = edge in self.edges
        marks[self.gold_root] = self.root == self.gold_root
        return marks

    @property
    def uuas(self) -> float:
        """The share of gold edges that are predicted; NaN where there are none."""
        if not self.gold_edges:
            return float("nan")
        return len({*self.edges} & {*self.gold_edges}) / len(self.gold_edges)


@dataclass(frozen=True, eq=False, repr=False)
class StructuralProbe(Result):
    """How well trees can be read from the layers of a model by a linear map. L layers, R ranks.

    Attributes:
        layers: the layers, from 0; layer 0 is what the first block gives.
        ranks: columns of the maps, least first.
        runs: the trained maps, one run a rank and seed.
        scores: float64 [R, 3, 4, L]: the mean over seeds, the low and the high end of its 95 %
            interval (bootstrap over dev sentences, NaN with fewer than six), for UUAS, DSpr, root
            accuracy and NSpr.
        deviations: float64 [R, 4, L], standard deviation over seeds; NaN with one.
        chain: float64 [3, 4], the same of the linear chain.
        untrained: float64 [3, 4, L], the same of the architecture with random weights, by the
            largest rank and the first seed; None where it was not asked for, or not reached.
        n_seeds: how many seeds.
        n_train: sentences trained on.
        n_dev: sentences that say when to stop, and that are scored.
        n_skipped: sentences left out of both: invalid (`skip_invalid` of `load_treebank`), too
            long, or with a word without tokens or a token of several words.
        punctuation: what told punctuation: "xpos", "upos" or "relation".
        complete: False where training was interrupted: runs have the best until then.
        model_name: what was probed.
        model_digest: A fingerprint of the model.
        model: the same, for `predictions`; None where it is not at hand.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_structural_probe
        >>> model, trees = load_model(), demo_treebank()
        >>> options = {"layers": [2, 3], "rank": 4, "epochs": 1, "progress": False}
        >>> probe = train_structural_probe(model, trees[:6], trees[6:8], **options)
        >>> probe.ranks, probe.uuas.shape
        ((4,), (1, 2))
    """

    kind: ClassVar[str] = "structural probe"

    layers: tuple[int, ...]
    ranks: tuple[int, ...]
    runs: tuple[StructuralRun, ...]
    scores: Float64Array
    deviations: Float64Array
    chain: Float64Array
    untrained: Float64Array | None
    n_seeds: int
    n_train: int
    n_dev: int
    n_skipped: int
    punctuation: Punctuation
    model_digest: str
    model: AttentionModel | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The training options and a description of the training data."""
        told = ("layers", "ranks", "n_seeds", "n_train", "n_dev", "n_skipped")
        return {name: getattr(self, name) for name in told}

    @property
    def best_layer(self) -> int:
        """The layer whose UUAS is best with the largest rank, from 0."""
        return self._chosen(None, None)[0]

    def for_model(self, model: AttentionModel) -> StructuralProbe:
        """The probe with a model at hand, for one that was loaded without.

        Raises:
            ValueError: the model differs from the model in training.
        """
        refuse_other_weights(model, self.model_name, self.model_digest)
        return replace(self, model=model)

    @property
    def uuas(self) -> Float64Array:
        """Float64 [R, L], the share of gold edges that are predicted, 0 to 1."""
        return self.scores[:, 0, MEASURES.index("UUAS")]

    @property
    def dspr(self) -> Float64Array:
        """Float64 [R, L], Spearman's correlation of distances, averaged over lengths 5 to 50."""
        return self.scores[:, 0, MEASURES.index("DSpr")]

    @property
    def root_accuracy(self) -> Float64Array:
        """Float64 [R, L], the share of sentences whose root is found, 0 to 1."""
        return self.scores[:, 0, MEASURES.index("root accuracy")]

    @property
    def nspr(self) -> Float64Array:
        """Float64 [R, L], Spearman's correlation of depths, averaged over lengths 5 to 50."""
        return self.scores[:, 0, MEASURES.index("NSpr")]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per predictor, rank, layer, measure: value, low, high, deviation over seeds.

        Predictors are "probe", "untrained" and "chain"; the chain has no rank and no layer.
        `attrs["model"]` is the model's name.
        """
        import pandas as pd

        rows: list[tuple[object, ...]] = []
        for r, rank in enumerate(self.ranks):
            rows += self._rows("probe", rank, self.scores[r], self.deviations[r])
        if self.untrained is not None:
            nothing = np.full(self.untrained.shape[1:], np.nan)
            rows += self._rows("untrained", self.ranks[-1], self.untrained, nothing)
        for measure, estimate in zip(MEASURES, self.chain.T, strict=True):
            rows.append(("chain", None, None, measure, *estimate, np.nan))
        frame = pd.DataFrame(rows, columns=[*_COLUMNS])
        return frame.astype({"rank": "Int64", "layer": "Int64"})

    def chart(
        self,
        by: Literal["layer", "rank"] | None = None,
        *,
        layer: int | None = None,
        rank: int | None = None,
        width: int = 640,
    ) -> alt.VConcatChart:
        """All four measures by layer, or by rank, beside the baselines; displays without network.

        Args:
            by: "layer", for one rank; or "rank", for one layer. None = by rank where there are
                several.
            layer: of the curves by rank; None = the layer with the best UUAS.
            rank: of the curves by layer; None = the largest.
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.score_panels import score_panels

        along = by or ("rank" if len(self.ranks) > 1 else "layer")
        one_of("by", along, ("layer", "rank"))
        layer, rank = self._chosen(layer, rank)
        frame = self.to_frame()
        frame = frame[frame["predictor"] != "chain"].rename(columns={"predictor": "series"})
        if along == "layer":
            frame, said = frame[frame["rank"] == rank], f"rank {rank}"
        else:
            frame, said = frame[frame["layer"] == layer], f"layer {layer}"
            frame = frame[frame["series"] == "probe"]
        return score_panels(
            frame,
            along=along,
            title=f"Trees in the vectors of {self.model_name}: structural probe, {said}\n"
            f"{counted(self.n_train, 'sentence')} to train, {counted(self.n_dev, 'sentence')} "
            f"scored; 95\xa0% intervals over them\n{_PUNCTUATION[self.punctuation]}"
            + ("" if self.complete else "; training was interrupted"),
            reference={name: {"chain": self.chain[0, i]} for i, name in enumerate(MEASURES)},
            width=width,
        )

    @in_plain_torch
    def predictions(
        self, sentence: Sentence, *, layer: int | None = None, rank: int | None = None
    ) -> PredictedTree:
        """What the probe of a layer predicts for a sentence; the first seed's.

        Args:
            sentence: with its tree.
            layer: None = the layer with the best UUAS.
            rank: None = the largest.

        Raises:
            ValueError: the layer or rank does not exist, the model is missing or has changed, or
                the sentence is too long or has a word without tokens.
            TypeError: no `Sentence`.
        """
        all_of(Sentence, [sentence], "read sentences with load_treebank(path)")
        layer, rank = self._chosen(layer, rank)
        if self.model is None:
            raise ValueError(
                f"the model {self.model_name!r} is not at hand to read the sentence: pass it to "
                "load_probe(path, model), or to probe.for_model(model)"
            )
        refuse_other_weights(self.model, self.model_name, self.model_digest)
        run = next(run for run in self.runs if run.rank == rank)
        vectors = layer_vectors(self.model, sentence, layer)
        distances, depths = run.at(self.layers.index(layer)).predicted(vectors)
        gold = GoldTree.from_sentence(sentence, self.punctuation)
        return PredictedTree(
            sentence=sentence,
            layer=layer,
            rank=rank,
            distances=distances[0],
            depths=depths[0],
            edges=tuple(sorted(spanning_edges(distances[0], gold.kept))),
            root=gold.root_of(depths[0]),
            gold_distances=gold.distances,
            gold_depths=gold.depths,
            gold_edges=tuple(sorted(gold.edges)),
            gold_root=sentence.governors.index(0),
        )

    def save(self, path: str | Path) -> Path:
        """Write maps, scores and what they are of into an .npz file; returns its path.

        `load_probe` reads it; the file holds arrays and JSON, nothing that runs.
        """
        about = {name: getattr(self, name) for name in _SAID}
        about["runs"] = [{name: getattr(run, name) for name in _RUN_SAID} for run in self.runs]
        arrays = {"scores": self.scores, "deviations": self.deviations, "chain": self.chain}
        if self.untrained is not None:
            arrays["untrained"] = self.untrained
        for i, run in enumerate(self.runs):
            arrays |= {f"run {i} {name}": getattr(run, name) for name in _RUN_ARRAYS}
        return write_probe(path, self.kind, about, arrays)

    @classmethod
    def restored(cls, about: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> StructuralProbe:
        """The probe that a file of `save` is about."""
        runs = []
        for i, fields in enumerate(about.pop("runs")):
            fields |= {name: arrays[f"run {i} {name}"] for name in _RUN_ARRAYS}
            runs.append(StructuralRun(**fields))
        about |= {name: tuple(about[name]) for name in ("layers", "ranks")}
        about |= {name: arrays[name] for name in ("scores", "deviations", "chain")}
        return cls(**about, runs=tuple(runs), untrained=arrays.get("untrained"))

    def __repr__(self) -> str:
        layer, rank = self._chosen(None, None)
        value = float(self.uuas[-1, self.layers.index(layer)])
        stopped = "" if self.complete else ", interrupted"
        return (
            f"StructuralProbe({self.model_name}, {counted(len(self.layers), 'layer')}, best UUAS "
            f"{value:.1%} in layer {layer} with rank {rank}, chain {self.chain[0, 0]:.1%}{stopped})"
        )

    def _chosen(self, layer: int | None, rank: int | None) -> tuple[int, int]:
        rank = self.ranks[-1] if rank is None else rank
        one_of("rank", rank, self.ranks)
        if layer is None:
            best = np.nan_to_num(self.uuas[self.ranks.index(rank)]).argmax()
            layer = self.layers[int(best)]
        one_of("layer", layer, self.layers)
        return layer, rank

    def _rows(
        self, predictor: str, rank: int, estimates: Float64Array, deviations: Float64Array
    ) -> Sequence[tuple[object, ...]]:
        return [
            (predictor, rank, layer, measure, *estimates[:, m, place], deviations[m, place])
            for place, layer in enumerate(self.layers)
            for m, measure in enumerate(MEASURES)
        ]
