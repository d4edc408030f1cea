"""Direct effects: sums against the model's logits, literal versions, and refusals."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, load_model
from attnwidget.interventions import gradient_effects
from attnwidget.mechanisms import direct_effects, head_writes, logit_lens
from attnwidget.results import DirectEffects
from capture.test_predict import words
from fixtures import zoo
from fixtures.mechanism_models import tiered
from mechanisms.test_head_writes import randomized
from refusals import naming
from sweep.small_models import build, inputs_of

TEXT = "w7 w8 w9 w11 w30"
CAUSAL = ["gpt2", "gpt-neox", "llama", "qwen3", "gemma", "gemma2", "gpt-oss", "opt", "bloom"]


def effects_of(name: str, **options: Any) -> tuple[Any, DirectEffects]:
    model = load_model(randomized(name), words())
    return model, direct_effects(model.attend(TEXT), "w3", "w40", **options)


@pytest.mark.parametrize("name", tiered(CAUSAL))
@pytest.mark.parametrize("position", [None, 3])
def test_parts_sum_to_the_logit_difference(name: str, position: int | None) -> None:
    model, effects = effects_of(name, position=position)
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        logits = model.hf_model(**inputs).logits[0, (position or 5) - 1].double()
    cap = getattr(model.hf_model.config, "final_logit_softcapping", None)
    assert effects.model_difference == pytest.approx(float(logits[3] - logits[40]), abs=1e-4)
    if cap is not None:
        logits = cap * torch.atanh(logits / cap)
        assert "caps or scales" in effects.note
    frame = effects.to_frame()
    largest = max(frame["direct"].abs().max(), abs(effects.logit_difference))
    wanted = float(logits[3] - logits[40])
    assert abs(effects.logit_difference - wanted) <= (1e-4 if cap else 1e-5) * largest
    assert abs(frame["direct"].sum() - effects.logit_difference) <= 1e-5 * largest
    np.testing.assert_allclose(effects.sources.sum(-1), effects.head_effects, atol=1e-9)
    assert np.abs(effects.mlp_effects).min() > 0 and np.abs(effects.head_effects).min() > 0
    assert effects.embeddings["embeddings"] != 0


@pytest.mark.parametrize(
    ("model_type", "class_name"),
    [
        ("gptj", "GPTJForCausalLM"),  # rotary pairs side by side, attention and MLP in parallel
        ("falcon", "FalconForCausalLM"),  # adds to outputs in place
        pytest.param("phi", "PhiForCausalLM", marks=pytest.mark.slow),
        ("mpt", "MptForCausalLM"),  # ALiBi; the MLP adds the stream to its output
        ("olmo2", "Olmo2ForCausalLM"),  # norms behind attention and MLP
        pytest.param("gemma3_text", "Gemma3ForCausalLM", marks=pytest.mark.slow),
        ("cohere", "CohereForCausalLM"),  # scales its logits
        ("granite", "GraniteForCausalLM"),  # scales embeddings and what it adds to the stream
        ("openai-gpt", "OpenAIGPTLMHeadModel"),  # norms behind every sum
        ("lfm2", "Lfm2ForCausalLM"),  # layers without attention
    ],
)
def test_parts_sum_on_further_architectures(model_type: str, class_name: str) -> None:
    hf_model = build(model_type, class_name)
    inputs = inputs_of(hf_model)
    attention = load_model(hf_model, None).attend(inputs)
    effects = direct_effects(attention, 3, 40)
    with torch.no_grad():
        logits = hf_model(**inputs).logits[0, -1]
    assert effects.model_difference == pytest.approx(float(logits[3] - logits[40]), abs=1e-5)
    frame = effects.to_frame()
    largest = max(frame["direct"].abs().max(), abs(effects.logit_difference))
    assert abs(frame["direct"].sum() - effects.logit_difference) <= 1e-5 * largest
    assert bool(effects.note) == (model_type == "cohere")
    with_attention = attention.stacks["self"].layers.numbers
    assert (np.abs(effects.head_effects[list(with_attention)]) > 0).all()


def test_layers_that_are_neither_attention_nor_mlp_are_refused() -> None:
    hf_model = build("jamba", "JambaForCausalLM")
    attention = load_model(hf_model, None).attend(inputs_of(hf_model))
    with pytest.raises(
        ValueError, match=naming("JambaForCausalLM", "model.layers.0.mamba", "gradient_effects")
    ):
        direct_effects(attention, 3, 40)


def test_effects_are_those_of_a_literal_version() -> None:
    """GPT-2: what a head writes, centered, over the frozen deviation, onto two rows."""
    model, effects = effects_of("gpt2")
    attention = model.attend(TEXT)
    inputs = dict(model.tokenizer(TEXT, return_tensors="pt"))
    norm = model.hf_model.transformer.ln_f
    streams: list[torch.Tensor] = []
    hook = norm.register_forward_pre_hook(lambda _, args: streams.append(args[0][0, -1]))
    with torch.no_grad():
        model.hf_model(**inputs)
    hook.remove()
    stream = streams[0].double()
    deviation = (stream.var(unbiased=False) + norm.eps).sqrt()
    weight = model.hf_model.lm_head.weight.detach().double()
    direction = (weight[3] - weight[40]) * norm.weight.detach().double() / deviation

    def effect(vector: Any) -> float:
        part = torch.as_tensor(vector)
        return float((part - part.mean()) @ direction)

    writes = head_writes(attention, 1, 2)
    assert effects.head_effects[1, 2] == pytest.approx(effect(writes.written), rel=1e-5)
    assert effects.attention_biases[1] == pytest.approx(effect(writes.bias), rel=1e-5)
    wanted = [effect(vector) for vector in writes.vectors]
    np.testing.assert_allclose(effects.sources[1, 2], wanted, rtol=1e-4, atol=1e-8)
    token = int(inputs["input_ids"][0, -1])
    transformer = model.hf_model.transformer
    wanted = effect(transformer.wte.weight.detach().double()[token])
    assert effects.embeddings["embeddings"] == pytest.approx(wanted, rel=1e-5)
    wanted = effect(transformer.wpe.weight.detach().double()[4])
    assert effects.embeddings["positions"] == pytest.approx(wanted, rel=1e-5)
    beta = float(norm.bias.detach().double() @ (weight[3] - weight[40]))
    assert effects.biases == pytest.approx(beta, rel=1e-5)


def test_norms_after_attention_are_frozen() -> None:
    """Gemma 2: what heads write goes through a norm before it reaches the stream."""
    model, effects = effects_of("gemma2")
    writes = head_writes(model.attend(TEXT), 2, 1)
    layer = model.hf_model.model.layers[2]
    seen: dict[str, torch.Tensor] = {}
    hooks = [
        module.register_forward_pre_hook(
            lambda _, args, name=name: seen.__setitem__(name, args[0][0, -1].double())
        )
        for name, module in (
            ("post", layer.post_attention_layernorm),
            ("final", model.hf_model.model.norm),
        )
    ]
    with torch.no_grad():
        model.hf_model(**model.tokenizer(TEXT, return_tensors="pt"))
    for hook in hooks:
        hook.remove()
    vector = torch.as_tensor(writes.written)
    for name, norm in (
        ("post", layer.post_attention_layernorm),
        ("final", model.hf_model.model.norm),
    ):
        scale = (seen[name].pow(2).mean() + norm.eps).sqrt()
        vector = vector / scale * (1 + norm.weight.detach().double())
    weight = model.hf_model.lm_head.weight.detach().double()
    wanted = float(vector @ (weight[3] - weight[40]))
    assert effects.head_effects[2, 1] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_total_effects_are_those_of_switched_off_heads(name: str) -> None:
    model, effects = effects_of(name, with_total=True)
    assert effects.total is not None
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    for head in [(0, 1), (2, 3)]:
        with model.disabled(head, method="zero"), torch.no_grad():
            logits = model.hf_model(**inputs).logits[0, -1]
        wanted = effects.logit_difference - float(logits[3] - logits[40])
        assert effects.total[head] == pytest.approx(wanted, abs=1e-4)
    assert set(effects.heads()) == {"direct effect", "total effect"}
    assert len(effects.chart().to_dict()["layer"]) == 3


def test_result_has_a_table_and_a_chart() -> None:
    _, effects = effects_of("gpt2")
    frame = effects.to_frame()
    assert len(frame) == 2 + 3 * 6 + 1 and "total" not in frame
    assert frame.attrs["answer"] == "w3" and frame.attrs["position"] == 5
    rows = effects.chart().layer[0].data.values
    assert rows[-1]["part"] == "1 other parts"
    assert sum(row["value"] for row in rows) == pytest.approx(effects.logit_difference, abs=1e-5)
    assert "w3 against w40" in repr(effects)


def test_direct_effects_take_no_more_than_one_pass() -> None:
    model = load_model(zoo.build("llama"), words())
    attention = model.attend(TEXT)
    passes: list[int] = []
    hook = model.hf_model.model.layers[0].register_forward_hook(lambda *_: passes.append(1))
    direct_effects(attention, "w3", "w40")
    hook.remove()
    assert len(passes) == 1


@pytest.mark.parametrize("study", ["effects", "lens", "writes"])
def test_passes_in_other_threads_are_not_changed(study: str) -> None:
    model = load_model(zoo.build("llama"), words())
    attention = model.attend(TEXT)
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    elsewhere: list[torch.Tensor] = []

    def logits() -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model.hf_model(**inputs).logits
        return found

    with ThreadPoolExecutor(1) as other:

        def run_elsewhere(*_: object) -> None:
            if threading.current_thread() is threading.main_thread():
                elsewhere.append(other.submit(logits).result())

        plain = logits()
        hook = model.hf_model.model.norm.register_forward_pre_hook(run_elsewhere)
        if study == "effects":
            direct_effects(attention, "w3", "w40")
        elif study == "lens":
            logit_lens(attention)
        else:
            head_writes(attention, 1, 1)
        hook.remove()
    assert elsewhere
    for found in elsewhere:
        torch.testing.assert_close(found, plain)


@pytest.mark.slow
def test_parameters_keep_their_gradients() -> None:
    model = load_model(zoo.build("gpt2"), words())
    direct_effects(model.attend(TEXT), "w3", "w40")
    assert all(p.grad is None and p.requires_grad for p in model.hf_model.parameters())
    for parameter in model.hf_model.parameters():
        parameter.requires_grad_(False)
    direct_effects(model.attend(TEXT), "w3", "w40")


def test_bert_has_no_direct_effects_and_the_error_names_what_it_has() -> None:
    model = load_model(device="cpu")
    attention = model.attend("The woman washed [MASK] hands.")
    with pytest.raises(ValueError) as refused:
        direct_effects(attention, "her", "his")
    message = str(refused.value)
    assert "not linear in the residual stream" in message
    assert "cls.predictions.transform.dense stands between" in message
    assert "gradient_effects(" in message and "ablate(" in message
    effects = gradient_effects(attention, "her", "his", with_total=True)
    assert effects.effects.shape == (6, 12) and effects.total is not None
    inputs = model.tokenizer("The woman washed [MASK] hands.", return_tensors="pt")
    ids = model.tokenizer.convert_tokens_to_ids(["her", "his"])
    with model.disabled((5, 8), method="zero"), torch.no_grad():
        logits = model.hf_model(**inputs).logits[0, 4]
    wanted = effects.logit_difference - float(logits[ids[0]] - logits[ids[1]])
    assert effects.total[5, 8] == pytest.approx(wanted, abs=1e-4)
    assert effects.chart().to_dict() and set(effects.heads()) == {
        "gradient times output",
        "total effect",
    }


def test_gradient_effects_are_derivatives_by_a_factor_before_each_head() -> None:
    model = load_model(zoo.build("gpt2", dtype=torch.float64), words())
    effects = gradient_effects(model.attend(TEXT), "w3", "w40")
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    projection = model.hf_model.transformer.h[1].attn.c_proj

    def difference(factor: float) -> float:
        def scale(_: Any, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            outputs = args[0].clone()
            outputs[..., 16:24] *= factor
            return (outputs,)

        hook = projection.register_forward_pre_hook(scale)
        with torch.no_grad():
            logits = model.hf_model(**inputs).logits[0, -1]
        hook.remove()
        return float(logits[3] - logits[40])

    slope = (difference(1 + 1e-4) - difference(1 - 1e-4)) / 2e-4
    assert effects.effects[1, 2] == pytest.approx(slope, rel=1e-3)


@pytest.mark.slow
def test_refusals_have_reasons() -> None:
    model = load_model(zoo.build("llama"), words())
    attention = model.attend(TEXT)
    with pytest.raises(ValueError, match=naming("answer", "versus", "'w3'")):
        direct_effects(attention, "w3", 3)
    with pytest.raises(ValueError, match=naming("'lion'", "99", "model.predict")):
        direct_effects(attention, "lion", "w3")
    with pytest.raises(ValueError, match=naming("token 9", "5")):
        direct_effects(attention, "w3", "w4", position=9)
    weights = Attention.from_weights(np.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=naming("a direct effect", "load_model")):
        direct_effects(weights, "w3", "w4")
    t5 = load_model(zoo.build("t5"), None).attend(zoo.inputs("t5", batch=1, padded=0))
    with pytest.raises(TypeError, match=naming("T5ForConditionalGeneration", "encoder-decoder")):
        direct_effects(t5, 3, 4)
    genre = load_model("attnwidget/genre", device="cpu")
    with pytest.raises(TypeError, match=naming("BertForSequenceClassification", "unembedding")):
        direct_effects(genre.attend("A film."), 3, 4)
    half = load_model(zoo.build("llama", dtype=torch.bfloat16), words())
    with pytest.raises(ValueError, match=naming("bfloat16", "dtype=torch.float32")):
        direct_effects(half.attend(TEXT), "w3", "w4")
    quantized = torch.ao.quantization.quantize_dynamic(
        zoo.build("llama"), {torch.nn.Linear}, torch.qint8
    )
    with pytest.raises(ValueError, match=naming("LlamaForCausalLM", "quantized")):
        direct_effects(load_model(quantized, words()).attend(TEXT), "w3", "w4")
