"""Attention.from_weights: every usual form is taken, and what is no attention is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention
from fixtures import zoo
from refusals import naming

TOKENS = ["[CLS]", "play", "##ing", "cats", "[SEP]"]
#: Two ways to weights that a model with sdpa attention does not return.
EAGER_STEPS = naming("load_model(model, tokenizer).attend(text)", '"eager"')


def maps(layers: int = 3, heads: int = 2, queries: int = 5, keys: int = 5) -> torch.Tensor:
    random = torch.Generator().manual_seed(0)
    return torch.softmax(torch.randn(layers, heads, queries, keys, generator=random), -1)


FORMS = {
    "tensor": lambda w: w,
    "array": lambda w: w.numpy(),
    "float64": lambda w: w.numpy().astype(np.float64),
    "batch in the middle": lambda w: w[:, None],
    "list of arrays": lambda w: list(w.numpy()),
    "tuple of batches": lambda w: tuple(layer[None] for layer in w),
    "list of array batches": lambda w: [layer[None].numpy() for layer in w],
    "with a gradient": lambda w: w.clone().requires_grad_(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms(form: Any) -> None:
    weights = maps()
    attention = Attention.from_weights(form(weights), TOKENS)
    assert attention.tokens == TOKENS
    assert attention.special == ["cls", "", "", "", "sep"]
    assert attention.words.tokens == ["[CLS]", "playing", "cats", "[SEP]"]
    assert attention.note == "weights only"
    np.testing.assert_allclose(attention.weights(), weights.numpy(), atol=1e-7)
    assert attention.visible(0, 0) is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    attention = Attention.from_weights(maps().to(dtype), TOKENS)
    assert attention.weights().dtype == np.float32


def test_causal_weights_say_what_may_be_seen() -> None:
    weights = torch.softmax(
        torch.zeros(2, 2, 5, 5).masked_fill(~torch.ones(5, 5).tril().bool(), -1e9), -1
    )
    visible = Attention.from_weights(weights, TOKENS).visible(0, 0)
    np.testing.assert_array_equal(visible, np.tril(np.ones((5, 5), bool)))


@pytest.mark.parametrize("name", ["bert", "bart"])
def test_model_outputs(name: str) -> None:
    given = zoo.inputs(name, batch=1, padded=0)
    with torch.no_grad():
        output = zoo.build(name)(**given, output_attentions=True)
    source = [f"s{i}" for i in range(14)]
    if name == "bert":
        attention = Attention.from_weights(output, source, model_name="mine")
        assert repr(attention) == "Attention(mine, self 3×4, 14 tokens, weights only)"
        return
    attention = Attention.from_weights(output, [f"t{i}" for i in range(7)], key_tokens=source)
    assert set(attention.stacks) == {"encoder", "decoder", "cross"}
    cross = attention.stacks["cross"]
    assert (cross.query.text[0], cross.key.text[0]) == ("t0", "s0")
    assert attention.stacks["encoder"].query.text[0] == "s0"
    np.testing.assert_allclose(
        attention.weights(stack="cross"), torch.cat(output.cross_attentions).numpy(), atol=1e-7
    )


def test_segments_and_key_tokens() -> None:
    attention = Attention.from_weights(maps(), TOKENS, segments=[0, 0, 0, 1, 1])
    assert attention.stacks["self"].query.segments == (0, 0, 0, 1, 1)
    crossed = Attention.from_weights(
        maps(keys=3), TOKENS, key_tokens=["\u2581ein", "\u2581Wort", "</s>"], stack="cross"
    )
    assert crossed.stacks["cross"].key.text == ("ein", "Wort", "</s>")
    assert crossed.stacks["cross"].key.special[-1] == "sep"


def test_what_sdpa_models_return_is_explained() -> None:
    for nothing in ((), [], (None, None), None):
        with pytest.raises(ValueError, match=EAGER_STEPS):
            Attention.from_weights(nothing, TOKENS)
    with torch.no_grad():
        output = zoo.build("gpt2", "sdpa")(
            **zoo.inputs("gpt2", batch=1, padded=0), output_attentions=True
        )
    with pytest.raises(ValueError, match=EAGER_STEPS):
        Attention.from_weights(output, ["t"] * 14)


def broken(value: float) -> torch.Tensor:
    weights = maps()
    weights[1, 0, 2, 3] = value
    return weights


WRONG = [
    (broken(float("nan")), ("layer 1 of 'self'", "nan", "head 0, query 2, key 3")),
    (broken(3.0), ("layer 1", "0.01016 to 3", "allow_unnormalized=True")),
    (broken(-0.5), ("layer 1", "-0.5", "allow_unnormalized=True")),
    (maps() * 0.5, ("head 0, query 0", "0.5", "allow_unnormalized=True")),
    (maps()[0], ("[layers, heads, queries, keys]", "[2, 5, 5]")),
    (
        maps()[:, None].expand(-1, 2, -1, -1, -1),
        ("[layers, heads, queries, keys]", "[3, 2, 2, 5, 5]"),
    ),
    (
        list(maps()[:, None].expand(-1, 2, -1, -1, -1)),
        ("layer 0", "2 inputs", "[layer[i] for layer in attentions]"),
    ),
    (list(maps()[0]), ("layer 0", "[5, 5]", "[heads, queries, keys]")),
    ([maps()[0], maps(heads=3)[0]], ("layer 0 has [2, 5, 5]", "layer 1 [3, 5, 5]")),
    ((tuple(maps()),), ("generate()", "load_model")),
    (maps(queries=4, keys=4), ("'self'", "4 queries", "key_tokens=")),
    (maps(keys=4), ("'self'", "4 keys", "key_tokens=")),
    (maps(heads=0), ("layer 0 has [0, 5, 5]",)),
    (
        {"logits": maps()},
        ("output", "no attention weights", "load_model", 'attn_implementation="eager"'),
    ),
]


@pytest.mark.parametrize(("weights", "parts"), WRONG, ids=[" ".join(parts) for _, parts in WRONG])
def test_what_is_no_attention_is_refused(weights: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        Attention.from_weights(weights, TOKENS)


def test_other_types_are_refused() -> None:
    for wrong in ("weights", 3, maps().to(torch.complex64)):
        with pytest.raises(TypeError):
            Attention.from_weights(wrong, TOKENS)
    with pytest.raises(ValueError, match=naming("stack", "'other'")):
        Attention.from_weights(maps(), TOKENS, stack="other")


def test_unnormalized_rows_are_taken_when_allowed() -> None:
    attention = Attention.from_weights(maps() * 0.5, TOKENS, allow_unnormalized=True)
    np.testing.assert_allclose(attention.row_sums(), 0.5, atol=1e-6)
    with pytest.raises(ValueError, match=naming("layer 1", "nan")):
        Attention.from_weights(broken(float("nan")), TOKENS, allow_unnormalized=True)
