"""A Llama of two layers with an induction circuit that was written by hand into its weights.

The stream has four parts: the token itself, the token before it, the token to predict, and a
constant. `PREVIOUS` copies the token before into the second part. `INDUCTION` looks for the place
where the token before was the current token, and writes the token of that place into the third
part, which alone has logits. All other heads and the MLPs have small random weights.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import AttentionModel, load_model

TOKENS = 16
"""Size of the vocabulary; token 0 begins a text."""
PREVIOUS = (0, 1)
"""Layer and head that attend to the token before."""
INDUCTION = (1, 2)
"""Layer and head that attend to the token after an earlier copy, and predict it."""
HEADS = 4
KEY_HEADS = 2
_SIZE = 3 * TOKENS + 4
_HEAD_SIZE = 64
_CONSTANT = _SIZE - 1
# Pairs of dimensions that turn fast tell neighbours apart; tokens are in pairs that hardly turn.
_FAST = 8
_SLOW = _HEAD_SIZE // 2 - TOKENS
_NOISE = 0.01


def planted_llama() -> LlamaForCausalLM:
    """Return the transformers model, in eval mode."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=TOKENS,
            hidden_size=_SIZE,
            intermediate_size=8,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            num_key_value_heads=KEY_HEADS,
            head_dim=_HEAD_SIZE,
            max_position_embeddings=128,
            rope_theta=1e6,
            tie_word_embeddings=False,
            bos_token_id=0,
            eos_token_id=None,
            pad_token_id=None,
        )
    ).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(0, _NOISE)
            else:
                assert "norm" in name
        embedding = model.model.embed_tokens.weight
        embedding.zero_()
        embedding[:, :TOKENS] = torch.eye(TOKENS)
        embedding[:, _CONSTANT] = 1
        model.lm_head.weight.zero_()
        model.lm_head.weight[:, 2 * TOKENS : 3 * TOKENS] = torch.eye(TOKENS)
        _plant_previous(model)
        _plant_induction(model)
    return model


def planted_model() -> AttentionModel:
    """Return the model as `load_model` does, without a tokenizer."""
    return load_model(planted_llama(), name="planted circuit", device="cpu")


def repeated(length: int = 15, seed: int = 0) -> Tensor:
    """Return ids [1, 2 length + 1]: the start, and different random tokens that occur twice."""
    generator = torch.Generator().manual_seed(seed)
    block = torch.randperm(TOKENS - 1, generator=generator)[:length] + 1
    return torch.cat([torch.zeros(1, dtype=torch.long), block, block])[None]


def _plant_previous(model: LlamaForCausalLM) -> None:
    """Queries and keys are constants, which the positions turn into a score of the distance 1."""
    attention = model.model.layers[PREVIOUS[0]].self_attn
    query, key, value, output = _parts(attention, PREVIOUS[1])
    frequencies = model.model.rotary_emb.inv_freq[:_FAST]
    half = _HEAD_SIZE // 2
    for part in (query, key, value, output):
        part.zero_()
    query[:_FAST, _CONSTANT] = 12.0
    # The key is turned back by one position: its score is largest one token after it.
    key[:_FAST, _CONSTANT] = 12.0 * frequencies.cos()
    key[half : half + _FAST, _CONSTANT] = 12.0 * frequencies.sin()
    value[:TOKENS, :TOKENS] = torch.eye(TOKENS)
    # A norm divides the embedding by the root of its mean square, sqrt(2 / size).
    output[TOKENS : 2 * TOKENS, :TOKENS] = torch.eye(TOKENS) * (2 / _SIZE) ** 0.5


def _plant_induction(model: LlamaForCausalLM) -> None:
    """The query is the token itself, the key the token before, the value the token itself."""
    attention = model.model.layers[INDUCTION[0]].self_attn
    query, key, value, output = _parts(attention, INDUCTION[1])
    for part in (query, key, value, output):
        part.zero_()
    query[_SLOW : _SLOW + TOKENS, :TOKENS] = 5 * torch.eye(TOKENS)
    key[_SLOW : _SLOW + TOKENS, TOKENS : 2 * TOKENS] = 5 * torch.eye(TOKENS)
    value[:TOKENS, :TOKENS] = torch.eye(TOKENS)
    output[2 * TOKENS : 3 * TOKENS, :TOKENS] = 4 * torch.eye(TOKENS)


def _parts(attention: torch.nn.Module, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the rows of W_Q, W_K and W_V and the columns of W_O of a head."""
    of_key = head // (HEADS // KEY_HEADS)
    rows = slice(head * _HEAD_SIZE, (head + 1) * _HEAD_SIZE)
    shared = slice(of_key * _HEAD_SIZE, (of_key + 1) * _HEAD_SIZE)
    return (
        attention.q_proj.weight[rows],
        attention.k_proj.weight[shared],
        attention.v_proj.weight[shared],
        attention.o_proj.weight[:, rows],
    )
