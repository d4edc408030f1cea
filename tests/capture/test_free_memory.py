"""What does not fit the memory is refused before it is made, and its advice holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, compare, load_model, measure
from attnwidget.capture.hub_model import free_memory
from attnwidget.capture.maps import head_maps
from attnwidget.corpus.segmenting import make_segments
from attnwidget.metrics.measure_heads import measure_attention

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
    assert free_memory.free_memory() == 700 * 1024
    monkeypatch.setattr(free_memory, "_LINUX", tmp_path / "none")
    assert free_memory.free_memory() is None


def test_distances_say_which_batch_fits(
    monkeypatch: pytest.MonkeyPatch, model: AttentionModel
) -> None:
    segments = make_segments(TEXTS, model)
    longest = max(len(one.first) for one in segments) + 2
    each = 4 * 72 * longest**2
    monkeypatch.setattr(free_memory, "free_memory", lambda: 5 * each)
    with pytest.raises(ValueError, match=r"maps of 72 heads.*3 segments.*pass batch_size=2$"):
        measure(model, segments, ["distances"], batch_size=3, progress=False)
    found = measure(model, segments, ["distances"], batch_size=2, progress=False)
    assert found.n_segments == 3
    monkeypatch.setattr(free_memory, "free_memory", lambda: each)
    with pytest.raises(ValueError, match=r"pass at most \d tokens a segment"):
        measure(model, segments, ["distances"], batch_size=1, progress=False)


def test_distances_of_a_long_text_state_the_limit(
    monkeypatch: pytest.MonkeyPatch, model: AttentionModel
) -> None:
    attention = model.attend(TEXTS[0] + TEXTS[1])
    monkeypatch.setattr(free_memory, "free_memory", lambda: 4 * 4 * 72 * 8**2)
    with pytest.raises(ValueError, match="pass at most 8 tokens a segment"):
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
    with pytest.raises(ValueError, match=r"comparison.*3 segments"):
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
    with pytest.raises(ValueError, match=rf"the {cells:,} rows of this table take"):
        attention.to_frame()
    monkeypatch.setattr(free_memory, "free_memory", lambda: 8 * cells - 1)
    with pytest.raises(ValueError, match=r"whole maps of 72 heads.*one layer or head at a time"):
        attention.weights()
    assert attention.weights(0).shape[0] == 12
