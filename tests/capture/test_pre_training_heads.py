"""Classes for pre-training: the same answers as of the class for masked words, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, MinimalPair, Segment, ablate, load_model
from attnwidget.interventions import gradient_effects, measure_minimal_pairs
from attnwidget.mechanisms import logit_lens
from fixtures.vocabularies import wordpiece
from refusals import naming

TEXT = "the [MASK] sat ."
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
PAIRS: dict[str, dict[str, int]] = {
    "Bert": {},
    "Albert": {"embedding_size": 16},
    "Ernie": {},
    "MegatronBert": {},
    "MobileBert": {"embedding_size": 16, "intra_bottleneck_size": 32, "true_hidden_size": 32},
}


def both(family: str) -> tuple[AttentionModel, AttentionModel]:
    """Return a model for pre-training and the model for masked words with the same weights."""
    tokenizer = wordpiece()
    options: dict[str, Any] = SIZES | PAIRS[family] | {"vocab_size": len(tokenizer)}
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**options)
    words = getattr(transformers, f"{family}ForMaskedLM")(config)
    whole = getattr(transformers, f"{family}ForPreTraining")(config)
    found = whole.load_state_dict(words.state_dict(), strict=False)
    assert not found.unexpected_keys, found
    return load_model(whole, tokenizer), load_model(words, tokenizer)


@pytest.mark.parametrize("family", PAIRS)
def test_a_class_for_pre_training_predicts_the_words_of_the_class_for_masked_words(
    family: str,
) -> None:
    whole, words = both(family)
    answers, expected = whole.predict(TEXT), words.predict(TEXT)
    assert answers.task == "masked" and answers.positions == expected.positions
    np.testing.assert_allclose(answers.log_probabilities, expected.log_probabilities, atol=1e-5)
    gradients = whole.attend("the cat sat .", loss="auto")
    same = words.attend("the cat sat .", loss="masked")
    assert gradients.loss is not None and same.loss is not None
    assert gradients.loss.name == "masked-LM"
    assert gradients.loss.value == pytest.approx(same.loss.value, abs=1e-5)
    np.testing.assert_allclose(gradients.gradients(1), same.gradients(1), atol=1e-6)


def test_studies_of_answers_read_a_class_for_pre_training() -> None:
    whole, words = both("Bert")
    pairs = [MinimalPair("the cat sat .", "the dog sat ."), MinimalPair("a cat .", "a dog .")]
    results = []
    segment = Segment(whole.tokenizer.tokenize("the cat sat ."))
    for model in (whole, words):
        tokens = model.tokenizer.get_vocab()
        answer, rival = sorted(token for token in tokens if token.isalpha())[:2]
        attention = model.attend(TEXT)
        effects = gradient_effects(attention, answer, rival, with_total=True)
        scores = measure_minimal_pairs(model, pairs, progress=False)
        off = ablate(model, pairs, scoring="minimal pair", progress=False)
        losses = ablate(model, [segment], scoring="loss", progress=False)
        results.append(
            [
                effects.effects,
                effects.total,
                logit_lens(attention).log_probabilities,
                scores.good,
                scores.bad,
                off.head_scores,
                losses.head_scores,
            ]
        )
    for first, second in zip(*results, strict=True):
        assert np.isfinite(first).all()
        np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ElectraForPreTraining", "replaced"),
        ("SplinterForPreTraining", "no head"),
    ],
)
def test_other_tasks_of_pre_training_are_refused_by_name(name: str, reason: str) -> None:
    tokenizer = wordpiece()
    made = getattr(transformers, name)
    options: dict[str, Any] = SIZES | {"vocab_size": len(tokenizer)}
    options["question_token_id"] = tokenizer.mask_token_id  # of Splinter
    model = load_model(made(made.config_class(**options)), tokenizer)
    with pytest.raises(TypeError, match=naming(name, reason)):
        model.predict(TEXT)
    with pytest.raises(TypeError, match=naming(name, "loss=")):
        model.attend(TEXT, loss="auto")
