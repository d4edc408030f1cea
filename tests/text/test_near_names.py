"""A misspelled name of something that exists gets the nearest name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from attnwidget import HeadGrid, measure_attention
from attnwidget.behaviors import measure_behaviors
from attnwidget.demo import demo_atlas, demo_minimal_pairs, demo_treebank
from attnwidget.metrics import Confidence
from attnwidget.text.linguistic_features import feature_words
from attnwidget.text.near_names import among, did_you_mean, near_names
from refusals import naming

if TYPE_CHECKING:
    from attnwidget import AttentionModel

Use = Callable[["AttentionModel"], Any]
TEXT = "The cat sat."

#: By kind of name a misspelled name, the name that was meant, and a call.
NAMES: dict[str, tuple[str, str, Use]] = {
    "metric": (
        "entropi",
        "entropy",
        lambda model: measure_attention(model.attend(TEXT), ["entropi"]),
    ),
    "result of a metric": (
        "Entropy",
        "entropy",
        lambda model: measure_attention(model.attend(TEXT), ["entropy"])["Entropy"],
    ),
    "behavior": (
        "previous tokn",
        "previous token",
        lambda model: measure_behaviors(model, behaviors=["previous tokn"]),
    ),
    "behavior of an atlas": (
        "previus token",
        "previous token",
        lambda model: demo_atlas().find("previus token"),
    ),
    "score of a behavior": (
        "previous tokn",
        "previous token",
        lambda model: demo_atlas().table["previous tokn"],
    ),
    "chart of a behavior": (
        "previous tokn",
        "previous token",
        lambda model: demo_atlas().chart("previous tokn"),
    ),
    "atlas": ("attnwidget/gener", "attnwidget/genre", lambda model: demo_atlas("attnwidget/gener")),
    "paradigm": (
        "anaphor_number_agrement",
        "anaphor_number_agreement",
        lambda model: demo_minimal_pairs("anaphor_number_agrement"),
    ),
    "linguistic feature": (
        "noun",
        "NOUN",
        lambda model: feature_words(demo_treebank()[0], "noun"),
    ),
    "token class": ("[CSL]", "[CLS]", lambda model: Confidence(["[CSL]"])),
    "quantity": ("weigths", "weights", lambda model: model.attend(TEXT).map("weigths", 0, 0)),
    "method": ("uniforn", "uniform", lambda model: _disabled(model, "uniforn")),
    "theme": ("drak", "dark", lambda model: _drawn(model, "drak")),
    "option of a figure": (
        "selectd",
        "selected",
        lambda model: HeadGrid(model.attend(TEXT), selectd=[(0, 0)]),
    ),
    "metric of a figure": (
        "entropi",
        "entropy",
        lambda model: HeadGrid(
            model.attend(TEXT),
            metrics=measure_attention(model.attend(TEXT), ["entropy"]),
            metric="entropi",
        ),
    ),
}


def _drawn(model: AttentionModel, theme: Any) -> None:
    HeadGrid(model.attend(TEXT)).figure(theme=theme)


def _disabled(model: AttentionModel, method: Any) -> None:
    with model.disabled([(0, 0)], method=method):
        pass


@pytest.mark.parametrize(("name", "near", "use"), NAMES.values(), ids=NAMES)
def test_a_misspelled_name_gets_the_nearest(
    model: AttentionModel, name: str, near: str, use: Use, recording: None
) -> None:
    with pytest.raises(Exception, match=naming(name, f"did you mean '{near}'?")) as error:
        use(model)
    assert isinstance(error.value, (ValueError, KeyError, TypeError)) or "Trait" in repr(error)


def test_a_name_unlike_all_others_gets_the_list() -> None:
    assert near_names("zzz", ["entropy", "position"]) == []
    assert did_you_mean(None, ["entropy"]) == ""
    said = among("zzz", ["entropy", "position"])
    assert "'entropy', 'position'" in said and "did you mean" not in said
