"""Names of patches: the model is asked which patch each token has read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BertLMHeadModel, VisionEncoderDecoderModel

from attnwidget import load_model, measure_attention
from attnwidget.widgets.explorer.measures import text_metrics
from fixtures import zoo
from refusals import naming
from sweep.small_models import build, inputs_of

PICTURES = {
    "vit": "ViTModel",
    "deit": "DeiTModel",
    "beit": "BeitModel",
    "dinov2_with_registers": "Dinov2WithRegistersModel",
    "yolos": "YolosModel",
    "videomae": "VideoMAEModel",
    "vivit": "VivitModel",
    "vit_mae": "ViTMAEModel",
}
EXTRA = {
    "vit": (["[CLS]"], []),
    "deit": (["[CLS]", "[DIST]"], []),
    "beit": (["[CLS]"], []),
    "dinov2_with_registers": (["[CLS]", "[REG1]", "[REG2]", "[REG3]", "[REG4]"], []),
    "yolos": (["[CLS]"], ["[DET1]", "[DET2]", "[DET3]"]),
    "videomae": ([], []),
    "vivit": (["[CLS]"], []),
    "vit_mae": (["[CLS]"], []),
}


def named_place(pixels: Tensor, name: str) -> Tensor:
    """The pixels of a patch by its name, as a view; patches have 4 x 4 pixels and 2 frames."""
    frame, _, rest = name.rpartition("r")
    row, column = map(int, rest.split("c"))
    part = pixels[..., 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
    time = int(frame[1:]) if frame else 0
    return part[:, 2 * time : 2 * time + 2] if pixels.ndim == 5 else part


@pytest.mark.parametrize("kind", PICTURES)
def test_a_token_with_the_name_of_a_patch_changes_with_that_patch_alone(kind: str) -> None:
    model = build(kind, PICTURES[kind])
    inputs = inputs_of(model)
    names = load_model(model).attend(inputs).tokens
    before, after = EXTRA[kind]
    assert names[: len(before)] == before and names[len(names) - len(after) :] == after
    patches = names[len(before) : len(names) - len(after)]
    assert len(set(patches)) == len(patches) > 8
    first: list[Tensor] = []

    def keep(_: Any, given: tuple[Tensor, ...]) -> None:
        first.append(given[0][0])

    layer = next(m for path, m in model.named_modules() if path.endswith(("layer.0", "layers.0")))
    layer.register_forward_pre_hook(keep)
    with torch.no_grad():
        model(**inputs)
        for name in patches[::3]:
            pixels = inputs["pixel_values"].clone()
            named_place(pixels, name).add_(1.0)
            model(**inputs | {"pixel_values": pixels})
            changed = (first[-1] - first[0]).abs().amax(-1) > 1e-4
            assert [names[i] for i in changed.nonzero()[:, 0].tolist()] == [name]


def test_shuffled_patches_have_the_names_of_their_places() -> None:
    model = build("vit_mae", "ViTMAEModel")
    inputs = inputs_of(model)
    order = inputs["noise"][0].argsort().tolist()
    names = load_model(model).attend(inputs).tokens[1:]
    assert names == [f"r{patch // 4}c{patch % 4}" for patch in order[: len(names)]]
    other = inputs | {"noise": inputs["noise"].flip(1)}
    assert load_model(model).attend(other).tokens[1:] != names


def altered_vit(alter: Callable[[Tensor], Tensor]) -> Any:
    """A ViT whose embeddings a hook changes before the first layer."""
    model = build("vit", "ViTModel")
    embeddings = next(m for m in model.modules() if type(m).__name__ == "ViTEmbeddings")
    embeddings.register_forward_hook(lambda _, __, states: alter(states))
    return model


def test_an_unknown_order_of_tokens_is_asked_of_the_model() -> None:
    model = altered_vit(lambda states: states.flip(1))
    names = load_model(model).attend(inputs_of(model)).tokens
    assert names[:2] == ["r3c3", "r3c2"]
    assert names[-2:] == ["r0c0", "[16]"], "nothing says that the last token is a class token"


def test_tokens_that_mix_patches_have_no_names() -> None:
    model = altered_vit(lambda states: states + states.roll(1, 1))
    attention = load_model(model).attend(inputs_of(model))
    assert attention.tokens == [str(i) for i in range(17)]
    assert not attention.stacks["self"].query.is_line


def test_the_picture_of_an_encoder_decoder_has_names_too() -> None:
    encoder = build("vit", "ViTModel")
    decoder = build("bert", "BertLMHeadModel").config
    decoder.is_decoder = decoder.add_cross_attention = True
    model = VisionEncoderDecoderModel(encoder=encoder, decoder=BertLMHeadModel(decoder))
    inputs = inputs_of(encoder) | {"decoder_input_ids": torch.arange(30, 47)[None]}
    assert inputs["decoder_input_ids"].shape[1] == 17, "as many as the picture has tokens"
    stacks = load_model(model.eval()).attend(inputs).stacks
    assert stacks["cross"].query.text[:2] == ("30", "31")
    assert stacks["encoder"].query.text[:2] == stacks["cross"].key.text[:2] == ("[CLS]", "r0c0")


def skip_towers_of_transformers_4(kind: str) -> None:
    """Skip a small model of two towers, whose configuration is made of two configurations."""
    if zoo.TRANSFORMERS_4 and kind in ("clip", "qwen2_vl"):
        pytest.skip("configurations of Transformers 4 are not made of configurations")


ALONG_A_LINE = ["position", "patterns", "position_content", "induction"]
RASTERS = [
    ("vit", "ViTModel", "self"),
    ("videomae", "VideoMAEModel", "self"),
    ("audio-spectrogram-transformer", "ASTModel", "self"),
    ("clip", "CLIPModel", "vision"),
    ("qwen2_vl", "Qwen2VLForConditionalGeneration", "vision"),
    ("detr", "DetrModel", "decoder"),
]


@pytest.mark.parametrize(("kind", "name", "stack"), RASTERS)
def test_distances_along_a_line_are_not_measured_over_a_picture(
    kind: str, name: str, stack: str
) -> None:
    skip_towers_of_transformers_4(kind)
    model = build(kind, name)
    attention = load_model(model).attend(inputs_of(model))
    for metric in ALONG_A_LINE:
        with pytest.raises(ValueError, match=naming(metric, stack, "'entropy'")):
            measure_attention(attention, ["entropy", metric], stack=stack)
    measured = measure_attention(attention, ["entropy", "confidence", "sinks"], stack=stack)
    assert set(measured.heads())
    assert "mean distance" not in text_metrics(attention)[stack]


def test_distances_are_measured_over_texts_and_sounds() -> None:
    skip_towers_of_transformers_4("clip")
    clip = build("clip", "CLIPModel")
    assert measure_attention(load_model(clip).attend(inputs_of(clip)), ["position"]).heads()
    sound = build("wav2vec2", "Wav2Vec2Model")
    attention = load_model(sound).attend(inputs_of(sound))
    assert measure_attention(attention, ["position"]).heads()
    assert attention.words.stacks["self"].query.is_line
    words = load_model(clip).attend(inputs_of(clip)).words
    assert not words.stacks["vision"].query.is_line
