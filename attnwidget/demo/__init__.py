"""The texts, pictures, treebank, atlas and probe that come with the embedded models.

Example:
    >>> from attnwidget.demo import demo_treebank
    >>> len(demo_treebank())
    115
"""

from attnwidget.behaviours.atlas.demo_atlas import demo_atlas
from attnwidget.demo.drawn_shapes import DrawnShapes, drawn_shapes
from attnwidget.demo.training_steps import induction_checkpoints
from attnwidget.probes.demo_probe import demo_probe
from attnwidget.text.demonstrations import (
    demo_documents,
    demo_genres,
    demo_pairs,
    demo_prose,
    demo_texts,
    demo_treebank,
)

__all__ = [
    "DrawnShapes",
    "demo_atlas",
    "demo_documents",
    "demo_genres",
    "demo_pairs",
    "demo_probe",
    "demo_prose",
    "demo_texts",
    "demo_treebank",
    "drawn_shapes",
    "induction_checkpoints",
]
