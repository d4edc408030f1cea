"""Result of the pair probe: accuracies with baselines, coefficients by head, confusions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array, Int64Array
from attnwidget.kernels.significance import bootstrap_weights, few_differ, percentile_interval
from attnwidget.probes.pairs.pair_classifiers import PREDICTORS, TASKS, PairClassifier, right
from attnwidget.probes.pairs.pair_examples import PairExamples
from attnwidget.probes.saved_arrays import refuse_other_weights, write_probe
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel


ROWS = (*PREDICTORS, "majority")
_NAMES = {
    "attention": "attention of all heads",
    "offset": "offset alone",
    "distance": "distance alone",
    "majority": "most frequent class",
}


@dataclass(frozen=True, eq=False, repr=False)
class PairProbe(HeadResult):
    """Accuracy of word pair classifiers on the attention of all heads (Coenen et al. 2019).

    There are two tasks: "dependency" (does the first of two words depend on the second?) and
    "relation" (which of R relations does a dependency have?). L layers of H heads, D directions.

    Attributes:
        directions: Directions of attention in the vector of a pair.
        relations: Distinguished relations, most frequent first.
        relation_counts: Number of dependencies of each relation in the training sentences, int64
            [R].
        min_count: Smallest number of training dependencies of a relation.
        accuracies: Accuracy and the ends of its 95 % interval (bootstrap over dev sentences, NaN
            with fewer than six), 0 to 1, by task and predictor (attention, offset, distance,
            majority), float64 [2, 4, 3]; NaN for a task with a single class.
        counts: Number of dev pairs of each task, int64 [2].
        alphas: Selected penalty strength of each trained predictor, float64 [2, 3].
        dependency_weights: Change of the log odds of a dependency for a weight larger by one
            standard deviation, float64 [D, L, H].
        relation_weights: Change of the log odds of each relation against the rest, float64 [R, D,
            L, H].
        confusion: Number of dev dependencies by true relation (row) and predicted relation
            (column), int64 [R, R].
        n_train: Number of training sentences, including the tenth that selected the penalties.
        n_dev: Number of scored sentences.
        n_skipped: Number of sentences skipped in both sets: invalid (`skip_invalid` of
            `load_treebank`), too long, or with a word without tokens or a token of several words.
        complete: False if Ctrl-C ended the training; the result is then from the last epoch.
        model_name: Name of the model.
        model_digest: Fingerprint of the model.
        stack: Stack of the maps: "self", or "encoder" of an encoder-decoder.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_pair_probe
        >>> trees = demo_treebank()
        >>> options = {"min_count": 9, "epochs": 1, "progress": False}
        >>> probe = train_pair_probe(load_model(), trees[:6], trees[6:8], **options)
        >>> probe.dependency_weights.shape, probe.relations
        ((2, 6, 12), ('det', 'punct', 'case'))
    """

    kind: ClassVar[str] = "probe of pairs"

    directions: tuple[str, ...]
    relations: tuple[str, ...]
    relation_counts: Int64Array
    min_count: int
    accuracies: Float64Array
    counts: Int64Array
    alphas: Float64Array
    dependency_weights: Float64Array
    relation_weights: Float64Array
    confusion: Int64Array
    n_train: int
    n_dev: int
    n_skipped: int
    model_digest: str
    stack: str

    @property
    def dependency_accuracy(self) -> float:
        """Accuracy of attention for whether there is a dependency; chance is 0.5."""
        return float(self.accuracies[0, 0, 0])

    @property
    def relation_accuracy(self) -> float:
        """Accuracy of attention for the relation of a dependency."""
        return float(self.accuracies[1, 0, 0])

    @property
    def finding(self) -> str:
        """Accuracy of both tasks, with the better of offset and distance."""
        answers = []
        for task, question in enumerate(
            ("which words depend on each other", f"which of {len(self.relations)} relations it is")
        ):
            attention, *positions = self.accuracies[task, : len(PREDICTORS), 0]
            if np.isnan(attention):
                continue
            answer = f"{percent(attention)} for {question}"
            if np.isfinite(positions).any():
                answer += f" (position only: {percent(float(np.nanmax(positions)))})"
            answers.append(answer)
        return f"Attention of all heads together: {', '.join(answers)}" if answers else ""

    def heads(self) -> HeadMetrics:
        """Return the coefficients of each head, for a dependency and for each relation.

        Values are log odds for one standard deviation of the head's weight. If there are both
        directions, titles name them.
        """
        weights = {"dependency": self.dependency_weights}
        weights |= dict(zip(self.relations, self.relation_weights, strict=True))
        several = len(self.directions) > 1
        return {
            f"{name}, {direction}" if several else name: direction_weights[d]
            for name, direction_weights in weights.items()
            for d, direction in enumerate(self.directions)
            if np.isfinite(direction_weights).all()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per task and predictor: n (dev pairs), value (accuracy), low, high, alpha.

        `attrs["model"]` is the name of the model. Coefficients are in `heads()`.
        """
        import pandas as pd

        rows = []
        for t, task in enumerate(TASKS):
            for p, predictor in enumerate(ROWS):
                alpha = self.alphas[t, p] if predictor in PREDICTORS else np.nan
                rows.append((task, predictor, self.counts[t], *self.accuracies[t, p], alpha))
        columns = ["task", "predictor", "n", "value", "low", "high", "alpha"]
        return pd.DataFrame(rows, columns=columns)

    def confusions(self) -> pd.DataFrame:
        """Return the confusion counts, one row per relation, one column per predicted relation."""
        import pandas as pd

        names = list(self.relations)
        table = pd.DataFrame(self.confusion, index=names, columns=names)
        return table.rename_axis(index="relation", columns="taken for")

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw both accuracies with the baselines; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.accuracy_bars import accuracy_bars

        frame = self.to_frame()
        frame["predictor"] = frame["predictor"].map(_NAMES)
        frame["task"] = frame["task"].map(
            {
                "dependency": "is there a dependency: accuracy",
                "relation": f"which of {counted(len(self.relations), 'relation')}: accuracy",
            }
        )
        return accuracy_bars(
            frame,
            title=f"Pairs of words by the attention between them\n{self.model_name}; "
            f"{' and '.join(self.directions)}; {counted(self.n_train, 'sentence')} to train, "
            f"{counted(self.n_dev, 'sentence')} scored\n"
            f"relations with at least {self.min_count:,} dependencies; 95\xa0% intervals"
            f"{'' if self.complete else '; training was interrupted'}",
            width=width,
        )

    def for_model(self, model: AttentionModel) -> PairProbe:
        """Return the probe, after a check that it belongs to this model.

        Raises:
            ValueError: If the model differs from the model of the training.
        """
        refuse_other_weights(model, self.model_name, self.model_digest)
        return self

    def save(self, path: str | Path) -> Path:
        """Write scores and coefficients to an .npz file that `load_probe` reads; return its path.

        The file holds arrays and JSON, but no code.
        """
        arrays = {
            name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        metadata = {name: value for name, value in vars(self).items() if name not in arrays}
        return write_probe(path, self.kind, metadata, arrays)

    @classmethod
    def restored(cls, about: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> PairProbe:
        """Return the probe from a file of `save`."""
        about |= {name: tuple(about[name]) for name in ("directions", "relations")}
        return cls(**about | dict(arrays))

    def __repr__(self) -> str:
        return (
            f"PairProbe({self.model_name}: dependency {self.dependency_accuracy:.1%}, "
            f"which of {counted(len(self.relations), 'relation')} {self.relation_accuracy:.1%}"
            f"{'' if self.complete else ', interrupted'})"
        )


def pair_scores(
    classifiers: Mapping[tuple[str, str], PairClassifier],
    dev: PairExamples,
    n_relations: int,
    *,
    draws: int = 1000,
) -> tuple[Float64Array, Int64Array, Int64Array]:
    """Return the accuracies of classifiers on sentences that were not used for training.

    The majority predictor answers that there is no dependency, and the first relation.

    Returns:
        Accuracies [2, 4, 3], pairs [2] and the confusion [R, R], as in `PairProbe`.
    """
    n = len(dev)
    hits = np.zeros((len(TASKS), len(ROWS), n))
    totals = np.zeros((len(TASKS), n))
    confusion = np.zeros((n_relations, n_relations), np.int64)
    for block in dev.blocks(range(n)):
        for t, task in enumerate(TASKS):
            rows = block.is_example(task)
            labels = block.labels(task)[rows]
            sentence_indices = block.sentences[rows]
            totals[t] += np.bincount(sentence_indices, minlength=n)
            hits[t, -1] += np.bincount(sentence_indices[labels == 0], minlength=n)
            for p, predictor in enumerate(PREDICTORS):
                if classifier := classifiers.get((task, predictor)):
                    correct = right(classifier, block, task, predictor)
                    hits[t, p] += np.bincount(sentence_indices[correct], minlength=n)
            if task == "relation" and (classifier := classifiers.get((task, "attention"))):
                np.add.at(
                    confusion, (labels, classifier.predict(block.vectors["attention"][rows])), 1
                )
    weights = bootstrap_weights(n, draws)
    with np.errstate(invalid="ignore"):  # A task or a draw may have no pairs.
        shares = (hits @ weights.T) / (totals @ weights.T)[:, None]  # [2, 4, 1 + draws]
    accuracies = np.full((len(TASKS), len(ROWS), 3), np.nan)
    for t, task in enumerate(TASKS):
        if totals[t].any():
            n_counted = int((totals[t] > 0).sum())
            rare = few_differ(hits[t], totals[t])
            accuracies[t] = percentile_interval(shares[t], n_counted, rare=rare).T
        for p, predictor in enumerate(PREDICTORS):
            if (task, predictor) not in classifiers:
                accuracies[t, p] = np.nan
    return accuracies, totals.sum(1).astype(np.int64), confusion
