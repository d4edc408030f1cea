"""The public names of `attnwidget.probes` and the modules that define them."""

from .dependency.dependency_scores import (
    compare_dependency_probes as compare_dependency_probes,
)
from .dependency.train_dependency_probe import train_dependency_probe as train_dependency_probe
from .pairs.train_pair_probe import train_pair_probe as train_pair_probe
from .structural.train_structural_probe import train_structural_probe as train_structural_probe
