"""Functions of the weights of one head as metrics, against loops over single inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import compare, load_model, measure, measure_attention
from attnwidget.metrics import Position
from refusals import naming

TEXTS = ["The cat sat.", "A much longer text than the first one, with a comma.", "It slept."]


def on_itself(weights: Any) -> Any:
    return weights.diagonal().mean()


def edges(weights: Any) -> float:
    """A number that padding would change."""
    assert weights.dtype == np.float32 and weights.shape[0] == weights.shape[1]
    return float(weights[-1, 0] + 2 * weights[0, -1] + len(weights))


def test_values_are_means_over_inputs_without_padding() -> None:
    model = load_model(device="cpu")
    found = measure(
        model, TEXTS, ["entropy", on_itself, edges], batch_size=len(TEXTS), progress=False
    )
    assert list(found) == ["entropy", "on_itself", "edges"]
    for function in (on_itself, edges):
        expected = np.zeros((6, 12))
        for text in TEXTS:
            weights = model.attend(text).weights()
            for layer, head in np.ndindex(6, 12):
                expected[layer, head] += function(weights[layer, head]) / len(TEXTS)
        np.testing.assert_allclose(found[function.__name__].values, expected, atol=2e-6)
    frame = found.to_frame()
    assert set(frame.metric) >= {"entropy", "on itself", "edges"}
    title = found["on_itself"].chart().to_dict()["title"]["text"][0]
    assert title.startswith("on itself: most in L")


def test_one_function_is_a_list_of_one_and_reads_one_attention() -> None:
    attention = load_model(device="cpu").attend(TEXTS[0])
    found = measure_attention(attention, on_itself)  # type: ignore[arg-type]
    weights = attention.weights()
    expected = np.trace(weights, axis1=2, axis2=3) / weights.shape[-1]
    np.testing.assert_allclose(found["on_itself"].values, expected, atol=1e-6)


def test_two_models_are_compared_by_a_function() -> None:
    model = load_model(device="cpu")
    found = compare(model, model, TEXTS, metrics=[on_itself], progress=False)
    assert "on itself change" in set(found.to_frame().metric)


def test_a_resume_file_of_another_function_is_refused(tmp_path: Path) -> None:
    model = load_model(device="cpu")
    path = tmp_path / "sums.npz"

    def of(factor: float) -> Any:
        scope: dict[str, Any] = {}
        exec(f"def scaled(weights): return {factor} * weights.max()", scope)
        return scope["scaled"]

    first = measure(model, TEXTS, [of(2.0)], resume=path, progress=False)
    again = measure(model, TEXTS, [of(2.0)], resume=path, progress=False)
    np.testing.assert_array_equal(first["scaled"].values, again["scaled"].values)
    with pytest.raises(ValueError, match=naming("another study", "name another file")):
        measure(model, TEXTS, [of(3.0)], resume=path, progress=False)


def rows(weights: Any) -> Any:
    return weights.max(1)


def words(weights: Any) -> str:
    return "most"


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (lambda weights: 1.0, naming("has a name", "def name(weights)")),
        (rows, naming("rows must return a number", "shape (5,)", "return its mean")),
        (words, naming("words must return a number", "'most'")),
        (Position, naming("Position is a class", "pass Position()")),
    ],
)
def test_what_is_no_number_of_a_head_is_refused(metric: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        measure(load_model(device="cpu"), ["The cat."], [metric], progress=False)
