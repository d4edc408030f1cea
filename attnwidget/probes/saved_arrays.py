"""Trained probes in .npz files: arrays and JSON, no pickle, and a word on whose they are."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.probes.features import model_digest
from attnwidget.studies.argument_checks import refuse_no_model

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def write_probe(
    path: str | Path, kind: str, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Path:
    """Write a probe of a kind; returns the path.

    Raises:
        ValueError: the file would not be called .npz.
        OSError: it cannot be written.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from attnwidget.probes.saved_arrays import read_probe, write_probe
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_probe(f"{folder}/p.npz", "probe", {"rank": 2}, {"map": np.ones(2)})
        ...     read_probe(path, "probe")
        ({'rank': 2}, {'map': array([1., 1.])})
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"a probe is saved as .npz, got {path.name!r}: call it {path.stem}.npz")
    said = json.dumps({"kind": kind, **about})
    np.savez(path, allow_pickle=False, about=np.array(said), **arrays)
    return path


def read_probe(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write_probe` wrote: what it said of the probe, and the arrays.

    Raises:
        ValueError: the file holds no probe of this kind.
        OSError: it cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        about = json.loads(str(arrays.pop("about")))
        found = about.pop("kind")
    except (ValueError, KeyError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path} holds no {kind}: name a file that its save() wrote") from error
    if found != kind:
        raise ValueError(f"{path} holds a {found}, not a {kind}")
    return about, arrays


def refuse_other_model(model: AttentionModel, name: str, digest: str, what: str) -> None:
    """ValueError where a model is not the one of a digest; `what` says whose that is."""
    refuse_no_model(model)
    if model_digest(model) != digest:
        raise ValueError(
            f"{what} is of {name!r}, whose weights or heads switched off are not those of "
            f"{model.name!r}: pass the model that it was trained on"
        )
