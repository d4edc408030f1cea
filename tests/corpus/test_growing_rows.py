"""Arrays that grow by rows: what earlier arrays keep, and how often rows are copied."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import AttentionModel, compare, load_model, read_segments
from attnwidget.corpus.accumulator import GrowingRows
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.demo import demo_prose


def test_rows_are_copied_only_when_the_room_is_full() -> None:
    growing = GrowingRows()
    arrays = [np.zeros((0, 3))]
    for number in range(1000):
        arrays.append(growing.joined(arrays[-1], np.full((1, 3), number)))
    assert len({id(array.base) for array in arrays[1:]}) <= 10
    for size in (1, 2, 3, 500, 1000):
        np.testing.assert_array_equal(arrays[size][:, 0], np.arange(size))


def test_two_continuations_of_an_array_do_not_share_rows() -> None:
    growing = GrowingRows()
    first = growing.joined(np.zeros(0), np.array([1.0, 2.0]))
    one = growing.joined(first, np.array([3.0]))
    other = growing.joined(first, np.array([4.0, 5.0]))
    assert (first.tolist(), one.tolist()) == ([1, 2], [1, 2, 3])
    assert other.tolist() == [1, 2, 4, 5]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


def test_state_of_a_batch_of_a_comparison_does_not_grow_with_the_segments(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[str, set[int]] = {}
    states_of = StudyReader.states_of

    def counting(reader: StudyReader, batch: object) -> object:
        states = states_of(reader, batch)  # type: ignore[arg-type]
        for state in states.values():
            for name, values in state.items():
                sizes.setdefault(name, set()).add(values.nbytes)
        return states

    monkeypatch.setattr(StudyReader, "states_of", counting)
    segments = read_segments(demo_prose(), model, max_tokens=24)
    few, many = (
        compare(model, model, segments[:n], metrics=["entropy"], batch_size=2, progress=False)
        for n in (4, 24)
    )
    assert sizes and all(len(own) == 1 for own in sizes.values())
    for title, values in few.segments.items():
        np.testing.assert_allclose(values, many.segments[title][..., :4], atol=3e-6)
