"""Models as other libraries and users wrap them: opened, or refused with the paths to pass."""

from __future__ import annotations

import copy
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers
from torch import Tensor, nn

from attnwidget import load_model
from fixtures import zoo
from fixtures.small_models import bert
from fixtures.vocabularies import wordpiece
from refusals import naming

TEXT = "the cat sat on the mat ."
NEEDED = "needs sentence-transformers and lightning: pip install -e '.[wrappers]'"


def folder_with(tmp_path: Path, name: str) -> Any:
    """Save a model with its tokenizer, and return the model."""
    model = bert(name)
    model.save_pretrained(tmp_path)
    wordpiece().save_pretrained(tmp_path)
    return model


def check_reads(wrapper: Any, inner: Any) -> None:
    """Check that `wrapper` is read as the model inside, with the tokenizer of the wrapper."""
    opened = load_model(wrapper, device="cpu")
    assert opened.hf_model is inner and opened.tokenizer is not None
    alone = load_model(copy.deepcopy(inner), opened.tokenizer).attend(TEXT)
    np.testing.assert_array_equal(opened.attend(TEXT).weights(), alone.weights())


class Network(nn.Module):
    """A module of a user around a model."""

    def __init__(self, **models: Any) -> None:
        super().__init__()
        for name, model in models.items():
            setattr(self, name, model)
        self.head = nn.Linear(32, 2)

    def forward(self, input_ids: Tensor) -> Tensor:
        scores: Tensor = self.head(self.bert(input_ids).last_hidden_state[:, 0])
        return scores


def test_a_pipeline_is_opened_with_its_tokenizer() -> None:
    inner = bert("BertForMaskedLM")
    pipe = transformers.pipeline("fill-mask", model=inner, tokenizer=wordpiece())
    check_reads(pipe, inner)
    assert load_model(pipe).predict("the [MASK] sat .").task == "masked"


def test_a_trainer_is_opened_with_its_tokenizer(tmp_path: Path) -> None:
    inner = bert("BertForSequenceClassification")
    options = transformers.TrainingArguments(str(tmp_path), report_to=[], use_cpu=True)
    trainer = transformers.Trainer(inner, options, processing_class=wordpiece())
    check_reads(trainer, inner)


def test_a_module_of_a_user_is_opened_at_any_depth() -> None:
    inner = bert("BertModel")
    network = Network(bert=inner)
    opened = load_model(network, wordpiece())
    assert opened.hf_model is inner
    opened.close()
    assert network.training and inner.training
    deep = nn.Sequential(nn.ModuleDict({"text": nn.DataParallel(network)}), nn.Identity())
    assert load_model(deep, wordpiece()).hf_model is inner
    assert load_model(torch.compile(network, backend="eager"), wordpiece()).hf_model is inner
    # The same model under two names is one model.
    assert load_model(Network(bert=inner, encoder=inner)).hf_model is inner


class Unnamed(Network):
    """A module whose inputs have no names."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.bert(*args, **kwargs)


class Reversing(Network):
    """A module that is called as its model is, and changes what the model reads."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        return self.bert(input_ids.flip(-1), attention_mask=attention_mask)


def test_a_module_with_a_config_of_its_own_is_opened_too() -> None:
    network = Network(bert=bert("BertModel"))
    for config in ({"learning_rate": 0.1}, types.SimpleNamespace(learning_rate=0.1)):
        network.config = config
        assert load_model(network, wordpiece()).hf_model is network.bert
    unnamed = Unnamed(bert=bert("BertModel"))
    unnamed.config = unnamed.bert.config
    assert load_model(unnamed, wordpiece()).hf_model is unnamed.bert


@pytest.mark.parametrize("kind", [Network, Reversing])
def test_a_module_that_is_called_like_a_model_is_read_as_a_whole(kind: type[Network]) -> None:
    network = kind(bert=bert("BertModel"))
    network.config = network.bert.config
    network.tokenizer = wordpiece()
    for holder in (network, nn.DataParallel(network), nn.Sequential(network)):
        opened = load_model(holder)
        assert opened.hf_model is network and opened.tokenizer is network.tokenizer
    read = [3, 2, 1] if kind is Reversing else [1, 2, 3]
    inner = load_model(network.bert).attend(read)
    np.testing.assert_allclose(
        load_model(network).attend([1, 2, 3]).weights(), inner.weights(), atol=1e-6
    )


def test_adapters_inside_of_a_module_stay_active() -> None:
    tokenizer = wordpiece()
    adapted = peft.get_peft_model(bert("BertModel"), peft.LoraConfig(r=2, target_modules=["query"]))
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                parameter.normal_(0, 0.5)
    network = Network(bert=adapted.eval())
    maps = load_model(network, tokenizer).attend(TEXT).weights(1)
    expected = load_model(adapted, tokenizer).attend(TEXT).weights(1)
    np.testing.assert_array_equal(maps, expected)
    with adapted.disable_adapter():
        plain = load_model(network, tokenizer).attend(TEXT).weights(1)
    assert np.abs(maps - plain).max() > 1e-3
    prompt = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    with pytest.raises(TypeError, match=naming("PeftModelForCausalLM", "outside")):
        load_model(Network(bert=peft.get_peft_model(zoo.build("gpt2"), prompt)))


def test_the_tokenizer_of_the_innermost_wrapper_is_taken_and_a_given_one_wins() -> None:
    inner = Network(bert=bert("BertModel"))
    inner.tokenizer = wordpiece()
    outer = Network(part=inner)
    outer.tokenizer = wordpiece()
    assert load_model(outer).tokenizer is inner.tokenizer
    given = wordpiece()
    assert load_model(outer, given).tokenizer is given

    class Processor:
        tokenizer = given

    outer.part.tokenizer = None
    outer.tokenizer = None
    outer.processor = Processor()
    assert load_model(outer).tokenizer is given


def test_several_models_are_refused_with_the_paths_to_pass() -> None:
    both = Network(encoder=bert("BertModel"), decoder=Network(lm=zoo.build("gpt2")))
    with pytest.raises(
        TypeError, match=naming("2 transformers", "x.encoder", "x.decoder.lm")
    ) as error:
        load_model(both, wordpiece())
    assert "x.decoder.lm, where x is the Network" in str(error.value)
    assert load_model(both.encoder, wordpiece()).n_layers == 2


def test_a_network_without_attention_beside_the_model_changes_nothing() -> None:
    pictures = transformers.ResNetModel(
        transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1])
    )
    network = Network(pictures=pictures, bert=bert("BertModel"))
    assert load_model(network, wordpiece()).hf_model is network.bert


def test_a_module_without_a_transformers_model_is_refused_with_a_way_out() -> None:
    with pytest.raises(TypeError, match=naming("Linear", "Attention.from_queries_keys")):
        load_model(nn.Linear(2, 2))
    with pytest.raises(TypeError, match=naming("transformers model", "watch_attention")):
        load_model(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 1))
    for nothing in ([bert("BertModel")], types.SimpleNamespace(model="bert"), 3):
        with pytest.raises(TypeError, match=naming("pipeline", f"got {type(nothing).__name__}")):
            load_model(nothing)


@pytest.mark.parametrize("config", [{"width": 8}, {}, types.SimpleNamespace(width=8)], ids=str)
def test_a_module_of_another_library_with_a_configuration_is_refused(config: object) -> None:
    """Models of diffusers and timm have a configuration of their own."""
    network = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 1)
    network.config = config  # type: ignore[assignment]
    with pytest.raises(TypeError, match=naming("transformers model", "watch_attention")):
        load_model(network)
    other = nn.Linear(2, 2)
    other.config = config  # type: ignore[assignment]
    with pytest.raises(TypeError, match=naming("transformers model", "watch_attention(module)")):
        load_model(other)


def test_a_sentence_transformer_is_opened_with_its_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason=NEEDED)
    from sentence_transformers import SentenceTransformer

    folder_with(tmp_path, "BertModel")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SentenceTransformer(str(tmp_path), device="cpu")
    check_reads(model, model[0].auto_model)
    model.max_seq_length = 4
    with pytest.raises(ValueError, match="4"):
        load_model(model).attend(TEXT)


def test_a_cross_encoder_is_opened_with_its_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason=NEEDED)
    from sentence_transformers import CrossEncoder

    folder_with(tmp_path, "BertForSequenceClassification")
    model = CrossEncoder(str(tmp_path), device="cpu")
    check_reads(model, model.model)
    pair = load_model(model).attend("the cat sat .", "it slept .")
    assert set(pair.stacks["self"].query.segments) == {0, 1}


def test_an_object_with_a_model_and_a_tokenizer_is_opened() -> None:
    """As CrossEncoder was before it became a module, and Trainers of other libraries."""

    class Holder:
        def __init__(self) -> None:
            self.model = bert("BertModel")
            self.wrapped = nn.DataParallel(self.model)
            self.tokenizer = wordpiece()

    holder = Holder()
    check_reads(holder, holder.model)
    inner = holder.model
    holder.model = nn.DataParallel(inner)
    check_reads(holder, inner)


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_a_module_of_lightning_is_opened(package: str) -> None:
    lightning = pytest.importorskip(package, reason=NEEDED)

    class Module(lightning.LightningModule):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert("BertModel")
            self.tokenizer = wordpiece()
            self.head = nn.Linear(32, 2)

        def training_step(self, batch: Any) -> Tensor:
            found: Tensor = self.head(self.bert(batch).last_hidden_state).sum()
            return found

    module = Module()
    check_reads(module, module.bert)
