"""Arguments in the wrong order, or of the wrong kind, are named with what is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attnwidget import (
    AttentionModel,
    ablate,
    atlas,
    compare,
    make_segments,
    measure,
    measure_attention,
    read_segments,
)
from attnwidget.behaviors import head_examples, measure_behaviors
from attnwidget.interventions import (
    gradient_effects,
    head_importance,
    measure_minimal_pairs,
    patch_heads,
)
from attnwidget.mechanisms import (
    direct_effects,
    explain_link,
    head_vocabulary,
    head_writes,
    key_biplot,
    link_factors,
    logit_lens,
    token_norms,
    wavelength_shares,
)
from attnwidget.metrics import (
    attention_flow,
    attention_rollout,
    induction_scores,
    modality_shares,
)
from attnwidget.words import probe_relations, word_times
from refusals import naming

TEXTS = ["The cat sat.", "It slept."]
A_MODEL = naming("study", "list", "load_model()")

STUDIES: dict[str, Callable[[AttentionModel], Any]] = {
    "make_segments": lambda model: make_segments(model, TEXTS),  # type: ignore[arg-type]
    "read_segments": lambda model: read_segments(model, TEXTS),  # type: ignore[arg-type]
    "measure": lambda model: measure(TEXTS, model),  # type: ignore[arg-type]
    "compare": lambda model: compare(TEXTS, model, model),  # type: ignore[arg-type]
    "ablate": lambda model: ablate(TEXTS, model, scoring="loss"),  # type: ignore[arg-type]
    "atlas": lambda model: atlas(TEXTS, model),  # type: ignore[arg-type]
    "measure_behaviors": lambda model: measure_behaviors(TEXTS, model),  # type: ignore[arg-type]
    "head_examples": lambda model: head_examples(TEXTS, model, [(0, 0)]),  # type: ignore[arg-type]
    "measure_minimal_pairs": lambda model: measure_minimal_pairs(TEXTS, model),  # type: ignore[arg-type]
    "head_importance": lambda model: head_importance(TEXTS, model),  # type: ignore[arg-type]
    "patch_heads": lambda model: patch_heads(TEXTS, model, TEXTS),  # type: ignore[arg-type]
    "head_vocabulary": lambda model: head_vocabulary(TEXTS, 0, 0, words=[1]),  # type: ignore[arg-type]
    "induction_scores": lambda model: induction_scores(TEXTS),  # type: ignore[arg-type]
}

OF_AN_INPUT: dict[str, Callable[[Any], Any]] = {
    "measure_attention": lambda given: measure_attention(given, ["entropy"]),
    "attention_rollout": attention_rollout,
    "attention_flow": attention_flow,
    "modality_shares": modality_shares,
    "logit_lens": logit_lens,
    "direct_effects": lambda given: direct_effects(given, "her", "his"),
    "gradient_effects": lambda given: gradient_effects(given, "her", "his"),
    "explain_link": lambda given: explain_link(given, 0, 0, 1, 2),
    "link_factors": lambda given: link_factors(given, 0, 0, 1, 2),
    "head_writes": lambda given: head_writes(given, 0, 0),
    "key_biplot": lambda given: key_biplot(given, 0, 0),
    "token_norms": token_norms,
    "wavelength_shares": lambda given: wavelength_shares(given, 0),
    "word_times": word_times,
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_list_in_place_of_a_model_is_named(name: str, model: AttentionModel) -> None:
    with pytest.raises(TypeError, match=A_MODEL):
        STUDIES[name](model)


@pytest.mark.parametrize("name", OF_AN_INPUT)
def test_a_model_or_a_text_in_place_of_an_attention_is_named(
    name: str, model: AttentionModel
) -> None:
    for given, kind in ((model, "AttentionModel"), (TEXTS[0], "str")):
        with pytest.raises(TypeError, match=naming("Attention", kind, "load_model")):
            OF_AN_INPUT[name](given)


def test_a_model_in_place_of_sentences_or_heads_is_named(model: AttentionModel) -> None:
    with pytest.raises(TypeError, match=naming("list", "AttentionModel", "load_treebank")):
        probe_relations(TEXTS, model)  # type: ignore[arg-type]
    heads: Any = model
    with (
        pytest.raises(TypeError, match=naming("heads", "'L1 H3'", "AttentionModel")),
        model.disabled(heads),
    ):
        pass
