"""AttentionModel: any input read, wrong ones explained, the model given back as it came."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import normalizers

from attnwidget import AttentionModel, HeadView, load_model, measure
from attnwidget.corpus.segmenting import make_segments
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer
from refusals import naming

SMALL = 1e-6


def named(name: str) -> AttentionModel:
    return load_model(zoo.build(name), word_tokenizer())


@pytest.fixture(scope="module")
def embedded() -> AttentionModel:
    return load_model(device="cpu")


def test_the_embedded_model_attends(embedded: AttentionModel) -> None:
    assert (embedded.n_layers, embedded.n_heads, embedded.source) == (6, 12, "embedded")
    assert embedded.device.type == "cpu"
    called = "small BERT (in the package)"
    assert repr(embedded) == f"AttentionModel(BertForMaskedLM '{called}', 6×12 heads, cpu)"
    assert embedded.hf_model.dtype == torch.float32
    attention = embedded.attend("The cat sat.", "It slept.")
    tokens = attention.stacks["self"].query
    assert tokens.special[0] == "cls"
    assert tokens.special[-1] == "sep"
    assert tokens.segments == (0,) * 6 + (1,) * (len(tokens) - 6)
    assert attention.n_prompt is None


def test_the_embedded_model_is_what_transformers_loads(
    embedded: AttentionModel, tmp_path: Path
) -> None:
    embedded.hf_model.save_pretrained(tmp_path)
    eager = transformers.BertForMaskedLM.from_pretrained(
        tmp_path, dtype=torch.float32, attn_implementation="eager"
    )
    inputs = embedded.tokenizer("The cat sat.", return_tensors="pt")
    with torch.no_grad():
        expected = eager(**inputs, output_attentions=True).attentions
    weights = embedded.attend("The cat sat.").weights()
    np.testing.assert_allclose(weights, torch.cat(expected).numpy(), atol=SMALL)


@pytest.mark.parametrize("side", ["left", "right", "both"])
@pytest.mark.parametrize(
    "name", [name for name, recipe in zoo.ZOO.items() if recipe.reads != "image"]
)
def test_padding_changes_no_number(name: str, side: str) -> None:
    model = named(name)
    ids = [1, 8, 9, 10, 2]

    def padded(row: list[int]) -> list[list[int]]:
        return [[0, 0, 0] * (side != "right") + row + [0, 0, 0] * (side != "left")]

    given = {"input_ids": padded(ids), "attention_mask": padded([1] * 5)}
    if name in ("t5", "bart"):
        given["decoder_input_ids"] = [[1, 7, 2]]
    found = model.attend(given)
    alone = model.attend({**given, "input_ids": [ids], "attention_mask": [[1] * 5]})
    assert found.tokens == alone.tokens
    for stack in alone.stacks:
        np.testing.assert_allclose(
            found.weights(stack=stack), alone.weights(stack=stack), atol=SMALL
        )
        visible = found.visible(0, 0, stack=stack)
        wanted = alone.visible(0, 0, stack=stack)
        assert (visible is None) == (wanted is None)
        if visible is not None:
            np.testing.assert_array_equal(visible, wanted)


def test_what_has_an_entry_a_token_loses_its_padding() -> None:
    model = named("bert")
    ids = [1, 8, 9, 2, 7, 2]
    types = [0, 0, 0, 0, 1, 1]
    places = [5, 6, 7, 8, 9, 10]
    states = model.hf_model.get_input_embeddings().weight[ids].detach()
    alone = model.attend({"input_ids": [ids], "token_type_ids": [types], "position_ids": [places]})
    given = {
        "inputs_embeds": torch.cat([torch.ones(2, 32), states])[None],
        "token_type_ids": [[0, 0, *types]],
        "position_ids": [[0, 0, *places]],
        "attention_mask": [[0, 0, *[1] * 6]],
    }
    np.testing.assert_allclose(model.attend(given).weights(), alone.weights(), atol=SMALL)
    bart = named("bart")
    source = [1, 8, 9, 2]
    target = [2, 7, 6, 5]
    wanted = bart.attend({"input_ids": [source], "decoder_input_ids": [target]})
    found = bart.attend(
        {
            "input_ids": [[0, 0, *source]],
            "attention_mask": [[0, 0, 1, 1, 1, 1]],
            "decoder_input_ids": [[0, *target, 0]],
            "decoder_attention_mask": [[0, 1, 1, 1, 1, 0]],
        }
    )
    for stack in wanted.stacks:
        np.testing.assert_allclose(
            found.weights(stack=stack), wanted.weights(stack=stack), atol=SMALL
        )


def test_a_batch_is_its_texts(embedded: AttentionModel) -> None:
    texts = ["One.", "Four of them sat there.", "Two.", "Six.", "A longer one, with its comma."]
    for text, attention in zip(texts, embedded.attend_batch(texts), strict=True):
        alone = embedded.attend(text)
        assert attention.stacks["self"].query == alone.stacks["self"].query
        np.testing.assert_allclose(attention.weights(), alone.weights(), atol=SMALL)


def test_batches_of_pairs(embedded: AttentionModel) -> None:
    pairs = embedded.attend_batch(["One two.", "Three."], ["Four.", "Five six seven."])
    alone = embedded.attend("Three.", "Five six seven.")
    assert pairs[1].stacks["self"].query == alone.stacks["self"].query
    np.testing.assert_allclose(pairs[1].weights(), alone.weights(), atol=SMALL)
    assert embedded.attend_batch([]) == []
    with pytest.raises(ValueError, match=naming("one pair", "2")):
        embedded.attend_batch(["a", "b"], ["c"])
    with pytest.raises(TypeError, match=naming("attend_batch", "attend(text)")):
        embedded.attend_batch("a text")


@pytest.mark.parametrize("texts", [["The cat sat.", "It slept."], ["One text."], ("a b", "c d")])
def test_a_list_of_texts_is_asked_about(embedded: AttentionModel, texts: list[str]) -> None:
    with pytest.raises(TypeError, match=naming("texts or words", "attend_batch")):
        embedded.attend(texts)
    with pytest.raises(TypeError, match=naming("pair", "list", "spaces")):
        embedded.attend("One.", texts)
    assert len(embedded.attend(["New York", "is", "big"]).words.tokens) == 5


def test_words_and_ids_are_texts_too(embedded: AttentionModel) -> None:
    text = embedded.attend("the cat sat")
    words = embedded.attend(["the", "cat", "sat"])
    ids = embedded.attend(list(text.stacks["self"].query.ids))
    for other in (words, ids):
        assert other.stacks["self"].query == text.stacks["self"].query
        np.testing.assert_allclose(other.weights(), text.weights(), atol=SMALL)


def test_images_are_patches() -> None:
    attention = load_model(zoo.build("vit")).attend(zoo.inputs("vit", batch=1))
    assert attention.tokens[:3] == ["[CLS]", "r0c0", "r0c1"]
    assert attention.tokens[-1] == "r3c3"
    assert attention.special[:2] == ["cls", ""]


def test_too_long_texts_name_the_limit(embedded: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("602 tokens", "512", "truncate=True")):
        embedded.attend("word " * 600)
    assert len(embedded.attend("word " * 600, truncate=True).tokens) == 512
    assert len(embedded.attend([5] * 600, truncate=True).tokens) == 512
    roberta = load_model(zoo.build("roberta"))
    with pytest.raises(ValueError, match=naming("64 tokens", "62", "truncate=True")):
        roberta.attend([5] * 64)
    assert len(roberta.attend([5] * 62).tokens) == 62
    tokenizer = word_tokenizer()
    tokenizer.model_max_length = 40
    limited = load_model(zoo.build("bert"), tokenizer)
    parts = ("52 tokens", "model_max_length", "40")
    with pytest.raises(ValueError, match=naming(*parts)):
        limited.attend("w1 " * 50)
    limited.tokenizer.model_max_length = 60
    assert len(limited.attend("w1 " * 50).tokens) == 52


def test_max_tokens_replaces_the_stated_limits() -> None:
    tokenizer = word_tokenizer()
    tokenizer.model_max_length = 40
    llama = zoo.build("llama", positions=48)
    with pytest.raises(ValueError, match=naming("40 at most", "max_tokens=...")):
        load_model(llama, tokenizer).attend("w1 " * 50)
    model = load_model(llama, tokenizer, max_tokens=56)
    assert len(model.attend("w1 " * 50).tokens) == 52
    assert len(make_segments(["w1 " * 50], model)) == 1
    with pytest.raises(ValueError, match=naming("62 tokens", "max_tokens of load_model", "56")):
        model.attend("w1 " * 60)
    again = pickle.loads(pickle.dumps(model))
    assert again.length_limit.tokens == 56


def test_max_tokens_cannot_exceed_the_position_vectors() -> None:
    for name, positions in (("bert", 64), ("roberta", 62), ("gpt2", 64), ("opt", 64)):
        model = zoo.build(name)
        assert load_model(model, max_tokens=positions).length_limit.tokens == positions
        with pytest.raises(ValueError, match=naming("max_tokens", f"{positions} positions")):
            load_model(model, max_tokens=positions + 1)
    with pytest.raises(ValueError, match=naming("max_tokens", "got 0")):
        load_model(zoo.build("llama"), max_tokens=0)


@pytest.mark.parametrize("text", ["", "  \n", [], ["a", ""]])
def test_empty_texts_are_refused(embedded: AttentionModel, text: Any) -> None:
    with pytest.raises(ValueError, match=naming("text", "empty")):
        embedded.attend(text)


@pytest.mark.parametrize("text", [3, None, b"bytes", [["a"], ["b"]], [1, "a"]])
def test_other_types_are_refused(embedded: AttentionModel, text: Any) -> None:
    with pytest.raises(TypeError, match=naming("list of words")):
        embedded.attend(text)


def test_wrong_tokenizers_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("1000", "BertForMaskedLM", "belong")):
        load_model(zoo.build("bert"), word_tokenizer(size=1000))
    slightly = load_model(zoo.build("bert"), word_tokenizer(size=200))
    with pytest.raises(ValueError, match=naming("token id 154", "BertForMaskedLM", "98")):
        slightly.attend("w1 w149")
    with pytest.raises(ValueError, match=naming("token id 99", "resize_token_embeddings")):
        slightly.attend([99])
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "load_model(model, tokenizer)")):
        load_model(zoo.build("bert")).attend("a text")


def test_wrong_inputs_are_explained() -> None:
    model = named("bert")
    with pytest.raises(TypeError, match=naming("'pixel_values'", "BertForMaskedLM", "input")):
        model.attend({"pixel_values": torch.zeros(1, 3, 4, 4)})
    with pytest.raises(ValueError, match=naming("attend_batch", "'input_ids'")):
        model.attend({"input_ids": [[1, 2], [1, 2]]})
    with pytest.raises(ValueError, match=naming("input_ids", "empty")):
        model.attend({})
    with pytest.raises(TypeError, match=naming("target", "BertForMaskedLM")):
        model.attend("w1", target="w2")
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "generates")):
        model.generate("w1")


def test_models_whose_maps_cannot_be_read_are_named() -> None:

    config = transformers.LongformerConfig(
        vocab_size=99,
        hidden_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        intermediate_size=48,
        max_position_embeddings=66,
        attention_window=4,
    )
    model = load_model(transformers.LongformerModel(config))
    for ids in ([5, 6, 7, 8], [5] * 9):
        with pytest.raises(ValueError, match=naming("LongformerModel", "attention map")):
            model.attend({"input_ids": [ids]})
    with pytest.raises(TypeError, match=naming("MambaModel", "softmax")):
        load_model(
            transformers.MambaModel(
                transformers.MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=20)
            )
        )


def test_the_training_mode_is_given_back() -> None:
    hf_model = zoo.build("bert").train()
    hf_model.bert.embeddings.eval()
    with load_model(hf_model, word_tokenizer()) as model:
        assert not hf_model.training
        model.attend("w1 w2")
    assert hf_model.training
    assert not hf_model.bert.embeddings.training
    assert hf_model.bert.encoder.training
    with pytest.raises(RuntimeError, match=naming("load_model", "closed")):
        model.attend("w1")


def test_attention_outlives_the_model() -> None:
    with named("llama") as model:
        attention = model.attend("w1 w2 w3")
    assert attention.weights(0, 0).shape == (5, 5)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_encoder_decoders_read_a_target(name: str) -> None:
    model = named(name)
    attention = model.attend("w1 w2 w3 w4", target="w5 w6")
    decoder = attention.stacks["decoder"].query
    assert decoder.raw[1:] == ("[CLS]", "w5", "w6", "[SEP]")
    assert decoder.special[0] == "first"
    cross = attention.stacks["cross"]
    assert (len(cross.query), len(cross.key)) == (5, 6)
    generated = model.attend("w1 w2 w3 w4")
    assert 1 < len(generated.stacks["decoder"].query) <= 41
    np.testing.assert_allclose(
        generated.weights(0, stack="encoder"), attention.weights(0, stack="encoder"), atol=SMALL
    )
    first, second = model.attend_batch(["w1 w2", "w3 w4 w5"])
    assert (len(first.tokens), len(second.tokens)) == (4, 5)


def test_an_encoder_decoder_without_a_head_needs_a_target() -> None:

    whole = zoo.build("t5")
    model = load_model(transformers.T5Model(whole.config), word_tokenizer())
    with pytest.raises(ValueError, match=naming("target=...")):
        model.attend("w1 w2")
    assert len(model.attend("w1 w2", target="w3").stacks) == 3


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bloom"])
def test_generated_maps_are_those_of_every_step(name: str) -> None:
    model = load_model(zoo.build(name), word_tokenizer(template=False))
    attention = model.generate("w1 w2 w3 w4", max_new_tokens=5)
    assert attention.n_prompt == 4
    steps = zoo.build(name).generate(
        input_ids=torch.tensor([[6, 7, 8, 9]]),
        max_new_tokens=5,
        do_sample=False,
        pad_token_id=0,
        output_attentions=True,
        return_dict_in_generate=True,
        cache_implementation=None,
    )
    ids = steps.sequences[0].tolist()
    assert attention.stacks["self"].query.ids == tuple(ids)
    for layer in range(3):
        weights = attention.weights(layer)
        row = 0
        for step in steps.attentions:
            maps = step[layer][0].numpy()  # [H, Q, K], K the last keys in a sliding window
            n_query, n_key = maps.shape[1:]
            seen = row + n_query
            stitched = weights[:, row:seen, seen - n_key : seen]
            np.testing.assert_allclose(stitched, maps, atol=1e-5)
            row = seen
        assert row == len(ids) - 1


def test_generation_respects_the_limit() -> None:
    model = load_model(zoo.build("gpt2"), word_tokenizer(template=False))
    with pytest.raises(ValueError, match=naming("64", "exceed")):
        model.generate("w1 w2", max_new_tokens=63)
    translated = named("bart").generate("w1 w2", max_new_tokens=3)
    assert len(translated.stacks["decoder"].query) <= 4


def test_folders_load_in_the_class_that_their_config_names(tmp_path: Path) -> None:
    zoo.build("bert").save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    model = load_model(tmp_path, device="cpu")
    assert type(model.hf_model).__name__ == "BertForMaskedLM"
    np.testing.assert_allclose(
        model.attend("w1 w2").weights(), named("bert").attend("w1 w2").weights(), atol=SMALL
    )
    vit = tmp_path / "vit"
    zoo.build("vit").save_pretrained(vit)
    assert load_model(vit, device="cpu").tokenizer is None


def test_attention_that_was_never_trained_is_said_at_loading(tmp_path: Path) -> None:
    model = zoo.build("bert")
    word_tokenizer().save_pretrained(tmp_path)
    weights = model.state_dict()
    lost = [key for key in weights if "layer.1.attention.self.query" in key]
    kept = {key: values for key, values in weights.items() if key not in lost}
    model.save_pretrained(tmp_path, state_dict=kept)
    with pytest.warns(UserWarning, match=naming("2 weights", "query", "at random")):
        loaded = load_model(tmp_path, device="cpu")
    assert loaded.random_parts == ("bert.encoder.layer.1.attention.self.query",)
    assert "random weights: bert.encoder.layer.1.attention.self.query" in loaded.attend("w1").note


@pytest.mark.parametrize(("built", "head"), [("bert", "cls.predictions"), ("roberta", "pooler")])
def test_a_head_that_was_never_trained_is_said_at_loading(
    tmp_path: Path, built: str, head: str
) -> None:
    model = zoo.build(built)
    word_tokenizer().save_pretrained(tmp_path)
    weights = model.state_dict()
    model.save_pretrained(
        tmp_path, state_dict={key: v for key, v in weights.items() if not key.startswith(head)}
    )
    with pytest.warns(UserWarning, match=naming("weights", head, "random")):
        loaded = load_model(tmp_path, device="cpu")
    assert all(path.startswith(head) for path in loaded.random_parts) and loaded.random_parts
    attention = loaded.attend("w1 w2")
    assert f"random weights: {head}" in attention.note and head in repr(attention)
    # The attention does not depend on the head.
    np.testing.assert_allclose(
        attention.weights(),
        load_model(model, word_tokenizer()).attend("w1 w2").weights(),
        atol=SMALL,
    )


def test_a_whole_checkpoint_has_no_random_parts(tmp_path: Path) -> None:
    zoo.build("bert").save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = load_model(tmp_path, device="cpu")
    assert model.random_parts == () and model.attend("w1").note == ""


@pytest.mark.slow
def test_a_model_is_called_by_the_last_part_of_its_folder_or_as_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tiny" / "checkpoint-500"
    zoo.build("bert").save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    monkeypatch.chdir(folder)
    for given in (folder, f"{folder}/", ".", "../checkpoint-500"):
        model = load_model(given, device="cpu")
        assert (model.name, model.source) == ("tiny/checkpoint-500", None)
    attention = load_model(folder, name="my BERT", device="cpu").attend("w1 w2 w3")
    assert attention.model_name == "my BERT"
    for drawn in (attention, HeadView(attention), HeadView(attention).caption.to_dict()):
        assert "my BERT" in repr(drawn) and str(tmp_path) not in repr(drawn)
    genre = load_model("attnwidget/genre", device="cpu")
    assert (genre.name, genre.source) == (
        "small BERT for genres (in the package)",
        "attnwidget/genre",
    )
    assert load_model(zoo.build("bert"), name="mine").name == "mine"
    for wrong in (" ", 5):
        with pytest.raises(TypeError, match=naming("name", "'BERT'", f"got {wrong!r}")):
            load_model(name=wrong)


def test_an_unknown_name_says_what_to_do(tmp_path: Path) -> None:
    for name in ("no-such-model-anywhere", tmp_path):
        with pytest.raises(OSError, match=naming("load_model()", "name")) as error:
            load_model(name)
        assert str(name) in str(error.value)
    with pytest.raises(TypeError, match=naming("model", "folder", "int")):
        load_model(3)
    with pytest.raises(TypeError, match=naming("embedded", "leave tokenizer out")):
        load_model(None, word_tokenizer())


def test_pickled_weights_are_not_loaded(tmp_path: Path) -> None:
    model = zoo.build("bert")
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(OSError, match=naming(str(tmp_path), "pytorch_model.bin", "safetensors")):
        load_model(tmp_path)


def test_the_code_of_a_model_runs_only_on_request(tmp_path: Path) -> None:
    model = zoo.build("bert")
    model.save_pretrained(tmp_path)
    word_tokenizer(zoo.VOCABULARY).save_pretrained(tmp_path)
    marker = tmp_path / "ran"
    (tmp_path / "own.py").write_text(
        f"open({str(marker)!r}, 'w').close()\n"
        "from transformers import BertConfig, BertForMaskedLM\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class Own(BertForMaskedLM):\n    config_class = OwnConfig\n"
    )
    config = json.loads((tmp_path / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModelForMaskedLM": "own.Own"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    # A known type is read by the code of transformers.
    assert load_model(tmp_path).n_layers == model.config.num_hidden_layers
    assert not marker.exists()
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "own"}))
    with pytest.raises(ValueError, match=naming("trust_remote_code=True")):
        load_model(tmp_path)
    assert not marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["wrapped", "in place", "its forward"])
@pytest.mark.parametrize("name", ["bert", "bart"])
def test_compiled_models_are_read_as_they_were_written(name: str, form: str) -> None:
    def refuse(graph: Any, inputs: Any) -> Any:
        raise AssertionError("a model was compiled to be read")

    hf_model = zoo.build(name)
    given: Any = hf_model
    if form == "wrapped":
        given = torch.compile(hf_model, backend=refuse)
    elif form == "in place":
        hf_model.compile(backend=refuse)
    else:
        hf_model.forward = torch.compile(hf_model.forward, backend=refuse)
    calls = given.forward, hf_model.forward, hf_model._compiled_call_impl
    model = load_model(given, word_tokenizer())
    plain = named(name)
    assert model.name == type(zoo.build(name)).__name__
    attention = model.attend("w1 w2 w3", loss="auto")
    wanted = plain.attend("w1 w2 w3", loss="auto")
    for stack in wanted.stacks:
        np.testing.assert_allclose(
            attention.weights(stack=stack), wanted.weights(stack=stack), atol=SMALL
        )
        np.testing.assert_allclose(
            attention.gradients(stack=stack), wanted.gradients(stack=stack), atol=SMALL
        )
    assert (given.forward, hf_model.forward, hf_model._compiled_call_impl) == calls
    with pytest.raises(ValueError, match=naming("loss", "one number", "got tensor")):
        model.attend("w1", loss=lambda output: output[0])
    assert (given.forward, hf_model.forward, hf_model._compiled_call_impl) == calls


@pytest.mark.slow
def test_a_compiled_part_of_a_model_is_measured() -> None:
    hf_model = zoo.build("bert")
    hf_model.bert = torch.compile(hf_model.bert, backend="eager")
    found = []
    for model in (load_model(hf_model, word_tokenizer()), named("bert")):
        segments = make_segments(["w1 w2 w3", "w4"], model)
        found.append(measure(model, segments, ["entropy"], progress=False)["entropy"])
    np.testing.assert_array_equal(found[0].entropy, found[1].entropy)
    assert hf_model.bert is hf_model.base_model
    assert type(hf_model.bert).__name__ == "OptimizedModule"


def test_what_takes_no_named_input_is_named() -> None:
    class Parts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            inner = zoo.build("bert").bert
            self.embeddings, self.encoder = inner.embeddings, inner.encoder
            self.config = inner.config
            self.device = torch.device("cpu")

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.encoder(self.embeddings(*args, **kwargs))

        def get_input_embeddings(self) -> Any:
            return self.embeddings.word_embeddings

    with pytest.raises(TypeError, match=naming("Parts", "input_ids, attention_mask")):
        load_model(Parts(), word_tokenizer()).attend("w1")


def test_modules_set_to_train_are_read_without_dropout() -> None:
    hf_model = zoo.build("bert")
    model = load_model(hf_model, word_tokenizer())
    wanted = model.attend("w1 w2 w3", loss="auto")
    modules = list(hf_model.modules())
    for chosen in (hf_model.bert.encoder.layer[1], hf_model):
        chosen.train()
        flags = [module.training for module in modules]
        assert any(flags)
        attention = model.attend("w1 w2 w3", loss="auto")
        np.testing.assert_array_equal(attention.weights(), wanted.weights())
        np.testing.assert_array_equal(attention.gradients(), wanted.gradients())
        assert [module.training for module in modules] == flags
    model.close()
    assert not any(module.training for module in modules)


def test_a_mask_that_hides_everything_is_refused() -> None:
    model = named("bart")
    given = {"input_ids": [[1, 8, 9, 2]], "decoder_input_ids": [[1, 7]]}
    for name, n in (("attention_mask", 4), ("decoder_attention_mask", 2)):
        with pytest.raises(ValueError, match=naming(name, f"all {n} positions")):
            model.attend({**given, name: [[0] * n]})


def test_keys_of_an_earlier_pass_and_empty_inputs_are_refused() -> None:
    model = named("gpt2")
    ids = torch.tensor([[5, 6, 7]])
    keys = model.hf_model(input_ids=ids, use_cache=True).past_key_values
    for name in ("past_key_values", "cache"):
        with pytest.raises(ValueError, match=naming(name, "no ids", "whole text")):
            model.attend({"input_ids": ids, name: keys})
    with pytest.raises(ValueError, match=naming("'input_ids'", "[1, 0]")):
        model.attend({"input_ids": ids[:, :0]})


def test_words_without_tokens_are_named(embedded: AttentionModel) -> None:
    zero_width = "\u200b"
    with pytest.raises(ValueError, match=naming("text", "'\\u200b' (number 2)")):
        embedded.attend(["The", zero_width, "cat"])
    with pytest.raises(ValueError, match=naming("pair", "(number 1)", "(number 3)")):
        embedded.attend(["It"], [zero_width, "slept", zero_width])
    with pytest.raises(ValueError, match=naming("and 2 more", "tokenizer")):
        embedded.attend([zero_width] * 7)
    tokenizer = word_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer()
    with pytest.raises(ValueError, match=naming("target", "'\\u200b'")):
        load_model(zoo.build("t5"), tokenizer).attend("w1", target=["w2", zero_width])
    long = ["word"] * 600
    assert len(embedded.attend(long, truncate=True).tokens) == 512
    with pytest.raises(ValueError, match=naming("(number 3)")):
        embedded.attend([*long[:2], zero_width, *long], truncate=True)
