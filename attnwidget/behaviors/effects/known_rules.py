"""Rules of the package by name."""

from __future__ import annotations

from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.registry import known_behaviors
from attnwidget.behaviors.relations import relation_of_name


def text_rules() -> dict[str, LinkRule]:
    """Return the rules that predict links from the tokens of a text, by name.

    Example:
        >>> from attnwidget.behaviors.effects.known_rules import text_rules
        >>> "previous token" in text_rules(), "determiner to its noun" in text_rules()
        (True, False)
    """
    return {
        behavior.name: behavior
        for behavior in known_behaviors()
        if isinstance(behavior, LinkRule) and behavior.reads != "pictures"
    }


def has_rule(name: str) -> bool:
    """Return whether a name has a rule for texts, or for the sentences of a treebank.

    Example:
        >>> from attnwidget.behaviors.effects.known_rules import has_rule
        >>> has_rule("determiner to its noun"), has_rule("copying")
        (True, False)
    """
    return name in text_rules() or relation_of_name(name) is not None
