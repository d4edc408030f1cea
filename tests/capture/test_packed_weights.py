"""The weights of the embedded models are stored small and read back without a change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from attnwidget import AttentionModel, load_model
from attnwidget.model_facts.packed_weights import (
    PACKED,
    pack_weights,
    unpack_weights,
    updated_weights,
)
from attnwidget.model_facts.pickled_model import weights_digest
from refusals import naming

DEMO = Path(__file__).parents[2] / "attnwidget" / "demo"


def test_every_float16_number_is_read_back(tmp_path: Path) -> None:
    every = torch.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(np.float16))
    weights = {"every": every.reshape(256, 256), "part": every[5:8], "one": every[7]}
    pack_weights(weights, tmp_path / PACKED)
    read = unpack_weights(tmp_path / PACKED)
    assert list(read) == list(weights)
    for name, weight in weights.items():
        assert read[name].dtype == torch.float32
        np.testing.assert_array_equal(read[name].numpy(), weight.float().numpy())


def test_a_transposed_weight_keeps_its_order(tmp_path: Path) -> None:
    weight = torch.arange(6.0).reshape(2, 3).half().T
    pack_weights({"a": weight}, tmp_path / PACKED)
    assert unpack_weights(tmp_path / PACKED)["a"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_other_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=naming("float16", "torch.float32")):
        pack_weights({"a": torch.ones(2)}, tmp_path / PACKED)


def test_updates_are_added_and_other_weights_replaced() -> None:
    base = {"a": torch.ones(2, 2), "b": torch.ones(3), "c": torch.ones(1)}
    up, down = torch.tensor([[1.0], [2]]), torch.tensor([[1.0, -1]])
    changed = updated_weights(base, {"a.up": up, "a.down": down, "b": torch.zeros(3)})
    assert changed["a"].tolist() == [[2, 0], [3, -1]] and changed["a"].dtype == torch.float32
    assert changed["b"].tolist() == [0, 0, 0] and changed["c"] is base["c"]
    assert base["a"].tolist() == [[1, 1], [1, 1]]


def test_the_weights_of_the_embedded_model_never_change(model: AttentionModel) -> None:
    assert weights_digest(model.hf_model, whole=True) == "eb20cef7ea5898bf134d90fd7e05647d"


def test_the_embedded_model_becomes_a_folder_of_transformers(
    model: AttentionModel, tmp_path: Path
) -> None:
    model.hf_model.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    plain = AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert weights_digest(plain, whole=True) == weights_digest(model.hf_model, whole=True)
    text = "The captain told his men."
    again = load_model(tmp_path, device="cpu").attend(text)
    assert (again.weights() == model.attend(text).weights()).all()


def test_packing_is_worth_its_code() -> None:
    weights = unpack_weights(DEMO / PACKED)
    numbers = sum(weight.numel() for weight in weights.values())
    assert (DEMO / PACKED).stat().st_size < 0.85 * 2 * numbers


def test_the_sibling_differs_by_updates_of_low_rank(model: AttentionModel) -> None:
    changes = unpack_weights(DEMO / "genre" / PACKED)
    sibling = load_model("attnwidget/genre", device="cpu").hf_model
    base = dict(model.hf_model.bert.named_parameters())
    for name, weight in sibling.bert.named_parameters():
        if f"bert.{name}.up" in changes:
            difference = (weight - base[name]).detach()
            assert torch.linalg.matrix_rank(difference, rtol=1e-4) == 4, name
        elif name in base:
            assert (weight == base[name]).all(), name
    assert len(changes) == 2 * 6 * 6 + 4, (
        "two factors of six matrices in six layers; the classifier"
    )
