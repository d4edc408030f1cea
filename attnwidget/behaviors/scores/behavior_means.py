"""Scores and controls of behaviors over texts, in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.behaviors.behavior import LinkBehavior, MapBehavior
from attnwidget.behaviors.examples.place_priorities import NEVER, place_priorities
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.segment_indices import segment_indices
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.link_controls import controls_at_offsets, controls_beside
from attnwidget.kernels.sharpness import sharpened

if TYPE_CHECKING:
    import altair as alt

TextBehavior = LinkBehavior | MapBehavior
# Number of predicted links per text and behavior whose rank in their row is computed.
_RANKED = 8


@dataclass(frozen=True, eq=False, repr=False)
class BehaviorMeans(HeadResult):
    """Means of scores and controls over texts.

    Texts are split into two halves by the number of their document; the halves are the first axis
    of all arrays. D is the number of behaviors. A text counts for a behavior if it has a predicted
    link.

    Attributes:
        names: Names of the D behaviors.
        score: Mean score, [2, D, L, H].
        control: Mean score of the control, [2, D, L, H].
        square: Mean squared difference per text, [2, D, L, H].
        auc: Probability that a predicted link has more weight than another visible key of its
            query, [2, D, L, H]; only for the second half.
        counts: Number of texts with a score, int64 [2, D].
        n_segments: Number of texts that were processed.
    """

    names: tuple[str, ...]
    score: Float64Array
    control: Float64Array
    square: Float64Array
    auc: Float64Array
    counts: NDArray[np.int64]
    n_segments: int

    def heads(self) -> HeadMetrics:
        """Return the scores of the first half by behavior name."""
        return dict(zip(self.names, self.score[0], strict=True))

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw one heat map of the scores per behavior; `width` in pixels."""
        from attnwidget.charts.head_heatmap import head_heatmaps

        return head_heatmaps(
            self.heads(), title="Scores of behaviors", value_title="score", width=width
        )


class BehaviorSums(SegmentMeans[BehaviorMeans]):
    """Metric: scores and controls of behaviors over segments with an index.

    Args:
        behaviors: Behaviors to score.
        seed: Seed for drawing the links whose rank is computed.
        exponents: Exponents that sharpen the map of each head, [L, H]; None = unchanged maps.
    """

    name = "behaviors"

    def __init__(
        self,
        behaviors: Sequence[TextBehavior],
        *,
        seed: int = 0,
        exponents: Float64Array | None = None,
    ) -> None:
        self._links = [b for b in behaviors if isinstance(b, LinkBehavior)]
        self._maps = [b for b in behaviors if isinstance(b, MapBehavior)]
        self._seed = seed
        self._exponents = exponents
        axes = (2, len(self._links) + len(self._maps))
        self.of_heads = dict.fromkeys(("score", "control", "square", "auc"), axes)
        self.of_segments = {"with score": axes, "with auc": axes}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the behaviors in the order of the results."""
        return tuple(behavior.name for behavior in (*self._links, *self._maps))

    @property
    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"behaviors": list(self.names), "seed": self._seed}
        if self._exponents is not None:
            options["exponents"] = digest_of([self._exponents.tolist()])
        return options

    def update(self, layer: LayerBatch) -> None:
        if self._exponents is not None:
            exponents = self._exponents[self.layers.numbers[layer.layer]]
            weights = sharpened(layer.weights, torch.from_numpy(exponents))
            layer = replace(layer, weights=weights)
        super().update(layer)

    def begin_batch(self, layer: LayerBatch) -> None:
        batch = layer.batch
        real = batch.real
        n_segments, n = real.shape
        self._causal = is_causal(layer.weights, real)
        visible = real[:, :, None] & real[:, None]
        visible = visible.tril() if self._causal else visible
        links = []
        masks = []
        for behavior in self._links:
            predicted = behavior.visible_links(batch, causal=self._causal)
            controls = (
                controls_at_offsets if behavior.control == "same offsets" else controls_beside
            )
            used_links, weights = controls(predicted, visible, behavior.compared(batch))
            n_queries = used_links.any(-1).sum(-1).clamp_min(1)[:, None, None]
            links.append(used_links)
            masks.append(torch.stack([used_links.float() / n_queries, weights / n_queries], 1))
        if links:
            self._kept = torch.stack(links, 1)  # [B, D, n, n]
            self._masks = torch.stack(masks, 2).flatten(-2)  # [B, 2, D, n * n]
            has_link = self._kept.flatten(-2).any(-1)
        else:
            self._kept = visible.new_zeros(n_segments, 0, n, n)
            self._masks = torch.zeros(
                n_segments, 2, 0, n * n, dtype=torch.float32, device=real.device
            )
            has_link = visible.new_zeros(n_segments, 0)
        has_map = (batch.lengths > 1)[:, None].expand(-1, len(self._maps))
        halves = torch.from_numpy(_halves(batch)).to(real.device)
        in_half = torch.nn.functional.one_hot(halves, 2).bool()  # [B, 2]
        has_score = torch.cat([has_link, has_map], 1)
        self._in_half = in_half.float()
        self._with_score = in_half[:, :, None] & has_score[:, None]
        self._draw_ranked(batch, visible, halves)

    def _draw_ranked(self, batch: Batch, visible: Tensor, halves: Tensor) -> None:
        """Draw predicted links of the second half, for which ranks in their rows are computed."""
        n = batch.real.shape[1]
        priorities = place_priorities(segment_indices(batch.segments), n, n, self._seed).reshape(
            -1, 1, n * n
        )
        links = self._kept.cpu().numpy().reshape(len(batch.segments), -1, n * n)
        size = min(_RANKED, n * n)
        ranks = np.where(links, priorities, NEVER)
        if ranks.shape[1]:
            candidates = np.argpartition(ranks, size - 1, axis=-1)[..., :size]
            is_drawn = np.take_along_axis(ranks, candidates, -1) < NEVER
        else:
            candidates = np.zeros((*ranks.shape[:2], size), np.int64)
            is_drawn = candidates > 0
        is_drawn &= (halves.cpu().numpy() == 1)[:, None, None]
        item, behavior, slot = np.nonzero(is_drawn)
        query, key = np.divmod(candidates[item, behavior, slot], n)
        device = batch.real.device
        self._ranked = tuple(
            torch.from_numpy(index).to(device) for index in (item, behavior, query, key)
        )
        index = self._ranked
        self._others = (
            visible[index[0], index[2]] & ~self._kept[index[0], index[1], index[2]]
        )  # [P, n]
        n_ranked = torch.zeros(self._with_score.shape[::2], dtype=torch.float32, device=device)
        n_ranked.index_put_(index[:2], (self._others.any(-1)).float(), accumulate=True)
        self._n_ranked = n_ranked  # [B, D]

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        maps = layer.weights.flatten(-2)[:, None]  # [B, 1, H, n * n]
        both = maps @ self._masks.mT  # [B, 2, H, D]
        score, control = both.unbind(1)
        # The control is a predicted share of the weight, which can fall outside of 0 to 1.
        control = control.clamp(0, 1)
        for behavior in self._maps:
            numbers = behavior.numbers(layer, causal=self._causal)
            score, control = (
                torch.cat([text_values, map_values[..., None]], -1)
                for text_values, map_values in zip((score, control), numbers, strict=True)
            )
        has_score = self._with_score[:, None].float()  # [B, 1, 2, D]
        # The variance is the mean square minus the square of the mean. In float32, rounding errors
        # would dominate it if all differences were almost equal.
        difference = score.double() - control.double()
        values_by_name = {"score": score, "control": control, "square": difference**2}
        spread = {name: values[:, :, None] * has_score for name, values in values_by_name.items()}
        return spread | {"auc": self._auc(layer.weights)[:, :, None] * self._with_auc[:, None]}

    @property
    def _with_auc(self) -> Tensor:
        return (self._n_ranked > 0)[:, None] * self._in_half[:, :, None]  # [B, 2, D]

    def _auc(self, weights: Tensor) -> Tensor:
        """Return the mean share of other keys below the weight of the predicted key, [B, H, D]."""
        item, behavior, query, key = self._ranked
        rows = weights[item, :, query]  # [P, H, n]
        predicted = weights[item, :, query, key][..., None]
        others = self._others[:, None]
        lighter = ((rows < predicted) & others).sum(-1).float()
        below = lighter + ((rows == predicted) & others).sum(-1).float() / 2
        shares = below / self._others.sum(-1).clamp_min(1)[:, None]
        sums = shares.new_zeros(*self._n_ranked.shape, weights.shape[1])  # [B, D, H]
        sums.index_put_((item, behavior), shares, accumulate=True)
        return (sums / self._n_ranked.clamp_min(1)[..., None]).transpose(1, 2)

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return {"with score": self._with_score.double(), "with auc": self._with_auc.double()}

    def compute(self) -> BehaviorMeans:
        score, control, square = (
            self.mean(name, over="with score") for name in ("score", "control", "square")
        )
        return BehaviorMeans(
            names=self.names,
            score=score,
            control=control,
            square=square,
            auc=self.mean("auc", over="with auc"),
            counts=self.counted("with score"),
            n_segments=self.n_segments,
        )


def _halves(batch: Batch) -> NDArray[np.int64]:
    """Return the half of each segment; documents, or single segments, alternate."""
    indices = segment_indices(batch.segments)
    return np.array(
        [
            (index if segment.document is None else segment.document) % 2
            for index, segment in zip(indices, batch.segments, strict=True)
        ],
        np.int64,
    )
