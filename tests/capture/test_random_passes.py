"""Models that draw random numbers in every pass: the reason and the next step are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from attnwidget import load_model
from fixtures import zoo
from refusals import naming

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "image_size": 32,
    "patch_size": 8,
}
PICTURE = torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)
IDS = {"input_ids": torch.tensor([[5, 9, 30, 2]])}


def masked_autoencoder() -> tuple[Any, dict[str, Tensor]]:
    config = transformers.ViTMAEConfig(**SIZES, mask_ratio=0.5)
    return transformers.ViTMAEModel(config).eval(), {"pixel_values": PICTURE}


def patches_in_random_order() -> tuple[Any, dict[str, Tensor]]:
    """A ViLT whose outputs hardly depend on the order of the patches that it draws."""
    config = transformers.ViltConfig(**SIZES, vocab_size=60, num_labels=3)
    mask = torch.ones(1, 32, 32, dtype=torch.long)
    inputs = {**IDS, "pixel_values": PICTURE, "pixel_mask": mask}
    return transformers.ViltForQuestionAnswering(config).eval(), inputs


def masked_series() -> tuple[Any, dict[str, Tensor]]:
    config = transformers.PatchTSTConfig(
        num_input_channels=1,
        context_length=32,
        patch_length=4,
        patch_stride=4,
        d_model=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=32,
    )
    series = torch.linspace(0, 3, 32).sin().reshape(1, 32, 1)
    return transformers.PatchTSTForPretraining(config).eval(), {"past_values": series}


def noisy_states() -> tuple[Any, dict[str, Tensor]]:
    hf_model = zoo.build("llama")

    def noise(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        return output + torch.randn(output.shape, dtype=output.dtype, device=output.device)

    hf_model.model.layers[0].mlp.register_forward_hook(noise)
    return hf_model, IDS


MODELS = [masked_autoencoder, patches_in_random_order, masked_series, noisy_states]
Maker = Callable[[], tuple[Any, dict[str, Tensor]]]


@pytest.mark.parametrize("make", MODELS)
def test_a_model_that_is_random_in_every_pass_is_refused_with_this_reason(make: Maker) -> None:
    torch.manual_seed(0)
    hf_model, inputs = make()
    step = "noise" if make is masked_autoencoder else "manual_seed"
    with pytest.raises(ValueError, match=naming(type(hf_model).__name__, "random", step)):
        load_model(hf_model).attend(inputs)


@pytest.mark.parametrize("make", MODELS)
def test_a_hook_that_seeds_every_pass_is_the_way_out(make: Maker) -> None:
    torch.manual_seed(0)
    hf_model, inputs = make()
    hf_model.register_forward_pre_hook(lambda *_: torch.manual_seed(0) and None)
    model = load_model(hf_model)
    first, second = model.attend(inputs), model.attend(inputs)
    for layer in range(2):
        np.testing.assert_array_equal(first.weights(layer), second.weights(layer))


def test_noise_that_is_left_out_after_a_reading_with_noise_is_refused() -> None:
    hf_model, inputs = masked_autoencoder()
    model = load_model(hf_model)
    noise = torch.linspace(0, 1, 16).reshape(1, 16)
    assert model.attend({**inputs, "noise": noise}).weights(0).shape == (4, 9, 9)
    with pytest.raises(ValueError, match=naming('"noise"', "attend", "random")):
        model.attend(inputs)


def test_random_numbers_without_effect_cost_two_passes_once() -> None:
    hf_model = zoo.build("llama")
    passes = []

    def draw(*_: Any) -> None:
        passes.append(torch.rand((), dtype=torch.float32, device="cpu"))

    hf_model.register_forward_pre_hook(draw)
    model = load_model(hf_model)
    model.attend(IDS)
    first = len(passes)
    model.attend(IDS)
    assert (first, len(passes)) == (4, 5)


def test_a_reading_of_a_random_model_leaves_the_state_of_random_numbers() -> None:
    hf_model, inputs = noisy_states()
    model = load_model(hf_model)
    torch.manual_seed(3)
    with torch.no_grad():
        hf_model(**inputs)
    expected = torch.get_rng_state()
    torch.manual_seed(3)
    with pytest.raises(ValueError, match=naming("None", "torch.manual_seed", "random")):
        model.attend(inputs)
    assert torch.equal(torch.get_rng_state(), expected), "one pass has drawn, the reading itself"
