"""The base of results: one declaration of the name of the model, the note and `complete`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attnwidget import results
from attnwidget.results import HeadResult, Result

COMMON = {"complete", "note", "model_name"}
PUBLIC = [getattr(results, name) for name in results.__all__]
RESULTS = [kind for kind in PUBLIC if issubclass(kind, Result)]


@dataclass(frozen=True, eq=False, repr=False)
class Lengths(Result):
    """A result of a user."""

    lengths: tuple[int, ...]

    def to_frame(self, factor: int = 1) -> pd.DataFrame:
        """One row per text."""
        return pd.DataFrame({"length": np.multiply(self.lengths, factor)})

    def chart(self, *, width: int = 640) -> Any:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Halves(HeadResult):
    halves: np.ndarray

    def heads(self) -> dict[str, np.ndarray]:
        return {"half": self.halves}

    def chart(self, *, width: int = 640) -> Any:
        return None


def test_the_common_fields_have_defaults_and_are_named_by_keyword() -> None:
    found = Lengths((3, 4))
    assert (found.complete, found.note, found.model_name) == (True, "", "")
    named = Lengths((3,), complete=False, note="cut", model_name="BERT")
    assert (named.complete, named.note, named.model_name) == (False, "cut", "BERT")
    with pytest.raises(TypeError):
        Lengths((3,), False)  # type: ignore[misc]


@pytest.mark.parametrize(
    "found",
    [Lengths((3, 4), model_name="BERT"), Halves(np.full((2, 3), 0.5), model_name="BERT")],
)
def test_every_table_names_its_model(found: Result) -> None:
    assert found.to_frame().attrs == {"model": "BERT"}


def test_a_method_keeps_its_arguments_and_its_help() -> None:
    assert Lengths((3, 4)).to_frame(factor=2)["length"].tolist() == [6, 8]
    assert Lengths.to_frame.__doc__ == "One row per text."
    assert str(inspect.signature(Lengths.to_frame)).startswith("(self, factor: 'int' = 1)")


def test_a_representation_is_short() -> None:
    assert repr(Lengths((3,), model_name="BERT")) == "Lengths(BERT)"
    assert repr(Halves(np.zeros((2, 3)))) == "Halves(2×3 heads: half)"
    stopped = Halves(np.zeros((2, 3)), model_name="BERT", complete=False)
    assert repr(stopped) == "Halves(BERT, 2×3 heads, interrupted: half)"


def test_a_result_needs_a_table_and_a_chart() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Result()  # type: ignore[abstract]


def test_everything_with_a_table_and_a_chart_is_a_result() -> None:
    drawn = [kind for kind in PUBLIC if hasattr(kind, "to_frame") and hasattr(kind, "chart")]
    assert set(drawn) == set(RESULTS) and len(RESULTS) >= 45
    for kind in RESULTS:
        assert "width" in inspect.signature(kind.chart).parameters, kind


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_no_result_declares_the_common_fields_again(kind: type[Any]) -> None:
    for field in fields(kind):
        # Results that are made of other results compute the name of the model.
        assert field.name not in COMMON or field.kw_only or not field.init
