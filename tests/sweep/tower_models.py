"""Models with towers beside a text, and readers of pictures and sound: inputs and stacks of each.

The stacks are stated here by hand, so that the package is compared with them. The inputs have as
many text tokens as the tower has patches wherever that is possible: the maps of both then have the
same shape, and only their modules tell them apart.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Generator, Tensor, nn

from sweep.small_configs import FIRST_WORD, N_PATCHES, VOCABULARY

#: Classes by configuration type.
TOWER_CLASSES: dict[str, tuple[str, ...]] = {
    "audio-spectrogram-transformer": ("ASTModel",),
    "blip": ("BlipForConditionalGeneration", "BlipForQuestionAnswering", "BlipModel"),
    "blip-2": ("Blip2ForConditionalGeneration",),
    "clip": ("CLIPModel",),
    "detr": ("DetrModel", "DetrForObjectDetection"),
    "dinov2_with_registers": ("Dinov2WithRegistersModel",),
    "flava": ("FlavaModel",),
    "idefics3": ("Idefics3ForConditionalGeneration",),
    "llava": ("LlavaForConditionalGeneration", "LlavaModel"),
    "lxmert": ("LxmertModel",),
    "owlvit": ("OwlViTModel",),
    "paligemma": ("PaliGemmaForConditionalGeneration",),
    "qwen2_vl": ("Qwen2VLForConditionalGeneration",),
    "siglip": ("SiglipModel",),
    "smolvlm": ("SmolVLMForConditionalGeneration",),
    "videomae": ("VideoMAEModel",),
    "vision-encoder-decoder": ("VisionEncoderDecoderModel",),
    "vision-text-dual-encoder": ("VisionTextDualEncoderModel",),
    "vit_mae": ("ViTMAEModel",),
    "vivit": ("VivitModel",),
    "yolos": ("YolosModel",),
}
#: For each type the stack of each attention module, by a pattern of its path.
_STACKS: dict[str, dict[str, str]] = {
    "blt": {
        "encoder cross": r"local_encoder\.cross_attn",
        "encoder": r"local_encoder\.",
        "global_transformer": r"global_transformer\.",
        "cross": r"local_decoder\.cross_attn",
        "decoder": r"local_decoder\.",
        "patcher": r"patcher\.",
    },
    "blip": {
        "cross": r"text_(decoder|model)\..*crossattention",
        "self": r"text_(decoder|model)\.",
        "vision": r"vision_model\.",
    },
    "blip-2": {
        "qformer cross": r"qformer\..*crossattention",
        "qformer": r"qformer\.",
        "self": r"language_model\.",
        "vision": r"vision_model\.",
    },
    "clip": {"self": r"text_model\.", "vision": r"vision_model\."},
    "flava": {
        "self": r"text_model\.",
        "vision": r"image_model\.",
        "multimodal_model": r"multimodal_model\.",
    },
    "idefics3": {"self": r"text_model\.", "vision": r"vision_model\."},
    "llava": {"self": r"language_model\.", "vision": r"vision_tower\."},
    "lxmert": {
        "self": r"encoder\.layer\.",
        "r_layers": r"r_layers\.",
        "x_layers.lang_self_att": r"x_layers\.\d+\.lang_self_att",
        "vision": r"x_layers\.\d+\.visn_self_att",
        "cross": r"x_layers\.\d+\.visual_attention",
    },
    "owlvit": {"self": r"text_model\.", "vision": r"vision_model\."},
    "paligemma": {"self": r"language_model\.", "vision": r"vision_tower\."},
    "qwen2_vl": {"self": r"language_model\.", "vision": r"visual\."},
    "siglip": {"self": r"text_model\.", "vision": r"vision_model\."},
    "smolvlm": {"self": r"text_model\.", "vision": r"vision_model\."},
    "vision-text-dual-encoder": {"self": r"text_model\.", "vision": r"vision_model\."},
}
_OF_QUESTIONS = {
    "cross": r"text_decoder\..*crossattention",
    "encoder cross": r"text_encoder\..*crossattention",
    "decoder": r"text_decoder\.",
    "encoder": r"text_encoder\.",
    "vision": r"vision_model\.",
}
#: The stacks whose queries are the tokens of `input_ids`, which an attention mask hides.
READ_THE_TEXT = (
    "self",
    "encoder",
    "x_layers.lang_self_att",
    "encoder cross",
    "H_module",
    "patcher",
    "final_char_encoder",
)
#: Number of placeholders of a picture in the text, by type.
_PLACEHOLDERS = {
    "blip-2": 4,
    "idefics3": 2 * N_PATCHES // 4,
    "llava": N_PATCHES,
    "paligemma": N_PATCHES,
    "qwen2_vl": N_PATCHES // 4,
    "smolvlm": N_PATCHES // 4,
}
# A class token stands beside the patches of most towers.
_WITHOUT_CLASS = ("idefics3", "siglip", "smolvlm", "qwen2_vl")


def tower_stacks(model: Any) -> dict[str, str] | None:
    """A pattern of module paths for each stack of these models; None for other models."""
    if type(model).__name__ == "BlipForQuestionAnswering":
        return _OF_QUESTIONS
    return _STACKS.get(model.config.model_type)


def tower_inputs(
    model: Any, batch: int, padded: str | None, random: Generator
) -> dict[str, Tensor]:
    """What one of these models reads: a picture, a video or a sound, and a text for most.

    Args:
        model: A model that `build` made.
        batch: Number of inputs.
        padded: Side on which a text is padded, as in `inputs_of`; texts with placeholders and
            models without a text are not padded.
        random: Generator of all numbers.
    """
    config = model.config
    kind = config.model_type
    parameters = inspect.signature(model.forward).parameters
    dtype = model.dtype

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random).to(dtype)

    side = 16
    inputs: dict[str, Tensor] = {}
    if "pixel_values" in parameters:
        shapes = {
            "detr": (batch, 3, 64, 96),
            "idefics3": (batch, 2, 3, side, side),
            "qwen2_vl": (batch * N_PATCHES, 3 * 2 * 4 * 4),
            "smolvlm": (batch, 1, 3, side, side),
            "videomae": (batch, 4, 3, side, side),
            "vivit": (batch, 4, 3, side, side),
            "yolos": (batch, 3, side, side + 8),
        }
        inputs["pixel_values"] = numbers(*shapes.get(kind, (batch, 3, side, side)))
    if kind == "qwen2_vl":
        rows = int(N_PATCHES**0.5)
        inputs["image_grid_thw"] = torch.tensor([[1, rows, rows]] * batch)
    if "noise" in parameters:
        inputs["noise"] = torch.rand(1, N_PATCHES, generator=random).repeat(batch, 1)
    if "visual_feats" in parameters:
        inputs["visual_feats"] = numbers(batch, N_PATCHES + 1, config.visual_feat_dim)
        inputs["visual_pos"] = numbers(batch, N_PATCHES + 1, 4)
    if kind == "audio-spectrogram-transformer":
        inputs["input_values"] = numbers(batch, config.max_length, config.num_mel_bins)
    length = N_PATCHES + (kind not in _WITHOUT_CLASS)
    if "decoder_input_ids" in parameters and kind != "blip-2":
        inputs["decoder_input_ids"] = torch.randint(
            FIRST_WORD, VOCABULARY, (batch, length), generator=random
        )
    if "input_ids" in parameters:
        ids = torch.randint(FIRST_WORD, VOCABULARY, (batch, length), generator=random)
        count = _PLACEHOLDERS.get(kind, 0)
        if count:
            places = slice(1, 1 + count) if count < length else slice(0, count)
            ids[:, places] = _placeholder(config)
            if "mm_token_type_ids" in parameters:
                inputs["mm_token_type_ids"] = (ids == _placeholder(config)).long()
            if kind == "paligemma":
                # Without these types, transformers itself masks under sdpa and not under eager.
                inputs["token_type_ids"] = torch.zeros_like(ids)
        elif padded is not None:
            mask = torch.ones_like(ids)
            mask[-1, slice(None, 4) if padded == "left" else slice(-4, None)] = 0
            ids = ids * mask
            inputs["attention_mask"] = mask
        inputs = {"input_ids": ids, **inputs}
    return inputs


def _placeholder(config: Any) -> int:
    return int(getattr(config, "image_token_id", None) or config.image_token_index)


def returned_by_towers(model: nn.Module, output: Any) -> dict[str, list[Tensor]]:
    """The maps of text and picture in the outputs of models that return both; {} of others."""
    maps: dict[str, list[Tensor]] = {}
    for stack, field in (("self", "text_model_output"), ("vision", "vision_model_output")):
        layers = getattr(getattr(output, field, None), "attentions", None)
        if layers:
            maps[stack] = list(layers)
    if type(model).__name__ == "LxmertModel":
        maps["self"] = list(output.language_attentions)
        maps["r_layers"] = list(output.vision_attentions)
    return maps
