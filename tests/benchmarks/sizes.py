"""What large models cost: 48 layers of 32 heads in every figure.

Run by hand: `python tests/benchmarks/sizes.py`, or with the names of some parts. The model has
random weights.
Each row is a process of its own, on one thread: seconds of its last step, its largest memory
beyond what it had before, and the bytes that open the figure on a page.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before transformers is imported.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers
from ipywidgets.widgets.widget import _remove_buffers

import attnwidget as aw
from attnwidget.metrics.measure_heads import measure_attention

LAYERS = 48
HEADS = 32
WIDTH = 8
TOKENS = 512


def bert(layers: int, heads: int, width: int, length: int) -> aw.AttentionModel:
    """A model of the embedded one's vocabulary."""
    torch.manual_seed(0)
    tokenizer = aw.load_model().tokenizer
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=heads * width,
        intermediate_size=heads * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=length,
    )
    return aw.load_model(transformers.BertForMaskedLM(config), tokenizer)


def text(model: aw.AttentionModel, tokens: int) -> str:
    """As much of the prose of the package as makes so many tokens, or a few less."""
    words = aw.demo.demo_prose().read_text("utf-8").split()
    least = 1
    most = len(words)
    while least < most:
        half = (least + most + 1) // 2
        enough = len(model.tokenizer(" ".join(words[:half]))["input_ids"]) > tokens
        least, most = (least, half - 1) if enough else (half, most)
    return " ".join(words[:least])


def large() -> tuple[aw.AttentionModel, aw.Attention]:
    model = bert(LAYERS, HEADS, WIDTH, TOKENS)
    return model, model.attend(text(model, TOKENS))


def payload(widget: Any) -> int:
    """Bytes of the message that opens a figure."""
    state, _, buffers = _remove_buffers(widget._drawn_state())
    return len(json.dumps(state, default=str)) + sum(memoryview(one).nbytes for one in buffers)


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def numbers() -> dict[str, np.ndarray[Any, Any]]:
    return {"largest": np.random.default_rng(0).random((LAYERS, HEADS))}


def distances(attention: aw.Attention) -> Any:
    """Of random maps of fewer tokens: 1.2 million pairs of heads."""
    return measure_attention(attention, ["distances"])["distances"]


def relations(model: aw.AttentionModel) -> tuple[Any, list[aw.Sentence]]:
    sentences = list(aw.demo.demo_treebank())[:20]
    return aw.words.probe_relations(model, sentences, progress=False), sentences


def coreference(model: aw.AttentionModel) -> Any:
    spans = [(i, i, "abc"[i % 3]) for i in range(0, 90, 10)]
    document = aw.Document.from_spans([f"word{i % 9}" for i in range(100)], spans)
    return aw.words.probe_coreference(model, [document], progress=False)


def explorer(model: aw.AttentionModel, tokens: int) -> Any:
    made = aw.explore(model, text(model, tokens), treebank=False)
    made.wait()
    return made


FIGURES: dict[str, Callable[[aw.AttentionModel, aw.Attention], Any]] = {
    "HeadGrid": lambda model, a: aw.HeadGrid(a, metrics=numbers()),
    "HeadGrid, norms": lambda model, a: aw.HeadGrid(a, quantity="norms"),
    "HeadGrid, heads off": lambda model, a: aw.HeadGrid(a, disabled=[(3, 5)]),
    "HeadView, lines": lambda model, a: aw.HeadView(a, 40, 20),
    "HeadView, matrix": lambda model, a: aw.HeadView(a, 40, 20, mode="matrix"),
    "HeadView, a layer": lambda model, a: aw.HeadView(a, 40, 20, shown_heads="layer"),
    "HeadGrid, a word": lambda model, a: aw.HeadGrid(a, tokens=[("query", 7)]),
    "HeadView, two": lambda model, a: aw.HeadView(a, versus=a, selected=[(40, 20)]),
    "HeadScatter": lambda model, a: aw.HeadScatter.from_positions(
        np.random.default_rng(0).normal(size=(LAYERS, HEADS, 2))
    ),
    "RelationTable": lambda model, a: aw.RelationTable(relations(model)[0], min_count=1),
    "DependencyArcs": lambda model, a: aw.DependencyArcs(model, *relations(model)[::-1]),
    "CoreferenceView": lambda model, a: aw.CoreferenceView(coreference(model)),
    "PredictionView, gradient": lambda model, a: aw.PredictionView(a, 7, effects_by="gradient"),
    "Explorer, 64 tokens": lambda model, a: explorer(model, 64),
}


def figure(name: str) -> None:
    model, attention = large()
    before = memory()
    start = time.perf_counter()
    widget = FIGURES[name](model, attention)
    if hasattr(widget, "wait"):
        widget.wait()
    widget.open()
    seconds = time.perf_counter() - start
    beyond = memory() - before
    said = [f"{seconds:.2f} s, {beyond:.0f} MB, to the page {payload(widget) / 1e6:.2f} MB"]
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("svg", "png", "pdf", "html"):
            path = Path(folder, f"figure.{suffix}")
            start = time.perf_counter()
            try:
                widget.save(path)
                size = f"{path.stat().st_size / 1e6:.2f} MB"
            except ValueError as error:
                size = f"refused ({str(error)[:160]})"
            said.append(f"{suffix} {time.perf_counter() - start:.1f} s, {size}")
    print(f"{name}: {'; '.join(said)}; {memory() - before:.0f} MB in all")


def numbers_of_heads() -> None:
    """What needs the maps of all heads at once."""
    for tokens in (32, 128):
        model, _ = large()
        attention = model.attend(text(model, tokens))
        before = memory()
        start = time.perf_counter()
        found = distances(attention)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        found.chart().to_dict()
        print(
            f"distances, {tokens} tokens: {seconds:.1f} s, chart {time.perf_counter() - start:.1f} "
            f"s, {memory() - before:.0f} MB"
        )
    _, attention = large()
    for name, run in {
        "weights()": attention.weights,
        "measure_attention": lambda: measure_attention(attention),
        "rollout": lambda: aw.metrics.attention_rollout(attention),
        "to_frame()": attention.to_frame,
        "distances": lambda: distances(attention),
    }.items():
        if name == "distances" and attention.n_layers * attention.n_heads > 500:
            print("distances, 512 tokens: not run, 1.2 million pairs of 262,144 cells")
            continue
        before = memory()
        start = time.perf_counter()
        try:
            run()
            said = "done"
        except ValueError as error:
            said = f"refused: {error}"
        seconds = time.perf_counter() - start
        beyond = memory() - before
        print(f"{name}, 512 tokens: {said}, {seconds:.1f} s, {beyond:.0f} MB beyond the last row")


PARTS: dict[str, Callable[[], None]] = {
    **{name: (lambda name=name: figure(name)) for name in FIGURES},  # type: ignore[misc]
    "numbers": numbers_of_heads,
}


def main() -> None:
    torch.set_num_threads(1)
    asked = sys.argv[1:] or list(PARTS)
    if len(asked) == 1 and asked[0] in PARTS:
        PARTS[asked[0]]()
        return
    for name in asked:
        subprocess.run([sys.executable, "-W", "ignore", __file__, name], check=False)


if __name__ == "__main__":
    main()
