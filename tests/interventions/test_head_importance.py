"""Head importance by gradients against a slow literal reference of every published variant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import load_model
from attnwidget.interventions import head_importance
from interventions.test_ablation import GENRES, MASKED
from refusals import naming

N_HEADS = 12


def outputs_and_gradients(model: Any, text: str, label: int) -> list[tuple[Any, Any]]:
    """Of each layer what its heads put out, [n, H, d], and dL/d of it, of one example."""
    found: list[torch.Tensor] = []

    def keep(_: Any, given: tuple[torch.Tensor, ...]) -> None:
        given[0].retain_grad()
        found.append(given[0])

    hooks = [
        layer.attention.output.dense.register_forward_pre_hook(keep)
        for layer in model.hf_model.bert.encoder.layer
    ]
    with torch.enable_grad():
        inputs = model.tokenizer(text, return_tensors="pt")
        logits = model.hf_model(**inputs).logits
        if logits.ndim == 3:
            place = inputs["input_ids"][0].tolist().index(model.tokenizer.mask_token_id)
            logits = logits[:, place]
        torch.nn.functional.cross_entropy(logits, torch.tensor([label])).backward()
    for hook in hooks:
        hook.remove()
    return [
        (z.detach()[0].unflatten(-1, (N_HEADS, -1)), z.grad[0].unflatten(-1, (N_HEADS, -1)))
        for z in found
        if z.grad is not None
    ]


def literal(model: Any, examples: Any, variant: str, batch_size: int) -> np.ndarray[Any, Any]:
    """Head by head and token by token."""
    parts = [outputs_and_gradients(model, text, label) for text, label in examples]
    values = np.zeros((6, N_HEADS))
    tokens = sum(len(own[0][0]) for own in parts)
    for layer in range(6):
        for head in range(N_HEADS):
            of_examples = [
                [float(z[q, head] @ g[q, head]) for q in range(len(z))]
                for z, g in (own[layer] for own in parts)
            ]
            if variant == "paper":
                values[layer, head] = sum(abs(sum(t)) for t in of_examples) / len(parts)
            elif variant == "released":
                size = len(parts) if layer == 5 else tokens
                values[layer, head] = sum(abs(x) for t in of_examples for x in t) / size
            else:
                for start in range(0, len(parts), batch_size):
                    own = [sum(t) for t in of_examples[start : start + batch_size]]
                    values[layer, head] += abs(sum(own) / len(own)) / tokens
    return values


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper", "released", "bertology"])
@pytest.mark.parametrize("source", ["attnwidget/genre", None])
def test_every_variant_is_its_literal_reference(variant: Any, source: str | None) -> None:
    model = load_model(source, device="cpu")
    if source:
        names = model.hf_model.config.label2id
        examples = [(text, names.get(label, label)) for text, label in GENRES]
    else:
        names = model.tokenizer.get_vocab()
        examples = [(text, names[label]) for text, label in MASKED]
    found = head_importance(model, examples, variant=variant, batch_size=3, progress=False)
    raw = literal(model, examples, variant, batch_size=3)
    np.testing.assert_allclose(found.raw, raw, rtol=1e-3, atol=1e-6 * raw.max())
    for layer in range(6):
        length = sum(x**2 for x in raw[layer]) ** 0.5
        np.testing.assert_allclose(found.values[layer], raw[layer] / length, rtol=1e-3, atol=1e-5)
    assert variant in str(found.chart().to_dict()["title"])
    assert found.heads()["importance"].shape == (6, 12) and found.n_examples == len(examples)


@pytest.mark.slow
def test_the_batch_matters_to_bertology_alone() -> None:
    model = load_model("attnwidget/genre", device="cpu")

    def raw(variant: Any, size: int) -> Any:
        return head_importance(model, GENRES, variant=variant, batch_size=size, progress=False).raw

    for variant in ("paper", "released"):
        np.testing.assert_allclose(raw(variant, 1), raw(variant, 4), rtol=1e-3, atol=1e-7)
    assert not np.allclose(raw("bertology", 1), raw("bertology", 4), rtol=1e-2)


def test_refused() -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming("variant", "'michel'")):
        head_importance(model, MASKED, variant="michel", progress=False)  # type: ignore[arg-type]
    mean = model.disabled((1, 1), method="mean", reference="A dog ran.")
    with mean, pytest.raises(ValueError, match=naming("'mean'", "outputs")):
        head_importance(model, MASKED, progress=False)
