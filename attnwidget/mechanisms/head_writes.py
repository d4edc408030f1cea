"""Output of a head at a token, split by the tokens that the head reads."""

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
    """Output of a head at a token. Made by `head_writes`.

    `vectors` of all heads of a layer and one `bias` sum to `layer_output`.

    Attributes:
        head: Head that writes.
        position: Index of the attending token, from 0.
        query: Text of the attending token.
        tokens: Texts of the K tokens that the head reads.
        weights: Attention weights, float64 [K].
        vectors: Vectors a_j u_j W_O for each token, float64 [K, d]; u_j is the value without its
            bias.
        bias: Constant that the layer adds for any attention, float64 [d]: the bias of the values of
            all heads through the output projection, and the bias of the output projection.
        layer_output: Output of the layer's attention at the token, float64 [d].
        note: Reason why the bias of the values is part of `vectors`, or "".
        model_name: Name of the model.

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
        """Output of the head, [d]: the sum of `vectors`."""
        return self.vectors.sum(0)

    @property
    def norms(self) -> Float64Array:
        """Norm of the vector of each token, [K]."""
        return np.linalg.norm(self.vectors, axis=-1)

    @property
    def shares(self) -> Float64Array:
        """Share of each token in the output of the head, [K]; the shares sum to 1.

        A share is the projection of the token's vector onto the whole output, divided by the norm
        of the output. It is negative if the vector points against the output.
        """
        output = self.written
        return self.vectors @ output / _square(output)

    @property
    def layer_share(self) -> float:
        """Share of the head in the output of its layer's heads; the shares sum to 1."""
        heads_output = self.layer_output - self.bias
        return float(self.written @ heads_output / _square(heads_output))

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
        """Draw a bar for the share of each token, with a stroke at its weight.

        The chart displays without network access.

        Args:
            width: Width of the whole figure in pixels.
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
    """Split the output of a head at a token by the tokens that the head reads.

    The output of a head is the sum over tokens j of a_j v_j W_O (Elhage et al. 2021; Kobayashi et
    al. 2020, equation 4). The weights of a query sum to 1, so the bias of the values adds the same
    vector for any attention. It is counted once, as a bias of the layer; otherwise, a token that
    serves as attention sink would seem to contribute. The model processes the input again, in one
    forward pass.

    Args:
        attention: Attention of one input, from a model.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        position: Attending token: its index from 0, a word that occurs once, or ("he", 2) for the
            second "he". None = the last token.
        stack: Stack of the layer, only needed if there are several.

    Raises:
        ValueError: If there is no such layer, head, stack or token; if the attention comes from
            given weights, edits or a long input; if there is padding; if the attention output is
            not linear in the values; or if a projection is quantized. The message gives the reason.
        RuntimeError: If the weights of the model have changed since.

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
    selected_head = head_at(attention, layer, head, stack)
    axes = attention.stacks[selected_head.stack]
    reading = whole_reading_of(attention, "what a head writes")
    n_query = len(axes.query)
    index = n_query - 1 if position is None else place_of_token("position", position, axes.query)
    with reading.model.lock.in_turn():
        heads = heads_at_token(reading, index, selected_head.layer, axes.name)
    with torch.no_grad():
        vectors = heads.of_source(selected_head.head).cpu().numpy()
        bias = heads.bias.cpu().numpy()
    return HeadWrites(
        head=selected_head,
        position=index,
        query=axes.query.text[index],
        tokens=tuple(axes.key.text),
        weights=heads.weights[selected_head.head].cpu().numpy(),
        vectors=vectors,
        bias=bias,
        layer_output=heads.output.cpu().numpy(),
        note=heads.note,
        model_name=attention.model_name,
    )


def _square(vector: Float64Array) -> float:
    """Return the squared norm; 1 for a vector of zeros, whose parts are also zero."""
    return float(vector @ vector) or 1.0
