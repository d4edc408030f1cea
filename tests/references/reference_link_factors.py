"""Factors of a weight by literal forward passes in float64, for BERT, GPT-2 and Llama."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor


def literal_logs(
    hf_model: Any, ids: Tensor, head: tuple[int, int], query: int, key: int, rivals: Sequence[int]
) -> tuple[list[float], list[Tensor]]:
    """Return the logarithms of the factors of word, place and heads, and all maps of the model."""
    kind = {"BertForMaskedLM": _Bert, "GPT2LMHeadModel": _Gpt2, "LlamaForCausalLM": _Llama}
    model = kind[type(hf_model).__name__](copy.deepcopy(hf_model).double().eval())
    with torch.no_grad():
        states, written, maps = model.run(ids)
        layer, number = head
        query_vector = model.query(states[layer][query], query, layer, number)
        logs = [0.0, 0.0, 0.0]
        for rival in rivals:
            ends = (rival, key)

            def score(word: int, place: int, heads: int, ends: tuple[int, int] = ends) -> float:
                outputs = [written[number][ends[heads]] for number in range(layer)]
                state = model.state(ids[ends[word]], ends[place], outputs)
                vector = model.key(state, ends[place], layer, number)
                return float(query_vector @ vector) / math.sqrt(len(vector))

            for order in permutations(range(3)):
                at = [0, 0, 0]
                for part in order:
                    before = score(*at)
                    at[part] = 1
                    logs[part] += (score(*at) - before) / 6 / len(rivals)
    return logs, maps


def literal_written(
    hf_model: Any, ids: Tensor, head: tuple[int, int], query: int, key: int, rival: int
) -> Tensor:
    """Return the part of each earlier layer, head and word in the factor of heads, [l, H, K].

    The change of the score on the line between two outputs is divided by central differences, at
    the midpoints of short steps.
    """
    kind = {"BertForMaskedLM": _Bert, "GPT2LMHeadModel": _Gpt2, "LlamaForCausalLM": _Llama}
    model = kind[type(hf_model).__name__](copy.deepcopy(hf_model).double().eval())
    n_steps, width = 40, 1e-4
    with torch.no_grad():
        states, written, maps = model.run(ids)
        layer, number = head
        query_vector = model.query(states[layer][query], query, layer, number)
        parts = torch.zeros(layer, model.n_heads, len(ids), dtype=torch.float64)
        for earlier, one, word in product(range(layer), range(model.n_heads), range(len(ids))):
            value = model.value(states[earlier], earlier, one)[word]
            alone = torch.zeros(model.n_heads, len(value), dtype=torch.float64)
            alone[one] = value
            nothing = model.project(torch.zeros_like(alone).flatten()[None], earlier)[0]
            output = model.project(alone.flatten()[None], earlier)[0] - nothing
            moved = (maps[earlier][one, key, word] - maps[earlier][one, rival, word]) * output
            for place_of_word, place in product((rival, key), (rival, key)):
                n_swapped = (place_of_word == key) + (place == key)
                order = 1 / math.comb(2, n_swapped) / 3
                for step in range(n_steps):
                    share = (step + 0.5) / n_steps
                    scores = []
                    for side in (-1, 1):
                        outputs = [
                            (1 - share) * written[number][rival] + share * written[number][key]
                            for number in range(layer)
                        ]
                        outputs[earlier] = outputs[earlier] + side * width * moved
                        state = model.state(ids[place_of_word], place, outputs)
                        vector = model.key(state, place, layer, number)
                        scores.append(float(query_vector @ vector) / math.sqrt(len(vector)))
                    slope = (scores[1] - scores[0]) / (2 * width)
                    parts[earlier, one, word] += order * slope / n_steps
    return parts


class _Reader:
    """A model that reads a text token by token, beside its attention."""

    is_causal = True
    n_heads: int

    def __init__(self, model: Any) -> None:
        self.model = model
        self.n_heads = model.config.num_attention_heads
        self.n_layers = model.config.num_hidden_layers

    def run(self, ids: Tensor) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Return the states before each layer, the outputs of attention, and the maps."""
        states, written, maps = [], [], []
        for layer in range(self.n_layers):
            state = torch.stack(
                [
                    self.state(token, place, [output[place] for output in written])
                    for place, token in enumerate(ids)
                ]
            )
            heads = []
            rows = []
            for head in range(self.n_heads):
                query = torch.stack([self.query(x, i, layer, head) for i, x in enumerate(state)])
                key = torch.stack([self.key(x, i, layer, head) for i, x in enumerate(state)])
                scores = query @ key.T / math.sqrt(query.shape[-1])
                if self.is_causal:
                    later = torch.ones_like(scores).triu(1).bool()
                    scores = scores.masked_fill(later, -torch.inf)
                weights = scores.softmax(-1)
                heads.append(weights @ self.value(state, layer, head))
                rows.append(weights)
            states.append(state)
            written.append(self.project(torch.cat(heads, -1), layer))
            maps.append(torch.stack(rows))
        return states, written, maps

    def part(self, whole: Tensor, head: int) -> Tensor:
        """Return the slice of a head."""
        return whole.unflatten(-1, (self.n_heads, -1))[..., head, :]

    def state(self, token: Tensor, place: int, outputs: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    def query(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        raise NotImplementedError

    def key(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        raise NotImplementedError

    def value(self, states: Tensor, layer: int, head: int) -> Tensor:
        raise NotImplementedError

    def project(self, heads: Tensor, layer: int) -> Tensor:
        raise NotImplementedError


class _Bert(_Reader):
    is_causal = False

    def state(self, token: Tensor, place: int, outputs: Sequence[Tensor]) -> Tensor:
        tables = self.model.bert.embeddings
        types = tables.token_type_embeddings.weight[0]
        summed = tables.word_embeddings.weight[token] + tables.position_embeddings.weight[place]
        x = tables.LayerNorm(summed + types)
        for block, output in zip(self.model.bert.encoder.layer, outputs, strict=False):
            x = block.attention.output.LayerNorm(x + output)
            inner = block.intermediate.intermediate_act_fn(block.intermediate.dense(x))
            x = block.output.LayerNorm(x + block.output.dense(inner))
        return x

    def query(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        block = self.model.bert.encoder.layer[layer].attention.self
        return self.part(block.query(state), head)

    def key(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        block = self.model.bert.encoder.layer[layer].attention.self
        return self.part(block.key(state), head)

    def value(self, states: Tensor, layer: int, head: int) -> Tensor:
        return self.part(self.model.bert.encoder.layer[layer].attention.self.value(states), head)

    def project(self, heads: Tensor, layer: int) -> Tensor:
        return self.model.bert.encoder.layer[layer].attention.output.dense(heads)


class _Gpt2(_Reader):
    def state(self, token: Tensor, place: int, outputs: Sequence[Tensor]) -> Tensor:
        text = self.model.transformer
        x = text.wte.weight[token] + text.wpe.weight[place]
        for block, output in zip(text.h, outputs, strict=False):
            x = x + output
            x = x + block.mlp(block.ln_2(x)[None])[0]
        return x

    def _vectors(self, state: Tensor, layer: int) -> Sequence[Tensor]:
        block = self.model.transformer.h[layer]
        flat = block.ln_1(state).reshape(-1, state.shape[-1])
        return block.attn.c_attn(flat).reshape(*state.shape[:-1], -1).chunk(3, -1)

    def query(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        return self.part(self._vectors(state, layer)[0], head)

    def key(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        return self.part(self._vectors(state, layer)[1], head)

    def value(self, states: Tensor, layer: int, head: int) -> Tensor:
        return self.part(self._vectors(states, layer)[2], head)

    def project(self, heads: Tensor, layer: int) -> Tensor:
        return self.model.transformer.h[layer].attn.c_proj(heads)


class _Llama(_Reader):
    def state(self, token: Tensor, place: int, outputs: Sequence[Tensor]) -> Tensor:
        x = self.model.model.embed_tokens.weight[token]
        for block, output in zip(self.model.model.layers, outputs, strict=False):
            x = x + output
            x = x + block.mlp(block.post_attention_layernorm(x).double())
        return x

    def _normed(self, state: Tensor, layer: int) -> Tensor:
        norm = self.model.model.layers[layer].input_layernorm
        epsilon = self.model.config.rms_norm_eps
        return norm.weight * state / (state.square().mean(-1, keepdim=True) + epsilon).sqrt()

    def _shared(self, whole: Tensor, head: int) -> Tensor:
        n_key_heads = self.model.config.num_key_value_heads
        group = self.n_heads // n_key_heads
        return whole.unflatten(-1, (n_key_heads, -1))[..., head // group, :]

    def _turned(self, vector: Tensor, place: int) -> Tensor:
        half = len(vector) // 2
        config = self.model.config
        theta = getattr(config, "rope_theta", None) or config.rope_parameters["rope_theta"]
        rates = float(theta) ** -(torch.arange(half, dtype=torch.float64) / half)
        first, second = vector[:half], vector[half:]
        cos, sin = (place * rates).cos(), (place * rates).sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin])

    def query(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        whole = self.model.model.layers[layer].self_attn.q_proj(self._normed(state, layer))
        return self._turned(self.part(whole, head), place)

    def key(self, state: Tensor, place: int, layer: int, head: int) -> Tensor:
        whole = self.model.model.layers[layer].self_attn.k_proj(self._normed(state, layer))
        return self._turned(self._shared(whole, head), place)

    def value(self, states: Tensor, layer: int, head: int) -> Tensor:
        whole = self.model.model.layers[layer].self_attn.v_proj(self._normed(states, layer))
        return self._shared(whole, head)

    def project(self, heads: Tensor, layer: int) -> Tensor:
        return self.model.model.layers[layer].self_attn.o_proj(heads)
