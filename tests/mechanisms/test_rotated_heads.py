"""Explanations do not depend on the basis of queries and keys, or of values and outputs.

A rotation of the queries and keys of a head, or of its values and outputs, changes weights of the
model, but nothing that the model computes. What an explanation prints must stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attnwidget import Attention, LinkView, load_model
from attnwidget.mechanisms import (
    explain_link,
    head_composition,
    head_writes,
    key_biplot,
    link_factors,
    logit_lens,
    score_at_distances,
    score_sources,
    token_norms,
    wavelength_shares,
)
from fixtures.mechanism_models import READABLE, build, inputs
from fixtures.rotated_heads import rotate_heads, rotate_stream

QUERY = 6
KEY = 3
RIVAL = 5
LAYER = 1
HEAD = 1
#: Models with their stack. Rotary encodings are in modernbert, gpt-neox, llama, gemma and phi;
#: qwen3 has norms of queries and keys, so that only its values are rotated.
MODELS = {
    "bert": "self",
    "roberta": "self",
    "distilbert": "self",
    "albert": "self",
    "gpt2": "self",
    "opt": "self",
    "t5": "encoder",
    "bart": "encoder",
    "vit": "self",
    "gpt-neox": "self",
    "llama": "self",
    "gemma": "self",
    "phi": "self",
    "qwen3": "self",
}
FAST = {"bert", "gpt2", "gpt-neox", "llama", "t5", "vit"}
CASES = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
    for name in MODELS
    if name in READABLE
]

Explain = Callable[[Any, str], pd.DataFrame]
PLACE = (LAYER, HEAD)
EXPLANATIONS: Mapping[str, Explain] = {
    "factors": lambda a, s: link_factors(a, *PLACE, QUERY, KEY, stack=s).to_frame(),
    "factors against a rival": lambda a, s: link_factors(
        a, *PLACE, QUERY, KEY, RIVAL, stack=s
    ).to_frame(),
    "earlier heads and words": lambda a, s: (
        link_factors(a, *PLACE, QUERY, KEY, RIVAL, stack=s)
        .written_frame()
        .sort_values(["layer", "head", "word"])
    ),
    "parts": lambda a, s: explain_link(a, *PLACE, QUERY, KEY, stack=s).to_frame(),
    "sources": lambda a, s: score_sources(a, *PLACE, QUERY, KEY, stack=s).to_frame(),
    "sources of a difference": lambda a, s: score_sources(
        a, *PLACE, QUERY, KEY, RIVAL, stack=s
    ).to_frame(),
    "writes": lambda a, s: head_writes(a, *PLACE, position=QUERY, stack=s).to_frame(),
    "lens": lambda a, s: lens(a),
    "norms": lambda a, s: token_norms(a, stack=s).to_frame(),
    "distances": lambda a, s: score_at_distances(
        a, 0, HEAD, QUERY, KEY, range(4), stack=s
    ).to_frame(),
    "wavelengths": lambda a, s: wavelength_shares(a, LAYER, stack=s).to_frame(),
    "plane": lambda a, s: key_biplot(a, *PLACE, stack=s).to_frame(),
    "composition": lambda a, s: head_composition(a.reading.model, *PLACE).to_frame(),
    "figure": lambda a, s: shown(a, s),
}


def shown(attention: Attention, stack: str) -> pd.DataFrame:
    """The numbers of the panels of a LinkView."""
    view = LinkView(attention, LAYER, HEAD, stack, query=QUERY, key=KEY)
    frame = view.to_frame()
    view.close()
    return frame


def lens(attention: Attention) -> pd.DataFrame:
    """The words after each layer, in a model that reads words."""
    if "input_ids" not in attention.reading.inputs:
        raise ValueError("a picture has no words")
    return logit_lens(attention).to_frame()


def by_dimension(attention: Attention, stack: str) -> pd.DataFrame:
    """The difference of two scores by dimension of the head, as no explanation has it."""
    row = attention.score_parts(attention.head((LAYER, HEAD, stack)), [QUERY])
    products = row.scaling * row.query[0] * (row.key[KEY] - row.key[RIVAL])
    parts = [f"dimension {i}" for i in range(len(products))]
    return pd.DataFrame({"part": parts, "value": products.numpy()})


def explained(attention: Attention, stack: str) -> dict[str, pd.DataFrame]:
    """The table of every explanation that the model has."""
    tables = {}
    for name, explain in EXPLANATIONS.items():
        with suppress(ValueError, TypeError, RuntimeError):
            tables[name] = explain(attention, stack)
    return tables


def assert_same(before: pd.DataFrame, after: pd.DataFrame, name: str) -> None:
    """The same rows have the same numbers; rows with equal numbers may be in another order."""
    texts = [column for column in before if not pd.api.types.is_numeric_dtype(before[column])]
    before, after = (
        frame.sort_values(texts, kind="stable").reset_index(drop=True) if texts else frame
        for frame in (before, after)
    )
    for column in before:
        if column in texts:
            assert before[column].tolist() == after[column].tolist(), (name, column)
            continue
        values = before[column].to_numpy(np.float64)
        size = float(np.nanmax(np.abs(values[np.isfinite(values)]), initial=1e-3))
        np.testing.assert_allclose(
            after[column].to_numpy(np.float64),
            values,
            rtol=1e-3,
            atol=1e-4 * size,
            err_msg=f"{name}, {column}",
        )


def attend(model: Any, name: str) -> Attention:
    return load_model(model, tokenizer=None).attend(inputs(name))


def rotated(name: str) -> Any:
    """The model with all its heads rotated."""
    model = build(name)
    attention = attend(build(name), name)
    stack = MODELS[name]
    pairs = explain_link(attention, 0, 0, QUERY, KEY, stack=stack).pairs.tolist()
    n_rotated = rotate_heads(model, attention.stacks[stack].n_heads, lambda _: pairs)
    assert (n_rotated > 0) == (name != "qwen3")
    return model


@pytest.mark.parametrize("name", CASES)
def test_explanations_are_those_of_rotated_heads(name: str) -> None:
    stack = MODELS[name]
    attention, other = attend(build(name), name), attend(rotated(name), name)
    weights = attention.weights(LAYER, HEAD, stack=stack)
    np.testing.assert_allclose(other.weights(LAYER, HEAD, stack=stack), weights, atol=2e-5)
    before, after = explained(attention, stack), explained(other, stack)
    assert before.keys() == after.keys() and len(before) >= 6
    assert ("factors" in before) == (name != "vit")
    for explanation, table in before.items():
        assert_same(table, after[explanation], explanation)


@pytest.mark.parametrize("name", [name for name in ("bert", "gpt2", "llama") if name in READABLE])
def test_parts_by_dimension_are_found(name: str) -> None:
    """Bars by dimension, which LinkView had once, change with the basis."""
    attention, other = attend(build(name), name), attend(rotated(name), name)
    before, after = by_dimension(attention, "self"), by_dimension(other, "self")
    assert before["value"].sum() == pytest.approx(after["value"].sum(), abs=1e-4)
    with pytest.raises(AssertionError, match="dimensions"):
        assert_same(before, after, "dimensions")


def test_explanations_are_those_of_a_rotated_stream() -> None:
    model = build("llama")
    rotate_stream(model)
    attention, other = attend(build("llama"), "llama"), attend(model, "llama")
    before, after = explained(attention, "self"), explained(other, "self")
    assert before.keys() == after.keys()
    for explanation, table in before.items():
        assert_same(table, after[explanation], explanation)


def test_the_bundled_model_explains_a_rotated_copy_alike() -> None:
    text = "The captain told his men that he would not leave the ship."
    model, copy = load_model(device="cpu"), load_model(device="cpu")
    rotate_heads(copy.hf_model, 12, lambda _: [])
    attention, other = model.attend(text), copy.attend(text)
    assert not torch.equal(
        *(
            m.hf_model.state_dict()["bert.encoder.layer.1.attention.self.query.weight"]
            for m in (model, copy)
        )
    )
    found, again = (link_factors(a, "L1 H3", "he", "captain") for a in (attention, other))
    assert repr(found) == repr(again) and found.finding == again.finding
    assert found.logs == pytest.approx(again.logs, abs=1e-5)
