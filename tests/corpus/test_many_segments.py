"""Studies of very many short segments: what they keep and how much they do, by counts."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, cast

import pytest
import torch

from attnwidget import AttentionModel, Sentence, load_model, measure
from attnwidget.corpus import batches, resume_file, shards, token_classes
from attnwidget.kernels import entropy as entropies
from attnwidget.text.segments import Segment
from attnwidget.words import probe_relations, word_segments
from fixtures.on_workers import on_workers
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

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
            gc.collect()
            known = [reference for reference in made if reference() is not None]
            alive.append(len(known))
            yield segment
            del segment

    path = tmp_path / "sums.npz"
    # Older versions of torch leave circles of references, so garbage is collected at every segment.
    # The objects that are alive before are left out, because they take most of a second each time.
    gc.collect()
    gc.freeze()
    try:
        measure(model, segments(), ["entropy"], batch_size=BATCH, resume=path, progress=False)
    finally:
        gc.unfreeze()
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

    def counting(maps: torch.Tensor, smoothing: float, length: int) -> torch.Tensor:
        calls.append(tuple(maps.shape))
        return by_numpy(maps, smoothing, length)

    monkeypatch.setattr(entropies, "_by_numpy", counting)
    together = entropies.entropy(weights, lengths)
    assert calls == [(1, 4, 3, 3), (3, 4, 5, 5), (2, 4, 7, 7)]
    assert together.numpy().tobytes() == torch.cat(apart).numpy().tobytes()


def test_slow_saves_are_made_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(resume_file, "time", SimpleNamespace(monotonic=lambda: now))
    counts = {}
    for seconds_of_a_save in (0.0, 1.0, 5.0):
        saves: list[int] = []

        class Slow:
            """A resume file that takes time."""

            seconds = seconds_of_a_save

            def save(self, progress: resume_file.Progress, saves: list[int] = saves) -> None:
                nonlocal now
                saves.append(progress.n_batches)
                now += self.seconds

        with resume_file.keeping(cast(Any, Slow()), resume_file.Progress()) as keep:
            for number in range(1000):
                now += 1
                keep(resume_file.Progress(n_batches=number + 1))
        assert saves[-1] == 1000
        counts[seconds_of_a_save] = len(saves)
    # Every 5 seconds; then at most a twentieth of the time.
    assert 150 < counts[0.0] < 200
    assert 40 < counts[1.0] <= 52
    assert counts[5.0] <= 12


def test_progress_knows_the_number_of_an_iterator_that_is_told(model: AttentionModel) -> None:
    segments = [Segment(("the", "cat")), Segment(("a", "dog"))]
    for total in (None, 2):
        seen: list[tuple[int, int | None]] = []
        report = lambda done, of, seen=seen: seen.append((done, of))  # noqa: E731
        measure(model, iter(segments), ["entropy"], progress=report, n_segments=total)
        assert seen == [(0, total), (2, total)]
    with pytest.raises(ValueError, match=naming("n_segments", "-1")):
        measure(model, iter(segments), ["entropy"], progress=False, n_segments=-1)


def test_cutting_of_a_treebank_shows_the_time_left(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
    monkeypatch.setattr(word_segments, "_PATIENCE", 0)
    found = probe_relations(model, [cats] * 3)
    assert found.n_sentences == 3
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "text cut" in shown
    probe_relations(model, [cats], progress=False)
    assert "text cut" not in capsys.readouterr().err


class OnClient:
    """An executor like Dask's, which runs what it gets at once and notes the bytes that it got."""

    def __init__(self) -> None:
        self.scattered: list[bytes] = []
        self.submitted: list[int] = []
        self.fails = 0

    def scatter(self, data: bytes, *, broadcast: bool) -> Future[bytes]:
        assert broadcast
        self.scattered.append(data)
        shared: Future[bytes] = Future()
        shared.set_result(data)
        return shared

    def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
        self.submitted.append(sum(len(a) for a in arguments if isinstance(a, bytes)))
        future: Future[Any] = Future()
        if self.fails:
            self.fails -= 1
            future.set_exception(OSError("the worker was lost"))
            return future
        received = [a.result() if isinstance(a, Future) else a for a in arguments]
        future.set_result(function(*received))
        return future


def test_a_model_is_sent_once_to_the_workers_of_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_LARGE", 1000)
    monkeypatch.setattr(shards, "BATCHES_A_SHARD", 1)
    model = load_model(build("bert"), word_tokenizer())
    segments = [Segment((f"w{number}", "w2")) for number in range(5)]
    alone = measure(model, segments, ["entropy"], batch_size=1, progress=False)
    executor = OnClient()
    found = on_workers(
        executor, measure, model, segments, ["entropy"], batch_size=1, progress=False
    )
    assert [
        title for title, values in alone.heads().items() if (values != found.heads()[title]).any()
    ] == []
    (work,) = executor.scattered
    assert len(executor.submitted) == 5
    assert max(executor.submitted) < len(work) / 10
    # After a failure, the work is sent with the shard: its only holder may be the lost worker.
    executor.fails = 1
    on_workers(executor, measure, model, segments, ["entropy"], batch_size=1, progress=False)
    assert sum(size > len(work) for size in executor.submitted) == 1


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.8, 0.97])
def test_an_interrupt_at_any_call_leaves_whole_files_and_goes_on(
    share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume_file, "_SECONDS_BETWEEN_SAVES", 0)
    model = load_model(build("bert"), word_tokenizer())
    segments = [Segment((f"w{number}", "w2")) for number in range(4)]

    def study(path: Path) -> Any:
        return measure(model, segments, ["entropy"], batch_size=1, resume=path, progress=False)

    def calls(path: Path, stop_at: int | None) -> int:
        """Run the study and interrupt a call; return the number of calls."""
        count = 0

        def watch(frame: FrameType, event: str, _: object) -> None:
            nonlocal count
            if event == "call" and "attnwidget" in frame.f_code.co_filename:
                count += 1
                if count == stop_at:
                    raise KeyboardInterrupt

        sys.setprofile(watch)
        try:
            study(path)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        return count

    expected = study(tmp_path / "whole.npz")
    n_calls = calls(tmp_path / "counted.npz", None)
    path = tmp_path / "stopped.npz"
    calls(path, int(share * n_calls))
    assert {one.name for one in tmp_path.iterdir()} - {path.name} == {"whole.npz", "counted.npz"}
    if path.exists():
        text = resume_file.ResumeFile(path, {}).stored()[1]
        assert 0 < text.n_batches <= 4
    found = study(path)
    assert found.complete
    for title, values in expected.heads().items():
        assert values.tobytes() == found.heads()[title].tobytes()


def test_an_interrupt_of_a_worker_ends_the_study_with_what_is_done(tmp_path: Path) -> None:
    model = load_model(build("bert"), word_tokenizer())
    segments = [Segment((f"w{number}", "w2")) for number in range(12)]
    path = tmp_path / "sums.npz"

    class Interrupted(OnClient):
        """An executor whose second task is interrupted, as by Ctrl-C in a terminal."""

        def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
            if len(self.submitted) == 1:
                self.submitted.append(0)
                future: Future[Any] = Future()
                future.set_exception(KeyboardInterrupt())
                return future
            return super().submit(function, *arguments)

    options: dict[str, Any] = {"batch_size": 1, "progress": False, "resume": path}
    found = on_workers(Interrupted(), measure, model, segments, ["entropy"], **options)
    assert (found.complete, found.n_segments) == (False, shards.BATCHES_A_SHARD)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    again = on_workers(OnClient(), measure, model, segments, ["entropy"], **options)
    alone = measure(model, segments, ["entropy"], batch_size=1, progress=False)
    for title, values in alone.heads().items():
        assert values.tobytes() == again.heads()[title].tobytes()
