"""Attention from groups of queries to classes of tokens: the accumulator of several metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch, R
from attnwidget.corpus.segment_means import SegmentMeans, SumShapes
from attnwidget.corpus.token_classes import TokenClass
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.classes import class_mass

#: Smallest share of a learned sink. Rounding errors of half precision are smaller.
LEAST_SINK = 1e-2


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Token classes of a batch, and the groups of queries whose attention is measured.

    Attributes:
        queries: Query weights for each of R groups, float32 [B, R, n]. The weights of a group sum
            to 1, or to 0 in inputs without such queries.
        members: Membership of tokens in each of C classes, 1 or 0, float32 [B, C, k]. Tokens after
            the first k are in no class.
        counts: Counts of each input by name, as in `SegmentMeans.segment_numbers`.
    """

    queries: Tensor
    members: Tensor
    counts: Mapping[str, Tensor]


@dataclass(eq=False)
class ClassMass(SegmentMeans[R]):
    """Metric: attention mass from groups of queries to classes of tokens.

    The weights are summed over the tokens of a class and averaged over the queries of a group, then
    over inputs. `Classes`, `Sinks`, `Roles` and `Modalities` create such metrics.

    Attributes:
        name: Key of the result.
        table: Function from the first layer of a batch to the table of the batch.
        result: Function from this metric, with its means, to the result.
        of_heads: Names and shapes of the sums per head.
        of_segments: Names and shapes of the counts of the table.
        settings: Options of the metric as JSON.
        classes: Token classes by name that the table needs from the batch.
        n_sharing: Number of leading classes that partition the tokens. The weight on no token, as
            in a learned sink, then becomes an additional last class. None = do not measure it.
        parts: Function from the mass of a layer, [B, H, R, C], to the values of `of_heads`. None =
            the complete mass, as "mass".
    """

    by_rows: ClassVar[bool] = True

    name: str
    table: Callable[[LayerBatch], ClassTable]
    result: Callable[[ClassMass[R]], R]
    of_heads: SumShapes
    of_segments: SumShapes = field()
    settings: dict[str, Any] = field(default_factory=dict)
    classes: dict[str, TokenClass] = field(default_factory=dict)
    n_sharing: int | None = None
    parts: Callable[[Tensor], Mapping[str, Tensor]] | None = None

    @property
    def options(self) -> dict[str, Any]:
        return self.settings

    @property
    def token_classes(self) -> Mapping[str, TokenClass]:
        return self.classes

    def begin_batch(self, layer: LayerBatch) -> None:
        self._table = self.table(layer)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        members = self._table.members
        queries = layer.of_rows(self._table.queries)
        weights = layer.weights[..., : members.shape[-1]]
        mass = class_mass(weights, queries, layer.of_keys(members))  # [B, H, R, C]
        if self.n_sharing is not None:
            shared = mass[..., : self.n_sharing].double().sum(-1, keepdim=True)
            total = queries.double().sum(-1)[:, None, :, None]
            mass = torch.cat([mass.double(), (total - shared).clamp(min=0)], dim=-1)
        return {"mass": mass} if self.parts is None else self.parts(mass)

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return self._table.counts

    def compute(self) -> R:
        return self.result(self)


def visible_shares(members: Tensor) -> Tensor:
    """Return the share of each class among the tokens up to each token, float64 [B, C, n].

    A causal head with equal attention to all visible tokens has these shares.

    Args:
        members: Membership of tokens in each class, 1 or 0, [B, C, n].

    Example:
        >>> import torch
        >>> from attnwidget.metrics.class_mass import visible_shares
        >>> visible_shares(torch.tensor([[[1.0, 0.0, 0.0, 1.0]]])).tolist()
        [[[1.0, 0.5, 0.3333333333333333, 0.5]]]
    """
    n_visible = torch.arange(1, members.shape[-1] + 1, dtype=torch.float64, device="cpu")
    return members.double().cumsum(-1) / n_visible.to(members.device)


def even_mass(members: Tensor, layer: LayerBatch) -> Tensor:
    """Return the mass on each class if all tokens attended equally to visible tokens, [B, C].

    Args:
        members: Membership of tokens in each class, 1 or 0, [B, C, n].
        layer: First layer of the batch, whose weights tell whether later tokens are visible.
    """
    batch = layer.batch
    if is_causal(layer.weights, layer.of_rows(batch.real)):
        return (visible_shares(members) * batch.row_weights.double()[:, None]).sum(-1)
    return members.double().sum(-1) / batch.lengths[:, None]


def has_learned_sink(shares: NDArray[np.float64]) -> bool:
    """Return whether the shares of weight on no token exceed rounding errors.

    Example:
        >>> import numpy as np
        >>> from attnwidget.metrics.class_mass import has_learned_sink
        >>> has_learned_sink(np.array([1e-7, np.nan])), has_learned_sink(np.array([0.2, 0.0]))
        (False, True)
    """
    return bool((np.nan_to_num(shares) >= LEAST_SINK).any())
