"""Trained probe that is bundled with the package."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files

from attnwidget.capture.load import load_model
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.features import model_digest
from attnwidget.probes.probe_file import load_probe


def demo_probe() -> DependencyProbe:
    """Load a trained probe of the bundled model.

    The probe is of kind "attention" and was trained with three seeds and twenty epochs on the first
    90 sentences of `demo_treebank`. It was scored on the other 25 sentences, with the control task
    and a probe on a model with random weights. These are too few sentences for claims about the
    model.

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> probe = demo_probe()
        >>> probe.predictions(demo_treebank()[94])
        ProbePredictions(8 of 15 right: 'Sorry, I missed your call, my phone was in my other coat.')
    """
    with as_file(files("attnwidget").joinpath("demo/probe.npz")) as path:
        probe = load_probe(path)
    assert isinstance(probe, DependencyProbe)
    model = load_model()
    # The weights are bundled, but other parts of the digest differ between transformers versions.
    return replace(probe, model=model, model_digest=model_digest(model))
