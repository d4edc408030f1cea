"""Result of a structural probe, and the trees that it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from attnwidget.probes.features import sentence_states
from attnwidget.probes.saved_arrays import refuse_other_weights, write_probe
from attnwidget.probes.structural.edge_lengths import EdgeLengths, measured_lengths
from attnwidget.probes.structural.structural_runs import StructuralRun
from attnwidget.probes.structural.structural_scores import (
    MEASURES,
    GoldTree,
    Punctuation,
    usable_rule,
)
from attnwidget.probes.structural.tree_score import TreeScore, measured_score
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_SAID = (
    "layers",
    "map_layers",
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
    """Predictions of a structural probe for the m words of a sentence, and the annotated tree.

    Attributes:
        sentence: Sentence with its tree.
        layer: Layer of the vectors, from 0.
        rank: Number of columns of the probe's map.
        distances: Predicted squared distances, in edges, float64 [m, m].
        depths: Predicted squared lengths, in edges from the root, float64 [m].
        edges: Pairs of words, from 0, in the minimum spanning tree of the predicted distances,
            without punctuation.
        root: Word, from 0, with the smallest predicted depth, except punctuation.
        gold_distances: Distances in the annotated tree, int64 [m, m].
        gold_depths: Depths in the annotated tree, int64 [m].
        gold_edges: Pairs of words in the minimum spanning tree of the gold distances: the annotated
            tree, if no word depends on punctuation.
        gold_root: Root word of the annotated tree.

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
        """Whether the edge of each word to its governor is predicted, int64 [m]: 1 or 0.

        -1 if there is no gold edge, as for punctuation. The root has 1 if it is `root`.
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
        """Share of gold edges that are predicted; NaN if there are none."""
        if not self.gold_edges:
            return float("nan")
        return len({*self.edges} & {*self.gold_edges}) / len(self.gold_edges)

    @property
    def plane(self) -> Float64Array:
        """Places of the words in the plane that shows most of their distances, float64 [m, 2].

        This is a principal component analysis of the mapped vectors, from their squared distances.
        Words without a gold edge, such as punctuation, are NaN.
        """
        words = self._in_tree
        n = len(words)
        center = np.eye(n) - 1 / n
        products = -center @ self.distances[np.ix_(words, words)] @ center / 2
        values, vectors = np.linalg.eigh(products)
        # Signs are arbitrary: the largest coordinate of each axis is positive.
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(n)])
        places = np.full((len(self.sentence), 2), np.nan)
        axes = min(2, n)
        largest = values[::-1][:axes].clip(min=0)
        places[words, :axes] = vectors[:, ::-1][:, :axes] * np.sqrt(largest)
        places[words, axes:] = 0.0
        return places

    @property
    def plane_share(self) -> float:
        """Share of the squared distances between words that the `plane` shows, 0 to 1."""
        words = self._in_tree
        total = self.distances[np.ix_(words, words)].sum()
        places = self.plane[words]
        shown = ((places[:, None] - places[None]) ** 2).sum()
        return float(shown / total) if total else float("nan")

    @property
    def finding(self) -> str:
        """Number of predicted edges, and the squared lengths of the edges of the tree."""
        lengths = [float(self.distances[edge]) for edge in self.gold_edges]
        n_found = len({*self.edges} & {*self.gold_edges})
        if not lengths:
            return "The sentence has no edge between two words"
        return (
            f"{n_found} of {counted(len(lengths), 'edge')} are predicted; squared lengths "
            f"{min(lengths):.1f} to {max(lengths):.1f}, 1 is expected"
        )

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the words in the `plane`, with the edges of the tree (Coenen et al. 2019, Figure 2).

        The color of an edge is its predicted squared length, which should be 1. Dotted lines are
        predicted edges that the annotated tree does not have.

        Args:
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the sentence has no edge between two words.
        """
        from attnwidget.charts.tree_plane import tree_plane

        if not self.gold_edges:
            raise ValueError(
                f"{self.sentence.text!r} has no edge between two words: pass a sentence with two "
                "words or more, besides punctuation"
            )
        words = self._in_tree
        number = {word: index for index, word in enumerate(words)}
        return tree_plane(
            [self.sentence.words[word] for word in words],
            self.plane[words],
            [(number[i], number[j], float(self.distances[i, j])) for i, j in self.gold_edges],
            [(number[i], number[j]) for i, j in self.edges if (i, j) not in {*self.gold_edges}],
            title=f"{self.finding}\nL{self.layer}, rank {self.rank}; the plane shows "
            f"{percent(self.plane_share)} of the squared distances between words\n"
            "dotted: predicted, but no edge of the tree",
            width=width,
        )

    @property
    def _in_tree(self) -> list[int]:
        """Words with a gold edge, and the root."""
        return sorted({self.gold_root, *(word for edge in self.gold_edges for word in edge)})


@dataclass(frozen=True, eq=False, repr=False)
class StructuralProbe(Result):
    """Accuracy of trees predicted from model layers by a linear map. L layers, R ranks.

    Attributes:
        layers: Numbers of the layers, from 0; layer 0 is the output of the first block.
        ranks: Numbers of columns of the maps, smallest first.
        runs: Trained maps, one run per rank and seed.
        scores: Mean over seeds, low end and high end of its 95 % interval (bootstrap over dev
            sentences, NaN with fewer than six), for UUAS, DSpr, root accuracy and NSpr, float64 [R,
            3, 4, L].
        deviations: Standard deviation over seeds, float64 [R, 4, L]; NaN with one seed.
        chain: Scores of the linear chain, float64 [3, 4].
        untrained: Scores of the architecture with random weights, with the largest rank and the
            first seed, float64 [3, 4, L]; None if it was not requested or not reached.
        n_seeds: Number of seeds.
        n_train: Number of training sentences.
        n_dev: Number of sentences that determine when to stop, and that are scored.
        n_skipped: Number of sentences skipped in both sets: invalid (`skip_invalid` of
            `load_treebank`), too long, or with a word without tokens or a token of several words.
        punctuation: Annotation that identifies punctuation: "xpos", "upos" or "relation".
        complete: False if training was interrupted; runs then have the best maps so far.
        model_name: Name of the model.
        model_digest: Fingerprint of the model.
        model: Model for `predictions`; None if it is not attached.
        map_layers: Layers whose maps the runs have: all `layers`, or fewer after `keep_maps`.

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
    map_layers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.map_layers:
            object.__setattr__(self, "map_layers", self.layers)

    @property
    def options(self) -> dict[str, Any]:
        """Training options and a description of the training data."""
        names = ("layers", "ranks", "n_seeds", "n_train", "n_dev", "n_skipped")
        return {name: getattr(self, name) for name in names}

    @property
    def best_layer(self) -> int:
        """Layer with the best UUAS for the largest rank, from 0."""
        return self._chosen(None, None)[0]

    def for_model(self, model: AttentionModel) -> StructuralProbe:
        """Return the probe with a model attached, for a probe that was loaded without one.

        Raises:
            ValueError: If the model differs from the model of the training.
        """
        refuse_other_weights(model, self.model_name, self.model_digest)
        return replace(self, model=model)

    @property
    def map_ranks(self) -> tuple[int, ...]:
        """Ranks with maps, smallest first: all `ranks`, or fewer after `keep_maps`."""
        return tuple(sorted({run.rank for run in self.runs}))

    @property
    def best_map_layer(self) -> int:
        """Layer with the best UUAS among those with maps, for the largest rank with maps."""
        return self._chosen_map(None, None)[0]

    def keep_maps(self, *, layer: int | None = None, rank: int | None = None) -> StructuralProbe:
        """Return the probe with the maps of one layer and one rank, and with all scores.

        The file of `save` is then small: without it, a probe of many layers and ranks has many
        maps.

        Args:
            layer: Layer of the maps; None = the layer with the best UUAS.
            rank: Rank of the maps; None = the largest.

        Raises:
            ValueError: If there are no maps for the layer or the rank.

        Example:
            >>> from attnwidget.demo import demo_probe
            >>> probe = demo_probe("trees")
            >>> len(probe.layers), len(probe.ranks), probe.map_layers, probe.map_ranks
            (6, 8, (2,), (32,))
        """
        layer, rank = self._chosen_map(layer, rank)
        position = self.map_layers.index(layer)
        runs = tuple(run.at(position) for run in self.runs if run.rank == rank)
        return replace(self, runs=runs, map_layers=(layer,))

    @property
    def uuas(self) -> Float64Array:
        """Share of gold edges that are predicted, 0 to 1, float64 [R, L]."""
        return self.scores[:, 0, MEASURES.index("UUAS")]

    @property
    def dspr(self) -> Float64Array:
        """Spearman's correlation of distances, averaged over lengths 5 to 50, float64 [R, L]."""
        return self.scores[:, 0, MEASURES.index("DSpr")]

    @property
    def root_accuracy(self) -> Float64Array:
        """Share of sentences with a correct root, 0 to 1, float64 [R, L]."""
        return self.scores[:, 0, MEASURES.index("root accuracy")]

    @property
    def nspr(self) -> Float64Array:
        """Spearman's correlation of depths, averaged over lengths 5 to 50, float64 [R, L]."""
        return self.scores[:, 0, MEASURES.index("NSpr")]

    @property
    def finding(self) -> str:
        """Best layer by UUAS, compared with the chain."""
        layer, rank = self._chosen(None, None)
        return _against_chain(layer, self._uuas_at(layer, rank), float(self.chain[0, 0]))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per predictor, rank, layer and measure.

        Columns: predictor, rank, layer, measure, value, low, high, deviation over seeds. Predictors
        are "probe", "untrained" and "chain"; the chain has no rank and no layer. `attrs["model"]`
        is the name of the model.
        """
        import pandas as pd

        rows: list[tuple[object, ...]] = []
        for r, rank in enumerate(self.ranks):
            rows += self._rows("probe", rank, self.scores[r], self.deviations[r])
        if self.untrained is not None:
            missing = np.full(self.untrained.shape[1:], np.nan)
            rows += self._rows("untrained", self.ranks[-1], self.untrained, missing)
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
        """Draw all four measures by layer or by rank, with the baselines; needs no network.

        Args:
            by: Axis of the figure: "layer", for one rank; or "rank", for one layer. None = by rank
                if there are several.
            layer: Layer of the curves by rank; None = the layer with the best UUAS.
            rank: Rank of the curves by layer; None = the largest.
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.score_panels import score_panels

        axis = by or ("rank" if len(self.ranks) > 1 else "layer")
        one_of("by", axis, ("layer", "rank"))
        layer, rank = self._chosen(layer, rank)
        frame = self.to_frame()
        frame = frame[frame["predictor"] != "chain"].rename(columns={"predictor": "series"})
        if axis == "layer":
            frame, selection = frame[frame["rank"] == rank], f"rank {rank}"
        else:
            frame, selection = frame[frame["layer"] == layer], f"layer {layer}"
            frame = frame[frame["series"] == "probe"]
        if axis == "layer":
            best = max(self.layers, key=lambda one: np.nan_to_num(self._uuas_at(one, rank)))
            answer = _against_chain(best, self._uuas_at(best, rank), float(self.chain[0, 0]))
        else:
            low, high = (
                f"{percent(self._uuas_at(layer, one))} with rank {one}"
                for one in (self.ranks[0], self.ranks[-1])
            )
            chain = percent(self.chain[0, 0])
            answer = f"Edges of the trees in L{layer}: {low}, {high}; the chain has {chain}"
        return score_panels(
            frame,
            along=axis,
            title=f"{answer}\nTrees in the vectors of {self.model_name}: structural probe, "
            f"{selection}; {counted(self.n_train, 'sentence')} to train, "
            f"{counted(self.n_dev, 'sentence')} scored\n95\xa0% intervals over sentences; "
            f"{_PUNCTUATION[self.punctuation]}"
            + ("" if self.complete else "; training was interrupted"),
            reference={name: {"chain": self.chain[0, i]} for i, name in enumerate(MEASURES)},
            width=width,
        )

    @in_plain_torch
    def score(
        self,
        sentences: Iterable[Sentence],
        *,
        layer: int | None = None,
        rank: int | None = None,
        skip_unaligned: bool = False,
        progress: bool = True,
    ) -> TreeScore:
        """Score the trees of one layer on further sentences, which did not decide when to stop.

        Args:
            sentences: Sentences with their trees.
            layer: Layer of the probe; None = the layer with the best UUAS among those with maps.
            rank: Rank of the probe; None = the largest with maps.
            skip_unaligned: Whether to skip and count sentences that are too long for the model, or
                have a word without tokens or a token of several words.
            progress: Whether to show a progress bar.

        Returns:
            UUAS, DSpr, root accuracy and NSpr, pooled as in `train_structural_probe`, with the same
            scores of the chain. Several seeds are averaged.

        Raises:
            ValueError: If the layer or rank has no maps, the model is missing or has changed, there
                are no sentences, or a sentence is too long or has a word without tokens.
            TypeError: If a sentence is not a `Sentence`.

        Example:
            >>> from attnwidget.demo import demo_probe, demo_treebank
            >>> score = demo_probe("trees").score(demo_treebank()[:20], progress=False)
            >>> score.n_sentences, bool(score.uuas > score.chain[0, 0])
            (20, True)
        """
        layer, rank = self._chosen_map(layer, rank)
        model = self._attached()
        position = self.map_layers.index(layer)
        return measured_score(
            model,
            sentences,
            [run.at(position) for run in self.runs if run.rank == rank],
            layer=layer,
            rule=self.punctuation,
            skip_unaligned=skip_unaligned,
            progress=progress,
        )

    @in_plain_torch
    def edge_lengths(
        self,
        sentences: Iterable[Sentence],
        *,
        layer: int | None = None,
        rank: int | None = None,
        skip_unaligned: bool = False,
        progress: bool = True,
    ) -> EdgeLengths:
        """Measure the mean squared length of tree edges by relation (Coenen et al. 2019, Figure 3).

        The length of an edge is the predicted distance between a word and its governor. In a tree
        that the vectors represent exactly, every edge has the length 1.

        Args:
            sentences: Sentences with their trees.
            layer: Layer of the probe; None = the layer with the best UUAS among those with maps.
            rank: Rank of the probe; None = the largest with maps.
            skip_unaligned: Whether to skip and count sentences that are too long for the model, or
                have a word without tokens or a token of several words.
            progress: Whether to show a progress bar.

        Raises:
            ValueError: As in `score`; or the sentences have no edges between words.
            TypeError: If a sentence is not a `Sentence`.

        Example:
            >>> from attnwidget.demo import demo_probe, demo_treebank
            >>> lengths = demo_probe("trees").edge_lengths(demo_treebank()[:20], progress=False)
            >>> lengths.to_frame().columns.tolist()
            ['relation', 'n', 'length', 'low', 'high']
        """
        layer, rank = self._chosen_map(layer, rank)
        model = self._attached()
        run = next(run for run in self.runs if run.rank == rank)
        return measured_lengths(
            model,
            sentences,
            run.at(self.map_layers.index(layer)),
            layer=layer,
            rule=self.punctuation,
            skip_unaligned=skip_unaligned,
            progress=progress,
        )

    @in_plain_torch
    def predictions(
        self, sentence: Sentence, *, layer: int | None = None, rank: int | None = None
    ) -> PredictedTree:
        """Return the predictions of the probe of one layer for a sentence, for the first seed.

        Args:
            sentence: Sentence with its tree.
            layer: Layer of the probe; None = the layer with the best UUAS among those with maps.
            rank: Rank of the probe; None = the largest with maps.

        Raises:
            ValueError: If the layer or rank has no maps, the model is missing or has changed, or
                the sentence is too long or has a word without tokens.
            TypeError: If `sentence` is not a `Sentence`.
        """
        all_of(Sentence, [sentence], "read sentences with load_treebank(path)")
        layer, rank = self._chosen_map(layer, rank)
        run = next(run for run in self.runs if run.rank == rank)
        vectors = sentence_states(self._attached(), sentence, [layer + 1])
        distances, depths = run.at(self.map_layers.index(layer)).predicted(vectors)
        rule = usable_rule(self.punctuation, [sentence])
        gold = GoldTree.from_sentence(sentence, rule)
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
        """Write maps, scores and their description to an .npz file; return its path.

        `load_probe` reads the file, which holds arrays and JSON, but no code.
        """
        metadata = {name: getattr(self, name) for name in _SAID}
        metadata["runs"] = [{name: getattr(run, name) for name in _RUN_SAID} for run in self.runs]
        arrays = {"scores": self.scores, "deviations": self.deviations, "chain": self.chain}
        if self.untrained is not None:
            arrays["untrained"] = self.untrained
        for i, run in enumerate(self.runs):
            arrays |= {f"run {i} {name}": getattr(run, name) for name in _RUN_ARRAYS}
        return write_probe(path, self.kind, metadata, arrays)

    @classmethod
    def restored(cls, about: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> StructuralProbe:
        """Return the probe from a file of `save`."""
        runs = []
        for i, fields in enumerate(about.pop("runs")):
            fields |= {name: arrays[f"run {i} {name}"] for name in _RUN_ARRAYS}
            runs.append(StructuralRun(**fields))
        names = ("layers", "ranks", "map_layers")
        about |= {name: tuple(about[name]) for name in names if name in about}
        about |= {name: arrays[name] for name in ("scores", "deviations", "chain")}
        return cls(**about, runs=tuple(runs), untrained=arrays.get("untrained"))

    def __repr__(self) -> str:
        layer, rank = self._chosen(None, None)
        value = self._uuas_at(layer, rank)
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

    def _chosen_map(self, layer: int | None, rank: int | None) -> tuple[int, int]:
        """Return a layer and a rank that have maps."""
        rank = self.map_ranks[-1] if rank is None else rank
        one_of("rank", rank, self.map_ranks)
        if layer is None:
            layer = max(self.map_layers, key=lambda one: np.nan_to_num(self._uuas_at(one, rank)))
        one_of("layer", layer, self.map_layers)
        return layer, rank

    def _uuas_at(self, layer: int, rank: int) -> float:
        return float(self.uuas[self.ranks.index(rank), self.layers.index(layer)])

    def _attached(self) -> AttentionModel:
        """Return the model of the training; ValueError if it is missing or has changed."""
        if self.model is None:
            raise ValueError(
                f"the model {self.model_name!r} is not at hand to read the sentence: pass it to "
                "load_probe(path, model), or to probe.for_model(model)"
            )
        refuse_other_weights(self.model, self.model_name, self.model_digest)
        return self.model

    def _rows(
        self, predictor: str, rank: int, estimates: Float64Array, deviations: Float64Array
    ) -> Sequence[tuple[object, ...]]:
        return [
            (predictor, rank, layer, measure, *estimates[:, m, index], deviations[m, index])
            for index, layer in enumerate(self.layers)
            for m, measure in enumerate(MEASURES)
        ]


def _against_chain(layer: int, value: float, chain: float) -> str:
    """Return the share of edges that a probe finds in a layer, compared with the chain."""
    if value <= chain:
        return (
            f"No layer has more edges of the trees than the chain ({percent(chain)}): the best, "
            f"L{layer}, has {percent(value)}"
        )
    return (
        f"L{layer} has {percent(value)} of the edges of the trees, the chain has {percent(chain)}"
    )
