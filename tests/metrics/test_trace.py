"""Metrics over checkpoints: as `measure` has them of each, one loaded at a time."""

from __future__ import annotations

import gc
import weakref
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from attnwidget import load_model, make_segments, measure
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.metrics import Confidence, measure_checkpoints
from attnwidget.text.segments import Segment
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming


@pytest.fixture(scope="module")
def embedded() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def segments(embedded: AttentionModel) -> list[Segment]:
    return make_segments(["The cat sat on the mat.", "She washed her hands.", "Yes."], embedded)


@pytest.mark.slow
def test_each_checkpoint_is_what_measure_finds(
    embedded: AttentionModel, segments: list[Segment]
) -> None:
    steps = [("start", embedded), ("end", "attnwidget/genre")]
    found = measure_checkpoints(steps, segments, ["entropy", Confidence(["[SEP]"])], progress=False)
    assert found.checkpoints == ("start", "end") and found.complete
    for label, model in (("start", embedded), ("end", load_model("attnwidget/genre"))):
        metrics = ["entropy", Confidence(["[SEP]"])]
        alone = measure(model, segments, metrics, progress=False).heads()
        assert found.heads(label).keys() == alone.keys()
        for title, values in alone.items():
            np.testing.assert_array_equal(found.heads(label)[title], values)
    np.testing.assert_array_equal(found.heads()["entropy"], found.heads("end")["entropy"])
    frame = found.to_frame()
    assert list(frame.columns) == ["checkpoint", "layer", "head", "metric", "value"]
    assert len(frame) == 2 * 3 * 72
    row = frame.query("checkpoint == 'end' and metric == 'confidence' and layer == 2 and head == 3")
    assert row["value"].item() == found.heads("end")["confidence"][2, 3]
    chart = found.chart("confidence").to_dict()
    assert len(chart["concat"]) == 6 and "confidence over training" in str(chart["title"])
    assert "start to end" in found.chart().to_json()
    with pytest.raises(ValueError, match=naming("metric", "'entropy'")):
        found.chart("norms")
    with pytest.raises(ValueError, match=naming("checkpoint", "'middle'")):
        found.heads("middle")


@pytest.mark.slow
def test_named_checkpoints_are_loaded_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []
    for step in (100, 200, 300):
        folders.append(tmp_path / f"checkpoint-{step}")
        build("bert").save_pretrained(folders[-1])
        word_tokenizer().save_pretrained(folders[-1])
    alive: list[weakref.ref[AttentionModel]] = []

    def loaded(source: Path) -> AttentionModel:
        gc.collect()
        assert sum(one() is not None for one in alive) <= 1
        model = load_model(source)
        alive.append(weakref.ref(model))
        return model

    # The package has a function with the name of the module.
    module = import_module("attnwidget.metrics.measure_checkpoints")
    monkeypatch.setattr(module, "load_model", loaded)
    texts = [Segment(("w1", "w2", "w3"))]
    with pytest.warns(UserWarning, match=naming("equal weights")):
        found = measure_checkpoints(folders, texts, ["entropy"], progress=False)
    assert found.checkpoints == ("checkpoint-100", "checkpoint-200", "checkpoint-300")
    assert found.steps == (100, 200, 300)
    assert len(alive) == 3


def test_an_interrupted_trace_keeps_the_checkpoints_that_are_done(
    embedded: AttentionModel, segments: list[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ModelReader.add
    count = 0

    def stopping(self: ModelReader, *given: object) -> object:
        nonlocal count
        count += 1
        if count > 3:
            raise KeyboardInterrupt
        return add(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(ModelReader, "add", stopping)
    steps = [(name, embedded) for name in "abc"]
    with pytest.warns(UserWarning, match=naming("'a'", "'b'", "equal")):
        found = measure_checkpoints(steps, segments, ["entropy"], batch_size=2, progress=False)
    assert found.checkpoints == ("a",) and not found.complete and "interrupted" in repr(found)
    count = 3
    with pytest.raises(KeyboardInterrupt):
        measure_checkpoints(steps, segments, ["entropy"], progress=False)


def test_checkpoints_that_cannot_be_traced(
    embedded: AttentionModel, segments: list[Segment]
) -> None:
    with pytest.raises(ValueError, match=naming("labels of checkpoints", "once")):
        measure_checkpoints([embedded, embedded], segments, progress=False)
    with pytest.raises(ValueError, match=naming("labels of checkpoints", "once")):
        measure_checkpoints([], segments, progress=False)
    with pytest.raises(TypeError, match=naming("int", "names", "folders")):
        measure_checkpoints([3], segments, progress=False)
    with pytest.raises(TypeError, match=naming("list", "'attnwidget/genre'")):
        measure_checkpoints("attnwidget/genre", segments, progress=False)
    whole = load_model(build("bert"), word_tokenizer(), name="whole")
    small = load_model(build("bert"), word_tokenizer(), name="small")
    del small.hf_model.bert.encoder.layer[1:]
    with pytest.raises(ValueError, match=naming("'small'", "layers", "heads")):
        measure_checkpoints([whole, small], [Segment(("w1",))], ["entropy"], progress=False)
