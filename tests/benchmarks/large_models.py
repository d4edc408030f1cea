"""Large random models on a GPU or on the CPU: what each reading costs beside a plain pass.

Run by hand, on the GPU if there is one. Each line has the median of several runs after a
warm-up, the ratio to a plain pass of the same input with fused attention (sdpa) in the same
process, the largest memory beyond what was held before, and on a GPU how often the CPU waits for
numbers of the GPU. The models are built on the device, because weights of random numbers need no
file.

    python tests/benchmarks/large_models.py [shape ...] [--device cuda] [--rounds 3]
        [--json lines.json] [--seconds 200] [--alone]
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import platform
import pstats
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import transformers

from attnwidget import HeadGrid, HeadView, Segment, atlas, load_model, measure
from attnwidget.behaviors import measure_behaviors
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.interventions import gradient_effects, patch_heads
from attnwidget.interventions.head_effects import effects_of
from attnwidget.mechanisms import direct_effects, logit_lens

TOKENIZERS = {
    is_bert: load_model(name, device="cpu").tokenizer
    for is_bert, name in ((False, "attnwidget/induction"), (True, None))
}
# Longer runs are not repeated.
_LONG = 20.0


@dataclass(frozen=True)
class Shape:
    """The sizes of a random model, and the inputs that it reads."""

    layers: int
    heads: int
    key_heads: int
    width: int
    inner: int
    dtype: torch.dtype
    lengths: tuple[int, ...]
    segments: int = 20
    is_bert: bool = False

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of a model of the package, whose vocabulary the random model has."""
        return TOKENIZERS[self.is_bert]

    def ids(self, length: int, seed: int = 0, *, masked: bool = False) -> list[int]:
        """Return random vocabulary ids; with `masked`, one of them is the mask of a BERT."""
        ids = np.random.default_rng(seed).integers(10, len(self.tokenizer), length)
        if masked and self.is_bert:
            ids[length // 2] = self.tokenizer.mask_token_id
        return [int(number) for number in ids]

    def segments_of(self, count: int, length: int) -> list[Segment]:
        """Return random segments."""
        tokens = self.tokenizer.convert_ids_to_tokens
        return [Segment(tuple(tokens(self.ids(length, seed)))) for seed in range(count)]

    def build(self, device: torch.device) -> Any:
        """Return the model with random weights, made on the device."""
        common = {
            "vocab_size": len(self.tokenizer),
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "max_position_embeddings": 4096,
        }
        torch.manual_seed(0)
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)
        try:
            with device:
                if self.is_bert:
                    return transformers.BertForMaskedLM(transformers.BertConfig(**common)).eval()
                config = transformers.LlamaConfig(num_key_value_heads=self.key_heads, **common)
                return transformers.LlamaForCausalLM(config).eval()
        finally:
            torch.set_default_dtype(before)


NEIGHBORS = ("previous token", "current token", "next token")
BF16, F32 = torch.bfloat16, torch.float32
SHAPES = {
    "7B": Shape(32, 32, 8, 4096, 14336, BF16, (128, 1024, 4096)),
    "7B float32": Shape(32, 32, 8, 4096, 14336, F32, (64, 512)),
    "96 layers": Shape(96, 8, 4, 512, 1408, BF16, (64, 512, 2048)),
    "BERT-large": Shape(24, 16, 16, 1024, 4096, F32, (64, 512), is_bert=True),
    "32 x 32 narrow": Shape(32, 32, 8, 256, 512, F32, (64, 256)),
    "96 layers narrow": Shape(96, 8, 4, 64, 128, F32, (64, 256)),
    "tiny": Shape(4, 8, 4, 64, 128, F32, (16, 64, 1100), segments=4),
    "tiny BERT": Shape(4, 8, 8, 64, 128, F32, (16, 64), segments=4, is_bert=True),
}


class Clock:
    """Times runs on a device, and prints one line for each.

    Attributes:
        rows: The numbers of each line: the shape, the step, seconds, ratio, MiB, waits.
    """

    def __init__(self, device: torch.device, rounds: int, seconds: float) -> None:
        self.device = device
        self.rounds = rounds
        self.on_gpu = device.type == "cuda"
        self.ends = time.monotonic() + seconds
        self.shape = ""
        self.rows: list[dict[str, Any]] = []

    def wait(self) -> None:
        """Wait until the device has done its work."""
        if self.on_gpu:
            torch.cuda.synchronize()

    def seconds(self, run: Callable[[], object], rounds: int = 0) -> float:
        """Return the median duration of a run after a warm-up."""
        start = time.perf_counter()
        run()
        self.wait()
        first = time.perf_counter() - start
        if first > _LONG:
            return first
        times = []
        for _ in range(rounds or self.rounds):
            self.wait()
            start = time.perf_counter()
            result = run()
            self.wait()
            times.append(time.perf_counter() - start)
            del result
        return median(times)

    def line(
        self, name: str, run: Callable[[], object], beside: float | None, rounds: int = 0
    ) -> float:
        """Print and return the time of a run, beside a plain pass (None: it is one)."""
        row: dict[str, Any] = {"shape": self.shape, "step": name}
        self.rows.append(row)
        if time.monotonic() > self.ends:
            row["error"] = "no time was left"
            print(f"  {name:<38} no time was left", flush=True)
            return float("nan")
        try:
            gc.collect()
            self.wait()
            with Memory(self.on_gpu) as memory:
                taken = self.seconds(run, rounds)
            row |= {"seconds": taken, "MiB": memory.peak / 2**20}
            said = f"  {name:<38} {taken * 1e3:9.1f} ms "
            if beside is not None:
                row["ratio"] = taken / beside
                said += f"{taken / beside:8.2f} x"
            said += f"  +{memory.peak / 2**20:8.1f} MiB"
            if self.on_gpu and beside is not None:
                waits = Counter[str]()
                with counted_waits(waits):
                    run()
                row |= {"waits": sum(waits.values()), "waits by line": waits.most_common(12)}
                row["profile"] = profiled(run)
                said += f"  {sum(waits.values()):5d} waits"
            print(said, flush=True)
            return taken
        except Exception as error:
            row["error"] = traceback.format_exc()
            print(f"  {name:<38} {type(error).__name__}: {str(error)[:300]}", flush=True)
            return float("nan")


@dataclass
class Memory:
    """The largest memory that a block takes beyond what is held before it.

    On the CPU it is the memory of the process as Linux counts it, and 0 on another system.

    Attributes:
        on_gpu: Whether to count the memory of the GPU.
        peak: Bytes.
    """

    on_gpu: bool
    peak: int = 0
    _held: int = field(default=0, repr=False)

    def __enter__(self) -> Memory:
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
            self._held = torch.cuda.memory_allocated()
        elif _LINUX.exists():
            Path("/proc/self/clear_refs").write_text("5")  # forget the largest so far
            self._held = _of_process("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        if self.on_gpu:
            self.peak = torch.cuda.max_memory_allocated() - self._held
        elif _LINUX.exists():
            self.peak = max(0, _of_process("VmHWM") - self._held)


_LINUX = Path("/proc/self/status")


def _of_process(name: str) -> int:
    """Return a number of bytes that Linux counts for this process."""
    line = next(one for one in _LINUX.read_text().splitlines() if one.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


@contextmanager
def counted_waits(waits: Counter[str]) -> Iterator[None]:
    """Count by line of the package how often the CPU waits for the GPU in the block."""

    def count(message: Any, *_: Any, **__: Any) -> None:
        if "synchronizing" not in str(message):
            return
        stack = traceback.extract_stack()[:-1]
        own = [frame for frame in stack if "/attnwidget/" in frame.filename.replace("\\", "/")]
        frame = own[-1] if own else stack[-1]
        file = frame.filename.replace("\\", "/").rpartition("/attnwidget/")[2]
        waits[f"{file}:{frame.lineno} {frame.line}"] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = count
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")


def profiled(run: Callable[[], object]) -> list[tuple[str, int, float]]:
    """Return the functions that take most time by themselves: name, calls, seconds."""
    profile = cProfile.Profile()
    profile.runcall(run)
    found = []
    for (file, line, name), (_, calls, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        found.append((f"{'/'.join(Path(file).parts[-2:])}:{line} {name}", calls, own))
    return sorted(found, key=lambda one: -one[2])[:15]


def kept_bytes(attention: Any) -> dict[str, int]:
    """Return the number of bytes that the layers of an attention hold, by device."""
    found: dict[str, int] = {}
    seen: set[int] = set()
    todo: list[Any] = list(attention.head_maps.layers.values())
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            size = value.numel() * value.element_size()
            found[value.device.type] = found.get(value.device.type, 0) + size
        elif isinstance(value, dict):
            todo += value.values()
        elif hasattr(value, "__dataclass_fields__"):
            todo += vars(value).values()
    return found


def study(name: str, shape: Shape, clock: Clock) -> None:
    """Print the cost of all readings of one model."""
    hf_model = shape.build(clock.device)
    model = load_model(hf_model, shape.tokenizer, max_tokens=4096)
    weights = sum(p.numel() * p.element_size() for p in hf_model.parameters())
    clock.shape = name
    print(
        f"{name}: {shape.layers} layers x {shape.heads} heads ({shape.key_heads} of keys), width "
        f"{shape.width}, {str(shape.dtype)[6:]}, {weights / 2**30:.2f} GiB on {model.device}",
        flush=True,
    )
    plain = {length: passes(model, shape, length, clock) for length in shape.lengths}
    for length in shape.lengths:
        figures(model, shape, length, plain[length], clock)
    questions(model, shape, plain, clock)
    studies(model, shape, clock)


def figures(model: AttentionModel, shape: Shape, length: int, beside: float, clock: Clock) -> None:
    """Print the cost of the attention of one input, and of figures of it."""
    text = {"input_ids": torch.tensor([shape.ids(length)], device=model.device)}
    clock.line(f"attend, {length} tokens", lambda: model.attend(text), beside)
    if "error" in clock.rows[-1]:
        return
    attention = model.attend(text)
    kept = kept_bytes(attention)
    clock.rows[-1]["kept"] = kept
    said = ", ".join(f"{size / 2**20:.1f} MiB on {device}" for device, size in kept.items())
    print(f"    keeps {said}", flush=True)
    clock.line(f"HeadGrid, {length} tokens", partial(grid_of, attention), beside)
    clock.line(f"HeadView, {length} tokens", partial(view_of, attention, shape), beside)


def questions(model: AttentionModel, shape: Shape, plain: dict[int, float], clock: Clock) -> None:
    """Print the cost of questions about heads and answers."""
    short, middle = shape.lengths[:2]
    off = Head(shape.layers // 2, 1)
    text = shape.ids(middle, masked=True)

    def without() -> Any:
        with model.disabled(off):
            return model.attend(text)

    clock.line(f"head off, {middle} tokens", without, plain[middle])
    clock.line(f"predict, {middle} tokens", lambda: model.predict(text), plain[middle])
    brief = shape.ids(short, masked=True)
    attention = model.attend(brief)
    place = short // 2 if shape.is_bert else short
    layer = [Head(off.layer, head) for head in range(shape.heads)]
    loss = "masked" if shape.is_bert else "causal"
    steps: dict[str, Callable[[], object]] = {}
    if not shape.is_bert:
        steps["direct_effects"] = lambda: direct_effects(attention, 11, 12)
    steps |= {
        "first-order effects": lambda: effects_of(
            attention.reading, 11, place, stack="self", exact=False
        ),
        "gradient_effects": lambda: gradient_effects(attention, 11, 12),
        "exact effects of a layer": lambda: effects_of(
            attention.reading, 11, place, stack="self", only=layer
        ),
        "attend with gradients": lambda: model.attend(brief, loss=loss),
        "logit_lens": lambda: logit_lens(attention),
    }
    if not shape.is_bert:
        steps["generate 8 tokens"] = lambda: model.generate(brief, 8)
    for step, run in steps.items():
        clock.line(f"{step}, {short} tokens", run, plain[short])
    pair = [("the cat sat on the", "m"), ("the dog sat on the", "c")]
    if shape.is_bert:
        pair = [("the cat sat on the [MASK]", "house"), ("the dog sat on the [MASK]", "garden")]
    heads = [tuple(head[:2]) for head in layer]
    clock.line(
        f"patch_heads, a layer of {shape.heads} heads",
        lambda: patch_heads(model, *[[example] for example in pair], heads=heads, progress=False),
        plain[short],
        1,
    )


def passes(model: AttentionModel, shape: Shape, length: int, clock: Clock) -> float:
    """Print and return the time of a plain pass with fused attention."""
    ids = torch.tensor([shape.ids(length)], device=model.device)
    options = {} if shape.is_bert else {"use_cache": False}

    def run() -> None:
        with torch.no_grad():
            model.hf_model(input_ids=ids, **options)

    return clock.line(f"plain pass, {length} tokens", run, None, 5)


def grid_of(attention: Any) -> HeadGrid:
    """Open a grid of all heads, with everything that its page gets."""
    grid = HeadGrid(attention)
    grid.open()
    grid.close()
    return grid


def view_of(attention: Any, shape: Shape) -> HeadView:
    """Open a view of one head."""
    view = HeadView(attention, shape.layers // 2, 1)
    view.open()
    view.close()
    return view


def studies(model: AttentionModel, shape: Shape, clock: Clock) -> None:
    """Measure heads over random segments, beside passes of the model without its head."""
    length = min(128, shape.lengths[1])
    segments = shape.segments_of(shape.segments, length - 2 if shape.is_bert else length)
    batches = [segments[first : first + 8] for first in range(0, len(segments), 8)]
    options = {} if shape.is_bert else {"use_cache": False}
    ids = [
        torch.tensor([shape.ids(length, seed) for seed in range(len(batch))], device=model.device)
        for batch in batches
    ]

    def backbone() -> None:
        with torch.no_grad():
            for batch in ids:
                model.hf_model.base_model(input_ids=batch, **options)

    said = f"{shape.segments} segments of {length}"
    beside = clock.line(f"plain passes, {said}", backbone, None)
    clock.line(f"measure, {said}", lambda: measure(model, segments, progress=False), beside)
    clock.line(
        "measure, with norms and patterns",
        lambda: measure(model, segments, ["entropy", "norms", "patterns", "sinks"], progress=False),
        beside,
    )
    clock.line(
        "measure_behaviors, neighboring tokens",
        lambda: measure_behaviors(model, segments, NEIGHBORS, n_random_models=0, progress=False),
        beside,
        1,
    )
    clock.line(
        "atlas, neighboring tokens",
        lambda: atlas(
            model,
            segments,
            treebank=(),
            documents=(),
            behaviors=NEIGHBORS,
            n_random_models=0,
            n_effect_texts=2,
            progress=False,
        ),
        beside,
        1,
    )


def agreement(shape: Shape, device: torch.device) -> None:
    """Print the largest differences between a model on the device and on the CPU, in float32."""
    shape = replace(shape, dtype=F32)
    here = shape.build(torch.device("cpu"))
    ids = shape.ids(shape.lengths[0])
    long_ids = shape.ids(1100)
    on_cpu = load_model(here, shape.tokenizer, max_tokens=4096)
    maps = on_cpu.attend(ids).weights()
    long_maps = on_cpu.attend(long_ids).weights(1, 1)
    logs = np.log(on_cpu.predict(ids).probabilities)
    found = measure(on_cpu, shape.segments_of(4, 30), progress=False)
    there = load_model(here.to(device), shape.tokenizer, max_tokens=4096)
    print(f"agreement with the CPU, {shape.layers} x {shape.heads} heads, float32 on {device}")
    difference = np.abs(there.attend(ids).weights() - maps).max()
    long_difference = np.abs(there.attend(long_ids).weights(1, 1) - long_maps).max()
    print(f"  weights {difference:.2e}, of 1,100 tokens {long_difference:.2e}")
    print(
        f"  log probabilities {np.abs(np.log(there.predict(ids).probabilities) - logs).max():.2e}"
    )
    other = measure(there, shape.segments_of(4, 30), progress=False)
    for name, values in found.heads().items():
        print(f"  measure, {name}: {np.nanmax(np.abs(other.heads()[name] - values)):.2e}")


def in_half_precision(name: str, shape: Shape, device: torch.device) -> None:
    """Print the differences between a model in bfloat16 and the same weights in float32."""
    ids = shape.ids(shape.lengths[0])
    segments = shape.segments_of(4, 60)
    hf_model = replace(shape, dtype=BF16).build(device)
    found: list[dict[str, Any]] = []
    for _ in range(2):
        model = load_model(hf_model, shape.tokenizer, max_tokens=4096)
        logs = np.log(model.predict(ids, top=5).probabilities)
        place = shape.lengths[0]
        layer = [Head(shape.layers // 2, head) for head in range(shape.heads)]
        attention = model.attend(ids)
        rises = effects_of(attention.reading, int(logs.argmax()), place, stack="self", only=layer)
        assert rises is not None
        found.append(
            {
                "weights": attention.weights(),
                "log probabilities": logs,
                "exact effects": rises[shape.layers // 2],
                **measure(model, segments, progress=False).heads(),
            }
        )
        hf_model.float()
    half, whole = found
    print(f"{name}: bfloat16 beside float32 with the same weights, largest difference of largest")
    for quantity, values in whole.items():
        difference = np.nanmax(np.abs(half[quantity] - values))
        print(f"  {quantity}: {difference:.2e} of {np.nanmax(np.abs(values)):.2e}", flush=True)


def placed(shape: Shape, device: torch.device) -> None:
    """Read a model that accelerate has spread over a device and the CPU's memory."""
    shape = replace(shape, dtype=F32)
    whole = shape.build(device)
    ids = shape.ids(shape.lengths[0])
    expected = load_model(whole, shape.tokenizer).attend(ids).weights()
    size = sum(p.numel() * p.element_size() for p in whole.parameters())
    with tempfile.TemporaryDirectory() as folder:
        whole.save_pretrained(folder)
        for said, memory in (
            ("auto", None),
            ("a third on the device", {0: size // 3, "cpu": 10 * size}),
            ("all on the CPU and offloaded", {0: size // 30, "cpu": 10 * size}),
        ):
            try:
                spread = transformers.AutoModelForCausalLM.from_pretrained(
                    folder, device_map="auto", max_memory=memory, dtype=F32
                )
                model = load_model(spread, shape.tokenizer)
                start = time.perf_counter()
                attention = model.attend(ids)
                taken = time.perf_counter() - start
                off = abs(attention.weights() - expected).max()
                with model.disabled(Head(1, 1)):
                    without = model.attend(ids)
                held = {str(p.device) for p in spread.parameters()}
                print(
                    f"  device_map='auto', {said}: weights on {sorted(held)}, maps differ by "
                    f"{off:.1e}; attend {taken * 1e3:.0f} ms; keeps {kept_bytes(attention)}; head "
                    f"off {without.model_name!r}; predict {model.predict(ids)!r}"
                )
                direct = direct_effects(attention, 11, 12)
                print(f"    direct effects {direct!r}; lens {logit_lens(attention)!r}", flush=True)
            except Exception as error:
                print(f"  device_map='auto', {said}: {type(error).__name__}: {error}", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for the numbers of all lines")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no step after so long")
    parser.add_argument("--alone", action="store_true", help="only the costs of the named shapes")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor()
    print(f"{name}, torch {torch.__version__}, transformers {transformers.__version__}")
    usual = ["7B", "7B float32", "96 layers", "BERT-large"]
    if device.type == "cpu":
        usual = ["32 x 32 narrow", "96 layers narrow"]
    clock = Clock(device, options.rounds, options.seconds)
    for shape in options.shapes or usual:
        study(shape, SHAPES[shape], clock)
        if options.json is not None:
            options.json.write_text(json.dumps(clock.rows, indent=1))
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
    if options.alone:
        return
    agreement(SHAPES["tiny"], device)
    placed(SHAPES["tiny"], device)
    if device.type == "cuda":
        for shape in ("96 layers", "7B"):
            in_half_precision(shape, SHAPES[shape], device)


if __name__ == "__main__":
    main()
