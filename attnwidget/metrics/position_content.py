"""Position or content: how much of a head's scores the offset between two tokens explains."""

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


# The smallest weight that float32 holds: weights below it count as this one.
_SMALLEST = 2.0**-149


def offset_sums(weights: Tensor, real: Tensor, reach: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sums of which `explained_by_offset` makes the share, over some inputs.

    Scores are read from weights: within a row, log weights are scores up to a constant.

    Args:
        weights: [B, H, n, n]; a cell that is 0 in all heads is masked.
        real: Bool [B, n], False at padding.
        reach: Offsets beyond `reach` tokens count as `reach`.

    Returns:
        float64 sums over all rows: products of row-centered indicators of offsets [O, O], their
        products with row-centered scores [H, O], and squares of these scores [H]. O is
        2 * reach + 1.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[[[0.5, 0.5], [0.2, 0.8]]]])
        >>> [tuple(s.shape) for s in offset_sums(weights, torch.ones(1, 2, dtype=torch.bool), 3)]
        [(7, 7), (1, 7), (1,)]
    """
    n = weights.shape[-1]
    visible = (weights.amax(1) > 0) & real[:, :, None] & real[:, None, :]  # [B, n, n]
    scores = centered_rows(weights.clamp(min=_SMALLEST).log(), visible[:, None])
    place = torch.arange(n, dtype=torch.long, device=weights.device)
    offsets = (place[None] - place[:, None]).clamp(-reach, reach) + reach  # [n, n]
    size = 2 * reach + 1
    seen = visible.double()
    counts = seen.new_zeros(*seen.shape[:2], size)
    counts = counts.scatter_add_(-1, offsets.expand_as(seen), seen).flatten(0, 1)  # rows, O
    keys = counts.sum(-1, keepdim=True).clamp(min=1)
    design = torch.diag(counts.sum(0)) - (counts / keys).T @ counts
    summed = scores.sum(0, dtype=torch.float64).flatten(1)  # [H, n * n]
    responses = summed.new_zeros(len(summed), size)
    responses.scatter_add_(-1, offsets.flatten().expand_as(summed), summed)
    squares = torch.linalg.vector_norm(scores, dim=(0, 2, 3), dtype=torch.float64).square()
    return design, responses, squares


def explained_by_offset(design: Tensor, responses: Tensor, squares: Tensor) -> Tensor:
    """Return the share of the variance of row-centered scores that the offset explains, [H].

    The scores are fitted by s_ij = m_i + p(j - i) in the sense of least squares, with any number
    m_i for each query and p for each offset. The share is 1 for a head whose weights depend on the
    offset alone.

    Args:
        design: [O, O] of `offset_sums`.
        responses: [H, O].
        squares: [H].

    Returns:
        float64 [H] from 0 to 1; NaN for a head whose scores do not vary.

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
    """The share of the variance of scores that the offset alone explains.

    Attributes:
        explained: float64 [L, H], from 0 to 1, over the text as it is.
        shuffled: float64 [L, H], the same with the tokens of each segment in random order; NaN
            without a model.
        reach: Offsets beyond `reach` tokens count as one offset.
        n_documents: Segments that were read.
        model_name: The model.

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
    reach: int

    figure = LayerCurves(
        "Scores explained by the offset", "share of the variance of row-centered scores"
    )


class PositionContent(Accumulator[PositionContentResult]):
    """Position or content: the share of the variance of scores that the offset alone explains.

    The scores of a head before the softmax are fitted by s_ij = m_i + p(j - i) over the whole
    corpus: any constant m_i for each query, which changes no weight, and any function p of the
    offset. The share is 1 for a head that looks at fixed offsets, and near 0 for a head that looks
    for content. The control reads the same segments with their tokens in random order at the same
    positions: a share that stays is of the position encoding, and a share that falls came from the
    order of words in language. Each batch goes through the model once more for the control.

    Args:
        reach: Offsets beyond `reach` tokens count as `reach`; sums take 8 * (2 * reach + 1)^2 bytes
            a layer.
        seed: Seed of the random order, which depends on the tokens of a segment alone.

    Raises:
        ValueError: A reach below 1.

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
        self.reach = whole_number("max_offset", max_offset, 1, "token")
        self.seed = seed

    @property
    def options(self) -> dict[str, Any]:
        return {"reach": self.reach, "seed": self.seed}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self._model = subject.model
        size = 2 * self.reach + 1
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
        encodes_apart = getattr(hf_model.config, "is_encoder_decoder", False)
        backbone = hf_model.get_encoder() if encodes_apart else hf_model.base_model
        inputs = dict(batch.inputs)
        inputs["input_ids"] = self._shuffled(batch)
        options = without_cache(backbone)

        def add(seen: LayerAttention) -> None:
            if not is_cross(seen.stack):
                place = self.layers.place(seen.layer)
                self._add("shuffled", place, seen.weights.float(), batch.real)

        with model.lock.in_turn(), torch.no_grad(), tap(backbone, add):
            backbone(**inputs, **options)

    def _add(self, kind: str, layer: int, weights: Tensor, real: Tensor) -> None:
        sums = offset_sums(weights, real, self.reach)
        for name, values in zip(("design", "responses", "squares"), sums, strict=True):
            self.sums[f"{kind} {name}"][layer] += values.cpu().numpy()

    def _shuffled(self, batch: Batch) -> Tensor:
        """Return the ids with ordinary tokens in random order; special tokens stay."""
        ids = batch.inputs["input_ids"].clone()
        for row, tokens in zip(ids, batch.tokens, strict=True):
            ordinary = [place for place, kind in enumerate(tokens.special) if not kind]
            places = torch.tensor(ordinary, dtype=torch.long, device=ids.device)
            own = row[places].cpu()
            generator = torch.Generator(device="cpu").manual_seed(
                self.seed + crc32(own.numpy().tobytes())
            )
            order = torch.randperm(len(own), generator=generator, dtype=torch.long, device="cpu")
            row[places] = own[order].to(ids.device)
        return ids

    def compute(self) -> PositionContentResult:
        shares = {kind: self._shares(kind) for kind in _KINDS}
        return PositionContentResult(
            explained=self.layers.spread(shares["text"]),
            shuffled=self.layers.spread(shares["shuffled"]),
            reach=self.reach,
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
