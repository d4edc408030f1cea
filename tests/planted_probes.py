"""Sentences and maps made for each other, so that what a probe should find is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget.text.treebank import Sentence

LAYERS = 2
HEADS = 3


def sentences(n: int, *, seed: int = 0, least: int = 3, most: int = 9) -> list[Sentence]:
    """Sentences of random words under random trees."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(n):
        m = int(random.integers(least, most + 1))
        order = random.permutation(m)
        governors = [0] * m
        for place in range(1, m):
            governors[order[place]] = int(order[random.integers(place)]) + 1
        relations = ["root" if g == 0 else "dep" for g in governors]
        words = [f"w{random.integers(40)}" for _ in range(m)]
        made.append(Sentence.from_lists(words, governors, relations, name=f"{seed}-{number}"))
    return made


class PlantedFeatures(list[Any]):
    """Maps [6, m + 2, m + 2] of noise; with `planted` (map, direction) one map shows the trees."""

    def __init__(
        self, given: Sequence[Sentence], planted: tuple[int, int] | None = None, seed: int = 0
    ) -> None:
        random = np.random.default_rng(seed)
        for one in given:
            n = len(one) + 2
            maps = random.dirichlet(np.ones(n), (LAYERS * HEADS, n))
            if planted is not None:
                own = np.zeros((n, n))
                own[np.arange(1, n - 1), one.governors] = 1  # the root's is [CLS]
                maps[planted[0]] = own.T if planted[1] else own
            self.append(maps.astype(np.float16))
        self.sentences = tuple(given)
        self.n_skipped = 0
        self.n_layers = LAYERS
        self.n_heads = HEADS
        self.model_name = "planted"
        self.model_digest = "0"
        self.path = Path(f"maps-{planted}-{seed}", "features.bin")
