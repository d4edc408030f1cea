"""Path patching against a literal version with hooks."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
import torch

from attnwidget import load_model
from attnwidget.interventions import patch_heads, patch_path
from capture.test_predict import words
from fixtures import zoo
from references.hooked_heads import N_HEADS, SIZE, hooked, layers, outputs_of
from refusals import naming

CLEAN = ("w7 w8 w9 w11", "w3")
CORRUPTED = ("w7 w20 w9 w11", "w4")
SENDER = (0, 1)
RECEIVER = (2, 3)


def literal(model: Any, name: str, which: str) -> float:
    """The logit difference with one path patched, in plain passes with hooks."""
    hf_model = model.hf_model
    own = layers(name, hf_model, "self")
    texts = [dict(model.tokenizer(text, return_tensors="pt")) for text in (CLEAN[0], CORRUPTED[0])]
    kept = [[outputs_of(layer, hf_model, given) for layer in own] for given in texts]
    attention = hf_model.transformer.h[2].attn
    recorded: list[torch.Tensor] = []

    def record(_: Any, __: Any, output: torch.Tensor) -> None:
        recorded.append(output)

    def freeze(layer: int) -> Any:
        def put(_: torch.Tensor, __: torch.Tensor) -> torch.Tensor:
            outputs = kept[1][layer].clone()
            if layer == SENDER[0]:
                outputs[:, SENDER[1]] = kept[0][layer][:, SENDER[1]]
            return outputs

        return put

    hook = attention.c_attn.register_forward_hook(record)
    with torch.no_grad():
        hf_model(**texts[1])
        with ExitStack() as frozen:
            for layer in range(RECEIVER[0]):
                frozen.enter_context(hooked(own[layer], freeze(layer)))
            hf_model(**texts[1])
    hook.remove()
    before, after = (output.chunk(3, -1) for output in recorded)
    inputs = {"query": before[0], "key": before[1], "value": before[2]}
    inputs[which] = after[["query", "key", "value"].index(which)]
    split = [inputs[x].unflatten(-1, (N_HEADS, SIZE))[0, :, RECEIVER[1]] for x in inputs]
    scores = split[0] @ split[1].T / SIZE**0.5
    hidden = torch.ones_like(scores).triu(1).bool()
    output = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1) @ split[2]

    def put_receiver(outputs: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        changed = outputs.clone()
        changed[:, RECEIVER[1]] = output
        return changed

    with torch.no_grad(), hooked(own[2], put_receiver):
        logits = hf_model(**texts[1]).logits[0, -1]
    vocabulary = model.tokenizer.get_vocab()
    return float(logits[vocabulary["w3"]] - logits[vocabulary["w4"]])


def test_paths_are_those_of_hooks() -> None:
    model = load_model(zoo.build("gpt2"), words())
    found = patch_path(model, CLEAN, CORRUPTED, SENDER, RECEIVER)
    for place, which in enumerate(["query", "key", "value"]):
        assert found.scores[place, 0] == pytest.approx(literal(model, "gpt2", which), abs=1e-4)
    frame = found.to_frame()
    assert frame["input"].tolist() == ["query", "key", "value"]
    assert frame["sender"][0] == "L0 H1" and found.chart().to_dict()
    assert "L0 H1 into L2 H3, 1 pair" in repr(found)
    patched = patch_heads(model, CLEAN, CORRUPTED, heads=[SENDER], progress=False)
    assert found.clean == pytest.approx(patched.clean) and found.gap == pytest.approx(patched.gap)


def test_an_unchanged_sender_changes_nothing() -> None:
    model = load_model(zoo.build("llama"), words())
    same = (CLEAN[0], "w4")
    found = patch_path(model, CLEAN, same, SENDER, RECEIVER)
    assert found.of_inputs.difference == pytest.approx([0, 0, 0], abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen3", "gpt-oss"])
def test_other_architectures(name: str) -> None:
    model = load_model(zoo.build(name), words())
    found = patch_path(model, CLEAN, CORRUPTED, SENDER, RECEIVER, patch_into="clean")
    assert found.scores.shape == (3, 1) and abs(found.of_inputs.difference).max() > 0


def test_refusals_have_reasons() -> None:
    model = load_model(zoo.build("llama"), words())
    with pytest.raises(ValueError, match=naming("receiver", "later")):
        patch_path(model, CLEAN, CORRUPTED, (1, 0), (1, 1))
    for dtype in (torch.float32, torch.bfloat16):
        bloom = load_model(zoo.build("bloom", dtype=dtype), words())
        with pytest.raises(ValueError, match=naming("BloomAttention", "queries")):
            patch_path(bloom, CLEAN, CORRUPTED, SENDER, RECEIVER)


def test_heads_of_bloom_are_patched_in_bfloat16() -> None:
    found = [
        patch_heads(
            load_model(zoo.build("bloom", dtype=dtype), words()),
            CLEAN,
            CORRUPTED,
            heads=[SENDER, RECEIVER],
            progress=False,
        )
        for dtype in (torch.float32, torch.bfloat16)
    ]
    whole, half = (patches.to_frame()["score"].to_numpy(float) for patches in found)
    assert half == pytest.approx(whole, abs=0.05)
