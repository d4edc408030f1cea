"""The spans of a sound that tokens of an audio language model have, tested by silence."""

from __future__ import annotations

import numpy as np
import pytest
import transformers

from attnwidget import HeadView, load_model
from attnwidget.results import Span
from fixtures import zoo
from fixtures.speech_models import audio_language_model, voxtral_model
from refusals import naming

if zoo.TRANSFORMERS_4:
    pytest.skip("configurations are not made of configurations", allow_module_level=True)

RATE = 16000
QUESTION = "<|audio_bos|><|AUDIO|><|audio_eos|> what is it"


def noise(seconds):
    return (0.1 * np.random.default_rng(1).standard_normal(round(seconds * RATE))).astype("f")


@pytest.fixture(scope="module")
def model():
    return audio_language_model()


@pytest.fixture(scope="module")
def attention(model):
    return model.attend(QUESTION, audio=(noise(2.0), RATE))


def test_words_stand_beside_tokens_of_40_ms(attention):
    assert attention.note == ""
    tokens = attention.stacks["self"].key
    spans = [place for place in tokens.places if place is not None]
    assert len(spans) == 50 and all(isinstance(span, Span) for span in spans)
    middles = np.array([(span.start + span.end) / 2 for span in spans[1:-1]])
    assert np.allclose(middles, 0.04 * np.arange(1, 49) + 0.01, atol=1e-9)
    assert spans[0].start == 0 and spans[-1].end == pytest.approx(2, abs=0.02)
    assert tokens.text[2:4] == ("0.01 s", "0.05 s")
    assert tokens.text[-3:] == ("what", "is", "it")
    assert tokens.places[:2] == (None, None) and tokens.places[-4:] == (None,) * 4
    assert tokens.words[2:4] == (0, 1) and tokens.words[-3:] == (50, 51, 52)
    assert tokens.raw[2] == "<|AUDIO|>", "the vocabulary entry stays"


def test_silence_in_a_span_changes_its_token_most(model, attention):
    places = attention.stacks["self"].key.places
    layer = model.hf_model.model.language_model.layers[0]
    tower = model.hf_model.model.audio_tower.layers[0].self_attn.out_proj
    kept = tower.weight.detach().clone(), tower.bias.detach().clone()

    def states(samples):
        seen = []
        hook = layer.register_forward_pre_hook(
            lambda _, args, named: seen.append((args or [named["hidden_states"]])[0][0].double()),
            with_kwargs=True,
        )
        for parameter in (tower.weight, tower.bias):  # no token of the tower reads another one
            parameter.data.zero_()
        try:
            model.attend(QUESTION, audio=(samples, RATE))
        finally:
            hook.remove()
            tower.weight.data, tower.bias.data = kept
        return seen[0].numpy()

    base = states(noise(2.0))
    for token in (6, 20, 40):
        silent = noise(2.0)
        span = places[token]
        silent[round(span.start * RATE) : round(span.end * RATE)] = 0
        moved = np.linalg.norm(states(silent) - base, axis=-1)
        assert int(moved.argmax()) == token
        assert moved[[0, 1, -1, -2, -3, -4]].max() == 0


def test_the_view_opens_on_the_sound(attention):
    view = HeadView(attention)
    assert view.mode == "places" and "from it" in str(view.caption.text())
    view.close()


def test_two_sounds_have_a_note(model):
    sounds = [(noise(1.0), RATE), (noise(1.0), RATE)]
    attention = model.attend(f"{QUESTION} {QUESTION}", audio=sounds)
    assert "the tokens of 'self' have no times in the sound: several sounds" in attention.note
    assert attention.stacks["self"].key.places == ()


def test_a_spectrogram_of_a_short_window_has_times():
    config = transformers.ASTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_length=128,
    )
    extractor = transformers.ASTFeatureExtractor(max_length=128)
    model = load_model(transformers.ASTModel(config), extractor)
    attention = model.attend(audio=(noise(0.9), RATE))
    spans = [place for place in attention.stacks["self"].key.places if place is not None]
    assert "boxes" not in attention.note and len(spans) == 12 * 9
    assert spans[8].end == pytest.approx(0.9, abs=0.04)


def test_voxtral_hears_tokens_of_80_ms_beside_the_ids_of_a_text():
    ids = [1, *[98] * 50, 5, 6, 7]
    attention = voxtral_model().attend({"input_ids": [ids]}, audio=(noise(2.0), RATE))
    assert attention.note == ""
    assert len(attention.stacks["audio"].key) == 200
    places = attention.stacks["self"].key.places
    spans = [place for place in places if place is not None]
    assert places[0] is None and places[-3:] == (None,) * 3
    middles = np.array([(span.start + span.end) / 2 for span in spans[1:-1]])
    assert np.allclose(middles, 0.08 * np.arange(1, 24) + 0.03, atol=1e-9)
    assert spans[-1].end == pytest.approx(2, abs=0.05)
    assert attention.stacks["self"].key.special[len(spans) + 1 : 51] == ("padding",) * (
        50 - len(spans)
    )


def test_a_processor_that_leaves_the_sound_out_is_refused(model):
    class WithoutSound(type(model.processor)):
        def __call__(self, text, **_):
            return self.tokenizer(text, return_tensors="pt")

    parts = (model.processor.feature_extractor, model.processor.tokenizer)
    deaf = load_model(model.hf_model, WithoutSound(*parts))
    with pytest.raises(ValueError, match=naming("WithoutSound", "audio=")):
        deaf.attend(QUESTION, audio=(noise(1.0), RATE))
