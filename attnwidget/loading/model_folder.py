"""Contents of a folder: a model, an adapter, a sentence-transformers model, or checkpoints."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attnwidget.text.given_paths import refuse_missing_folder
from attnwidget.text.near_names import among

ADAPTER_CONFIG = "adapter_config.json"
_CHECKPOINT = re.compile(r"checkpoint[-_]?(\d+)|step[-_]?(\d+)|epoch[-_]?(\d+)")
# Weight files that the package does not load, with a description for errors.
_OTHER_WEIGHTS = {
    "pytorch_model*.bin": "pickles, and reading a pickle may run code",
    "*.pt": "pickles, and reading a pickle may run code",
    "*.gguf": "weights for llama.cpp, which transformers converts on request only",
    "*.onnx": "graphs of ONNX, which are no modules of torch",
    "tf_model.h5": "weights of TensorFlow",
    "flax_model.msgpack": "weights of Flax",
}


class ModelFolderError(OSError):
    """A folder has no model that can be loaded; the message gives the reason and a next step."""


def refuse_missing_model(name: str | Path, embedded: Iterable[str]) -> None:
    """Raise an error for the path of a missing folder, or for an unknown bundled model.

    Names that may be on the hub are accepted.

    Args:
        name: Folder or name on the hub.
        embedded: Names of the bundled models.

    Raises:
        OSError: The folder does not exist, is a file or cannot be read.
        ValueError: The package has no model with this name.
    """
    if str(name).startswith("attnwidget/") and not os.path.lexists(name):
        raise ValueError(f"the package has no model {str(name)!r}: {among(name, embedded)}")
    refuse_missing_folder(name, "a model folder (config.json and safetensors weights)")


def is_checkpoint(folder: Path) -> bool:
    """Return whether a training script wrote a folder, by its name or its Trainer state.

    Example:
        >>> from pathlib import Path
        >>> from attnwidget.loading.model_folder import is_checkpoint
        >>> is_checkpoint(Path("runs/tiny/checkpoint-500")), is_checkpoint(Path("runs/tiny"))
        (True, False)
    """
    name_match = _CHECKPOINT.fullmatch(folder.resolve().name.lower())
    return bool(name_match) or (folder / "trainer_state.json").is_file()


def is_adapter(folder: Path) -> bool:
    """Return whether a folder has a peft adapter, and no model."""
    return (folder / ADAPTER_CONFIG).is_file() and not any(folder.glob("model*.safetensors*"))


def model_folder(folder: Path) -> Path:
    """Return the folder with the transformers model: `folder`, or its sentence-transformers part.

    Raises:
        ModelFolderError: The model is in another folder, or the weights are not safetensors.
        FileNotFoundError: There is no model.
    """
    if not (folder / "config.json").is_file():
        folder = _part_of_sentence_transformers(folder)
    if any(folder.glob("*.safetensors*")):
        return folder
    for pattern, description in _OTHER_WEIGHTS.items():
        if files := sorted(path.name for path in folder.glob(pattern)):
            raise ModelFolderError(
                f"{str(folder)!r} has its weights in {files[0]}, and no safetensors: these are "
                f"{description}. If you trust the folder, load the model yourself and pass it, "
                f"load_model({_class_of(folder)}.from_pretrained({str(folder)!r}), tokenizer); its "
                "save_pretrained(folder) then writes safetensors"
            )
    return folder


def _class_of(folder: Path) -> str:
    config = _read(folder / "config.json")
    return next(iter(config.get("architectures") or ()), "AutoModel")


def _part_of_sentence_transformers(folder: Path) -> Path:
    """Return the folder "0_Transformer" of an old sentence-transformers model.

    Raises:
        ModelFolderError: The folder has several sentence-transformers models, or models in other
            folders.
        FileNotFoundError: There is no model.
    """
    parts = [
        folder / str(module.get("path", ""))
        for module in _read(folder / "modules.json", [])
        if isinstance(module, dict)
    ]
    models = [part for part in parts if "model_type" in _read(part / "config.json")]
    if len(models) == 1:
        return models[0]
    if models:
        model_names = " or ".join(repr(str(part)) for part in models)
        raise ModelFolderError(
            f"{str(folder)!r} has {len(models)} models of sentence-transformers: pass one of "
            f"them, {model_names}"
        )
    if checkpoints := sorted(_checkpoints(folder)):
        raise ModelFolderError(
            f"{str(folder)!r} has no config.json, and has {len(checkpoints)} "
            f"checkpoint{'s' * (len(checkpoints) > 1)} of a training: pass a checkpoint, such as "
            f"{str(checkpoints[-1][1])!r}"
        )
    inner = [path.parent for path in folder.glob("*/config.json") if "model_type" in _read(path)]
    if inner:
        raise ModelFolderError(
            f"{str(folder)!r} has no config.json; a folder inside has one: pass {str(min(inner))!r}"
        )
    raise FileNotFoundError(
        f"{str(folder)!r} is no complete model folder: it has no config.json. "
        "save_pretrained(folder) of a model and of its tokenizer writes one"
    )


def _checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    """Yield the checkpoints in a folder with their numbers."""
    for path in folder.iterdir():
        name_match = _CHECKPOINT.fullmatch(path.name.lower())
        if name_match and ((path / "config.json").is_file() or (path / ADAPTER_CONFIG).is_file()):
            yield int(next(filter(None, name_match.groups()))), path


def _read(path: Path, otherwise: Any = None) -> Any:
    """Return the content of a JSON file, or `otherwise` (by default {}) if it cannot be read."""
    empty = {} if otherwise is None else otherwise
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return empty
    return content if isinstance(content, type(empty)) else empty
