"""Treebank of an explorer, from any form of the argument `treebank`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnwidget.capture.model import AttentionModel
from attnwidget.text.demonstrations import demo_treebank
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.widgets.explorer.examples import is_embedded
from attnwidget.widgets.shared.relation_choice import refuse_other_model
from attnwidget.widgets.shared.relation_words import checked_sentences
from attnwidget.words.relation_results import RelationAccuracies

#: Source of the treebank that comes with the package.
DEMO = "demo_treebank()"


@dataclass(frozen=True, eq=False)
class Treebank:
    """Treebank with its sentences, the accuracies measured on it, and its source.

    Attributes:
        sentences: Sentences; () if the caller passed only accuracies.
        accuracies: Accuracies of heads; None if they are not measured yet.
        source: Path, `DEMO`, or "" for sentences from the notebook.
    """

    sentences: tuple[Sentence, ...]
    accuracies: RelationAccuracies | None
    source: str


def given_treebank(treebank: object, model: AttentionModel | None) -> Treebank | None:
    """Return the treebank of an explorer, or None.

    Args:
        treebank: Argument `treebank` of `explore`.
        model: Model of the explorer, or None.

    Raises:
        TypeError: If the argument has another type.
        ValueError: If the treebank has no sentences, there is no model to read them, or the
            accuracies belong to another model.
        OSError: If the file cannot be read.
    """
    if treebank is None and is_embedded(model):
        treebank = True
    if treebank is None or treebank is False:
        return None
    if model is None:
        raise ValueError(
            "a treebank is read by a model, and this attention comes without one: leave treebank "
            "out, or pass explore(model, attention, treebank=...)"
        )
    if treebank is True:
        return Treebank(tuple(demo_treebank()), None, DEMO)
    if isinstance(treebank, (str, Path)):
        return Treebank(tuple(load_treebank(treebank)), None, str(treebank))
    if isinstance(treebank, RelationAccuracies):
        return Treebank((), _fitting(treebank, model), "")
    if isinstance(treebank, tuple) and treebank and isinstance(treebank[0], RelationAccuracies):
        if len(treebank) != 2:
            raise TypeError(
                "what was measured goes with its sentences: treebank=(accuracies, sentences)"
            )
        accuracies, sentences = treebank
        return Treebank(checked_sentences(sentences), _fitting(accuracies, model), "")
    try:
        return Treebank(checked_sentences(treebank), None, "")
    except TypeError as error:
        raise TypeError(
            "treebank is the path of a CoNLL-U file, a list of Sentences, what probe_relations "
            "found, (accuracies, sentences) of both, True for demo_treebank(), or False for none: "
            + str(error)
        ) from None


def _fitting(accuracies: RelationAccuracies, model: AttentionModel) -> RelationAccuracies:
    shape = accuracies.correct.shape[:2]
    if shape != (model.n_layers, model.n_heads):
        raise ValueError(
            f"the accuracies are of {shape[0]}×{shape[1]} heads ({accuracies.model_name}), the "
            f"model has {model.n_layers}×{model.n_heads}: pass what probe_relations found with it"
        )
    refuse_other_model(accuracies, model)
    return accuracies
