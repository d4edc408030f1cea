"""Comparing with one model in memory at a time: the numbers of all at once, and no two alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import compare, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.text.segments import Segment
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

pytestmark = pytest.mark.slow

WORDS = [
    Segment(("w1", "w2", "w3", "w9"), document=0),
    Segment(("w4", "w5"), ("w6",), document=1),
    Segment(("w7", "w1", "w8"), document=1),
    Segment(("w11", "w2"), document=2),
    Segment(("w3",), document=2),
]
# Megabytes that two of the three batches of two segments have maps within: 3 layers of 4 heads.
TWO_BATCHES = 0.006


def run(a: Any, b: Any, given: Any = WORDS, **options: Any) -> Any:
    return compare(a, b, given, batch_size=2, progress=False, **options)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = []
    parent = tmp_path_factory.mktemp("models")
    for seed in range(4):
        model = build("bert")
        torch.manual_seed(seed)
        with torch.no_grad():
            for layer in model.base_model.encoder.layer:
                layer.attention.self.query.weight.normal_(0, 6)
        made.append(parent / f"seed-{seed}")
        model.save_pretrained(made[-1])
        word_tokenizer().save_pretrained(made[-1])
    return made


def watched(folder: Path, alive: list[weakref.ref[Any]]) -> Callable[[], AttentionModel]:
    """A function that loads a model, and asserts that none is there that was loaded before."""

    def load() -> AttentionModel:
        assert all(one() is None for one in alive)
        model = load_model(folder)
        alive.extend([weakref.ref(model), weakref.ref(model.hf_model)])
        return model

    return load


def assert_same(found: Any, expected: Any) -> None:
    assert found.segments.keys() == expected.segments.keys()
    for title, values in expected.segments.items():
        np.testing.assert_array_equal(found.segments[title], values, title)
    assert found.complete == expected.complete
    np.testing.assert_array_equal(found.documents, expected.documents)


@pytest.mark.parametrize(
    ("two_batches", "options"),
    [
        (0.02, {"pad_to": 10, "metrics": ["entropy", "norms", "gradients", "distances"]}),
        (TWO_BATCHES, {"matches": True, "across_layers": True}),
        (0.003, {"unit": "words"}),
    ],
)
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_no_two_models_are_alive_and_numbers_are_the_same(
    folders: list[Path], two_batches: float, options: dict[str, Any], n_chunks: int
) -> None:
    words = [["w1", "w2", "w3"], ["w7"], ["w9", "w4"], ["w5", "w5"], ["w6"]]
    given = words if "unit" in options else WORDS
    alive: list[weakref.ref[Any]] = []
    sources = [watched(folder, alive) for folder in folders[:2]]
    maps_mb = 100 if n_chunks == 1 else two_batches
    found = run(*sources, given, max_loaded_models=1, maps_mb=maps_mb, **options)
    assert len(alive) == 4 * n_chunks
    expected = run(*map(load_model, folders[:2]), given, **options)
    assert_same(found, expected)
    assert found.model_names == expected.model_names == ("seed-0", "seed-1")
    assert found.changes.keys() == expected.changes.keys()
    for title, values in expected.changes.items():
        np.testing.assert_array_equal(found.changes[title], values, title)
    for own, other in ((found.pairs, expected.pairs), (found.across, expected.across)):
        assert (own is None) == (other is None)
        if own is not None:
            np.testing.assert_array_equal(own, other)
    assert (found.cosine < 1).any() and found.heads().keys() == expected.heads().keys()


def test_seeds_are_loaded_one_at_a_time(folders: list[Path]) -> None:
    alive: list[weakref.ref[Any]] = []
    first, *others = (watched(folder, alive) for folder in folders)
    options: dict[str, Any] = {"models_are_seeds": True, "metrics": ["position"]}
    found = run(first, others, max_loaded_models=1, maps_mb=3 * TWO_BATCHES, **options)
    assert len(alive) == 16
    # Names and folders are loaded together without `max_loaded_models`.
    expected = run(str(folders[0]), folders[1:], **options)
    assert_same(found, expected)
    assert found.names == ["seed-1", "seed-2", "seed-3"] and len(found.between) == 3
    for one, other in zip(
        found.each + found.between, expected.each + expected.between, strict=True
    ):
        assert_same(one, other)


@pytest.mark.parametrize("readings", [1, 4, 5, 8])
def test_an_interruption_leaves_what_all_models_have_read(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch, readings: int
) -> None:
    """Two batches of each model are a chunk, then one of each."""
    add = ModelReader.add
    count = 0

    def counted(self: ModelReader, given: Sequence[Segment]) -> None:
        nonlocal count
        count += 1
        if count > readings:
            raise KeyboardInterrupt
        add(self, given)

    whole = run(*folders[:2], metrics=["position"])
    monkeypatch.setattr(ModelReader, "add", counted)
    options: dict[str, Any] = {
        "max_loaded_models": 1,
        "maps_mb": TWO_BATCHES,
        "metrics": ["position"],
    }
    if readings < 4:
        with pytest.raises(KeyboardInterrupt):
            run(*folders[:2], **options)
        return
    found = run(*folders[:2], **options)
    assert found.complete == (readings > 5) and found.n_segments == (5 if readings > 5 else 4)
    lengths = sorted(range(5), key=lambda place: len(WORDS[place]))
    read_places = sorted(lengths[: found.n_segments])
    for title, values in whole.segments.items():
        np.testing.assert_array_equal(found.segments[title], values[..., read_places], title)


def test_models_in_memory_are_refused_with_resident_1(folders: list[Path], tmp_path: Path) -> None:
    model = load_model(folders[0])
    with pytest.raises(TypeError, match=naming("'seed-0'", "max_loaded_models=1", "names")):
        run(folders[1], model, max_loaded_models=1)
    with pytest.raises(ValueError, match=naming("max_loaded_models", "got 2")):
        run(*folders[:2], max_loaded_models=2)
    with pytest.raises(ValueError, match=naming("maps_mb", "max_loaded_models=1", "neither")):
        run(*folders[:2], maps_mb=100)
    with pytest.raises(ValueError, match=naming("maps_mb", "got 0")):
        run(*folders[:2], max_loaded_models=1, maps_mb=0)
    with pytest.raises(ValueError, match=naming("resume", "max_loaded_models=1")):
        run(*folders[:2], max_loaded_models=1, resume=tmp_path / "sums.npz")
    with pytest.raises(
        ValueError, match=naming("2 segments", "6 tokens", "0.0 MB", "maps_mb=0.001")
    ):
        run(*folders[:2], max_loaded_models=1, maps_mb=0.001)
    with pytest.raises(TypeError, match=naming("BertForMaskedLM", "load_model")):
        run(folders[0], lambda: build("bert"), max_loaded_models=1)
    with pytest.raises(TypeError, match=naming("int", "load_model")):
        run(folders[0], 3)
    with pytest.raises(OSError, match=naming("nowhere", "model folder", "os.listdir")):
        run(folders[0], tmp_path / "nowhere", max_loaded_models=1)
    with pytest.raises(
        ValueError, match=naming("8 of 10", "('w11', 'w3', 'w4')", "BertForMaskedLM")
    ):
        run(folders[0], lambda: load_model(build("bert"), word_tokenizer(8)), max_loaded_models=1)
