"""Trained probes in .npz files: arrays and JSON without pickle, and the digest of their model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.probes.features import model_digest
from attnwidget.text.given_paths import refuse_no_file
from attnwidget.text.stored_arrays import stored_arrays, write_arrays

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def write_probe(
    path: str | Path, kind: str, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Path:
    """Write a probe of a kind, and return the path.

    An existing file is replaced only when the new file is complete.

    Raises:
        ValueError: If the file name does not end with .npz.
        OSError: If the file cannot be written.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from attnwidget.probes.saved_arrays import read_probe, write_probe
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_probe(f"{folder}/p.npz", "probe", {"rank": 2}, {"map": np.ones(2)})
        ...     read_probe(path)
        ('probe', {'rank': 2}, {'map': array([1., 1.])})
    """
    target = Path(path)
    if target.suffix != ".npz":
        raise ValueError(
            f"a probe is saved as .npz, got {target.name!r}: call it {target.stem}.npz"
        )
    about_json = json.dumps({"kind": kind, **about})
    write_arrays(target, {**arrays, "about": np.array(about_json)})
    return target


def read_probe(path: str | Path) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the content of a file from `write_probe`: kind, description of the probe, and arrays.

    Raises:
        ValueError: If the file holds no probe.
        OSError: If the file cannot be read.
    """
    refuse_no_file(path, "a probe that its save() wrote (.npz)")
    try:
        arrays = stored_arrays(path, sealed=True)
        metadata = dict(json.loads(str(arrays.pop("about"))))
        return str(metadata.pop("kind")), metadata, arrays
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} holds no probe: name a file that its save() wrote") from error


def refuse_other_weights(model: AttentionModel, name: str, digest: str) -> None:
    """Raise ValueError if a model is not the model of the probe's training, by its digest."""
    refuse_no_model(model)
    if model_digest(model) != digest:
        raise ValueError(
            f"the probe was trained on {name}; {model.name} has other weights, or heads that are "
            "switched off: pass that model, or train a probe on this one"
        )
