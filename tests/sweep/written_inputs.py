"""What the tokenizer or the processor of a type writes: all of its tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import transformers
from torch import Tensor
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from fixtures.vocabularies import MAKERS
from sweep.small_configs import VOCABULARY
from sweep.small_models import boxes_of, inputs_of
from sweep.small_tokenizers import NotBuilt, built, tokenizer_classes

TEXT = "The captain told his men"
SECOND = "He left."
_WORDS = TEXT.split()
_SIDE = 16
# A token of the text for each patch of a picture, in models whose processor needs no other parts.
_PLACEHOLDERS = ("llava",)
_MARK = "<image>"


class NotWritten(Exception):  # noqa: N818 (a reason, no error)
    """No tokenizer or processor of a type writes inputs here, with the reason."""


def tokenizer_of(model_type: str) -> Any:
    """A small tokenizer of the class that transformers registers for a type, or a generic one.

    Raises:
        NotWritten: it cannot be built here.
    """
    name = TOKENIZER_MAPPING_NAMES.get(model_type, "TokenizersBackend")
    if not isinstance(name, str):
        raise NotWritten("its tokenizer needs a package that is not installed")
    try:
        tokenizer = built(name) if name in tokenizer_classes() else MAKERS["byte level"]()
    except NotBuilt as reason:
        raise NotWritten(f"{name} is not built: {reason}") from reason
    if model_type in _PLACEHOLDERS:
        tokenizer.add_special_tokens({"additional_special_tokens": [_MARK]})
    return tokenizer


def vocabulary_of(tokenizer: Any) -> int:
    """Number of ids that a model of this tokenizer needs."""
    size = 1 + max(tokenizer.get_vocab().values(), default=0)
    return max(VOCABULARY, size, len(tokenizer))


def written_inputs(model: Any, tokenizer: Any) -> dict[str, Tensor]:
    """The tensors that the tokenizer, or the processor, writes for a model.

    Args:
        model: A small model with the vocabulary of the tokenizer.
        tokenizer: Its tokenizer.

    Raises:
        NotWritten: the processor is not built here, or the tokenizer writes nothing.
    """
    taken = set(inspect.signature(model.forward).parameters)
    try:
        written = dict(_write(model, tokenizer, taken))
    except NotWritten:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:160]
        raise NotWritten(f"{type(error).__name__}: {text}") from error
    inputs = {
        name: value
        for name, value in written.items()
        if name in taken and isinstance(value, Tensor)
    }
    if "input_ids" not in inputs:
        raise NotWritten("the model reads no ids of a text")
    n_tokens = inputs["input_ids"].shape[1]
    if "bbox" in taken and "bbox" not in inputs:
        # Boxes come from a reader of pages, which stands beside the tokenizer.
        inputs["bbox"] = boxes_of(model, 1, n_tokens)
    if "decoder_input_ids" in taken and "decoder_input_ids" in (given := inputs_of(model)):
        inputs["decoder_input_ids"] = given["decoder_input_ids"]
    return {
        name: value.to(model.dtype) if value.is_floating_point() else value
        for name, value in inputs.items()
    }


def _write(model: Any, tokenizer: Any, taken: set[str]) -> Any:
    processed = PROCESSOR_MAPPING_NAMES.get(model.config.model_type)
    if "pixel_values" in taken and processed is not None:
        return _of_processor(model, tokenizer, processed)
    if "visual_feats" in taken:
        return {**inputs_of(model), **_text(tokenizer)}
    return _text(tokenizer)


def _text(tokenizer: Any) -> Any:
    for name, write in _OF_CLASSES.items():
        if type(tokenizer).__name__.startswith(name):
            return write(tokenizer)
    alone = tokenizer(TEXT, return_tensors="pt")
    if "token_type_ids" not in alone:
        return alone
    return tokenizer(TEXT, SECOND, return_tensors="pt")


def _boxed(tokenizer: Any) -> Any:
    boxes = [[10 * i, 5, 10 * i + 9, 15] for i in range(len(_WORDS))]
    return tokenizer(_WORDS, boxes=boxes, return_tensors="pt")


def _of_table(tokenizer: Any) -> Any:
    import pandas as pd

    table = pd.DataFrame({"men": ["captain", "cook"], "ship": ["the ship", "told"]})
    return tokenizer(table=table, queries=[TEXT], return_tensors="pt")


def _of_page(tokenizer: Any) -> Any:
    paths = [f"/html/p[{i}]" for i in range(len(_WORDS))]
    return tokenizer(_WORDS, xpaths=paths, return_tensors="pt")


_OF_CLASSES: dict[str, Callable[[Any], Any]] = {
    "LayoutLMv": _boxed,
    "LayoutXLM": _boxed,
    "Udop": _boxed,
    "Tapas": _of_table,
    "MarkupLM": _of_page,
}


def _of_processor(model: Any, tokenizer: Any, name: str) -> Any:
    kind = model.config.model_type
    pictures = IMAGE_PROCESSOR_MAPPING_NAMES.get(kind)
    if pictures is None:
        raise NotWritten(f"{name}: transformers registers no processor of pictures for this type")
    picture_class = getattr(transformers, pictures.get("pil") or pictures["torchvision"])
    square = {"height": _SIDE, "width": _SIDE}
    options: dict[str, Any] = {"apply_ocr": False} if "layoutlm" in kind or kind == "udop" else {}
    default = picture_class(**options)
    for field in ("size", "crop_size"):
        own = getattr(default, field, None)
        if own is None:
            continue
        is_side = "shortest_edge" in own and "longest_edge" not in own
        options[field] = {"shortest_edge": _SIDE} if is_side else square
    try:
        prepared = picture_class(**options)
        processor = getattr(transformers, name)(image_processor=prepared, tokenizer=tokenizer)
        if kind in _PLACEHOLDERS:
            processor.patch_size = model.config.vision_config.patch_size
            processor.vision_feature_select_strategy = "full"
            processor.num_additional_image_tokens = 1
            processor.image_token = _MARK
            processor.image_token_id = tokenizer.convert_tokens_to_ids(_MARK)
            model.config.vision_feature_select_strategy = "full"
            model.config.image_token_id = processor.image_token_id
            model.config.image_token_index = processor.image_token_id
    except Exception as error:
        text = " ".join(str(error).split())[:120]
        raise NotWritten(f"{name} is not built: {type(error).__name__}: {text}") from error
    picture = np.random.default_rng(0).integers(0, 255, (40, 40, 3)).astype(np.uint8)
    if any(type(tokenizer).__name__.startswith(prefix) for prefix in ("LayoutLMv", "Udop")):
        boxes = [[10 * i, 5, 10 * i + 9, 15] for i in range(len(_WORDS))]
        return processor(picture, text=_WORDS, boxes=boxes, return_tensors="pt")
    mark = getattr(processor, "image_token", None)
    text = f"{mark} {TEXT}" if isinstance(mark, str) else TEXT
    return processor(text=[text], images=[picture], return_tensors="pt")
