"""The engine: any model, any batches, stopped and started again, one result."""

from __future__ import annotations

import inspect
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import ablate, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.results import Measurements
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.corpus.segmenting import make_segments
from attnwidget.metrics import measure_heads as engine
from attnwidget.metrics.attention_to_classes import Classes, ClassesResult
from attnwidget.metrics.entropy import Confidence, Entropy
from attnwidget.metrics.measure_heads import measure
from attnwidget.metrics.position import Position
from attnwidget.text.segments import Segment
from attnwidget.text.stored_arrays import stored_arrays, write_arrays
from fixtures.picture_metrics import OF_PICTURES
from fixtures.tiers import only_first_is_fast
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import ZOO, build
from references import reference_surface as reference
from refusals import naming

READERS = [name for name in ZOO if name != "vit"]


def random_segments(count: int = 11, seed: int = 0, pairs: bool = True) -> list[Segment]:
    """Segments of 3 to 20 of the words of `word_tokenizer`."""
    random = np.random.default_rng(seed)

    def words(low: int, high: int) -> tuple[str, ...]:
        return tuple(f"w{i}" for i in random.integers(0, 90, random.integers(low, high)))

    return [Segment(words(2, 12), words(1, 9) if pairs else ()) for _ in range(count)]


def small(name: str = "bert") -> AttentionModel:
    return load_model(build(name), word_tokenizer())


def run(model: AttentionModel, segments: Any, metrics: Any = None, **options: Any) -> Measurements:
    metrics = metrics or ("position", "classes", "entropy", "confidence")
    return measure(model, segments, metrics, progress=False, **options)


def same(first: Measurements, second: Measurements, atol: float = 1e-6) -> None:
    assert first.heads().keys() == second.heads().keys()
    for title, values in first.heads().items():
        np.testing.assert_allclose(
            second.heads()[title], values, atol=atol, rtol=atol, err_msg=title
        )


def identical(first: Measurements, second: Measurements) -> None:
    assert first.n_segments == second.n_segments
    assert first.heads().keys() == second.heads().keys()
    for title, values in first.heads().items():
        np.testing.assert_array_equal(second.heads()[title], values, title)


@pytest.mark.parametrize("name", only_first_is_fast(READERS))
def test_every_architecture_as_transformers_has_it(name: str) -> None:
    model = small(name)
    segments = random_segments(5)
    found = run(model, segments, batch_size=3)
    entropies = []
    previous = []
    to_sep = []
    for segment in segments:
        texts = [" ".join(part) for part in (segment.first, segment.second)]
        taken = inspect.signature(model.hf_model.forward).parameters
        encoded = model.tokenizer(*texts, return_tensors="pt")
        inputs = {key: ids for key, ids in encoded.items() if key in taken}
        if found.stack == "encoder":
            inputs["decoder_input_ids"] = inputs["input_ids"][:, :2]
        with torch.no_grad():
            output = model.hf_model(**inputs, output_attentions=True)
        maps = output.encoder_attentions if found.stack == "encoder" else output.attentions
        exact = torch.stack(maps)[:, 0].double().numpy()
        sep = [i for i, t in enumerate(inputs["input_ids"][0].tolist()) if t == 2]
        every = list(range(exact.shape[-1]))
        entropies.append([[reference.entropy(head) for head in layer] for layer in exact])
        previous.append([[reference.offset_mass(head, -1) for head in layer] for layer in exact])
        to_sep.append([[reference.class_mass(h, every, sep) for h in layer] for layer in exact])
    heads = found.heads()
    for title, values in (
        ("entropy", entropies),
        ("previous token", previous),
        ("to [SEP]", to_sep),
    ):
        np.testing.assert_allclose(heads[title], np.mean(values, 0), atol=1e-5, err_msg=title)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_the_batches_change_no_number(name: str) -> None:
    model = small(name)
    segments = random_segments()
    alone = run(model, segments, batch_size=1)
    for size in (4, 50):
        same(alone, run(model, segments, batch_size=size))
    same(alone, run(model, iter(segments[::-1]), batch_size=3))


@pytest.mark.slow
@given(order=st.permutations(range(9)), size=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_the_order_of_segments_changes_no_number(order: list[int], size: int, seed: int) -> None:
    segments = random_segments(9, seed)
    expected = run(small(), segments, batch_size=9)
    same(expected, run(small(), [segments[i] for i in order], batch_size=size))


def test_metrics_do_not_disturb_each_other() -> None:
    model = small()
    segments = random_segments()
    together = run(model, segments, [Position([2]), "entropy", Confidence("[SEP]"), "classes"])
    assert list(together) == ["position", "entropy", "confidence", "classes"]
    for metric in ("entropy", "classes"):
        alone = run(model, segments, metric)
        for title, values in alone.heads().items():
            np.testing.assert_array_equal(together.heads()[title], values)
    with pytest.raises(KeyError, match=naming("'norms'", "measured")):
        together["norms"]


@pytest.mark.slow
def test_every_named_metric_can_be_measured() -> None:
    segments = random_segments(3)
    others = {"induction", "roles"} | OF_PICTURES
    bert = [name for name in engine.metrics_by_name() if name not in others]
    model = load_model(build("bert"), word_tokenizer(), name="my BERT")
    found = run(model, segments, bert)
    assert list(found) == bert
    assert [found[name].model_name for name in bert] == ["my BERT"] * len(bert)
    induction = run(small("gpt2"), segments, ["induction"])
    assert list(induction) == ["induction"] and induction["induction"].model_name


def test_a_gpu_less_model_in_half_precision() -> None:
    model = small()
    segments = random_segments()
    expected = run(model, segments)
    half = load_model(build("bert", dtype=torch.bfloat16), word_tokenizer())
    same(expected, run(half, segments), atol=0.2)


@pytest.mark.slow
def test_token_types_are_the_tokenizers_or_zero() -> None:
    model = load_model()
    segments = make_segments([("The cat sat.", "It slept."), ("A dog.", "It ran away.")], model)
    own = run(model, segments)
    zero = run(model, segments, token_types="zero")
    assert np.abs(own.heads()["entropy"] - zero.heads()["entropy"]).max() > 1e-3
    singles = make_segments(["The cat sat.", "It slept."], model)
    identical(run(model, singles), run(model, singles, token_types="zero"))
    with pytest.raises(ValueError, match=naming("'one'", "'zero'")):
        run(model, segments, token_types="one")


def test_the_encoder_of_an_encoder_decoder_is_measured() -> None:
    found = run(small("t5"), random_segments(3))
    assert found.stack == "encoder" and run(small(), random_segments(3)).stack == "self"


def test_user_classes_are_measured() -> None:
    model = load_model()
    segments = make_segments(["The cat sat on the mat.", "A dog ran."], model)
    word = Classes({"the": {"the"}, "all": lambda tokens: [True] * len(tokens)})
    heads = run(model, segments, [word]).heads()
    np.testing.assert_allclose(heads["to all"], 1, atol=1e-6)
    assert (heads["to the"] > 0).all()


def test_the_model_is_left_as_it_was() -> None:
    model = small()
    config = model.hf_model.config
    before = config._attn_implementation, torch.get_num_threads()
    run(model, random_segments())
    assert (config._attn_implementation, torch.get_num_threads()) == before
    assert not any(module._forward_pre_hooks for module in model.hf_model.modules())


@pytest.mark.slow
def test_another_thread_may_use_the_model_meanwhile() -> None:
    model = small()
    segments = random_segments(40)
    expected = run(model, segments)
    found: list[Measurements] = []
    thread = threading.Thread(target=lambda: found.append(run(model, segments)))
    thread.start()
    maps = [model.attend("w1 w2 w3").weights() for _ in range(20)]
    thread.join()
    identical(expected, found[0])
    for one in maps[1:]:
        np.testing.assert_array_equal(one, maps[0])


def test_what_is_wrong_is_said() -> None:
    model = small()
    segments = random_segments()
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        (
            ("'entropie'", "attention_distance"),
            segments,
            {"metrics": ["entropie"]},
        ),
        (("metrics", "'entropy'", "once"), segments, {"metrics": ["entropy", Entropy()]}),
        (("no segments",), [], {}),
        (("batch_size", "0"), segments, {"batch_size": 0}),
        (("'cat'", "read_segments"), [Segment(("cat",))], {}),
        (("text A",), [Segment(())], {}),
        (("202 tokens", "64"), [Segment(("w1",) * 200)], {}),
        (
            ("'x'", "metrics"),
            segments,
            {"metrics": [Classes({"x": {"w1"}}), other_classes({"x": {"w2"}})]},
        ),
    ]
    for parts, given_segments, options in cases:
        with pytest.raises(ValueError, match=naming(*parts)):
            run(model, given_segments, **options)
    for missing in ([None, *segments], [segments[0], None]):
        with pytest.raises(TypeError, match=naming("Segment", "NoneType", "make_segments")):
            run(model, missing)
    with pytest.raises(ValueError, match=naming("load_model", "tokenizer")):
        run(load_model(build("bert")), segments)
    model.close()
    with pytest.raises(RuntimeError, match=naming("load_model", "closed")):
        run(model, segments)


def other_classes(classes: dict[str, set[str]]) -> SegmentMeans[ClassesResult]:
    metric = Classes(classes)
    metric.name = "other classes"
    return metric


class Interrupting(Entropy):
    """Stops the pass in the middle of a batch."""

    name = "interrupting"

    def __init__(self, after: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.updates = after
        self.error = error

    def update(self, layer: LayerBatch) -> None:
        self.updates -= 1
        if self.updates < 0:
            raise self.error
        super().update(layer)


@pytest.mark.slow
def test_an_interrupt_returns_the_batches_that_are_done() -> None:
    segments = sorted(random_segments(), key=len)
    # One layer of the third batch has gone into the sums of the first metric by then.
    found = run(small(), segments, ["position", Interrupting(7), "entropy"], batch_size=2)
    assert not found.complete and found.n_segments == 4
    assert "4 segments, interrupted" in repr(found)
    assert not found["entropy"].complete and "interrupted" in repr(found["entropy"])
    expected = run(small(), segments[:4], ["position", "entropy"], batch_size=2)
    assert expected.complete
    for title, values in expected.heads().items():
        np.testing.assert_array_equal(found.heads()[title], values)
    with pytest.raises(KeyboardInterrupt):
        run(small(), segments, [Interrupting(2)], batch_size=2)


METRICS = (
    "position",
    "classes",
    "entropy",
    "confidence",
    "distances",
    "norms",
    "patterns",
    "position_content",
)


@pytest.mark.slow
def test_an_iterator_that_breaks_off_goes_on_to_the_last_bit(tmp_path: Path) -> None:
    segments = random_segments(150)
    path = tmp_path / "sums.npz"
    expected = run(small(), segments, batch_size=2)
    # Segments are read 64 ahead, to sort them: the second 64 are never complete.
    stopped = run(small(), broken_off(segments, 100), batch_size=2, resume=path)
    assert not stopped.complete and stopped.n_segments == 64
    identical(expected, run(small(), iter(segments), batch_size=2, resume=path))


def broken_off(segments: Sequence[Segment], after: int) -> Iterator[Segment]:
    for i, segment in enumerate(segments):
        if i == after:
            raise KeyboardInterrupt
        yield segment


@pytest.mark.slow
@pytest.mark.parametrize("batches_done", [1, 3, 5])
def test_an_interrupted_run_goes_on(
    tmp_path: Path, batches_done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = random_segments()
    path = tmp_path / "sums.npz"
    expected = run(small(), segments, METRICS, batch_size=2)
    stop_after(monkeypatch, batches_done)
    stopped = run(small(), segments, METRICS, batch_size=2, resume=path)
    assert not stopped.complete and stopped.n_segments == 2 * batches_done
    monkeypatch.undo()
    finished = run(small(), segments, METRICS, batch_size=2, resume=path)
    assert finished.complete
    identical(expected, finished)
    # A finished file answers without reading the model again.
    stop_after(monkeypatch, 0)
    identical(expected, run(small(), iter(segments), METRICS, batch_size=2, resume=path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["sums.npz"]


def test_a_model_reads_a_beginning_once_to_know_its_heads() -> None:
    model = small()
    attention = model.hf_model.base_model.encoder.layer[0].attention
    lengths: list[int] = []
    model.hf_model.base_model.embeddings.register_forward_hook(
        lambda module, given, states: lengths.append(states.shape[1])
    )
    segments = [Segment(("w1",) * 8)]
    read: list[list[int]] = []
    for _ in range(3):
        lengths.clear()
        run(model, segments)
        read.append(lengths[:])
        if len(read) == 2:
            attention.self = deepcopy(attention.self)
    # Four words and two special tokens; and once more for the changed model.
    assert [sum(length == 6 for length in seen) for seen in read] == [1, 0, 1]


def stop_after(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    from attnwidget.corpus.model_reader import ModelReader

    add = ModelReader.add
    count = 0

    def counted(self: ModelReader, segments: Sequence[Segment]) -> None:
        nonlocal count
        count += 1
        if count > batches:
            raise KeyboardInterrupt
        add(self, segments)

    monkeypatch.setattr(ModelReader, "add", counted)


@pytest.mark.slow
def test_a_file_of_another_study_is_refused(tmp_path: Path) -> None:
    segments = random_segments()
    path = tmp_path / "sums.npz"
    run(small(), segments, resume=path, batch_size=4)
    other_weights = build("bert")
    with torch.no_grad():
        next(other_weights.parameters())[50] += 1
    cases: list[tuple[tuple[str, ...], AttentionModel, Any, dict[str, Any]]] = [
        (("model", "'RobertaModel"), small("roberta"), segments, {}),
        (("weights", "another study"), load_model(other_weights, word_tokenizer()), segments, {}),
        (("batch_size", "8", "4"), small(), segments, {"batch_size": 8}),
        (("token_types", "'zero'"), small(), segments, {"token_types": "zero"}),
        (("metrics", "another study"), small(), segments, {"metrics": ["entropy"]}),
        (
            ("metrics", "another study"),
            small(),
            segments,
            {"metrics": [Position([5]), *METRICS[1:4]]},
        ),
        (("11 segments", "differ"), small(), random_segments(seed=1), {}),
        (("11 segments", "differ"), small(), segments[:7], {}),
    ]
    for parts, model, given_segments, options in cases:
        with pytest.raises(ValueError, match=naming(*parts)):
            run(model, given_segments, resume=path, **{"batch_size": 4} | options)
    for content in (b"", b"no numbers", path.read_bytes()[:300]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=naming("resume file", "name another file")):
            run(small(), segments, resume=path)
        assert path.read_bytes() == content
    np.savez(path, sums=np.zeros(3))
    with pytest.raises(ValueError, match=naming("resume file", "name another file")):
        run(small(), segments, resume=path)


KILLED = """
import sys, time
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from attnwidget.corpus import resume_file
from attnwidget.corpus.model_reader import ModelReader
from metrics.test_measure import random_segments, run, small
resume_file._SECONDS_BETWEEN_SAVES = 0
add = ModelReader.add
count = 0
def counted(reader, segments):
    global count
    count += 1
    if count > 1500:
        time.sleep(600)  # it is killed before its end, however late that happens
    add(reader, segments)
ModelReader.add = counted
print("ready", flush=True)
run(small(), random_segments(4000), batch_size=2, resume={path!r})
"""


@pytest.mark.slow
def test_a_killed_pass_goes_on_to_the_last_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sums.npz"
    code = KILLED.format(tests=str(Path(__file__).parents[1]), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    try:
        deadline = time.monotonic() + 120
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with np.load(path, allow_pickle=False) as stored:
        assert "entropy/all" in stored.files
    segments = random_segments(4000)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        stop_after(monkeypatch, 8)
        again = run(small(), segments, batch_size=2, resume=path)
        n_batches = again.n_segments // 2
        assert 8 < n_batches < 2000
        monkeypatch.undo()
        stop_after(monkeypatch, n_batches)
        identical(again, run(small(), segments, batch_size=2))
    finally:
        torch.set_num_threads(threads)


def rotary(theta: float) -> AttentionModel:
    """Return a Llama with the same weights for every base of the rotations."""
    config = LlamaConfig(
        num_hidden_layers=2,
        num_attention_heads=2,
        hidden_size=16,
        intermediate_size=16,
        vocab_size=8192,
        rope_parameters={"rope_theta": theta, "rope_type": "default"},
    )
    torch.manual_seed(0)
    return load_model(LlamaForCausalLM(config), load_model(device="cpu").tokenizer, device="cpu")


def test_a_resume_file_of_another_configuration_is_refused(tmp_path: Path) -> None:
    usual, long = rotary(10_000.0), rotary(1_000_000.0)
    segments = make_segments(["The cat sat on the mat.", "It slept."], usual)
    path = tmp_path / "run.npz"
    run(usual, segments, ["entropy"], resume=path)
    identical(run(usual, segments, ["entropy"], resume=path), run(usual, segments, ["entropy"]))
    with pytest.raises(ValueError, match=naming("run.npz", "configuration")):
        run(long, segments, ["entropy"], resume=path)
    answers = tmp_path / "answers.npz"
    options: dict[str, Any] = {"scoring": "loss", "resume": answers, "progress": False}
    ablate(usual, [("The cat sat on the", "mat")], **options)
    with pytest.raises(ValueError, match=naming("answers.npz", "configuration")):
        ablate(long, [("The cat sat on the", "mat")], **options)


def test_a_resume_file_of_an_older_version_goes_on(tmp_path: Path) -> None:
    model = small()
    segments = random_segments(4)
    path = tmp_path / "run.npz"
    whole = run(model, segments, ["entropy"], resume=path)
    arrays = stored_arrays(path, sealed=True)
    about = json.loads(str(arrays["about"]))
    progress = json.loads(str(arrays["progress"]))
    del about["configuration"], progress["unsummed"]
    texts = {"about": np.array(json.dumps(about)), "progress": np.array(json.dumps(progress))}
    write_arrays(path, arrays | texts)
    identical(run(model, segments, ["entropy"], resume=path), whole)
