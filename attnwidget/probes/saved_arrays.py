"""Trained probes in .npz files: arrays and JSON, no pickle, and a word on whose they are."""

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

    An existing file is kept until the new file is complete.

    Raises:
        ValueError: the file would not be called .npz.
        OSError: it cannot be written.

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
    said = json.dumps({"kind": kind, **about})
    write_arrays(target, {**arrays, "about": np.array(said)})
    return target


def read_probe(path: str | Path) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write_probe` wrote: the kind, what it said of the probe, and the arrays.

    Raises:
        ValueError: the file holds no probe.
        OSError: it cannot be read.
    """
    refuse_no_file(path, "a probe that its save() wrote (.npz)")
    try:
        arrays = stored_arrays(path, sealed=True)
        about = dict(json.loads(str(arrays.pop("about"))))
        return str(about.pop("kind")), about, arrays
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} holds no probe: name a file that its save() wrote") from error


def refuse_other_weights(model: AttentionModel, name: str, digest: str) -> None:
    """ValueError where a model is not the one that a probe was trained on, by name and digest."""
    refuse_no_model(model)
    if model_digest(model) != digest:
        raise ValueError(
            f"the probe was trained on {name}; {model.name} has other weights, or heads that are "
            "switched off: pass that model, or train a probe on this one"
        )
