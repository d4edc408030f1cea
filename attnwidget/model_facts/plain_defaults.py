"""The defaults of torch while a model is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from attnwidget.text.undo import undone


@contextmanager
def plain_defaults() -> Iterator[None]:
    """Make models in the block with the defaults of a new process: float32, on the CPU.

    The constructors of transformers take no device. Under torch.set_default_device or
    `with torch.device("meta")` they would make a model on another device, or without numbers.

    Example:
        >>> import torch
        >>> from attnwidget.model_facts.plain_defaults import plain_defaults
        >>> with torch.device("meta"), plain_defaults():
        ...     torch.nn.Linear(2, 2).weight.device
        device(type='cpu')
    """
    before = torch.get_default_dtype()
    with torch.device("cpu"), undone(lambda: torch.set_default_dtype(before)):
        torch.set_default_dtype(torch.float32)
        yield
