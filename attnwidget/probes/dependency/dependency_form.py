"""What a dependency probe is made of: its parameters, how they begin, how it scores governors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Literal

import torch
from torch import Tensor

from attnwidget.kernels.dependency_scores import (
    distance_word_scores,
    map_scores,
    map_word_scores,
)

ProbeKind = Literal["attention", "attention+words", "distances+words"]

_HIDDEN = 256


@dataclass(frozen=True)
class Form:
    """The form of a probe of Clark et al. 2019, section 5.

    Attributes:
        kind: what it reads.
        n_maps: maps of the model, C = L * H; each is read in both directions.
        dimension: numbers a word vector, d; 0 where words are not read.

    Example:
        >>> from attnwidget.probes.dependency.dependency_form import Form
        >>> Form("attention", 144).n_parameters, Form("attention+words", 144, 100).n_parameters
        (290, 57890)
    """

    kind: ProbeKind
    n_maps: int
    dimension: int = 0

    @property
    def reads_maps(self) -> bool:
        """Whether it reads attention."""
        return self.kind != "distances+words"

    @property
    def reads_words(self) -> bool:
        """Whether it reads word vectors."""
        return self.kind != "attention"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter of one probe, by its name."""
        both = (2, self.n_maps)
        pair = 2 * self.dimension
        if self.kind == "attention":
            return {"weights": both, "root": (2,)}
        if self.kind == "attention+words":
            return {"weights": (*both, pair), "bias": both, "root": (2,)}
        return {
            "hidden": (_HIDDEN, 9 + pair),
            "hidden_bias": (_HIDDEN,),
            "output": (_HIDDEN,),
            "output_bias": (),
        }

    @property
    def n_parameters(self) -> int:
        """How many numbers one probe learns."""
        return sum(map(prod, self.shapes.values()))

    def start(self, seeds: Sequence[int]) -> Tensor:
        """Float32 [S, P], parameters before training, those of each seed drawn by itself.

        Glorot's uniform distribution (2010) for weights, 0 for biases, 1 for the two of the root.
        """
        rows = []
        for seed in seeds:
            random = torch.Generator(device="cpu").manual_seed(seed)
            parts = []
            for name, shape in self.shapes.items():
                reach = self._reach(name)
                drawn = (
                    torch.rand(shape, generator=random, dtype=torch.float32, device="cpu")
                    * (2 * reach)
                    - reach
                )
                parts.append(
                    drawn.flatten()
                    if name != "root"
                    else torch.ones(2, dtype=torch.float32, device="cpu")
                )
            rows.append(torch.cat(parts))
        return torch.stack(rows)

    def named(self, parameters: Tensor) -> dict[str, Tensor]:
        """Views of [S, P] by name, [S, ...]."""
        parts = parameters.split([prod(shape) for shape in self.shapes.values()], -1)
        return {
            name: part.reshape(len(parameters), *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def scores(
        self, named: Mapping[str, Tensor], maps: Tensor | None, vectors: Tensor | None
    ) -> Tensor:
        """[S, m, m + 1] of one sentence, as `kernels/dependency_scores.py` has them.

        `named` is of `named`; `maps` [C, m + 2, m + 2] and `vectors` [m, d] where they are read.
        """
        if self.kind == "attention" and maps is not None:
            return map_scores(maps, **named)
        if self.kind == "attention+words" and maps is not None and vectors is not None:
            return map_word_scores(maps, vectors, **named)
        if vectors is not None:
            return distance_word_scores(vectors, **named)
        raise TypeError(f"a probe of {self.kind} was given neither maps nor vectors that it reads")

    def _reach(self, name: str) -> float:
        fans = {
            ("attention", "weights"): (2 * self.n_maps, 1),
            ("attention+words", "weights"): (2 * self.dimension, 2 * self.n_maps),
            ("distances+words", "hidden"): (9 + 2 * self.dimension, _HIDDEN),
            ("distances+words", "output"): (_HIDDEN, 1),
        }.get((self.kind, name))
        return sqrt(6 / sum(fans)) if fans else 0.0
