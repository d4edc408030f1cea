"""Plane that shows the scores of a head best, with its queries and keys as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.checked_places import head_at
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention


@dataclass(frozen=True, eq=False, repr=False)
class KeyBiplot(Result):
    """Queries and keys of a head as points in a plane. Inner products of points are scores.

    A constant for each query leaves its weights unchanged, so the mean key is subtracted. The plane
    is the best rank-2 approximation of the scores, before soft cap, bias and mask.

    Attributes:
        head: Head of the queries and keys.
        queries: Points of all queries, float64 [Q, 2].
        keys: Points of all keys, float64 [K, 2].
        query_tokens: Texts of the Q attending tokens.
        key_tokens: Texts of the K attended tokens.
        query_inputs: Input of each query, int64 [Q].
        key_inputs: Input of each key, int64 [K].
        query_places: Index of each query in its input, int64 [Q].
        key_places: Index of each key in its input, int64 [K].
        singular_values: Singular values of the centered scores, float64, largest first.
        explained: Share of the squared centered scores that the plane shows, from 0 to 1.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import key_biplot
        >>> plot = key_biplot(load_model(device="cpu").attend("The cat sat."), 2, 8)
        >>> plot.query_tokens, plot.queries.shape
        (('[CLS]', 'the', 'cat', 'sat', '.', '[SEP]'), (6, 2))
    """

    head: Head
    queries: NDArray[np.float64]
    keys: NDArray[np.float64]
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    query_inputs: NDArray[np.int64]
    key_inputs: NDArray[np.int64]
    query_places: NDArray[np.int64]
    key_places: NDArray[np.int64]
    singular_values: NDArray[np.float64]
    explained: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per point: side, input, place, token, x, y.

        `attrs` has the "model" and the "head".
        """
        import pandas as pd

        frames = []
        for side, inputs, indices, tokens, points in (
            ("query", self.query_inputs, self.query_places, self.query_tokens, self.queries),
            ("key", self.key_inputs, self.key_places, self.key_tokens, self.keys),
        ):
            columns = {"side": side, "input": inputs, "place": indices, "token": tokens}
            frames.append(pd.DataFrame(columns).assign(x=points[:, 0], y=points[:, 1]))
        frame = pd.concat(frames, ignore_index=True)
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw queries as circles and keys as squares, with their tokens if there is room.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.token_plane import token_plane

        return token_plane(
            self.to_frame(),
            title=f"Queries and keys of {self.head}\n{self.model_name}; "
            f"the plane shows {self.explained:.0%} of the scores; inner products are scores",
            width=width,
        )

    def __repr__(self) -> str:
        size = f"{len(self.queries)}×{counted(len(self.keys), 'token')}"
        return f"KeyBiplot({self.model_name}, {self.head}, {size}, {self.explained:.0%} explained)"


@in_plain_torch
@says_cuts
def key_biplot(
    attention: Attention | Sequence[Attention],
    layer: int | HeadName,
    head: int | None = None,
    *,
    stack: str | None = None,
) -> KeyBiplot:
    """Place the queries and keys of a head in the plane that shows its scores best.

    Args:
        attention: Attention of one input, or of many inputs of the same model. With many inputs,
            all of them share the plane, and the mean key is over all inputs.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        stack: Stack of layers, if there are several.

    Raises:
        ValueError: If there is no such head or no input, the inputs come from different models, or
            only the weights of the layer are known.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import key_biplot
        >>> plot = key_biplot(load_model(device="cpu").attend("The cat sat."), 2, 8)
        >>> plot.queries.shape, 0 < plot.explained <= 1
        ((6, 2), True)
    """
    attentions = list(attention) if isinstance(attention, Sequence) else [attention]
    if not attentions:
        raise ValueError("there is no input: pass an attention, or a list of at least one")
    for each_attention in attentions:
        refuse_no_attention(each_attention)
    names = list(dict.fromkeys(each_attention.model_name for each_attention in attentions))
    if len(names) > 1:
        raise ValueError(
            f"queries and keys of different models have no common plane: {', '.join(names)}"
        )
    named_head = head_at(attentions[0], layer, head, stack)
    parts = [
        each_attention.score_parts(each_attention.head(named_head)) for each_attention in attentions
    ]
    axes = [each_attention.stacks[named_head.stack] for each_attention in attentions]
    queries, keys, values = score_plane(
        torch.cat([part.query for part in parts]),
        torch.cat([part.key for part in parts]),
        parts[0].scaling,
    )
    squares = values.square()
    total = float(squares.sum())
    counts = [len(part.query) for part in parts], [len(part.key) for part in parts]
    inputs = [np.repeat(np.arange(len(side)), side) for side in counts]
    indices = [np.concatenate([np.arange(count) for count in side]) for side in counts]
    return KeyBiplot(
        head=named_head,
        queries=queries.numpy(),
        keys=keys.numpy(),
        query_tokens=tuple(token for axis in axes for token in axis.query.text),
        key_tokens=tuple(token for axis in axes for token in axis.key.text),
        query_inputs=inputs[0],
        key_inputs=inputs[1],
        query_places=indices[0],
        key_places=indices[1],
        singular_values=values.numpy(),
        explained=float(squares[:2].sum()) / total if total else 1.0,
        model_name=names[0],
    )


def score_plane(query: Tensor, key: Tensor, scaling: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return points of queries and keys whose inner products approximate the scores best.

    A constant for each query leaves the softmax unchanged, so the mean key is subtracted first. The
    points are the best rank-2 approximation of scaling * query (key - mean)^T in the least-squares
    sense (Gabriel 1971). Signs are fixed: the key farthest along an axis is on its positive side.

    Args:
        query: Query vectors, [Q, D].
        key: Key vectors, [K, D].
        scaling: Factor of the scores.

    Returns:
        Points of the queries [Q, 2], points of the keys [K, 2], and the singular values of the
        centered scores, largest first.

    Example:
        >>> import torch
        >>> query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> key = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
        >>> queries, keys, values = score_plane(query, key, 1.0)
        >>> scores = query @ (key - key.mean(0)).T
        >>> torch.allclose((queries @ keys.T).float(), scores, atol=1e-6)
        True
    """
    query, key = query.double(), key.double()
    # A product of tall matrices has the singular values of the product of their small factors.
    left = torch.linalg.qr(scaling * query)
    right = torch.linalg.qr(key - key.mean(0))
    u, values, vh = torch.linalg.svd(left.R @ right.R.T)
    pad = max(0, 2 - len(values))
    roots = torch.nn.functional.pad(values, (0, pad))[:2].sqrt()
    queries = torch.nn.functional.pad(left.Q @ u[:, :2], (0, pad)) * roots
    keys = torch.nn.functional.pad(right.Q @ vh[:2].T, (0, pad)) * roots
    farthest = keys.gather(0, keys.abs().argmax(0, keepdim=True))
    signs = torch.ones_like(farthest).masked_fill(farthest < 0, -1.0)
    return queries * signs, keys * signs, values
