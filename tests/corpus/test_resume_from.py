"""Resume files that are set for a block of studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attnwidget import ablate, load_model, make_segments, measure, resume_from
from attnwidget.behaviors import measure_behaviors
from attnwidget.metrics import measure_checkpoints
from refusals import naming

TEXTS = ["The cat sat on the mat.", "It slept there.", "Dogs bark."]


@pytest.fixture(scope="module")
def segments() -> Any:
    return make_segments(TEXTS, load_model())


def test_a_study_keeps_its_work_in_the_file_of_the_block(segments: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with resume_from(path):
        measure(load_model(), segments, ["entropy"], progress=False)
    assert path.is_file()
    kept = path.read_bytes()
    measure(load_model(), segments[:1], ["entropy"], progress=False)
    assert path.read_bytes() == kept, "the block has ended"


def test_the_argument_of_a_study_goes_before_the_block(segments: Any, tmp_path: Path) -> None:
    with resume_from(tmp_path / "block.npz"):
        measure(load_model(), segments, ["entropy"], resume=tmp_path / "own.npz", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


def test_a_block_without_a_file_is_possible(segments: Any, tmp_path: Path) -> None:
    with resume_from(tmp_path / "run.npz"), resume_from(None):
        measure(load_model(), segments, ["entropy"], progress=False)
    assert not [*tmp_path.iterdir()]


def test_two_studies_in_a_block_do_not_share_a_file(segments: Any, tmp_path: Path) -> None:
    with resume_from(tmp_path / "run.npz"):
        measure(load_model(), segments, ["entropy"], progress=False)
        with pytest.raises(ValueError, match=naming("run.npz", "None", "scoring")):
            ablate(load_model(), segments, scoring="loss", heads=[(0, 1)], progress=False)


def test_a_study_of_studies_takes_a_folder(segments: Any, tmp_path: Path) -> None:
    with resume_from(tmp_path):
        measure_behaviors(
            load_model(), segments * 4, ["previous token"], n_random_models=0, progress=False
        )
    assert all(path.suffix == ".npz" for path in tmp_path.iterdir()) and [*tmp_path.iterdir()]


def test_checkpoints_are_kept_whole(segments: Any, tmp_path: Path) -> None:
    path = tmp_path / "training.npz"
    steps = [(0, load_model()), (1, load_model())]
    with resume_from(path):
        found = measure_checkpoints(steps, segments, ["entropy"], progress=False)
        again = measure_checkpoints(steps, segments, ["entropy"], progress=False)
    assert path.is_file()
    assert found.to_frame().equals(again.to_frame())


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(TypeError, match=naming("int", "resume_from")), resume_from(3):  # type: ignore[arg-type]
        pass
