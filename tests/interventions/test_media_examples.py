"""Studies of heads over pictures and sounds: against loops, in batches, and what they refuse."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, Head, ablate, load_model
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.projection import projection_of
from attnwidget.demo import drawn_shapes
from attnwidget.interventions import head_importance, patch_heads, patch_path
from attnwidget.interventions.examples import encode_examples
from fixtures.speech_models import whisper_model
from fixtures.vision_language import llava_model
from refusals import naming

DRAWN = drawn_shapes(4, seed=11)
LABELLED = list(zip(DRAWN.images, DRAWN.names, strict=True))
SOUND = np.random.default_rng(0).normal(0, 0.1, 16000).astype(np.float32)
SPOKEN = [((SOUND, 16000), [7, 8, 9]), ({"audio": (SOUND[:9000], 16000)}, [7, 8])]

run = partial(ablate, scoring="loss", progress=False)


@pytest.fixture(scope="module")
def shapes() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


@pytest.fixture(scope="module")
def llava() -> AttentionModel:
    return llava_model()


@pytest.fixture(scope="module")
def whisper() -> AttentionModel:
    return whisper_model(1)


def asked(model: AttentionModel) -> tuple[list[Any], str]:
    word = sorted(model.tokenizer.get_vocab())[40]
    rows = [{"image": picture, "text": "what color"} for picture in DRAWN.images[:2]]
    return [(row, word) for row in rows], word


def test_labels_of_pictures_are_those_of_a_loop(shapes: AttentionModel) -> None:
    heads = [(0, 0), (1, 1)]
    found = run(shapes, LABELLED, heads=heads)
    assert found.complete and not found.note and found.stack == "self"
    for layer, head in heads:
        with shapes.disabled((layer, head)):
            after = [shapes.predict(images=picture) for picture in DRAWN.images]
        wanted = [
            -np.log(one.probability(name)) for one, name in zip(after, DRAWN.names, strict=True)
        ]
        np.testing.assert_allclose(found.head_scores[layer, head], wanted, atol=1e-5)
    by_number = list(zip(DRAWN.images, DRAWN.labels, strict=True))
    again = run(shapes, by_number, heads=heads, batch_size=1)
    np.testing.assert_allclose(again.head_scores, found.head_scores, atol=1e-5)
    assert len(again.examples) == 4 and again.examples[0] is by_number[0]


@pytest.mark.parametrize("stack", [None, "vision"])
def test_words_about_pictures_are_those_of_a_loop(llava: AttentionModel, stack: Any) -> None:
    examples, word = asked(llava)
    found = run(llava, examples, stack=stack, heads=[(1, 2)])
    name = "self" if stack is None else stack
    with llava.disabled(Head(1, 2, name)):
        after = [llava.predict(row["text"], images=row["image"]) for row, _ in examples]
    wanted = [-np.log(one.probability(word)) for one in after]
    np.testing.assert_allclose(found.head_scores[1, 2], wanted, atol=1e-5)
    assert found.stack == name
    assert ("vision" in repr(found)) == (stack == "vision")
    alone = run(llava, examples, stack=stack, heads=[(1, 2)], batch_size=1)
    np.testing.assert_allclose(alone.head_scores, found.head_scores, atol=1e-5)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_written_words_are_those_of_a_loop(whisper: AttentionModel, stack: str) -> None:
    found = run(whisper, SPOKEN, stack=stack, heads=[(0, 1)])
    with whisper.disabled(Head(0, 1, stack)):
        wanted = [loss_of_words(whisper, *example) for example in SPOKEN]
    np.testing.assert_allclose(found.head_scores[0, 1], wanted, atol=1e-5)
    intact = [loss_of_words(whisper, *example) for example in SPOKEN]
    np.testing.assert_allclose(found.intact, intact, atol=1e-5)


def loss_of_words(model: AttentionModel, sound: Any, target: list[int]) -> float:
    audio = sound["audio"] if isinstance(sound, dict) else sound
    inputs = model.processor(audio[0], sampling_rate=16000, return_tensors="pt")
    ids = torch.tensor([[3, *target]])
    with torch.no_grad():
        logits = model.hf_model(**inputs, decoder_input_ids=ids).logits[0, :-1]
    return float(torch.nn.functional.cross_entropy(logits, ids[0, 1:]))


def test_importance_is_the_derivative_by_a_factor_of_the_head(shapes: AttentionModel) -> None:
    found = head_importance(shapes, LABELLED[:2], progress=False)
    factors = torch.ones(4, 4, requires_grad=True)
    projections = [projection_of(shapes.hf_model, site) for site in find_sites(shapes.hf_model)]
    hooks = [
        projection.register_forward_pre_hook(partial(scaled, factor))
        for projection, factor in zip(projections, factors, strict=True)
    ]
    sums = torch.zeros(4, 4)
    for picture, label in LABELLED[:2]:
        inputs = shapes.processor(images=picture, return_tensors="pt")
        answers = shapes.hf_model(**inputs).logits.log_softmax(-1)[0]
        (change,) = torch.autograd.grad(answers[shapes.hf_model.config.label2id[label]], factors)
        sums += change.abs() / 2
    for hook in hooks:
        hook.remove()
    np.testing.assert_allclose(found.raw, sums, rtol=1e-3, atol=1e-5)
    assert found.n_examples == 2


def scaled(factors: torch.Tensor, _: object, arguments: tuple[torch.Tensor]) -> Any:
    return ((arguments[0].unflatten(-1, (4, -1)) * factors[:, None]).flatten(-2),)


def test_a_layer_that_is_not_read_has_no_importance(llava: AttentionModel) -> None:
    """The language model reads the tower before its last layer."""
    examples, _ = asked(llava)
    found = head_importance(llava, examples, stack="vision", progress=False)
    assert found.raw.shape == (3, 4) and (found.raw[:2] > 0).all() and not found.raw[2].any()
    text = head_importance(llava, examples, variant="released", progress=False)
    assert text.raw.shape == (2, 4) and (text.raw > 0).all()
    assert "vision" in str(found.chart().to_dict()["title"])


def test_importance_of_heads_that_hear(whisper: AttentionModel) -> None:
    found = head_importance(whisper, SPOKEN, stack="cross", progress=False)
    assert found.raw.shape == (1, 4) and (found.raw > 0).all() and found.stack == "cross"
    losses = [loss_of_words(whisper, *example) for example in SPOKEN]
    assert found.loss == pytest.approx(np.mean(losses), abs=1e-5)


def test_the_mean_over_pictures_stands_in_for_a_head(shapes: AttentionModel) -> None:
    reference = list(DRAWN.images[:2])
    found = run(shapes, LABELLED[2:], heads=[(1, 1)], reference=reference)
    with shapes.disabled((1, 1), reference=reference):
        after = [shapes.predict(images=picture) for picture in DRAWN.images[2:]]
    names = DRAWN.names[2:]
    wanted = [-np.log(one.probability(name)) for one, name in zip(after, names, strict=True)]
    np.testing.assert_allclose(found.head_scores[1, 1], wanted, atol=1e-5)
    assert found.method == "mean"
    with shapes.disabled((1, 1), method="patch", reference=DRAWN.images[0]) as patched:
        assert "patched from “picture”" in patched.name


def test_pictures_without_labels_have_a_divergence(shapes: AttentionModel) -> None:
    found = ablate(shapes, DRAWN.images[:2], scoring="kl", heads=[(0, 0)], progress=False)
    assert (found.head_scores[0, 0] > 0).all()
    with pytest.raises(ValueError, match=naming("scoring", "label")):
        run(shapes, DRAWN.images)


def test_sounds_have_a_class() -> None:
    model = whisper_model(1, transformers.WhisperForAudioClassification)
    found = run(model, [((SOUND, 16000), "LABEL_1")], heads=[(0, 0)])
    predicted = model.predict(audio=(SOUND, 16000))
    assert found.intact[0] == pytest.approx(-np.log(predicted.probability("LABEL_1")), abs=1e-5)


def test_what_does_not_fit_is_refused_by_name(
    shapes: AttentionModel, llava: AttentionModel, whisper: AttentionModel
) -> None:
    with pytest.raises(ValueError, match=naming("'red dog'", "'red circle'")):
        run(shapes, [(DRAWN.images[0], "red dog")])
    with pytest.raises(ValueError, match=naming("MinimalPair", "several")):
        run(shapes, [LABELLED[0], ("a text", "red circle")])
    with pytest.raises(ValueError, match=naming("example 0", "LlavaForConditionalGeneration")):
        run(llava, [(DRAWN.images[0], 5)])
    with pytest.raises(ValueError, match=naming("label 5", "WhisperForConditionalGeneration")):
        run(whisper, [((SOUND, 16000), 5)], stack="cross")
    with pytest.raises(ValueError, match=naming("'encoder'", "'decoder'", "'cross'", "stack=...")):
        run(whisper, SPOKEN)
    with pytest.raises(
        ValueError,
        match=naming("LlavaForConditionalGeneration", "'vision'", "'self'", "'audio'", "stack=..."),
    ):
        run(llava, asked(llava)[0], stack="audio")
    with pytest.raises(ValueError, match=naming("vision L0 H0", "'self'")):
        run(llava, asked(llava)[0], heads=[Head(0, 0, "vision")])
    with pytest.raises(
        TypeError, match=naming("WhisperForConditionalGeneration", "stack", "encoder-decoder")
    ):
        run(whisper, [("a text", "b")], stack="cross")


def test_examples_of_one_shape_share_a_batch(shapes: AttentionModel) -> None:
    encoded = encode_examples(shapes, LABELLED)
    assert {example.encoded.n_tokens for example in encoded} == {65}
    assert len({repr(example.encoded) for example in encoded}) == 4
    assert "array" not in repr(encoded[0])


def test_outputs_of_heads_move_from_picture_to_picture(shapes: AttentionModel) -> None:
    clean = LABELLED[0]
    corrupted = next(example for example in LABELLED if example[1] != clean[1])
    found = patch_heads(shapes, clean, corrupted, heads=[(1, 1), (2, 0)], progress=False)
    wanted = [name for _, name in (clean, corrupted)]
    for layer, head in [(1, 1), (2, 0)]:
        with shapes.disabled((layer, head), method="patch", reference=clean[0]):
            after = shapes.predict(images=corrupted[0])
        difference = np.log(after.probability(wanted[0]) / after.probability(wanted[1]))
        assert found.head_scores[layer, head, 0] == pytest.approx(difference, abs=1e-4)
    assert found.tokens[:2] == ("[CLS]", "r0c0") and len(found.tokens) == 65
    by_token = patch_heads(
        shapes, [clean], [corrupted], heads=[(3, 0)], by_position=True, progress=False
    )
    frame = by_token.to_frame("positions")
    assert len(frame) == 65 and frame["token"][0] == "[CLS]"
    # Only the last layer's [CLS] is read by the classifier.
    assert np.abs(frame["difference"][1:]).max() < 1e-5 < abs(frame["difference"][0])


def test_a_word_about_one_picture_moves_to_another(llava: AttentionModel) -> None:
    (clean, corrupted), word = asked(llava)
    other = sorted(llava.tokenizer.get_vocab())[50]
    pair = (clean[0], word), (corrupted[0], other)
    for stack, size in ((None, (2, 4)), ("vision", (3, 4))):
        found = patch_heads(llava, *pair, stack=stack, progress=False)
        assert found.head_scores.shape == (*size, 1) and np.isfinite(found.head_scores).all()
    assert not np.allclose(found.layer_scores[:2], found.base) and "vision" in repr(found)
    # The language model reads the tower before its last layer.
    np.testing.assert_allclose(found.layer_scores[2], found.base, atol=1e-5)


def test_pairs_of_pictures_have_as_many_tokens(
    llava: AttentionModel, whisper: AttentionModel
) -> None:
    (clean, corrupted), word = asked(llava)
    longer = {**corrupted[0], "text": "what color is the circle"}
    with pytest.raises(ValueError, match=naming("pair 0", "size")):
        patch_heads(llava, clean, (longer, word), "loss", progress=False)
    first, second = (((SOUND * factor, 16000), [7, 8]) for factor in (1, 2))
    with pytest.raises(ValueError, match=naming("pair 0", "answers")):
        patch_heads(whisper, first, second, "loss", stack="cross", progress=False)
    with pytest.raises(TypeError, match=naming("patch_heads", "paths", "pictures")):
        patch_path(llava, clean, (corrupted[0], 3), (0, 0), (1, 0))
    found = patch_heads(whisper, (first[0], [7]), (second[0], [9]), stack="encoder", progress=False)
    assert found.head_scores.shape == (1, 4, 1) and found.layer_scores[0] != found.base
