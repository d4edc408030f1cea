"""Texts, pictures, treebank, atlas and probe that are bundled with the models.

Example:
    >>> from attnwidget.demo import demo_treebank
    >>> len(demo_treebank())
    115
"""

from typing import TYPE_CHECKING

from attnwidget.behaviors.head_atlas.demo_atlas import demo_atlas
from attnwidget.demo.drawn_shapes import DrawnShapes, drawn_shapes
from attnwidget.demo.training_steps import induction_checkpoints
from attnwidget.probes.dependency.demo_scores import demo_dependency_scores
from attnwidget.probes.packaged_probe import demo_probe
from attnwidget.public_names import refuse_names
from attnwidget.text.demonstrations import (
    demo_documents,
    demo_genres,
    demo_minimal_pairs,
    demo_prose,
    demo_texts,
    demo_treebank,
)
from attnwidget.text.made_language import demo_alignments

# Type checkers know all names already. With a module `__getattr__`, they would accept any name.
if not TYPE_CHECKING:
    __getattr__ = refuse_names(__name__)

__all__ = [
    "DrawnShapes",
    "demo_alignments",
    "demo_atlas",
    "demo_dependency_scores",
    "demo_documents",
    "demo_genres",
    "demo_minimal_pairs",
    "demo_probe",
    "demo_prose",
    "demo_texts",
    "demo_treebank",
    "drawn_shapes",
    "induction_checkpoints",
]
