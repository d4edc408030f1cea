"""Matrices of attention heads, measured on a running model instead of read from named weights.

An attention module is called with unit vectors as its input, and all tokens at position 0, where
rotary embeddings have no effect. The queries, keys and values that the tap records are then the
rows of W_Q, W_K and W_V, so fused, grouped and transposed projections need no special code. A few
tokens with random vectors check that the projections are linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.projection import Projections, projection_of
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.inputs.model_tensors import input_names, without_cache
from attnwidget.kernels.norm_gains import NormGain
from attnwidget.mechanisms.module_calls import ModuleCall, first_tensor, recorded_calls
from attnwidget.mechanisms.norm_modules import (
    gain_of,
    norm_with_input,
    norm_with_output,
    norms_of,
)
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weight_placement import device_of
from attnwidget.model_facts.word_embeddings import reads_words

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

# Number of tokens in one call of an attention module, which computes maps of all heads for them.
_AT_ONCE = 512
# Tolerance for rounding errors, as a share of the largest value.
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-6}
_COARSE = 5e-2
# Number of random vectors that check whether a function is linear.
_CHECKED = 4


@dataclass(frozen=True, eq=False)
class HeadCircuits:
    """Matrices of the H heads of a layer, float32.

    The gain of the norm before the attention is part of `query`, `key` and `value`. The gain of a
    norm between the attention and the stream (Gemma) is part of `output`.

    Attributes:
        query: W_Q, [H, d, D]; None if `no_scores` gives a reason.
        query_bias: Bias of the queries including the norm's bias, [H, D]; None if `no_scores` gives
            a reason. A bias of the keys adds the same number to all scores of a query.
        key: W_K, [H, d, D]: head h has the matrix of key head h // (H / Hkv); None if `no_scores`
            gives a reason.
        value: W_V, [H, d, Dv], repeated in the same way.
        output: W_O, [H, Dv, d].
        scaling: Factor of the scores.
        no_scores: Reason why the scores are not a product of two token vectors, or "".
        norm: Norm before the attention, or None.
    """

    query: Tensor | None
    query_bias: Tensor | None
    key: Tensor | None
    value: Tensor
    output: Tensor
    scaling: float
    no_scores: str
    norm: NormGain | None

    def scores_of(self, head: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return W_Q [d, D], the query bias [D], and W_K [d, D] of a head.

        Raises:
            ValueError: If the scores are not a product of two token vectors.
        """
        if self.query is None or self.query_bias is None or self.key is None:
            raise ValueError(self.no_scores)
        return self.query[head], self.query_bias[head], self.key[head]


class CircuitWeights:
    """Heads of a model with one stack, as matrices between norms.

    Args:
        model: Model whose norms come before the attention, or after the attention within the
            block, but not in the residual stream.

    Attributes:
        model: Model from `load_model`.
        hf_model: Underlying transformers model, uncompiled.
        size: Number of dimensions d of the residual stream.
        blocks: Layers of the model that have attention.
        norms: Norms of the model.
        calls: Calls of attention, blocks and norms in one forward pass, with all tokens at
            position 0.

    Raises:
        TypeError: If `model` does not come from `load_model`.
        ValueError: If the model is an encoder-decoder, has norms in the residual stream as in BERT,
            or has disabled heads. The message gives the reason.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.circuit_weights import CircuitWeights
        >>> config = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=48,
        ...     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
        >>> model = load_model(LlamaForCausalLM(config), device="cpu")
        >>> weights = CircuitWeights(model)
        >>> weights.layer(1).value.shape
        torch.Size([4, 32, 8])
    """

    def __init__(self, model: AttentionModel) -> None:
        refuse_no_model(model)
        self.model = model
        self.hf_model: Any = uncompiled(model.hf_model)
        self._sites = find_sites(self.hf_model)
        self._refuse_what_has_no_circuits()
        self.norms = norms_of(self.hf_model)
        self.blocks = [_block(self.hf_model, site) for site in self._sites]
        self._projections = Projections(self.hf_model)
        with model.lock.in_turn(), torch.no_grad():
            self.calls = self._look()
        stream = self.calls[self.blocks[0]].input
        if stream is None:
            raise ValueError(f"{self.class_name} does not show the vectors that its layers read")
        self.size = stream.shape[-1]
        self._refuse_norms_in_the_stream()

    @property
    def class_name(self) -> str:
        """Class name of the transformers model, for messages."""
        return type(self.hf_model).__name__

    @cached_property
    def numbers(self) -> LayerNumbers:
        """Numbers of the layers with attention."""
        hybrid = layer_numbers(self.hf_model, self._sites).get("self")
        return hybrid or LayerNumbers(tuple(range(len(self._sites))), len(self._sites))

    @property
    def first_projection(self) -> nn.Module:
        """Output projection of the first layer with attention."""
        projection = projection_of(self.hf_model, self._sites[0])
        assert projection is not None  # `layer` refuses a layer without a known output projection
        return projection

    @property
    def n_at_once(self) -> int:
        """Number of tokens in one forward pass."""
        limit = self.model.length_limit.tokens
        return _AT_ONCE if limit is None else min(_AT_ONCE, limit)

    def inputs(self, ids: Tensor, *, same_position: bool) -> dict[str, Any]:
        """Return the inputs of a forward pass.

        Args:
            ids: Vocabulary ids, int64 [1, n].
            same_position: Whether to put every token at position 0, if the model takes positions.
        """
        inputs: dict[str, Any] = {"input_ids": ids.to(device_of(self.hf_model))}
        if same_position and "position_ids" in input_names(self.hf_model):
            inputs["position_ids"] = torch.zeros_like(inputs["input_ids"])
        return inputs | without_cache(self.hf_model)

    def layer(self, layer: int) -> HeadCircuits:
        """Return the matrices of the heads of a layer.

        Raises:
            ValueError: If the layer has no attention, its values are not a linear function of the
                stream, or its output projection is quantized or unknown. The message gives the
                reason.
        """
        site = self._sites[self.numbers.place(layer)]
        module = site.module
        call = self.calls[module]
        name = f"layer {layer} of {self.class_name}"
        output = self._projections.of_heads(module, self.model.n_heads)
        if output is None:
            raise ValueError(f"{name} has no output circuit: {self._projections.why_not(module)}")
        before = norm_with_output(self.calls, self.norms, call.input)
        # Use the output of the projection: some attention modules (BLOOM) add the stream to theirs.
        projection = projection_of(self.hf_model, site)
        projected = None if projection is None else first_tensor(self.calls[projection].output)
        after = norm_with_input(self.calls, self.norms, projected)
        norm = None if before is None else gain_of(before, self.size)
        with self.model.lock.in_turn(), torch.no_grad():
            parts = self._of_unit_vectors(module, call)
        value = self._matrix([part.value for part in parts], norm)
        if value is None:
            raise ValueError(
                f"{name} has no output circuit: its values are no linear function of the vectors "
                "in the stream (a norm of the values, or values that the package cannot see)"
            )
        query = self._matrix([part.query for part in parts], norm)
        key = self._matrix([part.key for part in parts], norm)
        no_scores = ""
        if query is None or key is None:
            no_scores = (
                f"{name} has no query-key circuit: its queries or keys are no linear function of "
                "the vectors that it reads (a norm of the queries, positions inside of them, or "
                "queries that cannot be seen)"
            )
        return HeadCircuits(
            query=None if query is None else query[0],
            query_bias=None if query is None else query[1],
            key=None if key is None else key[0],
            value=value[0],
            output=output if after is None else gain_of(after, self.size).after(output),
            scaling=parts[0].scaling or 1.0,
            no_scores=no_scores,
            norm=norm,
        )

    def _of_unit_vectors(self, module: nn.Module, call: ModuleCall) -> list[LayerAttention]:
        """Return the recorded attention for `unit_probes`, which are processed in parts."""
        template = call.input
        assert template is not None
        records: list[LayerAttention] = []
        for part in unit_probes(self.size).to(template).split(template.shape[1]):
            rows = torch.zeros_like(template)
            rows[0, : len(part)] = part
            # Use a new tap for each call, because a tap counts the attention layers of a pass.
            with tap(self.hf_model, records.append):
                call.repeat(module, rows)
        return records

    def _matrix(
        self, parts: Sequence[Tensor | None], norm: NormGain | None
    ) -> tuple[Tensor, Tensor] | None:
        """Return the matrix and bias of each head from the results for `unit_probes`.

        Return None if the results are not linear.
        """
        probe_results = [part[0].float() for part in parts if part is not None]
        if len(probe_results) < len(parts) or parts[0] is None:
            return None
        results = torch.cat(probe_results, dim=1)[:, : len(unit_probes(self.size))]
        affine = linear_map(results, _TOLERANCE.get(parts[0].dtype, _COARSE))
        if affine is None:
            return None
        matrix, bias = affine
        if norm is not None:
            bias = bias + norm.bias @ matrix
            matrix = norm.read_by(matrix)
        group = self.model.n_heads // len(matrix)
        return matrix.repeat_interleave(group, 0), bias.repeat_interleave(group, 0)

    def _look(self) -> dict[nn.Module, ModuleCall]:
        """Record one pass, after a pass that checks the output projections."""
        embedding = self.hf_model.get_input_embeddings()
        unembedding = self.hf_model.get_output_embeddings()
        n_tokens = int(embedding.num_embeddings)
        sample_ids = torch.tensor(
            [[n_tokens // 3, n_tokens // 2, n_tokens - 1]], dtype=torch.long, device="cpu"
        )
        self._projections.check(self.hf_model, self.inputs(sample_ids, same_position=False))
        modules = [site.module for site in self._sites]
        projections = [projection_of(self.hf_model, site) for site in self._sites]
        ends = [*projections, embedding, unembedding]
        recorded_modules = [*modules, *self.blocks, *self.norms, *filter(None, ends)]
        ids = torch.full((1, self.n_at_once), n_tokens // 2, dtype=torch.long, device="cpu")
        with tap(self.hf_model, lambda _: None), recorded_calls(recorded_modules) as calls:
            self.hf_model(**self.inputs(ids, same_position=True))
        return calls

    def _refuse_what_has_no_circuits(self) -> None:
        if {site.stack for site in self._sites} != {"self"}:
            raise ValueError(
                f"{self.class_name} has more than one stack of layers: pass a decoder-only "
                "model, such as GPT-2 or Llama"
            )
        if not reads_words(self.hf_model):
            raise ValueError(
                f"{self.class_name} reads no words, and circuits lead from words to words: pass a "
                "language model, such as GPT-2 or Llama"
            )
        if self.model.edits:
            raise ValueError(
                "circuits of heads are those of the whole model: leave the block of `disabled`"
            )

    def _refuse_norms_in_the_stream(self) -> None:
        for block in self.blocks:
            output = first_tensor(self.calls[block].output)
            if norm_with_output(self.calls, self.norms, output) is not None:
                raise ValueError(
                    f"{self.class_name} has norms in its residual stream, as BERT has (post-norm): "
                    "each later norm scales the output of a head, and no path leads from the "
                    "embedding through a single head. Circuits of heads are read from models with "
                    "norms before the attention, such as GPT-2 and Llama"
                )


def _block(hf_model: nn.Module, site: Site) -> nn.Module:
    """Return the layer that contains an attention module: an entry of a list of layers."""
    parts = site.path.split(".")
    for depth, part in enumerate(parts):
        container = hf_model.get_submodule(".".join(parts[:depth]))
        if isinstance(container, nn.ModuleList) and part.isdigit():
            return container[int(part)]
    raise ValueError(f"{type(hf_model).__name__} keeps its layers in no list: they cannot be read")


def unit_probes(size: int) -> Tensor:
    """Return the input vectors for `linear_map`, [size + 5, size].

    They are zero, the unit vectors, and four random vectors that check whether the function is
    linear.

    Example:
        >>> from attnwidget.mechanisms.circuit_weights import unit_probes
        >>> unit_probes(3)[:4].tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    generator = torch.Generator(device="cpu").manual_seed(0)
    random = torch.randn(_CHECKED, size, generator=generator, dtype=torch.float32, device="cpu")
    return torch.cat(
        [
            torch.zeros(1, size, dtype=torch.float32, device="cpu"),
            torch.eye(size, dtype=torch.float32, device="cpu"),
            random,
        ]
    )


def linear_map(results: Tensor, tolerance: float) -> tuple[Tensor, Tensor] | None:
    """Return the matrix and the bias of an affine function, [..., size, D] and [..., D].

    Return None if the function is not affine.

    Args:
        results: Function values for `unit_probes`, [..., size + 5, D].
        tolerance: Tolerance for rounding errors, as a share of the largest result.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.circuit_weights import linear_map, unit_probes
        >>> linear_map(2 * unit_probes(2) + 1, 1e-5)
        (tensor([[2., 0.],
                [0., 2.]]), tensor([1., 1.]))
        >>> linear_map(unit_probes(2) ** 2, 1e-5) is None
        True
    """
    size = results.shape[-2] - 1 - _CHECKED
    bias = results[..., :1, :]
    matrix = results[..., 1 : size + 1, :] - bias
    random = unit_probes(size)[-_CHECKED:].to(results)
    random_results = results[..., -_CHECKED:, :]
    difference = (random @ matrix + bias - random_results).abs().max()
    if float(difference) > tolerance * float(random_results.abs().max()):
        return None
    return matrix, bias.squeeze(-2)
