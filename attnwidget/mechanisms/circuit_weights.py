"""The matrices of attention heads, read from a running model whatever its code calls them.

An attention module reads a text of unit vectors, with all tokens at position 0, where rotary
embeddings turn nothing. The queries, keys and values of the tap are then the rows of W_Q, W_K and
W_V: fused, grouped and transposed projections need no further code. Some more
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

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

# Tokens that go through an attention module at a time: maps of all heads are made of them.
_AT_ONCE = 512
# Differences that rounding explains, as a share of the largest number.
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-6}
_COARSE = 5e-2
# Random vectors that check whether a function is linear.
_CHECKED = 4


@dataclass(frozen=True, eq=False)
class HeadCircuits:
    """The matrices of the H heads of a layer, float32.

    The gain of the norm before the attention is part of `query`, `key` and `value`; the gain of a
    norm between the attention and the stream (Gemma) is part of `output`.

    Attributes:
        query: W_Q, [H, d, D]; None where `no_scores` has the reason.
        query_bias: The bias of the queries, [H, D], with that of the norm; None likewise. A bias of
            the keys adds the same number to all scores of a query.
        key: W_K, [H, d, D]: head h has that of key head h // (H / Hkv); None likewise.
        value: W_V, [H, d, Dv], repeated likewise.
        output: W_O, [H, Dv, d].
        scaling: The factor of the scores.
        no_scores: "", or why the scores are no product of the vectors of two tokens.
        norm: The norm before the attention, or None.
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
        """Return W_Q [d, D], the bias of the queries [D], and W_K [d, D] of a head.

        Raises:
            ValueError: The scores are no product of the vectors of two tokens.
        """
        if self.query is None or self.query_bias is None or self.key is None:
            raise ValueError(self.no_scores)
        return self.query[head], self.query_bias[head], self.key[head]


class CircuitWeights:
    """The heads of a model of one stack, as matrices between norms.

    Args:
        model: A model whose norms stand before the attention, or after the attention within the
            block, but not in the residual stream.

    Attributes:
        model: The model.
        hf_model: The transformers model inside, uncompiled.
        size: Number of dimensions of the residual stream, d.
        blocks: The layers of the model that have attention.
        norms: The norms of the model.
        calls: The calls of attention, blocks and norms in one forward pass. All tokens are at
            position 0.

    Raises:
        TypeError: Not a model of `load_model`.
        ValueError: An encoder-decoder, norms in the residual stream as in BERT, or heads switched
            off; with the reason.

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
        """The class of the transformers model, for messages."""
        return type(self.hf_model).__name__

    @cached_property
    def numbers(self) -> LayerNumbers:
        """The numbers of the layers with attention."""
        hybrid = layer_numbers(self.hf_model, self._sites).get("self")
        return hybrid or LayerNumbers(tuple(range(len(self._sites))), len(self._sites))

    @property
    def first_projection(self) -> nn.Module:
        """The output projection of the first layer with attention."""
        found = projection_of(self.hf_model, self._sites[0])
        assert found is not None  # `layer` refuses a layer without a known output projection
        return found

    @property
    def n_at_once(self) -> int:
        """Number of tokens that go through the model at a time."""
        limit = self.model.length_limit.tokens
        return _AT_ONCE if limit is None else min(_AT_ONCE, limit)

    def inputs(self, ids: Tensor, *, same_position: bool) -> dict[str, Any]:
        """Return the inputs of a forward pass.

        Args:
            ids: Vocabulary ids, int64 [1, n].
            same_position: Put every token at position 0, if the model takes positions.
        """
        inputs: dict[str, Any] = {"input_ids": ids.to(device_of(self.hf_model))}
        if same_position and "position_ids" in input_names(self.hf_model):
            inputs["position_ids"] = torch.zeros_like(inputs["input_ids"])
        return inputs | without_cache(self.hf_model)

    def layer(self, layer: int) -> HeadCircuits:
        """Return the matrices of the heads of a layer.

        Raises:
            ValueError: The layer has no attention, its values are no linear function of the stream,
                or its output projection is quantized or not known; with the reason.
        """
        site = self._sites[self.numbers.place(layer)]
        module = site.module
        call = self.calls[module]
        where = f"layer {layer} of {self.class_name}"
        output = self._projections.of_heads(module, self.model.n_heads)
        if output is None:
            raise ValueError(f"{where} has no output circuit: {self._projections.why_not(module)}")
        before = norm_with_output(self.calls, self.norms, call.input)
        # What a projection puts out: some attention modules (BLOOM) add the stream to it.
        projection = projection_of(self.hf_model, site)
        written = None if projection is None else first_tensor(self.calls[projection].output)
        after = norm_with_input(self.calls, self.norms, written)
        norm = None if before is None else gain_of(before, self.size)
        with self.model.lock.in_turn(), torch.no_grad():
            parts = self._of_unit_vectors(module, call)
        value = self._matrix([part.value for part in parts], norm)
        if value is None:
            raise ValueError(
                f"{where} has no output circuit: its values are no linear function of the vectors "
                "in the stream (a norm of the values, or values that the package cannot see)"
            )
        query = self._matrix([part.query for part in parts], norm)
        key = self._matrix([part.key for part in parts], norm)
        no_scores = ""
        if query is None or key is None:
            no_scores = (
                f"{where} has no query-key circuit: its queries or keys are no linear function of "
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
        """Return what an attention module makes of `unit_probes`, some of them at a time."""
        like = call.input
        assert like is not None
        seen: list[LayerAttention] = []
        for part in unit_probes(self.size).to(like).split(like.shape[1]):
            rows = torch.zeros_like(like)
            rows[0, : len(part)] = part
            # A tap for each call: the tap counts the attention layers of a pass.
            with tap(self.hf_model, seen.append):
                call.repeat(module, rows)
        return seen

    def _matrix(
        self, parts: Sequence[Tensor | None], norm: NormGain | None
    ) -> tuple[Tensor, Tensor] | None:
        """Return the matrix and bias of each head from results for `unit_probes`.

        None if the results are not linear.
        """
        known = [part[0].float() for part in parts if part is not None]
        if len(known) < len(parts) or parts[0] is None:
            return None
        results = torch.cat(known, dim=1)[:, : len(unit_probes(self.size))]
        found = linear_map(results, _TOLERANCE.get(parts[0].dtype, _COARSE))
        if found is None:
            return None
        matrix, bias = found
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
        some = torch.tensor(
            [[n_tokens // 3, n_tokens // 2, n_tokens - 1]], dtype=torch.long, device="cpu"
        )
        self._projections.check(self.hf_model, self.inputs(some, same_position=False))
        modules = [site.module for site in self._sites]
        projections = [projection_of(self.hf_model, site) for site in self._sites]
        ends = [*projections, embedding, unembedding]
        watched = [*modules, *self.blocks, *self.norms, *filter(None, ends)]
        ids = torch.full((1, self.n_at_once), n_tokens // 2, dtype=torch.long, device="cpu")
        with tap(self.hf_model, lambda _: None), recorded_calls(watched) as calls:
            self.hf_model(**self.inputs(ids, same_position=True))
        return calls

    def _refuse_what_has_no_circuits(self) -> None:
        if {site.stack for site in self._sites} != {"self"}:
            raise ValueError(
                f"{self.class_name} has more than one stack of layers: pass a decoder-only "
                "model, such as GPT-2 or Llama"
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
    """Return the layer that an attention module is part of: the entry of a list of layers."""
    parts = site.path.split(".")
    for depth, part in enumerate(parts):
        container = hf_model.get_submodule(".".join(parts[:depth]))
        if isinstance(container, nn.ModuleList) and part.isdigit():
            return container[int(part)]
    raise ValueError(f"{type(hf_model).__name__} keeps its layers in no list: they cannot be read")


def unit_probes(size: int) -> Tensor:
    """Return the vectors that `linear_map` needs the results of, [size + 5, size].

    Zero, the unit vectors, and four random vectors that check whether the function is linear.

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

    None if the function is not affine.

    Args:
        results: What the function made of `unit_probes`, [..., size + 5, D].
        tolerance: Differences that rounding explains, as a share of the largest result.

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
    seen = results[..., -_CHECKED:, :]
    difference = (random @ matrix + bias - seen).abs().max()
    if float(difference) > tolerance * float(seen.abs().max()):
        return None
    return matrix, bias.squeeze(-2)
