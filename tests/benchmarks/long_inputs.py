"""Long inputs beside the model's own pass: time, memory, and one tile.

Run by `make bench`, or alone with lengths: `python tests/benchmarks/long_inputs.py 1024 2048`.
Models have random weights. Ratios are of processor time in one process, the least of several runs
in turns, on one thread. Each length and size runs in a process of its own, whose largest memory is
that of the long reading.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import load_model
from attnwidget.kernels.streaming import stream_attention

LENGTHS = (1024, 2048, 4096, 8192)
# Layers, heads, key heads, width.
SIZES = {"6x12": (6, 12, 12, 384), "12x12": (12, 12, 4, 768)}
# Above, the maps of output_attentions no longer fit beside the model.
_WHOLE_UP_TO = 2048


def least(*runs: Callable[[], object], times: int = 3) -> list[float]:
    """The least processor time of each run, in turns."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(times):
        for run, own in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            own.append(time.process_time() - start)
    return [min(own) for own in seconds]


def peak() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def kernel(length: int) -> None:
    query, key, value = (torch.randn(12, length, 64) for _ in range(3))
    places = torch.arange(length)

    def sdpa() -> None:
        torch.nn.functional.scaled_dot_product_attention(
            query[None], key[None], value[None], is_causal=True
        )

    def streamed() -> None:
        stream_attention(
            query,
            key,
            value,
            scaling=0.125,
            visible=lambda rows, keys: (places[None, keys] <= places[rows, None])[None],
        )

    own, ours = least(sdpa, streamed)
    print(f"{length} tokens, 12 causal heads: {ours / own:.2f} of torch's fused attention")


def model(name: str, length: int) -> None:
    layers, heads, key_heads, width = SIZES[name]
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=max(LENGTHS),
    )
    read = load_model(LlamaForCausalLM(config), None)
    ids = torch.randint(3, 500, (1, length)).tolist()[0]
    given = {"input_ids": torch.tensor([ids])}

    def plain() -> None:
        with torch.no_grad():
            read.hf_model.model(**given)

    def whole() -> None:
        with torch.no_grad():
            read.hf_model.set_attn_implementation("eager")
            read.hf_model.model(**given, output_attentions=True)
        read.hf_model.set_attn_implementation("sdpa")

    plain()
    before = peak()
    attention = read.attend(ids, long=True)
    layers = attention.head_maps.layers["self"].values()
    of_layers = [layer.products for layer in layers if layer.products]
    kept = sum(one.query.nbytes + one.key.nbytes for one in of_layers)
    beyond = peak() - before - kept / 2**20
    runs = [plain, lambda: read.attend(ids, long=True)]
    own, ours, *rest = least(*runs, *([whole] if length <= _WHOLE_UP_TO else []), times=2)
    maps = f", output_attentions {rest[0] / own:.2f}" if rest else ""
    start = time.perf_counter()
    attention.tile(1, 2, (length - 256, length), (length - 256, length))
    tile = time.perf_counter() - start
    start = time.perf_counter()
    attention.tile(1, 2, (0, length), (0, length), step=max(8, length // 256))
    print(
        f"{name} at {length}: attend {ours / own:.2f} of a plain pass ({own:.1f} s){maps}; "
        f"{beyond:.0f} MB beyond model, queries and keys; a tile of 256 x 256 "
        f"{tile * 1e3:.1f} ms, the first overview {(time.perf_counter() - start) * 1e3:.0f} ms"
    )


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lengths = [int(one) for one in sys.argv[1:] if one.isdigit()] or list(LENGTHS)
    if len(sys.argv) == 3 and sys.argv[1] in SIZES:
        model(sys.argv[1], int(sys.argv[2]))
        return
    for length in lengths:
        kernel(length)
    for name in SIZES:
        for length in lengths:
            subprocess.run([sys.executable, __file__, name, str(length)], check=True)


if __name__ == "__main__":
    main()
