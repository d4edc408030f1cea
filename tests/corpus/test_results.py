"""Results of studies: the heads with the largest numbers, and errors that name what exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnwidget import load_model, measure
from attnwidget.corpus.results import Measurements
from attnwidget.demo import demo_treebank
from attnwidget.words import probe_relations
from refusals import naming


@pytest.fixture(scope="module")
def found() -> Measurements:
    texts = ["The cat sat.", "It slept on the mat."]
    return measure(load_model(device="cpu"), texts, ["entropy", "position"], progress=False)


@pytest.mark.parametrize("smallest", [False, True])
def test_top_heads_are_those_of_the_sorted_array(found: Measurements, smallest: bool) -> None:
    values = found["entropy"].entropy
    order = np.argsort(values.ravel() if smallest else -values.ravel(), kind="stable")[:7]
    for table in (
        found.top_heads("entropy", 7, smallest=smallest),
        found["entropy"].top_heads("entropy", 7, smallest=smallest),
    ):
        assert (table["layer"] * values.shape[1] + table["head"]).tolist() == order.tolist()
        np.testing.assert_array_equal(table["value"], values.ravel()[order])
        assert set(table["metric"]) == {"entropy"} and table.index.tolist() == list(range(7))
    assert len(found.top_heads("entropy", 1000)) == values.size


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda m: m.top_heads(), ValueError, ("7 numbers", "previous token")),
        (lambda m: m.top_heads("previous"), KeyError, ("'previous'", "'previous token'")),
        (lambda m: m.top_heads("entropy", 0), ValueError, ("top", "0")),
        (lambda m: m.top, AttributeError, ("'top'", "top_heads('a number', top=5)")),
        (lambda m: m["entropy"].nlargest, AttributeError, ("top_heads('a number', top=5)",)),
        (lambda m: m.heads("entropy"), TypeError, ("heads", "takes no arguments")),
        (lambda m: m["entropy"].chart(widht=3), TypeError, ("chart", "'widht'", "'width'")),
    ],
)
def test_errors_name_what_exists(
    call: Callable[[Any], object], kind: type[Exception], words: tuple[str, ...], found: Any
) -> None:
    with pytest.raises(kind, match=naming(*words)):
        call(found)


def test_a_table_without_frequent_relations_names_the_count_that_shows_some() -> None:
    relations = probe_relations(
        load_model(device="cpu"), demo_treebank()[:3], skip_unaligned=True, progress=False
    )
    with pytest.warns(UserWarning, match=naming("no relation has 100 words", "table(min_count=")):
        assert not len(relations.table())
    assert len(relations.table(min_count=2)) > 1
    with pytest.raises(TypeError, match=naming("table", "'top'", "min_count")):
        relations.table(top=3)  # type: ignore[call-arg]


def test_top_heads_of_a_relation_have_the_better_direction() -> None:
    model = load_model(device="cpu")
    relations = probe_relations(model, demo_treebank()[:8], skip_unaligned=True, progress=False)
    best = relations.top_heads("det", 3)
    better = relations.accuracy[..., relations.relations.index("det")].max(2)
    assert best["value"].tolist() == sorted(better.ravel(), reverse=True)[:3]
    first = best.iloc[0]
    assert first["value"] == better[first["layer"], first["head"]]
    assert relations.top_heads(top=1)["metric"].item() == "all"
    for row in relations.best(min_count=2).to_dict("records"):
        found = relations.top_heads(row["relation"], 1)
        assert found[["layer", "head", "value"]].to_numpy().tolist() == [
            [row["layer"], row["head"], row["accuracy"]]
        ]
    with pytest.raises(KeyError, match=naming("'subject'", "'nsubj'")):
        relations.top_heads("subject")


def test_tables_and_charts_answer_the_options_of_a_neighbor() -> None:
    model = load_model(device="cpu")
    attention = model.attend("The cat sat.")
    for maps in (attention, attention.words):
        with pytest.raises(TypeError, match=naming("'query'", "rows(head, query=...)")):
            maps.to_frame("L1 H3", query="cat")  # type: ignore[call-overload]
    answers = model.predict("The [MASK] sat.")
    with pytest.raises(TypeError, match=naming("'versus'", "(after - before).chart()")):
        answers.chart(versus=answers)  # type: ignore[call-arg]
