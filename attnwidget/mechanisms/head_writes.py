"""The output of a head at a token, split by the tokens that the head reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import whole_reading_of
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.checked_places import head_at
from attnwidget.mechanisms.heads_at_token import heads_at_token
from attnwidget.text.place_of_token import TokenName, place_of_token

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class HeadWrites(Result):
    """The output of a head at a token. Made by `head_writes`.

    `vectors` of all heads of a layer and one `bias` sum to `layer_output`.

    Attributes:
        head: The head.
        position: The token that attends, from 0.
        query: The text of that token.
        tokens: The K tokens that the head reads.
        weights: Attention weights, float64 [K].
        vectors: a_j u_j W_O for each token, float64 [K, d]: u_j is the value without its bias.
        bias: What the layer adds whatever its heads attend to, float64 [d]: the bias of the values
            of all heads through the output projection, and the bias of the output projection.
        layer_output: The output of the layer's attention at the token, float64 [d].
        note: "", or why the bias of the values is part of `vectors`.
        model_name: The model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import head_writes
        >>> attention = load_model(device="cpu").attend("The cat sat on the mat.")
        >>> writes = head_writes(attention, 2, 8, position=2)
        >>> writes.query, writes.vectors.shape
        ('cat', (9, 240))
    """

    head: Head
    position: int
    query: str
    tokens: tuple[str, ...]
    weights: Float64Array
    vectors: Float64Array
    bias: Float64Array
    layer_output: Float64Array

    @property
    def written(self) -> Float64Array:
        """What the head writes, [d]: the sum of `vectors`."""
        return self.vectors.sum(0)

    @property
    def norms(self) -> Float64Array:
        """The length of the vector of each token, [K]."""
        return np.linalg.norm(self.vectors, axis=-1)

    @property
    def shares(self) -> Float64Array:
        """The share of each token in what the head writes, [K]; the shares sum to 1.

        A share is the vector of the token along the whole vector, divided by the length of the
        whole vector. It is negative where a token writes against the others.
        """
        written = self.written
        return self.vectors @ written / _square(written)

    @property
    def layer_share(self) -> float:
        """The share of the head in what the heads of its layer write; the shares sum to 1."""
        of_heads = self.layer_output - self.bias
        return float(self.written @ of_heads / _square(of_heads))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per token that the head reads.

        Columns: key, token, weight, norm, share. `attrs` has the "model", the "head", the
        "position" and the "layer_share".
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "key": np.arange(len(self.tokens)),
                "token": self.tokens,
                "weight": self.weights,
                "norm": self.norms,
                "share": self.shares,
            }
        )
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        frame.attrs |= {"position": self.position, "layer_share": self.layer_share}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """A bar for the share of each token, a stroke at its weight; displays without network.

        Args:
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.signed_bars import signed_bars

        frame = self.to_frame().rename(columns={"token": "part", "share": "value"})
        return signed_bars(
            frame.assign(stroke=self.weights),
            title=f"What {self.head} writes at {self.position}: {self.query}\n{self.model_name}; "
            f"{self.layer_share:.0%} of what the heads of the layer write",
            value_title="share of what the head writes; stroke: weight",
            stroke_title="weight",
            width=width,
        )

    def __repr__(self) -> str:
        strongest = [
            f"{self.tokens[i]} {self.shares[i]:+.2f}"
            for i in np.argsort(-np.abs(self.shares), kind="stable")[:3]
        ]
        return (
            f"HeadWrites({self.model_name}, {self.head} at {self.position}: {self.query!r}, "
            f"{', '.join(strongest)})"
        )


@in_plain_torch
@says_cuts
def head_writes(
    attention: Attention,
    layer: int | HeadName,
    head: int | None = None,
    *,
    position: TokenName | None = None,
    stack: str | None = None,
) -> HeadWrites:
    """Split what a head writes at a token by the tokens that the head reads.

    The output of a head is the sum over tokens j of a_j v_j W_O (Elhage et al. 2021; Kobayashi et
    al. 2020, equation 4). The weights of a query sum to 1, so the bias of the values adds the same
    vector whatever the head attends to. It is counted once, as a bias of the layer; otherwise a
    token that serves as attention sink would seem to write. The model reads the input again, in one
    forward pass.

    Args:
        attention: The attention of one input, of a model.
        layer: The layer, or the name of the head in place of layer and head: "L1 H3", (1, 3) or a
            `Head`.
        head: The head, from 0.
        position: The token that attends: its number from 0, a word that occurs once, or ("he", 2)
            for the second "he". None = the last token.
        stack: The stack of the layer, needed only if there are several.

    Raises:
        ValueError: No such layer, head, stack or token; attention of given weights, under edits or
            of a long input; padding; an attention output that is not linear in the values; a
            quantized projection. The message has the reason.
        RuntimeError: The weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import head_writes
        >>> attention = load_model(device="cpu").attend("The cat sat on the mat.")
        >>> writes = head_writes(attention, 2, 8, position=2)
        >>> writes.vectors.shape
        (9, 240)
        >>> round(float(writes.shares.sum()), 6)
        1.0
    """
    chosen = head_at(attention, layer, head, stack)
    axes = attention.stacks[chosen.stack]
    reading = whole_reading_of(attention, "what a head writes")
    n_query = len(axes.query)
    place = n_query - 1 if position is None else place_of_token("position", position, axes.query)
    with reading.model.lock.in_turn():
        at = heads_at_token(reading, place, chosen.layer, axes.name)
    with torch.no_grad():
        vectors = at.of_source(chosen.head).cpu().numpy()
        bias = at.bias.cpu().numpy()
    return HeadWrites(
        head=chosen,
        position=place,
        query=axes.query.text[place],
        tokens=tuple(axes.key.text),
        weights=at.weights[chosen.head].cpu().numpy(),
        vectors=vectors,
        bias=bias,
        layer_output=at.output.cpu().numpy(),
        note=at.note,
        model_name=attention.model_name,
    )


def _square(vector: Float64Array) -> float:
    """The squared length, and 1 for a vector of zeros, whose parts are zero too."""
    return float(vector @ vector) or 1.0
