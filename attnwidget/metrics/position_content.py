"""Position or content: share of a head's scores that the offset between two tokens explains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.results import LayerCurves, per_head
from attnwidget.corpus.segment_means import SegmentMeansResult
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.kernels.score_parts import centered_rows
from attnwidget.text.whole_number import whole_number

_KINDS = ("text", "shuffled")


# Smallest positive float32 number: smaller weights are raised to it before the logarithm.
_SMALLEST = 2.0**-149


def offset_sums(weights: Tensor, real: Tensor, max_offset: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sums over some inputs from which `explained_by_offset` computes the share.

    Scores are computed from weights: within a row, log weights are scores up to a constant.

    Args:
        weights: Attention weights, [B, H, n, n]; a cell that is 0 in all heads is masked.
        real: Mask of real tokens, bool [B, n], False for padding.
        max_offset: Largest offset; larger offsets count as `max_offset`.

    Returns:
        Sums over all rows, float64: products of row-centered offset indicators [O, O], their
        products with row-centered scores [H, O], and squares of these scores [H]. O is 2 *
        max_offset + 1.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[[[0.5, 0.5], [0.2, 0.8]]]])
        >>> [tuple(s.shape) for s in offset_sums(weights, torch.ones(1, 2, dtype=torch.bool), 3)]
        [(7, 7), (1, 7), (1,)]
    """
    n = weights.shape[-1]
    visible = (weights.amax(1) > 0) & real[:, :, None] & real[:, None, :]  # [B, n, n]
    scores = centered_rows(weights.clamp(min=_SMALLEST).log(), visible[:, None])
    positions = torch.arange(n, dtype=torch.long, device=weights.device)
    offsets = (positions[None] - positions[:, None]).clamp(
        -max_offset, max_offset
    ) + max_offset  # [n, n]
    size = 2 * max_offset + 1
    visible_float = visible.double()
    counts = visible_float.new_zeros(*visible_float.shape[:2], size)
    counts = counts.scatter_add_(-1, offsets.expand_as(visible_float), visible_float).flatten(
        0, 1
    )  # rows, O
    keys = counts.sum(-1, keepdim=True).clamp(min=1)
    design = torch.diag(counts.sum(0)) - (counts / keys).T @ counts
    score_sums = scores.sum(0, dtype=torch.float64).flatten(1)  # [H, n * n]
    responses = score_sums.new_zeros(len(score_sums), size)
    responses.scatter_add_(-1, offsets.flatten().expand_as(score_sums), score_sums)
    squares = torch.linalg.vector_norm(scores, dim=(0, 2, 3), dtype=torch.float64).square()
    return design, responses, squares


def explained_by_offset(design: Tensor, responses: Tensor, squares: Tensor) -> Tensor:
    """Return the share of the variance of row-centered scores that the offset explains, [H].

    A least-squares fit s_ij = m_i + p(j - i) has any number m_i for each query and p for each
    offset. The share is 1 for a head whose weights depend only on the offset.

    Args:
        design: Products of offset indicators from `offset_sums`, [O, O].
        responses: Products of offset indicators and scores, [H, O].
        squares: Squares of the scores, [H].

    Returns:
        Shares from 0 to 1, float64 [H]; NaN for a head whose scores do not vary.

    Example:
        >>> import torch
        >>> place = torch.arange(6.0)
        >>> near = torch.softmax(-(place[:, None] - place).abs(), -1)[None, None]
        >>> sums = offset_sums(near, torch.ones(1, 6, dtype=torch.bool), 5)
        >>> explained_by_offset(*sums).round(decimals=4)
        tensor([1.], dtype=torch.float64)
    """
    fitted = torch.linalg.pinv(design, hermitian=True, rtol=1e-9) @ responses.T  # [O, H]
    explained = (responses.T * fitted).sum(0)
    share = explained / squares
    return torch.where(squares > 0, share.clamp(0, 1), torch.nan)


@dataclass(frozen=True, eq=False, repr=False)
class PositionContentResult(SegmentMeansResult):
    """Share of the variance of scores that the offset alone explains.

    Attributes:
        explained: Share for the original text, float64 [L, H], from 0 to 1.
        shuffled: Share with the tokens of each segment in random order, float64 [L, H]; NaN
            without a model.
        max_offset: Largest offset in tokens; larger offsets count as this offset.
        n_documents: Number of segments.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> attention = load_model().attend("The cat sat.")
        >>> found = measure_attention(attention, ["position_content"])["position_content"]
        >>> found.explained.shape
        (6, 12)
    """

    explained: NDArray[np.float64] = field(metadata=per_head("explained by offset", curve="text"))
    shuffled: NDArray[np.float64] = field(
        metadata=per_head("explained by offset, tokens shuffled", curve="shuffled", optional=True)
    )
    max_offset: int

    figure = LayerCurves(
        "Scores explained by the offset", "share of the variance of row-centered scores"
    )


class PositionContent(Accumulator[PositionContentResult]):
    """Metric: share of the variance of scores that the offset alone explains.

    The scores of a head before the softmax are fitted by s_ij = m_i + p(j - i) over the whole
    corpus, with any constant m_i for each query, which changes no weight, and any function p of the
    offset. The share is 1 for a head that attends to fixed offsets, and near 0 for a head that
    attends to content. The control uses the same segments with their tokens in random order. If the
    share remains the same, it comes from the position encoding; if it falls, it came from the word
    order of the language. The control costs one more forward pass per batch.

    Every key counts equally in this variance, including keys with almost no weight. Use
    `words.explained_attention` for the share of the attention itself: there, a key counts by its
    weight, and grammar and equal words have shares too.

    Args:
        max_offset: Largest offset; larger offsets count as `max_offset`. Sums take 8 * (2 *
            max_offset + 1)^2 bytes per layer.
        seed: Seed of the random order, which otherwise depends only on the tokens of a segment.

    Raises:
        ValueError: If `max_offset` is below 1.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model(device="cpu")
        >>> segments = make_segments(["The cat sat on the mat.", "It slept."], model)
        >>> found = measure(model, segments, ["position_content"], progress=False)
        >>> found["position_content"].explained.shape
        (6, 12)
    """

    name = "position_content"
    along_line = True

    def __init__(self, max_offset: int = 128, *, seed: int = 0) -> None:
        self.max_offset = whole_number("max_offset", max_offset, 1, "token")
        self.seed = seed

    @property
    def options(self) -> dict[str, Any]:
        return {"max_offset": self.max_offset, "seed": self.seed}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self._model = subject.model
        size = 2 * self.max_offset + 1
        for kind in _KINDS:
            self.sums[f"{kind} design"] = np.zeros((self.n_layers, size, size))
            self.sums[f"{kind} responses"] = np.zeros((self.n_layers, self.n_heads, size))
            self.sums[f"{kind} squares"] = np.zeros((self.n_layers, self.n_heads))
        self.sums["segments"] = np.zeros((), np.int64)

    def update(self, layer: LayerBatch) -> None:
        self._add("text", layer.layer, layer.weights, layer.batch.real)

    def end_batch(self, batch: Batch) -> None:
        self.sums["segments"] += len(batch.segments)
        model = self._model
        if model is None:
            return
        hf_model = model.hf_model
        is_encoder_decoder = getattr(hf_model.config, "is_encoder_decoder", False)
        backbone = hf_model.get_encoder() if is_encoder_decoder else hf_model.base_model
        inputs = dict(batch.inputs)
        inputs["input_ids"] = self._shuffled(batch)
        options = without_cache(backbone)

        def add(seen: LayerAttention) -> None:
            if not is_cross(seen.stack):
                index = self.layers.place(seen.layer)
                self._add("shuffled", index, seen.weights.float(), batch.real)

        with model.lock.in_turn(), torch.no_grad(), tap(backbone, add):
            backbone(**inputs, **options)

    def _add(self, kind: str, layer: int, weights: Tensor, real: Tensor) -> None:
        sums = offset_sums(weights, real, self.max_offset)
        for name, values in zip(("design", "responses", "squares"), sums, strict=True):
            self.sums[f"{kind} {name}"][layer] += values.cpu().numpy()

    def _shuffled(self, batch: Batch) -> Tensor:
        """Return the ids with ordinary tokens in random order; special tokens are unchanged."""
        ids = batch.inputs["input_ids"].clone()
        for row, tokens in zip(ids, batch.tokens, strict=True):
            ordinary = [position for position, kind in enumerate(tokens.special) if not kind]
            positions = torch.tensor(ordinary, dtype=torch.long, device=ids.device)
            token_ids = row[positions].cpu()
            generator = torch.Generator(device="cpu").manual_seed(
                self.seed + crc32(token_ids.numpy().tobytes())
            )
            order = torch.randperm(
                len(token_ids), generator=generator, dtype=torch.long, device="cpu"
            )
            row[positions] = token_ids[order].to(ids.device)
        return ids

    def compute(self) -> PositionContentResult:
        shares = {kind: self._shares(kind) for kind in _KINDS}
        return PositionContentResult(
            explained=self.layers.spread(shares["text"]),
            shuffled=self.layers.spread(shares["shuffled"]),
            max_offset=self.max_offset,
            n_documents=int(self.sums["segments"]),
            model_name=self.model_name,
        )

    def _shares(self, kind: str) -> NDArray[np.float64]:
        """Return the explained share of every head with attention, [layers, H]."""
        sums = (
            torch.from_numpy(self.sums[f"{kind} {name}"])
            for name in ("design", "responses", "squares")
        )
        layers = [explained_by_offset(*layer) for layer in zip(*sums, strict=True)]
        shares: NDArray[np.float64] = torch.stack(layers).numpy()
        return shares
