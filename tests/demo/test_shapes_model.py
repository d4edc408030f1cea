"""The model of pictures of the package: its files, where it looks, and its script."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import attnwidget
from attnwidget import AttentionModel, load_model, measure
from attnwidget.demo import drawn_shapes
from attnwidget.demo.drawn_shapes import COLORS, LABELS
from attnwidget.metrics import MassInPlaces
from refusals import naming
from train_shapes import FIRST_SEED, inputs_of, main, new_model, shape_shares

FOLDER = Path(attnwidget.__file__).parent / "demo" / "shapes"
HELD_OUT = drawn_shapes(300, seed=5)
INPUTS = inputs_of(HELD_OUT)
# The head with the largest lift on held-out pictures (model card).
BEST = 0, 0


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


def accuracy(model: AttentionModel, count: int = 300) -> float:
    with torch.no_grad():
        found = model.hf_model(pixel_values=INPUTS[:count]).logits.argmax(-1)
    return float((found.numpy() == HELD_OUT.labels[:count]).mean())


def test_drawn_pictures_have_a_shape_in_their_box() -> None:
    drawn = drawn_shapes(40, seed=3)
    assert drawn.images.shape == (40, 32, 32, 3) and drawn.images.dtype == np.uint8
    colors = np.array(tuple(COLORS.values()))
    for picture, label, box in zip(drawn.images, drawn.labels, drawn.boxes, strict=True):
        inside = picture[int(box.top) : int(box.bottom), int(box.left) : int(box.right)]
        pixels, counts = np.unique(inside.reshape(-1, 3), axis=0, return_counts=True)
        ink = pixels[counts.argmax()]
        # All pixels of a shape have one color, near the color of its name; noise has many.
        assert np.abs(ink.astype(int) - colors[label % 5]).max() < 50
        drawn_on = (inside == ink).all(-1)
        assert drawn_on.mean() > 0.3 and 36 <= box.area <= 121
        edges = drawn_on[0], drawn_on[-1], drawn_on[:, 0], drawn_on[:, -1]
        assert all(edge.any() for edge in edges), "the box ends where the shape ends"
        assert (picture == ink).all(-1).sum() == drawn_on.sum()
    assert len(set(drawn.names)) > 10 and set(drawn.names) <= set(LABELS)


def test_the_same_seed_draws_the_same_pictures() -> None:
    first, again, other = drawn_shapes(5, seed=1), drawn_shapes(5, seed=1), drawn_shapes(5)
    assert (first.images == again.images).all() and first.boxes == again.boxes
    assert not (first.images == other.images).all()
    assert repr(drawn_shapes(1)).startswith("DrawnShapes(1 picture of 32 × 32 pixels: ")
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=naming("n", "picture")):
            drawn_shapes(wrong)
    with pytest.raises(TypeError, match=naming("n", "1.5")):
        drawn_shapes(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("seed", "-1")):
        drawn_shapes(1, seed=-1)


def test_the_files_are_small() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {
        "config.json",
        "model.safetensors",
        "preprocessor_config.json",
    }
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 500_000


def test_the_model_names_shapes(model: AttentionModel) -> None:
    assert type(model.hf_model).__name__ == "ViTForImageClassification"
    assert (model.n_layers, model.n_heads, model.tokenizer) == (4, 4, None)
    assert model.hf_model.dtype == torch.float32 and model.source == "attnwidget/shapes"
    assert tuple(model.hf_model.config.id2label.values()) == LABELS
    assert accuracy(model) > 0.7
    attention = model.attend({"pixel_values": inputs_of(drawn_shapes(1))})
    assert attention.tokens[:3] == ["[CLS]", "r0c0", "r0c1"]
    with pytest.raises(ValueError, match=naming("'attnwidget/shapes'", "'step0'", "revision")):
        load_model("attnwidget/shapes", revision="step0")


def test_its_processor_makes_the_inputs_of_the_training(model: AttentionModel) -> None:
    drawn = drawn_shapes(2)
    for picture, pixels in zip(drawn.images, inputs_of(drawn), strict=True):
        large = picture.repeat(3, axis=0).repeat(3, axis=1)
        by_hand = model.attend({"pixel_values": pixels[None]}).weights()
        np.testing.assert_allclose(model.attend(images=[picture]).weights(), by_hand, atol=1e-6)
        assert model.attend(images=[large]).weights().shape == by_hand.shape
    found = model.predict(images=[drawn.images[0]])
    assert found.to_frame().iloc[0].astype(str).str.contains(drawn.names[0]).any()


def test_its_best_head_looks_at_the_shape_and_not_at_other_places(model: AttentionModel) -> None:
    drawn = drawn_shapes(24, seed=7)
    metric = MassInPlaces(drawn.boxes)
    found = measure(model, drawn.images, [metric], progress=False)["mass_in_places"]
    assert found.best == BEST and found.n_documents == 24 and found.n_outside == 0
    assert found.lift[BEST] > 5 and found.control_lift[BEST] < found.lift[BEST] / 2
    assert found.pointing[BEST] > 0.8 and found.control_pointing[BEST] < 0.4
    assert found.p_values[BEST] < 0.001
    # The script counts whole pixels of the same boxes.
    shares, areas = [], shape_shares(drawn).mean(1)
    for picture, inside in zip(drawn.images, shape_shares(drawn), strict=True):
        row = model.attend(images=picture).weights(*BEST)[0, 1:]
        shares.append((row * inside).sum() / row.sum())
    assert found.lift[BEST] == pytest.approx(np.mean(shares / areas), rel=0.01)


def test_without_its_best_head_it_names_fewer_shapes(model: AttentionModel) -> None:
    whole = accuracy(model, 150)
    loss = np.zeros((4, 4))
    for layer, head in np.ndindex(4, 4):
        with model.disabled([(layer, head)]):
            loss[layer, head] = whole - accuracy(model, 150)
    assert loss[BEST] > np.median(loss) and loss[BEST] > 0.05


def test_the_script_trains_a_model_that_can_be_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--out", str(tmp_path), "--steps", "9", "--every", "9", "--batch", "2"])
    said = capsys.readouterr().out
    assert said.startswith("82,436 weights\nstep 9, ") and "lift: L3 H0" in said
    settings = [json.loads((path / "config.json").read_text()) for path in (tmp_path, FOLDER)]
    for own in settings:
        own.pop("transformers_version")
    assert settings[0] == settings[1]
    processors = [(path / "preprocessor_config.json").read_text() for path in (tmp_path, FOLDER)]
    assert processors[0] == processors[1]
    model = load_model(tmp_path)
    assert model.hf_model.dtype == torch.float16


def test_the_script_ends_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--out", str(tmp_path), "--steps", "9", "--batch", "2", "--minutes", "1e-9"])
    assert "stopped after 0 steps" in capsys.readouterr().out
    assert FIRST_SEED == 1_000_000 and new_model().num_labels == len(LABELS)
