"""Trained probes that are bundled with the package."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Literal, overload

from attnwidget.capture.load import load_model
from attnwidget.corpus.argument_checks import one_of
from attnwidget.hidden_frames import hides_frames
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.probes.dependency.demo_scores import demo_dependency_scores
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.dependency.dependency_scores import DependencyScores
from attnwidget.probes.features import model_digest
from attnwidget.probes.pairs.pair_result import PairProbe
from attnwidget.probes.probe_file import load_probe
from attnwidget.probes.structural.structural_result import StructuralProbe

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_FILES = {"attention": "probe.npz", "pairs": "pairs.npz", "trees": "trees.npz"}


@overload
def demo_probe(kind: Literal["attention"] = "attention") -> DependencyProbe: ...
@overload
def demo_probe(kind: Literal["pairs"]) -> PairProbe: ...
@overload
def demo_probe(kind: Literal["trees"]) -> StructuralProbe: ...
@hides_frames
def demo_probe(
    kind: Literal["attention", "pairs", "trees"] = "attention",
) -> DependencyProbe | PairProbe | StructuralProbe:
    """Load a trained probe of the bundled model.

    Args:
        kind: Kind of probe. "attention": a probe that finds governors from the attention of all
            heads (`train_dependency_probe`). It was trained with three seeds and twenty epochs on
            the first 90 sentences of `demo_treebank`, and scored on the other 25 sentences, with
            the control task and a probe on a model with random weights. These are too few sentences
            for claims about the model. "pairs": classifiers of pairs of words (`train_pair_probe`),
            trained on 2,091 sentences of UD English EWT and scored on 1,001 sentences. "trees": a
            structural probe (`train_structural_probe`), trained and scored on the same sentences as
            "pairs", for all layers and eight ranks. It has the maps of layer 2 and rank 32.

    Raises:
        ValueError: If there is no probe of this kind.

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> probe = demo_probe()
        >>> probe.predictions(demo_treebank()[94])
        ProbePredictions(8 of 15 right: 'Sorry, I missed your call, my phone was in my other coat.')
        >>> demo_probe("trees").predictions(demo_treebank()[94]).uuas > 0.5
        True
    """
    one_of("kind", kind, list(_FILES))
    with as_file(files("attnwidget").joinpath("demo", _FILES[kind])) as path:
        probe = load_probe(path)
    assert isinstance(probe, DependencyProbe | PairProbe | StructuralProbe)
    model = load_model()
    if isinstance(probe, PairProbe):
        return replace(probe, model_digest=model_digest(model))
    # The weights are bundled, but other parts of the digest differ between transformers versions.
    return replace(probe, model=model, model_digest=model_digest(model))


def known_dependency_scores(model: AttentionModel) -> DependencyScores | None:
    """Return the stored scores of dependency probes if they belong to the model's weights."""
    return demo_dependency_scores() if _has_bundled_weights(model) else None


def known_pair_probe(model: AttentionModel) -> PairProbe | None:
    """Return the bundled probe of pairs if it belongs to the model's weights, otherwise None."""
    return demo_probe("pairs") if _has_bundled_weights(model) else None


def known_structural_probe(model: AttentionModel) -> StructuralProbe | None:
    """Return the bundled structural probe if it belongs to the model's weights, otherwise None."""
    if not _has_bundled_weights(model):
        return None
    return replace(demo_probe("trees"), model=model, model_digest=model_digest(model))


def _has_bundled_weights(model: AttentionModel) -> bool:
    return weights_digest(model.hf_model) == weights_digest(load_model().hf_model)
