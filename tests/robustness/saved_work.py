"""Readers of what the package itself has saved: resume files and probes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from attnwidget import ablate, load_model, load_probe, measure
from attnwidget.corpus.segmenting import make_segments
from attnwidget.probes import train_dependency_probe, train_structural_probe
from fixtures import zoo
from fixtures.planted_probes import sentences
from fixtures.probed_sentences import reader as small_model
from fixtures.vocabularies import word_tokenizer, wordpiece
from robustness.mutations import mutated_arrays
from robustness.readers import Reader


@cache
def model() -> Any:
    return small_model(wordpiece())


def _saved(save: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "work.npz")
        save(path)
        return path.read_bytes()


def _resume_files() -> Reader:
    texts = ["the cat sat", "played on the mat", "it didn't"]
    segments = make_segments(texts, model())

    def run(path: Path) -> Any:
        metrics = ["entropy", "classes"]
        found = measure(model(), segments, metrics, batch_size=1, resume=path, progress=False)
        return found["entropy"].to_frame().to_numpy(), found.n_segments

    return Reader(run, {"run.npz": _saved(run)}, mutated_arrays)


def _ablations() -> Reader:
    answering = load_model(zoo.build("gpt2"), word_tokenizer())
    texts = make_segments(["w1 w2 w3"], answering)

    def run(path: Path) -> Any:
        found = ablate(
            answering, texts, scoring="loss", heads=[(0, 1)], resume=path, progress=False
        )
        return found.to_frame()

    return Reader(run, {"run.npz": _saved(run)}, mutated_arrays)


def _probes() -> Reader:
    probe = train_dependency_probe(
        model(),
        sentences(12),
        sentences(5, seed=1),
        seeds=1,
        control=True,
        description_length=True,
        progress=False,
    )

    def read(path: Path) -> Any:
        found = load_probe(path)
        return found, repr(found), found.to_frame(), found.uas

    return Reader(read, {"probe.npz": _saved(probe.save)}, mutated_arrays)


def _structural() -> Reader:
    probe = train_structural_probe(
        model(), sentences(12), sentences(5, seed=1), layers=[1], rank=2, epochs=1, progress=False,
        skip_unaligned=True,
    )  # fmt: skip

    def read(path: Path) -> Any:
        found = load_probe(path)
        return repr(found), found.to_frame()

    return Reader(read, {"probe.npz": _saved(probe.save)}, mutated_arrays)


SAVED_WORK: dict[str, Callable[[], Reader]] = {
    "resume files": _resume_files,
    "resume files of ablations": _ablations,
    "saved probes": _probes,
    "saved structural probes": _structural,
}
