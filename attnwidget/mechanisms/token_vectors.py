"""Vectors of vocabulary entries at both ends of a causal model: embeddings and logits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

import torch
from torch import Tensor

from attnwidget.capture.answers.losses import language_model_head
from attnwidget.capture.predict import vocabulary_answers
from attnwidget.capture.tapping.hooked import tensors_before
from attnwidget.capture.tapping.projection import is_plain_linear
from attnwidget.mechanisms.circuit_weights import CircuitWeights
from attnwidget.mechanisms.module_calls import first_tensor, same_tensor, without_output
from attnwidget.mechanisms.norm_modules import gain_of, norm_with_output
from attnwidget.model_facts.plain_forward import plain_forward
from attnwidget.model_facts.weight_placement import weight_of


class TokenVectors:
    """Embeddings of tokens, with the first MLP added, and logits of vectors.

    Args:
        weights: Circuits of a causal language model.

    Attributes:
        n_tokens: Number of vocabulary entries with a logit, V.
        unembedding: Matrix W_U that includes the gain of the last norm, float32 [d, V].
        answers: Vocabulary entries in readable form.

    Raises:
        ValueError: If the model is not a causal language model, its first layer has no attention,
            or its unembedding is quantized or reads more than the output of a norm. The message
            gives the reason.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.circuit_weights import CircuitWeights
        >>> from attnwidget.mechanisms.token_vectors import TokenVectors
        >>> config = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=48,
        ...     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
        >>> model = load_model(LlamaForCausalLM(config), device="cpu")
        >>> TokenVectors(CircuitWeights(model)).after_first_mlp(torch.tensor([5, 6])).shape
        torch.Size([2, 32])
    """

    def __init__(self, weights: CircuitWeights) -> None:
        self._weights = weights
        self._hf_model = weights.hf_model
        name = weights.class_name
        if language_model_head(self._hf_model) != "causal":
            raise ValueError(
                f"{name} has no unembedding that a head writes to: words of the vocabulary are "
                "read from causal language models (GPT-2, Llama; AutoModelForCausalLM). A masked "
                "language model has a layer with an activation before its unembedding, and other "
                "models predict no words"
            )
        if weights.numbers.numbers[0] != 0:
            raise ValueError(
                f"layer 0 of {name} has no attention, so the vector of a token after the first "
                "MLP alone has no meaning"
            )
        unembedding = self._hf_model.get_output_embeddings()
        matrix = weight_of(unembedding, "weight")
        unembedding_input = weights.calls[unembedding].input
        norm = norm_with_output(weights.calls, weights.norms, unembedding_input)
        last = first_tensor(weights.calls[weights.blocks[-1]].output)
        if norm is None or not same_tensor(weights.calls[norm].input, last):
            raise ValueError(
                f"more than one norm stands between the last layer of {name} and its unembedding, "
                "so the logits of a single vector of the stream are not defined"
            )
        if matrix is None or not is_plain_linear(unembedding):
            raise ValueError(f"the unembedding of {name} is quantized: load the model unquantized")
        self._norm = gain_of(norm, weights.size)
        self.unembedding = self._norm.read_by(matrix.detach().float().T)
        self.n_tokens = self.unembedding.shape[1]
        self.answers = vocabulary_answers(weights.model.tokenizer, self.n_tokens)

    def logits(self, vectors: Tensor) -> Tensor:
        """Return the logits of vectors that are alone in the stream, [..., V], with mean 0.

        The last norm uses the statistics of each vector [..., d] itself (a logit lens). Biases and
        a cap of the logits are excluded.
        """
        logits = self._norm.normalized(vectors) @ self.unembedding
        return logits - logits.mean(-1, keepdim=True)

    def embedded(self, ids: Tensor) -> Tensor:
        """Return the token vectors that the first layer reads, float32 [n, d].

        Learned position embeddings are excluded.

        Raises:
            ValueError: If the embedding and the stream have different sizes.
        """
        return torch.cat([self._embedded(part) for part in self._parts(ids)])

    def after_first_mlp(self, ids: Tensor) -> Tensor:
        """Return e + MLP_0(LN(e)) of tokens, float32 [n, d]: layer 0 without its attention.

        Args:
            ids: Vocabulary ids, int64 [n].

        Raises:
            ValueError: As in `embedded`.
        """
        return torch.cat(list(self.parts_after_first_mlp(ids)))

    def parts_after_first_mlp(self, ids: Tensor) -> Iterator[Tensor]:
        """Yield `after_first_mlp` for parts of the tokens, in their order."""
        block = self._weights.blocks[0]
        call = self._weights.calls[block]
        for part in self._parts(ids):
            vectors = self._embedded(part)
            template = call.input
            assert template is not None
            rows = torch.zeros_like(template)
            rows[0, : len(part)] = vectors.to(template)
            with (
                self._weights.model.lock.in_turn(),
                torch.no_grad(),
                plain_forward(self._weights.model.hf_model),
                without_output(self._weights.first_projection),
            ):
                output = first_tensor(call.repeat(block, rows))
            assert output is not None
            yield output[0, : len(part)].float()

    def _parts(self, ids: Tensor) -> tuple[Tensor, ...]:
        return ids.split(self._weights.n_at_once)

    @cached_property
    def _adds_positions(self) -> bool:
        """Whether the input of the first layer depends on the position of a token."""
        vectors = self._read_by_first_layer(torch.zeros(3, dtype=torch.long, device="cpu"))
        return not torch.equal(vectors[1], vectors[2])

    def _embedded(self, ids: Tensor) -> Tensor:
        if not self._adds_positions:
            return self._read_by_first_layer(ids)
        embedding = self._hf_model.get_input_embeddings()
        with torch.no_grad():
            vectors: Tensor = embedding(ids.to(embedding.weight.device)).float()
        if vectors.shape[-1] != self._weights.size:
            raise ValueError(
                f"embeddings of {self._weights.class_name} have {vectors.shape[-1]} dimensions and "
                f"its layers {self._weights.size}: a token has no vector without its position"
            )
        return vectors

    def _read_by_first_layer(self, ids: Tensor) -> Tensor:
        run = partial(self._hf_model, **self._weights.inputs(ids[None], same_position=False))
        with (
            self._weights.model.lock.in_turn(),
            torch.no_grad(),
            plain_forward(self._weights.model.hf_model),
        ):
            # Every pass runs the first layer.
            vectors, *_ = tensors_before(self._weights.blocks[0], run)
        return vectors[0].float()
