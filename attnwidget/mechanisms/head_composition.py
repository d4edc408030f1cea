"""Composition of circuits: the earlier heads that feed a head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.tapping.head import Head, HeadName, head_parts, named_head
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadHeatMap, HeadResult, per_head
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.circuit_weights import CircuitWeights, HeadCircuits

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.capture.model import AttentionModel

Fed = Literal["query", "key", "value"]
FED: tuple[str, ...] = get_args(Fed)


@dataclass(frozen=True, eq=False, repr=False)
class HeadComposition(HeadResult):
    """Composition scores of earlier heads with one head. Made by `head_composition`.

    The score of unrelated circuits is subtracted, so 0 is chance. Heads of the same layer and of
    later layers are NaN.

    Attributes:
        head: Head that is fed.
        query: Scores into the head's queries (Q-composition), [L, H]; NaN if `no_scores` gives a
            reason.
        key: Scores into the head's keys (K-composition), [L, H]; NaN if `no_scores` gives a reason.
        value: Scores into the head's values (V-composition), [L, H].
        random: Score of unrelated circuits, which was subtracted.
        no_scores: Reason why the head has no queries and keys to feed, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import head_composition
        >>> found = head_composition(load_model("attnwidget/induction"), 1, 0)
        >>> str(found.head), found.key.shape, list(found.heads())
        ('L1 H0', (2, 4), ['feeds queries', 'feeds keys', 'feeds values'])
    """

    head: Head
    query: Float64Array = field(metadata=per_head("feeds queries"))
    key: Float64Array = field(metadata=per_head("feeds keys"))
    value: Float64Array = field(metadata=per_head("feeds values"))
    random: float
    no_scores: str

    def chart(self, fed: Fed = "key", *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the scores of all earlier heads into the keys, queries or values of the head.

        Args:
            fed: Part of the head that is fed: "key", "query" or "value".
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the part is unknown, or this head does not have these scores.
        """
        one_of("fed", fed, FED)
        if fed != "value" and self.no_scores:
            raise ValueError(self.no_scores)
        figure = HeadHeatMap(
            fed,
            f"Heads that feed the {_PLURALS[fed]} of {{self.head}}",
            "composition",
            f"{{self.model_name}}; {fed[0].upper()}-composition, unrelated heads "
            "({self.random:.3f}) subtracted",
            diverging=True,
        )
        return figure.draw(self, {}, width=width)

    def __repr__(self) -> str:
        best = []
        for name in FED:
            values = getattr(self, name)
            if not np.isnan(values).all():
                layer, head = np.unravel_index(np.nanargmax(values), values.shape)
                strongest = Head(int(layer), int(head))
                best.append(f"{_PLURALS[name]} from {strongest} {values[layer, head]:+.3f}")
        return f"HeadComposition({self.model_name}, {self.head}: {', '.join(best)})"


_PLURALS = {"query": "queries", "key": "keys", "value": "values"}


@in_plain_torch
def head_composition(
    model: AttentionModel, layer: int | HeadName, head: int | None = None
) -> HeadComposition:
    """Return the composition scores of earlier heads with a head, from the weights alone.

    The score of an earlier head is ||W_OV M|| / (||W_OV|| ||M||) with Frobenius norms (Elhage et
    al. 2021), where W_OV = W_V W_O is the circuit of the earlier head. M is W_Q W_K^T for the
    head's queries, W_K W_Q^T for its keys and W_V W_O for its values. Unrelated circuits score 1 /
    sqrt(d), which is subtracted: the root mean square over random rotations between the two. Gains
    of the norms before the heads are part of the matrices. Rotary embeddings are ignored, which
    fits neighboring tokens at low frequencies. Paths from head to head through MLPs are not
    counted.

    Args:
        model: Decoder-only model with norms before the attention, such as GPT-2 or Llama.
        layer: Number of the layer, from 1, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.

    Raises:
        TypeError: If `model` does not come from `load_model`.
        ValueError: If there is no such head, no head comes before it, or the model lacks these
            circuits, with the reason: norms in the stream, quantized weights, or values that are
            not a linear function.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import head_composition
        >>> config = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=48,
        ...     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
        >>> model = load_model(LlamaForCausalLM(config), device="cpu")
        >>> head_composition(model, 1, 0).key.shape
        (2, 4)
    """
    weights = CircuitWeights(model)
    shape = (weights.numbers.n_layers, model.n_heads)
    selected_head = named_head(head_parts(layer, head), {"self": shape}, {"self": weights.numbers})
    (result,) = compositions_of(weights, selected_head.layer, [selected_head.head])
    return result


def compositions_of(
    weights: CircuitWeights, layer: int, heads: Sequence[int]
) -> list[HeadComposition]:
    """Return the composition scores for several heads of a layer, as in `head_composition`.

    The matrices of each earlier layer are computed once for all heads.

    Args:
        weights: Circuits of the model.
        layer: Layer with attention.
        heads: Heads of this layer.

    Raises:
        ValueError: As in `head_composition`.
    """
    model = weights.model
    shape = (weights.numbers.n_layers, model.n_heads)
    earlier = [number for number in weights.numbers.numbers if number < layer]
    if not earlier:
        raise ValueError(
            f"no attention layer comes before layer {layer}, so no head feeds its heads: choose a "
            "head of a later layer"
        )
    circuits = weights.layer(layer)
    readers = [_readers(circuits, head) for head in heads]
    scores = [{name: np.full(shape, np.nan) for name in FED} for _ in heads]
    chance = random_composition(weights.size)
    for number in earlier:
        writer = weights.layer(number)
        for scores_of_head, readers_of_head in zip(scores, readers, strict=True):
            for name, (reader_in, reader_out) in readers_of_head.items():
                with torch.no_grad():
                    score = composition(writer.value, writer.output, reader_in, reader_out)
                scores_of_head[name][number] = score.double().cpu().numpy() - chance
    return [
        HeadComposition(
            head=Head(layer, head),
            query=scores_of_head["query"],
            key=scores_of_head["key"],
            value=scores_of_head["value"],
            random=chance,
            no_scores=circuits.no_scores,
            model_name=model.name,
        )
        for head, scores_of_head in zip(heads, scores, strict=True)
    ]


def _readers(circuits: HeadCircuits, head: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the factors of the matrix M for each part of a head that earlier heads feed."""
    readers = {"value": (circuits.value[head], circuits.output[head])}
    if not circuits.no_scores:
        query, _, key = circuits.scores_of(head)
        readers |= {"query": (query, key.T), "key": (key, query.T)}
    return readers


def composition(
    writer_in: Tensor, writer_out: Tensor, reader_in: Tensor, reader_out: Tensor
) -> Tensor:
    """Return the Frobenius norm of a product of two circuits over the product of their norms.

    A circuit is a matrix [d, d] of low rank, the product of two factors. The writer is W_V W_O. The
    reader is W_Q W_K^T for the queries, W_K W_Q^T for the keys, and W_V W_O for the values of the
    later head. Only small matrices are multiplied, because a factor contributes only its triangular
    part.

    Args:
        writer_in: First factor of the writer, [..., d, Dv].
        writer_out: Second factor of the writer, [..., Dv, d].
        reader_in: First factor of the reader, [d, D].
        reader_out: Second factor of the reader, [D, d].

    Returns:
        Scores from 0 to 1, [...]; 0 if a circuit is 0.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.head_composition import composition
        >>> eye = torch.eye(4)
        >>> composition(eye[:, :1], eye[:1], eye[:, :1], eye[:1])
        tensor(1.)
        >>> composition(eye[:, :1], eye[:1], eye[:, 1:2], eye[1:2])
        tensor(0.)
    """
    before = torch.linalg.qr(writer_in, mode="r").R
    after = torch.linalg.qr(reader_out.mT, mode="r").R.mT
    product = torch.linalg.matrix_norm(before @ (writer_out @ reader_in) @ after)
    writer = torch.linalg.matrix_norm(before @ writer_out)
    reader = torch.linalg.matrix_norm(reader_in @ after)
    sizes = writer * reader
    return torch.where(sizes > 0, product / sizes, 0.0)


def random_composition(size: int) -> float:
    """Return the composition of two unrelated circuits: 1 / sqrt(d).

    With a random rotation of the `size` dimensions between the circuits, the mean squared score is
    exactly 1 / d, whatever the circuits are.

    Example:
        >>> from attnwidget.mechanisms.head_composition import random_composition
        >>> random_composition(64)
        0.125
    """
    return float(size**-0.5)
