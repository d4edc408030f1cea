"""Trained probes out of their files, which hold arrays and JSON and nothing that runs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.probes.dependency_answers import CodeLength
from attnwidget.probes.dependency_form import Form
from attnwidget.probes.dependency_results import FORMAT, PLAIN, DependencyProbe
from attnwidget.probes.parse_scores import JudgedWords, ParseScores
from attnwidget.text.word_vectors import WordVectors

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def load_probe(
    path: str | Path,
    model: AttentionModel | None = None,
    *,
    vectors: WordVectors | None = None,
) -> DependencyProbe:
    """A probe that was saved, with its scores and weights.

    Args:
        path: what `DependencyProbe.save` wrote.
        model: the model that the probe was trained on, for `predictions` and `votes`.
        vectors: the word vectors likewise.

    Raises:
        ValueError: the file is no probe; another model than the probe's, or other vectors.
        OSError: it cannot be read.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import demo_treebank, load_model, load_probe, train_probe
        >>> sentences, model = demo_treebank(), load_model()
        >>> probe = train_probe(model, sentences[:90], sentences[90:], progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = load_probe(probe.save(Path(folder, "probe.npz")), model)
        >>> again.uas == probe.uas
        True
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        about = json.loads(str(arrays["about"]))
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}")
        found = _probe(about, arrays)
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(
            f"{path} is no probe that this version of attnwidget saved: {error}"
        ) from error
    found = found if model is None else found.of_model(model)
    return found if vectors is None else found.with_vectors(vectors)


def _probe(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> DependencyProbe:
    words = JudgedWords(tuple(about["relations"]), arrays["relation"], arrays["sentence"])
    code = None
    if about["bounds"] is not None:
        bounds, n_words = tuple(about["bounds"]), about["n_words"]
        code = CodeLength(bounds, arrays["bits"], arrays["uniform_bits"], n_words)
    form, parameters = Form(**about["form"]), arrays["parameters"]
    expected = (len(about["seeds"]), form.n_parameters)
    if parameters.shape != expected:
        raise ValueError(f"its parameters are {parameters.shape}, expected {expected}")
    return DependencyProbe(
        form=form,
        parameters=parameters,
        seeds=tuple(about["seeds"]),
        options=about["options"],
        scores=ParseScores(arrays["hits"], words),
        baselines={n: ParseScores(arrays[f"hits/{n}"], words) for n in about["baselines"]},
        control=ParseScores(arrays["control"], words) if "control" in arrays else None,
        code=code,
        mean_pair=arrays["mean_pair"],
        **{name: about[name] for name in PLAIN},
    )
