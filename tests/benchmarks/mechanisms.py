"""Cost of direct effects and of patching, beside forward passes.

Run by `make bench`. Ratios are of processor time in one process, each the least of several runs.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import torch
import transformers

from attnwidget import load_model
from attnwidget.capture.disabled import changed
from attnwidget.capture.model import AttentionModel
from attnwidget.interventions import patch_heads
from attnwidget.interventions.patched_passes import outputs_of_heads, patch
from attnwidget.mechanisms import direct_effects, head_writes


def least(*runs: Callable[[], object], times: int = 5) -> list[float]:
    """The least processor time of each run, in turns, so that a busy machine hurts all alike."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(times):
        for run, own in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            own.append(time.process_time() - start)
    return [min(own) for own in seconds]


def patching(model: AttentionModel, n_words: int) -> None:
    """All heads patched, beside a loop of passes of the whole model with one head patched each."""
    sentence = "we saw the old house near the river and they lost the key of it"
    text = " ".join((sentence.split() * 20)[:n_words])
    clean = (f"The woman said that [MASK] was late, {text}.", "she")
    corrupted = (f"The man said that [MASK] was late, {text}.", "he")
    heads = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    inputs = [
        dict(model.tokenizer(example[0], return_tensors="pt")) for example in (clean, corrupted)
    ]

    def study() -> None:
        patch_heads(model, clean, corrupted, heads=heads, progress=False)

    def loop() -> None:
        outputs, _ = outputs_of_heads(model.hf_model, inputs[0])
        for output in outputs.items():
            with changed(model.hf_model, {output[0]: patch(output[1])}), torch.no_grad():
                model.hf_model(**inputs[1])

    replayed, whole = least(study, loop)
    length = inputs[0]["input_ids"].shape[1]
    print(
        f"patch_heads, {length} tokens, {len(heads)} heads: a loop of whole passes {whole:.2f} s, "
        f"the study {replayed:.2f} s: {replayed / whole:.2f} of it"
    )


def effects(layers: int, heads: int, width: int, length: int) -> None:
    """Direct effects of all heads, beside one forward pass and one pass that reads attention."""
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=width,
        intermediate_size=width * 8 // 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 3,
        max_position_embeddings=2048,
    )
    model = load_model(transformers.LlamaForCausalLM(config), None)
    ids = torch.randint(5, 49152, (1, length))
    attention = model.attend({"input_ids": ids})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def forward() -> None:
        with torch.no_grad():
            model.hf_model(input_ids=ids)

    def attend() -> None:
        model.attend({"input_ids": ids})

    def direct() -> None:
        direct_effects(attention, 10, 20)

    def writes() -> None:
        head_writes(attention, layers - 1, 0)

    plain, read, split, wrote = least(forward, attend, direct, writes, times=3)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{layers} layers x {heads} heads, {length} tokens: one pass {plain * 1e3:.0f} ms; "
        f"direct_effects {split * 1e3:.0f} ms: {split / plain:.2f} of it; head_writes "
        f"{wrote / plain:.2f}; attend {read / plain:.2f}; memory beyond attend {memory:.0f} MB"
    )


def main() -> None:
    """Print all ratios."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for n_words in (4, 40, 110):
        patching(load_model(device="cpu"), n_words)
    effects(30, 9, 576, 500)
    effects(6, 12, 384, 64)


if __name__ == "__main__":
    main()
