"""Metrics of a long segment from sums of rows, beside the same metrics from rows of maps.

Run by `make bench`, or alone with lengths: `python tests/benchmarks/long_rows.py 512 2048`. The
model has random weights. Each length and each way of computing runs in a process with one thread.
The numbers are the least processor time of several runs, and the memory beyond a plain pass.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import Segment, load_model, measure
from attnwidget.capture.maps import collect_long
from attnwidget.metrics import Classes, Confidence, Entropy, Position, Sinks

sys.path.insert(0, str(Path(__file__).parents[1]))
from fixtures.vocabularies import word_tokenizer

LENGTHS = (512, 2048, 8192)
WAYS = ("maps", "rows")
_TIMES = 3


def peak() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def least(run: Callable[[], object]) -> float:
    """The least processor time of several runs, in seconds."""
    seconds = []
    for _ in range(_TIMES):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def one(length: int, way: str) -> dict[str, Any]:
    """Measure a segment, and return the time, the memory and the numbers."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    collect_long.LONG_FROM = 256
    if way == "maps":
        for metric in (Position, Classes, Entropy, Confidence, Sinks):
            metric.wanted = lambda self, batch: None
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=384,
        intermediate_size=1152,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=max(LENGTHS),
    )
    tokenizer = word_tokenizer(512)
    model = load_model(LlamaForCausalLM(config), tokenizer)
    ids = torch.randint(5, 500, (length - 2,)).tolist()
    segment = Segment(tuple(tokenizer.convert_ids_to_tokens(ids)))
    inputs = torch.tensor([ids])

    def plain() -> None:
        with torch.no_grad():
            model.hf_model.model(input_ids=inputs)

    def measured() -> Any:
        metrics = [Position(), Classes(), Entropy(), Confidence(), Sinks()]
        return measure(model, [segment], metrics, progress=False)

    plain()
    before = peak()
    heads = {title: values.tolist() for title, values in measured().heads().items()}
    beyond = peak() - before
    return {"plain": least(plain), "measured": least(measured), "MB": beyond, "heads": heads}


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[2] in WAYS:
        print(json.dumps(one(int(sys.argv[1]), sys.argv[2])))
        return
    for length in [int(argument) for argument in sys.argv[1:]] or LENGTHS:
        ways = {}
        for way in WAYS:
            command = [sys.executable, __file__, str(length), way]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            ways[way] = json.loads(run.stdout)
        apart = max(
            np.abs(np.subtract(values, ways["rows"]["heads"][title])).max()
            for title, values in ways["maps"]["heads"].items()
        )
        print(f"{length} tokens, largest difference {apart:.1e}:")
        for way, numbers in ways.items():
            ratio = numbers["measured"] / numbers["plain"]
            print(
                f"  {way}: {ratio:.2f} of a plain pass ({numbers['plain']:.2f} s), "
                f"{numbers['MB']:.0f} MB beyond it"
            )


if __name__ == "__main__":
    main()
