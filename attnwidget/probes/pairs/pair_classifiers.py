"""Linear classifiers of pairs of words, trained by gradient descent on blocks that stream by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier
from tqdm.std import tqdm

from attnwidget.corpus.resume_file import Progress, ResumeFile
from attnwidget.kernels.arrays import Float64Array
from attnwidget.probes.pairs.pair_examples import PairBlock, PairExamples

TASKS = ("dependency", "relation")
PREDICTORS = ("attention", "offset", "distance")
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Strengths of the L2 penalty that are tried."""


@dataclass(frozen=True, eq=False)
class PairClassifier:
    """The classifier of one task and predictor.

    Attributes:
        weights: float64 [C, F], of vectors divided by `scale`; one row where there are two classes.
        intercepts: float64 [C].
        classes: int64 [K], what each row says; with one row the second class where it is positive.
        scale: float64 [F], the standard deviation of each number over the training pairs.
        alpha: the strength of the penalty, chosen on held-out sentences.
    """

    weights: Float64Array
    intercepts: Float64Array
    classes: NDArray[np.int64]
    scale: Float64Array
    alpha: float

    def predict(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """The class [P] of each of the vectors [P, F]."""
        scores = vectors / self.scale @ self.weights.T + self.intercepts
        if scores.shape[1] == 1:
            return self.classes[(scores[:, 0] > 0).astype(np.int64)]
        return self.classes[scores.argmax(1)]


def train_classifiers(
    examples: PairExamples,
    n_relations: int,
    *,
    epochs: int,
    seed: int,
    bar: tqdm,  # type: ignore[type-arg]
    file: ResumeFile | None = None,
) -> tuple[dict[tuple[str, str], PairClassifier], bool]:
    """The classifier of each task and predictor, by their names, and whether all epochs were read.

    Logistic losses, one against the rest for several classes, with an L2 penalty. Its strength is
    the best of `ALPHAS` on a tenth of the sentences, which is left out of training; ties go to the
    strongest penalty. The learning rate is the inverse of a vector's mean squared length, so that
    no step overshoots, and weights are averaged over the steps after the first epoch (Polyak and
    Juditsky 1992).

    Args:
        examples: what is trained on.
        n_relations: classes of the task "relation".
        epochs: how many times pairs are read; after one more that finds their spread.
        seed: of the tenth that is held out and of the order.
        bar: counts epochs.
        file: keeps the classifiers as they are after each epoch.

    Raises:
        ValueError: the sentences that are left to train on have no pair for one of the tasks.
        KeyboardInterrupt: before the first epoch was done; later Ctrl-C goes back to the last one.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(examples))
    n_held = -(-len(examples) // 10)
    held = order[:n_held].tolist()
    kept = order[n_held:]
    scales, rates, seen = _spread(examples, kept.tolist())
    classes = {"dependency": np.arange(2), "relation": np.arange(n_relations)}
    tried = {
        (task, predictor, alpha): SGDClassifier(
            loss="log_loss",
            alpha=alpha,
            learning_rate="constant",
            eta0=rates[predictor],
            average=seen[task] + 1,
            random_state=seed,
        )
        for task in TASKS
        for predictor in PREDICTORS
        for alpha in ALPHAS
    }
    bar.update()
    stored = file.load() if file is not None else Progress()
    done = int(stored.states["training"]["epochs"]) if stored.states else 0
    for (task, predictor, alpha), classifier in tried.items() if done else ():
        state = stored.states[f"{task} {predictor} {alpha}"]
        _restore(classifier, state, classes[task], len(scales[predictor]))
    made = _made(tried, scales) if done else {}
    complete = True
    try:
        for epoch in range(epochs):
            # Draw the permutations of finished epochs too, so that a resumed run sees the same
            # order.
            order = random.permutation(kept).tolist()
            for block in examples.blocks(order if epoch >= done else []):
                for (task, predictor, _), classifier in tried.items():
                    rows = block.is_example(task)
                    if rows.any():
                        vectors = block.vectors[predictor][rows] / scales[predictor]
                        classifier.partial_fit(
                            vectors, block.labels(task)[rows], classes=classes[task]
                        )
            made = _made(tried, scales)
            bar.update()
            if file is not None and epoch >= done:
                states = {
                    " ".join(map(str, key)): _state(classifier) for key, classifier in tried.items()
                }
                states["training"] = {"epochs": np.array(epoch + 1)}
                file.save(Progress(states=states))
    except KeyboardInterrupt:
        if not made:
            raise
        complete = False
    return _best(made, list(examples.blocks(held))), complete


def _made(
    tried: dict[tuple[str, str, float], SGDClassifier], scales: dict[str, Float64Array]
) -> dict[tuple[str, str, float], PairClassifier]:
    """The classifiers as they are now."""
    return {
        (task, predictor, alpha): PairClassifier(
            classifier.coef_.astype(np.float64),
            classifier.intercept_.astype(np.float64),
            classifier.classes_,
            scales[predictor],
            alpha,
        )
        for (task, predictor, alpha), classifier in tried.items()
    }


def _state(classifier: SGDClassifier) -> dict[str, NDArray[Any]]:
    """All that training goes on from: weights, their means, and how often they were changed."""
    learned = {
        name: value
        for name, value in vars(classifier).items()
        if name not in classifier.get_params()
    }
    numbers = (np.ndarray, float, int)
    return {name: np.array(value) for name, value in learned.items() if isinstance(value, numbers)}


def _restore(
    classifier: SGDClassifier,
    state: Mapping[str, NDArray[Any]],
    classes: NDArray[np.int64],
    width: int,
) -> None:
    """Go on from a `_state`, of vectors of so many numbers."""
    # A first step makes what is no number.
    classifier.partial_fit(np.zeros((len(classes), width), np.float32), classes, classes=classes)
    for name, values in state.items():
        setattr(classifier, name, values if values.ndim else values.item())
    # In scikit-learn, both names stand for one array, and the next step changes it by either name.
    kind = "_average" if classifier.average <= classifier.t_ - 1 else "_standard"
    coefficients = getattr(classifier, f"{kind}_coef")
    classifier.coef_ = coefficients.reshape(classifier.coef_.shape)
    classifier.intercept_ = getattr(classifier, f"{kind}_intercept")


def _best(
    made: dict[tuple[str, str, float], PairClassifier], held: list[PairBlock]
) -> dict[tuple[str, str], PairClassifier]:
    """For each task and predictor what is right most often; of equals the strongest penalty."""
    best: dict[tuple[str, str], tuple[int, float]] = {}
    chosen: dict[tuple[str, str], PairClassifier] = {}
    for (task, predictor, alpha), classifier in made.items():
        hits = sum(int(right(classifier, block, task, predictor).sum()) for block in held)
        if (hits, alpha) > best.get((task, predictor), (-1, 0.0)):
            best[task, predictor] = (hits, alpha)
            chosen[task, predictor] = classifier
    return chosen


def right(
    classifier: PairClassifier, block: PairBlock, task: str, predictor: str
) -> NDArray[np.bool_]:
    """Bool, for the pairs of the task alone: whether a classifier is right."""
    rows = block.is_example(task)
    return classifier.predict(block.vectors[predictor][rows]) == block.labels(task)[rows]


def _spread(
    examples: PairExamples, order: list[int]
) -> tuple[dict[str, Float64Array], dict[str, float], dict[str, int]]:
    """The standard deviation of each predictor's numbers, 1 where it is 0; rates; pairs by task."""
    sums = {name: [0.0, 0.0] for name in PREDICTORS}
    counts = 0
    seen = dict.fromkeys(TASKS, 0)
    for block in examples.blocks(order):
        counts += len(block.related)
        for name, (total, squares) in sums.items():
            values = block.vectors[name].astype(np.float64)
            sums[name] = [total + values.sum(0), squares + (values**2).sum(0)]
        for task in TASKS:
            seen[task] += int(block.is_example(task).sum())
    if missing := [task for task in TASKS if not seen[task]]:
        raise ValueError(
            f"the {len(order)} sentences to train on, without the tenth that is held out, have no "
            f"pair of words for the task {missing[0]!r}: pass more sentences"
        )
    scales = {}
    rates = {}
    for name, (total, squares) in sums.items():
        variance = np.maximum(squares / counts - (total / counts) ** 2, 0)
        scales[name] = np.where(variance > 0, np.sqrt(variance), 1.0)
        rates[name] = 1 / max(1.0, float((squares / counts / scales[name] ** 2).sum()))
    return scales, rates, seen
