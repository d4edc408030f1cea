"""The public names of `attnwidget.probes` and the modules that define them."""

from .dependency.train_dependency_probe import train_dependency_probe as train_dependency_probe
from .pairs.train_pair_probe import train_pair_probe as train_pair_probe
from .structural.train_structural_probe import train_structural_probe as train_structural_probe
