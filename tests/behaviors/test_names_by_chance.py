"""Models without anything learned get no names: random weights of any sharpness, and rounding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from attnwidget import AttentionModel, load_model, make_segments, read_segments
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.matched_sharpness import (
    EXPONENTS,
    entropies_over_ids,
    entropies_over_texts,
    matching_exponents,
    read_maps,
)
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.behaviors.shuffled_model import shuffled_like
from attnwidget.demo import demo_prose
from attnwidget.mechanisms.copying import copying_scores
from fixtures import planted_circuit as planted
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import VOCABULARY

QUIET: dict[str, Any] = {"progress": False, "batch_size": 8}


def random_bert(model: AttentionModel, seed: int, scale: float) -> AttentionModel:
    """Return a model with random weights, whose scores are `scale` squared times as large."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(model.tokenizer),
        hidden_size=48,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=128,
    )
    made = BertForMaskedLM(config).eval()
    with torch.no_grad():
        for layer in made.bert.encoder.layer:
            layer.attention.self.query.weight.mul_(scale)
            layer.attention.self.key.weight.mul_(scale)
    return load_model(made, model.tokenizer, device="cpu")


def random_gpt2(seed: int, scale: float) -> AttentionModel:
    """Return a causal model whose fused projection of queries, keys and values is scaled."""
    torch.manual_seed(seed)
    config = GPT2Config(n_layer=2, n_head=4, n_embd=48, vocab_size=VOCABULARY, bos_token_id=0)
    made = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for block in made.transformer.h:
            block.attn.c_attn.weight.mul_(scale)
    return load_model(made, word_tokenizer(template=False), device="cpu")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scale", [1, 5, 20, 60])
def test_few_of_twenty_models_with_random_weights_have_a_name_at_any_sharpness(
    model: AttentionModel, scale: float
) -> None:
    texts = read_segments(demo_prose(), model, max_tokens=48, limit=24)
    named = 0
    for seed in range(20):
        random = random_bert(model, seed, scale)
        found = measure_behaviors(random, texts, treebank=(), n_random_models=2, seed=seed, **QUIET)
        named += bool((found.names != "").any())
    assert named <= 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_few_sharp_causal_models_with_random_weights_have_a_name() -> None:
    named = 0
    behaviors = [
        "previous token",
        "rests on the first token",
        "duplicate token",
        "induction",
        "rare words",
    ]
    for seed in range(10):
        random = random_gpt2(seed, 15)
        draw = np.random.default_rng(seed)
        words = [" ".join(f"w{i}" for i in draw.integers(0, 60, 30)) for _ in range(24)]
        texts = make_segments(words, random)
        found = measure_behaviors(
            random, texts, behaviors, treebank=(), n_random_models=2, seed=seed, **QUIET
        )
        assert set(found.behaviors) == set(behaviors)
        named += bool((found.names != "").any())
    assert named <= 1


def entropies(maps: np.ndarray) -> np.ndarray:
    return -(maps * np.log(np.maximum(maps, 1e-30))).sum(-1).mean(-1)


def test_random_maps_are_as_sharp_as_the_maps_of_the_model(model: AttentionModel) -> None:
    segments = make_segments(["The captain told his men to wait.", "It was a cold night."], model)
    shuffled = shuffled_like(model, seed=3)
    exponents = matching_exponents(
        entropies_over_texts(model, segments, 2)[0],
        entropies_over_texts(shuffled, segments, 2, EXPONENTS),
    )
    assert exponents.shape == (6, 12) and (exponents > 0).all()
    ids = [[2, *model.tokenizer.convert_tokens_to_ids(list(s.first)), 3] for s in segments]
    from_ids = matching_exponents(
        entropies_over_ids(model, ids)[0], entropies_over_ids(shuffled, ids, EXPONENTS)
    )
    asked = np.mean([entropies(model.attend(one).weights()) for one in ids], 0)
    flat = np.mean([entropies(shuffled.attend(one).weights()) for one in ids], 0)
    matched = np.mean([entropies(read_maps(shuffled, one, from_ids)) for one in ids], 0)
    np.testing.assert_allclose(matched, asked, atol=0.1)
    assert np.abs(flat - asked).max() > 1.5


def test_shuffled_weights_are_the_weights_in_another_order(model: AttentionModel) -> None:
    before = model.hf_model.state_dict()
    after = shuffled_like(model, seed=1).hf_model.state_dict()
    again = shuffled_like(model, seed=1).hf_model.state_dict()
    for name in ("query.weight", "key.bias", "value.weight"):
        name = f"bert.encoder.layer.2.attention.self.{name}"
        assert not torch.equal(before[name], after[name])
        assert torch.equal(
            before[name].flatten().sort().values, after[name].flatten().sort().values
        )
        assert torch.equal(after[name], again[name])
    for name in ("word_embeddings", "position_embeddings", "LayerNorm"):
        name = f"bert.embeddings.{name}.weight"
        assert torch.equal(before[name], after[name])


def by_hand(name: str, score: float, control: float, **options: Any) -> BehaviorScore:
    """Return a behavior of two heads: one with these numbers, and one without an excess."""
    scores = np.array([[score, control]])
    controls = np.array([[control, control]])
    return BehaviorScore(
        name=name,
        description=name,
        source="this test",
        control_name="control",
        score=scores,
        control=controls,
        low=scores - controls - 1e-9,
        high=scores - controls + 1e-9,
        p=np.array([[1e-13, 1.0]]),
        n=20,
        unit="text",
        held_out=scores,
        held_out_control=controls,
        held_out_n=20,
        auc=np.full((1, 2), np.nan),
        **options,
    )


def table_of(*scores: BehaviorScore) -> BehaviorTable:
    return BehaviorTable(scores, {}, 0.05, 0.25, 20, model_name="by hand")


@pytest.mark.parametrize(
    ("score", "control"), [(1.0000001, 0.9999999), (1.0, 1 - 1e-9), (0.97, 0.94), (1.00001, 1.0)]
)
def test_a_small_excess_over_a_large_control_is_no_name(score: float, control: float) -> None:
    rounded = by_hand("within sentence", score, control)
    assert (rounded.strength <= 1).all()
    with_itself = by_hand("current token", 1.0, 0.0)
    found = table_of(rounded, with_itself)
    assert found.names.tolist() == [["current token", ""]]
    assert found.runners_up.tolist() == [["", ""]]


@pytest.mark.parametrize("held_out", [(0.5, 0.52), (0.5, 0.49), (np.nan, np.nan)])
def test_a_name_needs_an_excess_in_the_held_out_half(held_out: tuple[float, float]) -> None:
    found = by_hand("previous token", 0.6, 0.1)
    assert table_of(found).names[0, 0] == "previous token"
    score, control = (np.full((1, 2), value) for value in held_out)
    contradicted = replace(found, held_out=score, held_out_control=control)
    assert table_of(contradicted).names.tolist() == [["", ""]]
    assert not table_of(contradicted).to_frame()["names"].any()


def test_strengths_are_at_most_one() -> None:
    assert by_hand("previous token", 1.0000002, 0.1).strength.max() == 1
    assert by_hand("previous token", 0.8, 0.6).strength[0, 0] == pytest.approx(0.5)


def test_a_behavior_of_attention_names_a_head_before_copying() -> None:
    induction = by_hand("induction", 0.4, 0.05)
    in_random_tokens = by_hand("induction (random tokens)", 0.35, 0.02)
    copying = by_hand("copying", 1.0, 0.05, writes=True)
    resting = by_hand("rests on the first token", 0.9, 0.1, resting=True)
    found = table_of(copying, resting, induction, in_random_tokens)
    assert found.names[0, 0] == "induction" and found.runners_up[0, 0] == "copying"
    alone = table_of(resting, copying)
    assert alone.names[0, 0] == "copying" and alone.runners_up[0, 0] == "rests on the first token"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_induction_model_has_induction_heads() -> None:
    behaviors = ["previous token", "induction", "repeated random tokens", "copying"]
    model = load_model("attnwidget/induction")
    found = measure_behaviors(model, behaviors=behaviors, treebank=(), progress=False)
    names = found.names[1].tolist()
    assert sum(name.startswith("induction") for name in names) >= 2
    for head, name in enumerate(names):
        if name.startswith("induction"):
            assert found.runners_up[1, head] == "copying"
    assert found.names[0, 1] == "previous token"


@pytest.mark.parametrize("sign", [1, -1])
def test_a_head_that_ignores_what_it_reads_does_not_copy(sign: int) -> None:
    """The head reads what all tokens have in common, and promotes or suppresses five of them."""
    made = planted.planted_llama()
    attention = made.model.layers[1].self_attn
    size = attention.head_dim
    with torch.no_grad():
        attention.v_proj.weight[:size].zero_()
        attention.v_proj.weight[0, -1] = 1  # the last number of every embedding is 1
        first_logit = made.lm_head.weight.argmax(-1)
        attention.o_proj.weight[:, :size].zero_()
        for token in (3, 4, 5, 6, 7):
            attention.o_proj.weight[first_logit[token], 0] = sign * (10 - token)
    found = copying_scores(load_model(made, device="cpu"), names=list(range(1, 16)), top=5)
    of_head, of_others = (
        (found.copying, found.copying_of_others)
        if sign > 0
        else (found.suppression, found.suppression_of_others)
    )
    assert of_head[1, 0] == pytest.approx(5 / 15)
    assert of_others[1, 0] == pytest.approx(5 / 15)
    copies = found.copying[planted.INDUCTION]
    assert copies == 1 and found.copying_of_others[planted.INDUCTION] < 0.4
