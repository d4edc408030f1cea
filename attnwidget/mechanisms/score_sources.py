"""Contributions to a score from each writer of its query and each writer of its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, takes_head
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.score_parts import source_products
from attnwidget.mechanisms.checked_places import head_at
from attnwidget.mechanisms.input_positions import input_places
from attnwidget.mechanisms.residual_stream import Shares, stream_of
from attnwidget.mechanisms.stream_records import Writer
from attnwidget.text.place_of_token import TokenName, place_of_token
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention

# Tolerance for rounding errors between the sum of the parts and a query or key.
_ROUNDING = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class ScoreSources(Result):
    """A score, or a score difference, split by the writers of its query and of its key.

    Attributes:
        head: Head that attends.
        query, key, versus: Indices of the query, the key and the rival key; `versus` is None for
            the score itself.
        tokens: Texts of these tokens.
        query_writers: Writers of the query (Wq).
        key_writers: Writers of the key (Wk).
        matrix: Contribution of each pair of writers, float64 [Wq, Wk]; the sum is `total`.
        total: Product scaling * query . key, minus the product of the rival key, before soft cap,
            bias and mask.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import score_sources
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> sources = score_sources(attention, 1, 3, query=2, key=1)
        >>> sources.tokens, sources.matrix.shape
        (('cat', 'the'), (17, 17))
        >>> bool(abs(sources.matrix.sum() - sources.total) < 1e-4)
        True
    """

    head: Head
    query: int
    key: int
    versus: int | None
    tokens: tuple[str, ...]
    query_writers: tuple[Writer, ...]
    key_writers: tuple[Writer, ...]
    matrix: NDArray[np.float64]
    total: float

    def strongest(self, count: int = 10) -> list[tuple[Writer, Writer, float]]:
        """Return the pairs with the largest contributions: writer of the query, of the key, value.

        Raises:
            ValueError: If `count` is below 1.
        """
        count = whole_number("count", count, 1, "pair")
        order = np.argsort(-np.abs(self.matrix), axis=None, kind="stable")[:count]
        pairs = zip(*np.unravel_index(order, self.matrix.shape), strict=True)
        return [
            (self.query_writers[q], self.key_writers[k], float(self.matrix[q, k])) for q, k in pairs
        ]

    def by_query_writer(self) -> dict[Writer, float]:
        """Return the contribution of each writer of the query, summed over writers of the key."""
        return dict(zip(self.query_writers, self.matrix.sum(1).tolist(), strict=True))

    def by_key_writer(self) -> dict[Writer, float]:
        """Return the contribution of each writer of the key, summed over writers of the query."""
        return dict(zip(self.key_writers, self.matrix.sum(0).tolist(), strict=True))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair, largest contribution first: query_writer, key_writer, value.

        `attrs` has the "model" and the "head".
        """
        import pandas as pd

        rows = [(str(q), str(k), value) for q, k, value in self.strongest(self.matrix.size)]
        frame = pd.DataFrame(rows, columns=["query_writer", "key_writer", "value"])
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.Chart:
        """Draw the matrix as a heat map that diverges from 0.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.signed_heatmap import signed_heatmap

        return signed_heatmap(
            self.matrix,
            [str(writer) for writer in self.query_writers],
            [str(writer) for writer in self.key_writers],
            title=f"Who made the link {self._link()}, {self.head}\n{self.model_name}; "
            f"sum {self.total:+.3f}",
            value_title="part of the score" if self.versus is None else "part of the difference",
            row_title="writer of the query",
            column_title="writer of the key",
            width=width,
        )

    def _link(self) -> str:
        query, key, *rival = self.tokens
        return f"{query!r} → {key!r}" + (f" against {rival[0]!r}" if rival else "")

    def __repr__(self) -> str:
        pairs = ", ".join(f"{q} × {k} {value:+.3f}" for q, k, value in self.strongest(3))
        size = f"{len(self.query_writers)}×{len(self.key_writers)} writers"
        return (
            f"ScoreSources({self.model_name}, {self.head}, {self._link()}, {size}: {pairs}, … = "
            f"{self.total:+.3f})"
        )


@overload
def score_sources(
    attention: Attention,
    head: HeadName,
    query: TokenName,
    key: TokenName,
    versus: TokenName | None = None,
    *,
    stack: str | None = None,
) -> ScoreSources: ...


@overload
def score_sources(
    attention: Attention,
    layer: int,
    head: int,
    query: TokenName,
    key: TokenName,
    versus: TokenName | None = None,
    *,
    stack: str | None = None,
) -> ScoreSources: ...


@in_plain_torch
@says_cuts
@takes_head
def score_sources(
    attention: Attention,
    layer: int | HeadName,
    head: int | None,
    query: TokenName,
    key: TokenName,
    versus: TokenName | None = None,
    *,
    stack: str | None = None,
) -> ScoreSources:
    """Split a score over all pairs of a writer of the query and a writer of the key.

    Queries and keys are linear in the residual stream once the norms are frozen, and the stream is
    the sum of embeddings, positions, heads, MLPs and biases. The score is therefore a sum over
    pairs of writers. In models with a norm after each block (BERT), the norms of all lower layers
    are frozen too. The model runs once to record the writers of an input, and once with each
    writer.

    Args:
        attention: Attention of one input, made by a model outside of `disabled`.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        query: Attending token: its index, a word that occurs once, or ("he", 2) for the second
            "he".
        key: Attended token, in the same forms.
        versus: Rival key, whose score is subtracted; None = the score itself.
        stack: Stack of layers, if there are several.

    Raises:
        ValueError: If there is no such head or token; if only the weights of the layer are known;
            or if the model has no exact sources: quantized weights, 16-bit weights, or blocks that
            are not linear in the residual stream.
        RuntimeError: If the model was closed, or its weights have changed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import score_sources
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> sources = score_sources(attention, 1, 3, query=2, key=1)
        >>> bool(abs(sources.matrix.sum() - attention.scores(1, 3).products[2, 1]) < 1e-4)
        True
    """
    named_head = head_at(attention, layer, head, stack)
    axes = attention.stacks[named_head.stack]
    query = place_of_token("query", query, axes.query)
    keys = [place_of_token("key", key, axes.key)]
    if versus is not None:
        keys.append(place_of_token("versus", versus, axes.key))
    parts = attention.score_parts(named_head, [query], keys)
    stream = stream_of(attention)
    query_indices, key_indices = input_places(attention, named_head.stack)
    state_indices = [query_indices[query]], [key_indices[index] for index in keys]
    assert attention.reading is not None
    with attention.reading.model.lock.in_turn():
        if named_head.stack == "cross":
            shares = stream.at_attention(named_head.layer, named_head.stack)
        else:
            shares = stream.at_attention(
                named_head.layer, named_head.stack, [*state_indices[0], *state_indices[1]]
            )
            state_indices = [0], list(range(1, 1 + len(keys)))
    n_key_heads = shares.parts["key"].shape[1]
    key_head = named_head.head // (axes.n_heads // n_key_heads)
    query_parts = shares.parts["query"][:, named_head.head, state_indices[0][0]].cpu().double()
    key_parts = shares.parts["key"][:, key_head, state_indices[1]].cpu().double()  # [W, keys, D]
    _check(query_parts.sum(0), parts.query[0], attention)
    _check(key_parts.sum(0), parts.key, attention)
    ends = key_parts[:, 0] if versus is None else key_parts[:, 0] - key_parts[:, 1]
    matrix = source_products(query_parts, ends, parts.scaling)
    rows, columns = _not_zero(shares, query_parts), _not_zero(shares, ends)
    tokens = [axes.query.text[query], *(axes.key.text[index] for index in keys)]
    return ScoreSources(
        head=named_head,
        query=query,
        key=keys[0],
        versus=None if versus is None else keys[1],
        tokens=tuple(tokens),
        query_writers=tuple(shares.writers[index] for index in rows),
        key_writers=tuple(shares.writers[index] for index in columns),
        matrix=matrix[rows][:, columns].numpy(),
        total=float(matrix.sum()),
        model_name=attention.model_name,
    )


def _check(summed: Tensor, whole: Tensor, attention: Attention) -> None:
    """Refuse parts that do not sum to the query or key that the model computed."""
    tolerance = _ROUNDING * max(float(whole.abs().max()), 1e-6)
    if not float((summed - whole).abs().max()) <= tolerance:
        raise ValueError(
            f"the parts of queries and keys do not sum to those of {attention.model_name}: its "
            "blocks are not linear in the residual stream, so that a score has no exact sources"
        )


def _not_zero(shares: Shares, parts: Tensor) -> list[int]:
    """Return the indices of writers that reach a query or key; the biases always count."""
    is_reached = (parts != 0).any(-1)
    is_reached[len(shares.writers) - 1] = True
    return torch.nonzero(is_reached)[:, 0].tolist()
