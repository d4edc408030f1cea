"""What heads with a tested name do: the name as a sentence says it, and its family."""

from __future__ import annotations

from typing import NamedTuple

from attnwidget.behaviours.scores.name_families import name_family

#: Names of behaviours as the line of the explorer says them.
_SAID = {
    "previous token": "the word before",
    "next token": "the word after",
    "two tokens before": "two words before",
    "two tokens after": "two words after",
    "current token": "the word itself",
    "within sentence": "stays in its sentence",
    "duplicate token": "the same word elsewhere",
    "duplicate token (random tokens)": "the same random token",
    "induction": "the word after the same word",
    "induction (random tokens)": "the token after the same random token",
    "pronoun to person": "pronoun to its person",
}
#: Names of relations of Universal Dependencies, and the word that such a word depends on.
_RELATIONS = {
    "acl": ("clause", "its noun"),
    "advcl": ("adverbial clause", "its verb"),
    "advmod": ("adverb", "its word"),
    "amod": ("adjective", "its noun"),
    "appos": ("apposition", "its noun"),
    "aux": ("auxiliary", "its verb"),
    "aux:pass": ("passive auxiliary", "its verb"),
    "case": ("preposition", "its noun"),
    "cc": ("conjunction", "its word"),
    "ccomp": ("object clause", "its verb"),
    "compound": ("compound", "its noun"),
    "conj": ("second conjunct", "the first"),
    "cop": ("copula", "its predicate"),
    "det": ("determiner", "its noun"),
    "iobj": ("indirect object", "its verb"),
    "mark": ("conjunction", "its clause"),
    "nmod": ("modifying noun", "its noun"),
    "nmod:poss": ("possessive", "its noun"),
    "nsubj": ("subject", "its verb"),
    "nsubj:pass": ("passive subject", "its verb"),
    "nummod": ("number", "its noun"),
    "obj": ("object", "its verb"),
    "obl": ("phrase", "its verb"),
    "xcomp": ("complement", "its verb"),
}


class TestedName(NamedTuple):
    """A name that a test gave to a head.

    Attributes:
        said: The name as the line of the explorer says it.
        family: "neighbour", "grammar", "pronoun", "same word", "rests" or "other".
    """

    said: str
    family: str


def tested_name(name: str) -> TestedName:
    """Return a name of an atlas as the explorer says it, with its family.

    Example:
        >>> from attnwidget.widgets.explorer.head_families import tested_name
        >>> tested_name("obj to governor")
        TestedName(said='object to its verb', family='grammar')
        >>> tested_name("[CLS]")
        TestedName(said='rests on [CLS]', family='rests')
    """
    ends = name.split(" to ")
    if "governor" in ends and len(ends) == 2:
        relation = next(end for end in ends if end != "governor")
        dependent, governor = _RELATIONS.get(relation, (relation, "its governor"))
        if ends[0] == "governor":
            return TestedName(f"{governor.removeprefix('its ')} to its {dependent}", "grammar")
        return TestedName(f"{dependent} to {governor}", "grammar")
    family = name_family(name)
    said = f"rests on {name}" if family == "rests" else _SAID.get(name, name)
    return TestedName(said, family or "other")
