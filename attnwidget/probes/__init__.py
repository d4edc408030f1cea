"""Classifiers trained on attention, with baselines: dependency, pair and structural probes.

`attnwidget.load_probe` reads a saved probe.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.demo import demo_treebank
    >>> from attnwidget.probes import train_pair_probe
    >>> trees = demo_treebank()
    >>> found = train_pair_probe(load_model(), trees[:80], trees[80:], min_count=50, progress=False)
    >>> found.relations[:3]
    ('det', 'punct', 'nsubj')
"""

from attnwidget.public_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
