"""Cost of direct effects and of patching beside forward passes."""

from __future__ import annotations

import torch
import transformers

from attnwidget import load_model
from attnwidget.capture.disabled import changed
from attnwidget.capture.model import AttentionModel
from attnwidget.interventions import patch_heads
from attnwidget.interventions.patched_passes import outputs_of_heads, patch
from attnwidget.mechanisms import direct_effects, head_writes
from benchmarks.rows import Row, in_turns, rows_of

LOOP = "a loop of whole passes, one head patched each"
FORWARD = "a forward pass"


def patching(model: AttentionModel, n_words: int, n_layers: int, rounds: int) -> list[Row]:
    """Return the row of heads that are patched, all of the first layers."""
    sentence = "we saw the old house near the river and they lost the key of it"
    text = " ".join((sentence.split() * 20)[:n_words])
    clean = (f"The woman said that [MASK] was late, {text}.", "she")
    corrupted = (f"The man said that [MASK] was late, {text}.", "he")
    heads = [(layer, head) for layer in range(n_layers) for head in range(model.n_heads)]
    inputs = [
        dict(model.tokenizer(example[0], return_tensors="pt")) for example in (clean, corrupted)
    ]

    def study() -> None:
        patch_heads(model, clean, corrupted, heads=heads, progress=False)

    def loop() -> None:
        outputs, _ = outputs_of_heads(model.hf_model, inputs[0])
        chosen = {head: value for head, value in outputs.items() if head.layer < n_layers}
        for output in chosen.items():
            with changed(model.hf_model, {output[0]: patch(output[1])}), torch.no_grad():
                model.hf_model(**inputs[1])

    length = inputs[0]["input_ids"].shape[1]
    seconds = in_turns({LOOP: loop, f"`patch_heads`, {len(heads)} heads": study}, rounds)
    return rows_of(seconds, LOOP, what=f"{length} tokens")


def effects(layers: int, heads: int, width: int, length: int, rounds: int) -> list[Row]:
    """Return the rows of direct effects of all heads, beside a pass of a random Llama."""
    config = transformers.LlamaConfig(
        vocab_size=4096,
        hidden_size=width,
        intermediate_size=width * 8 // 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 3,
        max_position_embeddings=2048,
    )
    torch.manual_seed(0)
    model = load_model(transformers.LlamaForCausalLM(config), None, device="cpu")
    ids = torch.randint(5, 4096, (1, length))
    attention = model.attend({"input_ids": ids})

    def forward() -> None:
        with torch.no_grad():
            model.hf_model(input_ids=ids)

    runs = {
        FORWARD: forward,
        "`attend`": lambda: model.attend({"input_ids": ids}),
        "`direct_effects`": lambda: direct_effects(attention, 10, 20),
        "`head_writes`": lambda: head_writes(attention, layers - 1, 0),
    }
    what = f"Llama of {layers} x {heads} heads, {length} tokens"
    return rows_of(in_turns(runs, rounds), FORWARD, what=what)


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    model = load_model(device="cpu")
    if tiny:
        return patching(model, 1, 1, 1) + effects(1, 3, 24, 32, 1)
    found = patching(model, 4, model.n_layers, 3) + patching(model, 40, model.n_layers, 3)
    return found + effects(30, 9, 576, 500, 3)
