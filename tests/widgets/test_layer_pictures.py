"""`save_layers`: one file with a picture of the figure for every layer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from attnwidget import AttentionModel, HeadGrid, HeadView
from refusals import naming


@pytest.fixture
def view(model: AttentionModel) -> HeadView:
    return HeadView(model.attend("The captain told his men."), "L1 H3", tokens=["his"])


def test_panels_have_one_head_number_in_all_layers(view: HeadView, tmp_path: Path) -> None:
    path = view.save_layers(tmp_path / "layers.svg", width=900)
    drawn = path.read_text("utf-8")
    titles = [f"L{layer} H3" for layer in range(6)]
    assert [title for title in titles if title in drawn] == titles
    assert not re.search(r"L\d H[0124-9]\b", drawn)
    assert str(view.head) == "L1 H3" and view.layer == 1


def test_a_grid_with_a_word_shows_the_heads_that_stepping_by_hand_shows(
    model: AttentionModel, tmp_path: Path
) -> None:
    attention = model.attend("The captain told his men.")
    grid = HeadGrid(attention, tokens=["his"], selected=["L0 H2"])
    stepped = []
    for layer in (1, 2, 3, 4, 5, 0):
        grid.layer = layer
        stepped.append(grid.head)
    shown = []
    grid.observe(lambda change: shown.append(grid.head), names=["selected"])
    grid.save_layers(tmp_path / "grid.pdf")
    assert {*shown} == {*stepped} and len({*stepped}) == 6
    assert grid.head == stepped[-1]


@pytest.mark.parametrize("suffix", ["gif", "webp"])
def test_an_animation_has_a_frame_for_each_layer(
    view: HeadView, suffix: str, tmp_path: Path
) -> None:
    path = view.save_layers(tmp_path / f"layers.{suffix}", width=400, seconds=0.5)
    with Image.open(path) as picture:
        assert getattr(picture, "n_frames", 1) == 6
        assert picture.width == 800
        frames = []
        for number in range(6):
            picture.seek(number)
            frames.append(picture.convert("RGB").tobytes())
            assert picture.info["duration"] == 500 or suffix == "webp"
    assert len(set(frames)) == 6


def test_the_figure_is_as_before_if_a_picture_cannot_be_drawn(
    view: HeadView, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=naming("theme", "'blue'")):
        view.save_layers(tmp_path / "layers.svg", theme="blue")  # type: ignore[arg-type]
    assert str(view.head) == "L1 H3" and view.layer == 1


def test_invalid_arguments_are_refused(view: HeadView, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("must be .svg", "'layers.html'")):
        view.save_layers(tmp_path / "layers.html")
    with pytest.raises(ValueError, match=naming("seconds", "above 0", "0")):
        view.save_layers(tmp_path / "layers.gif", seconds=0)
    with pytest.raises(FileNotFoundError):
        view.save_layers(tmp_path / "none" / "layers.gif")
    assert not list(tmp_path.iterdir())
