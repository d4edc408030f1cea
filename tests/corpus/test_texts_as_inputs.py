"""Studies read a list of texts as the segments of these texts, or name the data that they need."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import (
    AttentionModel,
    ablate,
    atlas,
    compare,
    load_model,
    make_segments,
    measure,
    report,
)
from attnwidget.behaviors import find_links, head_examples, measure_behaviors, measure_rules
from attnwidget.interventions import head_importance, measure_minimal_pairs, patch_heads, patch_path
from attnwidget.metrics import measure_checkpoints
from attnwidget.probes import train_dependency_probe, train_pair_probe, train_structural_probe
from attnwidget.words import (
    explained_attention,
    noun_pronoun_links,
    predict_governors,
    probe_coreference,
    probe_features,
    probe_links,
    probe_no_op,
    probe_relations,
    subject_verb_links,
)
from refusals import naming

TEXTS = ["The cat sat on the mat.", "She washed her hands, and it slept there.", "He ran."]

#: The numbers of each study that reads texts.
STUDIES: dict[str, Callable[[AttentionModel, Any], Any]] = {
    "measure": lambda model, texts: measure(model, texts, ["entropy"], progress=False).heads(),
    "compare": lambda model, texts: compare(model, model, texts, progress=False).cosine,
    "atlas": lambda model, texts: (
        atlas(
            model,
            texts,
            treebank=(),
            documents=(),
            behaviors=["previous token"],
            effects=False,
            n_random_models=0,
            n_examples=2,
            progress=False,
        )
        .table["previous token"]
        .score
    ),
    "ablate": lambda model, texts: (
        ablate(model, texts, scoring="loss", heads=[(1, 2)], progress=False).head_scores
    ),
    "measure_checkpoints": lambda model, texts: measure_checkpoints(
        [("one", model)], texts, ["entropy"], progress=False
    ).heads("one"),
    "find_links": lambda model, texts: (
        find_links(model, texts, query="word=her|it", key="word=washed", progress=False).weights
    ),
    "head_examples": lambda model, texts: head_examples(model, texts, 2, progress=False).links(
        0, 1
    ),
    "measure_behaviors": lambda model, texts: (
        measure_behaviors(model, texts, ["previous token"], n_random_models=0, progress=False)[
            "previous token"
        ].score
    ),
    "head_importance": lambda model, texts: head_importance(model, texts, progress=False).values,
    "measure_rules": lambda model, texts: (
        measure_rules(model, texts, {"L0 H2": "previous token"}, progress=False)["L0 H2"]
        .effects[-1]
        .off.mean
    ),
    "report": lambda model, texts: report(model, texts, treebank=(), documents=(), progress=False)[
        "entropy"
    ].heads(),
}

#: Studies of annotated data, and what their refusal of texts names.
ANNOTATED: dict[str, tuple[Callable[[AttentionModel, Any], Any], str]] = {
    "explained_attention": (explained_attention, "load_treebank"),
    "noun_pronoun_links": (lambda model, texts: noun_pronoun_links(texts), "load_coreference"),
    "subject_verb_links": (lambda model, texts: subject_verb_links(texts), "load_treebank"),
    "probe_coreference": (probe_coreference, "load_coreference"),
    "probe_features": (probe_features, "load_treebank"),
    "probe_links": (probe_links, "load_links"),
    "probe_no_op": (
        lambda model, texts: probe_no_op(model, texts, "nsubj"),
        "load_treebank",
    ),
    "probe_relations": (probe_relations, "load_treebank"),
    "predict_governors": (lambda model, texts: predict_governors(model, texts[0]), "load_treebank"),
    "train_dependency_probe": (
        lambda model, texts: train_dependency_probe(model, texts, texts),
        "load_treebank",
    ),
    "train_pair_probe": (
        lambda model, texts: train_pair_probe(model, texts, texts),
        "load_treebank",
    ),
    "train_structural_probe": (
        lambda model, texts: train_structural_probe(model, texts, texts),
        "load_treebank",
    ),
    "measure_minimal_pairs": (measure_minimal_pairs, "load_minimal_pairs"),
    "patch_heads": (lambda model, texts: patch_heads(model, texts, texts), "answer"),
    "patch_path": (
        lambda model, texts: patch_path(model, texts, texts, sender=(0, 1), receiver=(1, 2)),
        "answer",
    ),
}

#: Names of arguments that take many inputs of a study.
INPUTS = {
    "segments",
    "texts",
    "examples",
    "sentences",
    "sentence",
    "documents",
    "train",
    "clean",
    "pairs",
}
#: Calls with such an argument that are no studies of segments.
OTHERS = {
    "knockout",
    "make_segments",
    "monotonicity_scores",
    "probe_alignment",
    "relation_panels",
    "save_page",
}


def test_every_public_study_is_walked() -> None:
    found = set()
    for module in ("", ".metrics", ".probes", ".behaviors", ".words", ".interventions"):
        package = importlib.import_module(f"attnwidget{module}")
        for name in package.__all__:
            call = getattr(package, name)
            if inspect.isfunction(call) and INPUTS & inspect.signature(call).parameters.keys():
                found.add(name)
    assert found == STUDIES.keys() | ANNOTATED.keys() | OTHERS


@pytest.mark.parametrize("name", STUDIES)
def test_texts_are_read_as_their_segments(model: AttentionModel, name: str) -> None:
    study = STUDIES[name]
    found, expected = study(model, TEXTS), study(model, make_segments(TEXTS, model))
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("name", ["measure", "compare", "measure_checkpoints"])
def test_rows_are_read_as_their_texts(model: AttentionModel, name: str) -> None:
    rows = [{"text": text} for text in TEXTS]
    np.testing.assert_equal(STUDIES[name](model, rows), STUDIES[name](model, TEXTS))


@pytest.mark.parametrize("name", STUDIES)
def test_one_text_is_refused_with_the_next_step(model: AttentionModel, name: str) -> None:
    with pytest.raises(TypeError, match=naming("[text]")):
        STUDIES[name](model, "The cat sat.")


@pytest.mark.parametrize("name", ANNOTATED)
def test_texts_without_annotations_are_refused(model: AttentionModel, name: str) -> None:
    study, needed = ANNOTATED[name]
    with pytest.raises(TypeError, match=naming(needed)):
        study(model, TEXTS)


def test_pairs_and_chats_are_texts(model: AttentionModel) -> None:
    pairs: list[Any] = [("The cat sat.", "It slept."), "He ran."]
    found = measure(model, iter(pairs), ["entropy"], progress=False)
    expected = measure(model, make_segments(pairs, model), ["entropy"], progress=False)
    np.testing.assert_equal(found.heads(), expected.heads())


@pytest.mark.parametrize(
    ("inputs", "parts"),
    [
        ([{"role": "user", "content": "Hi."}], ("[chat]",)),
        ({"train": TEXTS, "test": TEXTS}, ("'train'", "[row]")),
        ([["The", "cat"]], ("text 0", "list of words")),
        ([*TEXTS, 4], ("int at 3", "make_segments")),
        ([TEXTS[0] * 200], ("text 0", "truncate=True", "make_segments")),
    ],
)
def test_inputs_of_another_form_are_refused(
    model: AttentionModel, inputs: Any, parts: tuple[str, ...]
) -> None:
    with pytest.raises((TypeError, ValueError), match=naming(*parts)):
        measure(model, inputs, ["entropy"], progress=False)


def test_the_names_of_columns_are_not_read_as_texts(model: AttentionModel) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"text": TEXTS})
    with pytest.raises(TypeError, match=naming("table['text']")):
        measure(model, table, ["entropy"], progress=False)
    assert measure(model, table["text"], ["entropy"], progress=False).n_segments == len(TEXTS)


def test_a_model_of_pictures_refuses_texts() -> None:
    with pytest.raises(TypeError, match=naming("pathlib.Path")):
        measure(load_model("attnwidget/shapes"), ["cat.png"], progress=False)


def test_words_are_compared_over_lists_of_words(model: AttentionModel) -> None:
    with pytest.raises(TypeError, match=naming("text.split()")):
        compare(model, model, TEXTS, unit="words", progress=False)


def test_models_in_turn_read_the_same_texts() -> None:
    found = compare(load_model, "attnwidget/genre", TEXTS, max_loaded_models=1, progress=False)
    both = compare(load_model(), load_model("attnwidget/genre"), TEXTS, progress=False)
    np.testing.assert_array_equal(found.cosine, both.cosine)


def test_finished_checkpoints_are_found_by_their_texts(
    model: AttentionModel, tmp_path: Path
) -> None:
    def study(texts: Any) -> Any:
        return measure_checkpoints(
            [("one", model)], texts, ["entropy"], resume=tmp_path / "run.npz", progress=False
        )

    np.testing.assert_equal(study(TEXTS).heads("one"), study(TEXTS).heads("one"))
    with pytest.raises(ValueError, match=naming("run.npz")):
        study(TEXTS[:1])
