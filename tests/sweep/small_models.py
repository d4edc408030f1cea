"""Small models with random weights, always the same ones, and what they read."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import torch
import transformers
from torch import Tensor

from sweep.small_configs import FIRST_WORD, VOCABULARY, small_config
from sweep.tower_models import TOWER_CLASSES, tower_inputs

Side = Literal["left", "right"]
#: Longer than every window and every number of selected keys of the small configurations.
N_TOKENS = 21
#: Longer still, so that the maps of cross-attention determine the values that they multiply.
N_TARGET = 23
N_PADDED = 4
#: Models of documents by configuration type: words with boxes, beside a page or not.
DOCUMENTS: dict[str, tuple[str, ...]] = {
    "bros": ("BrosModel",),
    "layoutlmv3": ("LayoutLMv3Model",),
    "lilt": ("LiltModel",),
    "udop": ("UdopForConditionalGeneration",),
}
#: Models whose boxes are shares of the page, not thousandths.
_SHARES = ("bros", "udop")


def build(
    model_type: str,
    class_name: str,
    implementation: str = "eager",
    dtype: torch.dtype = torch.float32,
    vocabulary: int = VOCABULARY,
) -> Any:
    """The small model of this type in eval mode, loaded with an attention implementation.

    Raises:
        Exception: whatever the class raises of its configuration.
    """
    model_class = getattr(transformers, class_name)
    config = small_config(model_type, model_class, vocabulary)
    if dtype == torch.float64:
        config._experts_implementation = "eager"  # the grouped product of experts has no float64
    torch.manual_seed(0)
    model = model_class._from_config(config, attn_implementation=implementation)
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            if not parameter.is_floating_point():
                continue
            if parameter.dim() >= 2:  # spread enough for maps with peaks
                parameter.normal_(0, 0.15)
            elif "sinks" in path:
                parameter.normal_(0, 1.0)
            elif path.endswith("bias"):
                parameter.normal_(0, 0.05)
    return model.to(dtype).eval()


def inputs_of(model: Any, batch: int = 1, padded: Side | None = None) -> dict[str, Tensor]:
    """What a model reads: token ids, pixels or sound, and what its decoder reads.

    Args:
        model: a model that `build` made.
        batch: number of inputs.
        padded: side on which the last input is padded by `N_PADDED` tokens; None = nowhere.
    """
    random = torch.Generator().manual_seed(1)
    parameters = inspect.signature(model.forward).parameters
    dtype = model.dtype
    config = model.config
    if type(model).__name__ in TOWER_CLASSES.get(config.model_type, ()):
        return tower_inputs(model, batch, padded, random)
    if "input_ids" not in parameters and "pixel_values" in parameters:
        shape = (batch, config.num_channels, config.image_size, config.image_size)
        return {"pixel_values": torch.randn(shape, generator=random).to(dtype)}
    if "input_ids" not in parameters and "input_values" in parameters:
        return {"input_values": torch.randn(batch, 400, generator=random).to(dtype)}
    inputs: dict[str, Tensor] = {}
    if "input_ids" in parameters:
        inputs["input_ids"] = _words(batch, N_TOKENS, random)
    else:
        sound = torch.randn(batch, 8, 40, generator=random)
        inputs["input_features"] = sound.to(dtype)
    if config.model_type in DOCUMENTS:
        inputs["bbox"] = boxes_of(model, batch, N_TOKENS)
    if getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = _words(batch, N_TARGET, random)
    if padded is not None and {"input_ids", "attention_mask"} <= parameters.keys():
        mask = torch.ones_like(inputs["input_ids"])
        hidden = slice(None, N_PADDED) if padded == "left" else slice(-N_PADDED, None)
        mask[-1, hidden] = 0
        inputs["input_ids"] = inputs["input_ids"] * mask
        inputs["attention_mask"] = mask
    return inputs


def boxes_of(model: Any, batch: int, n_tokens: int) -> Tensor:
    """Boxes of the tokens of a text, [batch, tokens, 4], in the units of the model."""
    left = torch.arange(n_tokens, dtype=torch.long)[:, None]
    boxes = torch.cat([left, left, left + 9, left + 5], dim=1).repeat(batch, 1, 1)
    return (boxes / 100).to(model.dtype) if model.config.model_type in _SHARES else boxes


def options_of(model: Any) -> dict[str, Any]:
    """Arguments of every pass: no cache, which is not compared."""
    parameters = inspect.signature(model.forward).parameters
    return {"use_cache": False} if "use_cache" in parameters else {}


def _words(batch: int, length: int, random: torch.Generator) -> Tensor:
    return torch.randint(FIRST_WORD, VOCABULARY, (batch, length), generator=random)
