"""Small models of every kind of attention, read over one input, for tests of decompositions."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from attnwidget import Attention, load_model
from fixtures import zoo

_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
_YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
}
_DECODER = zoo.ZOO["llama"].fields
# Beside the zoo: interleaved pairs, partial rotation, scaled rotation, ALiBi, rotation of the last
# dimensions alone, layers with and without rotation, norms behind the blocks, residual in the MLP.
_MORE = {
    "cohere": ("CohereForCausalLM", "CohereConfig", _DECODER),
    "phi": ("PhiForCausalLM", "PhiConfig", _DECODER | {"partial_rotary_factor": 0.5}),
    "llama3 scaling": (
        "LlamaForCausalLM",
        "LlamaConfig",
        _DECODER | {"rope_parameters": _LLAMA3},
    ),
    "yarn scaling": ("LlamaForCausalLM", "LlamaConfig", _DECODER | {"rope_parameters": _YARN}),
    "alibi": (
        "FalconForCausalLM",
        "FalconConfig",
        {
            "vocab_size": zoo.VOCABULARY,
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "alibi": True,
            "parallel_attn": False,
            "bias": True,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
    ),
    "deepseek": (
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        _DECODER
        | {
            "num_key_value_heads": 4,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
            "n_routed_experts": 2,
            "num_experts_per_tok": 1,
            "n_group": 1,
            "topk_group": 1,
            "moe_intermediate_size": 16,
        },
    ),
    "smollm3": (
        "SmolLM3ForCausalLM",
        "SmolLM3Config",
        _DECODER | {"no_rope_layers": [1, 0, 1], "pad_token_id": 0},
    ),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", _DECODER),
    "esm": (
        "EsmForMaskedLM",
        "EsmConfig",
        zoo.ZOO["bert"].fields
        | {"position_embedding_type": "rotary", "pad_token_id": 0, "mask_token_id": 3},
    ),
}
#: Models whose queries and keys are known.
READABLE = [*(name for name in zoo.ZOO if name not in zoo.WEIGHTS_ONLY), *_MORE]
#: Models that turn queries and keys, the number of pairs in a head, and dimensions that turn not.
ROTARY = {
    "modernbert": (4, 0),
    "gpt-neox": (1, 6),
    "llama": (4, 0),
    "qwen3": (4, 0),
    "gemma2": (4, 0),
    "gpt-oss": (4, 0),
    "cohere": (4, 0),
    "phi": (2, 4),
    "llama3 scaling": (4, 0),
    "yarn scaling": (4, 0),
    "deepseek": (2, 8),
    "smollm3": (4, 0),
    "esm": (4, 0),
}


def build(name: str) -> Any:
    """A model of the zoo, or one of the further kinds, in eval mode with the same weights."""
    if name in zoo.ZOO:
        return zoo.build(name)
    model_class, config_class, fields = _MORE[name]
    config = getattr(transformers, config_class)(**fields)
    torch.manual_seed(0)
    implementation = "sdpa" if name == "alibi" else "eager"  # eager ALiBi shows weights alone
    model = getattr(transformers, model_class)._from_config(
        config, attn_implementation=implementation
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.15)
    return model.eval()


def inputs(name: str) -> dict[str, torch.Tensor]:
    """One input of 14 tokens."""
    return zoo.inputs(name if name in zoo.ZOO else "llama", batch=1, padded=0)


def attend(name: str, model: Any = None) -> Attention:
    """The attention of a model over its input."""
    return load_model(build(name) if model is None else model, tokenizer=None).attend(inputs(name))
