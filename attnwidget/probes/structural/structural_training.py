"""Training of structural probes: all layers side by side, each with its own rate and end.

As in the authors' code: Adam, the learning rate divided by ten whenever the loss on the dev
sentences does not fall, the best parameters kept, and an end once the best is too long ago.
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
"""Parameters begin uniform between this and its negative."""
_LEAST_GAIN = 1e-4
"""A loss is the best one if it is lower by more than this."""
_PATIENCE = 4
"""Training ends when the best epoch is more epochs back than this."""


class VectorTrees:
    """Sentences with a vector a word and layer, and their trees.

    Args:
        sentences: N sentences.
        vectors: of each an array [L, m, D], one vector a layer and word; read when needed.

    Attributes:
        gold: Distances [m, m] and depths [m] of the tree of each sentence.
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
        """Some of the sentences, for one step."""
        lengths = torch.from_numpy(self.lengths[list(chosen)])
        n = len(chosen)
        width = int(lengths.max())
        distances = torch.zeros(n, width, width, dtype=torch.float32, device="cpu")
        depths = torch.zeros(n, width, dtype=torch.float32, device="cpu")
        for row, i in enumerate(chosen):
            m = self.lengths[i]
            distances[row, :m, :m], depths[row, :m] = map(torch.from_numpy, self.gold[i])
        places = torch.arange(width, dtype=torch.long, device="cpu").expand(n, -1)
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

    def losses(self, task: int, layers: list[int], maps: Tensor) -> Tensor:
        """Losses [K, B] of a task (of `TASKS`) for the maps [K, D, r] of K layers."""
        vectors = self.vectors if len(layers) == len(self.vectors) else self.vectors[layers]
        words = (vectors @ maps)[:, self.words]  # [K, B, m, r]
        if task == 0:
            return distance_loss(squared_distances(words), self.gold[0], self.lengths)
        return depth_loss(squared_lengths(words), self.gold[1], self.lengths)


class MapDescent:
    """Adam for the map of one layer, with a separate rate, best state and end.

    Args:
        start: [D, r], where it begins.
        rate: the learning rate at the beginning.

    Attributes:
        map: [D, r], as it is now.
        best: [D, r], as it was after the epoch with the lowest loss.
        best_loss: that loss.
        done: whether it is too long ago.
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
        """The learning rate now."""
        return float(self._adam.param_groups[0]["lr"])

    def step(self) -> None:
        """Change the map by its gradient, which is forgotten."""
        self._adam.step()
        self._adam.zero_grad()

    def after_epoch(self, epoch: int, loss: float) -> None:
        """Keep what is best, slow down or end by the loss on the dev sentences."""
        self._plateau.step(loss)
        if loss < self.best_loss - _LEAST_GAIN:
            self.best_loss = loss
            self._best_epoch = epoch
            self.best = self.map.detach().clone()
        elif self._best_epoch < epoch - _PATIENCE:
            self.done = True

    def state(self) -> dict[str, NDArray[Any]]:
        """All that training goes on from after an epoch, by name."""
        now = {name: values.numpy().copy() for name, values in self._adam.state[self.map].items()}
        tensors = {"map": self.map.detach().numpy().copy(), "best": self.best.numpy()}
        numbers = (self.best_loss, self._best_epoch, self.done, self.rate, self._plateau.best)
        return {**now, **tensors, "numbers": np.array(numbers)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a `state`."""
        read = {name: torch.from_numpy(np.array(values)) for name, values in state.items()}
        loss, epoch, done, rate, lowest = read.pop("numbers").tolist()
        self.best_loss = loss
        self._best_epoch = int(epoch)
        self.done = bool(done)
        self._adam.param_groups[0]["lr"] = rate
        self._plateau.best = lowest
        self.map.data = read.pop("map")
        self.best = read.pop("best")
        self._adam.state[self.map] = read


class StructuralTraining:
    """Distance and depth probes of all layers, trained on the same batches.

    Args:
        train: what is trained on.
        dev: what says when the loss no longer falls.
        rank: columns of each map, r.
        seed: of the start and of the order of the sentences; the same for all layers.
        batch_size: sentences a step.
        rate: the learning rate at the beginning.

    Attributes:
        tasks: for each of `TASKS` the map of each layer.
        epoch: how many times the sentences were read.
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
        """Whether no loss fell for too long."""
        return all(descent.done for task in self.tasks for descent in task)

    def run_epoch(self) -> None:
        """Read all sentences once, then judge by the dev sentences."""
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
        """All that training goes on from, by name."""
        maps = {
            f"{name}/{key}": v
            for name, descent in self._maps()
            for key, v in descent.state().items()
        }
        return {"epoch": np.array(self.epoch), **maps}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a `state`."""
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
        """For each task its K layers that go on, and their losses [K, B]."""
        for number, task in enumerate(self.tasks):
            active = [layer for layer, descent in enumerate(task) if not descent.done]
            if active:
                maps = torch.stack([task[layer].map for layer in active])
                yield number, active, batch.losses(number, active, maps)

    @torch.no_grad()
    def _dev_losses(self) -> dict[tuple[int, int], float]:
        """The mean loss over the dev sentences, by task and layer."""
        sums: Counter[tuple[int, int]] = Counter()
        for batch in self._dev.batches(self._size):
            for task, active, losses in self._losses(batch):
                for layer, loss in zip(active, losses.double().sum(-1).tolist(), strict=True):
                    sums[task, layer] += loss
        return {key: total / len(self._dev) for key, total in sums.items()}
