"""Example links of heads over pictures, with their places."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from attnwidget import AttentionModel, load_model, measure
from attnwidget.behaviors import head_examples
from attnwidget.corpus.resume_from import resume_from
from attnwidget.demo import drawn_shapes
from attnwidget.results import Box, Span
from fixtures.speech_models import whisper_model
from fixtures.vision_language import llava_model
from refusals import naming

DRAWN = drawn_shapes(3, seed=11)
run = partial(head_examples, progress=False)


@pytest.fixture(scope="module")
def shapes() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


def test_strongest_links_are_those_of_all_pictures(shapes: AttentionModel) -> None:
    found = run(shapes, DRAWN.images, n_examples=4)
    attentions = [shapes.attend(images=picture) for picture in DRAWN.images]
    for layer, head in [(0, 0), (2, 3)]:
        for kind, name in (("heaviest", "weights"), ("strongest", "norms")):
            maps = np.stack([getattr(one, name)(layer, head) for one in attentions])
            order = np.argsort(-maps, axis=None)[:4]
            wanted = [tuple(map(int, np.unravel_index(place, maps.shape))) for place in order]
            links = found.links(layer, head, kind)
            assert [(link.segment, link.query, link.key) for link in links] == wanted
    link = found.links(0, 0)[0]
    axis = attentions[link.segment].stacks["self"].key
    assert link.tokens == axis and link.key_place == axis.places[link.key]
    assert str(link).endswith(f"input {link.segment}")
    assert not found.no_strength and found.n_segments == 3
    frame = found.to_frame()
    patches = frame[frame["to"].str.startswith("r")]
    assert np.allclose(patches["right"] - patches["left"], 4, atol=0.01)
    assert frame[frame["to"] == "[CLS]"]["left"].isna().all()


def test_a_stopped_study_keeps_places(shapes: AttentionModel, tmp_path: Path) -> None:
    file = tmp_path / "examples.npz"
    with resume_from(file):
        run(shapes, DRAWN.images[:2], n_examples=2, batch_size=1)
        again = run(shapes, DRAWN.images, n_examples=2, batch_size=1)
    whole = run(shapes, DRAWN.images, n_examples=2)
    assert again.links(1, 1) == whole.links(1, 1)
    assert isinstance(again.links(1, 1, "heaviest")[0].tokens.places[1], Box)


def test_words_and_patches_are_examples_of_a_language_model() -> None:
    model = llava_model()
    rows = [{"image": picture, "text": "what color"} for picture in DRAWN.images[:2]]
    found = run(model, rows, n_examples=3)
    places = {type(place) for link in found.links(1, 0) for place in link.tokens.places}
    assert places == {Box, type(None)} and found.links(1, 0)[0].tokens.ids
    with pytest.raises(ValueError, match=naming("position", "'self'", "metrics")):
        measure(model, rows, ["position"], progress=False)


def test_sounds_have_spans() -> None:
    sound = np.random.default_rng(0).normal(0, 0.1, 9000).astype(np.float32)
    found = run(whisper_model(5), [(sound, 16000)], n_examples=2)
    links = found.links(0, 0, "heaviest")
    assert all(isinstance(link.tokens.places[0], Span) for link in links)
    assert {"start", "end"} <= set(found.to_frame().columns)
