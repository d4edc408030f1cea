"""Small configurations: the fields that make a model large get small values, whatever its type."""

from __future__ import annotations

from typing import Any

from transformers import CONFIG_MAPPING, PretrainedConfig

VOCABULARY = 128
#: Ids below this one are special tokens; inputs are drawn from the others.
FIRST_WORD = 24
N_LAYERS = 4
WINDOW = 5
TOP_K = 6
#: Number of patches of a small picture.
N_PATCHES = 16

_SIZES: dict[str, Any] = {
    # hidden sizes
    **dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "d_latents"), 32
    ),
    **dict.fromkeys(("word_embed_proj_dim", "input_embedding_size", "output_embedding_size"), 32),
    **dict.fromkeys(("entity_emb_size", "projection_dim", "embedding_rank", "lru_width"), 32),
    **dict.fromkeys(("prediction_head_size", "router_hidden_size", "audio_hidden_size"), 32),
    **dict.fromkeys(("pronunciation_embed_dim", "shape_embed_dim", "backbone_hidden_size"), 32),
    **dict.fromkeys(("hidden_size_global", "cross_hidden_size", "adapter_in_dim"), 32),
    **dict.fromkeys(("adapter_input_size", "condition_dim"), 32),
    **dict.fromkeys(("intra_bottleneck_size", "true_hidden_size", "output_dim"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("d_ff", "d_inner", "dff", "dim_ff", "hidden_dim", "mlp_dim", "n_inner"), 48),
    **dict.fromkeys(("ffn_hidden_size", "feed_forward_size", "intermediate_size_mlp"), 48),
    **dict.fromkeys(("dense_intermediate_size", "block_ff_dim"), 48),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("shared_intermediate_size", "expert_ffn_hidden_size"), 16),
    **dict.fromkeys(("moe_shared_expert_intermediate_size", "hidden_size_per_layer_input"), 16),
    # layers
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), N_LAYERS),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers"), 3),
    **dict.fromkeys(("num_decoder_layers", "t2u_encoder_layers", "t2u_decoder_layers"), 3),
    **dict.fromkeys(("num_layers_per_stack", "speech_encoder_layers"), 2),
    # heads
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("num_self_attention_heads", "num_cross_attention_heads"), 4),
    **dict.fromkeys(("t2u_encoder_attention_heads", "t2u_decoder_attention_heads"), 4),
    **dict.fromkeys(("speech_encoder_attention_heads",), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "kv_n_heads"), 2),
    **dict.fromkeys(("head_dim", "d_head", "d_kv", "dim_head", "attention_head_size"), 8),
    **dict.fromkeys(("kv_channels", "query_pre_attn_scalar", "global_head_dim"), 8),
    **dict.fromkeys(("swa_head_dim", "linear_head_dim"), 8),
    **dict.fromkeys(("swa_num_attention_heads", "linear_num_heads"), 4),
    "swa_num_key_value_heads": 2,
    "attention_head_dim": 16,
    # latent attention
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "o_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "qk_head_dim": 12,
    "v_head_dim": 6,
    # sparse attention and windows, all shorter than the inputs
    **dict.fromkeys(("sliding_window", "window_size", "attention_window_size"), WINDOW),
    **dict.fromkeys(("local_attention_window_len", "keep_window_size"), WINDOW),
    **dict.fromkeys(("attention_chunk_size", "local_attention"), 6),
    "attention_window": 4,
    "local_radius": 3,
    "global_block_size": 4,
    "index_topk": TOP_K,
    "index_n_heads": 2,
    "index_head_dim": 8,
    "index_block_size": 4,
    "index_topk_blocks": 2,
    "o_groups": 2,
    # experts
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("moe_num_experts", "num_moe_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "moe_k", "moe_top_k", "top_k_experts"), 2),
    **dict.fromkeys(("n_group", "topk_group", "n_shared_experts", "num_shared_experts"), 1),
    "moe_num_shared_experts": 1,
    "zero_expert_num": 2,
    "first_k_dense_replace": 1,
    # state space models and linear attention
    **dict.fromkeys(("mamba_d_state", "state_size", "ssm_state_size"), 8),
    **dict.fromkeys(("mamba_n_heads", "n_mamba_heads", "mamba_num_heads"), 4),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim", "mamba_headdim"), 16),
    "mamba_d_ssm": 64,
    "time_step_rank": 4,
    "mamba_dt_rank": 4,
    "n_groups": 1,
    **dict.fromkeys(("chunk_size", "mamba_chunk_size"), 8),
    **dict.fromkeys(("linear_num_key_heads", "linear_num_value_heads"), 2),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), 8),
    # positions
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 64),
    **dict.fromkeys(("max_encoder_position_embeddings", "max_decoder_position_embeddings"), 64),
    **dict.fromkeys(("max_target_positions", "context_length", "seq_length"), 64),
    "max_2d_position_embeddings": 64,
    "max_source_positions": 20,
    "rotary_dim": 4,
    # vocabulary
    **dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size"), VOCABULARY),
    **dict.fromkeys(("vocab_size_per_layer_input", "decoder_vocab_size"), VOCABULARY),
    **dict.fromkeys(("unpadded_vocab_size", "entity_vocab_size", "audio_vocab_size"), VOCABULARY),
    **dict.fromkeys(("pronunciation_vocab_size", "shape_vocab_size"), VOCABULARY),
    **dict.fromkeys(("t2u_vocab_size", "char_vocab_size", "unit_hifi_gan_vocab_size"), VOCABULARY),
    # images and sound
    "image_size": 16,
    "patch_size": 4,
    "num_mel_bins": 8,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
_VOCABULARIES = {name for name, size in _SIZES.items() if size == VOCABULARY}
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}

#: Fields of single types that the values above do not suit.
_MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
_HALF_MROPE = {**_MROPE, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 0]}
_ALL_HEADS = {"num_key_value_heads": 4}
_HEAD_SIZE = {"head_dim": 8}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_SOUND = {"conv_dim": [16, 16], "conv_stride": [4, 4], "conv_kernel": [8, 8]}
BY_TYPE: dict[str, dict[str, Any]] = {
    "audio-spectrogram-transformer": {
        "patch_size": 4,
        "frequency_stride": 3,
        "time_stride": 3,
        "max_length": 16,
    },
    "bailing_hybrid": {"n_group": 1, "topk_group": 1, "num_experts_per_tok": 2},
    "bamba": {"attn_layer_indices": [1, 3]},
    "blt": {"encoder_hash_byte_group_vocab": VOCABULARY},
    "blip-2": {"image_token_index": 5, "num_query_tokens": 4},
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "rope_parameters": {"sliding_attention": _ROPE, "full_attention": _ROPE},
    },
    "data2vec-audio": _SOUND,
    "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0}},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "detr": {
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
        "backbone_config": {
            "model_type": "resnet",
            "embedding_size": 8,
            "hidden_sizes": [8] * 4,
            "depths": [1] * 4,
            "layer_type": "basic",
            "out_features": ["stage4"],
        },
        "num_queries": 6,  # as many as the picture has cells
    },
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "dots3_note_text": {  # its layers with a window have half the heads
        "swa_num_attention_heads": 2,
        "swa_num_key_value_heads": 2,
        "swa_q_lora_rank": 16,
        "swa_kv_lora_rank": 16,
        "swa_head_dim": 12,
        "swa_qk_nope_head_dim": 8,
        "swa_v_head_dim": 6,
    },
    "esm": {"vocab_size": VOCABULARY, "mask_token_id": 3, "pad_token_id": 0},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "glm4v_text": {"rope_parameters": _HALF_MROPE},
    "glm4v_moe_text": {"rope_parameters": _HALF_MROPE},
    "glm5_next_text": {"index_kpool": 2, "qk_rope_head_dim": 0, "head_dim": 0},
    "glm_image_text": {"rope_parameters": _MROPE},
    "glm_ocr_text": {"rope_parameters": _MROPE},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"] * 2},
    "hrm_text": {"num_hidden_layers": 2, "num_layers_per_stack": None},
    "hubert": _SOUND,
    "hunyuan_v1_dense": _HEAD_SIZE,
    "hunyuan_v1_moe": _HEAD_SIZE,
    "hunyuan_vl_text": {"head_dim": 8, "rope_parameters": {**_ROPE, "mrope_section": [1] * 4}},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
    "layoutlmv3": {"coordinate_size": 4, "shape_size": 8, "input_size": 16},
    "lilt": {"hidden_size": 48, "channel_shrink_ratio": 2},
    "bros": {"hidden_size": 128},
    "kimi_linear": {"num_experts_per_tok": 2},
    "kosmos_2_5_text_model": {"embed_dim": 32, "layers": 3, "attention_heads": 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2},
    "mamba2": {"num_heads": 4, "head_dim": 16},
    "ministral": _HEAD_SIZE,
    "musicgen_decoder": {"num_codebooks": 1},
    "musicgen_melody_decoder": {"num_codebooks": 1},
    "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
    "neomme": {"head_dim": 16},
    "qwen2_5_vl_text": {"rope_parameters": _MROPE},
    "qwen2_vl_text": {"rope_parameters": _MROPE},
    "qwen2_vl_vision": {
        "depth": N_LAYERS,
        "embed_dim": 32,
        "mlp_ratio": 2,
        "temporal_patch_size": 2,
    },
    "qwen4_exp_text": {
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": TOP_K,
        "indexer_compress_ratio": 2,
    },
    "reformer": {
        "is_decoder": True,
        "axial_pos_shape": [8, 8],
        "axial_pos_embds_dim": [16, 16],
        "local_attn_chunk_length": 8,
        "lsh_attn_chunk_length": 8,
    },
    "sam_vision_model": {"window_size": 2, "global_attn_indexes": [1], "output_channels": 8},
    "swin": {  # windows divide the picture, so that no token is padding
        "embed_dim": 16,
        "depths": [2, 2],
        "num_heads": [2, 4],
        "patch_size": 2,
        "window_size": 4,
    },
    "vibevoice_acoustic_tokenizer_encoder": {"num_filters": 2, "depths": [1] * 7},
    "videomae": {"num_frames": 4, "tubelet_size": 2},
    "vit_mae": {"mask_ratio": 0.25},
    "vivit": {"num_frames": 4, "tubelet_size": [2, 4, 4]},
    "yolos": {"image_size": [16, 24], "num_detection_tokens": 3},
    "vits": {"noise_scale": 0.0, "noise_scale_duration": 0.0, "upsample_initial_channel": 64},
    "wav2vec2": _SOUND,
    "wav2vec2-conformer": _SOUND,
    "wavlm": _SOUND,
    "xmod": {"default_language": "en_XX"},
    "zaya": {"num_experts_per_tok": 1},
}
for _name in ("dots3_note_text", "esmc", "glm5_next_text"):
    BY_TYPE[_name] = BY_TYPE.get(_name, {}) | _ALL_HEADS


def small_config(
    model_type: str, model_class: type, vocabulary: int = VOCABULARY
) -> PretrainedConfig:
    """The configuration of a small model of this type, or the part of it that the class takes.

    Args:
        model_type: The type of the configuration.
        model_class: The class of the model.
        vocabulary: Number of entries of the vocabulary.

    Raises:
        Exception: whatever the type raises of values that do not suit it.
    """
    config = _shrunk(CONFIG_MAPPING[model_type], vocabulary)
    if isinstance(config, model_class.config_class):
        return config
    parts = [part for part in vars(config).values() if isinstance(part, model_class.config_class)]
    return parts[0] if parts else config


def _shrunk(config_class: type[PretrainedConfig], vocabulary: int) -> PretrainedConfig:
    own = BY_TYPE.get(config_class.model_type, {})
    try:
        default = config_class()
    except Exception:
        default = config_class(**own)  # it has fields without a default
    fields: dict[str, Any] = {}
    tokens = 3
    n_layers = _count_layers(default)
    for name, value in vars(default).items():
        if name.startswith("_") or name in config_class.attribute_map:
            continue
        if isinstance(value, PretrainedConfig):
            fields[name] = _shrunk(type(value), vocabulary)
        elif name in _SIZES and value is not None:
            fields[name] = vocabulary if name in _VOCABULARIES else _SIZES[name]
        elif name in _TOKENS:
            fields[name] = _TOKENS[name]
        elif name.endswith(("_token_id", "_token_index")) and value is not None:
            fields[name] = tokens
            tokens += 1
        elif isinstance(value, (list, tuple)) and n_layers and len(value) == n_layers:
            fields[name] = _of_layers(value)
        elif name.startswith("rope_") and isinstance(value, dict):
            fields[name] = _rope(value)
    if "kv_lora_rank" in fields and "num_key_value_heads" in fields:
        fields["num_key_value_heads"] = 4  # latent attention has a key head for every query head
        if "head_dim" in fields:
            fields["head_dim"] = _SIZES["qk_rope_head_dim"]
    if getattr(default, "use_sliding_window", None) is False and "layer_types" in fields:
        fields["use_sliding_window"] = True
        fields["sliding_window"] = WINDOW
        fields["layer_types"] = _of_layers(["full_attention", "sliding_attention"])
    return config_class(**fields | own)


def _count_layers(config: PretrainedConfig) -> int:
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
        count = getattr(config, name, None)
        if isinstance(count, int):
            return count
    return 0


def _of_layers(values: Any) -> list[Any]:
    """What every layer is, with each kind of layer among the first ones."""
    kinds = list(dict.fromkeys(map(str, values)))
    first = [next(value for value in values if str(value) == kind) for kind in kinds]
    return [first[i % len(first)] for i in range(N_LAYERS)]


def _rope(parameters: dict[str, Any]) -> dict[str, Any]:
    """Position encodings for heads of 8."""
    small = {}
    for name, value in parameters.items():
        if isinstance(value, dict):
            small[name] = _rope(value)
        elif name == "mrope_section":
            small[name] = [2, 1, 1]
        else:
            small[name] = value
    return small
