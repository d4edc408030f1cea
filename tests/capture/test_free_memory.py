"""What does not fit the memory is refused before it is made, and its advice holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, compare, load_model, measure
from attnwidget.capture.maps import head_maps
from attnwidget.corpus.segmenting import make_segments
from attnwidget.metrics.measure_heads import measure_attention
from attnwidget.model_facts import free_memory, memory_limits
from refusals import naming

TEXTS = ["The cat sat on the mat.", "It slept all the day.", "No dog was there to see."]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


def test_files_that_linux_keeps_count_as_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable:     700 kB\n")
    monkeypatch.setattr(free_memory, "_LINUX", told)
    monkeypatch.setattr(free_memory, "free_under_limits", list)
    assert free_memory.free_memory() == 700 * 1024
    monkeypatch.setattr(free_memory, "_LINUX", tmp_path / "none")
    assert free_memory.free_memory() is None


class Group(NamedTuple):
    """A control group: its limit, the bytes in use, and the bytes of files among them."""

    limit: int | str
    used: int = 0
    files: int = 0

    def write(self, folder: Path, version: int) -> None:
        """Write the files that Linux shows of a group."""
        folder.mkdir(parents=True, exist_ok=True)
        limit, usage, prefix = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            if version == 1
            else ("memory.max", "memory.current", "")
        )
        (folder / limit).write_text(f"{self.limit}\n")
        (folder / usage).write_text(f"{self.used}\n")
        counts = f"anon 5\n{prefix}inactive_file {self.files}\n{prefix}active_file 0\n"
        (folder / "memory.stat").write_text(counts)


NO_LIMIT = {1: 9223372036854771712, 2: "max"}


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in the place of /proc/self, of a system with 10,000 free bytes."""
    folder = tmp_path / "proc"
    folder.mkdir()
    (tmp_path / "meminfo").write_text("MemAvailable: 10 kB\n")
    monkeypatch.setattr(free_memory, "_LINUX", tmp_path / "meminfo")
    monkeypatch.setattr(memory_limits, "_PROCESS", folder)
    return folder


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        # Outer to inner group; the root of all groups has no files in version 2.
        ([Group("none"), Group("none")], 10 * 1024),
        ([Group("none"), Group(900, 300)], 600),
        ([Group("none"), Group(900, 300, files=200)], 800),
        ([Group(500, 450), Group("none"), Group(900, 300)], 50),
        ([Group(900, 200), Group(800, 700), Group("none")], 100),
        ([Group(100, 300)], 0),
    ],
)
def test_the_least_of_all_containers_counts(
    process: Path, tmp_path: Path, version: int, groups: list[Group], expected: int
) -> None:
    mount = tmp_path / "memory groups"
    folder = mount
    for depth, group in enumerate(groups):
        folder = folder / f"level{depth}"
        limit = NO_LIMIT[version] if group.limit == "none" else group.limit
        group._replace(limit=limit).write(folder, version)
    path = "/" + str(folder.relative_to(mount))
    escaped = str(mount).replace(" ", "\\040")
    if version == 1:
        (process / "cgroup").write_text(f"5:cpu,cpuacct:/other\n4:memory:{path}\n0::/\n")
        (process / "mountinfo").write_text(
            f"31 23 0:1 / /sys/cpu rw - cgroup cgroup rw,cpu\n"
            f"32 23 0:2 / {escaped} rw,relatime shared:9 - cgroup cgroup rw,memory\n"
        )
    else:
        (process / "cgroup").write_text(f"0::{path}\n")
        (process / "mountinfo").write_text(f"32 23 0:2 / {escaped} rw - cgroup2 cgroup2 rw\n")
    assert free_memory.free_memory() == expected


@pytest.mark.parametrize("path", ["/docker/1a", "/../2b", "/"])
def test_a_container_that_sees_its_own_group_alone(
    process: Path, tmp_path: Path, path: str
) -> None:
    root = path if path.startswith("/docker") else "/"
    Group(900, 300).write(tmp_path / "memory", 2)
    (process / "cgroup").write_text(f"0::{path}\n")
    (process / "mountinfo").write_text(f"32 23 0:2 {root} {tmp_path}/memory rw - cgroup2 x rw\n")
    assert free_memory.free_memory() == 600


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_the_limit_of_the_address_space_counts(
    process: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    limits = {resource.RLIMIT_AS: (7000, resource.RLIM_INFINITY)}
    no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda limit: limits.get(limit, no_limit))
    (process / "status").write_text("Name:\tpython\nVmSize:\t    2 kB\nVmData:\t    1 kB\n")
    assert free_memory.free_memory() == 7000 - 2048
    limits[resource.RLIMIT_DATA] = (3000, 3000)
    assert free_memory.free_memory() == 3000 - 1024


def test_distances_say_which_batch_fits(
    monkeypatch: pytest.MonkeyPatch, model: AttentionModel
) -> None:
    segments = make_segments(TEXTS, model)
    longest = max(len(one.first) for one in segments) + 2
    each = 4 * 72 * longest**2
    monkeypatch.setattr(free_memory, "free_memory", lambda: 5 * each)
    with pytest.raises(ValueError, match=naming("72 heads", "3 segments", "batch_size=2")):
        measure(model, segments, ["distances"], batch_size=3, progress=False)
    found = measure(model, segments, ["distances"], batch_size=2, progress=False)
    assert found.n_segments == 3
    monkeypatch.setattr(free_memory, "free_memory", lambda: each)
    with pytest.raises(ValueError, match=naming("72 heads", "1 segment", "4 tokens")):
        measure(model, segments, ["distances"], batch_size=1, progress=False)


def test_distances_of_a_long_text_state_the_limit(
    monkeypatch: pytest.MonkeyPatch, model: AttentionModel
) -> None:
    attention = model.attend(TEXTS[0] + TEXTS[1])
    monkeypatch.setattr(free_memory, "free_memory", lambda: 4 * 4 * 72 * 8**2)
    with pytest.raises(ValueError, match=naming("72 heads", "1 segment", "8 tokens")):
        measure_attention(attention, ["distances"])
    shorter = Attention.from_weights(np.full((6, 12, 8, 8), 1 / 8), list("abcdefgh"))
    assert measure_attention(shorter, ["distances"])["distances"].n_tokens == 8


@pytest.mark.parametrize("across", [False, True])
def test_comparing_refuses_too(
    monkeypatch: pytest.MonkeyPatch, model: AttentionModel, across: bool
) -> None:
    segments = make_segments(TEXTS, model)
    longest = max(len(one.first) for one in segments) + 2
    each = 4 * 72 * longest**2
    # The maps of one model fit, and where both are kept those of the other do not.
    monkeypatch.setattr(free_memory, "free_memory", lambda: (3 if across else 2) * each)
    with pytest.raises(ValueError, match=naming("comparison", "3 segments")):
        compare(
            model, model, segments, matches=across, across_layers=across, batch_size=3,
            progress=False,
        )  # fmt: skip


def test_all_maps_and_the_table_of_them(
    monkeypatch: pytest.MonkeyPatch, model: AttentionModel
) -> None:
    attention = model.attend(TEXTS[0])
    cells = attention.weights().size
    monkeypatch.setattr(head_maps, "_UNCHECKED_BYTES", 0)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 8 * cells)
    assert attention.weights().size == cells
    with pytest.raises(ValueError, match=naming(f"{cells:,} rows", "weights(layer, head)")):
        attention.to_frame()
    monkeypatch.setattr(free_memory, "free_memory", lambda: 8 * cells - 1)
    with pytest.raises(ValueError, match=naming("72 whole maps", "9 queries", "`tile`")):
        attention.weights()
    assert attention.weights(0).shape[0] == 12
