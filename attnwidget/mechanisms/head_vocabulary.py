"""Output and attention of a head in words of the vocabulary."""

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
"""Last layer whose queries and keys still follow approximately from the tokens alone."""


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

    This is the OV circuit (Elhage et al. 2021) in words: the logits of h W_V W_O after the last
    norm, with the statistics of this vector. h is the effective embedding of the token, e +
    MLP_0(LN(e)) (Wang et al. 2022), and e itself in layer 0. Learned positions and the bias of the
    values are excluded.

    Args:
        model: Causal language model with norms before the attention, such as GPT-2 or Llama.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        words: Words of a single token, vocabulary entries in the spelling of the vocabulary, or
            vocabulary ids.
        top: Number of tokens at each end in the table and the chart.

    Raises:
        TypeError: If `model` does not come from `load_model`, or tokens have another form.
        ValueError: If there is no such head or token, a word has several tokens, or the model lacks
            these circuits, with the reason: an encoder, quantized weights, or values that are not a
            linear function.

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
    target = _head(weights, layer, head)
    circuits = weights.layer(target.layer)
    return vocabulary_of(model, vectors, circuits, target, words, whole_number("top", top, 1))


def vocabulary_of(
    model: AttentionModel,
    vectors: TokenVectors,
    circuits: HeadCircuits,
    head: Head,
    tokens: Sequence[str | int],
    top: int,
) -> HeadVocabulary:
    """Return the output of a head as in `head_vocabulary`, from circuits that are already known.

    Args:
        model: Model from `load_model`.
        vectors: Vectors of the model's tokens.
        circuits: Circuits of the head's layer.
        head: Head that writes.
        tokens: Tokens that the head reads, as in `head_vocabulary`.
        top: Number of tokens at each end in the table and the chart.

    Raises:
        ValueError: As in `head_vocabulary`.
    """
    ids, sources = single_tokens(model, tokens, vectors.n_tokens)
    head_values = read_vectors(vectors, circuits, head.layer, ids) @ circuits.value[head.head]
    scores = vectors.logits(head_values @ circuits.output[head.head])
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

    This is the QK circuit (Elhage et al. 2021) in words: the scores (h_a W_Q + b_Q) . (h_b W_K) *
    scale, as if both tokens were at the same position. h is the effective embedding as in
    `head_vocabulary`.

    Weights alone only determine behavior in the first layers: a vector deeper in a model has more
    information than its token, and scores from embeddings can then contradict what the head does.
    Layers above 2 are therefore refused.

    Args:
        model: Causal language model, as in `head_vocabulary`.
        layer: Number of the layer, from 0 to 2, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        words: Attending tokens, as in `head_vocabulary`.
        top: Number of tokens at each end in the table and the chart.

    Raises:
        TypeError, ValueError: As in `head_vocabulary`; ValueError also for a layer above 2, or if
            the scores are not a product of two token vectors.

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
    target = _head(weights, layer, head)
    if target.layer > LAST_LAYER:
        raise ValueError(
            f"{target}: tokens say what a head attends to in the layers 0 to {LAST_LAYER} only. "
            "Vectors of later layers hold more than their token, and scores from embeddings "
            "can then be the contrary of what the head does"
        )
    ids, sources = single_tokens(model, words, vectors.n_tokens)
    circuits = weights.layer(target.layer)
    query, bias, key = circuits.scores_of(target.head)
    queries = read_vectors(vectors, circuits, target.layer, ids) @ query + bias
    vocabulary = torch.arange(vectors.n_tokens, dtype=torch.long, device="cpu")
    keys = read_vectors(vectors, circuits, target.layer, vocabulary) @ key
    scores = circuits.scaling * queries @ keys.T
    return AttendedVocabulary(
        head=target,
        sources=sources,
        ids=tuple(ids.tolist()),
        scores=(scores - scores.mean(-1, keepdim=True)).cpu().numpy(),
        answers=vectors.answers,
        model_name=model.name,
        top=whole_number("top", top, 1),
    )


def read_vectors(vectors: TokenVectors, circuits: HeadCircuits, layer: int, ids: Tensor) -> Tensor:
    """Return the input vectors of a layer's heads for tokens that are alone in the stream, [n, d].

    The vectors are normed without the gain of the norm, which is part of the circuits.
    """
    stream = vectors.embedded(ids) if layer == 0 else vectors.after_first_mlp(ids)
    return stream if circuits.norm is None else circuits.norm.normalized(stream)


def _head(weights: CircuitWeights, layer: int | HeadName, head: int | None) -> Head:
    shapes = {"self": (weights.numbers.n_layers, weights.model.n_heads)}
    return named_head(head_parts(layer, head), shapes, {"self": weights.numbers})
