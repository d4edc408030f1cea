"""The behaviours that an atlas knows."""

from __future__ import annotations

from collections.abc import Iterable

from attnwidget.behaviours.behaviour import Behaviour
from attnwidget.behaviours.broad import Broad
from attnwidget.behaviours.copying import Copying
from attnwidget.behaviours.coreference import Coreference
from attnwidget.behaviours.offsets import OFFSETS, Offset
from attnwidget.behaviours.pronouns import Pronouns
from attnwidget.behaviours.rare_words import RareWords
from attnwidget.behaviours.relations import Relations
from attnwidget.behaviours.repeated_random_tokens import RepeatedRandomTokens
from attnwidget.behaviours.repetitions import DuplicateToken, InductionInText
from attnwidget.behaviours.retrieval import Retrieval
from attnwidget.behaviours.special_tokens import SPECIAL
from attnwidget.behaviours.successor import Successor
from attnwidget.behaviours.within_sentence import WithinSentence


def known_behaviours() -> list[Behaviour]:
    """Return a new object of every behaviour of the package.

    Example:
        >>> from attnwidget.behaviours.registry import known_behaviours
        >>> [behaviour.name for behaviour in known_behaviours()][:3]
        ['two tokens before', 'previous token', 'current token']
    """
    return [
        *(Offset(offset) for offset in OFFSETS),
        *SPECIAL,
        WithinSentence(),
        Broad(),
        DuplicateToken(),
        InductionInText(),
        RareWords(),
        RepeatedRandomTokens(),
        Retrieval(),
        Relations(),
        Coreference(),
        Pronouns(),
        Copying(),
        Successor(),
    ]


def chosen_behaviours(chosen: Iterable[str | Behaviour] | None) -> list[Behaviour]:
    """Return behaviours by name or as passed; None = all behaviours of the package.

    Raises:
        ValueError: An unknown name, no behaviour, or a name that occurs twice.
        TypeError: Neither a name nor a behaviour.
    """
    known = {behaviour.name: behaviour for behaviour in known_behaviours()}
    if chosen is None:
        return list(known.values())
    if isinstance(chosen, (str, Behaviour)):
        chosen = [chosen]
    behaviours = []
    for item in chosen:
        if isinstance(item, str):
            if item not in known:
                raise ValueError(f"there is no behaviour {item!r}: choose among {', '.join(known)}")
            item = known[item]
        if not isinstance(item, Behaviour):
            raise TypeError(
                f"a behaviour is a name or a Behaviour, such as a LinkBehaviour of your own; got "
                f"{item!r:.80}"
            )
        behaviours.append(item)
    names = [behaviour.name for behaviour in behaviours]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"behaviours are one or more, each once, got {names}")
    return behaviours
