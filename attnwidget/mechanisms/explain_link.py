"""Parts of the score difference that makes a head attend to one token more than to a rival."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, takes_head
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.score_parts import capped
from attnwidget.mechanisms.bias_by_offset import bias_name
from attnwidget.mechanisms.checked_places import head_at, refuse_hidden
from attnwidget.mechanisms.rotations import known_rotation, turn_name
from attnwidget.text.place_of_token import TokenName, place_of_token

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention

# Number of bars in the figure.
_BARS = 16


@dataclass(frozen=True, eq=False, repr=False)
class LinkExplanation(Result):
    """Parts of the log weight ratio of a key and a rival key: log a_ij - log a_ij'.

    `wavelengths` + `content` + `softcap` + `bias` sum to `total`. A hidden key cannot be the rival,
    so the mask has no part. Single dimensions have no parts: a rotation of all queries and keys of
    a head changes no weight, but the product in every dimension.

    Attributes:
        head: Head that was explained.
        query, key, versus: Indices of the query, the key and the rival key.
        tokens: Texts of these tokens.
        weights: Weights of the key and of the rival key.
        pairs: Pairs of dimensions that the rotary encoding rotates together, int64 [F, 2]; F = 0
            without rotary encoding.
        periods: Number of tokens in a full turn of each pair, float64 [F]; infinite for a pair that
            does not rotate.
        wavelengths: Product scaling * q_f . (k_f - k'_f) of each pair f, float64 [F].
        content: Product of all dimensions that do not rotate.
        has_content: Whether there are such dimensions.
        bias: Difference between the biases of both keys.
        bias_kind: Kind of the bias: "ALiBi", "relative positions", "bias", or "" without a bias.
        softcap: Change of the difference that the soft cap causes.
        total: Difference between the scores.
        log_ratio: Difference log a_ij - log a_ij' of the model's own weights in float32.
        model_name: Name of the model.
        note: Reason why the wavelengths are unknown; "" if they are known, or if nothing rotates.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import explain_link
        >>> attention = load_model(device="cpu").attend("The cat sat on the mat.")
        >>> found = explain_link(attention, 2, 8, query=2, key=3, versus=1)
        >>> found.tokens, list(found.parts())
        (('cat', 'sat', 'the'), ['content'])
    """

    head: Head
    query: int
    key: int
    versus: int
    tokens: tuple[str, str, str]
    weights: tuple[float, float]
    pairs: NDArray[np.int64]
    periods: NDArray[np.float64]
    wavelengths: NDArray[np.float64]
    content: float
    has_content: bool
    bias: float
    bias_kind: str
    softcap: float
    total: float
    log_ratio: float

    def parts(self) -> dict[str, float]:
        """Return the parts by wavelength, the content, the bias and the soft cap, if they exist."""
        parts = {
            turn_name(period) if math.isfinite(period) else "pairs at rest": 0.0
            for period in self.periods
        }
        for period, value in zip(self.periods, self.wavelengths, strict=True):
            is_resting = not math.isfinite(period)
            parts["pairs at rest" if is_resting else turn_name(period)] += value
        if self.has_content:
            parts["content"] = self.content
        return parts | dict(self.others())

    def others(self) -> Iterator[tuple[str, float]]:
        """Yield the name and value of the bias and of the soft cap, if the model has them."""
        if self.bias_kind:
            yield self.bias_kind, self.bias
        if self.softcap:
            yield "soft cap", self.softcap

    def to_frame(self) -> pd.DataFrame:
        """Return one row per part: kind, part, dimensions, period, value.

        Kinds are "wavelength", "content", "bias", "soft cap" and "total". `attrs` has the "model"
        and the "head".
        """
        import pandas as pd

        rows: list[tuple[str, str, str, float, float]] = []
        waves = zip(self.pairs, self.periods, self.wavelengths, strict=True)
        for (first, second), period, value in waves:
            name = turn_name(period)
            rows.append(("wavelength", name, f"{first} {second}", float(period), float(value)))
        rows.append(("content", "content", "", math.nan, self.content))
        if self.bias_kind:
            rows.append(("bias", self.bias_kind, "", math.nan, self.bias))
        if self.softcap:
            rows.append(("soft cap", "soft cap", "", math.nan, self.softcap))
        rows.append(("total", "total", "", math.nan, self.total))
        frame = pd.DataFrame(rows, columns=["kind", "part", "dimensions", "period", "value"])
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the largest parts as sorted bars, and the sum of the others.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.signed_bars import signed_bars

        parts = sorted(self.parts().items(), key=lambda part: -abs(part[1]))
        bars = parts[:_BARS]
        if rest := parts[_BARS:]:
            bars.append((f"{len(rest)} others", sum(value for _, value in rest)))
        bars.append(("sum", self.total))
        query, key, versus = self.tokens
        return signed_bars(
            pd.DataFrame(bars, columns=["part", "value"]),
            title=f"Why {query!r} looks at {key!r} and not {versus!r}, {self.head}\n"
            f"{self.model_name}; parts of log a({key!r}) - log a({versus!r})",
            value_title="difference of scores",
            width=width,
        )

    def __repr__(self) -> str:
        query, key, versus = self.tokens
        first, second = self.weights
        parts = []
        if len(self.wavelengths):
            parts.append(f"wavelengths {self.wavelengths.sum():+.3f}")
        if self.has_content:
            parts.append(f"content {self.content:+.3f}")
        parts += [f"{name} {value:+.3f}" for name, value in self.others()]
        return (
            f"LinkExplanation({self.model_name}, {self.head}, {query!r} at {key!r} {first:.3f} and "
            f"at {versus!r} {second:.3f}: {' '.join(parts)} = {self.total:+.3f}, "
            f"log ratio {self.log_ratio:+.3f})"
        )


@overload
def explain_link(
    attention: Attention,
    head: HeadName,
    query: TokenName,
    key: TokenName,
    versus: TokenName | None = None,
    *,
    stack: str | None = None,
) -> LinkExplanation: ...


@overload
def explain_link(
    attention: Attention,
    layer: int,
    head: int,
    query: TokenName,
    key: TokenName,
    versus: TokenName | None = None,
    *,
    stack: str | None = None,
) -> LinkExplanation: ...


@in_plain_torch
@says_cuts
@takes_head
def explain_link(
    attention: Attention,
    layer: int | HeadName,
    head: int | None,
    query: TokenName,
    key: TokenName,
    versus: TokenName | None = None,
    *,
    stack: str | None = None,
) -> LinkExplanation:
    """Explain why a query attends to a key more, or less, than to a rival key.

    A score has no meaning of its own, because a constant for each query leaves the weights
    unchanged. The difference of two scores, log a_ij - log a_ij', is therefore split: by wavelength
    of the rotary encoding, dimensions that do not rotate (the content), bias and soft cap.
    `link_factors` tells the word from its place in every model.

    Args:
        attention: Attention of one input.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        query: Attending token: its index, a word that occurs once, or ("he", 2) for the second
            "he".
        key: Attended token, in the same forms.
        versus: Rival key; None = the other key with the largest weight.
        stack: Stack of layers, if there are several.

    Raises:
        ValueError: If there is no such head or token, the mask hides a key, there is no rival, or
            only the weights of the layer are known.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import explain_link
        >>> model = load_model("attnwidget/induction", device="cpu")
        >>> attention = model.attend("right head moor right head moor")
        >>> link = explain_link(attention, "L1 H3", query=4, key=2)
        >>> len(link.wavelengths), bool(abs(link.wavelengths.sum() - link.log_ratio) < 1e-4)
        (8, True)
    """
    named_head = head_at(attention, layer, head, stack)
    axes = attention.stacks[named_head.stack]
    query = place_of_token("query", query, axes.query)
    key = place_of_token("key", key, axes.key)
    weights = attention.rows(named_head.layer, named_head.head, query, stack=named_head.stack)
    row = attention.score_parts(named_head, [query])
    visible = None if row.visible is None else row.visible[0]
    if versus is None:
        versus = _runner_up(weights, key, visible, named_head, query)
    versus = place_of_token("versus", versus, axes.key)
    if versus == key:
        raise ValueError(f"versus={versus} is the key itself: pass the place of another key")
    refuse_hidden(row, query, key, versus)
    ends = [key, versus]
    by_dimension = row.scaling * row.query[0] * (row.key[key] - row.key[versus])
    raw = float(by_dimension.sum())
    products = row.scaling * row.key[ends] @ row.query[0]
    bounded = capped(products, row.softcap)
    softcap = float(bounded[0] - bounded[1]) - raw if row.softcap is not None else 0.0
    bias = 0.0 if row.bias is None else float(row.bias[0, key] - row.bias[0, versus])
    rotation = known_rotation(attention, named_head)
    by_pair = by_dimension[rotation.pairs].sum(-1)
    with np.errstate(divide="ignore"):
        log_ratio = float(np.log(np.float64(weights[key])) - np.log(np.float64(weights[versus])))
    return LinkExplanation(
        head=named_head,
        query=query,
        key=key,
        versus=versus,
        tokens=(axes.query.text[query], axes.key.text[key], axes.key.text[versus]),
        weights=(float(weights[key]), float(weights[versus])),
        pairs=rotation.pairs.numpy(),
        periods=rotation.periods,
        wavelengths=by_pair.numpy(),
        content=raw - float(by_pair.sum()),
        has_content=len(by_dimension) > 2 * len(by_pair),
        bias=bias,
        bias_kind=bias_name(attention, named_head) if row.bias is not None else "",
        softcap=softcap,
        total=raw + softcap + bias,
        log_ratio=log_ratio,
        model_name=attention.model_name,
        note=rotation.why_not,
    )


def _runner_up(weights: Any, key: int, visible: Any, head: Head, query: int) -> int:
    """Return the other visible key with the largest weight."""
    other_weights = np.array(weights, dtype=np.float64)
    if visible is not None:
        other_weights[~visible.numpy()] = -1
    other_weights[key] = -1
    best = int(np.nanargmax(other_weights))
    if other_weights[best] < 0:
        raise ValueError(f"query {query} of {head} sees no other key than {key}: there is no rival")
    return best
