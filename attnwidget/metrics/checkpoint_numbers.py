"""Measured values of one training checkpoint, and their form in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Float64Array
from attnwidget.metrics.repeated_tokens import RepeatedTokens


@dataclass(frozen=True, eq=False)
class CheckpointNumbers:
    """Values measured at a checkpoint.

    Attributes:
        label: Label of the checkpoint.
        weights: Hash of all weights of the model.
        model_name: Name of the model.
        metrics: Metrics over segments by title, float64 [L, H] each; may be empty.
        n_segments: Number of segments; 0 = no segments were measured.
        repeated: Scores and losses on repeated random tokens; None if they were not measured.
        sequences: Hash of the random tokens; "" without tokens.
        length: Number of tokens of a copy.
    """

    label: str
    weights: str
    model_name: str
    metrics: Mapping[str, Float64Array]
    n_segments: int = 0
    repeated: RepeatedTokens | None = None
    sequences: str = ""
    length: int = 0

    @property
    def shapes(self) -> set[tuple[int, ...]]:
        """Numbers of layers and heads."""
        shapes = {values.shape for values in self.metrics.values()}
        return shapes if self.repeated is None else shapes | {self.repeated.scores.shape[1:3]}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all values as arrays, from which `of_state` creates an equal object."""
        arrays = {
            "label": np.array(self.label),
            "weights": np.array(self.weights),
            "model_name": np.array(self.model_name),
            "n_segments": np.array(self.n_segments),
            "sequences": np.array(self.sequences),
            "length": np.array(self.length),
            "titles": np.array(list(self.metrics), dtype=np.str_),
        }
        if self.metrics:
            arrays["metrics"] = np.stack(list(self.metrics.values()))
        if self.repeated is not None:
            arrays["scores"] = self.repeated.scores
            arrays["controls"] = self.repeated.controls
            arrays["losses"] = self.repeated.losses
        return arrays

    @classmethod
    def of_state(cls, state: Mapping[str, NDArray[Any]]) -> CheckpointNumbers:
        """Return the values from the arrays of `state`."""
        titles = state["titles"].tolist()
        repeated = None
        if "scores" in state:
            repeated = RepeatedTokens(state["scores"], state["controls"], state["losses"])
        return cls(
            label=str(state["label"]),
            weights=str(state["weights"]),
            model_name=str(state["model_name"]),
            metrics=dict(zip(titles, state.get("metrics", ()), strict=True)),
            n_segments=int(state["n_segments"]),
            repeated=repeated,
            sequences=str(state["sequences"]),
            length=int(state["length"]),
        )
