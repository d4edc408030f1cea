"""The trained probe that comes with the package."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files

from attnwidget.capture.load import load_model
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.features import model_digest
from attnwidget.probes.probe_file import load_probe


def demo_probe() -> DependencyProbe:
    """Load a trained probe of the embedded model.

    The probe is of kind "attention" and was trained with three seeds and twenty epochs on the first
    90 sentences of `demo_treebank`. It was scored on the other 25 sentences, beside a probe of
    random weights and the control task. These are too few sentences for statements on the model.

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
    # The weights are the package's own; what else a digest has differs between transformers.
    return replace(probe, model=model, model_digest=model_digest(model))
