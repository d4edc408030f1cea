"""Loading of trained probes from files, which only contain arrays and JSON, no code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.pairs.pair_result import PairProbe
from attnwidget.probes.saved_arrays import read_probe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.text.word_vectors import WordVectors

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_KINDS = {one.kind: one for one in (DependencyProbe, StructuralProbe, PairProbe)}


@in_plain_torch
def load_probe(
    path: str | Path,
    model: AttentionModel | None = None,
    *,
    vectors: WordVectors | None = None,
) -> DependencyProbe | StructuralProbe | PairProbe:
    """Load a saved probe with its scores and weights.

    Args:
        path: File that the probe's `save` wrote.
        model: Model of the training, for `predictions` and `votes`.
        vectors: Word vectors of the training, for a probe that uses words.

    Raises:
        ValueError: If the file holds no probe, or the model or the vectors differ from those of the
            training.
        OSError: If the file cannot be read.
        TypeError: If the probe uses no words, but `vectors` are given.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import load_model, load_probe
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_dependency_probe
        >>> sentences, model = demo_treebank(), load_model()
        >>> probe = train_dependency_probe(model, sentences[:90], sentences[90:], progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = load_probe(probe.save(Path(folder, "probe.npz")), model)
        >>> again.uas == probe.uas
        True
    """
    kind, metadata, arrays = read_probe(path)
    try:
        probe = _KINDS[kind].restored(metadata, arrays)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path} is no probe that this version of attnwidget saved: {error}"
        ) from error
    if vectors is not None:
        if not isinstance(probe, DependencyProbe):
            raise TypeError(f"a {kind} reads no word vectors: leave vectors out")
        probe = probe.with_vectors(vectors)
    return probe if model is None else probe.for_model(model)
