"""Structural probes of several ranks and seeds: trained in turn, saved, and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm.std import tqdm

from attnwidget.corpus.resume_file import Progress, ResumeFile
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.structural_probe import squared_distances, squared_lengths
from attnwidget.probes.structural.structural_scores import MEASURES, GoldTree, TreeScores
from attnwidget.probes.structural.structural_training import StructuralTraining, VectorTrees

Maps = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class StructuralRun:
    """Probes of all layers, for one rank and seed.

    Attributes:
        rank: Number of columns of each map, r.
        seed: Seed of the initial values and of the sentence order.
        epochs: Number of passes over the sentences.
        distance: Maps B for distances, float32 [L, D, r].
        depth: Maps B for depths, float32 [L, D, r].
        dev_losses: Losses of both maps on the dev sentences, float64 [2, L].
        complete: False if the run was interrupted before its end.
    """

    rank: int
    seed: int
    epochs: int
    distance: Maps
    depth: Maps
    dev_losses: Float64Array
    complete: bool

    def at(self, place: int) -> StructuralRun:
        """Return the probes of a single layer."""
        layer_slice = slice(place, place + 1)
        return replace(
            self,
            distance=self.distance[layer_slice],
            depth=self.depth[layer_slice],
            dev_losses=self.dev_losses[:, layer_slice],
        )

    @in_plain_torch
    def predicted(self, vectors: NDArray[np.floating]) -> tuple[Float64Array, Float64Array]:
        """Return distances [L, m, m] and depths [L, m] between words with the vectors [L, m, D]."""
        words = torch.from_numpy(np.array(vectors, np.float32))
        distances = squared_distances(words @ torch.from_numpy(self.distance))
        depths = squared_lengths(words @ torch.from_numpy(self.depth))
        return distances.double().numpy(), depths.double().numpy()


class StructuralRuns:
    """Training of several runs, until all are done or interrupted.

    Args:
        epochs: Largest number of passes over the sentences per run.
        batch_size: Number of sentences per step.
        rate: Initial learning rate.
        file: Resume file that stores every run after each epoch.
        bar: Progress bar that counts epochs.
    """

    def __init__(
        self,
        *,
        epochs: int,
        batch_size: int,
        rate: float,
        file: ResumeFile | None,
        bar: tqdm,  # type: ignore[type-arg]
    ) -> None:
        self._epochs = epochs
        self._size = batch_size
        self._rate = rate
        self._file = file
        self._bar = bar
        self._states = dict(file.load().states) if file is not None else {}
        self.interrupted = False

    def run(
        self, name: str, trees: Sequence[VectorTrees], rank: int, seed: int
    ) -> StructuralRun | None:
        """Return the probes of a rank and seed, or None if an interruption leaves no usable state.

        `trees` are the trees of the training and dev sentences; `name` names their vectors.
        """
        if self.interrupted:
            return None
        training = StructuralTraining(
            *trees, rank=rank, seed=seed, batch_size=self._size, rate=self._rate
        )
        key = f"{name}, rank {rank}, seed {seed}"
        if key in self._states:
            training.restore(self._states[key])
        self._bar.update(training.epoch)
        try:
            while training.epoch < self._epochs and not training.ended:
                training.run_epoch()
                self._bar.update()
                if self._file is not None:
                    self._states[key] = training.state()
                    self._file.save(Progress(states=self._states))
        except KeyboardInterrupt:
            self.interrupted = True
        self._bar.update(self._epochs - training.epoch)
        if not training.epoch:
            return None
        distance, depth = (
            np.stack([descent.best.numpy() for descent in task]) for task in training.tasks
        )
        losses = np.array([[descent.best_loss for descent in task] for task in training.tasks])
        complete = training.ended or training.epoch >= self._epochs
        return StructuralRun(rank, seed, training.epoch, distance, depth, losses, complete)


def scores_of(
    runs: Sequence[StructuralRun], dev: VectorTrees, gold: Sequence[GoldTree]
) -> tuple[Float64Array, Float64Array]:
    """Return the scores on the dev sentences for runs that differ only in their seed.

    Returns:
        Mean over seeds and the ends of its interval over sentences, for each of `MEASURES`,
        [3, 4, L]; and standard deviation over seeds, [4, L], NaN with one seed.
    """
    run_scores = []
    for run in runs:
        scores = TreeScores(gold, dev.n_layers)
        for index in range(len(dev)):
            scores.add(index, *run.predicted(dev.vectors[index]))
        run_scores.append(scores)
    estimates = run_scores[0].mean_with(run_scores[1:]).estimates()
    if len(run_scores) == 1:
        return estimates, np.full((len(MEASURES), dev.n_layers), np.nan)
    return estimates, np.std(
        [one_run.estimates(draws=1)[0] for one_run in run_scores], axis=0, ddof=1
    )
