"""Padding around a text in a dict of inputs changes no number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, load_model
from attnwidget.mechanisms import head_writes, logit_lens
from fixtures import zoo
from refusals import naming

IDS = [11, 12, 13, 14, 15]


@pytest.fixture(scope="module", params=["llama", "gpt2", "opt", "bloom"])
def model(request: pytest.FixtureRequest) -> AttentionModel:
    return load_model(zoo.build(request.param))


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("after", [0, 3])
class TestPaddingAroundATextChangesNothing:
    def inputs(self, before: int, after: int) -> dict[str, torch.Tensor]:
        ids = [*[0] * before, *IDS, *[0] * after]
        mask = [*[0] * before, *[1] * len(IDS), *[0] * after]
        return {"input_ids": torch.tensor([ids]), "attention_mask": torch.tensor([mask])}

    def test_the_next_token(self, model: AttentionModel, before: int, after: int) -> None:
        alone = model.predict(IDS)
        padded = model.predict(self.inputs(before, after))
        assert padded.positions == (len(IDS),)
        assert np.abs(padded.log_probabilities - alone.log_probabilities).max() <= 1e-5
        # The model itself, without any code of the package.
        with torch.no_grad():
            logits = model.hf_model(input_ids=torch.tensor([IDS])).logits[0, -1]
        expected = torch.log_softmax(logits.float(), -1).numpy()
        assert np.abs(padded.log_probabilities[0] - expected).max() <= 1e-5

    def test_the_lens_and_what_a_head_writes(
        self, model: AttentionModel, before: int, after: int
    ) -> None:
        alone = model.attend(IDS)
        padded = model.attend(self.inputs(before, after))
        lens = logit_lens(padded)
        assert lens.positions == (len(IDS),)
        assert np.abs(lens.log_probabilities - logit_lens(alone).log_probabilities).max() <= 1e-4
        writes = [head_writes(attention, 1, 0).to_frame() for attention in (alone, padded)]
        assert writes[0].equals(writes[1]) or np.allclose(
            writes[0].select_dtypes("number"), writes[1].select_dtypes("number"), atol=1e-4
        )

    def test_maps(self, model: AttentionModel, before: int, after: int) -> None:
        padded = model.attend(self.inputs(before, after))
        assert np.abs(padded.weights() - model.attend(IDS).weights()).max() <= 1e-6


def test_a_mask_of_another_length_is_refused() -> None:
    model = load_model(zoo.build("llama"))
    inputs = {"input_ids": torch.tensor([IDS]), "attention_mask": torch.ones(1, 4)}
    with pytest.raises(ValueError, match=naming("attention_mask", "[1, 4]", "text of 5")):
        model.attend(inputs)


@pytest.mark.parametrize(
    ("loaded", "dtype", "is_read"),
    [
        ("sdpa", torch.bool, True),
        ("sdpa", torch.float32, True),
        ("eager", torch.float32, True),
        ("eager", torch.bool, False),
        ("eager", torch.int64, False),
        ("sdpa", torch.int64, False),
    ],
)
def test_a_mask_of_queries_and_keys_is_read_as_numbers_to_add(
    loaded: str, dtype: torch.dtype, is_read: bool
) -> None:
    hf_model = zoo.build("llama")
    hf_model.set_attn_implementation(loaded)
    visible = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    visible[..., 3:, 1] = False
    mask = visible.to(dtype)
    if dtype.is_floating_point:
        mask = torch.where(visible, 0.0, -torch.inf)
    inputs = {"input_ids": torch.tensor([IDS]), "attention_mask": mask}
    if is_read:
        assert (load_model(hf_model).attend(inputs).weights(0, 0)[3:, 1] == 0).all()
        return
    with pytest.raises(ValueError, match=naming("added", "torch.where(attention_mask != 0, 0.0")):
        load_model(hf_model).attend(inputs)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_masks_that_models_read_otherwise_are_refused(family: str) -> None:
    model = load_model(zoo.build(family))
    ones = torch.ones(1, 5, 5).tril()
    ids = torch.tensor([IDS])
    for mask in (ones, ones.long()):
        with pytest.raises(ValueError, match=naming("[1, 5, 5]", "[1, tokens]", "None]")):
            model.attend({"input_ids": ids, "attention_mask": mask})
    with pytest.raises(ValueError, match=naming("added", "torch.where")):
        model.attend({"input_ids": ids, "attention_mask": ones[None]})


# BERT takes no mask of queries and keys in Transformers 4.
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_mask_that_adds_zeros_hides_nothing(family: str) -> None:
    model = load_model(zoo.build(family))
    zeros = {"input_ids": torch.tensor([IDS]), "attention_mask": torch.zeros(1, 1, 5, 5)}
    assert len(model.attend(zeros).tokens) == 5


def test_a_dict_of_a_model_s_call_may_say_use_cache() -> None:
    model = load_model(zoo.build("gpt2"))
    ids = torch.tensor([IDS])
    cached = {"input_ids": ids, "use_cache": True}
    assert (model.attend(cached).weights(0, 0) == model.attend(IDS).weights(0, 0)).all()
    expected = model.predict({"input_ids": ids}).log_probabilities
    assert (model.predict(cached).log_probabilities == expected).all()


def test_texts_that_position_ids_pack_are_apart_in_maps_and_predictions() -> None:
    model = load_model(zoo.build("llama"))
    packed = {
        "input_ids": torch.tensor([[21, 22, 23, *IDS]]),
        "position_ids": torch.tensor([[0, 1, 2, *range(5)]]),
    }
    attention = model.attend(packed)
    assert (attention.weights()[:, :, 3:, :3] == 0).all()
    expected = model.predict({"input_ids": torch.tensor([IDS])}).log_probabilities
    np.testing.assert_allclose(model.predict(packed).log_probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(logit_lens(attention).log_probabilities[-1], expected, atol=1e-5)


def test_inputs_of_several_choices_are_refused() -> None:
    bert = zoo.build("bert")
    choices = torch.tensor([[IDS, IDS]])
    with pytest.raises(ValueError, match=naming("input_ids", "[1, 2, 5]")):
        load_model(bert).attend({"input_ids": choices})
    with pytest.raises(ValueError, match=naming("token_type_ids", "[1, 4]", "input_ids")):
        load_model(bert).attend({"input_ids": choices[:, 0], "token_type_ids": choices[:, 0, :4]})
    chooser = transformers.BertForMultipleChoice(bert.config)
    with pytest.raises(TypeError, match=naming("encoder", "load_model(hf_model.base_model")):
        load_model(chooser)
    assert len(load_model(chooser.base_model).attend(IDS).tokens) == 5


def test_a_folder_of_a_model_of_choices_is_read_by_its_encoder(tmp_path: Path) -> None:
    demo = load_model(device="cpu")
    config = transformers.BertConfig(
        vocab_size=len(demo.tokenizer),
        num_hidden_layers=1,
        num_attention_heads=2,
        hidden_size=8,
        intermediate_size=8,
    )
    chooser = transformers.BertForMultipleChoice(config)
    chooser.save_pretrained(tmp_path)
    demo.tokenizer.save_pretrained(tmp_path)
    model = load_model(tmp_path, device="cpu")
    assert type(model.hf_model).__name__ == "BertModel" and model.random_parts == ()
    expected = load_model(chooser.base_model, demo.tokenizer).attend("A cat.").weights(0, 1)
    assert (model.attend("A cat.").weights(0, 1) == expected).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_ids_of_another_type_are_refused(dtype: torch.dtype) -> None:
    model = load_model(zoo.build("llama"))
    with pytest.raises(TypeError, match=naming("input_ids", "integers")):
        model.attend({"input_ids": torch.tensor([IDS], dtype=dtype)})
