"""The output and the attention of a head in words of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnwidget.capture.tapping.head import Head, HeadName, head_parts, named_head
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.circuit_weights import CircuitWeights, HeadCircuits
from attnwidget.mechanisms.single_tokens import single_tokens
from attnwidget.mechanisms.token_vectors import TokenVectors
from attnwidget.mechanisms.vocabulary_scores import AttendedVocabulary, HeadVocabulary
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

LAST_LAYER = 2
"""The last layer whose queries and keys still follow from the tokens alone, about."""


@in_plain_torch
def head_vocabulary(
    model: AttentionModel,
    layer: int | HeadName,
    head: int | None = None,
    *,
    words: Sequence[str | int],
    top: int = 10,
) -> HeadVocabulary:
    """Return the tokens that a head promotes and suppresses when it reads a token.

    The OV circuit (Elhage et al. 2021) in words: the logits of h W_V W_O after the last norm, with
    its own statistics. h is the effective embedding of the token, e + MLP_0(LN(e)) (Wang et al.
    2022), and e itself in layer 0; learned positions and the bias of the values are left out.

    Args:
        model: A causal language model with norms before the attention, such as GPT-2 or Llama.
        layer: The layer, or the name of the head in place of layer and head: "L1 H3", (1, 3) or a
            `Head`.
        head: The head, from 0.
        words: Words of a single token, vocabulary entries in the spelling of the vocabulary, or
            vocabulary ids.
        top: Number of tokens at each end in the table and the chart.

    Raises:
        TypeError: Not a model of `load_model`, or tokens of another form.
        ValueError: No such head or token; a word of several tokens; a model without these circuits,
            with the reason: an encoder, quantized weights, values that are no linear function.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import head_vocabulary
        >>> config = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=48,
        ...     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
        >>> model = load_model(LlamaForCausalLM(config), device="cpu")
        >>> found = head_vocabulary(model, 1, 0, words=[5, 6], top=3)
        >>> found.to_frame().shape
        (12, 7)
    """
    weights = CircuitWeights(model)
    vectors = TokenVectors(weights)
    chosen = _head(weights, layer, head)
    circuits = weights.layer(chosen.layer)
    return vocabulary_of(model, vectors, circuits, chosen, words, whole_number("top", top, 1))


def vocabulary_of(
    model: AttentionModel,
    vectors: TokenVectors,
    circuits: HeadCircuits,
    head: Head,
    tokens: Sequence[str | int],
    top: int,
) -> HeadVocabulary:
    """Return what a head writes, as `head_vocabulary`, from circuits that were read before.

    Args:
        model: The model.
        vectors: The vectors of its tokens.
        circuits: The circuits of the layer of the head.
        head: The head.
        tokens: The tokens that are read, as in `head_vocabulary`.
        top: Number of tokens at each end in the table and the chart.

    Raises:
        ValueError: As `head_vocabulary`.
    """
    ids, sources = single_tokens(model, tokens, vectors.n_tokens)
    written = read_vectors(vectors, circuits, head.layer, ids) @ circuits.value[head.head]
    scores = vectors.logits(written @ circuits.output[head.head])
    return HeadVocabulary(
        head=head,
        sources=sources,
        ids=tuple(ids.tolist()),
        scores=scores.cpu().numpy(),
        answers=vectors.answers,
        model_name=model.name,
        top=top,
    )


@in_plain_torch
def attended_vocabulary(
    model: AttentionModel,
    layer: int | HeadName,
    head: int | None = None,
    *,
    words: Sequence[str | int],
    top: int = 10,
) -> AttendedVocabulary:
    """Return the tokens that a token attends to most and least, for a head of the first layers.

    The QK circuit (Elhage et al. 2021) in words: the scores (h_a W_Q + b_Q) . (h_b W_K) * scale, as
    if both tokens stood at the same position. h is the effective embedding as in `head_vocabulary`.

    From weights alone, behavior can be told in the first layers only: a vector deeper in a model
    holds more than its token, and scores from embeddings can then say the contrary of what a head
    does. Layers above 2 are therefore refused.

    Args:
        model: As in `head_vocabulary`.
        layer: The layer, from 0 to 2, or the name of the head in place of layer and head: "L1 H3",
            (1, 3) or a `Head`.
        head: The head, from 0.
        words: The tokens that attend, as in `head_vocabulary`.
        top: Number of tokens at each end in the table and the chart.

    Raises:
        TypeError, ValueError: As `head_vocabulary`; ValueError for a layer above 2, or for scores
            that are no product of the vectors of two tokens.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import attended_vocabulary
        >>> config = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=48,
        ...     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
        >>> model = load_model(LlamaForCausalLM(config), device="cpu")
        >>> attended_vocabulary(model, 0, 1, words=[5]).scores.shape
        (1, 99)
    """
    weights = CircuitWeights(model)
    vectors = TokenVectors(weights)
    chosen = _head(weights, layer, head)
    if chosen.layer > LAST_LAYER:
        raise ValueError(
            f"{chosen}: tokens say what a head attends to in the layers 0 to {LAST_LAYER} only. "
            "Vectors of later layers hold more than their token, and scores from embeddings "
            "can then be the contrary of what the head does"
        )
    ids, sources = single_tokens(model, words, vectors.n_tokens)
    circuits = weights.layer(chosen.layer)
    query, bias, key = circuits.scores_of(chosen.head)
    queries = read_vectors(vectors, circuits, chosen.layer, ids) @ query + bias
    vocabulary = torch.arange(vectors.n_tokens, dtype=torch.long, device="cpu")
    keys = read_vectors(vectors, circuits, chosen.layer, vocabulary) @ key
    scores = circuits.scaling * queries @ keys.T
    return AttendedVocabulary(
        head=chosen,
        sources=sources,
        ids=tuple(ids.tolist()),
        scores=(scores - scores.mean(-1, keepdim=True)).cpu().numpy(),
        answers=vectors.answers,
        model_name=model.name,
        top=whole_number("top", top, 1),
    )


def read_vectors(vectors: TokenVectors, circuits: HeadCircuits, layer: int, ids: Tensor) -> Tensor:
    """Return what the heads of a layer read of tokens that are alone in the stream, [n, d].

    The vectors are normed, without the gain of the norm, which is part of the circuits.
    """
    stream = vectors.embedded(ids) if layer == 0 else vectors.after_first_mlp(ids)
    return stream if circuits.norm is None else circuits.norm.normalized(stream)


def _head(weights: CircuitWeights, layer: int | HeadName, head: int | None) -> Head:
    shapes = {"self": (weights.numbers.n_layers, weights.model.n_heads)}
    return named_head(head_parts(layer, head), shapes, {"self": weights.numbers})
