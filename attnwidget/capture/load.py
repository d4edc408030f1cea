"""Loading of a model and its tokenizer: a bundled model, a folder, or a name on the hub."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import torch

from attnwidget.capture.maps.python_call import call
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.hidden_frames import warn_caller
from attnwidget.inputs.processor import (
    Processor,
    load_processor,
    processor_beside,
    reads_media,
)
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.loading.adapter_folder import adapter_settings, load_adapter
from attnwidget.loading.found_tokenizer import (
    check_given_tokenizer,
    load_tokenizer,
    tokenizer_beside,
)
from attnwidget.loading.loading import loading_lock, random_parts, refuse_meta
from attnwidget.loading.model_folder import (
    ModelFolderError,
    is_adapter,
    model_folder,
    refuse_missing_model,
)
from attnwidget.loading.wrapped_models import unwrapped
from attnwidget.model_facts.packed_weights import PACKED, unpack_weights, updated_weights
from attnwidget.model_facts.plain_defaults import plain_defaults
from attnwidget.text.counted import counted
from attnwidget.text.given_paths import refuse_missing_folder
from attnwidget.text.near_names import near_names
from attnwidget.text.undo import undone

# Bundled models. Key: name for `load_model`; values: folder in `attnwidget/demo` and name in
# figures. The first model is the default of `load_model`.
EMBEDDED = {
    "embedded": (".", "small BERT (in the package)"),
    "attnwidget/genre": ("genre", "small BERT for genres (in the package)"),
    "attnwidget/induction": ("induction", "two-layer Llama (in the package)"),
    "attnwidget/shapes": ("shapes", "small ViT of shapes (in the package)"),
    "attnwidget/translation": ("translation", "small Marian (in the package)"),
}


@in_plain_torch
def load_model(
    model: Any = None,
    tokenizer: Any = None,
    *,
    name: str | None = None,
    revision: str | None = None,
    device: str | torch.device = "auto",
    dtype: torch.dtype | str | None = None,
    trust_remote_code: bool = False,
    max_tokens: int | None = None,
) -> AttentionModel:
    """Load a model whose attention can be read.

    Args:
        model: Name, folder or object of the model:

            - None for the bundled small BERT, "attnwidget/genre" for its fine-tuned version that
              classifies genres, "attnwidget/induction" for a causal model of two layers with
              induction heads, "attnwidget/shapes" for a ViT that names the shape in a picture,
              "attnwidget/translation" for a model that translates into a made language. These five
              models need no network.
            - A name on the Hugging Face hub or a folder, with safetensors weights. The folder may
              contain a Trainer checkpoint, a peft adapter (if peft is installed), or a
              sentence-transformers model.
            - A transformers model. The model may be compiled, parallel, quantized, offloaded by
              accelerate, or have peft adapters.
            - An object that contains one transformers model: a torch module, a pipeline or a
              Trainer of transformers, a SentenceTransformer, a CrossEncoder or a Lightning module.
              Only the model inside is read, without what the object does around it. A module that
              has a configuration and takes the inputs of a transformers model, such as
              `input_ids`, is read as a whole.
        tokenizer: Tokenizer; for vision and audio models the processor, image processor or feature
            extractor; or its name or folder. None uses the tokenizer and the processor in the
            model folder or in the object around the model. A transformers model passed as an
            object then has none, and reads dicts of tensors.
        name: Name of the model in figures, captions and results. None uses the name on the hub,
            the last part of the folder, or the class of a model passed as an object.
        revision: Branch, tag or commit on the hub. For "attnwidget/induction", a training step
            such as "step0" (`attnwidget.demo.induction_checkpoints`).
        device: Device of the model. "auto" is the first GPU, or the CPU if there is none. A model
            passed as an object stays on its device.
        dtype: Type of the weights, such as torch.bfloat16 or "bfloat16". None or "auto" keeps the
            type of the files, which is float32 for bundled models.
        trust_remote_code: Whether to run code that comes with a model on the hub.
        max_tokens: Maximum number of tokens of an input, in place of the limits stated by the
            tokenizer and the configuration. A position-embedding table remains a limit.

    Warns:
        UserWarning: The files of a model loaded by name lack weights, which were initialized at
            random; the model's `random_parts` and the note of its attentions name their modules.
            Or a tokenizer passed to `load_model` has far fewer entries than the model.

    Raises:
        OSError: The folder does not exist or has no safetensors weights, or the name is not in the
            cache and the hub does not answer. A name that begins with ".", "/", "~" or an existing
            folder, or has several slashes, is the path of a folder.
        ImportError: The folder has a peft adapter, and peft is not installed.
        ValueError: A folder has no tokenizer; the tokenizer is empty or does not belong to the
            model; the model has no weights, since it is on the device "meta"; `max_tokens` exceeds
            the position vectors of the model; `dtype` is not a floating-point type; the package
            has no model with this name; or a bundled model lacks the revision.
        RuntimeError: A model was loaded without numbers, because another thread loaded a model by
            from_pretrained at the same time. Calls of `load_model` in several threads wait for each
            other.
        TypeError: `model` is not a model, contains several models, has no readable attention, or
            has adapters next to its layers; or `name` is not a string.

    Example:
        >>> from attnwidget import load_model
        >>> load_model(name="BERT", device="cpu")
        AttentionModel(BertForMaskedLM 'BERT', 6×12 heads, cpu)
    """
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise TypeError(f"name must be a string that figures show, such as 'BERT', got {name!r}")
    dtype = _dtype_of(dtype)
    arguments = {"model": model, "tokenizer": tokenizer}
    with loading_lock:
        components = find_model(
            model,
            tokenizer,
            revision=revision,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
        )
    attention_model = AttentionModel(
        components.hf_model,
        components.tokenizer,
        name or components.name,
        components.source,
        max_tokens,
        random_parts=components.random_parts,
        remark=components.remark,
        processor=components.processor,
    )
    if model is None or isinstance(model, (str, Path)):
        options = {
            "name": name,
            "revision": revision,
            "device": None if device == "auto" else device,
        }
        loading_options = {
            "dtype": dtype,
            "trust_remote_code": trust_remote_code or None,
            "max_tokens": max_tokens,
        }
        attention_model.made_by = call("load_model", arguments, options | loading_options)
        attention_model._load_again = partial(
            load_model,
            _anywhere(model),
            _anywhere(arguments["tokenizer"]),
            name=attention_model.own_name,
            revision=revision,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            max_tokens=max_tokens,
        )
    return attention_model


def _dtype_of(dtype: torch.dtype | str | None) -> torch.dtype | None:
    """Return the torch dtype for a dtype name; None for "auto"."""
    if dtype is None or dtype == "auto":
        return None
    torch_dtype = (
        getattr(torch, dtype.removeprefix("torch."), None) if isinstance(dtype, str) else dtype
    )
    if not isinstance(torch_dtype, torch.dtype) or not torch_dtype.is_floating_point:
        raise ValueError(
            'dtype is None, "auto" or a floating-point type such as torch.float32 or "bfloat16", '
            f"got {dtype!r}"
        )
    return torch_dtype


def _anywhere(source: Any) -> Any:
    """Return the absolute path of a folder, which is valid in every working directory."""
    is_folder = isinstance(source, (str, Path)) and Path(source).is_dir()
    return os.path.abspath(source) if is_folder else source


def find_model(
    model: Any,
    tokenizer: Any,
    *,
    revision: str | None,
    device: str | torch.device,
    dtype: torch.dtype | None,
    trust_remote_code: bool,
) -> FoundModel:
    """Return the model and its tokenizer; arguments and errors as in `load_model`."""
    if isinstance(tokenizer, (str, Path)):
        refuse_missing_folder(tokenizer, "a folder with a tokenizer or processor")
    if model is not None and not isinstance(model, (str, Path)):
        contents = unwrapped(model, find_sites)
        model = contents.hf_model
        if isinstance(tokenizer, (str, Path)):
            tokenizer = _load_beside(tokenizer, model, revision, trust_remote_code)
        processor = contents.processor if tokenizer is None else Processor.from_object(tokenizer)
        if tokenizer is None:
            tokenizer = contents.tokenizer
        if processor is not None and not hasattr(tokenizer, "convert_ids_to_tokens"):
            tokenizer = processor.tokenizer
        check_given_tokenizer(tokenizer, model)
        if device != "auto" or dtype is not None:
            model.to(None if device == "auto" else torch.device(device), dtype)
        return FoundModel(model, tokenizer, type(model).__name__, None, processor=processor)
    # A forked process creates torch's thread pool at first use. The threads in which transformers
    # reads weights would create it all at once, and torch would fail.
    torch.set_num_threads(torch.get_num_threads())
    if model is None or (isinstance(model, str) and model in EMBEDDED):
        if tokenizer is not None:
            raise TypeError("the embedded model has its own tokenizer: leave tokenizer out")
        source = "embedded" if model is None else model
        with plain_defaults():
            hf_model, tokenizer = load_embedded(source, revision)
            processor = Processor.from_object(tokenizer)
            tokenizer = tokenizer if processor is None else processor.tokenizer
        name = EMBEDDED[source][1]
        if revision is None:
            components = FoundModel(hf_model, tokenizer, name, source, processor=processor)
        else:
            # No source, because the name would mean the weights at the end of the training.
            name = f"{name}, {revision}"
            components = FoundModel(hf_model, tokenizer, name, None, processor=processor)
    else:
        refuse_missing_model(model, EMBEDDED)
        with plain_defaults():
            components = load_named(
                model,
                tokenizer,
                revision=revision,
                dtype=dtype,
                trust_remote_code=trust_remote_code,
            )
    components.hf_model.to(best_device() if device == "auto" else torch.device(device), dtype)
    return components


@dataclass(frozen=True, eq=False)
class FoundModel:
    """A model as `load_model` found it.

    Attributes:
        hf_model: Transformers model.
        tokenizer: Tokenizer of the model, or None.
        name: Name of the model in figures.
        source: Value of `AttentionModel.source`.
        random_parts: Modules whose weights were not in the files.
        remark: Remark about the files for readers of figures, or "".
        processor: Processor for pictures and sounds, or None.
    """

    hf_model: Any
    tokenizer: Any
    name: str
    source: str | None
    random_parts: tuple[str, ...] = ()
    remark: str = ""
    processor: Processor | None = None


#: Names of folders that training scripts write, which say nothing about the model.
_ANY_MODEL = re.compile(r"model|final|best|last|final[-_]model|best[-_]model|pytorch[-_]model")
_CHECKPOINT = re.compile(r"checkpoint[-_]?\d+|step[-_]?\d+|epoch[-_]?\d+")


def folder_name(folder: str | Path) -> str:
    """Return the name of a model in a folder: the folder name, or its parent's if more specific.

    A folder called "model" or "final" is named after its parent. A checkpoint has both names.

    Example:
        >>> from attnwidget.capture.load import folder_name
        >>> folder_name("runs/tiny-bert/final"), folder_name("runs/tiny-bert/checkpoint-500")
        ('tiny-bert', 'tiny-bert/checkpoint-500')
    """
    path = Path(os.path.abspath(folder))
    if not path.parent.name:
        return path.name
    if _CHECKPOINT.fullmatch(path.name.lower()):
        return f"{folder_name(path.parent)}/{path.name}"
    return folder_name(path.parent) if _ANY_MODEL.fullmatch(path.name.lower()) else path.name


def load_embedded(name: str = "embedded", revision: str | None = None) -> tuple[Any, Any]:
    """Return a bundled model in float32 and its tokenizer or processor; needs no network.

    Args:
        name: Key of EMBEDDED.
        revision: Training step whose weights are in the package; None is the last step.

    Raises:
        ValueError: The package has no weights of this step.
    """
    import transformers
    from transformers.utils import logging

    with as_file(files("attnwidget").joinpath("demo")) as base:
        folder = base / EMBEDDED[name][0]
        tokenizer: Any
        if (folder / "preprocessor_config.json").exists():
            tokenizer = transformers.AutoImageProcessor.from_pretrained(
                folder, local_files_only=True
            )
        else:
            # A fine-tuned model shares the tokenizer of its base model.
            tokens = folder if (folder / "tokenizer.json").exists() else base
            settings = json.loads((tokens / "tokenizer_config.json").read_text(encoding="utf-8"))
            # The class is named by its 5.x name, which 4.x does not know.
            settings = {
                k: v for k, v in settings.items() if k not in ("tokenizer_class", "backend")
            }
            tokenizer = transformers.PreTrainedTokenizerFast(
                tokenizer_file=str(tokens / "tokenizer.json"), **settings
            )
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        model_class = getattr(transformers, config.architectures[0])
        steps = sorted(folder.glob("step*"), key=lambda step: int(step.name[len("step") :]))
        revisions = {step.name: step for step in steps}
        if revision is not None and revision not in revisions:
            revision_names = ", ".join(map(repr, revisions)) or "no revisions"
            raise ValueError(
                f"{name!r} has no revision {revision!r}: the package has {revision_names}"
            )
        weights: Path | None = (
            revisions[revision] if revision is not None else (steps or [folder])[-1]
        )
        state = None
        if (folder / PACKED).exists():
            weights = None
            state = unpack_weights(folder / PACKED)
            if folder != base:
                encoder = f"{model_class.base_model_prefix}."
                base_weights = unpack_weights(base / PACKED)
                encoder_weights = {
                    key: weight for key, weight in base_weights.items() if key.startswith(encoder)
                }
                state = updated_weights(encoder_weights, state)
        has_progress_bar = logging.is_progress_bar_enabled()
        with undone(
            logging.enable_progress_bar if has_progress_bar else logging.disable_progress_bar
        ):
            logging.disable_progress_bar()
            # Maps are read from eager attention, so that layers below a map round identically with
            # and without the tap. The eager BERT of transformers 4 shows no queries and keys.
            eager = int(transformers.__version__.split(".")[0]) >= 5
            model, loading = model_class.from_pretrained(
                weights,
                config=config,
                state_dict=state,
                generation_config=transformers.GenerationConfig(
                    bos_token_id=getattr(config, "bos_token_id", None),
                    eos_token_id=getattr(config, "eos_token_id", None),
                    pad_token_id=getattr(config, "pad_token_id", None),
                    decoder_start_token_id=getattr(config, "decoder_start_token_id", None),
                ),
                dtype=torch.float32,
                attn_implementation="eager" if eager else "sdpa",
                use_safetensors=True,
                local_files_only=True,
                output_loading_info=True,
            )
    refuse_meta(model, name)
    if loading["missing_keys"]:
        raise RuntimeError(
            f"{name!r} was loaded without {min(loading['missing_keys'])}: start Python again if "
            "another thread loaded a model by from_pretrained at the same time; otherwise install "
            "attnwidget again, because its files are incomplete"
        )
    return model, tokenizer


def load_named(
    name: str | Path,
    tokenizer: Any,
    *,
    revision: str | None,
    dtype: torch.dtype | None,
    trust_remote_code: bool,
) -> FoundModel:
    """Return the model of a folder or hub name, with its tokenizer.

    The model has the class that its configuration names. The folder may contain a peft adapter or a
    sentence-transformers model.

    Raises:
        ValueError: There is no tokenizer, or it has far fewer entries than the model.
        OSError: The name is neither a folder nor cached, and the hub does not answer or does not
            have it; or there are no safetensors weights.
        ImportError: The folder has a peft adapter, and peft is not installed.
    """
    remark = ""
    try:
        files = _files_of(name)
        settings = _adapter_of(files, revision, trust_remote_code)
        load = partial(_load_weights, dtype=dtype, trust_remote_code=trust_remote_code)
        if settings is None:
            base = None
            model, missing = load(files, revision)
        else:
            model, base, missing = load_adapter(files, settings, revision, load)
        refuse_meta(model, name)
        if isinstance(tokenizer, (str, Path)):
            tokenizer = _load_beside(tokenizer, model, revision, trust_remote_code)
        processor = Processor.from_object(tokenizer)
        if processor is not None:
            tokenizer = processor.tokenizer
        elif tokenizer is None:
            processor = processor_beside(files, model, revision, trust_remote_code)
            if processor is not None:
                tokenizer = processor.tokenizer
            if tokenizer is None and model.main_input_name == "input_ids":
                tokenizer, remark = tokenizer_beside(
                    files, model, revision, trust_remote_code, base=base
                )
        check_given_tokenizer(tokenizer, model)
    except ModelFolderError:
        raise
    except (OSError, ConnectionError) as error:
        raise OSError(
            f"cannot load {str(name)!r}: {_suggestion(name)}it is neither a complete model folder "
            "nor in the local cache, or the Hugging Face hub does not answer or does not have it "
            f"with safetensors weights; as a folder it would be {os.path.abspath(name)!r}. "
            "load_model() without a name loads the embedded model; the package comes with "
            f"{', '.join(map(repr, EMBEDDED))}, which need no network. The reason given: {error}"
        ) from error
    missing = tuple(sorted(missing))
    _warn_of_random_weights(name, model, missing)
    is_folder = Path(name).is_dir()
    return FoundModel(
        model,
        tokenizer,
        folder_name(name) if is_folder else str(name),
        None if is_folder else str(name),
        random_parts(missing),
        remark,
        processor,
    )


def _suggestion(name: str | Path) -> str:
    """Return "did you mean ...? " if a model has a similar name, or the call that takes a text.

    The candidates are the bundled models and the model folders in the current directory.
    """
    by_last_part = {
        config.parent.name: str(config.parent) for config in Path().glob("*/config.json")
    }
    by_last_part |= {model.rpartition("/")[2]: model for model in EMBEDDED}
    similar_names = near_names(str(name).rpartition("/")[2], by_last_part)
    if similar_names:
        return f"did you mean {by_last_part[similar_names[0]]!r}? Otherwise "
    if " " in str(name):
        return (
            "if it is a text, pass it after the model, as in explore(None, text) or "
            "load_model().attend(text). Otherwise "
        )
    return ""


def _load_beside(
    name: str | Path, model: Any, revision: str | None, trust_remote_code: bool
) -> Any:
    """Return the processor of a folder or hub name if the model needs one, or the tokenizer."""
    if reads_media(model):
        processor = load_processor(name, revision, trust_remote_code)
        if processor is not None:
            return processor.given
    return load_tokenizer(name, revision, trust_remote_code)


def _files_of(name: str | Path) -> str | Path:
    """Return the folder with the files of a model, or the name on the hub."""
    folder = Path(name)
    if not folder.is_dir():
        return name
    return name if is_adapter(folder) or model_folder(folder) == folder else model_folder(folder)


def _adapter_of(
    name: str | Path, revision: str | None, trust_remote_code: bool
) -> Mapping[str, Any] | None:
    """Return the configuration of an adapter in a folder or on the hub; None for a full model."""
    from transformers import AutoConfig

    folder = Path(name)
    if folder.is_dir():
        return adapter_settings(name, None) if is_adapter(folder) else None
    try:
        AutoConfig.from_pretrained(
            name, revision=revision or "main", trust_remote_code=trust_remote_code
        )
    except (OSError, ConnectionError):
        settings = adapter_settings(name, revision)
        if settings is None:
            raise
        return settings
    return None


def _load_weights(
    name: str | Path,
    revision: str | None,
    config: Any = None,
    model_class: str | None = None,
    *,
    dtype: torch.dtype | None,
    trust_remote_code: bool,
) -> tuple[Any, tuple[str, ...]]:
    """Return a model and the names of the weights that its files lack.

    Args:
        name: Folder or name on the hub.
        revision: Revision on the hub.
        config: Configuration; None uses the configuration of the files.
        model_class: Class of transformers; None uses the class that the configuration names.
        dtype: Type of the weights; None keeps the type of the files.
        trust_remote_code: Whether to run code that comes with the model.
    """
    import transformers

    options: dict[str, Any] = {
        "revision": revision or "main",
        "trust_remote_code": trust_remote_code,
    }
    if config is None:
        config = transformers.AutoConfig.from_pretrained(name, **options)
    class_to_load = _model_class(config, trust_remote_code)
    if model_class is not None:
        class_to_load = getattr(transformers, model_class, class_to_load)
    model, loading = class_to_load.from_pretrained(
        name,
        config=config,
        dtype=dtype or "auto",
        use_safetensors=True,
        output_loading_info=True,
        **options,
    )
    return model, tuple(loading["missing_keys"])


def _warn_of_random_weights(name: str | Path, model: Any, missing: Sequence[str]) -> None:
    """Warn of weights that are missing in the files, and name their modules."""
    if not missing:
        return
    paths = tuple(f"{site.path}." for site in find_sites(model))
    attention = [key for key in missing if key.startswith(paths)]
    if attention:
        parts = f"{counted(len(attention), 'weight')} of attention, {attention[0]} among them,"
        issue = "its attention is not that of a trained model"
    else:
        parts = f"{counted(len(missing), 'weight')}, {missing[0]} among them,"
        issue = f"the output of {', '.join(random_parts(missing)[:3])} means nothing"
    warn_caller(
        f"the files of {str(name)!r} lack {parts} which were newly initialized at random: {issue}. "
        "Load it in the class that saved it, load_model(hf_model, tokenizer)",
    )


def best_device() -> torch.device:
    """Return the first GPU if there is one, otherwise the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _model_class(config: Any, trust_remote_code: bool) -> Any:
    import transformers

    remote = getattr(config, "auto_map", None) or {}
    if trust_remote_code and remote:
        for name in ("AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM"):
            if name in remote:
                return getattr(transformers, name)
        return transformers.AutoModel
    for name in config.architectures or ():
        # A multiple-choice model reads several texts at once. Its encoder reads each text.
        if hasattr(transformers, name) and not name.endswith("ForMultipleChoice"):
            return getattr(transformers, name)
    return transformers.AutoModel
