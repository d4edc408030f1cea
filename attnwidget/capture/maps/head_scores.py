"""Scores of one head before the softmax, as products, soft cap, bias and mask."""

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
    """The scores of one head; their softmax over keys gives the weights.

    Attributes:
        head: Head of the scores.
        query_tokens: The Q attending tokens.
        key_tokens: The K attended tokens.
        model_name: Name of the model.
        products: Products query . key times the scaling of the model, float64 [Q, K].
        softcap: Bound of the products, softcap * tanh(products / softcap); None for no bound.
        bias: Bias added to the bounded products (relative positions, ALiBi), float64 [Q, K]; 0 if
            there is none, and where the mask hides the key.
        visible: Whether the mask lets the query see the key, bool [Q, K].
        sink: Score of the head's attention sink, a key without a token; None for no sink.

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
        bounded_products = self.products
        if self.softcap is not None:
            bounded_products = self.softcap * np.tanh(self.products / self.softcap)
        return np.where(self.visible, bounded_products + self.bias, -np.inf)

    def weights(self) -> Float64Array:
        """Return the softmax of the scores, [Q, K], which are the head's weights.

        Rows of queries that see no key are NaN, because implementations disagree about them.
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
        """Return a table with one row per pair of tokens.

        Columns: query, key, query_token, key_token, product, bias, visible, score. `attrs` has the
        "model" and the "head".
        """
        import pandas as pd

        query, key = (indices.ravel() for indices in np.indices(self.products.shape))
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
        """Draw a heat map of the scores that the mask does not hide, with a color scale around 0.

        Args:
            width: Width of the whole figure, in pixels.
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
        head: Head of the scores.
        stack: Stack of the head, with the tokens.
        parts: Score parts for all queries and keys.
        model_name: Name of the model.
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
