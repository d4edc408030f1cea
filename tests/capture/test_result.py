"""The base of results: one declaration of the name of the model, the note and `complete`."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attnwidget import results
from attnwidget.results import HeadResult, LayerCurves, Result, SegmentMeansResult, per_head
from refusals import naming

COMMON = {"complete", "note", "model_name"}
PUBLIC = [getattr(results, name) for name in results.__all__]
RESULTS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, Result)]


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


@dataclass(frozen=True, eq=False, repr=False)
class Declared(SegmentMeansResult):
    """A result without methods: its arrays and its figure are declared."""

    names: tuple[str, ...]
    mass: np.ndarray = field(metadata=per_head("to {name}", each="names", counts="documents"))
    from_first: np.ndarray = field(metadata=per_head("from {self.first}", curve="first"))
    control: np.ndarray = field(metadata=per_head("control", curve="", optional=True))
    total: np.ndarray | None = field(metadata=per_head("total"))
    documents: tuple[int, ...]
    even: dict[str, float]
    first: str = "[CLS]"

    figure = LayerCurves("Mass from {self.first}", reference={"even": "self.even[all]"})


def declared(control: float = np.nan, **options: Any) -> Declared:
    mass = np.arange(12.0).reshape(2, 2, 3)
    first, control_array = mass[0], np.full((2, 3), control)
    return Declared(
        5, ("a", "b"), mass, first, control_array, None, (4, 0), {"all": 0.25}, **options
    )


def test_arrays_that_are_declared_are_titles_and_curves() -> None:
    found = declared(model_name="BERT")
    assert list(found.heads()) == ["to a", "from [CLS]"], "no class without documents"
    np.testing.assert_array_equal(found.heads()["to a"], found.mass[0])
    assert list(declared(0.5, first="<s>").heads()) == ["to a", "from <s>", "control"]
    assert repr(found) == "Declared(BERT, 2×3 heads: to a, from [CLS])"
    drawn = str(found.chart(width=400).to_dict())
    assert "Mass from [CLS]: to a most in L1 H2 (5)" in drawn and "BERT, 5 segments" in drawn
    assert "'first'" in drawn and "even 0.25" in drawn and "control" not in drawn
    with pytest.raises(TypeError, match=naming("Plain", "LayerCurves")):
        Plain(np.zeros((2, 3))).chart()


@dataclass(frozen=True, eq=False, repr=False)
class Plain(HeadResult):
    values: np.ndarray = field(metadata=per_head("values"))


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_arrays_that_are_declared_have_a_meaning_and_a_shape(kind: type[Any]) -> None:
    attributes = (inspect.getdoc(kind) or "").partition("Attributes:")[2]
    for one in fields(kind):
        if one.metadata:
            entry = re.search(rf"^    {one.name}: (.+?)(?=^    \w|^\w|\Z)", attributes, re.M | re.S)
            assert entry and re.search(r"\[(\w+,\s+)*L,\s+H\b", entry[1]), one.name


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
    with pytest.raises(TypeError, match=naming("abstract")):
        Result()  # type: ignore[abstract]


def test_everything_with_a_table_and_a_chart_is_a_result() -> None:
    drawn = [kind for kind in PUBLIC if hasattr(kind, "to_frame") and hasattr(kind, "chart")]
    assert set(drawn) == set(RESULTS) and len(RESULTS) >= 45
    for kind in RESULTS:
        assert "width" in inspect.signature(kind.chart).parameters, kind


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_no_result_declares_the_common_fields_again(kind: type[Any]) -> None:
    for one in fields(kind):
        # Results that are made of other results compute the name of the model.
        assert one.name not in COMMON or one.kw_only or not one.init
