"""The training of the causal model: its batches, its losses and its script."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from causal_batches import (
    FIRST_SEEN,
    LENGTHS,
    PROSE,
    SHORTEST,
    CausalBatches,
    repeated_once,
)
from train_induction import main, measure_losses, token_losses, train
from vocabulary import CAUSAL_SPECIAL, causal_tokenizer, new_causal_model

NAMES = np.arange(3, 300)
START = 2


def make_batches(seed: int = 0) -> CausalBatches:
    prose = np.random.default_rng(1).integers(3, 300, 500)
    generator = np.random.default_rng(seed)
    return CausalBatches(prose, NAMES, START, tokens=256, generator=generator)


def test_batches_are_windows_of_cycles_and_of_renamed_prose() -> None:
    batches = make_batches()
    spelt = " ".join(map(str, batches.prose))
    lengths = set()
    for _ in range(40):
        ids, weights = batches.draw(0.5)
        size, length = ids.shape
        lengths.add(length)
        assert size == max(2, 256 // length) and weights.shape == (size, length - 1)
        assert (ids[:, 0] == START).all() and bool((ids[:, 1:] >= 3).all())
        n_cycles = round((1 - PROSE) * size)
        for row, weight in zip(ids[:n_cycles, 1:].tolist(), weights[:n_cycles], strict=True):
            assert SHORTEST - 3 <= len(set(row)) <= (length - 1) // 2
            first_seen = [row.index(token) == i for i, token in enumerate(row)]
            assert ((weight == np.float32(FIRST_SEEN)).numpy() == first_seen).all()
            followers: dict[int, list[int]] = {}
            for token, following in itertools.pairwise(row):
                followers.setdefault(token, []).append(following)
            usual = sum(max(map(found.count, found)) for found in followers.values())
            assert usual > 0.6 * (length - 2), "most tokens are followed by one token"
        for row, weight in zip(ids[n_cycles:, 1:], weights[n_cycles:], strict=True):
            assert " ".join(map(str, row.tolist())) not in spelt, "some tokens are renamed"
            assert (weight == 1).all()
    assert lengths == {*LENGTHS}


def test_a_token_is_renamed_everywhere_in_a_window() -> None:
    prose = np.tile(np.array([10, 11, 12]), 100)
    batches = CausalBatches(prose, NAMES, START, tokens=128, generator=np.random.default_rng(0))
    for _ in range(20):
        ids, _ = batches.draw(0.5)
        row = ids[-1, 1:]
        assert (row[3:] == row[:-3]).all()


def test_heads_of_the_first_layer_begin_with_the_previous_token() -> None:
    torch.manual_seed(0)
    hf_model = new_causal_model(300, positions=max(LENGTHS))
    hf_model.set_attn_implementation("eager")
    ids = repeated_once(NAMES, START, length=20, n_sequences=4)
    with torch.no_grad():
        first, second = hf_model(ids, output_attentions=True).attentions
    distances = range(1, 8)
    by_distance = [first[..., 10:, :].diagonal(10 - d, -2, -1).mean() for d in distances]
    assert int(np.argmax(by_distance)) == 0 and by_distance[0] > 0.1
    previous = second[..., 10:, :].diagonal(9, -2, -1).mean()
    assert float(previous) == pytest.approx(1 / 30, abs=0.02), "the second layer has no preference"


def test_batches_follow_from_the_seed() -> None:
    for first, second in zip(make_batches(3).draw(0.5), make_batches(3).draw(0.5), strict=True):
        assert torch.equal(first, second)
    assert not torch.equal(
        repeated_once(NAMES, START, length=9, n_sequences=2, seed=0),
        repeated_once(NAMES, START, length=9, n_sequences=2, seed=1),
    )


def test_losses_are_those_of_the_model() -> None:
    torch.manual_seed(0)
    model = new_causal_model(300, positions=max(LENGTHS)).eval()
    ids = repeated_once(NAMES, START, length=9, n_sequences=2)
    with torch.no_grad():
        assert float(token_losses(model, ids).mean()) == pytest.approx(
            float(model(ids, labels=ids).loss), abs=1e-5
        )
    losses = measure_losses(model, np.random.default_rng(0).integers(3, 300, 400), make_batches())
    assert all(abs(value - np.log(300)) < 2 for value in vars(losses).values())
    assert str(losses).startswith("first copy ")


def test_the_same_seed_gives_the_same_weights() -> None:
    weights = []
    for _ in range(2):
        torch.manual_seed(0)
        model = new_causal_model(300, positions=max(LENGTHS))
        steps = list(train(model, make_batches(), steps=3, learning_rate=1e-3))
        assert [step for step, _ in steps] == [0, 1, 2, 3]
        weights.append(model.lm_head.weight.detach().clone())
    assert torch.equal(*weights)


def test_the_tokenizer_begins_a_text_and_spells_any_word() -> None:
    letters = [chr(code) for code in range(97, 123)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tom", *letters]
    tokenizer = causal_tokenizer([*pieces, *(f"##{letter}" for letter in letters)], 64)
    assert tokenizer.convert_ids_to_tokens(range(3)) == list(CAUSAL_SPECIAL)
    assert tokenizer.tokenize("Tom met") == ["tom", "m", "##e", "##t"]
    assert tokenizer("Tom").input_ids == [tokenizer.bos_token_id, 3]
    assert tokenizer("Ω").input_ids[-1] == tokenizer.unk_token_id


@pytest.mark.slow
def test_the_script_writes_a_model_and_its_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--vocabulary", "300", "--steps", "2", "--batch-tokens", "128"]
    main(["--out", str(tmp_path), *options])
    printed = capsys.readouterr().out
    assert "step 0, " in printed and "step 2, " in printed
    assert "first copy" in printed and "induction: L0 H0" in printed
    written = {path.name for path in tmp_path.iterdir()} - {"special_tokens_map.json"}
    assert written == {"config.json", "step0", "step2", "tokenizer.json", "tokenizer_config.json"}
    assert [path.name for path in (tmp_path / "step0").iterdir()] == ["model.safetensors"]
