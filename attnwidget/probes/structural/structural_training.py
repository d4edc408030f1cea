"""Training of structural probes: all layers in parallel, each with its own rate and end.

As in the authors' code, Adam's learning rate is divided by ten whenever the loss on the dev
sentences does not fall, the best parameters are kept, and training ends once the best epoch is
too long ago.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau

from attnwidget.kernels.structural_probe import (
    depth_loss,
    distance_loss,
    squared_distances,
    squared_lengths,
)
from attnwidget.kernels.tree_distances import tree_depths, tree_distances
from attnwidget.text.treebank import Sentence

TASKS = ("distance", "depth")
_START = 0.05
"""Bound of the uniform distribution of initial parameters, which is symmetric around 0."""
_LEAST_GAIN = 1e-4
"""Smallest decrease that makes a loss the new best one."""
_PATIENCE = 4
"""Largest number of epochs since the best epoch; training ends after more epochs."""


class VectorTrees:
    """Sentences with a vector per word and layer, and their trees.

    Args:
        sentences: Sentences with dependency trees (N).
        vectors: Vectors of each sentence, [L, m, D], one per layer and word; loaded on demand.

    Attributes:
        gold: Distances [m, m] and depths [m] in the tree of each sentence.
    """

    def __init__(
        self, sentences: Sequence[Sentence], vectors: Sequence[NDArray[np.floating]]
    ) -> None:
        self.sentences = sentences
        self.vectors = vectors
        self.n_layers, _, self.dim = vectors[0].shape
        self.lengths = np.array([len(sentence) for sentence in sentences])
        self.gold = [
            (tree_distances(sentence.governors), tree_depths(sentence.governors))
            for sentence in sentences
        ]

    def __len__(self) -> int:
        return len(self.sentences)

    def batch(self, chosen: Sequence[int], dtype: torch.dtype = torch.float32) -> TreeBatch:
        """Return some of the sentences as the batch of one step."""
        lengths = torch.from_numpy(self.lengths[list(chosen)])
        n = len(chosen)
        width = int(lengths.max())
        distances = torch.zeros(n, width, width, dtype=torch.float32, device="cpu")
        depths = torch.zeros(n, width, dtype=torch.float32, device="cpu")
        for row, i in enumerate(chosen):
            m = self.lengths[i]
            distances[row, :m, :m], depths[row, :m] = map(torch.from_numpy, self.gold[i])
        positions = torch.arange(width, dtype=torch.long, device="cpu").expand(n, -1)
        starts = (lengths.cumsum(0) - lengths)[:, None]
        return TreeBatch(
            vectors=torch.from_numpy(np.concatenate([self.vectors[i] for i in chosen], 1)).to(
                dtype
            ),
            words=torch.where(positions < lengths[:, None], starts + positions, 0),
            lengths=lengths,
            gold=(distances.to(dtype), depths.to(dtype)),
        )

    def batches(self, size: int) -> Iterator[TreeBatch]:
        """Yield all sentences in batches of similar length."""
        order = np.argsort(self.lengths, kind="stable")
        for start in range(0, len(order), size):
            yield self.batch(order[start : start + size].tolist())


@dataclass(frozen=True, eq=False)
class TreeBatch:
    """B sentences with N words in all, and at most m words each.

    Attributes:
        vectors: Word vectors, [L, N, D].
        words: Index of each word among the N words, int64 [B, m]; 0 for padding.
        lengths: Number of words of each sentence, int64 [B].
        gold: Distances [B, m, m] and depths [B, m] in the trees.
    """

    vectors: Tensor
    words: Tensor
    lengths: Tensor
    gold: tuple[Tensor, Tensor]

    def losses(self, task: int, layers: list[int], maps: Tensor) -> Tensor:
        """Return the losses [K, B] of a task (of `TASKS`) for the maps [K, D, r] of K layers."""
        vectors = self.vectors if len(layers) == len(self.vectors) else self.vectors[layers]
        words = (vectors @ maps)[:, self.words]  # [K, B, m, r]
        if task == 0:
            return distance_loss(squared_distances(words), self.gold[0], self.lengths)
        return depth_loss(squared_lengths(words), self.gold[1], self.lengths)


class MapDescent:
    """Adam for the map of one layer, with a separate rate, best state and end.

    Args:
        start: Initial map, [D, r].
        rate: Initial learning rate.

    Attributes:
        map: Current map, [D, r].
        best: Map after the epoch with the lowest loss, [D, r].
        best_loss: Lowest loss.
        done: Whether the best epoch is too long ago.
    """

    def __init__(self, start: Tensor, rate: float) -> None:
        self.map = torch.nn.Parameter(start.clone())
        self.best = start
        self.best_loss = np.inf
        self._best_epoch = 0
        self.done = False
        self._adam = torch.optim.Adam([self.map], lr=rate)
        self._plateau = ReduceLROnPlateau(self._adam, factor=0.1, patience=0)

    @property
    def rate(self) -> float:
        """Current learning rate."""
        return float(self._adam.param_groups[0]["lr"])

    def step(self) -> None:
        """Update the map by its gradient, and reset the gradient."""
        self._adam.step()
        self._adam.zero_grad()

    def after_epoch(self, epoch: int, loss: float) -> None:
        """Store the best map, reduce the rate or end, depending on the loss on dev sentences."""
        self._plateau.step(loss)
        if loss < self.best_loss - _LEAST_GAIN:
            self.best_loss = loss
            self._best_epoch = epoch
            self.best = self.map.detach().clone()
        elif self._best_epoch < epoch - _PATIENCE:
            self.done = True

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state to resume from after an epoch, by name."""
        adam_state = {
            name: values.numpy().copy() for name, values in self._adam.state[self.map].items()
        }
        tensors = {"map": self.map.detach().numpy().copy(), "best": self.best.numpy()}
        numbers = (self.best_loss, self._best_epoch, self.done, self.rate, self._plateau.best)
        return {**adam_state, **tensors, "numbers": np.array(numbers)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Resume from a `state`."""
        tensors = {name: torch.from_numpy(np.array(values)) for name, values in state.items()}
        loss, epoch, is_done, rate, lowest = tensors.pop("numbers").tolist()
        self.best_loss = loss
        self._best_epoch = int(epoch)
        self.done = bool(is_done)
        self._adam.param_groups[0]["lr"] = rate
        self._plateau.best = lowest
        self.map.data = tensors.pop("map")
        self.best = tensors.pop("best")
        self._adam.state[self.map] = tensors


class StructuralTraining:
    """Distance and depth probes of all layers, trained on the same batches.

    Args:
        train: Training sentences.
        dev: Sentences that determine when the loss no longer falls.
        rank: Number of columns of each map, r.
        seed: Seed of the initial values and of the sentence order; the same for all layers.
        batch_size: Number of sentences per step.
        rate: Initial learning rate.

    Attributes:
        tasks: Maps of each layer, for each of `TASKS`.
        epoch: Number of passes over the sentences.
    """

    def __init__(
        self,
        train: VectorTrees,
        dev: VectorTrees,
        *,
        rank: int,
        seed: int,
        batch_size: int,
        rate: float,
    ) -> None:
        self._train = train
        self._dev = dev
        self._seed = seed
        self._size = batch_size
        random = torch.Generator(device="cpu").manual_seed(seed)
        starts = (
            torch.rand(2, train.dim, rank, generator=random, dtype=torch.float32, device="cpu") * 2
            - 1
        ) * _START
        self.tasks = [[MapDescent(start, rate) for _ in range(train.n_layers)] for start in starts]
        self.epoch = 0

    @property
    def ended(self) -> bool:
        """Whether all maps have ended, because no loss fell for too long."""
        return all(descent.done for task in self.tasks for descent in task)

    def run_epoch(self) -> None:
        """Process all sentences once, then evaluate on the dev sentences."""
        random = np.random.default_rng([self._seed, self.epoch])
        order = random.permutation(len(self._train)).tolist()
        for start in range(0, len(order), self._size):
            batch = self._train.batch(order[start : start + self._size])
            for task, active, losses in self._losses(batch):
                # Layers share no parameter, so the gradient of the sum contains each layer's
                # gradient.
                losses.mean(-1).sum().backward()
                for layer in active:
                    self.tasks[task][layer].step()
        for (task, layer), loss in self._dev_losses().items():
            self.tasks[task][layer].after_epoch(self.epoch, loss)
        self.epoch += 1

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state to resume from, by name."""
        maps = {
            f"{name}/{key}": v
            for name, descent in self._maps()
            for key, v in descent.state().items()
        }
        return {"epoch": np.array(self.epoch), **maps}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Resume from a `state`."""
        self.epoch = int(state["epoch"])
        for name, descent in self._maps():
            start = f"{name}/"
            descent.restore(
                {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)}
            )

    def _maps(self) -> Iterator[tuple[str, MapDescent]]:
        for name, task in zip(TASKS, self.tasks, strict=True):
            yield from ((f"{name} {layer}", descent) for layer, descent in enumerate(task))

    def _losses(self, batch: TreeBatch) -> Iterator[tuple[int, list[int], Tensor]]:
        """Yield the unfinished K layers of each task, and their losses [K, B]."""
        for number, task in enumerate(self.tasks):
            active = [layer for layer, descent in enumerate(task) if not descent.done]
            if active:
                maps = torch.stack([task[layer].map for layer in active])
                yield number, active, batch.losses(number, active, maps)

    @torch.no_grad()
    def _dev_losses(self) -> dict[tuple[int, int], float]:
        """Return the mean loss over the dev sentences, by task and layer."""
        sums: Counter[tuple[int, int]] = Counter()
        for batch in self._dev.batches(self._size):
            for task, active, losses in self._losses(batch):
                for layer, loss in zip(active, losses.double().sum(-1).tolist(), strict=True):
                    sums[task, layer] += loss
        return {key: total / len(self._dev) for key, total in sums.items()}
