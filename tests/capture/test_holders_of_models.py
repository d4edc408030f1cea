"""Models inside of what people have: pipelines, trainers, own modules, folders of training."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers
from torch import Tensor, nn

from attnwidget import AttentionModel, load_model
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer

TEXT = "w1 w7 w20 w33"


class Classifier(nn.Module):
    """A module of one's own around a model of transformers."""

    def __init__(self, bert: nn.Module) -> None:
        super().__init__()
        self.bert = bert
        self.out = nn.Linear(32, 2)

    def forward(self, ids: Tensor) -> Any:
        return self.out(self.bert(ids).last_hidden_state[:, 0])


class Pair(nn.Module):
    """A module around two models."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.question = first
        self.passages = nn.ModuleList([second])


def bert(kind: str = "bert") -> Any:
    return zoo.build(kind)


def same_maps(opened: AttentionModel, model: nn.Module) -> None:
    assert opened.hf_model is model
    expected = load_model(model, word_tokenizer()).attend(TEXT).weights(0)
    ids = word_tokenizer()(TEXT).input_ids
    np.testing.assert_array_equal(opened.attend(ids).weights(0), expected)


def test_a_pipeline_brings_its_model_and_tokenizer() -> None:
    model, tokenizer = bert(), word_tokenizer()
    pipe = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer)
    opened = load_model(pipe)
    same_maps(opened, model)
    assert opened.tokenizer is tokenizer and len(opened.attend(TEXT).tokens) == 6


def test_a_trainer_brings_its_model_and_tokenizer(tmp_path: Path) -> None:
    model, tokenizer = bert(), word_tokenizer()
    trainer = types.SimpleNamespace(model=nn.DataParallel(model), processing_class=tokenizer)
    opened = load_model(trainer)
    same_maps(opened, model)
    assert opened.tokenizer is tokenizer
    other = word_tokenizer()
    assert load_model(trainer, other).tokenizer is other


def test_the_one_model_inside_of_a_module_is_opened() -> None:
    model, tokenizer = bert(), word_tokenizer()
    own = Classifier(model)
    same_maps(load_model(own), model)
    nested = nn.Sequential(nn.ModuleDict({"inner": nn.DataParallel(own)}))
    nested.tokenizer = tokenizer
    opened = load_model(nested)
    same_maps(opened, model)
    assert opened.tokenizer is tokenizer


def test_a_wrapper_with_a_configuration_of_its_own_is_opened() -> None:
    own = Classifier(bert())
    own.config = types.SimpleNamespace(learning_rate=0.1)  # type: ignore[assignment]
    assert load_model(own).hf_model is own.bert


class Named(Classifier):
    """A module that is called as its model is, and changes what the model reads."""

    def __init__(self, bert: nn.Module) -> None:
        super().__init__(bert)
        self.config = bert.config

    def get_input_embeddings(self) -> nn.Module:
        found: nn.Module = self.bert.get_input_embeddings()
        return found

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        return self.bert(input_ids.flip(-1), attention_mask=attention_mask)


class Unnamed(Named):
    """A module whose inputs have no names."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.bert(*args, **kwargs)


def test_a_module_that_is_called_like_a_model_is_read_as_a_whole() -> None:
    whole = Named(bert())
    opened = load_model(whole)
    assert opened.hf_model is whole
    inner = load_model(whole.bert)
    np.testing.assert_allclose(
        opened.attend([1, 2, 3]).weights(0), inner.attend([3, 2, 1]).weights(0), atol=1e-6
    )
    assert load_model(Unnamed(whole.bert)).hf_model is whole.bert


def test_adapters_inside_of_a_module_stay_active() -> None:
    torch.manual_seed(0)
    adapted = peft.get_peft_model(bert(), peft.LoraConfig(r=2, target_modules=["query"]))
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            nn.init.normal_(parameter, std=0.5)
    own = Classifier(adapted.eval())
    opened = load_model(own, word_tokenizer()).attend(TEXT).weights(1)
    expected = load_model(adapted, word_tokenizer()).attend(TEXT).weights(1)
    np.testing.assert_array_equal(opened, expected)
    with adapted.disable_adapter():
        plain = load_model(own, word_tokenizer()).attend(TEXT).weights(1)
    assert np.abs(opened - plain).max() > 1e-3
    prompt = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    with pytest.raises(TypeError, match="outside of the layers"):
        load_model(Classifier(peft.get_peft_model(zoo.build("gpt2"), prompt)))


def test_a_module_of_several_models_names_them() -> None:
    pair = Pair(bert(), bert())
    with pytest.raises(TypeError, match=r"holds 2 .*x\.question or x\.passages\.0"):
        load_model(pair)


def test_what_holds_no_model_is_named() -> None:
    for nothing in (nn.Linear(2, 2), types.SimpleNamespace(model="bert"), 3):
        with pytest.raises(TypeError, match=f"such as a pipeline; got {type(nothing).__name__}"):
            load_model(nothing)


# Folders of training


def saved(folder: Path, model: Any, *, tokenizer: bool = True) -> Path:
    model.save_pretrained(folder)
    if tokenizer:
        word_tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_folder_of_adapters_is_the_adapted_model(tmp_path: Path, kind: str, beside: bool) -> None:
    base = saved(tmp_path / "base", zoo.build(kind))
    targets = ["query"] if kind == "bert" else ["c_attn"]
    torch.manual_seed(1)
    loaded = load_model(base).hf_model
    adapted = peft.get_peft_model(loaded, peft.LoraConfig(r=2, target_modules=targets))
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            nn.init.normal_(parameter, std=0.5)
    folder = tmp_path / "adapter"
    adapted.peft_config["default"].base_model_name_or_path = str(base)
    adapted.save_pretrained(folder)
    if beside:
        word_tokenizer().save_pretrained(folder)
    opened = load_model(folder)
    found = opened.attend(TEXT).weights(1)
    expected = load_model(adapted.eval(), word_tokenizer()).attend(TEXT).weights(1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    plain = load_model(base).attend(TEXT).weights(1)
    assert np.abs(found - plain).max() > 1e-3


def test_a_folder_of_adapters_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "bert"}))
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "peft", None)
        with pytest.raises(ImportError, match="holds adapters of 'bert': pip install peft, or"):
            load_model(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(OSError, match="names no base model"):
        load_model(tmp_path)


def test_a_checkpoint_of_a_training_has_the_tokenizer_of_the_folder_above(tmp_path: Path) -> None:
    word_tokenizer().save_pretrained(tmp_path)
    folder = saved(tmp_path / "checkpoint-500", bert(), tokenizer=False)
    with pytest.raises(ValueError, match="has a model, but no tokenizer"):
        load_model(folder)
    (folder / "trainer_state.json").write_text("{}")
    assert load_model(folder).attend(TEXT).tokens[1:3] == ["w1", "w7"]


def test_a_folder_around_a_model_names_the_folder_of_the_model(tmp_path: Path) -> None:
    saved(tmp_path / "0_Transformer", bert())
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(OSError, match=r"no config\.json; it is in the folder '0_Transformer'"):
        load_model(tmp_path)
