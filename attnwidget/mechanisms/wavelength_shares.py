"""Share of each position encoding wavelength in a head's score variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.rotary import pair_products
from attnwidget.kernels.score_parts import variance_shares
from attnwidget.mechanisms.rotations import known_rotation, turn_name

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention

# Number of score cells per head that are in memory at once.
_CELLS = 32 * 1024 * 1024


@dataclass(frozen=True, eq=False, repr=False)
class WavelengthShares(HeadResult):
    """Shares of the variance of row-centered scores, by rotary wavelength, content and bias.

    A share is the covariance of a part with the scores, divided by the variance of the scores.
    Shares sum to 1. A part that lowers the variance has a negative share. Scores are taken before
    any soft cap.

    Attributes:
        layer: Number of the layer.
        stack: Name of the stack.
        periods: Number of tokens in a full turn of each pair of dimensions, float64 [F], shortest
            first.
        shares: Share of each pair, float64 [H, F].
        content: Share of dimensions that do not rotate, float64 [H].
        bias: Share of the bias, float64 [H].
        n_layers: Number of layers of the stack.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import wavelength_shares
        >>> found = wavelength_shares(load_model("attnwidget/induction").attend("The cat sat."), 0)
        >>> found.shares.shape, found.shares.sum(1).round(2)
        ((4, 8), array([1., 1., 1., 1.]))
    """

    layer: int
    stack: str
    periods: NDArray[np.float64]
    shares: NDArray[np.float64]
    content: NDArray[np.float64]
    bias: NDArray[np.float64]
    n_layers: int

    def parts(self) -> dict[str, NDArray[np.float64]]:
        """Return the shares [H] of wavelength bands (a factor of 10 each), content and bias."""
        bands: dict[str, NDArray[np.float64]] = {}
        for period, share in zip(self.periods, self.shares.T, strict=True):
            name = _band(float(period))
            bands[name] = bands.get(name, np.zeros(len(share))) + share
        if not len(self.periods) or np.abs(self.content).max() > 1e-9:
            bands["content"] = self.content
        if self.bias.any():
            bands["bias"] = self.bias
        return bands

    def heads(self) -> HeadMetrics:
        """Return the share of each part, NaN in all other layers: float64 [L, H] by title."""
        metrics = {}
        for name, share in self.parts().items():
            values = np.full((self.n_layers, len(share)), np.nan)
            values[self.layer] = share
            metrics[f"share of {name}"] = values
        return metrics

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and part: layer, head, part, period, value.

        `attrs` has the "model".
        """
        import pandas as pd

        rows = []
        for head in range(len(self.shares)):
            for period, value in zip(self.periods, self.shares[head], strict=True):
                rows.append((self.layer, head, turn_name(period), period, value))
            rows.append((self.layer, head, "content", math.nan, self.content[head]))
            rows.append((self.layer, head, "bias", math.nan, self.bias[head]))
        return pd.DataFrame(rows, columns=["layer", "head", "part", "period", "value"])

    def chart(self, *, width: int = 640) -> alt.Chart:
        """Draw a bar for each head, split by bands of wavelengths.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.share_bars import share_bars

        rows = [
            (self.layer, head, name, float(value))
            for head in range(len(self.shares))
            for name, values in self.parts().items()
            if not math.isnan(value := values[head])
        ]
        return share_bars(
            pd.DataFrame(rows, columns=["layer", "head", "part", "value"]),
            title=f"Variance of scores by wavelength, L{self.layer}\n{self.model_name}; "
            "scores centered within each query; shares sum to 1",
            value_title="share of variance",
            width=width,
        )

    def __repr__(self) -> str:
        return (
            f"WavelengthShares({self.model_name}, L{self.layer}, {len(self.shares)} heads: "
            f"{', '.join(self.parts())})"
        )


@in_plain_torch
@says_cuts
def wavelength_shares(
    attention: Attention, layer: int, *, stack: str | None = None
) -> WavelengthShares:
    """Return the share of each rotary wavelength in the score variance of a layer's heads.

    Heads with fixed offsets use short wavelengths, and content heads use long wavelengths (Barbero
    et al. 2024).

    Args:
        attention: Attention of one input, made by a model outside of `disabled`.
        layer: Number of the layer.
        stack: Stack of layers, if there are several.

    Raises:
        ValueError: If there is no such layer, only its weights are known, or positions rotate
            queries and keys in an unknown way.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import wavelength_shares
        >>> tokenizer = load_model().tokenizer
        >>> config = LlamaConfig(
        ...     vocab_size=len(tokenizer), hidden_size=32, intermediate_size=32,
        ...     num_hidden_layers=1, num_attention_heads=2,
        ... )
        >>> attention = load_model(LlamaForCausalLM(config), tokenizer).attend("The cat sat.")
        >>> found = wavelength_shares(attention, 0)
        >>> found.shares.shape, found.shares.sum(1).round(4)
        ((2, 8), array([1., 1.]))
    """
    refuse_no_attention(attention)
    named_head = attention.head((layer, 0) if stack is None else (layer, 0, stack))
    axes = attention.stacks[named_head.stack]
    rotation = known_rotation(attention, named_head)
    if rotation.why_not:
        raise ValueError(f"{rotation.why_not}: there are no wavelengths")
    order = torch.argsort(rotation.frequencies.abs(), descending=True)
    pairs = rotation.pairs[order]
    shares = []
    for head in range(axes.n_heads):
        parts = attention.score_parts(named_head._replace(head=head))
        step = max(1, _CELLS // (len(parts.query) * len(parts.key)))
        wave_shares: list[torch.Tensor] = []
        product_sum = parts.products()
        rest = product_sum.clone()
        bias = torch.zeros_like(rest) if parts.bias is None else parts.bias
        query, key = parts.query[:, None], parts.key[None]
        for first in range(0, len(pairs), step):
            chunk = pairs[first : first + step]
            products = parts.scaling * pair_products(query, key, chunk).real.movedim(-1, 0)
            rest -= products.sum(0)
            wave_shares.append(variance_shares(products, product_sum + bias, parts.visible))
        other_shares = variance_shares(torch.stack([rest, bias]), product_sum + bias, parts.visible)
        shares.append(torch.cat([*wave_shares, other_shares]))
    stacked = torch.stack(shares).numpy()
    n_pairs = len(pairs)
    return WavelengthShares(
        layer=named_head.layer,
        stack=named_head.stack,
        periods=rotation.periods[order.numpy()],
        shares=stacked[:, :n_pairs],
        content=stacked[:, n_pairs],
        bias=stacked[:, n_pairs + 1],
        n_layers=axes.n_layers,
        model_name=attention.model_name,
    )


def _band(period: float) -> str:
    """Return the name of a wavelength band, which spans a factor of 10."""
    if not math.isfinite(period):
        return "pairs at rest"
    power = math.floor(math.log10(period))
    return f"{10**power:,} to {10 ** (power + 1):,} tokens"
