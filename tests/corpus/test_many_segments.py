"""Studies of very many short segments: what they keep and how much they do, by counts."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from attnwidget import AttentionModel, load_model, measure
from attnwidget.corpus import batches, resume_file, token_classes
from attnwidget.kernels import entropy as entropies
from attnwidget.text.segments import Segment

BATCH = 2
# Number of segments that are sorted by length together.
WINDOW = 4 * BATCH


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


def test_memory_and_resume_file_do_not_grow_with_the_segments(
    model: AttentionModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume_file, "_SECONDS_BETWEEN_SAVES", 0)
    monkeypatch.setattr(batches, "_BATCHES_SORTED", WINDOW // BATCH)
    sizes: list[tuple[int, int]] = []
    save = resume_file.ResumeFile.save

    def counting(file: resume_file.ResumeFile, progress: resume_file.Progress) -> None:
        save(file, progress)
        arrays = [values for state in progress.states.values() for values in state.values()]
        sizes.append((len(arrays), sum(values.nbytes for values in arrays)))

    monkeypatch.setattr(resume_file.ResumeFile, "save", counting)
    made: list[weakref.ref[Segment]] = []
    alive: list[int] = []

    def segments() -> Iterator[Segment]:
        words = sorted(model.tokenizer.get_vocab())[200:]
        for number in range(6 * WINDOW):
            segment = Segment((words[number], words[2 * number]))
            made.append(weakref.ref(segment))
            alive.append(sum(one() is not None for one in made))
            yield segment
            del segment

    path = tmp_path / "sums.npz"
    measure(model, segments(), ["entropy"], batch_size=BATCH, resume=path, progress=False)
    # A window is read while the window before and its last batch are still known.
    assert max(alive) <= 2 * WINDOW + BATCH
    assert len(sizes) == 6 * WINDOW / BATCH
    assert len(set(sizes)) == 1


def test_known_ids_are_not_gone_through_for_each_segment(model: AttentionModel) -> None:
    classes = token_classes.TokenClasses(model.vocabulary, {"articles": {"the", "a"}})

    class Known(dict[int, frozenset[str]]):
        def keys(self) -> Any:
            raise AssertionError("this takes the time of all known ids")

        __iter__ = keys

    classes._classes_of = Known()
    ids = model.tokenizer("The cat sat on the mat.")["input_ids"]
    expected = [shown == "the" for shown in map(model.vocabulary.readable, ids)]
    for _ in range(2):
        assert classes.members(ids, lambda: None)["articles"] == expected  # type: ignore[arg-type, return-value]
    assert len(classes._classes_of) == len(set(ids))


def test_entropies_of_documents_of_one_length_are_computed_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths = torch.tensor([3, 5, 5, 5, 7, 7])
    real = torch.arange(7) < lengths[:, None]
    scores = torch.randn(6, 4, 7, 7, generator=torch.Generator().manual_seed(0))
    weights = scores.masked_fill(~real[:, None, None], -torch.inf).softmax(-1)
    apart = [entropies.entropy(weights[i : i + 1], lengths[i : i + 1]) for i in range(len(lengths))]
    calls: list[tuple[int, ...]] = []
    by_numpy = entropies._by_numpy

    def counting(maps: torch.Tensor, smoothing: float) -> torch.Tensor:
        calls.append(tuple(maps.shape))
        return by_numpy(maps, smoothing)

    monkeypatch.setattr(entropies, "_by_numpy", counting)
    together = entropies.entropy(weights, lengths)
    assert calls == [(1, 4, 3, 3), (3, 4, 5, 5), (2, 4, 7, 7)]
    assert together.numpy().tobytes() == torch.cat(apart).numpy().tobytes()
