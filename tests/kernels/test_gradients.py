"""Gradient importance: the derivative itself, by central differences, and what it is taken of."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from attnwidget import load_model
from attnwidget.capture.answers.losses import LossTask, document_losses, masked_ids, task_for
from attnwidget.capture.maps.gradient_numbers import GraphMaps, gradient_numbers
from attnwidget.capture.tapping.gradients import attention_gradients
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.kernels.gradients import class_importance
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer
from references import reference_norms
from refusals import naming

# These compute parts in float32 whatever they were loaded as: a longer step drowns the rounding.
ROUNDING = {"llama", "gemma2", "bloom"}


class Nudge(TorchFunctionMode):
    """Adds to one entry of what the softmax of one layer returns."""

    def __init__(self, layer: int, entry: tuple[int, ...], by: float) -> None:
        super().__init__()
        self.layer = layer
        self.entry = entry
        self.by = by
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in (torch.softmax, torch.nn.functional.softmax):
            if self.count == self.layer:
                result = result.double()  # some models take their softmax in float32
                batch, head, *pair = self.entry
                index = (batch * 4 + head, *pair) if result.ndim == 3 else self.entry
                result[index] += self.by
            self.count += 1
        return result


def last_logits(output: Any) -> torch.Tensor:
    """A loss that every layer takes part in: some logits or states of every position."""
    return output[0][..., :7].square().mean((1, 2))


@pytest.mark.parametrize(
    "name", ["bert", "gpt2", "llama", "gemma2", "deberta-v2", "bloom", "mpnet"]
)
def test_gradients_are_central_differences(name: str) -> None:
    model = zoo.build(name, dtype=torch.float64)
    given = zoo.inputs(name)
    step, allowed = (
        (1e-2, {"rel": 5e-3, "abs": 1e-5}) if name in ROUNDING else (1e-4, {"rel": 1e-5})
    )
    task = LossTask("states", given, last_logits)
    gradients, losses = attention_gradients(model, task)
    assert [layer.layer for layer in gradients] == [0, 1, 2] and losses.shape == (2,)
    for layer, entry in [(0, (0, 1, 5, 2)), (1, (1, 3, 6, 6)), (2, (0, 0, 9, 0))]:
        nudged = []
        for by in (step, -step):
            with torch.no_grad(), Nudge(layer, entry, by):
                nudged.append(last_logits(model(**given)).sum().item())
        difference = (nudged[0] - nudged[1]) / (2 * step)
        assert gradients[layer].values[entry].item() == pytest.approx(difference, **allowed)


@pytest.mark.parametrize("name", ["bert", "bloom", "t5", "vit"])
def test_frozen_models_have_gradients_and_keep_theirs(name: str) -> None:
    model = zoo.build(name)
    given = zoo.inputs(name)
    task = LossTask("states", given, last_logits)
    expected, _ = attention_gradients(model, task)
    assert all(parameter.grad is None for parameter in model.parameters())
    model.requires_grad_(False)
    frozen, _ = attention_gradients(model, task)
    for one, other in zip(expected, frozen, strict=True):
        assert (one.layer, one.stack) == (other.layer, other.stack)
        torch.testing.assert_close(one.values, other.values)
    assert all(not module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "bloom", "t5", "vit", "deberta-v2"])
@pytest.mark.parametrize("fewest", [0, 10**9], ids=["computed again", "stored"])
def test_a_layer_at_a_time_has_the_same_gradients(
    name: str, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.capture.maps.gradient_numbers._FEWEST_CELLS", fewest)
    model = zoo.build(name)
    given = zoo.inputs(name)
    task = LossTask("states", given, last_logits)
    expected, losses = attention_gradients(model, task)
    maps: list[LayerAttention] = []
    with torch.no_grad(), tap(model, maps.append):
        model(**given)
    weights = {(seen.stack, seen.layer): seen.weights for seen in maps}

    def number_of(seen: LayerAttention, gradient: torch.Tensor) -> torch.Tensor:
        torch.testing.assert_close(seen.weights, weights[seen.stack, seen.layer])
        return gradient.float()

    found, losses_again = gradient_numbers(model, task, number_of)
    assert list(found) == [(layer.stack, layer.layer) for layer in expected]
    for layer in expected:
        torch.testing.assert_close(
            found[layer.stack, layer.layer], layer.values, atol=1e-6, rtol=1e-4
        )
    torch.testing.assert_close(losses_again, losses)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(not module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(("fewest", "expected"), [(0, [0, 0, 0]), (10**9, [0, 1, 2])])
def test_the_graph_stores_no_maps_that_it_can_compute(
    fewest: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.capture.maps.gradient_numbers._FEWEST_CELLS", fewest)
    # The BERT of transformers 4.57 keeps its maps by itself until the pass is over.
    model = zoo.build("gpt2")
    stored: list[StorageWeakRef] = []
    alive: list[int] = []
    maps = GraphMaps()

    def follow(seen: LayerAttention) -> None:
        maps.release(seen)
        alive.append(sum(not storage.expired() for storage in stored))
        stored.append(StorageWeakRef(seen.weights.untyped_storage()))

    with torch.enable_grad(), maps, tap(model, follow):
        output = model(**zoo.inputs("gpt2"))
    assert output[0].requires_grad
    assert alive == expected


def test_a_graph_that_no_backward_pass_frees_is_not_kept() -> None:
    maps = GraphMaps()
    kept = weakref.ref(maps)
    with torch.enable_grad(), maps:
        weights = torch.zeros(2, 3, requires_grad=True).softmax(-1)
    assert weights.requires_grad
    del weights, maps
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_gradients_are_those_of_outputs_attentions(implementation: str) -> None:
    given = zoo.inputs("bert")
    eager = zoo.build("bert")
    output = eager(**given, output_attentions=True)
    expected = torch.autograd.grad(last_logits(output).sum(), output.attentions)
    model = zoo.build("bert", implementation)
    found, _ = attention_gradients(model, LossTask("states", given, last_logits))
    for layer, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(layer.values, wanted, atol=1e-6, rtol=1e-5)


def test_models_that_compute_sdpa_themselves_have_gradients() -> None:
    config = transformers.FalconConfig(
        vocab_size=zoo.VOCABULARY, hidden_size=32, num_hidden_layers=3, num_attention_heads=4
    )
    given = zoo.inputs("gpt2", padded=0)
    found = []
    for implementation in ("eager", "sdpa"):
        torch.manual_seed(0)
        model = transformers.FalconModel._from_config(config, attn_implementation=implementation)
        found.append(attention_gradients(model.eval(), LossTask("states", given, last_logits))[0])
    for eager, sdpa in zip(*found, strict=True):
        visible = sdpa.visible.expand(2, 4, 14, 14)
        torch.testing.assert_close(
            eager.values[visible], sdpa.values[visible], atol=1e-6, rtol=1e-4
        )


@given(seed=st.integers(0, 2**31 - 1))
def test_kernels_equal_the_reference(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(size=(2, 5, 7)).astype("f4")
    targets = random.integers(0, 7, (2, 5))
    counted = random.random((2, 5)) < 0.5
    losses = document_losses(*map(torch.from_numpy, (logits, targets, counted)))
    expected = [
        reference_norms.mean_loss(*one) for one in zip(logits, targets, counted, strict=True)
    ]
    np.testing.assert_allclose(losses, expected, atol=1e-5)
    gradients = random.normal(size=(2, 3, 5, 5)).astype("f4")
    members = random.random((2, 5)) < 0.3
    pairs = torch.from_numpy(members)[:, None, None]
    values, present = class_importance(torch.from_numpy(gradients), pairs)
    for item in range(2):
        assert present[item] == members[item].any()
        wanted = reference_norms.class_importance(gradients[item], members[item])
        np.testing.assert_allclose(values[item], wanted, atol=1e-5)


@pytest.fixture(scope="module")
def embedded() -> Any:
    return load_model(device="cpu")


def encoded(model: Any, *texts: str) -> dict[str, torch.Tensor]:
    return dict(model.tokenizer(list(texts), return_tensors="pt", padding=True))


@pytest.mark.slow
def test_a_batch_changes_no_document(embedded: Any) -> None:
    texts = ["The captain told his men to leave.", "It slept on the old red mat, and it purred."]
    hf = embedded.hf_model
    tokenizer = embedded.tokenizer
    together = task_for(hf, tokenizer, encoded(embedded, *texts), "auto", 3)
    assert together.name == "masked-LM"
    gradients, losses = attention_gradients(hf, together)
    for item, text in enumerate(texts):
        alone = task_for(hf, tokenizer, encoded(embedded, text), "masked", 3)
        n = alone.inputs["input_ids"].shape[1]
        assert torch.equal(alone.selected[0], together.selected[item, :n])
        assert torch.equal(alone.inputs["input_ids"][0], together.inputs["input_ids"][item, :n])
        own, loss = attention_gradients(hf, alone)
        torch.testing.assert_close(loss[0], losses[item], atol=1e-5, rtol=1e-5)
        for layer, wanted in zip(gradients, own, strict=True):
            got = layer.values[item, :, :n, :n]
            torch.testing.assert_close(got, wanted.values[0], atol=1e-6, rtol=1e-4)


@pytest.mark.slow
def test_masking_is_berts(embedded: Any) -> None:
    random = torch.Generator().manual_seed(0)
    special = set(embedded.tokenizer.all_special_ids)
    ids = torch.randint(200, len(embedded.tokenizer), (200, 102), generator=random)
    ids[:, 0] = embedded.tokenizer.cls_token_id
    ids[:, -1] = embedded.tokenizer.sep_token_id
    assert not special & set(ids[:, 1:-1].flatten().tolist())
    inputs = {"input_ids": ids}
    changed, selected = masked_ids(embedded.hf_model, embedded.tokenizer, inputs, 0)
    assert (selected.sum(-1) == 15).all() and not selected[:, [0, -1]].any()
    assert torch.equal(changed[~selected], ids[~selected])
    masked = changed[selected] == embedded.tokenizer.mask_token_id
    kept = changed[selected] == ids[selected]
    assert masked.float().mean() == pytest.approx(0.8, abs=0.03)
    assert kept.float().mean() == pytest.approx(0.1, abs=0.03)
    other, _ = masked_ids(embedded.hf_model, embedded.tokenizer, inputs, 1)
    assert not torch.equal(changed, other)


def test_the_causal_loss_is_transformers_own() -> None:
    model = zoo.build("gpt2")
    given = zoo.inputs("gpt2", batch=1, padded=0)
    task = task_for(model, None, given, "auto", 0)
    _, losses = attention_gradients(model, task)
    with torch.no_grad():
        expected = model(**given, labels=given["input_ids"]).loss
    assert task.name == "causal-LM"
    torch.testing.assert_close(losses[0], expected)


def test_an_encoder_decoder_is_asked_for_its_target() -> None:
    model = zoo.build("bart")
    given = zoo.inputs("bart")
    task = task_for(model, None, given, "auto", 0)
    gradients, _ = attention_gradients(model, task)
    assert task.name == "causal-LM"
    assert {layer.stack for layer in gradients} == {"encoder", "decoder", "cross"}


def test_what_cannot_be_asked_says_why(embedded: Any) -> None:
    given = zoo.inputs("bert")
    with pytest.raises(TypeError, match=naming("RobertaModel", "loss=", "AutoModelForMaskedLM")):
        task_for(zoo.build("roberta"), None, given, "auto", 0)
    with pytest.raises(
        ValueError, match=naming("BertForMaskedLM", "load_model(model, tokenizer)", "mask token")
    ):
        task_for(zoo.build("bert"), None, given, "auto", 0)
    with pytest.raises(ValueError, match=naming("loss", "'mlm'", "'masked'")):
        task_for(zoo.build("bert"), None, given, "mlm", 0)  # type: ignore[arg-type]
    nothing = LossTask("nothing", given, lambda output: output[0].detach().mean())
    with pytest.raises(
        ValueError, match=naming("layer 0", "BertForMaskedLM", "attn_implementation")
    ):
        attention_gradients(zoo.build("bert"), nothing)
    with pytest.raises(ValueError, match=naming("loss", "one number")):
        attention_gradients(zoo.build("bert"), LossTask("states", given, lambda output: output[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "bart", "t5"])
@pytest.mark.parametrize("sides", [(3, 0), (0, 3), (2, 2)])
def test_padding_on_any_side_changes_no_loss_and_no_gradient(
    name: str, sides: tuple[int, int]
) -> None:
    left, right = sides
    model = load_model(zoo.build(name), word_tokenizer())
    ids = [1, 8, 9, 10, 11, 12, 2]
    target = [2, 20, 21, 22]

    def padded(row: list[int], filler: int = 7) -> list[list[int]]:
        return [[filler] * left + row + [filler] * right]

    alone: dict[str, Any] = {"input_ids": [ids]}
    given: dict[str, Any] = {"input_ids": padded(ids), "attention_mask": padded([1] * 7, 0)}
    if name in ("bart", "t5"):
        alone["decoder_input_ids"] = [target]
        given["decoder_input_ids"] = [target]
    expected = model.attend(alone, loss="auto", seed=5)
    found = model.attend(given, loss="auto", seed=5)
    assert found.loss.value == pytest.approx(expected.loss.value, abs=1e-6)
    assert (found.loss.name, found.loss.masked) == (expected.loss.name, expected.loss.masked)
    for stack in expected.stacks:
        for one, other in (
            (found.weights, expected.weights),
            (found.gradients, expected.gradients),
        ):
            np.testing.assert_allclose(one(stack=stack), other(stack=stack), atol=1e-6)


def test_padding_of_a_target_is_in_no_loss() -> None:
    model = load_model(zoo.build("t5"), word_tokenizer())
    given = {"input_ids": [[1, 8, 9, 2]], "decoder_input_ids": [[0, 20, 21, 22]]}
    padding = {
        "decoder_input_ids": [[0, 20, 21, 22, 30, 31]],
        "decoder_attention_mask": [[1] * 4 + [0] * 2],
    }
    expected = model.attend(given, loss="auto")
    found = model.attend(given | padding, loss="auto")
    assert found.loss.value == pytest.approx(expected.loss.value, abs=1e-6)
    for stack in expected.stacks:
        np.testing.assert_allclose(
            found.gradients(stack=stack), expected.gradients(stack=stack), atol=1e-6
        )


def test_a_mask_of_pairs_hides_no_token_from_the_loss() -> None:
    """A mask [1, 1, n, n] says who sees whom, not what is padding."""
    model = load_model(zoo.build("llama"), word_tokenizer())
    ids = [[1, 8, 9, 10, 2]]
    mask = torch.full((1, 1, 5, 5), -torch.inf).triu(1)
    expected = model.attend({"input_ids": ids}, loss="causal")
    found = model.attend({"input_ids": ids, "attention_mask": mask}, loss="causal")
    assert found.loss.value == pytest.approx(expected.loss.value, abs=1e-6)
    np.testing.assert_allclose(found.gradients(), expected.gradients(), atol=1e-6)


def test_a_token_hidden_in_the_middle_is_in_no_loss() -> None:
    model = load_model(zoo.build("gpt2"), word_tokenizer())
    hidden = {"input_ids": [[1, 8, 50, 9, 10]], "attention_mask": [[1, 1, 0, 1, 1]]}
    hidden["position_ids"] = [[0, 1, 0, 2, 3]]
    expected, found = (
        model.attend(given, loss="causal") for given in ({"input_ids": [[1, 8, 9, 10]]}, hidden)
    )
    assert found.loss.value == pytest.approx(expected.loss.value, abs=1e-6)
    np.testing.assert_allclose(found.gradients(), expected.gradients(), atol=1e-6)
