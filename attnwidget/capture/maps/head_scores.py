"""The scores of one head before the softmax: products, soft cap, bias and mask apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.products import ScoreParts


@dataclass(frozen=True, eq=False, repr=False)
class HeadScores(Result):
    """The scores of one head, of which the softmax over keys gives the weights.

    Attributes:
        head: The head.
        query_tokens: The Q attending tokens.
        key_tokens: The K attended tokens.
        model_name: The model.
        products: float64 [Q, K], query . key times the scaling of the model.
        softcap: The products are bounded by softcap * tanh(products / softcap); None = no bound.
        bias: float64 [Q, K] added to the bounded products (relative positions, ALiBi); 0 without
            one, and where the mask hides the key.
        visible: Bool [Q, K], whether the mask lets the query see the key.
        sink: Score of the attention sink of the head, a key without a token; None = no sink.

    Example:
        >>> from attnwidget import load_model
        >>> scores = load_model().attend("The cat sat.").scores(2, 8)
        >>> str(scores.head), scores.products.shape
        ('L2 H8', (6, 6))
        >>> scores.weights().sum(1).round(2)
        array([1., 1., 1., 1., 1., 1.])
    """

    head: Head
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    products: Float64Array
    softcap: float | None
    bias: Float64Array
    visible: NDArray[np.bool_]
    sink: float | None

    @property
    def scores(self) -> Float64Array:
        """Bounded products plus bias, [Q, K]; -inf where the mask hides the key."""
        bounded = self.products
        if self.softcap is not None:
            bounded = self.softcap * np.tanh(self.products / self.softcap)
        return np.where(self.visible, bounded + self.bias, -np.inf)

    def weights(self) -> Float64Array:
        """Return the softmax of the scores, [Q, K]: the weights of the head.

        Rows of queries that see no key are NaN: implementations disagree about their weights.
        """
        scores = self.scores
        top = scores.max(-1, keepdims=True)
        top = top if self.sink is None else np.maximum(top, self.sink)
        with np.errstate(invalid="ignore"):
            powers = np.exp(scores - top)
        total = powers.sum(-1, keepdims=True)
        if self.sink is not None:
            total = total + np.exp(self.sink - top)
        weights: Float64Array = powers / total
        return weights

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: query, key, both tokens, product, bias, visible and score.

        `attrs` has the "model" and the "head".
        """
        import pandas as pd

        query, key = (places.ravel() for places in np.indices(self.products.shape))
        columns: dict[str, Any] = {
            "query": query,
            "key": key,
            "query_token": np.array(self.query_tokens, dtype=object)[query],
            "key_token": np.array(self.key_tokens, dtype=object)[key],
            "product": self.products.ravel(),
            "bias": self.bias.ravel(),
            "visible": self.visible.ravel(),
            "score": self.scores.ravel(),
        }
        frame = pd.DataFrame(columns)
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.Chart:
        """The scores that the mask does not hide, as a heat map that diverges from 0.

        Args:
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.signed_heatmap import signed_heatmap

        scores = self.scores
        return signed_heatmap(
            np.where(np.isneginf(scores), np.nan, scores),
            self.query_tokens,
            self.key_tokens,
            title=f"Scores before the softmax, {self.head}\n{self.model_name}",
            value_title="score",
            row_title="attending token",
            column_title="attended token",
            width=width,
        )

    def __repr__(self) -> str:
        parts = ["products"]
        parts += ["soft cap"] if self.softcap is not None else []
        parts += ["bias"] if self.bias.any() else []
        parts += ["mask"] if not self.visible.all() else []
        parts += ["sink"] if self.sink is not None else []
        size = f"{len(self.query_tokens)}×{counted(len(self.key_tokens), 'token')}"
        return f"HeadScores({self.model_name}, {self.head}, {size}: {', '.join(parts)})"


def head_scores(head: Head, stack: Stack, parts: ScoreParts, model_name: str) -> HeadScores:
    """Return the scores of a head from their parts.

    Args:
        head: The head.
        stack: Its stack, with the tokens.
        parts: Of all queries and keys.
        model_name: The model.
    """
    size = len(stack.query), len(stack.key)
    return HeadScores(
        head=head,
        query_tokens=tuple(stack.query.text),
        key_tokens=tuple(stack.key.text),
        model_name=model_name,
        products=parts.products().numpy(),
        softcap=parts.softcap,
        bias=np.zeros(size) if parts.bias is None else parts.bias.numpy(),
        visible=np.ones(size, bool) if parts.visible is None else parts.visible.numpy(),
        sink=parts.sink,
    )
