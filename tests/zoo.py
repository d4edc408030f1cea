"""Small models with random weights, one of each way in which transformers computes attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers

VOCABULARY = 99
_ENCODER = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
_DECODER = _ENCODER | {
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_BART = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
_T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "num_heads": 4,
    "num_layers": 3,
    "d_ff": 37,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}
_VIT = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "intermediate_size": 48,
    "image_size": 16,
    "patch_size": 4,
}


@dataclass(frozen=True)
class Recipe:
    """How to build one model: its class, its config's class and fields, what it reads."""

    model: str
    config: str
    fields: dict[str, Any]
    reads: str = "text"


ZOO = {
    "bert": Recipe("BertForMaskedLM", "BertConfig", _ENCODER),
    "roberta": Recipe("RobertaModel", "RobertaConfig", _ENCODER),
    "distilbert": Recipe(
        "DistilBertModel",
        "DistilBertConfig",
        {
            "vocab_size": VOCABULARY,
            "dim": 32,
            "n_heads": 4,
            "n_layers": 3,
            "hidden_dim": 37,
            "max_position_embeddings": 64,
        },
    ),
    "albert": Recipe("AlbertModel", "AlbertConfig", _ENCODER | {"embedding_size": 16}),
    "electra": Recipe("ElectraModel", "ElectraConfig", _ENCODER | {"embedding_size": 16}),
    "deberta-v2": Recipe(
        "DebertaV2Model",
        "DebertaV2Config",
        _ENCODER
        | {
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_buckets": 8,
            "share_att_key": True,
        },
    ),
    "modernbert": Recipe(
        "ModernBertModel",
        "ModernBertConfig",
        _ENCODER
        | {
            "local_attention": 6,
            "global_attn_every_n_layers": 3,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
    ),
    "mpnet": Recipe("MPNetModel", "MPNetConfig", _ENCODER),
    "gpt2": Recipe(
        "GPT2LMHeadModel",
        "GPT2Config",
        {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64},
    ),
    "gpt-neox": Recipe("GPTNeoXForCausalLM", "GPTNeoXConfig", _ENCODER),
    "llama": Recipe("LlamaForCausalLM", "LlamaConfig", _DECODER),
    "qwen3": Recipe("Qwen3ForCausalLM", "Qwen3Config", _DECODER | {"head_dim": 8}),
    "gemma": Recipe("GemmaForCausalLM", "GemmaConfig", _DECODER | {"head_dim": 8}),
    "gemma2": Recipe(
        "Gemma2ForCausalLM",
        "Gemma2Config",
        _DECODER
        | {
            "head_dim": 8,
            "sliding_window": 5,
            "attn_logit_softcapping": 2.0,
            "query_pre_attn_scalar": 8,
        },
    ),
    "gpt-oss": Recipe(
        "GptOssForCausalLM",
        "GptOssConfig",
        _DECODER
        | {
            "head_dim": 8,
            "sliding_window": 5,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
        },
    ),
    "opt": Recipe(
        "OPTForCausalLM",
        "OPTConfig",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "ffn_dim": 37,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": 32,
        },
    ),
    "bloom": Recipe(
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 3, "n_head": 4},
    ),
    "t5": Recipe("T5ForConditionalGeneration", "T5Config", _T5, "texts"),
    "bart": Recipe("BartForConditionalGeneration", "BartConfig", _BART, "texts"),
    "vit": Recipe("ViTModel", "ViTConfig", _VIT, "image"),
}

# transformers refuses these under sdpa: their attention is more than it can compute.
EAGER_ONLY = {"deberta-v2", "mpnet", "gemma2", "gpt-oss", "bloom"}
if transformers.__version__.startswith("4."):
    EAGER_ONLY |= {"electra", "t5"}
# Their attention does not come from an AttentionInterface, so that only the weights are seen.
WEIGHTS_ONLY = {"deberta-v2", "mpnet", "bloom"}

LOADED = [
    (name, implementation)
    for name in ZOO
    for implementation in ("eager", "sdpa")
    if implementation == "eager" or name not in EAGER_ONLY
]


def build(
    name: str,
    implementation: str = "eager",
    dtype: torch.dtype = torch.float32,
    positions: int = 64,
) -> Any:
    """The model of that name in eval mode, always with the same weights, for inputs that long."""
    recipe = ZOO[name]
    limits = {"max_position_embeddings": positions, "n_positions": positions}
    fields = recipe.fields | {key: limit for key, limit in limits.items() if key in recipe.fields}
    config = getattr(transformers, recipe.config)(**fields)
    torch.manual_seed(0)
    model = getattr(transformers, recipe.model)._from_config(
        config, attn_implementation=implementation
    )
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            if parameter.dim() >= 2:  # spread enough for maps with peaks
                parameter.normal_(0, 0.15)
            elif "sinks" in path:
                parameter.normal_(0, 1.0)
    return model.to(dtype).eval()


def inputs(name: str, batch: int = 2, length: int = 14, padded: int = 4) -> dict[str, torch.Tensor]:
    """Inputs of `batch` items; the last of them is padded by so many tokens on the right."""
    random = torch.Generator().manual_seed(1)
    reads = ZOO[name].reads
    if reads == "image":
        return {"pixel_values": torch.randn(batch, 3, 16, 16, generator=random)}
    ids = torch.randint(5, VOCABULARY, (batch, length), generator=random)
    mask = torch.ones(batch, length, dtype=torch.long)
    if padded:
        mask[-1, -padded:] = 0
    given = {"input_ids": ids * mask, "attention_mask": mask}
    if reads == "texts":
        given["decoder_input_ids"] = torch.randint(5, VOCABULARY, (batch, 7), generator=random)
    return given


def eager_maps(name: str, given: dict[str, torch.Tensor]) -> dict[str, list[torch.Tensor]]:
    """What transformers itself says the attention is, [B, H, Q, K] a layer."""
    with torch.no_grad():
        output = build(name)(**given, output_attentions=True)
    fields: list[tuple[str, str]] = [
        ("self", "attentions"),
        ("encoder", "encoder_attentions"),
        ("decoder", "decoder_attentions"),
        ("cross", "cross_attentions"),
    ]
    found = {stack: getattr(output, field, None) for stack, field in fields}
    return {stack: list(maps) for stack, maps in found.items() if maps}
