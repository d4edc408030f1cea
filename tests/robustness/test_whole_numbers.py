"""Arguments that count, number or seed something take integers, and no truth values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from traitlets import TraitError

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    ablate,
    load_model,
    load_treebank,
    make_segments,
    measure,
    read_segments,
)
from attnwidget.behaviors import find_links, head_examples, measure_behaviors
from attnwidget.demo import demo_prose, demo_treebank, drawn_shapes
from attnwidget.mechanisms import logit_lens
from attnwidget.metrics import induction_scores
from attnwidget.probes import train_dependency_probe, train_pair_probe, train_structural_probe
from attnwidget.text.whole_number import is_whole_number, whole_number
from attnwidget.words import probe_relations
from refusals import naming

TREE = "1\tCats\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tpurr\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
TEXT = "The woman washed [MASK] hands."
NO_NUMBERS = [True, False, np.True_, torch.tensor(True), 1.5, 2.0, float("nan"), "2", None, [2]]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_other_values_are_no_whole_numbers(value: object) -> None:
    assert not is_whole_number(value)
    with pytest.raises(TypeError, match=naming("limit", "integer")):
        whole_number("limit", value, 1)


@pytest.mark.parametrize(
    "value",
    [3, np.int64(3), np.array(3), torch.tensor(3), pd.Series([3], dtype="int8")[0]],
    ids=repr,
)
def test_integers_of_every_library_are_whole_numbers(value: Any, attention: Attention) -> None:
    assert whole_number("limit", value, 1) == 3
    assert np.array_equal(attention.weights(value, value), attention.weights(3, 3))


def _studies(model: AttentionModel, path: Path) -> dict[str, Callable[[Any], Any]]:
    """Calls with one argument that is an integer >= 1."""
    segments = make_segments(["The cat sat.", "It slept."], model)
    trees, dev = demo_treebank()[:6], demo_treebank()[6:9]
    quiet = {"progress": False}
    induction = load_model("attnwidget/induction", device="cpu")
    return {
        "limit of a treebank": lambda n: load_treebank(path, limit=n),
        "limit of segments": lambda n: read_segments(demo_prose(), model, limit=n),
        "tokens of segments": lambda n: make_segments(["The cat"], model, max_tokens=n),
        "tokens of a model": lambda n: load_model(max_tokens=n),
        "batch": lambda n: measure(model, segments, "entropy", batch_size=n, **quiet),
        "sequences": lambda n: induction_scores(induction, n_sequences=n, length=4, **quiet),
        "examples": lambda n: head_examples(model, segments, n, **quiet),
        "places": lambda n: find_links(model, trees, relation="nsubj", n_links=n, **quiet),
        "epochs": lambda n: train_structural_probe(model, trees, dev, epochs=n, **quiet),
        "seeds": lambda n: train_dependency_probe(model, trees, dev, seeds=n, **quiet),
        "count of pairs": lambda n: train_pair_probe(model, trees, dev, min_count=n, **quiet),
        "answers": lambda n: model.predict(TEXT, top=n),
        "answers of a lens": lambda n: logit_lens(model.attend(TEXT), top=n),
        "new tokens": lambda n: induction.generate("The cat", n),
        "links": lambda n: model.attend(TEXT).top_links(0, 0, n),
        "pictures": drawn_shapes,
    }


@pytest.mark.parametrize("value", [True, 1.5, "2"], ids=repr)
def test_counts_of_studies_are_whole_numbers(
    value: object, model: AttentionModel, tmp_path: Path
) -> None:
    path = tmp_path / "trees.conllu"
    path.write_text(TREE * 3)
    for name, study in _studies(model, path).items():
        with pytest.raises(TypeError, match=rf"\bintegers?\b.* got {re.escape(repr(value))}"):
            pytest.fail(f"{name} took {value!r}: {study(value)}")


def test_counts_below_one_are_refused(model: AttentionModel, tmp_path: Path) -> None:
    path = tmp_path / "trees.conllu"
    path.write_text(TREE * 3)
    for name, study in _studies(model, path).items():
        with pytest.raises(ValueError, match=naming("at least", "got 0")):
            pytest.fail(f"{name} took 0: {study(0)}")


def test_truth_values_name_no_heads_layers_and_tokens(
    model: AttentionModel, attention: Attention
) -> None:
    calls: Sequence[Callable[[], Any]] = [
        lambda: attention.weights(True, 0),
        lambda: attention.head((0, True)),
        lambda: attention.rows(0, 0, [True]),
        lambda: attention.token_values("query", True),
        lambda: attention.tile(0, 0, (False, True), (0, 2)),
        lambda: model.predict(TEXT, positions=[True]),
        lambda: logit_lens(attention, positions=[True]),
        lambda: model.disabled([(True, False)]).__enter__(),
        lambda: model.disabled(layers=[True]).__enter__(),
        lambda: model.scaled_links([(True, False)], 0).__enter__(),
        lambda: ablate(model, [(TEXT, "her")], scoring="loss", heads=[(True, 0)]),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"integers?\b.* got .*(True|False)"):
            call()


@pytest.mark.parametrize("ids", [[True, False], [2, True, 3], (False, 2)], ids=repr)
def test_truth_values_are_no_vocabulary_ids(model: AttentionModel, ids: Sequence[int]) -> None:
    with pytest.raises(TypeError, match=naming("vocabulary id", "integer")):
        model.attend(ids)
    with pytest.raises(TypeError, match=naming("input_ids", "bool", "integers")):
        model.attend({"input_ids": torch.tensor([ids], dtype=torch.bool)})


def test_one_number_in_place_of_a_list_is_refused_by_name(
    model: AttentionModel, attention: Attention
) -> None:
    for call in (
        lambda: model.predict(TEXT, positions=3),  # type: ignore[arg-type]
        lambda: logit_lens(attention, positions=3),  # type: ignore[arg-type]
        lambda: model.disabled(layers=1).__enter__(),  # type: ignore[arg-type]
        lambda: probe_relations(model, demo_treebank()[:2], offsets=1),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=naming("integers", "[1]")):
            call()


def test_offsets_are_not_rounded(model: AttentionModel) -> None:
    with pytest.raises(TypeError, match=naming("offsets", "1.5")):
        probe_relations(model, demo_treebank()[:2], offsets=[1.5])  # type: ignore[list-item]


def test_heads_of_an_array_are_rows(model: AttentionModel) -> None:
    strong = np.zeros((6, 12))
    strong[[1, 4], [2, 7]] = 1
    with model.disabled(np.argwhere(strong)) as edited:
        assert edited.name.endswith("without L1 H2, L4 H7 (uniform)")
    with pytest.raises((TypeError, ValueError), match=naming("array", "head")):
        model.disabled(strong.astype(bool)).__enter__()


def test_heads_in_a_dict_by_layer_are_refused(model: AttentionModel) -> None:
    # `prune_heads` of transformers takes this form. Its keys alone would name another head.
    by_layer: Any = {0: [1, 2], 3: [4]}
    with pytest.raises(TypeError, match=naming("(1, 3)", "{0: [1, 2], 3: [4]}")):
        model.disabled(by_layer).__enter__()
    with pytest.raises(TypeError, match=naming("(1, 3)", "{0: [1, 2], 3: [4]}")):
        ablate(model, [(TEXT, "her")], scoring="loss", heads=by_layer)


def test_a_cut_that_leaves_no_room_for_tokens_is_refused(model: AttentionModel) -> None:
    for n_tokens in (1, 2):
        with pytest.raises(ValueError, match=naming("text 0", "1 part", "max_tokens")):
            make_segments(["The cat"], model, max_tokens=n_tokens, truncate=True)
    assert make_segments(["The cat"], model, max_tokens=3, truncate=True)[0].first == ("the",)
    with pytest.raises(ValueError, match=naming("text 0", "2 parts", "1 tokens", "max_tokens")):
        make_segments([("The cat", "It")], model, max_tokens=4, truncate=True)


@pytest.mark.parametrize("figure", [HeadView, HeadGrid])
def test_selected_heads_are_rows_of_an_array(attention: Attention, figure: Any) -> None:
    heads = [Head(1, 2), Head(4, 7)]
    assert figure(attention, selected=np.array([[1, 2], [4, 7]])).selected == heads
    assert figure(attention, selected=(np.int64(1), np.int64(2))).selected == heads[:1]
    with pytest.raises(TraitError, match=naming("'selected'", "[(3, 5)]")):
        figure(attention, selected={1: [2]})


@pytest.mark.parametrize("value", [5, -0.1, float("nan"), True, "0.05"], ids=repr)
@pytest.mark.parametrize("name", ["alpha", "min_strength"])
def test_levels_and_strengths_lie_between_0_and_1(
    model: AttentionModel, name: str, value: Any
) -> None:
    segments = make_segments(["The cat sat.", "It slept."], model)
    options: dict[str, Any] = {name: value, "n_random_models": 0, "progress": False}
    with pytest.raises(ValueError, match=naming(name, "0", "1", "number")):
        measure_behaviors(model, segments, ["previous token"], **options)


def test_a_relation_that_no_word_has_is_refused(model: AttentionModel) -> None:
    trees = demo_treebank()[:5]
    with pytest.raises(ValueError, match=naming("'nsubjj'", "nsubj")):
        find_links(model, trees, relation="nsubjj", progress=False)
    with pytest.raises(ValueError, match=naming("regex", "'('")):
        find_links(model, trees, regex="(", progress=False)
