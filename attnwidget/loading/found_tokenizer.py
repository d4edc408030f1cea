"""A model's tokenizer, with checks for empty tokenizers and other models' tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attnwidget.hidden_frames import warn_caller
from attnwidget.inputs.text_encoder import vocabulary_size
from attnwidget.loading.model_folder import is_checkpoint

# Number of entries below which a tokenizer may be empty: T5 has "▁", neither special nor added.
_FEW = 10
# Smallest share of the model's rows that a tokenizer must have entries for.
_SHARE = 0.1

_EMPTY = (
    "transformers makes an empty tokenizer if the files of the tokenizer are missing, and every "
    "word would be unknown"
)


def load_tokenizer(name: str | Path, revision: str | None, trust_remote_code: bool) -> Any:
    """Return the tokenizer of a folder or hub name.

    Raises:
        OSError: The name is neither a folder nor cached, and the hub does not answer or does not
            have it; or there is no tokenizer.
    """
    tokenizer, reason = _read_tokenizer(name, revision, trust_remote_code)
    if tokenizer is None:
        raise OSError(f"{str(name)!r} has no tokenizer: {reason}; name a folder that has one")
    return tokenizer


def tokenizer_beside(
    name: str | Path,
    model: Any,
    revision: str | None,
    trust_remote_code: bool,
    *,
    base: str | None = None,
) -> tuple[Any, str]:
    """Return the tokenizer in the folder of a model, and a remark if it is from another folder.

    A training checkpoint may have its tokenizer in the parent folder.

    Args:
        name: Folder or name on the hub.
        model: Transformers model.
        revision: Revision on the hub.
        trust_remote_code: Whether to run code that comes with the tokenizer.
        base: Base model of an adapter; its tokenizer replaces the adapter's if that is missing.

    Raises:
        ValueError: There is no tokenizer, or the tokenizer has far fewer entries than the model.
        OSError: The folder or the hub cannot be read.
    """
    folder = Path(name)
    read_tokenizer = _read_folder if folder.is_dir() or base is not None else _read_tokenizer
    tokenizer, reason = read_tokenizer(name, revision, trust_remote_code)
    remark = ""
    if tokenizer is None and folder.is_dir() and is_checkpoint(folder):
        parent = folder.resolve().parent
        tokenizer, _ = _read_folder(parent, None, trust_remote_code)
        if tokenizer is not None:
            remark = f"tokenizer of the folder above, {parent.name!r}"
    if tokenizer is None and base is not None:
        tokenizer, _ = _read_folder(base, None, trust_remote_code)
    if tokenizer is None:
        raise ValueError(
            f"{str(name)!r} has a model, but no tokenizer: {reason}. Pass the tokenizer that the "
            f"model was trained with, load_model({str(name)!r}, tokenizer). To read vocabulary ids "
            f"without a tokenizer, pass the model as an object, load_model({type(model).__name__}"
            f".from_pretrained({str(name)!r}))"
        )
    if misfit := _misfit(tokenizer, model):
        raise ValueError(
            f"{str(name)!r} has a tokenizer that does not fit its model: {misfit}. Pass the "
            f"tokenizer that the model was trained with, load_model({str(name)!r}, tokenizer)"
        )
    return tokenizer, remark


def check_given_tokenizer(tokenizer: Any, model: Any) -> None:
    """Check a tokenizer that the user passed.

    Warns:
        UserWarning: The tokenizer has far fewer entries than the model.

    Raises:
        ValueError: The tokenizer is empty.
    """
    if tokenizer is None:
        return
    if is_empty(tokenizer):
        raise ValueError(
            f"this {type(tokenizer).__name__} has no words: {_EMPTY}. Pass the tokenizer that the "
            "model was trained with, or none to read vocabulary ids"
        )
    if misfit := _misfit(tokenizer, model):
        warn_caller(
            f"the tokenizer may belong to another model: {misfit}",
        )


def is_empty(tokenizer: Any) -> bool:
    """Return whether a tokenizer has only special tokens, because its files are missing.

    Example:
        >>> from transformers import BertTokenizer
        >>> from attnwidget import load_model
        >>> from attnwidget.loading.found_tokenizer import is_empty
        >>> is_empty(BertTokenizer()), is_empty(load_model().tokenizer)
        (True, False)
    """
    size = getattr(tokenizer, "vocab_size", None)
    # Vocabularies of code points (CANINE) have a million entries.
    if not isinstance(size, int) or size > 1000:
        return False
    vocabulary = set(getattr(tokenizer, "get_vocab", dict)())
    # A Python tokenizer may make its entries while it reads.
    if size > len(vocabulary) > 0:
        return False
    special = set(getattr(tokenizer, "all_special_tokens", ()))
    added_tokens = {str(token) for token in getattr(tokenizer, "added_tokens_decoder", {}).values()}
    words = vocabulary - special - added_tokens
    has_words = any(character.isalnum() for word in words for character in word)
    return bool(vocabulary or size == 0) and len(words) < _FEW and not has_words


def _read_tokenizer(
    name: str | Path, revision: str | None, trust_remote_code: bool
) -> tuple[Any, str]:
    """Return the tokenizer, or None and the reason why it is missing."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            name, revision=revision or "main", trust_remote_code=trust_remote_code
        )
    except (ValueError, TypeError, ImportError) as error:
        # transformers finds no file, lacks a library for it, or does not know the tokenizer class.
        # The message may continue with a list of all classes.
        return None, str(error).strip().partition("\n")[0][:200]
    return (None, _EMPTY) if is_empty(tokenizer) else (tokenizer, "")


def _read_folder(
    name: str | Path, revision: str | None, trust_remote_code: bool
) -> tuple[Any, str]:
    """Return the result of `_read_tokenizer`, or None for a folder without tokenizer files."""
    try:
        return _read_tokenizer(name, revision, trust_remote_code)
    except OSError as error:
        return None, str(error).strip().partition("\n")[0][:200]


def _misfit(tokenizer: Any, model: Any) -> str:
    """Return how tokenizer and model differ if the tokenizer is far too small; otherwise ""."""
    rows = vocabulary_size(model)
    n_entries = getattr(tokenizer, "vocab_size", None)
    if not rows or not isinstance(n_entries, int) or n_entries >= _SHARE * rows:
        return ""
    # Count tokens that were added after the tokenizer was trained.
    size = max(n_entries, len(tokenizer) if hasattr(tokenizer, "__len__") else 0)
    if size >= _SHARE * rows:
        return ""
    return f"the tokenizer has {size:,} entries, {type(model).__name__} has {rows:,}"
