"""Kills, Ctrl-C, full disks and second runs: the old file stands, and the bits are the same."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from attnwidget import HeadView, ablate, make_segments, measure
from attnwidget.metrics import merge_resume_files
from attnwidget.probes import train_dependency_probe
from attnwidget.probes.features import extract_features
from fixtures import forked_python
from fixtures.planted_probes import sentences
from refusals import naming
from robustness import faults

TESTS = Path(__file__).parents[1]
TEXTS = ["w1 w2 w3", "w4 w5", "w6 w7 w8 w9"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (
            ["measure", "ablate", "train_dependency_probe", "structural_probe", "train_pair_probe"],
            ["kill"],
        ),
        (["measure"], [one for one in faults.FAULTS if one != "kill"]),
    ],
    ids=["kill", "other faults"],
)
def test_what_is_taken_up_ends_in_the_same_bits(
    forks: str, given: list[str], kinds: list[str]
) -> None:
    command = [*given, "--count", "1", "--seed", "17", "--faults", *kinds]
    run = subprocess.run(
        forked_python.command(forks, "robustness.faults", *command),
        cwd=TESTS,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    counts = [json.loads(line) for line in run.stdout.splitlines()]
    asked = [(study, fault) for study in given for fault in kinds]
    assert [(one["study"], one["fault"]) for one in counts] == asked, run.stderr[-2000:]
    for one in counts:
        assert not one["falls"], one
        hits = [how for how in one if how.startswith(("killed", "returned", "raised"))]
        assert sum(one[how] for how in hits) >= 1, one


# --- two runs of one file ---


def _measure(path: Path) -> Any:
    model = faults.model()
    segments = make_segments(TEXTS, model)
    return measure(model, segments, ["entropy"], resume=path, progress=False)


def _ablate(path: Path) -> Any:
    model = faults.model("gpt2")
    segments = make_segments(TEXTS, model)
    return ablate(model, segments, scoring="loss", heads=[(0, 1)], resume=path, progress=False)


def _probe(path: Path) -> Any:
    parts = sentences(6), sentences(3, seed=1)
    return train_dependency_probe(faults.model(), *parts, seeds=1, resume=path, progress=False)


HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("study", [_measure, _ablate, _probe])
def test_a_second_process_is_refused_until_the_first_is_gone(
    study: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    expected = faults.bits(faults._said_by(study(path)))
    before = path.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, f"{path}.lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        with pytest.raises(RuntimeError, match=naming("run.npz", "second run")):
            study(path)
        assert path.read_bytes() == before
        other.kill()
    # What was killed leaves the file of its lock, and no lock; what ends leaves neither.
    assert Path(f"{path}.lock").exists()
    assert faults.bits(faults._said_by(study(path))) == expected
    assert [one.name for one in tmp_path.iterdir()] == ["run.npz"]


def test_a_second_thread_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    refused = []

    def second() -> None:
        try:
            _measure(path)
        except RuntimeError as error:
            refused.append(str(error))

    with FileLock(f"{path}.lock"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match=naming("run.npz", "second run")):
            merge_resume_files([_finished(tmp_path)], path)
    assert len(refused) == 1 and str(path) in refused[0]


def _finished(folder: Path) -> Path:
    path = folder / "part.npz"
    _measure(path)
    return path


def test_features_have_one_writer_and_any_number_of_readers(tmp_path: Path) -> None:
    def read() -> Any:
        return extract_features(faults.model(), sentences(4), tmp_path / "maps", progress=False)

    found = read()
    with FileLock(f"{found.path}.lock"):
        assert read().path == found.path  # whole: nobody writes it
        found.path.with_name("index.json").unlink()
        with pytest.raises(RuntimeError, match=naming("features.bin", "second run")):
            read()
    data = found.path.read_bytes()
    assert read().path.read_bytes() == data
    assert sorted(one.name for one in found.path.parent.iterdir()) == [
        "features.bin",
        "index.json",
    ]


# --- no room for a figure or a probe ---


@pytest.mark.parametrize("name", ["view.svg", "view.html", "picture.svg", "probe.npz"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_was_saved_before_stands(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = HeadView(faults.model().attend("w1 w2 w3"), layer=0, head=1)
    probe = _probe(tmp_path / "run.npz")
    save = {
        "view.svg": view.save,
        "view.html": view.save,
        "picture.svg": lambda path: view.figure().save(path),
        "probe.npz": probe.save,
    }[name]
    path = tmp_path / name
    save(path)
    before = path.read_bytes()
    listed = sorted(tmp_path.iterdir())

    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    if number == errno.ENOSPC:  # of a disk that is full when all is written
        monkeypatch.setattr(Path, "replace", full)
    else:
        opened = Path.open

        def refusing(self: Path, mode: str = "r", *options: Any, **named: Any) -> Any:
            return (
                full()
                if "w" in mode and name in self.name
                else opened(self, mode, *options, **named)
            )

        monkeypatch.setattr(Path, "open", refusing)
    with pytest.raises(OSError, match=naming("unchanged", "folder")) as caught:
        save(path)
    assert caught.value.errno == number and caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == listed
    view.close()
