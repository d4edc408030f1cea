"""The causal model of the package: its sizes, its heads, and the steps of its training."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import attnwidget
from attnwidget import AttentionModel, load_model
from attnwidget.demo import induction_checkpoints
from attnwidget.mechanisms import head_composition
from attnwidget.metrics import induction_scores
from attnwidget.results import InductionResult
from causal_batches import repeated_once
from refusals import naming
from train_induction import REPEATED, token_losses

FOLDER = Path(attnwidget.__file__).parent / "demo" / "induction"


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    return load_model("attnwidget/induction", device="cpu")


@pytest.fixture(scope="module")
def scores(causal: AttentionModel) -> InductionResult:
    return induction_scores(causal, progress=False)


def test_the_files_are_small() -> None:
    weights = list(FOLDER.glob("step*/model.safetensors"))
    assert 10 <= len(weights) <= 14
    assert all(path.stat().st_size < 400_000 for path in weights)
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 4_000_000


def test_the_model_has_rotary_positions_and_grouped_keys(causal: AttentionModel) -> None:
    assert type(causal.hf_model).__name__ == "LlamaForCausalLM"
    assert (causal.n_layers, causal.n_heads) == (2, 4)
    assert causal.hf_model.config.num_key_value_heads == 2
    assert causal.source == "attnwidget/induction" and causal.name.startswith("two-layer Llama")
    assert causal.hf_model.dtype == torch.float32
    assert causal.attend("The man saw her.").tokens == ["[BOS]", "the", "man", "saw", "her", "."]


def test_its_texts_end_where_its_positions_end(causal: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("201 tokens", "128")):
        causal.attend("the " * 200)
    assert len(causal.generate("The man said to her", max_new_tokens=5).tokens) == 11


def test_it_has_a_previous_token_head_and_induction_heads(scores: InductionResult) -> None:
    """Thresholds leave a wide gap to the numbers of the model card, and to other heads."""
    assert scores.previous[0].max() > 0.5
    assert scores.induction[1].max() > 0.5
    assert scores.induction[0].max() < 0.2


def test_the_previous_token_head_feeds_the_keys_of_the_induction_head(
    causal: AttentionModel, scores: InductionResult
) -> None:
    found = head_composition(causal, 1, int(scores.induction[1].argmax()))
    assert int(np.nanargmax(found.key[0])) == int(scores.previous[0].argmax())


def losses_of(model: AttentionModel) -> tuple[float, float]:
    """Mean loss of random tokens when they come first, and when they are repeated."""
    names = np.setdiff1d(np.arange(len(model.tokenizer)), model.tokenizer.all_special_ids)
    start = model.tokenizer.bos_token_id
    ids = repeated_once(names, start, length=REPEATED, n_sequences=8, seed=1)
    with torch.no_grad():
        losses = token_losses(model.hf_model, ids).mean(0)
    return float(losses[:REPEATED].mean()), float(losses[REPEATED + 1 :].mean())


@pytest.mark.slow
def test_induction_comes_with_the_training() -> None:
    steps = induction_checkpoints()
    assert [step for step, _ in steps] == sorted(step for step, _ in steps)
    assert steps[0][0] == 0
    second = []
    induction = []
    for _, load in steps:
        model = load()
        first_loss, second_loss = losses_of(model)
        second.append(second_loss)
        induction.append(induction_scores(model, n_sequences=2, progress=False).induction.max())
    assert second[0] == pytest.approx(np.log(len(model.tokenizer)), abs=1)
    assert induction[0] < 0.1, "random weights have no induction head"
    assert second[-1] < second[0] - 2.5 and second[-1] < first_loss - 3
    falls = np.corrcoef(second, induction)[0, 1]
    assert falls < -0.9, "the loss of repeated tokens falls as induction rises"


@pytest.mark.parametrize(
    ("word", "following"), [("her", "was"), ("they", "not"), ("said", "which")]
)
def test_what_followed_a_word_before_is_predicted(
    causal: AttentionModel, word: str, following: str
) -> None:
    before = causal.predict(f"He had {word}").probability(following)
    text = f"And {word} {following} to the one with him. He had {word}"
    assert causal.predict(text).probability(following) > 10 * before


def test_steps_have_names_and_unknown_steps_are_named() -> None:
    (first, load), *_, (last, load_last) = induction_checkpoints()
    assert load().name == "two-layer Llama (in the package), step0"
    assert load().source is None, "a source stands for the last step"
    whole = load_model("attnwidget/induction", device="cpu")
    assert torch.equal(load_last().hf_model.lm_head.weight, whole.hf_model.lm_head.weight)
    with pytest.raises(ValueError, match=naming("'main'", "'step0'", f"'step{last}'")):
        load_model("attnwidget/induction", revision="main")
    with pytest.raises(ValueError, match=naming("'embedded'", "'main'", "revision")):
        load_model("embedded", revision="main")
    assert first == 0


def test_a_checkpoint_goes_to_other_processes() -> None:
    model = pickle.loads(pickle.dumps(load_model("attnwidget/induction", revision="step0")))
    assert model.name.endswith("step0")
