"""Words of treebanks and documents: relations, coreference, links and linguistic features.

Example:
    >>> from attnwidget import Sentence, load_model
    >>> from attnwidget.words import probe_relations
    >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
    >>> probe_relations(load_model(), [cats], progress=False).relations
    ('all', 'nsubj', 'obj', 'root')
"""

from attnwidget.public_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
