"""The behaviours that an atlas knows: the `BEHAVIOURS` of every file of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from attnwidget import behaviours as folder
from attnwidget.behaviours.behaviour import Behaviour, HeadWords
from attnwidget.text.near_names import among

#: Files in the order of a table of behaviours. Further files follow by name.
_FIRST = (
    "offsets",
    "special_tokens",
    "within_sentence",
    "broad",
    "repetitions",
    "rare_words",
    "repeated_random_tokens",
    "retrieval",
    "relations",
    "coreference",
    "pronouns",
    "copying",
    "successor",
    "picture_patches",
)


@cache
def known_behaviours() -> tuple[Behaviour, ...]:
    """Return every behaviour of the package, in the order of a table.

    Example:
        >>> from attnwidget.behaviours.registry import known_behaviours
        >>> [behaviour.name for behaviour in known_behaviours()][:3]
        ['two tokens before', 'previous token', 'current token']
    """
    modules = {module.name for module in iter_modules(folder.__path__) if not module.ispkg}
    further = sorted(modules - set(_FIRST))
    files = (import_module(f"attnwidget.behaviours.{name}") for name in (*_FIRST, *further))
    return tuple(behaviour for file in files for behaviour in getattr(file, "BEHAVIOURS", ()))


@cache
def words_of(name: str) -> HeadWords:
    """Return how sentences and figures say a name that an atlas gave to a head.

    Example:
        >>> from attnwidget.behaviours.registry import words_of
        >>> words_of("obj to governor")
        HeadWords(said='object to its verb', family='grammar')
        >>> words_of("[CLS]")
        HeadWords(said='rests on [CLS]', family='rests')
        >>> words_of("a behaviour of your own")
        HeadWords(said='a behaviour of your own', family='')
    """
    for behaviour in known_behaviours():
        words = behaviour.words(name)
        if words is not None:
            return words
    return HeadWords(name)


def chosen_behaviours(
    chosen: Iterable[str | Behaviour] | None, of_pictures: bool = False
) -> list[Behaviour]:
    """Return behaviours by name or as passed; None = all behaviours of texts, or of pictures.

    Raises:
        ValueError: An unknown name, no behaviour, or a name that occurs twice.
        TypeError: Neither a name nor a behaviour.
    """
    known = {behaviour.name: behaviour for behaviour in known_behaviours()}
    if chosen is None:
        other = "texts" if of_pictures else "pictures"
        return [behaviour for behaviour in known.values() if behaviour.reads != other]
    if isinstance(chosen, (str, Behaviour)):
        chosen = [chosen]
    behaviours = []
    for item in chosen:
        if isinstance(item, str):
            if item not in known:
                raise ValueError(f"there is no behaviour {item!r}: {among(item, known)}")
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
