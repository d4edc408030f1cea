"""How long a request waits while the background of another figure uses the same model.

Run by `make bench`. A random Llama of 30 x 9 heads reads 858 tokens, and an explorer measures them,
with the tab of predictions open and the effects of all heads asked for. The notebook lets the same
model read a short text once a second. The longest wait for the lock of the model is stated beside
the longest pass of the model over the long text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import comm
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import AttentionModel, explore, load_model

sys.path.insert(0, str(Path(__file__).parents[1]))
from fixtures.recording import RecordingComm
from fixtures.vocabularies import word_tokenizer

SECONDS = 60
N_TOKENS = 858
WORDS = 64


def random_llama() -> AttentionModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2 * WORDS,
        hidden_size=72,
        intermediate_size=144,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=1024,
    )
    tokenizer = word_tokenizer(2 * WORDS, template=False)
    return load_model(LlamaForCausalLM(config).eval(), tokenizer, device="cpu")


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    comm.create_comm = RecordingComm
    model = random_llama()
    words = [f"w{number * 7 % WORDS}" for number in range(N_TOKENS)]
    short = " ".join(words[:8])
    attention = model.attend(" ".join(words))
    assert attention.reading is not None
    whole = max(seconds_of(attention.reading.predict) for _ in range(3))
    explorer = explore(model, " ".join(words), treebank=False)
    explorer.tab = "predictions"
    explorer._painted = True
    beside = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        beside.append(seconds_of(model.lock.acquire))
        model.attend(short)
        model.lock.release()
        time.sleep(1)
        if explorer.predictions is not None:
            explorer.predictions.measure_effects()
    found = explorer.predictions
    state = "not there" if found is None else "found" if found.is_estimate is False else "sought"
    print(
        f"30 x 9 heads, {N_TOKENS} tokens, effects {state}: {len(beside)} requests waited "
        f"{max(beside):.2f} s at most, median {median(beside):.3f} s; a pass takes {whole:.2f} s"
    )
    explorer.close()


if __name__ == "__main__":
    main()
