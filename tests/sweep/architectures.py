"""The architectures that the installed transformers registers, and the classes to try of each."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping
from functools import cache
from math import ceil
from typing import Any

import transformers
from transformers.models.auto import modeling_auto

from sweep.small_models import DOCUMENTS
from sweep.tower_models import TOWER_CLASSES

#: Auto mappings of transformers whose models read text, in the order in which classes are tried.
TASKS = {
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "masked": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "sequence to sequence": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "text encoder": "MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES",
    "base": "MODEL_MAPPING_NAMES",
}
#: Encoders of images and sound that the README names, and their nearest relatives.
BESIDE_TEXT = (
    "beit",
    "clip_vision_model",
    "data2vec-audio",
    "data2vec-vision",
    "deit",
    "dinov2",
    "dinov3_vit",
    "hubert",
    "ijepa",
    "pixtral",
    "sam_vision_model",
    "siglip_vision_model",
    "swin",
    "vit",
    "vit_msn",
    "wav2vec2",
    "wav2vec2-conformer",
    "wavlm",
)
#: Inputs that a model of text alone does not take.
_NOT_TEXT = {
    "pixel_values",
    "pixel_values_videos",
    "visual_feats",
    "image",
    "bbox",
    "input_features",
    "input_values",
}


@cache
def architectures() -> dict[str, tuple[str, ...]]:
    """Names of the classes to try, by configuration type; types in alphabetical order.

    A type belongs to the sweep if a task of text registers it, if its base model reads token ids
    and nothing else, or if it is in `BESIDE_TEXT`, `TOWER_CLASSES` or `DOCUMENTS`. Two classes at
    most are tried of the other types: that of the first task, and the base model, where layers have
    no head that predicts on top.
    """
    names = {task: _names(mapping) for task, mapping in TASKS.items()}
    classes: dict[str, tuple[str, ...]] = {}
    for model_type in sorted({*names["base"], *(t for task in names.values() for t in task)}):
        of_tasks = [names[task][model_type] for task in TASKS if model_type in names[task]]
        is_text = any(model_type in names[task] for task in TASKS if task != "base")
        if is_text or _reads_text_alone(of_tasks[-1]):
            classes[model_type] = tuple(dict.fromkeys([of_tasks[0], of_tasks[-1]]))
    for model_type in BESIDE_TEXT:
        classes[model_type] = (names["base"][model_type],)
    classes |= TOWER_CLASSES | DOCUMENTS
    return dict(sorted(classes.items()))


def a_twelfth(seed: int) -> list[str]:
    """A twelfth of the types, drawn by a random generator with this seed."""
    types = list(architectures())
    return sorted(random.Random(seed).sample(types, ceil(len(types) / 12)))


def _names(mapping: str) -> dict[str, str]:
    """The first class of each configuration type in an auto mapping."""
    registered: Mapping[str, Any] = getattr(modeling_auto, mapping)
    return {
        model_type: name if isinstance(name, str) else name[0]
        for model_type, name in registered.items()
    }


def _reads_text_alone(class_name: str) -> bool:
    try:
        model_class = getattr(transformers, class_name)
        inputs = set(inspect.signature(model_class.forward).parameters)
    except (AttributeError, ImportError):
        return False  # the class is not exported, or needs a package that is not installed
    return "input_ids" in inputs and not inputs & _NOT_TEXT
