"""Inputs that tokenizers and processors write beside the ids: read equal, with right names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from attnwidget import AttentionModel, load_model
from fixtures import zoo
from fixtures.vocabularies import MAKERS
from refusals import naming

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
}
PICTURE = torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)
WORDS = "The cat sat on the mat"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return MAKERS["wordpiece"]()


def encoded(tokenizer: Any) -> dict[str, Tensor]:
    return dict(tokenizer(WORDS, return_tensors="pt"))


def boxes(n_tokens: int) -> Tensor:
    numbers = torch.arange(n_tokens, dtype=torch.long)[:, None]
    return torch.cat([numbers, numbers, numbers + 9, numbers + 5], dim=1)[None]


def made(hf_model: Any, tokenizer: Any) -> AttentionModel:
    return load_model(hf_model.eval(), tokenizer)


def assert_equal_maps(model: AttentionModel, inputs: dict[str, Tensor], stack: str) -> None:
    attention = model.attend(inputs)
    model.hf_model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model.hf_model(**inputs, output_attentions=True)
    expected = output.encoder_attentions if stack == "encoder" else output.attentions
    for layer, maps in enumerate(expected):
        shown = attention.weights(layer, stack=stack)
        assert np.abs(shown - maps[0].numpy()).max() <= 1e-5


def table() -> tuple[Any, dict[str, Tensor]]:
    torch.manual_seed(0)
    config = transformers.TapasConfig(**SIZES, vocab_size=200)
    ids = torch.tensor([[2, 5, 6, 3, 7, 8, 9, 10]])
    types = torch.zeros(1, 8, 7, dtype=torch.long)
    types[0, 4:, 0] = 1
    types[0, 4:, 1] = torch.tensor([1, 2, 1, 2])
    types[0, 4:, 2] = torch.tensor([1, 1, 2, 2])
    inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": torch.ones_like(ids)}
    return transformers.TapasModel(config), inputs


def page_with_words(tokenizer: Any) -> tuple[Any, dict[str, Tensor]]:
    torch.manual_seed(0)
    config = transformers.LayoutLMv3Config(
        **SIZES,
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        coordinate_size=4,
        shape_size=8,
        input_size=32,
        patch_size=16,
    )
    inputs = encoded(tokenizer)
    inputs.pop("token_type_ids", None)
    inputs |= {"bbox": boxes(inputs["input_ids"].shape[1]), "pixel_values": PICTURE}
    return transformers.LayoutLMv3Model(config), inputs


def test_the_types_of_a_table_are_read() -> None:
    hf_model, inputs = table()
    model = made(hf_model, None)
    assert_equal_maps(model, inputs, "self")
    with_tokenizer = made(hf_model, MAKERS["wordpiece"]()).attend(inputs)
    segments = with_tokenizer.stacks["self"].query.segments
    assert segments == (0, 0, 0, 0, 1, 1, 1, 1), "the question and the table"


@pytest.mark.parametrize(("shape", "expected"), [((1, 8), "[1, 8, 7]"), ((1, 8, 5), "[1, 8, 7]")])
def test_types_of_another_shape_are_refused_with_the_right_one(
    shape: tuple[int, ...], expected: str
) -> None:
    hf_model, inputs = table()
    inputs["token_type_ids"] = torch.zeros(shape, dtype=torch.long)
    with pytest.raises(
        ValueError, match=naming("token_type_ids", f"must have the shape {expected}")
    ):
        made(hf_model, None).attend(inputs)


def test_a_reference_has_the_types_boxes_and_pictures_of_its_input(tokenizer: Any) -> None:
    for hf_model, inputs in (table(), page_with_words(tokenizer)):
        model = made(hf_model, tokenizer)
        of_dict, of_attention = (
            model.disabled((1, 2), method="mean", reference=reference)
            for reference in (inputs, model.attend(inputs))
        )
        other = {**inputs, "input_ids": inputs["input_ids"].flip(1)}
        with of_dict:
            wanted = model.hf_model(**other)[0]
        with of_attention:
            found = model.hf_model(**other)[0]
        assert torch.equal(found, wanted)


def test_words_beside_a_page_have_names(tokenizer: Any) -> None:
    hf_model, inputs = page_with_words(tokenizer)
    model = made(hf_model, tokenizer)
    assert_equal_maps(model, inputs, "self")
    tokens = model.attend(inputs).stacks["self"].query
    words = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    assert list(tokens.raw[: len(words)]) == words
    # The model adds a token of its own before the patches.
    assert tokens.text[len(words) :] == (f"[{len(words)}]", "r0c0", "r0c1", "r1c0", "r1c1")
    assert tokens.to_words().text[1:3] == ("The", "cat")
    assert not tokens.are_along_line


@pytest.mark.parametrize("kind", ["layoutlm", "lilt", "bros", "markuplm"])
def test_words_with_places_of_their_own_have_names(kind: str, tokenizer: Any) -> None:
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": len(tokenizer), "max_position_embeddings": 64}
    inputs = encoded(tokenizer)
    ids = inputs["input_ids"]
    n = ids.shape[1]
    if kind == "layoutlm":
        hf_model = transformers.LayoutLMModel(transformers.LayoutLMConfig(**sizes))
        inputs["bbox"] = boxes(n)
    elif kind == "lilt":
        sizes |= {"hidden_size": 48, "channel_shrink_ratio": 2}
        hf_model = transformers.LiltModel(transformers.LiltConfig(**sizes))
        inputs["bbox"] = boxes(n)
    elif kind == "bros":
        sizes |= {"hidden_size": 128, "bbox_scale": 1.0}
        hf_model = transformers.BrosModel(transformers.BrosConfig(**sizes))
        inputs["bbox"] = boxes(n).float() / 100
    else:
        hf_model = transformers.MarkupLMModel(transformers.MarkupLMConfig(**sizes))
        inputs["xpath_tags_seq"] = torch.full((1, n, 50), 216)
        inputs["xpath_subs_seq"] = torch.full((1, n, 50), 1001)
    model = made(hf_model, tokenizer)
    assert_equal_maps(model, inputs, "self")
    assert list(model.attend(inputs).tokens) == tokenizer.convert_ids_to_tokens(ids[0])


def test_regions_and_words_have_names(tokenizer: Any) -> None:
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": len(tokenizer), "max_position_embeddings": 64}
    config = transformers.VisualBertConfig(**sizes, visual_embedding_dim=16)
    inputs = encoded(tokenizer) | {"visual_embeds": torch.linspace(0, 1, 48).reshape(1, 3, 16)}
    model = made(transformers.VisualBertModel(config), tokenizer)
    assert_equal_maps(model, inputs, "self")
    words = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    assert list(model.attend(inputs).tokens) == [*words, "region 0", "region 1", "region 2"]


def test_regions_of_a_tower_have_names(tokenizer: Any) -> None:
    torch.manual_seed(0)
    layers = {"l_layers": 2, "r_layers": 2, "x_layers": 1}
    sizes = {name: size for name, size in SIZES.items() if name != "num_hidden_layers"}
    config = transformers.LxmertConfig(
        **sizes, **layers, vocab_size=len(tokenizer), visual_feat_dim=16
    )
    inputs = encoded(tokenizer)
    features = torch.linspace(0, 1, 48).reshape(1, 3, 16)
    inputs |= {"visual_feats": features, "visual_pos": torch.zeros(1, 3, 4)}
    attention = made(transformers.LxmertModel(config), tokenizer).attend(inputs)
    words = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    assert list(attention.stacks["self"].query.text) == words
    assert attention.stacks["vision"].query.text == ("region 0", "region 1", "region 2")


def test_words_have_names_where_some_of_them_have_the_id_of_padding(tokenizer: Any) -> None:
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": len(tokenizer), "max_position_embeddings": 64}
    hf_model = transformers.VisualBertModel(
        transformers.VisualBertConfig(**sizes, visual_embedding_dim=16)
    )
    ids = [7, 7, hf_model.config.pad_token_id, 7]
    inputs = {"input_ids": torch.tensor([ids]), "visual_embeds": torch.ones(1, 2, 16)}
    tokens = made(hf_model, tokenizer).attend(inputs).tokens
    assert list(tokens) == [*tokenizer.convert_ids_to_tokens(ids), "region 0", "region 1"]


def test_words_after_a_picture_have_names(tokenizer: Any) -> None:
    torch.manual_seed(0)
    vision = {**SIZES, "image_size": 32, "patch_size": 16}
    config = transformers.GitConfig(**SIZES, vocab_size=len(tokenizer), vision_config=vision)
    inputs = encoded(tokenizer)
    inputs.pop("token_type_ids", None)
    attention = made(transformers.GitForCausalLM(config), tokenizer).attend(
        {**inputs, "pixel_values": PICTURE}
    )
    words = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    assert list(attention.stacks["self"].query.raw[5:]) == words


def test_patches_that_a_processor_has_cut_out_have_names() -> None:
    torch.manual_seed(0)
    text = {"vocab_size": 60, "hidden_size": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2}
    vision = {"hidden_size": 32, "patch_embed_hidden_size": 48, "d_ff": 32, "d_kv": 8}
    config = transformers.Pix2StructConfig(
        text_config={**text, "num_heads": 4, "decoder_start_token_id": 0},
        vision_config={**vision, "num_hidden_layers": 2, "num_attention_heads": 4, "seq_len": 8},
    )
    hf_model = transformers.Pix2StructForConditionalGeneration(config)
    processor = transformers.Pix2StructImageProcessor(
        patch_size={"height": 4, "width": 4}, is_vqa=False
    )
    picture = np.random.default_rng(0).integers(0, 255, (40, 24, 3)).astype(np.uint8)
    written = processor(picture, max_patches=8, return_tensors="pt")
    inputs = {**written, "decoder_input_ids": torch.tensor([[0, 5, 6]])}
    attention = made(hf_model, None).attend(inputs)
    hf_model.set_attn_implementation("eager")
    with torch.no_grad():
        expected = hf_model(**inputs, output_attentions=True).encoder_attentions
    count = int(inputs["attention_mask"].sum())
    # Transformers 4 returns position biases in the place of the weights.
    for layer, maps in enumerate(() if zoo.TRANSFORMERS_4 else expected):
        shown = attention.weights(layer, stack="encoder")
        assert np.abs(shown - maps[0, :, :count, :count].numpy()).max() <= 1e-5
    names = attention.stacks["encoder"].query.text
    assert names == ("r0c0", "r0c1", "r1c0", "r1c1", "r2c0", "r2c1") and count == 6
    assert attention.stacks["cross"].key.text == names
