"""The tokenizer beside a model: empty tokenizers, and tokenizers of other models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attnwidget.hidden_frames import warn_caller
from attnwidget.inputs.text_encoder import vocabulary_size
from attnwidget.loading.model_folder import is_checkpoint

# Entries of an empty tokenizer that are neither special nor added: "▁" in T5.
_FEW = 10
# A model may have rows that its tokenizer does not use, but not ten times as many.
_SHARE = 0.1

_EMPTY = (
    "transformers makes an empty tokenizer if the files of the tokenizer are missing, and every "
    "word would be unknown"
)


def load_tokenizer(name: str | Path, revision: str | None, trust_remote_code: bool) -> Any:
    """Return the tokenizer of a folder or hub name.

    Raises:
        OSError: neither a folder nor cached, and the hub could not be reached or does not have it;
            or there is no tokenizer.
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

    A checkpoint of a training may have its tokenizer in the folder above.

    Args:
        name: Folder or name on the hub.
        model: The model.
        revision: Revision on the hub.
        trust_remote_code: Whether to run code that comes with the tokenizer.
        base: The model below an adapter; its tokenizer replaces a missing tokenizer of the adapter.

    Raises:
        ValueError: There is no tokenizer, or the tokenizer has far fewer entries than the model.
        OSError: The folder or the hub cannot be read.
    """
    folder = Path(name)
    read = _read_folder if folder.is_dir() or base is not None else _read_tokenizer
    tokenizer, reason = read(name, revision, trust_remote_code)
    remark = ""
    if tokenizer is None and folder.is_dir() and is_checkpoint(folder):
        above = folder.resolve().parent
        tokenizer, _ = _read_folder(above, None, trust_remote_code)
        if tokenizer is not None:
            remark = f"tokenizer of the folder above, {above.name!r}"
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
    """Return whether a tokenizer has special tokens alone, as if its files were missing.

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
    # A tokenizer in Python may make its entries while it reads.
    if size > len(vocabulary) > 0:
        return False
    special = set(getattr(tokenizer, "all_special_tokens", ()))
    added = {str(token) for token in getattr(tokenizer, "added_tokens_decoder", {}).values()}
    words = vocabulary - special - added
    spelt = any(character.isalnum() for word in words for character in word)
    return bool(vocabulary or size == 0) and len(words) < _FEW and not spelt


def _read_tokenizer(
    name: str | Path, revision: str | None, trust_remote_code: bool
) -> tuple[Any, str]:
    """Return the tokenizer, or None and the reason why the tokenizer is missing."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            name, revision=revision or "main", trust_remote_code=trust_remote_code
        )
    except (ValueError, TypeError, ImportError) as error:
        # transformers finds no file, lacks a library for the file, or does not know the class of
        # the tokenizer. The message may go on with a list of all classes.
        return None, str(error).strip().partition("\n")[0][:200]
    return (None, _EMPTY) if is_empty(tokenizer) else (tokenizer, "")


def _read_folder(
    name: str | Path, revision: str | None, trust_remote_code: bool
) -> tuple[Any, str]:
    """Return what `_read_tokenizer` does; a folder without any file of a tokenizer has none."""
    try:
        return _read_tokenizer(name, revision, trust_remote_code)
    except OSError as error:
        return None, str(error).strip().partition("\n")[0][:200]


def _misfit(tokenizer: Any, model: Any) -> str:
    """Return how a tokenizer and a model differ if it has far fewer entries; otherwise ""."""
    rows = vocabulary_size(model)
    known = getattr(tokenizer, "vocab_size", None)
    if not rows or not isinstance(known, int) or known >= _SHARE * rows:
        return ""
    # Tokens that were added after the training of a tokenizer count too.
    size = max(known, len(tokenizer) if hasattr(tokenizer, "__len__") else 0)
    if size >= _SHARE * rows:
        return ""
    return f"the tokenizer has {size:,} entries, {type(model).__name__} has {rows:,}"
