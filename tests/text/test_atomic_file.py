"""Saved files take the place of the file that the user named: links, permissions, pipes."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attnwidget import Attention, HeadGrid, load_model, measure, save_page, save_table
from attnwidget.drawing.picture import Picture
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.segments import Segment
from attnwidget.text.stored_arrays import write_arrays
from refusals import naming

TABLE = pd.DataFrame({"token": ["cat"], "weight": [0.5]})
pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions and pipes of POSIX")


def _attention() -> Attention:
    return Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])


def _save_page(path: Path) -> None:
    save_page(_attention(), path)


def _save_table(path: Path) -> None:
    save_table(TABLE, path)


def _measure(path: Path) -> None:
    segment = Segment(("the", "cat"), ("it", "slept"))
    measure(load_model(), [segment], ["entropy"], resume=path, progress=False)


SAVES = {
    "page.html": _save_page,
    "table.csv": _save_table,
    "table.tsv": _save_table,
    "arrays.npz": lambda path: write_arrays(path, {"a": np.zeros(2)}),
    "run.npz": _measure,
}


@pytest.fixture(params=SAVES.items(), ids=list(SAVES))
def save(request: pytest.FixtureRequest) -> tuple[str, Callable[[Path], Any]]:
    named: tuple[str, Callable[[Path], Any]] = request.param
    return named


@pytest.mark.parametrize("is_relative", [True, False])
def test_a_symbolic_link_stays_and_its_file_is_replaced(
    tmp_path: Path, save: tuple[str, Callable[[Path], Any]], is_relative: bool
) -> None:
    name, write = save
    (tmp_path / "results").mkdir()
    (tmp_path / "links").mkdir()
    kept = tmp_path / "results" / name
    link = tmp_path / "links" / f"latest-{name}"
    link.symlink_to(Path("..", "results", name) if is_relative else kept)
    # At first the link names a file that does not exist yet.
    for _ in range(2):
        write(link)
        assert link.is_symlink() and kept.is_file() and not kept.is_symlink()
        assert kept.stat().st_size > 0
    assert [path.name for path in tmp_path.rglob("*.part")] == []


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_permissions_of_a_file_are_kept(
    tmp_path: Path, save: tuple[str, Callable[[Path], Any]], mode: int
) -> None:
    name, write = save
    path = tmp_path / name
    write(path)
    path.chmod(mode)
    state = path.stat()
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert (path.stat().st_uid, path.stat().st_gid) == (state.st_uid, state.st_gid)


def test_a_new_file_has_the_permissions_that_the_user_gives_to_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_unfinished_content_of_a_private_file_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0")
    path.chmod(0o600)
    seen: list[int] = []
    write_bytes = Path.write_bytes

    def watched(self: Path, data: bytes) -> int:
        written = write_bytes(self, data)
        seen.append(stat.S_IMODE(self.stat().st_mode))
        return written

    monkeypatch.setattr(Path, "write_bytes", watched)
    write_whole(path, b"1")
    assert seen == [0o600] and path.read_bytes() == b"1"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_pipe_is_refused_and_stays(
    tmp_path: Path, save: tuple[str, Callable[[Path], Any]], is_linked: bool
) -> None:
    name, write = save
    pipe = tmp_path / ("pipe" if is_linked else name)
    os.mkfifo(pipe)
    if is_linked:
        (tmp_path / name).symlink_to(pipe)
    with pytest.raises(OSError, match=naming("pipe", "device")):
        write(tmp_path / name)
    assert pipe.is_fifo() and sorted(tmp_path.iterdir()) == sorted({pipe, tmp_path / name})


@pytest.mark.timeout(600)
def test_a_figure_is_not_drawn_for_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picture, "drawn", None)
    pipe = tmp_path / "figure.svg"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match=naming("figure.svg", "pipe", "new file")):
        HeadGrid(_attention()).save(pipe)
    assert pipe.is_fifo()


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.symlink_to(second)
    second.symlink_to(first)
    with pytest.raises(OSError, match=naming("a.csv")):
        save_table(TABLE, first)
    assert first.is_symlink() and second.is_symlink()


def test_a_link_into_a_missing_folder_is_refused_before_the_work(tmp_path: Path) -> None:
    link = tmp_path / "run.npz"
    link.symlink_to(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(FileNotFoundError, match=naming("nowhere", "'run.npz'")):
        _measure(link)


def test_a_planted_link_in_the_folder_is_not_followed(
    tmp_path: Path, save: tuple[str, Callable[[Path], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = save
    victim = tmp_path / "victim"
    victim.write_text("private")
    writer = f"{os.getpid()}-{threading.get_ident()}"
    for planted in (f"{name}.{writer}.part", f"{name}.part"):
        (tmp_path / planted).symlink_to(victim)
    write(tmp_path / name)
    assert victim.read_text() == "private" and not (tmp_path / name).is_symlink()


def test_an_unfinished_file_of_a_known_name_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.text.atomic_file.secrets.token_hex", lambda _: "known")
    victim = tmp_path / "victim"
    victim.write_text("private")
    (tmp_path / "a.known.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "a", b"1")
    assert victim.read_text() == "private" and not (tmp_path / "a").exists()
