"""Division of "what earlier heads wrote there" among the heads and the words that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.mechanisms.heads_at_token import HeadsAtToken, watching_heads
from attnwidget.mechanisms.input_positions import input_places
from attnwidget.mechanisms.swapped_keys import ScoreOfKeys, head_gradients

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention

# Number of points of the Gauss-Legendre quadrature along the line between two outputs.
_POINTS = 8
# Largest difference between the sum of the parts and the whole, as a share of all parts.
_TOLERANCE = 0.02
_MORE_POINTS = 32
# Smallest difference between 1 and the sum of the weights of a query in a model with sinks.
_SINKS = 1e-3


class WrittenPart(NamedTuple):
    """Part of a factor: what one earlier head read from one word and wrote at the key.

    Attributes:
        head: Head that wrote.
        word: Index of the token that the head read.
        text: Text of the token.
        log: Natural logarithm of the factor.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.results import WrittenPart
        >>> WrittenPart(Head(0, 2), 4, "the", 0.5).text
        'the'
    """

    head: Head
    word: int
    text: str
    log: float


def written_parts(
    attention: Attention,
    head: Head,
    key: int,
    rivals: Sequence[int],
    *,
    has_place: bool,
    score: ScoreOfKeys,
    total: float,
) -> tuple[WrittenPart, ...]:
    """Divide the logarithm of "what earlier heads wrote there", the largest part first.

    Integrated gradients (Sundararajan et al. 2017) along the line from the outputs of the earlier
    heads at the rival to those at the key, with the words and places of the Shapley value. Outputs
    of heads are sums over the words that they read, so the gradients divide the change among heads
    and words. The parts sum to `total`.

    Args:
        attention: Attention of an intact model.
        head: Head whose weight is explained.
        key: Index of the key.
        rivals: Indices of the rivals, over which the parts are averaged.
        has_place: Whether the place is a part of the keys.
        score: Scores of keys.
        total: Logarithm of the factor.

    Raises:
        ValueError: If the outputs of single heads are not known, or the score jumps between the
            outputs at the rival and at the key.
    """
    choices = list(product((False, True), (False, True) if has_place else (False,)))
    n_other = 1 + has_place
    for n_points in (_POINTS, _MORE_POINTS):
        shares, steps = np.polynomial.legendre.leggauss(n_points)
        points = ((shares + 1) / 2).tolist()
        gradients = head_gradients(attention, head, key, choices, points, score)
        # Share of the orders in which exactly these parts come before the heads.
        orders = torch.tensor(
            [1 / comb(n_other, sum(choice)) / (n_other + 1) for choice in choices],
            dtype=torch.float64,
            device="cpu",
        )
        quadrature = torch.from_numpy(steps / 2)
        means = {
            site: torch.einsum("c,t,ctkd->kd", orders, quadrature, gradient)
            for site, gradient in gradients.items()
        }
        parts = _parts(attention, means, key, rivals)
        missing = total - sum(part.log for part in parts)
        size = sum(abs(part.log) for part in parts)
        if abs(missing) <= _TOLERANCE * size:
            break
    else:
        raise ValueError(
            f"what earlier heads of {attention.model_name} wrote cannot be divided among them: the "
            "score jumps between both outputs, as where a token changes its experts"
        )
    parts = [part._replace(log=part.log + missing * abs(part.log) / size) for part in parts]
    return tuple(sorted(parts, key=lambda part: -abs(part.log)))


def _parts(
    attention: Attention,
    gradients: Mapping[tuple[str, int], Tensor],
    key: int,
    rivals: Sequence[int],
) -> list[WrittenPart]:
    """Return the part of every head and word.

    Args:
        attention: Attention of an intact model.
        gradients: Gradients at every key, [K, width], by stack and layer of the earlier heads.
        key: Index of the key.
        rivals: Indices of the rivals.
    """
    parts = []
    for stack in dict.fromkeys(stack for stack, _ in gradients):
        layers = [layer for name, layer in gradients if name == stack]
        outputs = _outputs(attention, stack, layers)
        words = attention.stacks[stack].key.text
        _, indices = input_places(attention, stack)
        for layer in layers:
            heads = outputs[layer]
            weights = torch.from_numpy(attention.weights(layer, stack=stack)).double()
            differences = weights[:, key, None] - weights[:, list(rivals)]  # [H, R, K]
            group = len(weights) // len(heads.value)
            values = heads.value[:, indices].cpu()  # [Hkv, K, Dv]
            if float((weights.sum(-1) - 1).abs().max()) > _SINKS:
                # With attention sinks, the bias of the values depends on the weights too.
                values = values + heads.value_bias.cpu()[:, None]
            values = values.repeat_interleave(group, 0)  # [H, K, Dv]
            at_rivals = gradients[stack, layer][list(rivals)]  # [R, width]
            along = torch.einsum("hkv,hvd,rd->hrk", values, heads.projections.cpu(), at_rivals)
            logs = (differences * along).mean(1)
            parts += [
                WrittenPart(
                    Head(layer, number, stack), word, words[word], float(logs[number, word])
                )
                for number, word in torch.nonzero(logs).tolist()
            ]
    return parts


def _outputs(attention: Attention, stack: str, layers: Sequence[int]) -> dict[int, HeadsAtToken]:
    """Return the values and output projections of some layers."""
    reading = reading_of(attention, "what earlier heads wrote")
    hf_model = reading.model.hf_model
    with (
        reading.model.lock.in_turn(),
        torch.no_grad(),
        watching_heads(hf_model, 0, stack, layers) as watch,
    ):
        hf_model(**reading.inputs, **without_cache(hf_model))
    missing = set(layers) - set(watch.layers)
    if missing:
        raise ValueError(f"layer {min(missing)} of {attention.model_name} did not show its values")
    return {layer: watch.at(layer) for layer in layers}
