"""Pictures and sounds as inputs of models, prepared by their processors."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from scipy.io import wavfile

from attnwidget import load_model
from attnwidget.results import Sound
from fixtures.speech_models import whisper_model
from refusals import naming

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
RANDOM = np.random.default_rng(0)
PICTURE = RANDOM.integers(0, 256, (20, 30, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def vit():
    torch.manual_seed(0)
    config = transformers.ViTConfig(**SIZES, image_size=32, patch_size=8)
    hf_model = transformers.ViTForImageClassification(config)
    return load_model(hf_model, transformers.ViTImageProcessor(size={"height": 32, "width": 32}))


@pytest.fixture(scope="module")
def whisper():
    return whisper_model(2)


class TagProcessor:
    """A processor that writes a tag per picture, as those of vision-language models do."""

    chat_template = "given"
    image_token = "<image>"

    def __init__(self, image_processor):
        self.image_processor = image_processor
        self.tokenizer = load_model().tokenizer
        self.calls = []

    def apply_chat_template(self, messages, *, tokenize, add_generation_prompt, **options):
        assert tokenize is False
        parts = [
            self.image_token if part["type"] == "image" else part["text"]
            for message in messages
            for part in message["content"]
        ]
        return f"{' '.join(parts)}{' assistant' if add_generation_prompt else ''}"

    def __call__(self, *, text, images, return_tensors):
        self.calls.append((text, [image.size for image in images]))
        pixels = self.image_processor(images=images, return_tensors=return_tensors)
        words = self.tokenizer(text[0].replace(self.image_token, "[UNK]"), return_tensors="pt")
        return {**words, **pixels, "unknown_to_the_model": torch.zeros(1)}


@pytest.fixture(scope="module")
def tagged(vit):
    """A BERT that takes pictures beside a text, and ignores them."""
    bert = copy.deepcopy(load_model().hf_model)

    def forward(input_ids=None, attention_mask=None, pixel_values=None):
        return type(bert).forward(bert, input_ids=input_ids, attention_mask=attention_mask)

    bert.forward = forward
    return load_model(bert, TagProcessor(vit.processor))


def test_a_picture_is_prepared_by_the_processor(vit, tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "noise.png")
    pixels = vit.processor(images=[Image.fromarray(PICTURE)], return_tensors="pt")
    expected = vit.attend(dict(pixels)).weights(1, 2)
    path = str(tmp_path / "noise.png")
    for picture in (PICTURE, PICTURE[None], Image.fromarray(PICTURE), [PICTURE], path):
        attention = vit.attend(images=picture)
        assert np.array_equal(attention.weights(1, 2), expected)
        assert np.array_equal(attention.images[0], PICTURE)


def test_the_picture_stays_when_the_input_is_read_again(vit):
    attention = vit.attend(images=PICTURE)
    assert np.array_equal(attention.disabled([(0, 1)]).images[0], PICTURE)
    assert str(attention.made_by) == "load_model(model, processor).attend(images=images)"
    classes = vit.predict(images=PICTURE).to_frame()
    assert len(classes) == 2


def test_a_model_with_a_processor_is_pickled(vit):
    received = pickle.loads(pickle.dumps(vit))
    assert np.array_equal(
        received.attend(images=PICTURE).weights(0, 0), vit.attend(images=PICTURE).weights(0, 0)
    )


def test_a_folder_brings_its_processor(vit, tmp_path):
    vit.hf_model.save_pretrained(tmp_path)
    vit.processor.save_pretrained(tmp_path)
    loaded = load_model(tmp_path)
    assert type(loaded.processor) is type(vit.processor)
    assert loaded.attend(images=PICTURE).images[0].shape == (20, 30, 3)
    beside = load_model(copy.deepcopy(vit.hf_model), tmp_path)
    assert type(beside.processor) is type(vit.processor)


def test_an_object_around_a_model_brings_its_processor(vit):
    pipeline = SimpleNamespace(model=copy.deepcopy(vit.hf_model), image_processor=vit.processor)
    assert load_model(pipeline).processor is vit.processor


def test_options_of_the_pass_stand_beside_pixels(vit):
    inputs = {"interpolate_pos_encoding": True, "pixel_values": torch.zeros(1, 3, 48, 32)}
    assert len(vit.attend(inputs).tokens) == 1 + 6 * 4
    large = np.zeros((48, 32, 3))
    attention = vit.attend({"interpolate_pos_encoding": True}, images=large)
    assert len(attention.tokens) == 17


def test_a_sound_is_resampled_and_read(whisper, tmp_path):
    samples = np.sin(np.arange(8000) / 5).astype(np.float32)
    wavfile.write(tmp_path / "tone.wav", 8000, (samples * 32767).astype(np.int16))
    attention = whisper.attend(audio=(samples, 8000), target=[5, 6])
    assert attention.audio[0].seconds == 1
    assert attention.audio[0].rate == 8000
    of_file = whisper.attend(audio=str(tmp_path / "tone.wav"), target=[5, 6])
    difference = of_file.weights(0, 1, stack="cross") - attention.weights(0, 1, stack="cross")
    assert np.abs(difference).max() < 1e-3
    same = whisper.attend(audio=Sound(samples, 8000), target=[5, 6])
    assert np.array_equal(
        same.weights(0, 1, stack="encoder"), attention.weights(0, 1, stack="encoder")
    )


def test_a_text_gets_the_placeholders_of_its_pictures(tagged):
    tagged.attend("What is this?", images=[PICTURE])
    tagged.attend("<image> What?", images=[PICTURE])
    tagged.attend(
        [
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": "Yes"},
        ],
        images=[PICTURE],
    )
    sizes = [(30, 20)]
    assert tagged.processor.calls == [
        (["<image> What is this? assistant"], sizes),
        (["<image> What?"], sizes),
        (["<image> Hi Yes"], sizes),
    ]


def test_messages_may_hold_their_pictures(tagged):
    message = {"role": "user", "content": [{"type": "image", "image": PICTURE}]}
    attention = tagged.attend([message])
    assert np.array_equal(attention.images[0], PICTURE)
    with pytest.raises(ValueError, match=naming("1 picture,", "apart")):
        tagged.attend([message], images=PICTURE)
    with pytest.raises(ValueError, match=naming("'https://a.b/c.png'", "fetched")):
        tagged.attend(
            [{"role": "user", "content": [{"type": "image", "image": "https://a.b/c.png"}]}]
        )


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda vit: vit.attend(), TypeError, ("nothing", "images=...")),
        (
            lambda vit: vit.attend(images=[PICTURE, PICTURE]),
            ValueError,
            ("one picture", "ViTForImageClassification", "2"),
        ),
        (lambda vit: vit.attend(PICTURE), TypeError, ("images=...", "by name")),
        (lambda vit: vit.attend(Image.fromarray(PICTURE)), TypeError, ("picture", "images=...")),
        (lambda vit: vit.attend((np.zeros(800), 8000)), TypeError, ("audio=...", "by name")),
        (lambda vit: vit.attend(audio=([0.0], 8000)), ValueError, ("reads no sounds",)),
        (lambda vit: vit.attend("Hi", images=PICTURE), ValueError, ("load_model", "tokenizer")),
        (lambda vit: vit.attend(audio=[0.0, 1.0]), TypeError, ("sampling rate",)),
        (
            lambda vit: load_model(vit.hf_model).attend(images=PICTURE),
            ValueError,
            ("has no processor",),
        ),
    ],
)
def test_inputs_that_cannot_be_prepared_are_refused(vit, call, error, parts: tuple[str, ...]):
    with pytest.raises(error, match=naming(*parts)):
        call(vit)


@pytest.mark.parametrize(
    ("sound", "parts"),
    [
        ((np.zeros((2, 80)), 8000), ("[2, 80]", "channels")),
        ((np.zeros(0), 8000), ("samples", "[0]")),
        ((np.array([np.nan]), 8000), ("NaN",)),
        ((np.zeros(8), 0), ("rate", "0")),
    ],
)
def test_what_is_no_sound_is_refused(whisper, sound, parts: tuple[str, ...]):
    with pytest.raises(ValueError, match=naming(*parts)):
        whisper.attend(audio=sound)


def test_sounds_are_read_one_at_a_time(whisper):
    sound = (np.zeros(800), 8000)
    with pytest.raises(
        ValueError, match=naming("one sound", "WhisperForConditionalGeneration", "2")
    ):
        whisper.attend(audio=[sound, sound], target=[5])


def test_a_mask_of_the_frames_of_a_sound_cuts_no_token(whisper):
    # Whisper reads the silence after a sound, and its processor can tell where the silence begins.
    extractor = whisper.inputs.processor.given
    made = extractor(
        np.sin(np.arange(8000) / 9),
        sampling_rate=16_000,
        return_tensors="pt",
        return_attention_mask=True,
    )
    assert not made["attention_mask"].all()
    masked = whisper.attend(dict(made), target=[5, 6])
    alone = whisper.attend({"input_features": made["input_features"]}, target=[5, 6])
    for stack in ("encoder", "cross"):
        weights = masked.weights(0, 0, stack=stack)
        assert weights.shape == alone.weights(0, 0, stack=stack).shape
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        np.testing.assert_array_equal(weights, alone.weights(0, 0, stack=stack))


def test_the_token_after_a_transcript_is_predicted(whisper):
    samples = np.sin(np.arange(16000) / 5).astype(np.float32)
    written = {"decoder_input_ids": torch.tensor([[3, 5, 6]])}
    heard = whisper.processor(samples, sampling_rate=16000, return_tensors="pt")
    with torch.no_grad():
        logits = whisper.hf_model(input_features=heard.input_features, **written).logits[0, -1]
    expected = logits.softmax(-1).max().item()
    for given, sound in ((written, (samples, 16000)), ({**heard, **written}, None)):
        predicted = whisper.predict(given, audio=sound)
        assert predicted.positions == (3,)
        assert predicted.to_frame()["probability"].iloc[0] == pytest.approx(expected, rel=1e-3)


def test_the_text_of_a_speech_model_is_its_target(whisper):
    with pytest.raises(TypeError, match=naming("target=...")):
        whisper.attend("Hello", audio=(np.zeros(800), 8000))


def test_a_model_of_pictures_says_how_to_pass_one(vit, whisper):
    for model in (vit, whisper):
        with pytest.raises(TypeError, match=naming("in place of texts", "images=...", "audio=...")):
            model.attend("dog.png")
        with pytest.raises(TypeError, match=naming("images=...", "place")):
            model.attend([1, 2, 3])
        with pytest.raises(TypeError, match=naming("in place of texts", "images=...", "audio=...")):
            model.attend_batch([PICTURE])


def test_a_model_of_texts_refuses_pictures():
    with pytest.raises(ValueError, match=naming("picture", "images=...")):
        load_model().predict(PICTURE)
    with pytest.raises(TypeError, match=naming("BertForMaskedLM", "texts", "sounds")):
        load_model().attend(images=PICTURE)
