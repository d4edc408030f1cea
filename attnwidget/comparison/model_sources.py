"""Model sources that a study loads: a name, a folder or a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from torch import nn

from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.argument_checks import refuse_no_model

Source: TypeAlias = AttentionModel | str | Path | Callable[[], AttentionModel]


def refuse_no_source(source: Any) -> None:
    """Raise TypeError unless an argument is a model or a model source.

    Args:
        source: Argument of a study.
    """
    if isinstance(source, (str, Path)) or (callable(source) and not isinstance(source, nn.Module)):
        return
    refuse_no_model(source)


def loaded_model(source: Source) -> AttentionModel:
    """Return `source` if it is a model; otherwise, load the model.

    Args:
        source: Model, name, folder, or function that returns a model.

    Raises:
        TypeError: `source` is a function that does not return a model.
        OSError: See `load_model`.

    Example:
        >>> from attnwidget.comparison.model_sources import loaded_model
        >>> loaded_model("attnwidget/genre").n_heads
        12
    """
    if isinstance(source, AttentionModel):
        return source
    model = load_model(source) if isinstance(source, (str, Path)) else source()
    refuse_no_model(model)
    return model
