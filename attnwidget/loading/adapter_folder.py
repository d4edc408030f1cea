"""Models from folders of peft fine-tuning, which have a base model and an adapter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnwidget.loading.model_folder import (
    ADAPTER_CONFIG,
    ModelFolderError,
    model_folder,
)
from attnwidget.loading.wrapped_models import unwrapped
from attnwidget.text.counted import counted
from attnwidget.text.given_paths import refuse_missing_folder

_WEIGHTS = "adapter_model.safetensors"
# Base model class for each peft task.
_CLASS_OF_TASK = {
    "CAUSAL_LM": "AutoModelForCausalLM",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "FEATURE_EXTRACTION": "AutoModel",
}
# Prefix that peft adds to the weight names of the base model.
_BASE = "base_model.model."
# Heads with one row per label.
_LABEL_HEADS = ("classifier", "score")

#: Function that loads a base model, and returns the model and the names of its missing weights.
LoadBase = Callable[[str, str | None, Any, Any], tuple[Any, Sequence[str]]]


def adapter_settings(name: str | Path, revision: str | None) -> Mapping[str, Any] | None:
    """Return the configuration of the adapter in a folder or on the hub; None without one.

    Raises:
        ModelFolderError: The configuration is not a JSON object.
    """
    from transformers.utils.peft_utils import find_adapter_config_file

    try:
        path = find_adapter_config_file(str(name), revision=revision or "main")
    except ValueError:
        # Transformers 4 lets the hub refuse a text that is no name of a model.
        return None
    if path is None:
        return None
    try:
        settings = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFolderError(
            f"{path} is no JSON ({error}): save the adapter again with save_pretrained(folder)"
        ) from error
    if not isinstance(settings, dict):
        raise ModelFolderError(
            f"{path} holds a {type(settings).__name__}, expected the settings of an adapter as an "
            "object: save the adapter again with save_pretrained(folder)"
        )
    return settings


def load_adapter(
    name: str | Path, settings: Mapping[str, Any], revision: str | None, load_base: LoadBase
) -> tuple[Any, str, tuple[str, ...]]:
    """Return the base model with its adapter, the name of the base, and the missing weights.

    Args:
        name: Folder or hub name of the adapter.
        settings: Configuration of the adapter.
        revision: Revision of the adapter on the hub.
        load_base: Function that loads the base model.

    Raises:
        ImportError: peft is not installed.
        ModelFolderError: The configuration names no base model, the base model cannot be loaded or
            has no layers for the adapter, or the adapter weights are not safetensors.
        TypeError: The adapter is outside of the layers, as in prefix tuning.
    """
    kind = settings.get("peft_type", "adapter")
    base = settings.get("base_model_name_or_path")
    text = f"{str(name)!r} is an adapter of peft ({kind}) for the model {base!r}"
    try:
        import peft
    except ImportError as error:
        raise ImportError(
            f"{text}, and peft is not installed. Install peft, which loads the base model with the "
            "adapter; or merge the adapter where peft is installed and load the merged folder: "
            f"AutoPeftModelForCausalLM.from_pretrained({str(name)!r}).merge_and_unload()"
            ".save_pretrained(folder)"
        ) from error
    advice = (
        "Pass the model with its adapter, load_model(PeftModel.from_pretrained(base_model, "
        f"{str(name)!r}), tokenizer)"
    )
    if not base:
        raise ModelFolderError(f"{text}: its {ADAPTER_CONFIG} names no base model. {advice}")
    shapes = _shapes(name, revision)
    base_revision = settings.get("revision")
    try:
        refuse_missing_folder(base, "the folder of the base model")
        files = str(model_folder(Path(base))) if Path(base).is_dir() else base
        config = _base_config(files, base_revision, settings, shapes)
        model, missing = load_base(files, base_revision, config, _class_name(settings))
    except OSError as error:
        raise ModelFolderError(
            f"{text}, which cannot be loaded. {advice}. The reason given: {error}"
        ) from error
    embeddings = model.get_input_embeddings()
    path = next(path for path, module in model.named_modules() if module is embeddings)
    # The vectors of tokens that were added before the fine-tuning are in the adapter.
    rows = shapes.get(f"{_BASE}{path}.weight", [embeddings.weight.shape[0]])[0]
    if rows != embeddings.weight.shape[0]:
        model.resize_token_embeddings(rows, mean_resizing=False)
    options: dict[str, Any] = {} if revision is None else {"revision": revision}
    try:
        adapted_model = peft.PeftModel.from_pretrained(model, str(name), **options).eval()
    except RuntimeError as error:
        raise ModelFolderError(
            f"{text}, and its weights do not fit this model: {error}. Correct "
            f"base_model_name_or_path in {ADAPTER_CONFIG}. {advice}"
        ) from error
    # peft ignores weights for which the base model has no layer.
    unused = sorted(shapes.keys() - peft.get_peft_model_state_dict(adapted_model).keys())
    if unused:
        raise ModelFolderError(
            f"{text}, and this model has no layer for {counted(len(unused), 'weight')} of the "
            f"adapter, such as {unused[0]}: correct base_model_name_or_path in {ADAPTER_CONFIG}. "
            f"{advice}"
        )
    missing_weights = tuple(key for key in missing if f"{_BASE}{key}" not in shapes)
    return unwrapped(adapted_model).hf_model, files, missing_weights


def _shapes(name: str | Path, revision: str | None) -> dict[str, list[int]]:
    """Return the shapes of the adapter weights by name."""
    from safetensors import safe_open
    from transformers.utils import cached_file

    if Path(name).is_dir() and not (Path(name) / _WEIGHTS).is_file():
        raise ModelFolderError(
            f"{str(name)!r} is an adapter of peft without {_WEIGHTS}: adapter_model.bin is a "
            "pickle, and reading a pickle may run code. If you trust the folder, pass "
            f"load_model(AutoPeftModelForCausalLM.from_pretrained({str(name)!r}), tokenizer); its "
            "save_pretrained(folder) writes safetensors"
        )
    path = cached_file(str(name), _WEIGHTS, revision=revision or "main")
    with safe_open(path, "pt") as file:
        return {key: list(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118


def _base_config(
    base: str,
    revision: str | None,
    settings: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]],
) -> Any:
    """Return the base model's configuration, with the adapter's number of labels."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(base, revision=revision or "main")
    if settings.get("task_type") in ("SEQ_CLS", "TOKEN_CLS"):
        heads = [
            shape[0]
            for key, shape in shapes.items()
            if key.removeprefix(_BASE).startswith(_LABEL_HEADS) and key.endswith(".weight")
        ]
        if heads and min(heads) != config.num_labels:
            config.num_labels = min(heads)
    return config


def _class_name(settings: Mapping[str, Any]) -> str | None:
    """Return the base model class from an adapter's configuration, or None."""
    mapping = settings.get("auto_mapping") or {}
    base_class: str | None = mapping.get("base_model_class")
    return _CLASS_OF_TASK.get(settings.get("task_type") or "", base_class)
