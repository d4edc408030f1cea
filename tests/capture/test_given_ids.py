"""Ids as tokenizers return them, and prompts to generate from: the same text in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, load_model
from fixtures import zoo
from fixtures.vocabularies import byte_level
from refusals import naming

TEXT = "The captain told his men"


def causal(name: str = "llama") -> AttentionModel:
    tokenizer = byte_level()
    hf_model = zoo.build(name)
    hf_model.resize_token_embeddings(len(tokenizer))
    return load_model(hf_model, tokenizer, device="cpu")


@pytest.fixture(scope="module")
def llama() -> AttentionModel:
    return causal()


FORMS: dict[str, Any] = {
    "tensor [1, n]": lambda ids: torch.tensor([ids]),
    "tensor [n]": torch.tensor,
    "int32 tensor": lambda ids: torch.tensor(ids, dtype=torch.int32),
    "array [n]": np.array,
    "array [1, n]": lambda ids: np.array([ids]),
    "list of a list": lambda ids: [ids],
    "list of a tensor": lambda ids: [torch.tensor(ids)],
    "list of numbers of numpy": lambda ids: list(np.array(ids)),
    "list of numbers of torch": lambda ids: list(torch.tensor(ids)),
}


@pytest.mark.parametrize("form", FORMS)
def test_ids_are_read_in_the_forms_that_tokenizers_return(llama: AttentionModel, form: str) -> None:
    ids = llama.tokenizer(TEXT).input_ids
    given = FORMS[form](ids)
    whole = llama.attend(TEXT)
    for attention in (llama.attend(given), *llama.attend_batch([given, given])):
        assert attention.stacks["self"].query.ids == tuple(ids)
        np.testing.assert_allclose(attention.weights(), whole.weights(), atol=1e-6)
    np.testing.assert_allclose(
        llama.predict(given).log_probabilities, llama.predict(TEXT).log_probabilities, atol=1e-6
    )
    generated = llama.generate(given, max_new_tokens=2)
    assert generated.tokens == llama.generate(TEXT, max_new_tokens=2).tokens
    new = list(generated.stacks["self"].query.ids)[len(ids) :]
    assert llama.replay(given, FORMS[form](new)).tokens == generated.tokens


def test_one_id_is_a_text_in_every_form(llama: AttentionModel) -> None:
    forms: list[Any] = [torch.tensor([[7]]), np.array([7]), [np.int64(7)], [torch.tensor(7)], [7]]
    for given in forms:
        assert llama.attend(given).stacks["self"].query.ids == (7,)


def test_the_call_of_ids_in_a_tensor_lists_them(llama: AttentionModel) -> None:
    assert str(llama.attend(torch.tensor([[5, 6]])).made_by).endswith(".attend([5, 6])")
    assert ".generate([5, 6], 1" in str(llama.generate(np.array([5, 6]), 1).made_by)


def test_the_target_of_an_encoder_decoder_is_a_tensor_too() -> None:
    model = load_model(zoo.build("t5"), device="cpu")
    target = torch.tensor([[4, 5]])
    read = model.attend(np.array([7, 8, 9]), target=target)
    assert (
        read.stacks["decoder"].query.ids
        == model.attend([7, 8, 9], target=[4, 5]).stacks["decoder"].query.ids
    )


def test_other_arrays_are_refused_with_the_way_out(llama: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("[2, 3]", "attend_batch")):
        llama.attend(torch.ones(2, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=naming("[1, 0]", "ids")):
        llama.attend(np.zeros((1, 0), dtype=int))
    for values in (torch.rand(4), np.ones(3, dtype=bool)):
        with pytest.raises(TypeError, match=naming("ids", "integers", "attend")):
            llama.attend(values)
    with pytest.raises(TypeError, match=naming("attend_batch", "ids of each text")):
        llama.attend_batch(torch.ones(2, 3, dtype=torch.long))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_dict_of_inputs_is_a_prompt(name: str) -> None:
    model = causal(name)
    given = model.tokenizer(TEXT, return_tensors="pt")
    of_text = model.generate(TEXT, max_new_tokens=3)
    attention = model.generate({k: given[k] for k in ("input_ids", "attention_mask")}, 3)
    assert attention.n_prompt == of_text.n_prompt == given["input_ids"].shape[1]
    assert attention.stacks["self"].query.ids == of_text.stacks["self"].query.ids
    np.testing.assert_allclose(attention.weights(), of_text.weights(), atol=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_continuation_follows_the_last_token_that_is_not_hidden(
    llama: AttentionModel, side: str
) -> None:
    ids = llama.tokenizer(TEXT).input_ids
    hidden = [0] * 4
    rows = {"input_ids": ids, "attention_mask": [1] * len(ids)}
    given = {
        name: torch.tensor([hidden + row if side == "left" else row + hidden])
        for name, row in rows.items()
    }
    attention = llama.generate(given, max_new_tokens=3)
    of_text = llama.generate(TEXT, max_new_tokens=3)
    assert attention.n_prompt == of_text.n_prompt
    assert attention.stacks["self"].query.ids == of_text.stacks["self"].query.ids
    np.testing.assert_allclose(attention.weights(), of_text.weights(), atol=1e-6)


def test_types_of_a_prompt_go_on_as_in_transformers() -> None:
    model = causal("gpt2")
    ids = model.tokenizer(TEXT, return_tensors="pt").input_ids
    given = {"input_ids": ids, "token_type_ids": torch.full_like(ids, 3)}
    attention = model.generate(given, max_new_tokens=3)
    whole = list(attention.stacks["self"].query.ids)
    read = model.attend({"input_ids": [whole], "token_type_ids": [[3] * len(whole)]})
    np.testing.assert_allclose(attention.weights(), read.weights(), atol=1e-6)
    own = model.hf_model.generate(**given, max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert own[0].tolist() == whole


def test_positions_of_a_prompt_go_on_as_in_transformers(llama: AttentionModel) -> None:
    ids = llama.tokenizer(TEXT, return_tensors="pt").input_ids
    given = {"input_ids": ids, "position_ids": torch.arange(ids.shape[1])[None] + 5}
    attention = llama.generate(given, max_new_tokens=3)
    whole = list(attention.stacks["self"].query.ids)
    positions = torch.arange(len(whole))[None] + 5
    read = llama.attend({"input_ids": [whole], "position_ids": positions})
    np.testing.assert_allclose(attention.weights(), read.weights(), atol=1e-6)
    own = llama.hf_model.generate(**given, max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert own[0].tolist() == whole


def test_a_picture_beside_the_prompt_is_read_with_the_continuation() -> None:
    vision = transformers.CLIPVisionConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        image_size=28, patch_size=14,
    )  # fmt: skip
    text = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    config = transformers.LlavaConfig(vision_config=vision, text_config=text, image_token_id=49)
    torch.manual_seed(0)
    model = load_model(transformers.LlavaForConditionalGeneration(config), device="cpu")
    ids = torch.tensor([[5, 49, 49, 49, 49, 6, 7]])
    pixels = torch.rand(1, 3, 28, 28)
    attention = model.generate({"input_ids": ids, "pixel_values": pixels}, max_new_tokens=3)
    stack = next(s for s in attention.stacks.values() if len(s.query) == 10)
    assert attention.n_prompt == 7
    read = model.attend({"input_ids": [list(stack.query.ids)], "pixel_values": pixels})
    np.testing.assert_allclose(
        attention.weights(stack=stack.name), read.weights(stack=stack.name), atol=1e-6
    )


def test_inputs_without_ids_have_no_continuation(llama: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("the dict has inputs_embeds", "vocabulary ids")):
        llama.generate({"inputs_embeds": torch.rand(1, 3, 32)})
