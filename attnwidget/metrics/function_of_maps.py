"""A metric from a function of the attention weights of one head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.results import HeadHeatMap, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult

#: Function of the weights of one head in one input, float32 [n, n], that returns a number.
MapFunction = Callable[[NDArray[np.float32]], float]


@dataclass(frozen=True, eq=False, repr=False)
class FunctionResult(SegmentMeansResult):
    """Mean of a function of the attention weights, for each head.

    Attributes:
        values: Mean over segments, float64 [L, H].
        title: Name of the function, with spaces.

    Example:
        >>> from attnwidget import load_model, measure
        >>> def to_itself(weights):
        ...     return weights.diagonal().mean()
        >>> found = measure(load_model(), ["It slept."], [to_itself], progress=False)
        >>> found["to_itself"].values.shape, list(found.heads())
        ((6, 12), ['to itself'])
    """

    values: NDArray[np.float64] = field(metadata=per_head("{self.title}"))
    title: str

    figure = HeadHeatMap("values", "{self.title}", "mean over inputs")


class FunctionOfMaps(SegmentMeans[FunctionResult]):
    """Metric: a function of the attention weights of one head in one input.

    `measure` makes this metric from a function among its `metrics`.

    Args:
        function: Function with a name. It is called with the weights of each head in each input,
            float32 [n, n] without padding, with one row for each query, and returns a number.

    Raises:
        TypeError: If the function has no name of its own, such as a lambda; while measuring, if it
            does not return a number.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> def largest(weights):
        ...     return weights.max()
        >>> found = measure_attention(load_model().attend("It slept."), ["entropy", largest])
        >>> found["largest"].values.max() > 0.9
        np.True_
    """

    of_heads = {"value": ()}

    def __init__(self, function: MapFunction) -> None:
        name = getattr(function, "__name__", "<lambda>")
        if name == "<lambda>":
            raise TypeError(
                f"a metric has a name, and {function!r} has none: write `def name(weights): ...` "
                "and pass the function"
            )
        self.name = name
        self.function = function

    @property
    def options(self) -> dict[str, Any]:
        # A resume file of a function that has changed since is refused.
        code = getattr(self.function, "__code__", None)
        if code is None:
            return {"function": self.name}
        constants = [one for one in code.co_consts if isinstance(one, (int, float, str))]
        written = code.co_code + repr(constants).encode()
        return {"function": self.name, "code": blake2b(written, digest_size=4).hexdigest()}

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        weights = layer.weights.float().cpu().numpy()
        lengths = layer.batch.lengths.tolist()
        numbers = [
            [self._number(head[:n, :n]) for head in heads]
            for heads, n in zip(weights, lengths, strict=True)
        ]
        return {"value": torch.tensor(numbers, dtype=torch.float64, device="cpu")}

    def _number(self, weights: NDArray[np.float32]) -> float:
        value = np.asarray(self.function(weights))
        if value.size != 1 or value.dtype.kind not in "biuf":
            shape = "×".join(map(str, weights.shape))
            returned = f"an array of shape {value.shape}" if value.size != 1 else repr(value.item())
            raise TypeError(
                f"{self.name} must return a number for the weights of a head ({shape}), and "
                f"returned {returned}: for one number per query, return its mean"
            )
        return float(value.reshape(()))

    def compute(self) -> FunctionResult:
        return FunctionResult(
            self.n_segments,
            self.mean("value"),
            self.name.replace("_", " ").strip(),
            model_name=self.model_name,
        )
