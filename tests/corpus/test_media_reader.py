"""Studies over pictures and sounds: equal to single attentions, resumed, by workers, refused."""

from __future__ import annotations

import pickle
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from attnwidget import AttentionModel, load_model, measure, measure_attention
from attnwidget.capture.maps.layer import Layer
from attnwidget.demo import drawn_shapes
from attnwidget.inputs.media_input import is_media, media_segments
from attnwidget.metrics import MassInPlaces
from fixtures.on_workers import on_workers
from refusals import naming

DRAWN = drawn_shapes(5, seed=11)
METRICS = ["entropy", "confidence", "sinks", "attention_distance", "image_offsets", "modalities"]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


def numbers(model: AttentionModel, pictures: Any, **options: Any) -> dict[str, np.ndarray]:
    metrics = [*METRICS, MassInPlaces(DRAWN.boxes)]
    return measure(model, pictures, metrics, progress=False, **options).heads()


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    assert first.keys() == second.keys()
    for title, values in first.items():
        np.testing.assert_array_equal(values, second[title])


def test_a_study_is_the_mean_over_its_pictures(model: AttentionModel) -> None:
    found = measure(model, DRAWN.images, METRICS, progress=False).heads()
    alone = [
        measure_attention(model.attend(images=[picture]), METRICS).heads()
        for picture in DRAWN.images
    ]
    for title, values in found.items():
        np.testing.assert_allclose(values, np.mean([one[title] for one in alone], 0), atol=1e-6)


def test_pictures_are_arrays_images_paths_or_rows(model: AttentionModel, tmp_path: Path) -> None:
    expected = numbers(model, DRAWN.images, batch_size=2)
    images = [Image.fromarray(picture) for picture in DRAWN.images]
    paths = [tmp_path / f"{number}.png" for number in range(len(images))]
    for image, path in zip(images, paths, strict=True):
        image.save(path)
    rows = [{"image": image, "label": 1} for image in images]
    for given in (iter(images), paths, [{"images": [image]} for image in images], rows):
        same(numbers(model, given, batch_size=2), expected)


def test_a_stopped_study_goes_on(model: AttentionModel, tmp_path: Path) -> None:
    file = tmp_path / "sums.npz"
    numbers(model, DRAWN.images[:4], batch_size=2, resume=file)
    whole = numbers(model, DRAWN.images, batch_size=2, resume=file)
    same(whole, numbers(model, DRAWN.images, batch_size=2))
    with pytest.raises(ValueError, match=naming("sums.npz", "differ")):
        numbers(model, DRAWN.images[::-1], batch_size=2, resume=file)


class InTurn:
    """An executor that does the work at once, on a copy, as another process would."""

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        copied, given = pickle.loads(pickle.dumps((function, arguments)))
        future.set_result(copied(*given))
        return future


def test_workers_read_the_same(model: AttentionModel) -> None:
    with model.disabled([(0, 0)]):
        expected = numbers(model, DRAWN.images, batch_size=2)
        same(on_workers(InTurn(), numbers, model, DRAWN.images, batch_size=2), expected)
    assert not np.array_equal(numbers(model, DRAWN.images)["entropy"], expected["entropy"])


@pytest.mark.parametrize("query", ["cls", "mean"])
def test_long_inputs_have_the_same_numbers(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """Without whole maps, rows come in blocks, here of seven queries."""
    in_blocks = Layer.row_blocks
    monkeypatch.setattr(Layer, "row_blocks", lambda layer: in_blocks(layer, 4 * 65 * 7))
    whole, long = (model.attend(images=DRAWN.images[0], long=long) for long in (None, True))
    found = []
    for attention in (whole, long):
        metrics = [*METRICS, MassInPlaces(DRAWN.boxes[0], query)]
        found.append(measure_attention(attention, metrics).heads())
    assert long.is_long and len(list(long.row_blocks(0))) == 10
    assert found[0].keys() == found[1].keys()
    for title, values in found[0].items():
        np.testing.assert_allclose(found[1][title], values, atol=1e-3, rtol=1e-4, err_msg=title)


def test_other_inputs_are_refused(model: AttentionModel) -> None:
    with pytest.raises(TypeError, match=naming("str", "number 1", "pathlib.Path")):
        numbers(model, [DRAWN.images[0], "a text"])
    with pytest.raises(ValueError, match=naming("row 0", "pathlib.Path", "picture")):
        numbers(model, [{"images": []}])
    with pytest.raises(ValueError, match=naming("token_types", "'zero'", "None")):
        numbers(model, DRAWN.images, token_types="zero")
    with pytest.raises(ValueError, match=naming("position", "'self'", "'entropy'")):
        measure(model, DRAWN.images, ["position"], progress=False)
    with pytest.raises(ValueError, match=naming("norms", "measure")):
        measure(model, DRAWN.images, ["norms"], progress=False)
    with pytest.raises(TypeError, match=naming("BertForMaskedLM", "load_model")):
        numbers(load_model(device="cpu"), DRAWN.images)
    with pytest.raises(TypeError, match=naming("texts", "pathlib.Path")):
        numbers(model, ["a text"])


def test_pictures_are_known_by_their_content() -> None:
    first, again, other = media_segments([DRAWN.images[0], DRAWN.images[0], DRAWN.images[1]])
    assert first.first == again.first != other.first and first.index == 0 and len(first) == 1
    rows = [{"images": DRAWN.images[0], "text": text} for text in ("what?", "where?")]
    assert len({segment.first for segment in media_segments(rows)}) == 2
    assert not any(map(is_media, ("text", ["list"], ("a", "b"), {"text": "a"}, 1)))
