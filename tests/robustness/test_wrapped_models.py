"""Models as users have them: adapted, quantized, offloaded, parallel, in half precision."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import accelerate
import numpy as np
import peft
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnwidget import AttentionModel, Segment, ablate, load_model, measure
from attnwidget.model_facts.pickled_model import weights_digest
from fixtures import zoo
from fixtures.tiers import only_first_is_fast
from fixtures.vocabularies import word_tokenizer
from references import reference_surface as reference
from references.hooked_heads import SIZE, layers
from refusals import naming

WORDS = ("w1", "w7", "w20", "w33", "w4", "w11")
MASKED = "w1 w7 [MASK] w33 w4 w11"
LAYER = 1
HEAD = 2


def adapted(model: Any, config: peft.PeftConfig) -> Any:
    """A model with adapters as after training: none of them is 0."""
    torch.manual_seed(3)
    found = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            if "lora_" in name:
                parameter.normal_(0, 0.2)
            elif "ia3_" in name:
                parameter.normal_(1, 0.3)
    return found.eval()


def tokenizer() -> Any:
    """One that gives what these models are given here: GPT-2 would embed types, too."""
    found = word_tokenizer()
    found.model_input_names = ["input_ids", "attention_mask"]
    return found


def lora(model: Any, targets: str | list[str] = "all-linear", **options: Any) -> Any:
    return adapted(model, peft.LoraConfig(r=3, target_modules=targets, **options))


def quantized(model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


class Packed(Tensor):
    """A weight of small integers, as torchao keeps it: it can be multiplied, and little else."""

    packed: Tensor
    scale: Tensor
    rounds: bool

    @staticmethod
    def __new__(cls, packed: Tensor, scale: Tensor, rounds: bool) -> Packed:
        made: Packed = Tensor._make_wrapper_subclass(cls, packed.shape, dtype=scale.dtype)
        made.packed = packed
        made.scale = scale
        made.rounds = rounds
        return made

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["packed", "scale"], {"rounds": self.rounds}

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is functional.linear:
            values, weight, *bias = args
            if weight.rounds:  # what is multiplied is packed too, and has no gradient
                values = (values.detach() * 64).round() / 64
            return functional.linear(values, weight.packed * weight.scale, *bias)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.detach.default:
            return cls(args[0].packed, args[0].scale, args[0].rounds)
        raise NotImplementedError(f"{func} of packed weights")


def packed(model: Any, rounds: bool = False, among: str = "layer") -> Any:
    for path, module in model.named_modules():
        if isinstance(module, nn.Linear) and among in path:
            weight = module.weight.detach()
            scale = weight.abs().amax(1, keepdim=True) / 127
            whole = (weight / scale).round().to(torch.int8)
            module.weight = nn.Parameter(Packed(whole, scale, rounds), requires_grad=False)
    return model


def with_a_shared_layer(model: Any) -> Any:
    model.bert.encoder.layer[2] = model.bert.encoder.layer[0]
    return model


def checkpointed(model: Any) -> Any:
    model.gradient_checkpointing_enable()
    return model.train()


#: What users do to a model of the zoo, and how far its numbers may be from its own.
FORMS: dict[str, tuple[str, Callable[[Any], Any], float]] = {
    "LoRA": ("bert", lambda m: lora(m, ["query", "value"]), 1e-5),
    "LoRA of all layers": ("gpt2", lambda m: lora(m, fan_in_fan_out=True), 1e-5),
    "LoRA of a causal model": ("llama", lora, 1e-5),
    "LoRA seen by its weights": ("mpnet", lora, 1e-5),
    "DoRA": ("llama", lambda m: lora(m, ["q_proj", "o_proj"], use_dora=True), 1e-5),
    "LoRA merged": ("llama", lambda m: lora(m).merge_and_unload(), 1e-5),
    "IA3": (
        "llama",
        lambda m: adapted(
            m,
            peft.IA3Config(target_modules=["k_proj", "v_proj"], feedforward_modules=[]),
        ),
        1e-5,
    ),
    "LoRA, parallel": ("bert", lambda m: nn.DataParallel(lora(m)), 1e-5),
    "LoRA, compiled": ("bert", lambda m: torch.compile(lora(m), backend="eager"), 1e-5),
    "parallel": ("bert", nn.DataParallel, 1e-5),
    "offloaded to the CPU": (
        "llama",
        lambda m: accelerate.cpu_offload(m, execution_device=torch.device("cpu")),
        1e-5,
    ),
    "quantized": ("bert", quantized, 1e-5),
    "quantized causal model": ("llama", quantized, 1e-5),
    "quantized, seen by its weights": ("bloom", quantized, 1e-5),
    "packed weights": ("bert", packed, 1e-5),
    "packed weights and values": ("llama", lambda m: packed(m, rounds=True), 1e-5),
    "bfloat16": ("bert", lambda m: m.to(torch.bfloat16), 2e-2),
    "float16": ("llama", lambda m: m.to(torch.float16), 2e-3),
    "checkpointed in training": ("bert", checkpointed, 1e-5),
    "with a layer in two places": ("bert", with_a_shared_layer, 1e-5),
}
WITHOUT_GRADIENTS = {n for n in FORMS if n.startswith("quantized") or n.endswith("and values")}


def form(name: str) -> tuple[str, Any, float]:
    kind, make, atol = FORMS[name]
    return kind, make(zoo.build(kind)), atol


def given(masked: bool = False) -> dict[str, Tensor]:
    tokens = tokenizer()(MASKED if masked else " ".join(WORDS), return_tensors="pt")
    return {name: tokens[name] for name in ("input_ids", "attention_mask")}


def own(model: Any, inputs: dict[str, Tensor]) -> Any:
    """What a model itself computes, its maps among it; uncompiled, which is sooner done."""
    model = getattr(model, "_orig_mod", model)
    was = [(module, module.training) for module in model.modules()]
    model.eval()
    output = model(**inputs, output_attentions=True)
    for module, training in was:
        module.training = training
    return output


@pytest.mark.parametrize("name", only_first_is_fast(FORMS))
def test_maps_and_measures_are_its_own(name: str) -> None:
    _, wrapped, atol = form(name)
    with torch.no_grad():
        maps = torch.stack(own(wrapped, given()).attentions)[:, 0].float().numpy()
    model = load_model(wrapped, tokenizer())
    np.testing.assert_allclose(model.attend(" ".join(WORDS)).weights(), maps, atol=atol)
    found = measure(model, [Segment(WORDS)], ["entropy"], progress=False)["entropy"].entropy
    wanted = [[reference.entropy(head.astype(float)) for head in layer] for layer in maps]
    np.testing.assert_allclose(found, wanted, atol=30 * atol)


@contextmanager
def zeroed(kind: str, model: AttentionModel) -> Iterator[None]:
    """One head's outputs set to 0 by a plain hook."""

    def zero(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        outputs = inputs[0].clone()
        outputs[..., HEAD * SIZE : (HEAD + 1) * SIZE] = 0
        return outputs, *inputs[1:]

    projection = _projection(kind, model.hf_model)
    hook = projection.register_forward_pre_hook(zero)
    try:
        yield
    finally:
        hook.remove()


def _projection(kind: str, model: Any) -> nn.Module:
    if kind == "bloom":
        found: nn.Module = model.transformer.h[LAYER].self_attention.dense
        return found
    return layers(kind, model, "self")[LAYER].projection


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_head_that_is_off_is_off_in_the_wrapper(name: str) -> None:
    kind, wrapped, atol = form(name)
    model = load_model(wrapped, tokenizer())
    called = model.hf_model if "compiled" in name else wrapped
    with torch.no_grad():
        intact = own(called, given())[0]
        with zeroed(kind, model):
            wanted = own(called, given())[0]
        with model.disabled([(LAYER, HEAD)], method="zero"):
            found = own(called, given())[0]
    assert (wanted - intact).abs().max() > 10 * atol
    torch.testing.assert_close(found, wanted, atol=10 * atol, rtol=atol)


def states(output: Any) -> Tensor:
    """A loss that every layer takes part in."""
    found: Tensor = output[0][..., :7].float().square().mean((1, 2))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORMS.keys() - WITHOUT_GRADIENTS))
def test_gradients_are_its_own(name: str) -> None:
    _, wrapped, atol = form(name)
    attention = load_model(wrapped, tokenizer()).attend(" ".join(WORDS), loss=states)
    for parameter in wrapped.parameters():
        parameter.requires_grad_(type(parameter) is nn.Parameter)
    output = own(wrapped, given())
    maps = torch.stack(output.attentions)[:, 0]
    wanted = torch.autograd.grad(states(output).sum(), output.attentions)
    expected = (torch.stack(wanted)[:, 0].abs() * (maps > 0)).float().numpy()
    found = [[attention.map("gradients", i, h) for h in range(4)] for i in range(3)]
    np.testing.assert_allclose(found, expected, atol=10 * atol * expected.max())


@pytest.mark.parametrize("name", only_first_is_fast(sorted(FORMS)))
def test_predictions_are_its_own(name: str) -> None:
    kind, wrapped, atol = form(name)
    if kind == "mpnet":
        with pytest.raises(TypeError, match=naming("MPNetModel", "no head", "load_model")):
            load_model(wrapped, tokenizer()).predict(MASKED)
        return
    masked = kind == "bert"
    with torch.no_grad():
        logits = own(wrapped, given(masked)).logits[0].float()
    place = 3 if masked else -1  # after [CLS] w1 w7, or the last
    found = load_model(wrapped, tokenizer()).predict(MASKED if masked else " ".join(WORDS))
    wanted = torch.softmax(logits[place], -1)
    np.testing.assert_allclose(found.probabilities[0], wanted, atol=10 * atol)


@pytest.mark.parametrize("name", [*sorted(WITHOUT_GRADIENTS), "in part", "packed in part"])
def test_gradients_that_would_go_round_a_quantized_layer_are_refused(name: str) -> None:
    if name == "in part":
        only = {
            "bert.encoder.layer.1.intermediate.dense": torch.ao.quantization.default_dynamic_qconfig
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapped = torch.ao.quantization.quantize_dynamic(zoo.build("bert"), only)
    elif name == "packed in part":
        wrapped = packed(zoo.build("bert"), rounds=True, among="intermediate")
    else:
        wrapped = form(name)[1]
    model = load_model(wrapped, tokenizer())
    assert model.attend(" ".join(WORDS)).weights().shape == (3, 4, 8, 8)
    with pytest.raises(ValueError, match=naming("no gradient", "quantized")):
        model.attend(" ".join(WORDS), loss=states)


def logits_of(output: Any, _: object) -> Tensor:
    mean: Tensor = output.logits.mean((1, 2))
    return mean


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_each_place_of_a_shared_layer_is_a_layer(layer: int) -> None:
    model = load_model(with_a_shared_layer(zoo.build("bert")), tokenizer())
    intact = model.attend(" ".join(WORDS))
    with model.disabled([(layer, HEAD)]):
        found = model.attend(" ".join(WORDS))
    for one in range(3):
        same = np.array_equal(found.weights(one), intact.weights(one))
        assert same == (one < layer), one
    row = found.weights(layer, HEAD)[0]
    np.testing.assert_allclose(row, 1 / len(row), atol=1e-6)
    examples = [Segment(WORDS)]
    scores = ablate(model, examples, scoring=logits_of, progress=False)
    assert scores.head_scores.shape[:2] == (3, 4)


ON_META = naming("BertForMaskedLM", "'meta'", "load")


def test_a_model_without_weights_is_refused() -> None:
    for part in ("", "bert.encoder.layer.1"):
        model = zoo.build("bert")
        model.get_submodule(part).to("meta")
        with pytest.raises(ValueError, match=ON_META):
            load_model(model, tokenizer())


@pytest.mark.parametrize(
    "config",
    [
        peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
        peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
        peft.AdaptionPromptConfig(task_type="CAUSAL_LM", adapter_len=4, adapter_layers=2),
    ],
    ids=lambda config: str(config.peft_type.value),
)
def test_adapters_beside_the_layers_are_refused(config: peft.PeftConfig) -> None:
    adapted_model = peft.get_peft_model(zoo.build("llama"), config)
    with pytest.raises(TypeError, match=naming(config.peft_type.value, "outside")):
        load_model(adapted_model, tokenizer())
    model = load_model(adapted_model.get_base_model(), tokenizer())
    assert model.attend(" ".join(WORDS)).weights().shape == (3, 4, 8, 8)


def test_norms_are_of_the_weights_that_there_are() -> None:
    """Adapters that come after the model was read, are trained, and are merged."""
    plain = zoo.build("llama")
    model = load_model(plain, tokenizer())
    text = " ".join(WORDS)
    before = model.attend(text).norms(1, 2)
    adapters = peft.get_peft_model(plain, peft.LoraConfig(r=3, target_modules=["o_proj"])).eval()
    np.testing.assert_array_equal(model.attend(text).norms(1, 2), before)  # they begin as 0
    with torch.no_grad():
        for name, parameter in adapters.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.2)
    with pytest.raises(ValueError, match=naming("LlamaAttention", "adapter", "norms")):
        model.attend(text).norms(1, 2)
    adapters.merge_adapter()
    found = model.attend(text).norms(1, 2)
    assert np.abs(found - before).max() > 0.01
    alone = load_model(adapters.merge_and_unload(), tokenizer()).attend(text)
    np.testing.assert_allclose(found, alone.norms(1, 2), atol=1e-6)


@pytest.mark.slow
def test_offloaded_weights_are_where_accelerate_keeps_them(tmp_path: Path) -> None:
    text = " ".join(WORDS)
    segments = [Segment(WORDS)]
    plain = load_model(zoo.build("llama"), tokenizer())
    on_disk = accelerate.disk_offload(
        zoo.build("llama"), tmp_path / "weights", execution_device=torch.device("cpu")
    )
    model = load_model(on_disk, tokenizer())
    assert model.device.type == "cpu"
    np.testing.assert_array_equal(model.attend(text).norms(1, 2), plain.attend(text).norms(1, 2))
    assert weights_digest(model.hf_model) == weights_digest(plain.hf_model)
    found = measure(model, segments, ["norms"], resume=tmp_path / "run.npz", progress=False)
    wanted = measure(plain, segments, ["norms"], progress=False)
    for title, values in wanted.heads().items():
        np.testing.assert_array_equal(found.heads()[title], values)
    assert all(p.device.type == "meta" for p in model.hf_model.model.layers.parameters())


@pytest.mark.slow
def test_a_resume_file_belongs_to_one_adapter_and_one_quantization(tmp_path: Path) -> None:
    def goes_on(model: Any, path: str) -> bool:
        try:
            measure(
                load_model(model, tokenizer()),
                [Segment(WORDS)],
                ["entropy"],
                resume=tmp_path / path,
                progress=False,
            )
        except ValueError:
            return False
        return True

    model = lora(zoo.build("bert"), ["query"])
    model.add_adapter("other", peft.LoraConfig(r=3, target_modules=["query"]))
    assert goes_on(model, "adapters") and goes_on(model, "adapters")
    model.set_adapter("other")
    assert not goes_on(model, "adapters")
    model.set_adapter("default")
    with model.disable_adapter():
        assert not goes_on(model, "adapters")
    assert goes_on(model, "adapters")

    bert = zoo.build("bert")
    assert goes_on(quantized(bert), "weights") and goes_on(quantized(bert), "weights")
    with torch.no_grad():
        bert.bert.encoder.layer[1].attention.self.query.weight.mul_(1.5)
    assert not goes_on(quantized(bert), "weights")

    assert goes_on(packed(zoo.build("bert")), "packed")
    assert not goes_on(packed(zoo.build("bert"), rounds=True), "packed")
