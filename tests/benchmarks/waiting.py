"""How long a request waits while the background of another figure uses the same model.

A random Llama of 30 x 9 heads reads 858 tokens, and an explorer measures them, with the tab of
predictions open and the effects of all heads asked for. The notebook lets the same model read a
short text once a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import comm
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import AttentionModel, explore, load_model
from benchmarks.rows import Row
from fixtures.recording import RecordingComm
from fixtures.vocabularies import word_tokenizer

WORDS = 64


def random_llama(layers: int, heads: int) -> AttentionModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2 * WORDS,
        hidden_size=8 * heads,
        intermediate_size=16 * heads,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 3,
        max_position_embeddings=1024,
    )
    tokenizer = word_tokenizer(2 * WORDS, template=False)
    return load_model(LlamaForCausalLM(config).eval(), tokenizer, device="cpu")


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def waits(layers: int, heads: int, n_tokens: int, requests: int, pause: float) -> list[Row]:
    """Return the row of the longest wait, beside a pass over the long text."""
    model = random_llama(layers, heads)
    words = [f"w{number * 7 % WORDS}" for number in range(n_tokens)]
    short = " ".join(words[:8])
    attention = model.attend(" ".join(words))
    assert attention.reading is not None
    whole = float(np.median([seconds_of(attention.reading.predict) for _ in range(3)]))
    create, comm.create_comm = comm.create_comm, RecordingComm
    waited = []
    try:
        explorer = explore(model, " ".join(words), treebank=False)
        explorer.tab = "predictions"
        explorer._painted = True
        for _ in range(requests):
            start = time.perf_counter()
            with model.lock.in_turn():
                waited.append(time.perf_counter() - start)
                model.attend(short)
            time.sleep(pause)
            if explorer.predictions is not None:
                explorer.predictions.measure_effects()
        explorer.close()
    finally:
        comm.create_comm = create
    low, longest, high = (float(np.percentile(waited, share)) / whole for share in (25, 100, 75))
    step = (
        f"longest wait of {requests} requests (quartiles of all waits) while {layers} x {heads} "
        f"heads and {n_tokens} tokens are measured"
    )
    beside = "a pass over the long text"
    return [Row(step, beside, longest, low, high, 1e3 * max(waited), "ms", requests)]


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    return waits(1, 3, 16, 2, 0.0) if tiny else waits(30, 9, 858, 20, 1.0)
