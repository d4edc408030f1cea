"""The spans of a sound that tokens of speech models have, tested by silence in the sound."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

from attnwidget import load_model
from attnwidget.results import Span
from fixtures.speech_models import whisper_model

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
#: Convolutions of the real models, with few channels.
CONV = {"conv_dim": (16,) * 7, "num_conv_pos_embedding_groups": 4}
RATE = 16000


def made(model_class, config, extractor):
    torch.manual_seed(0)
    return load_model(model_class(config), extractor)


@pytest.fixture(scope="module")
def whisper():
    return whisper_model(5)


@pytest.fixture(scope="module")
def wav2vec2():
    config = transformers.Wav2Vec2Config(**SIZES, **CONV)
    return made(transformers.Wav2Vec2Model, config, transformers.Wav2Vec2FeatureExtractor())


@pytest.fixture(scope="module")
def hubert():
    config = transformers.HubertConfig(**SIZES, **CONV)
    return made(transformers.HubertModel, config, transformers.Wav2Vec2FeatureExtractor())


@pytest.fixture(scope="module")
def ast():
    config = transformers.ASTConfig(**SIZES, max_length=512)
    extractor = transformers.ASTFeatureExtractor(max_length=512)
    return made(transformers.ASTModel, config, extractor)


def noise(seconds):
    return (0.1 * np.random.default_rng(1).standard_normal(round(seconds * RATE))).astype("f")


def centers(tokens):
    return np.array([(p.start + p.end) / 2 for p in tokens.places if isinstance(p, Span)])


def test_tokens_of_whisper_are_centered_at_multiples_of_20_ms(whisper):
    attention = whisper.attend(audio=(noise(2.0), RATE), target=[5, 6])
    tokens = attention.stacks["encoder"].key
    spans = [place for place in tokens.places if place is not None]
    assert len(spans) == 101
    assert np.allclose(centers(tokens)[1:-1], 0.02 * np.arange(1, 100), atol=1e-9)
    assert spans[0].start == 0
    assert spans[-1].end <= 2.0
    assert tokens.special[120] == "padding"
    assert tokens.places[120] is None
    assert attention.stacks["cross"].key.places == tokens.places
    assert attention.stacks["decoder"].key.places == ()
    assert tokens.text[50] == "1.00 s"


def test_tokens_of_raw_samples_have_the_stride_of_the_convolutions(wav2vec2, hubert):
    for model in (wav2vec2, hubert):
        attention = model.attend(audio=(noise(4.0), RATE))
        tokens = attention.stacks["self"].key
        claimed = (320 * np.arange(len(tokens)) + 200) / RATE
        assert np.allclose(centers(tokens), claimed, atol=1e-9)
        assert "mixes tokens up to 1.28 s apart" in attention.note


def test_patches_of_a_spectrogram_have_times_and_frequencies(ast):
    attention = ast.attend(audio=(noise(3.0), RATE))
    tokens = attention.stacks["self"].key
    assert tokens.special[:3] == ("cls", "register", "")
    assert tokens.places[0] is None
    steps = (512 - 16) // 10 + 1
    assert len(tokens) == 2 + 12 * steps
    low, high = tokens.places[2], tokens.places[2 + 11 * steps]
    assert low.start == high.start
    assert low.high < high.low
    assert np.isclose(high.high, 7510, atol=60)
    # A patch of 16 frames of 10 ms begins with the first frame of 25 ms.
    middles = centers(tokens)[: steps // 2][:20]
    assert np.allclose(middles, 0.0875 + 0.1 * np.arange(20), atol=1e-9)
    assert tokens.special[2 + 40] == "padding"


@pytest.mark.parametrize("name", ["whisper", "wav2vec2"])
def test_silence_in_a_span_changes_its_token_most(name, request):
    model = request.getfixturevalue(name)
    target = {"target": [5, 6]} if name == "whisper" else {}
    sound = noise(3.0)
    stack = "encoder" if name == "whisper" else "self"
    tokens = model.attend(audio=(sound, RATE), **target).stacks[stack].key
    first = next(
        module for path, module in model.hf_model.named_modules() if path.endswith("k_proj")
    )

    def states(samples):
        seen = []
        hook = first.register_forward_pre_hook(lambda _, args: seen.append(args[0][0].double()))
        try:
            model.attend(audio=(samples, RATE), **target)
        finally:
            hook.remove()
        return seen[-1].numpy()

    base = states(sound)
    for token in (20, 60, 100, 130):
        place = tokens.places[token]
        silent = sound.copy()
        silent[round((place.start - 0.02) * RATE) : round((place.end + 0.02) * RATE)] = 0
        moved = np.linalg.norm(states(silent) - base, axis=-1)
        near = np.arange(len(moved))
        window = np.where(np.abs(near - token) <= 4, moved, 0) ** 2
        assert abs(int(moved.argmax()) - token) <= 1
        assert abs((window * near).sum() / window.sum() - token) < 0.5


def test_a_sound_that_is_cut_is_told(whisper):
    attention = whisper.attend(audio=(noise(7.0), RATE), target=[5, 6])
    assert "the model reads the first 5.0 s of 7.0 s" in attention.note


def test_a_short_sound_has_the_same_times(wav2vec2):
    attention = wav2vec2.attend(audio=(noise(0.06), RATE))
    middles = centers(attention.stacks["self"].key)
    assert np.allclose(middles, [0.0125, 0.0325], atol=1e-9)


def test_tensors_without_a_sound_have_no_times(wav2vec2):
    inputs = wav2vec2.processor(noise(1.0), sampling_rate=RATE, return_tensors="pt")
    assert wav2vec2.attend(dict(inputs)).stacks["self"].key.places == ()


def test_no_further_pass_of_the_extractor_finds_the_times(wav2vec2):
    calls = []
    extractor = wav2vec2.inputs.processor.sounds
    original = type(extractor).__call__

    def counted(self, *given, **options):
        calls.append(1)
        return original(self, *given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(extractor), "__call__", counted)
        attention = wav2vec2.attend(audio=(noise(4.25), RATE))
    assert len(calls) == 1
    assert 4.2 < attention.stacks["self"].key.places[-1].end <= 4.25


def test_squeezed_tokens_are_centered_between_the_frames_that_they_are_made_of():
    config = transformers.SEWConfig(
        **SIZES, conv_dim=(16,) * 13, num_conv_pos_embedding_groups=4, squeeze_factor=2
    )
    model = made(transformers.SEWModel, config, transformers.Wav2Vec2FeatureExtractor())
    attention = model.attend(audio=(noise(2.0), RATE))
    tokens = attention.stacks["self"].key
    assert np.allclose(centers(tokens), 0.0225 + 0.04 * np.arange(len(tokens)), atol=1e-9)


def test_data2vec_states_the_number_of_its_convolutions_of_positions():
    config = transformers.Data2VecAudioConfig(**SIZES, **CONV)
    model = made(transformers.Data2VecAudioModel, config, transformers.Wav2Vec2FeatureExtractor())
    note = model.attend(audio=(noise(2.0), RATE)).note
    assert "mixes tokens up to 0.90 s apart" in note


def test_a_model_without_stated_strides_has_no_times_and_says_so():
    config = transformers.MoonshineConfig(
        hidden_size=32,
        intermediate_size=32,
        encoder_num_hidden_layers=1,
        decoder_num_hidden_layers=1,
        encoder_num_attention_heads=4,
        decoder_num_attention_heads=4,
        vocab_size=60,
    )
    extractor = transformers.Wav2Vec2FeatureExtractor()
    model = made(transformers.MoonshineForConditionalGeneration, config, extractor)
    attention = model.attend(audio=(noise(2.0), RATE), target=[5, 6])
    assert attention.stacks["encoder"].key.places == ()
    assert "have no times in the sound: its configuration states no strides" in attention.note


def test_strides_that_do_not_give_the_tokens_of_the_model_give_no_times(ast):
    config = ast.hf_model.config
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "time_stride", 11)
        attention = ast.attend(audio=(noise(3.0), RATE))
    assert attention.stacks["self"].key.places == ()
    assert "its strides give" in attention.note
