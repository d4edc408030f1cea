"""Defaults of torch during the construction of a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from attnwidget.text.undo import undone


@contextmanager
def plain_defaults() -> Iterator[None]:
    """Construct models in the block with the defaults of a new process: float32, on the CPU.

    The constructors of transformers have no device argument. After torch.set_default_device or
    inside `with torch.device("meta")`, they would create a model on another device or without data.

    Example:
        >>> import torch
        >>> from attnwidget.model_facts.plain_defaults import plain_defaults
        >>> with torch.device("meta"), plain_defaults():
        ...     torch.nn.Linear(2, 2).weight.device
        device(type='cpu')
    """
    original_dtype = torch.get_default_dtype()
    with torch.device("cpu"), undone(lambda: torch.set_default_dtype(original_dtype)):
        torch.set_default_dtype(torch.float32)
        yield
