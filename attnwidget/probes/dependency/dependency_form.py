"""Form of a dependency probe: its parameters, their initialization, and its scores."""

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
    """Form of a probe of Clark et al. 2019, section 5.

    Attributes:
        kind: Inputs of the probe.
        n_maps: Number of maps of the model, C = L * H; each is used in both directions.
        dimension: Size d of a word vector; 0 if words are not used.

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
        """Whether the probe uses attention."""
        return self.kind != "distances+words"

    @property
    def reads_words(self) -> bool:
        """Whether the probe uses word vectors."""
        return self.kind != "attention"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter of one probe, by name."""
        map_shape = (2, self.n_maps)
        pair = 2 * self.dimension
        if self.kind == "attention":
            return {"weights": map_shape, "root": (2,)}
        if self.kind == "attention+words":
            return {"weights": (*map_shape, pair), "bias": map_shape, "root": (2,)}
        return {
            "hidden": (_HIDDEN, 9 + pair),
            "hidden_bias": (_HIDDEN,),
            "output": (_HIDDEN,),
            "output_bias": (),
        }

    @property
    def n_parameters(self) -> int:
        """Number of parameters of one probe."""
        return sum(map(prod, self.shapes.values()))

    def start(self, seeds: Sequence[int]) -> Tensor:
        """Return the parameters before training, float32 [S, P], drawn separately for each seed.

        Weights have Glorot's uniform distribution (2010), biases are 0, and both root parameters 1.
        """
        rows = []
        for seed in seeds:
            random = torch.Generator(device="cpu").manual_seed(seed)
            parts = []
            for name, shape in self.shapes.items():
                bound = self._reach(name)
                values = (
                    torch.rand(shape, generator=random, dtype=torch.float32, device="cpu")
                    * (2 * bound)
                    - bound
                )
                parts.append(
                    values.flatten()
                    if name != "root"
                    else torch.ones(2, dtype=torch.float32, device="cpu")
                )
            rows.append(torch.cat(parts))
        return torch.stack(rows)

    def named(self, parameters: Tensor) -> dict[str, Tensor]:
        """Return views of the parameters [S, P] by name, [S, ...]."""
        parts = parameters.split([prod(shape) for shape in self.shapes.values()], -1)
        return {
            name: part.reshape(len(parameters), *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def scores(
        self, named: Mapping[str, Tensor], maps: Tensor | None, vectors: Tensor | None
    ) -> Tensor:
        """Return the scores for one sentence, [S, m, m + 1], as in `kernels/dependency_scores.py`.

        `named` comes from the method `named`; `maps` [C, m + 2, m + 2] and `vectors` [m, d] are
        needed if the probe uses them.
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
