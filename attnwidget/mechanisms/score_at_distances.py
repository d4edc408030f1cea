"""Score and weight of a key at other distances from the query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.products import ScoreParts
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, takes_head
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.rotary import pair_products
from attnwidget.kernels.score_parts import capped
from attnwidget.mechanisms.bias_by_offset import offset_bias
from attnwidget.mechanisms.checked_places import head_at, refuse_hidden
from attnwidget.mechanisms.input_positions import input_places, positions
from attnwidget.mechanisms.moved_positions import keys_at_positions
from attnwidget.mechanisms.rotations import Rotation, rotation_of
from attnwidget.text.place_of_token import TokenName, place_of_token
from attnwidget.text.whole_number import whole_numbers

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention


@dataclass(frozen=True, eq=False, repr=False)
class ScoresAtDistances(Result):
    """Score and weight of a key at different distances from the query, with all other keys fixed.

    In a model with rotary positions, the score before soft cap and bias is `content` + sum of
    `amplitudes` * cos(`frequencies` * distance + `phases`).

    Attributes:
        head: Head that attends.
        query, key: Indices of the query and the key.
        tokens: Texts of these tokens.
        distance: Distance in the input, in tokens from the query back to the key.
        distances: Requested distances, int64 [n]; negative = after the query.
        scores: Score at each distance, with soft cap and bias, float64 [n].
        weights: Weight at each distance, float64 [n].
        content: Part of the score that does not depend on the distance; NaN for learned positions.
        amplitudes, frequencies, phases: Wave of each pair of rotary dimensions, float64 [F].
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import score_at_distances
        >>> attention = load_model(device="cpu").attend("The cat sat on the mat.")
        >>> moved = score_at_distances(attention, 0, 3, query=6, key=2, distances=[4, 5])
        >>> moved.tokens, moved.distance, moved.weights.shape
        (('mat', 'cat'), 4, (2,))
    """

    head: Head
    query: int
    key: int
    tokens: tuple[str, str]
    distance: int
    distances: NDArray[np.int64]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64]
    content: float
    amplitudes: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    phases: NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per distance: distance, score, weight.

        `attrs` has the "model" and the "head".
        """
        import pandas as pd

        columns = {"distance": self.distances, "score": self.scores, "weight": self.weights}
        frame = pd.DataFrame(columns)
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the weight by distance, with a line at the distance in the input.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.distance_curve import distance_curve

        query, key = self.tokens
        frame = self.to_frame().rename(columns={"distance": "x", "weight": "value"})
        return distance_curve(
            frame.sort_values("x"),
            title=f"{query!r} → {key!r} at other distances, {self.head}\n{self.model_name}; "
            "all other keys as they are",
            value_title="weight",
            marked=self.distance,
            width=width,
        )

    def __repr__(self) -> str:
        query, key = self.tokens
        weights = [f"{d} {w:.3f}" for d, w in zip(self.distances[:4], self.weights, strict=False)]
        more = ", …" if len(self.distances) > 4 else ""
        weight_list = ", ".join(weights) + more
        return (
            f"ScoresAtDistances({self.model_name}, {self.head}, {query!r} → {key!r}: {weight_list})"
        )


@overload
def score_at_distances(
    attention: Attention,
    head: HeadName,
    query: TokenName,
    key: TokenName,
    distances: Iterable[int],
    *,
    stack: str | None = None,
) -> ScoresAtDistances: ...


@overload
def score_at_distances(
    attention: Attention,
    layer: int,
    head: int,
    query: TokenName,
    key: TokenName,
    distances: Iterable[int],
    *,
    stack: str | None = None,
) -> ScoresAtDistances: ...


@in_plain_torch
@says_cuts
@takes_head
def score_at_distances(
    attention: Attention,
    layer: int | HeadName,
    head: int | None,
    query: TokenName,
    key: TokenName,
    distances: Iterable[int],
    *,
    stack: str | None = None,
) -> ScoresAtDistances:
    """Return the score and weight of a key at other distances from the query.

    The key keeps its content, all other keys keep their scores, and the mask is not applied again.
    With rotary positions, ALiBi or relative biases, this is exact in every layer: the rotation and
    the bias are those of the model. With learned absolute positions, it is exact in layer 0, where
    the model runs with the other position. In later layers, positions are mixed with content.

    Args:
        attention: Attention of one input, made by a model outside of `disabled`.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        query: Attending token: its index, a word that occurs once, or ("he", 2) for the second
            "he".
        key: Attended token, in the same forms.
        distances: Distances in tokens from the query back to the key; negative = after the query.
        stack: Stack of layers, if there are several.

    Raises:
        ValueError: If there is no such head or token, or no distance; if only the weights of the
            layer are known; if the mask hides the key; if the model has learned positions and the
            layer is not 0; or if a distance is out of the range of positions.
        RuntimeError: If the model was closed, or its weights have changed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import score_at_distances
        >>> attention = load_model(device="cpu").attend("The cat sat on the mat.")
        >>> moved = score_at_distances(attention, 0, 3, query=6, key=2, distances=[4, 5])
        >>> bool(abs(moved.weights[0] - attention.weights(0, 3)[6, 2]) < 1e-5)
        True
    """
    target = head_at(attention, layer, head, stack)
    axes = attention.stacks[target.stack]
    if target.stack == "cross":
        raise ValueError("queries and keys of cross-attention are of two texts: no distance exists")
    query = place_of_token("query", query, axes.query)
    key = place_of_token("key", key, axes.key)
    distance_array = np.array(whole_numbers("distances", distances), dtype=np.int64)
    if not len(distance_array):
        raise ValueError("distances is empty: pass at least one distance in tokens")
    row = attention.score_parts(target, [query])
    refuse_hidden(row, query, key)
    token_positions = positions(attention, target.stack)
    distance = token_positions[query] - token_positions[key]
    rotation = rotation_of(attention, target)
    if rotation.why_not:
        products, waves = (
            _learned(attention, target, row, query, key, distance_array, rotation),
            None,
        )
    else:
        products, waves = _turned(row, key, distance_array, distance, rotation)
    scores = capped(products, row.softcap)
    bias = offset_bias(attention, target)
    if bias is None:
        raise ValueError(
            f"the bias of {target} in {attention.model_name} depends on more than the distance: "
            "its value at other distances is not known"
        )
    own_bias = 0.0 if row.bias is None else float(row.bias[0, query])
    biases = torch.tensor(
        [bias.at(int(d)) for d in distance_array], dtype=torch.float64, device="cpu"
    )
    scores = scores + own_bias + biases
    content, amplitudes, frequencies, phases = _numbers(waves, distance, rotation)
    return ScoresAtDistances(
        head=target,
        query=query,
        key=key,
        tokens=(axes.query.text[query], axes.key.text[key]),
        distance=distance,
        distances=distance_array,
        scores=scores.numpy(),
        weights=_weights(row, key, scores).numpy(),
        content=content,
        amplitudes=amplitudes,
        frequencies=frequencies,
        phases=phases,
        model_name=attention.model_name,
    )


Waves = tuple[float, Tensor]


def _turned(
    row: ScoreParts, key: int, distances: NDArray[np.int64], distance: int, rotation: Rotation
) -> tuple[Tensor, Waves]:
    """Return the products at other distances, the constant part and the rotating parts."""
    vectors = row.query[0], row.key[key]
    pairs = row.scaling * pair_products(*vectors, rotation.pairs)
    content = float(row.scaling * vectors[0] @ vectors[1]) - float(pairs.real.sum())
    shifts = torch.from_numpy(distances - distance).double()
    angles = shifts[:, None] * rotation.frequencies
    products = content + (pairs * torch.polar(torch.ones_like(angles), angles)).real.sum(-1)
    return products, (content, pairs)


def _learned(
    attention: Attention,
    head: Head,
    row: ScoreParts,
    query: int,
    key: int,
    distances: NDArray[np.int64],
    rotation: Rotation,
) -> Tensor:
    """Return the products in layer 0 of a model with learned positions, by running the layer."""
    if head.layer != attention.stacks[head.stack].layers.numbers[0]:
        raise ValueError(
            f"{rotation.why_not}. In layer {head.layer} these are mixed with content by the layers "
            "below, so that a key cannot be moved alone: ask for layer 0"
        )
    query_indices, key_indices = input_places(attention, head.stack)
    moved_keys = keys_at_positions(
        attention, head, query_indices[query], key_indices[key], distances.tolist()
    )
    return row.scaling * moved_keys.cpu().double() @ row.query[0]


def _numbers(
    waves: Waves | None, distance: int, rotation: Rotation
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return content, amplitudes, frequencies and phases at distance 0."""
    if waves is None:
        return float("nan"), np.zeros(0), np.zeros(0), np.zeros(0)
    content, pairs = waves
    phases = pairs.angle() - distance * rotation.frequencies
    wrapped = torch.remainder(phases + torch.pi, 2 * torch.pi) - torch.pi
    return content, pairs.abs().numpy(), rotation.frequencies.numpy(), wrapped.numpy()


def _weights(row: ScoreParts, key: int, scores: Tensor) -> Tensor:
    """Return the weights of a key with new scores, given the fixed scores of the other keys."""
    other_scores = capped(row.products()[0], row.softcap)
    if row.bias is not None:
        other_scores = other_scores + row.bias[0]
    if row.visible is not None:
        other_scores = other_scores.masked_fill(~row.visible[0], -torch.inf)
    other_scores = torch.cat([other_scores[:key], other_scores[key + 1 :]])
    rest = (
        [other_scores]
        if row.sink is None
        else [other_scores, torch.tensor([row.sink], dtype=torch.float64, device="cpu")]
    )
    total = torch.logsumexp(torch.cat(rest), 0)
    return torch.sigmoid(scores - total)
