"""Workers: the same bits as one process, whoever reads what, and whatever goes wrong."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures import ThreadPoolExecutor as Threads
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import (
    WorkersError,
    ablate,
    compare,
    load_model,
    make_segments,
    measure,
    read_segments,
)
from attnwidget.corpus import resume_file, shards
from attnwidget.corpus.accumulator import State
from attnwidget.demo import demo_prose, demo_treebank
from attnwidget.metrics import (
    Accumulator,
    Classes,
    LayerBatch,
    Norms,
    Subject,
    measure_checkpoints,
    merge_resume_files,
)
from attnwidget.probes import train_pair_probe
from attnwidget.probes.features import extract_features
from attnwidget.results import HeadResult
from attnwidget.text.mentions import Document
from attnwidget.words import (
    explained_attention,
    probe_coreference,
    probe_features,
    probe_links,
    probe_no_op,
    probe_relations,
    subject_verb_links,
)
from fixtures.failing_metrics import Failing, Killing, Slow
from fixtures.on_workers import on_workers
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from metrics.test_measure import METRICS, broken_off, identical, random_segments, run, small
from refusals import naming

TREES = demo_treebank()[:20]
_WORDS = ["The", "captain", "told", "his", "men", "that", "he", "would", "not", "leave", "."]
_SPANS = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")]
DOCUMENTS = [Document.from_spans(_WORDS, _SPANS)] * 6
FEW = {"batch_size": 1, "progress": False}
READ_ONCE = [
    "attnwidget.metrics.measure_heads",
    "attnwidget.capture.model",
    "distributed",
    "transformers.models.bert.modeling_bert",
]


@pytest.fixture(scope="module")
def threads() -> Iterator[Threads]:
    with Threads(3) as pool:
        yield pool


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with new_processes(4) as pool:
        yield pool


def new_processes(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, fresh_forks(), torch.set_num_threads, (1,))


def fresh_forks() -> BaseContext:
    """Starts processes as forks of one that has read the libraries, and run nothing of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(READ_ONCE)
    forkserver.ensure_running()  # whoever starts processes by it later, this is what they share
    return context


class AtOnce(Executor):
    """Does what it is asked at once, in this process; `outcomes` are of the first submissions."""

    def __init__(self, outcomes: Sequence[BaseException | None] = ()) -> None:
        self.outcomes = list(outcomes)
        self.futures = list[Future[Any]]()

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.futures.append(future)
        error = self.outcomes.pop(0) if self.outcomes else None
        if error is None:
            future.set_result(function(*args))
        else:
            future.set_exception(error)
        return future


class Queueing(AtOnce):
    """Does the first so many tasks, and leaves the rest queued."""

    def __init__(self, done: int, error: BaseException) -> None:
        super().__init__()
        self.done = done
        self.error = error

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if len(self.futures) < self.done:
            return super().submit(function, *args)
        future: Future[Any] = Stopped(self.error) if len(self.futures) == self.done else Future()
        self.futures.append(future)
        return future


class Stopped(Future[Any]):
    """A task that never ends: who waits for it is interrupted."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def result(self, timeout: float | None = None) -> Any:
        raise self.error


def same_arrays(first: Any, second: Any) -> None:
    """All arrays of two results, and of the results in them."""
    for name, values in vars(first).items():
        other = vars(second)[name]
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(other, values, name)
        elif isinstance(values, dict):
            for key, own in values.items():
                if isinstance(own, HeadResult):
                    same_arrays(own, other[key])
                else:
                    np.testing.assert_array_equal(other[key], own, f"{name} {key}")


# --- the same bits ---


@pytest.mark.slow
def test_processes_give_the_bits_of_one(processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    model = small()
    segments = random_segments(60)
    metrics = [*METRICS, "gradients"]
    alone = run(model, segments, metrics, batch_size=2)
    identical(alone, on_workers(processes, run, model, segments, metrics, batch_size=2))
    stopped = tmp_path / "stopped.npz"
    assert run(model, broken_off(segments, 40), batch_size=1, resume=stopped).n_segments == 32
    whole = on_workers(processes, run, model, iter(segments), batch_size=1, resume=stopped)
    identical(run(model, segments, batch_size=1), whole)


@pytest.mark.slow
def test_processes_load_a_model_by_its_name(processes: ProcessPoolExecutor) -> None:
    model = load_model(device="cpu")
    two = {"batch_size": 2, "progress": False}
    alone = probe_relations(model, TREES, **two)
    same_arrays(alone, on_workers(processes, probe_relations, model, TREES, **two))
    with model.disabled([(1, 1), (0, 3)]):
        alone = probe_relations(model, TREES, **two)
        same_arrays(alone, on_workers(processes, probe_relations, model, TREES, **two))


STUDIES: dict[str, Any] = {
    "relations": lambda model, more: probe_relations(model, TREES, **more),
    "features": lambda model, more: probe_features(model, TREES, **more),
    "explained attention": lambda model, more: explained_attention(model, TREES, **more),
    "looking away": lambda model, more: probe_no_op(model, TREES, "obj", **more),
    "links": lambda model, more: probe_links(model, subject_verb_links(TREES), **more),
    "coreference": lambda model, more: probe_coreference(model, DOCUMENTS, **more),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_probes_give_the_same_bits(threads: Threads, name: str) -> None:
    model = load_model(device="cpu")
    alone = STUDIES[name](model, FEW)
    same_arrays(alone, on_workers(threads, STUDIES[name], model, FEW))


@pytest.mark.slow
def test_comparisons_give_the_same_bits(threads: Threads) -> None:
    a, b, c = (load_model(build("bert"), word_tokenizer()) for _ in range(3))
    for number, model in enumerate((b, c), 1):
        with torch.no_grad():
            for parameter in model.hf_model.parameters():
                parameter += number * 0.01 * torch.randn_like(parameter)
    options: dict[str, Any] = {"matches": True, "across_layers": True, "metrics": ["entropy"]}
    options |= {"models_are_seeds": True, "batch_size": 2, "progress": False}
    segments = random_segments(20)
    alone = compare(a, [b, c], segments, **options)
    found = on_workers(threads, compare, a, [b, c], segments, **options)
    for one, other in zip(alone.each + alone.between, found.each + found.between, strict=True):
        same_arrays(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "loss", "heads": [(1, 0), (0, 1)]},
        {"scoring": "kl", "heads": "layers", "method": "mean", "reference": "It slept."},
        {"scoring": lambda output, batch: output.logits.double().mean((1, 2)), "heads": [(1, 1)]},
    ],
)
def test_ablations_give_the_same_bits(threads: Threads, options: dict[str, Any]) -> None:
    model = load_model(device="cpu")
    segments = read_segments(demo_prose(), model, limit=7, max_tokens=16)
    alone = ablate(model, segments, **options, **FEW)
    found = on_workers(threads, ablate, model, segments, **options, **FEW)
    assert found.complete
    same_arrays(alone, found)
    with model.disabled([(0, 0)]):
        same_arrays(
            ablate(model, segments, **options, **FEW),
            on_workers(threads, ablate, model, segments, **options, **FEW),
        )


@pytest.mark.slow
def test_traces_and_features_give_the_same_bits(threads: Threads, tmp_path: Path) -> None:
    model = small()
    segments = random_segments(6)
    alone = measure_checkpoints([("a", model)], segments, ["entropy"], progress=False)
    found = on_workers(
        threads, measure_checkpoints, [("a", model)], segments, ["entropy"], progress=False
    )
    for title, values in alone.heads().items():
        np.testing.assert_array_equal(values, found.heads()[title])
    bert = load_model(device="cpu")
    for kind in ("maps", "hidden"):
        read = [
            on_workers(
                pool, extract_features, bert, TREES[:9], tmp_path / str(number), kind=kind, **FEW
            )
            for number, pool in enumerate((None, threads))
        ]
        assert read[0].path.read_bytes() == read[1].path.read_bytes()
    options: dict[str, Any] = {"min_count": 5, "epochs": 1, "progress": False}
    probes = [
        on_workers(pool, train_pair_probe, bert, TREES[:14], TREES[14:], **options)
        for pool in (None, threads)
    ]
    for title, values in probes[0].heads().items():
        np.testing.assert_array_equal(probes[1].heads()[title], values)


class Table:
    """What a `datasets.Dataset` is: rows that are dicts, and how many."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


@pytest.mark.slow
def test_tables_are_read_row_by_row(threads: Threads) -> None:
    model = small()
    segments = random_segments(9)
    tokens = [{"first": list(one.first), "second": list(one.second) or None} for one in segments]
    alone = run(model, segments, batch_size=2)
    identical(alone, on_workers(threads, run, model, Table(tokens), batch_size=2))
    singles = random_segments(9, pairs=False)
    texts = [{"id": i, "text": " ".join(one.first)} for i, one in enumerate(singles)]
    identical(run(model, singles), run(model, Table(texts)))
    for row, parts in (
        ({"sentence": "w1"}, ("row 0", "columns sentence", '"text"')),
        ({"first": "w1 w2"}, ('"first"', 'name it "text"')),
        ({"text": ""}, ("text 0", "no tokens")),
    ):
        with pytest.raises(ValueError, match=naming(*parts)):
            run(model, Table([row]))


class Largest(Accumulator[Any]):
    """A metric that is no sum over segments."""

    name = "largest"

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self.sums = {"largest": np.zeros((self.n_layers, self.n_heads))}

    def update(self, layer: LayerBatch) -> None:
        found = self.sums["largest"][layer.layer]
        np.maximum(found, layer.weights.amax((0, 2, 3)).numpy(), out=found)

    def merged(self, first: State, second: State) -> dict[str, np.ndarray]:
        return {"largest": np.maximum(first["largest"], second["largest"])}

    def compute(self) -> np.ndarray:
        return self.sums["largest"]


def test_numbers_that_are_no_sums_are_not_merged(tmp_path: Path) -> None:
    model = small()
    segments = random_segments(4)
    for number in range(2):
        file = tmp_path / f"{number}.npz"
        part = segments[2 * number : 2 * number + 2]
        found = measure(model, part, [Largest()], resume=file, progress=False)["largest"]
        again = measure(model, part, [Largest()], resume=file, progress=False)["largest"]
        assert np.array_equal(found, again) and found.max() <= 1
    files = [tmp_path / "0.npz", tmp_path / "1.npz"]
    with pytest.raises(ValueError, match=naming("0.npz", "largest", "run_on")):
        merge_resume_files(files, tmp_path / "whole.npz")
    assert not (tmp_path / "whole.npz").exists()


def test_only_files_of_measure_are_merged(tmp_path: Path) -> None:
    model = small()
    file = tmp_path / "ablation.npz"
    ablate(model, random_segments(2), scoring="loss", heads=[(0, 0)], resume=file, progress=False)
    with pytest.raises(ValueError, match=naming("ablation.npz", "measure")):
        merge_resume_files([file, file], tmp_path / "twice.npz")


@pytest.mark.slow
def test_merged_resume_files_have_what_their_parts_have(tmp_path: Path) -> None:
    model = small()
    segments = random_segments(150)
    parts = [segments[:64], segments[64:128], segments[128:]]
    files = [tmp_path / f"{number}.npz" for number in range(3)]
    for file, part in zip(files, parts, strict=True):
        run(model, part, METRICS, batch_size=2, resume=file)
    merge_resume_files(files[:2], tmp_path / "some.npz")
    whole = merge_resume_files([tmp_path / "some.npz", files[2]], tmp_path / "whole.npz")
    alone = run(model, segments, METRICS, batch_size=2)
    for file in (whole, tmp_path / "some.npz"):  # the second one is finished first
        found = run(model, segments, METRICS, batch_size=2, resume=file)
        assert found.complete and found.n_segments == 150
        for title, values in alone.heads().items():
            np.testing.assert_allclose(found.heads()[title], values, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=naming("150 segments", "whole.npz", "differ")):
        run(model, segments[::-1], METRICS, batch_size=2, resume=whole)
    run(model, segments, ["entropy"], batch_size=2, resume=tmp_path / "other.npz")
    with pytest.raises(ValueError, match=naming("other.npz", "0.npz", "another study")):
        merge_resume_files([*files, tmp_path / "other.npz"], whole)
    with pytest.raises(ValueError, match=naming("no resume files", "merge")):
        merge_resume_files([], whole)
    with pytest.raises(FileNotFoundError, match=naming("none.npz", "measure that part")):
        merge_resume_files([*files, tmp_path / "none.npz"], whole)


# --- what goes wrong ---


@pytest.mark.slow
@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="pools of Python 3.10 may wait for a killed process forever"
)
def test_a_killed_process_stops_the_pool_and_the_resume_file_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume_file, "_SECONDS_BETWEEN_SAVES", 0)
    model = small()
    segments = random_segments(80)
    path = tmp_path / "sums.npz"
    metrics = [Killing(tmp_path, 1, 30, once_there=path), "entropy", "distances"]
    with new_processes(2) as pool, pytest.raises(WorkersError) as caught:
        on_workers(pool, run, model, segments, metrics, batch_size=1, resume=path)
    assert "the executor stopped" in str(caught.value) and "go on with the same call" in str(
        caught.value
    )
    assert path.exists() and isinstance(caught.value.__cause__, BrokenProcessPool)
    again = on_workers(AtOnce(), run, model, segments, metrics, batch_size=1, resume=path)
    assert len([*tmp_path.glob("killed-*")]) == 1
    assert len([*tmp_path.glob("read-*")]) < 2 * 80  # what was done is not read again
    identical(run(model, segments, metrics, batch_size=1), again)


def test_a_shard_that_fails_is_tried_again_and_named_when_given_up(tmp_path: Path) -> None:
    model = small()
    segments = random_segments(20)
    path = tmp_path / "sums.npz"
    alone = run(model, segments, batch_size=2)
    failing = AtOnce([None, OSError("gone"), CancelledError()])
    identical(alone, on_workers(failing, run, model, segments, batch_size=2))
    Failing.left = 2
    on_workers(AtOnce(), run, model, segments, [Failing()], batch_size=2)
    Failing.left = 0
    lost = AtOnce([None, *[OSError("gone")] * 3])
    with pytest.raises(
        WorkersError, match=naming("batches 5 to 8", "8 inputs", "3 times", "OSError: gone")
    ):
        on_workers(lost, run, model, segments, batch_size=2, resume=path)
    identical(alone, run(model, segments, batch_size=2, resume=path))
    Failing.left = 99
    with pytest.raises(WorkersError, match=naming("OSError", "the disk is full")):
        on_workers(AtOnce(), run, model, segments, [Failing()], batch_size=2)
    Failing.left = 0


@pytest.mark.slow
def test_an_interrupt_cancels_queued_shards_and_returns_finished_shards() -> None:
    model = small()
    segments = random_segments(40)
    executor = Queueing(2, KeyboardInterrupt())
    found = on_workers(executor, run, model, segments, batch_size=1)
    assert not found.complete and found.n_segments == 8
    assert [future.cancelled() for future in executor.futures] == [False] * 2 + [True] * 8
    ordered = [one for start in (0, 32) for one in sorted(segments[start : start + 32], key=len)]
    expected = run(model, ordered[:8], batch_size=1)
    for title, values in expected.heads().items():
        np.testing.assert_array_equal(found.heads()[title], values)


def test_other_versions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {**shards.study_versions(), "torch": "1.0", "attnwidget": "9.9"}
    monkeypatch.setattr(shards, "study_versions", lambda: asked)
    version = torch.__version__.partition("+")[0]
    with pytest.raises(WorkersError, match=naming("attnwidget", "9.9", f"torch {version}", "1.0")):
        on_workers(AtOnce(), run, small(), random_segments(4))


@pytest.mark.slow
def test_what_cannot_be_sent_is_said() -> None:
    model = small()
    segments = random_segments(4)
    model.hf_model.never_pickled = (one for one in ())
    with pytest.raises(
        TypeError, match=naming("BertForMaskedLM", "save_pretrained(folder)", "load_model(folder)")
    ):
        on_workers(AtOnce(), run, model, segments)
    metric = Classes({"x": {"w1"}})
    metric.never_pickled = (one for one in ())  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=naming("metric", "pickle", "cloudpickle")):
        on_workers(AtOnce(), run, small(), segments, [metric])
    changed = load_model(device="cpu")
    with torch.no_grad():
        next(changed.hf_model.parameters()).mul_(2)
    with pytest.raises(
        ValueError,
        match=naming('"small BERT (in the package)"', "other weights", "save_pretrained"),
    ):
        on_workers(AtOnce(), measure, changed, [first_of(changed)], progress=False)
    configured = load_model(device="cpu")
    configured.hf_model.config.layer_norm_eps = 0.1
    with pytest.raises(
        ValueError,
        match=naming('"small BERT (in the package)"', "other configuration", "save_pretrained"),
    ):
        on_workers(AtOnce(), measure, configured, [first_of(configured)], progress=False)


def first_of(model: Any) -> Any:
    return make_segments(["The cat sat."], model)[0]


def test_wrong_inputs_give_the_errors_of_a_single_process() -> None:
    model = small()
    segments = random_segments(4)
    wrong = [*segments, type(segments[0])(("cat",))]
    with pytest.raises(ValueError, match=naming("'cat'", "read_segments")):
        on_workers(AtOnce(), run, model, wrong, batch_size=1)
    for executor in (4, Threads, "processes"):
        with pytest.raises(TypeError, match=naming("submit", "ProcessPoolExecutor")):
            on_workers(executor, run, model, segments)
    forking = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
    with forking, pytest.raises(ValueError, match=naming("torch", "ProcessPoolExecutor")):
        on_workers(forking, run, model, segments)
    closed = Threads(1)
    closed.shutdown()
    with pytest.raises(WorkersError, match=naming("RuntimeError", "executor")):
        on_workers(closed, run, model, segments)


@pytest.mark.slow
def test_metrics_used_before_are_sent_as_they_were_made(threads: Threads) -> None:
    model = load_model(device="cpu")
    metric = Norms()
    segments = [first_of(model)] * 3
    first = measure(model, segments, [metric], **FEW)
    assert len(shards._pickled(metric)) > 1_000_000  # it holds the model's projections now
    identical(first, on_workers(threads, measure, model, segments, [metric], **FEW))


# --- Dask ---


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_bits_though_workers_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    fresh_forks()
    model = small()
    segments = random_segments(60)
    metrics = [Killing(tmp_path, 3, 15), *METRICS]
    path = tmp_path / "sums.npz"
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, timeout=2) as client,
    ):
        found = on_workers(client.get_executor(), run, model, segments, metrics, batch_size=1)
        assert len([*tmp_path.glob("killed-*")]) == 3
        identical(run(model, segments, metrics, batch_size=1), found)
        # The scheduler goes while the study runs.
        monkeypatch.setattr(resume_file, "_SECONDS_BETWEEN_SAVES", 0)
        threading.Thread(target=close_once_there_is, args=(path, cluster)).start()
        with pytest.raises(WorkersError, match=naming(str(path), "go on")):
            on_workers(client, run, model, segments, [Slow()], batch_size=1, resume=path)
    alone = run(model, segments, [Slow()], batch_size=1)
    identical(alone, run(model, segments, [Slow()], batch_size=1, resume=path))


def close_once_there_is(path: Path, cluster: Any) -> None:
    while not path.exists():
        time.sleep(0.05)
    cluster.close()
