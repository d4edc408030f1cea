"""Training of structural probes: all layers side by side, each with its own rate and its own end.

As in the authors' code: Adam, the learning rate divided by ten whenever the loss on the dev
sentences does not fall, the best parameters kept, and an end once the best is too long ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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
"""Parameters begin uniform between this and its negative."""
_LEAST_GAIN = 1e-4
"""A loss is the best one if it is lower by more than this."""
_PATIENCE = 4
"""Training ends when the best epoch is more epochs back than this."""
_PLATEAU = 1e-4
"""Share of the lowest loss that a loss has to fall by, or the rate is divided."""
_DECAYS, _EPSILON = (0.9, 0.999), 1e-8


class VectorTrees:
    """Sentences with a vector a word and layer, and their trees.

    Args:
        sentences: N sentences.
        vectors: of each an array [L, m, D], one vector a layer and word; read when needed.
    """

    def __init__(
        self, sentences: Sequence[Sentence], vectors: Sequence[NDArray[np.floating]]
    ) -> None:
        self.sentences, self.vectors = sentences, vectors
        self.n_layers, _, self.dim = vectors[0].shape
        self.lengths = np.array([len(one) for one in sentences])
        self._gold = [
            (tree_distances(one.governors), tree_depths(one.governors)) for one in sentences
        ]

    def __len__(self) -> int:
        return len(self.sentences)

    def gold(self, index: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distances [m, m] and depths [m] of a sentence's tree."""
        return self._gold[index]

    def batch(self, chosen: Sequence[int], dtype: torch.dtype = torch.float32) -> TreeBatch:
        """Some of the sentences, for one step."""
        lengths = torch.from_numpy(self.lengths[list(chosen)])
        n, width = len(chosen), int(lengths.max())
        distances, depths = torch.zeros(n, width, width), torch.zeros(n, width)
        for row, i in enumerate(chosen):
            m = self.lengths[i]
            distances[row, :m, :m], depths[row, :m] = map(torch.from_numpy, self._gold[i])
        places = torch.arange(width).expand(n, -1)
        starts = (lengths.cumsum(0) - lengths)[:, None]
        return TreeBatch(
            vectors=torch.from_numpy(np.concatenate([self.vectors[i] for i in chosen], 1)).to(
                dtype
            ),
            words=torch.where(places < lengths[:, None], starts + places, 0),
            lengths=lengths,
            gold=(distances.to(dtype), depths.to(dtype)),
        )

    def batches(self, size: int) -> Iterator[TreeBatch]:
        """All sentences, those of like length together."""
        order = np.argsort(self.lengths, kind="stable")
        for start in range(0, len(order), size):
            yield self.batch(order[start : start + size].tolist())


@dataclass(frozen=True, eq=False)
class TreeBatch:
    """B sentences of N words together, of m words at most.

    Attributes:
        vectors: [L, N, D].
        words: int64 [B, m], which of the N words each is; 0 at padding.
        lengths: int64 [B], words of each.
        gold: distances [B, m, m] and depths [B, m] in the trees.
    """

    vectors: Tensor
    words: Tensor
    lengths: Tensor
    gold: tuple[Tensor, Tensor]

    def losses(self, task: int, layers: Tensor, maps: Tensor) -> Tensor:
        """Losses [K, B] of a task (of `TASKS`) for the maps [K, D, r] of K layers."""
        own = self.vectors if len(layers) == len(self.vectors) else self.vectors[layers]
        words = (own @ maps)[:, self.words]  # [K, B, m, r]
        if task == 0:
            return distance_loss(squared_distances(words), self.gold[0], self.lengths)
        return depth_loss(squared_lengths(words), self.gold[1], self.lengths)


class LayerwiseDescent:
    """Adam for one map a layer, each with a rate, a best state and an end of its own.

    Args:
        start: [D, r], where every layer begins.
        n_layers: how many layers, L.
        rate: the learning rate that all begin with.
    """

    def __init__(self, start: Tensor, n_layers: int, rate: float) -> None:
        self.maps = start.repeat(n_layers, 1, 1)
        self.best = self.maps.clone()
        self._mean, self._square = torch.zeros_like(self.maps), torch.zeros_like(self.maps)
        self._steps = torch.zeros(n_layers, dtype=torch.int64)
        self._rates = torch.full((n_layers,), rate, dtype=torch.float64)
        self._lowest = torch.full((n_layers,), torch.inf, dtype=torch.float64)
        self.best_loss, self.best_epoch = self._lowest.clone(), self._steps.clone()
        self._done = torch.zeros(n_layers, dtype=torch.bool)

    @property
    def active(self) -> Tensor:
        """Int64 [K]: the layers that go on."""
        return (~self._done).nonzero()[:, 0]

    def step(self, layers: Tensor, slopes: Tensor) -> None:
        """Change the maps of some layers [K] by their gradients [K, D, r] (Kingma and Ba 2015)."""
        first, second = _DECAYS
        self._steps[layers] += 1
        self._mean[layers] = first * self._mean[layers] + (1 - first) * slopes
        self._square[layers] = second * self._square[layers] + (1 - second) * slopes.square()
        steps = self._steps[layers].double()
        rates = self._rates[layers] / (1 - first**steps)
        scale = (1 - second**steps).sqrt().to(slopes.dtype)[:, None, None]
        lengths = self._square[layers].sqrt() / scale + _EPSILON
        self.maps[layers] -= rates.to(slopes.dtype)[:, None, None] * self._mean[layers] / lengths

    def after_epoch(self, epoch: int, losses: Tensor) -> None:
        """Keep what is best, slow down or end by the dev losses [K] of the active layers."""
        for layer, loss in zip(self.active.tolist(), losses.tolist(), strict=True):
            if loss < self._lowest[layer] * (1 - _PLATEAU):
                self._lowest[layer] = loss
            else:
                self._rates[layer] *= 0.1
            if loss < self.best_loss[layer] - _LEAST_GAIN:
                self.best_loss[layer], self.best_epoch[layer] = loss, epoch
                self.best[layer] = self.maps[layer]
            elif self.best_epoch[layer] < epoch - _PATIENCE:
                self._done[layer] = True

    def state(self) -> dict[str, NDArray[Any]]:
        """All that training goes on from, by name."""
        return {name: values.numpy().copy() for name, values in vars(self).items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a `state`."""
        for name in vars(self):
            setattr(self, name, torch.from_numpy(np.array(state[name])))


class StructuralTraining:
    """Distance and depth probes of all layers, trained on the same batches.

    Args:
        train: what is trained on.
        dev: what says when the loss no longer falls.
        rank: columns of each map, r.
        seed: of the start and of the order of the sentences; the same for all layers.
        batch_size: sentences a step.
        rate: the learning rate at the beginning.
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
        self._train, self._dev, self._seed, self._size = train, dev, seed, batch_size
        random = torch.Generator().manual_seed(seed)
        starts = (torch.rand(2, train.dim, rank, generator=random) * 2 - 1) * _START
        self.tasks = [LayerwiseDescent(start, train.n_layers, rate) for start in starts]
        self.epoch = 0

    @property
    def ended(self) -> bool:
        """Whether no loss fell for too long."""
        return not any(len(task.active) for task in self.tasks)

    def run_epoch(self) -> None:
        """Read all sentences once, then judge by the dev sentences."""
        random = np.random.default_rng([self._seed, self.epoch])
        order = random.permutation(len(self._train)).tolist()
        for start in range(0, len(order), self._size):
            self._step(self._train.batch(order[start : start + self._size]))
        for task, losses in enumerate(self.dev_losses()):
            self.tasks[task].after_epoch(self.epoch, losses)
        self.epoch += 1

    def dev_losses(self) -> list[Tensor]:
        """For each task the mean loss [K] over the dev sentences, of its active layers."""
        sums = [torch.zeros(len(task.active), dtype=torch.float64) for task in self.tasks]
        with torch.no_grad():
            for batch in self._dev.batches(self._size):
                for number, task in enumerate(self.tasks):
                    layers = task.active
                    losses = batch.losses(number, layers, task.maps[layers])
                    sums[number] += losses.double().sum(-1)
        return [one / len(self._dev) for one in sums]

    def state(self) -> dict[str, NDArray[Any]]:
        """All that training goes on from, by name."""
        own = {f"{TASKS[i]}/{k}": v for i in (0, 1) for k, v in self.tasks[i].state().items()}
        return {"epoch": np.array(self.epoch), **own}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a `state`."""
        self.epoch = int(state["epoch"])
        for name, task in zip(TASKS, self.tasks, strict=True):
            own = {k.partition("/")[2]: v for k, v in state.items() if k.startswith(f"{name}/")}
            task.restore(own)

    def _step(self, batch: TreeBatch) -> None:
        for number, task in enumerate(self.tasks):
            layers = task.active
            if not len(layers):
                continue
            maps = task.maps[layers].requires_grad_()
            # Layers share no parameter: the gradient of the sum is each one's own.
            batch.losses(number, layers, maps).mean(-1).sum().backward()
            if maps.grad is not None:
                task.step(layers, maps.grad)
