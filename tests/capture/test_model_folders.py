"""Folders as trainings and other libraries leave them: loaded, or refused with a way out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers

from attnwidget import load_model
from attnwidget.loading.model_folder import ModelFolderError
from fixtures import zoo
from fixtures.small_models import bert
from fixtures.vocabularies import byte_level, word_tokenizer, wordpiece
from refusals import naming

TEXT = "the cat sat on the mat ."


def llama(**options: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        vocab_size=600,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        **options,
    )
    return transformers.LlamaForCausalLM(config)


def saved(folder: Path, model: Any, tokenizer: Any = None) -> Path:
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder


def trained(model: Any, **options: Any) -> Any:
    """Return a model with an adapter as after training: no weight of the adapter is 0."""
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=3, **options))
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                parameter.normal_(0, 0.2)
    return adapted.eval()


def same_maps(folder: Path, model: Any) -> Any:
    """Check that a folder has the maps of a model in memory; return the loaded model."""
    loaded = load_model(folder, device="cpu")
    inputs = loaded.tokenizer(TEXT, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    model.eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        maps = model(**inputs, output_attentions=True).attentions
    found = loaded.attend(dict(inputs)).weights()
    np.testing.assert_allclose(found, torch.cat(maps).numpy(), atol=1e-6)
    return loaded


@pytest.mark.parametrize("own_tokenizer", [True, False])
def test_the_folder_of_an_adapter_is_the_base_model_with_the_adapter(
    tmp_path: Path, own_tokenizer: bool
) -> None:
    tokenizer = byte_level()
    base = saved(tmp_path / "base", llama(), tokenizer)
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    adapted = trained(plain, task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"])
    folder = saved(tmp_path / "lora", adapted, tokenizer if own_tokenizer else None)
    loaded = same_maps(folder, adapted.base_model.model)
    assert type(loaded.hf_model).__name__ == "LlamaForCausalLM" and loaded.name == "lora"
    change = loaded.attend(TEXT).weights() - load_model(base).attend(TEXT).weights()
    assert np.abs(change).max() > 1e-3
    assert not loaded.random_parts and loaded.predict(TEXT).task == "next"


@pytest.mark.parametrize(
    ("options", "parts"),
    [({"num_hidden_layers": 1}, ("4 weights", "layer")), ({"hidden_size": 64}, ("do not fit",))],
)
def test_an_adapter_of_another_base_model_is_refused(
    tmp_path: Path, options: dict[str, int], parts: tuple[str, ...]
) -> None:
    base = saved(tmp_path / "base", llama(), byte_level())
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    folder = saved(tmp_path / "lora", trained(plain, target_modules=["q_proj", "v_proj"]))
    other = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**(plain.config.to_dict() | options))
    )
    saved(base, other)
    with pytest.raises(ModelFolderError, match=naming(*parts)):
        load_model(folder)


@pytest.mark.parametrize(("text", "reason"), [("{", "is no JSON"), ("[1]", "holds a list")])
def test_a_broken_configuration_of_an_adapter_is_named(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "adapter_config.json").write_text(text)
    with pytest.raises(ModelFolderError, match=rf"adapter_config.json {reason}"):
        load_model(tmp_path)


def test_an_adapter_for_labels_has_the_labels_of_its_training(tmp_path: Path) -> None:
    base = saved(tmp_path / "base", bert("BertModel"), wordpiece())
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=5)
    adapted = trained(plain, task_type="SEQ_CLS", target_modules=["query"])
    folder = saved(tmp_path / "labels", adapted)
    loaded = same_maps(folder, adapted.base_model.model)
    assert not loaded.random_parts
    answers = loaded.predict(TEXT)
    assert answers.log_probabilities.shape == (1, 5)
    inputs = loaded.tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        logits = adapted(**inputs).logits
    np.testing.assert_allclose(answers.log_probabilities, logits.log_softmax(-1).numpy(), atol=1e-5)


def test_an_adapter_without_a_task_names_the_class_of_its_base(tmp_path: Path) -> None:
    base = saved(tmp_path / "base", bert(), wordpiece())
    plain = transformers.BertForMaskedLM.from_pretrained(base)
    folder = saved(tmp_path / "words", trained(plain, target_modules=["key"]))
    loaded = same_maps(folder, plain)
    assert type(loaded.hf_model) is transformers.BertForMaskedLM


def test_tokens_that_were_added_before_a_fine_tuning_are_in_the_adapter(tmp_path: Path) -> None:
    base = saved(tmp_path / "base", llama(), byte_level())
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    plain.resize_token_embeddings(604)
    adapted = trained(plain, task_type="CAUSAL_LM", modules_to_save=["embed_tokens", "lm_head"])
    folder = saved(tmp_path / "lora", adapted, byte_level())
    assert load_model(folder, device="cpu").hf_model.config.vocab_size == 604
    same_maps(folder, adapted.base_model.model)


def test_an_adapter_without_peft_names_two_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = saved(tmp_path / "base", llama(), byte_level())
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    folder = saved(tmp_path / "lora", trained(plain, task_type="CAUSAL_LM"))
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ImportError, match=naming("LORA", "AutoPeftModelForCausalLM")) as error:
        load_model(folder)
    assert "Install peft" in str(error.value) and "merge_and_unload()" in str(error.value)


@pytest.mark.parametrize(("kind", "targets"), [("bert", ["query"]), ("gpt2", ["c_attn"])])
def test_adapters_of_further_kinds_of_layers_are_loaded_and_active(
    tmp_path: Path, kind: str, targets: list[str]
) -> None:
    base = saved(tmp_path / "base", zoo.build(kind), word_tokenizer())
    adapted = trained(load_model(base, device="cpu").hf_model, target_modules=targets)
    folder = saved(tmp_path / "adapter", adapted)
    maps = load_model(folder, device="cpu").attend("w1 w7 w20 w33").weights(1)
    expected = load_model(adapted, word_tokenizer()).attend("w1 w7 w20 w33").weights(1)
    np.testing.assert_allclose(maps, expected, atol=1e-6)
    plain = load_model(base, device="cpu").attend("w1 w7 w20 w33").weights(1)
    assert np.abs(maps - plain).max() > 1e-3


def test_an_adapter_that_names_no_base_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(OSError, match=naming("adapter_config.json", "base model")):
        load_model(tmp_path)


def test_adapters_outside_the_layers_and_without_safetensors_are_refused(tmp_path: Path) -> None:
    base = saved(tmp_path / "base", llama(), byte_level())
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    prefix = peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    folder = saved(tmp_path / "prefix", peft.get_peft_model(plain, prefix), byte_level())
    with pytest.raises(TypeError, match=naming("PREFIX_TUNING", "outside")):
        load_model(folder)
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    folder = saved(tmp_path / "lora", trained(plain, task_type="CAUSAL_LM"))
    (base / "config.json").rename(base / "moved.json")
    with pytest.raises(OSError, match=naming("adapter", "cannot be loaded", "base_model")):
        load_model(folder)
    (base / "moved.json").rename(base / "config.json")
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(OSError, match=naming("adapter_model.safetensors", "run code")):
        load_model(folder)


def test_pickled_weights_are_refused_with_the_reason(tmp_path: Path) -> None:
    folder = saved(tmp_path, bert(), wordpiece())
    (folder / "model.safetensors").unlink()
    torch.save(bert().state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(OSError, match=naming("pytorch_model.bin", "run code")) as bad:
        load_model(folder)
    assert f"load_model(BertForMaskedLM.from_pretrained({str(folder)!r})" in str(bad.value)
    (folder / "pytorch_model.bin").rename(folder / "model.Q4.gguf")
    with pytest.raises(OSError, match=naming("model.Q4.gguf", "llama.cpp")):
        load_model(folder)


def sentence_transformers_folder(folder: Path, *parts: str) -> Path:
    """Write the files of a model of sentence-transformers 0.x, with models in `parts`."""
    modules: list[dict[str, Any]] = []
    for path in (*parts, "1_Pooling"):
        kind = "Pooling" if path == "1_Pooling" else "Transformer"
        name = f"sentence_transformers.models.{kind}"
        modules.append({"idx": len(modules), "name": path[0], "path": path, "type": name})
    for part in parts:
        saved(folder / part, bert("BertModel"), wordpiece())
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling/config.json").write_text('{"word_embedding_dimension": 32}')
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.mark.parametrize("part", ["0_Transformer", "0_BERT"])
def test_an_old_folder_of_sentence_transformers_is_opened(tmp_path: Path, part: str) -> None:
    folder = sentence_transformers_folder(tmp_path / "sbert", part)
    loaded = same_maps(folder, bert("BertModel"))
    assert loaded.name == "sbert" and loaded._load_again is not None
    assert loaded._load_again().n_layers == 2


def test_two_towers_of_sentence_transformers_are_refused_with_their_paths(tmp_path: Path) -> None:
    folder = sentence_transformers_folder(tmp_path, "0_query", "1_document")
    with pytest.raises(OSError, match=naming("2 models", "sentence-transformers")):
        load_model(folder)


def test_a_checkpoint_takes_the_tokenizer_of_the_folder_above_and_says_so(tmp_path: Path) -> None:
    run = tmp_path / "run"
    checkpoint = saved(run / "checkpoint-500", bert())
    with pytest.raises(ValueError, match=naming("no tokenizer", "load_model")):
        load_model(checkpoint)
    wordpiece().save_pretrained(run)
    loaded = same_maps(checkpoint, bert())
    assert loaded.name == "run/checkpoint-500"
    assert "tokenizer of the folder above, 'run'" in loaded.attend(TEXT).note
    wordpiece().save_pretrained(checkpoint)
    assert load_model(checkpoint).attend(TEXT).note == ""


def test_a_folder_that_no_training_wrote_takes_no_other_tokenizer(tmp_path: Path) -> None:
    wordpiece().save_pretrained(tmp_path)
    folder = saved(tmp_path / "model", bert())
    with pytest.raises(ValueError, match=naming("no tokenizer", "load_model")):
        load_model(folder)
    (folder / "trainer_state.json").write_text("{}")
    assert load_model(folder).tokenizer is not None


def test_a_folder_around_folders_of_models_names_a_folder_to_pass(tmp_path: Path) -> None:
    for step in (50, 1000, 200):
        saved(tmp_path / f"checkpoint-{step}", bert())
    with pytest.raises(OSError, match=naming("3 checkpoints", "checkpoint-1000")):
        load_model(tmp_path)
    other = saved(tmp_path / "other/0_Transformer", bert(), wordpiece())
    (other.parent / "modules.json").write_text("[]")
    with pytest.raises(OSError, match=naming("config.json", "0_Transformer")):
        load_model(other.parent)
    (tmp_path / "empty").mkdir()
    with pytest.raises(OSError, match=naming("config.json", "complete model folder")):
        load_model(tmp_path / "empty")
