"""Attention given by hand in forms that are none: refused in words, or drawn rightly."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, HeadGrid, HeadView
from robustness.judging import raised_by_the_package

N = 3
GOOD = np.full((2, 2, N, N), 1 / N, np.float32)
WORDS = ["a", "b", "c"]


def changed(value: float) -> np.ndarray:
    weights = GOOD.copy()
    weights[1, 1, 2, 0] = value
    return weights


REFUSED: dict[str, Any] = {
    "infinite": changed(np.inf),
    "minus infinite": changed(-np.inf),
    "not a number": changed(np.nan),
    "negative": changed(-1e-3),
    "integers that are no weights": np.arange(36).reshape(2, 2, N, N),
    "counts": np.ones((2, 2, N, N), np.int64),
    "complex": GOOD.astype(np.complex64),
    "objects": GOOD.astype(object),
    "texts": GOOD.astype(str),
    "dates": np.zeros((2, 2, N, N), "M8[s]"),
    "records": np.zeros((2, 2), [("a", "f4", (N, N))]),
    "ragged": [GOOD[0], GOOD[1, :, :2]],
    "ragged lists": [[[[1.0], [0.5, 0.5]]]],
    "a layer missing": [GOOD[0], None],
    "a layer of another type": [GOOD[0], "weights"],
    "no layers": GOOD[:0],
    "no heads": GOOD[:, :0],
    "no tokens": GOOD[:, :, :0, :0],
    "no keys": GOOD[..., :0],
    "no axes": np.float32(1),
    "six axes": GOOD[None, None],
    "on no device": torch.empty(2, 2, N, N, device="meta"),
    "an iterator": iter(GOOD),
    "a dictionary": {"weights": GOOD},
    "zeros": np.zeros_like(GOOD),
    "too few queries": GOOD[:, :, :2],
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_refused_in_words(given: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        Attention.from_weights(given, WORDS)
    assert raised_by_the_package(error.value), "an error from within numpy or torch"


EQUAL: dict[str, Any] = {
    "float16": GOOD.astype(np.float16),
    "float64": GOOD.astype(np.float64),
    "bfloat16": torch.tensor(GOOD).bfloat16(),
    "big endian": GOOD.astype(">f4"),
    "Fortran order": np.asfortranarray(GOOD),
    "read only": np.broadcast_to(np.float32(1 / N), GOOD.shape),
    "backwards": GOOD[::-1, ::-1, ::-1, ::-1],
    "lists": GOOD.tolist(),
    "with a gradient": torch.tensor(GOOD, requires_grad=True),
    "sparse": torch.tensor(GOOD).to_sparse(),
}


@pytest.mark.parametrize("given", EQUAL.values(), ids=EQUAL)
def test_read_rightly(given: Any) -> None:
    attention = Attention.from_weights(given, WORDS)
    np.testing.assert_allclose(attention.weights(), GOOD, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.bool_])
def test_integers_that_are_weights(dtype: Any) -> None:
    hard = np.zeros((2, 2, N, N), dtype)
    hard[..., 0] = 1
    attention = Attention.from_weights(hard, WORDS)
    np.testing.assert_array_equal(attention.weights(), hard.astype(np.float32))


def test_one_token_is_drawn() -> None:
    attention = Attention.from_weights(np.ones((1, 1, 1, 1), np.float32), ["a"])
    for figure in (HeadView(attention, 0, 0), HeadGrid(attention)):
        assert len(ET.fromstring(figure.figure().svg))


@pytest.mark.parametrize(
    "tokens", ["abc", None, 3, ["a", "b"], ["a", "b", None], [["a"], ["b"], ["c"]], {}]
)
def test_invalid_tokens_are_refused(tokens: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        Attention.from_weights(GOOD, tokens)
    assert raised_by_the_package(error.value)
