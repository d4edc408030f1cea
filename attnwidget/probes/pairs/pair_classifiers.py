"""Linear classifiers of word pairs, trained by gradient descent on a stream of blocks."""

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
"""Tested strengths of the L2 penalty."""


@dataclass(frozen=True, eq=False)
class PairClassifier:
    """Classifier for one task and predictor.

    Attributes:
        weights: Weights for vectors divided by `scale`, float64 [C, F]; one row for two classes.
        intercepts: Intercepts, float64 [C].
        classes: Class of each row, int64 [K]. With one row, a positive score means the second
            class.
        scale: Standard deviation of each feature over the training pairs, float64 [F].
        alpha: Strength of the penalty, selected on held-out sentences.
    """

    weights: Float64Array
    intercepts: Float64Array
    classes: NDArray[np.int64]
    scale: Float64Array
    alpha: float

    def predict(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the class [P] of each vector [P, F]."""
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
    """Return the classifier of each task and predictor, and whether all epochs were completed.

    The losses are logistic, one against the rest for several classes, with an L2 penalty. Its
    strength is the best of `ALPHAS` on a tenth of the sentences, which is excluded from training;
    ties go to the strongest penalty. The learning rate is the inverse of a vector's mean squared
    norm, so that no step overshoots, and weights are averaged over the steps after the first epoch
    (Polyak and Juditsky 1992).

    Args:
        examples: Training pairs.
        n_relations: Number of classes of the task "relation".
        epochs: Number of passes over the pairs, after an additional pass that measures the spread
            of the features.
        seed: Seed of the held-out tenth and of the order.
        bar: Progress bar that counts epochs.
        file: Resume file that stores the classifiers after each epoch.

    Raises:
        ValueError: If the remaining training sentences have no pair for one of the tasks.
        KeyboardInterrupt: If Ctrl-C was pressed before the first epoch was done. A later Ctrl-C
            goes back to the last complete epoch.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(examples))
    n_held = -(-len(examples) // 10)
    held_out = order[:n_held].tolist()
    training = order[n_held:]
    scales, rates, n_pairs = _spread(examples, training.tolist())
    classes = {"dependency": np.arange(2), "relation": np.arange(n_relations)}
    candidates = {
        (task, predictor, alpha): SGDClassifier(
            loss="log_loss",
            alpha=alpha,
            learning_rate="constant",
            eta0=rates[predictor],
            average=n_pairs[task] + 1,
            random_state=seed,
        )
        for task in TASKS
        for predictor in PREDICTORS
        for alpha in ALPHAS
    }
    bar.update()
    stored = file.load() if file is not None else Progress()
    n_done = int(stored.states["training"]["epochs"]) if stored.states else 0
    for (task, predictor, alpha), classifier in candidates.items() if n_done else ():
        state = stored.states[f"{task} {predictor} {alpha}"]
        _restore(classifier, state, classes[task], len(scales[predictor]))
    snapshots = _made(candidates, scales) if n_done else {}
    complete = True
    try:
        for epoch in range(epochs):
            # Draw the permutations of finished epochs too, so that a resumed run sees the same
            # order.
            order = random.permutation(training).tolist()
            for block in examples.blocks(order if epoch >= n_done else []):
                for (task, predictor, _), classifier in candidates.items():
                    rows = block.is_example(task)
                    if rows.any():
                        vectors = block.vectors[predictor][rows] / scales[predictor]
                        classifier.partial_fit(
                            vectors, block.labels(task)[rows], classes=classes[task]
                        )
            snapshots = _made(candidates, scales)
            bar.update()
            if file is not None and epoch >= n_done:
                states = {
                    " ".join(map(str, key)): _state(classifier)
                    for key, classifier in candidates.items()
                }
                states["training"] = {"epochs": np.array(epoch + 1)}
                file.save(Progress(states=states))
    except KeyboardInterrupt:
        if not snapshots:
            raise
        complete = False
    return _best(snapshots, list(examples.blocks(held_out))), complete


def _made(
    tried: dict[tuple[str, str, float], SGDClassifier], scales: dict[str, Float64Array]
) -> dict[tuple[str, str, float], PairClassifier]:
    """Return copies of the classifiers in their current state."""
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
    """Return the state to resume from: weights, their means, and the number of updates."""
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
    """Resume from a `_state`, for vectors of `width` features."""
    # A first step creates the attributes that are not numbers.
    classifier.partial_fit(np.zeros((len(classes), width), np.float32), classes, classes=classes)
    for name, values in state.items():
        setattr(classifier, name, values if values.ndim else values.item())
    # In scikit-learn, both names refer to one array, and the next step changes it under either
    # name.
    kind = "_average" if classifier.average <= classifier.t_ - 1 else "_standard"
    coefficients = getattr(classifier, f"{kind}_coef")
    classifier.coef_ = coefficients.reshape(classifier.coef_.shape)
    classifier.intercept_ = getattr(classifier, f"{kind}_intercept")


def _best(
    made: dict[tuple[str, str, float], PairClassifier], held: list[PairBlock]
) -> dict[tuple[str, str], PairClassifier]:
    """Return the classifier that is correct most often, by task and predictor; see `ALPHAS`."""
    best: dict[tuple[str, str], tuple[int, float]] = {}
    best_classifiers: dict[tuple[str, str], PairClassifier] = {}
    for (task, predictor, alpha), classifier in made.items():
        hits = sum(int(right(classifier, block, task, predictor).sum()) for block in held)
        if (hits, alpha) > best.get((task, predictor), (-1, 0.0)):
            best[task, predictor] = (hits, alpha)
            best_classifiers[task, predictor] = classifier
    return best_classifiers


def right(
    classifier: PairClassifier, block: PairBlock, task: str, predictor: str
) -> NDArray[np.bool_]:
    """Return whether a classifier is correct, bool, only for the pairs of the task."""
    rows = block.is_example(task)
    return classifier.predict(block.vectors[predictor][rows]) == block.labels(task)[rows]


def _spread(
    examples: PairExamples, order: list[int]
) -> tuple[dict[str, Float64Array], dict[str, float], dict[str, int]]:
    """Return standard deviations (1 for 0) and learning rates by predictor, pairs by task."""
    sums = {name: [0.0, 0.0] for name in PREDICTORS}
    counts = 0
    n_pairs = dict.fromkeys(TASKS, 0)
    for block in examples.blocks(order):
        counts += len(block.related)
        for name, (total, squares) in sums.items():
            values = block.vectors[name].astype(np.float64)
            sums[name] = [total + values.sum(0), squares + (values**2).sum(0)]
        for task in TASKS:
            n_pairs[task] += int(block.is_example(task).sum())
    if missing := [task for task in TASKS if not n_pairs[task]]:
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
    return scales, rates, n_pairs
