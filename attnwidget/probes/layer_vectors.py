"""Word vectors in the layers of a model, in the form that probes use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attnwidget.corpus.argument_checks import each_once
from attnwidget.text.whole_number import whole_numbers

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def chosen_layers(model: AttentionModel, layers: Sequence[int] | Literal["all"]) -> tuple[int, ...]:
    """Return the requested layers, counted from 0; ValueError if the model lacks one.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.probes.layer_vectors import chosen_layers
        >>> chosen_layers(load_model(), "all")
        (0, 1, 2, 3, 4, 5)
    """
    n = model.n_layers
    if isinstance(layers, str):
        if layers != "all":
            raise ValueError(f"layers must be 'all' or a list of numbers, got {layers!r}")
        return tuple(range(n))
    layer_numbers = tuple(each_once("layers", whole_numbers("layers", layers)))
    if unknown := [layer for layer in layer_numbers if layer not in range(n)]:
        raise ValueError(f"there is no layer {unknown[0]}: {model.own_name} has 0 to {n - 1}")
    return layer_numbers


@contextmanager
def cache_folder(cache: str | Path | None) -> Iterator[Path]:
    """Yield the folder of the features: the given folder, or a temporary folder for this block."""
    if cache is not None:
        yield Path(cache)
        return
    with tempfile.TemporaryDirectory(prefix="attnwidget-") as folder:
        yield Path(folder)
