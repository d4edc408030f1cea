"""What pictures cost: bytes of pages for 12 x 12 heads on 14 x 14 patches, and places per model.

Run by hand: `python tests/benchmarks/places.py`. The model is a ViT of the size of ViT-B/16 with
random weights. Times are the best of three, on one thread: one forward pass, an `attend`, the ramp
through the processor (where each pixel of the input comes from), and the probe of the model (which
patch each token is). Ramp and probe run once for each size of a picture.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from ipywidgets.widgets.widget import _remove_buffers
from PIL import Image

import attnwidget as aw
from attnwidget.capture.maps.patch_probe import PatchProbe
from attnwidget.capture.places.picture_places import FrameFinder

SIDE = 224
PATCH = 16
LAYERS = 12
HEADS = 12
TOKENS = 1 + (SIDE // PATCH) ** 2
REPEATS = 3


def photo() -> np.ndarray[Any, Any]:
    """A picture of 640 x 427 pixels that compresses like a photo."""
    y, x = np.mgrid[0:427, 0:640] / 427
    noise = np.random.default_rng(0).normal(0, 0.05, (427, 640, 3))
    shades = np.stack([0.3 + 0.4 * x, 0.5 + 0.4 * y, 0.8 - 0.4 * x * y], axis=-1)
    return (np.clip(shades + noise, 0, 1) * 255).astype(np.uint8)


def vit() -> tuple[Any, Any]:
    """A ViT-B/16 with random weights, and its processor."""
    torch.manual_seed(0)
    config = transformers.ViTConfig(num_hidden_layers=LAYERS, num_attention_heads=HEADS)
    processor = transformers.ViTImageProcessor(size={"height": SIDE, "width": SIDE})
    return transformers.ViTModel(config).eval(), processor


def milliseconds(run: Callable[[], object]) -> float:
    """The shortest time of some runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def payload(widget: Any) -> int:
    """Bytes of the message that opens a figure."""
    state, _, buffers = _remove_buffers(widget._drawn_state())
    return len(json.dumps(state, default=str)) + sum(memoryview(one).nbytes for one in buffers)


def bytes_of_pages(attention: aw.Attention) -> None:
    """Print the bytes of messages to a page, without code, and of files."""
    figures: dict[str, Callable[[], Any]] = {
        "HeadView, places": lambda: aw.HeadView(attention),
        "HeadView, matrix": lambda: aw.HeadView(attention, mode="matrix"),
        "HeadGrid, places": lambda: aw.HeadGrid(attention),
        "HeadGrid, maps": lambda: aw.HeadGrid(attention, thumbnail="maps"),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, make in figures.items():
            start = time.perf_counter()
            widget = make()
            widget.open()
            opened = 1000 * (time.perf_counter() - start)
            said = [f"to the page {payload(widget) / 1e3:,.0f} kB", f"open {opened:.0f} ms"]
            if name.startswith("HeadGrid"):
                parts = {
                    part: sum(memoryview(one).nbytes for one in _remove_buffers({"_": value})[2])
                    for part in ("_thumbnails", "_media", "_places")
                    if (value := widget._drawn_state()[part])
                }
                said += [f"{part} {size / 1e3:,.0f} kB" for part, size in parts.items()]
            for suffix in ("png", "svg", "html"):
                path = widget.save(Path(folder, f"figure.{suffix}"))
                said.append(f"{suffix} {path.stat().st_size / 1e3:,.0f} kB")
            print(f"{name}: {', '.join(said)}")
            widget.close()


def places_of_a_model(model: Any, processor: Any, picture: np.ndarray[Any, Any]) -> None:
    """Print the times of the ramp and the probe beside one forward pass."""
    image = Image.fromarray(picture)
    inputs = dict(processor(image, return_tensors="pt"))
    loaded = aw.load_model(model, processor)

    def forward() -> None:
        with torch.no_grad():
            model(**inputs)

    rows: dict[str, Callable[[], object]] = {
        "one forward pass": forward,
        "processor": lambda: processor(image, return_tensors="pt"),
        "attend(tensors)": lambda: loaded.attend(inputs),
        "attend(images=), the first of its size": lambda: aw.load_model(model, processor).attend(
            images=picture
        ),
        "attend(images=), a further one": lambda: loaded.attend(images=picture),
        "ramp through the processor": lambda: FrameFinder()(processor, [picture], inputs),
        "probe of the model": lambda: PatchProbe(model)("self", TOKENS, inputs, {}),
    }
    loaded.attend(images=picture)
    for name, run in rows.items():
        print(f"{name}: {milliseconds(run):,.0f} ms")


def main() -> None:
    torch.set_num_threads(1)
    model, processor = vit()
    picture = photo()
    attention = aw.load_model(model, processor).attend(images=picture)
    print(f"{LAYERS} x {HEADS} heads, {len(attention.tokens)} tokens")
    bytes_of_pages(attention)
    places_of_a_model(model, processor, picture)


if __name__ == "__main__":
    main()
