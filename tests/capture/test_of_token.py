"""The weights of every head for one token: those of the maps, without keeping any map."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import Attention, load_model
from attnwidget.widgets.wire.values import in_unit
from fixtures import zoo
from refusals import naming

TEXT = "The captain told his men that he would not leave the unsinkable ship."


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT, loss="auto")


@pytest.fixture(scope="module")
def causal() -> Attention:
    return load_model(zoo.build("llama")).attend(zoo.inputs("llama", batch=1, padded=0))


def full(attention: Attention, stack: str, unit: str, quantity: str) -> np.ndarray:
    """[L, H, Q, K] of all maps, NaN where masked."""
    held = attention.stacks[stack]
    shown = in_unit(attention, unit)
    maps = []
    for layer in range(held.n_layers):
        for head in range(held.n_heads):
            values = shown.map(quantity, layer, head, stack=stack)
            visible = shown.visible(layer, head, stack=stack)
            maps.append(values if visible is None else np.where(visible, values, np.nan))
    return np.stack(maps).reshape(held.n_layers, held.n_heads, *maps[0].shape)


@pytest.mark.parametrize("unit", ["tokens", "words"])
@pytest.mark.parametrize("quantity", ["weights", "norms", "gradients"])
def test_rows_and_columns_are_those_of_the_maps(
    attention: Attention, unit: str, quantity: str
) -> None:
    maps = full(attention, "self", unit, quantity)
    shown = in_unit(attention, unit)
    for index in (0, 5, maps.shape[-1] - 2):
        row = shown.token_values("query", index, quantity=quantity)
        np.testing.assert_allclose(row, maps[:, :, index], rtol=1e-5, atol=1e-8)
        column = shown.token_values("key", index, quantity=quantity)
        np.testing.assert_allclose(column, maps[..., index], rtol=1e-5, atol=1e-8)
        of_layer = shown.token_values("key", index, layer=2, quantity=quantity)
        np.testing.assert_array_equal(of_layer, column[2])


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_what_a_causal_model_masks_is_masked_not_zero(causal: Attention, unit: str) -> None:
    maps = full(causal, "self", unit, "weights")
    shown = in_unit(causal, unit)
    row = shown.token_values("query", 3)
    assert np.isnan(row[..., 4:]).all() and not np.isnan(row[..., :4]).any()
    np.testing.assert_allclose(row, maps[:, :, 3], rtol=1e-5)
    column = shown.token_values("key", 3)
    assert np.isnan(column[..., :3]).all() and not np.isnan(column[..., 3:]).any()
    np.testing.assert_allclose(column, maps[..., 3], rtol=1e-5)


def test_a_key_of_a_long_text_is_read_some_queries_at_a_time(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = attention.token_values("key", 2)
    monkeypatch.setattr("attnwidget.capture.maps.head_maps._CELLS_AT_ONCE", 12 * 16 * 3)
    np.testing.assert_allclose(attention.token_values("key", 2), whole, rtol=1e-5)


def test_tokens_that_are_not_there_are_refused(attention: Attention) -> None:
    n = len(attention.tokens)
    with pytest.raises(ValueError, match=naming(f"query {n}", f"0 to {n - 1}", "'self'")):
        attention.token_values("query", n)
    with pytest.raises(ValueError, match=naming("side", "'from'", "'query'")):
        attention.token_values("from", 0)
    with pytest.raises(ValueError, match=naming("layer 99")):
        attention.token_values("key", 0, layer=99)
