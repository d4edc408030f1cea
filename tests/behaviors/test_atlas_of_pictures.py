"""The atlas of a model of pictures: planted heads are named, and behaviors of texts refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from attnwidget import AttentionModel, atlas, load_atlas, load_model
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.picture_patches import BEHAVIORS
from attnwidget.corpus.accumulator import Batch
from attnwidget.demo import drawn_shapes
from attnwidget.results import Box
from fixtures.speech_models import whisper_model
from refusals import naming

DRAWN = drawn_shapes(8, seed=11)
run = partial(atlas, n_random_models=0, progress=False)


@pytest.fixture(scope="module")
def shapes() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


def links_of(name: str, model: AttentionModel) -> np.ndarray:
    tokens = model.attend(images=DRAWN.images[0]).stacks["self"].key
    n = len(tokens)
    real = torch.ones(1, n, dtype=torch.bool)
    batch = Batch([], [tokens], {}, torch.tensor([n]), real, real.float() / n, {})
    behavior = next(one for one in BEHAVIORS if one.name == name)
    return behavior.links(batch)[0].numpy()


def test_predicted_links_are_those_of_the_raster(shapes: AttentionModel) -> None:
    """The raster has 8 rows and columns, after [CLS]."""
    steps = {"patch itself": 0, "patch to the right": 1, "patch above": -8, "patch below": 8}
    for name, step in steps.items():
        queries, keys = np.nonzero(links_of(name, shapes))
        assert (keys - queries == step).all()
        rows, columns = np.divmod(queries - 1, 8)
        inside = {0: 64, 1: 56, -8: 56, 8: 56}
        assert len(queries) == inside[step] and (queries > 0).all()
        if step == 1:
            assert columns.max() == 6
        if step == 8:
            assert rows.max() == 6
    assert links_of("patches around", shapes).sum(-1).max() == 8
    assert links_of("rests on the class token", shapes)[:, 0].all()
    assert links_of("rests on the class token", shapes).sum() == 65
    assert not links_of("rests on registers", shapes).any()


def test_an_atlas_of_pictures_is_kept(shapes: AttentionModel, tmp_path: Path) -> None:
    found = run(shapes, DRAWN.images, n_examples=3)
    assert set(found.table.behaviors) == {
        "patch itself",
        "patch to the left",
        "patch to the right",
        "patch above",
        "patch below",
        "patches around",
        "rests on the class token",
        "broad",
    }
    assert found.reasons["rests on registers"] == "no text of the first half has a predicted link"
    assert "ablate(model, labeled pictures" in found.reasons["effects"]
    path = tmp_path / "atlas.json"
    found.save(path)
    again = load_atlas(path)
    link = again.examples[next(iter(again.examples))]["heaviest"][0]
    assert isinstance(link.tokens.places[1], Box) and not link.tokens.is_line
    assert again.table.behaviors == found.table.behaviors


def test_scores_are_the_mean_weight_of_the_links(shapes: AttentionModel) -> None:
    found = measure_behaviors(
        shapes, DRAWN.images, ["patch itself"], n_random_models=1, progress=False
    )
    links = links_of("patch itself", shapes)
    maps = [shapes.attend(images=picture).weights() for picture in DRAWN.images[::2]]
    wanted = np.mean([weights[..., links].mean(-1) for weights in maps], 0)
    np.testing.assert_allclose(found["patch itself"].score, wanted, atol=1e-5)


def test_behaviors_of_other_inputs_are_refused(shapes: AttentionModel) -> None:
    score = partial(measure_behaviors, n_random_models=0, progress=False)
    with pytest.raises(ValueError, match=naming("previous token", "picture")):
        score(shapes, DRAWN.images, ["previous token"])
    with pytest.raises(ValueError, match=naming("patch above", "texts")):
        score(load_model(device="cpu"), behaviors=["patch above"], treebank=(), documents=())
    both = score(shapes, DRAWN.images, ["patch above", "previous token"])
    assert list(both.left_out) == ["previous token"]
    with pytest.raises(ValueError, match=naming("spoken_word_weights", "sounds")):
        score(whisper_model(1), [(np.zeros(800, np.float32), 16000)])
