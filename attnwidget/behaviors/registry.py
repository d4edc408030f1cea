"""The behaviors that an atlas knows: the `BEHAVIORS` of every file of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from attnwidget import behaviors as folder
from attnwidget.behaviors.behavior import Behavior, Family
from attnwidget.text.near_names import among

#: Files in the order of a table of behaviors. Further files follow by name.
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
def known_behaviors() -> tuple[Behavior, ...]:
    """Return every behavior of the package, in the order of a table.

    Example:
        >>> from attnwidget.behaviors.registry import known_behaviors
        >>> [behavior.name for behavior in known_behaviors()][:3]
        ['two tokens before', 'previous token', 'current token']
    """
    modules = {module.name for module in iter_modules(folder.__path__) if not module.ispkg}
    further = sorted(modules - set(_FIRST))
    files = (import_module(f"attnwidget.behaviors.{name}") for name in (*_FIRST, *further))
    return tuple(behavior for file in files for behavior in getattr(file, "BEHAVIORS", ()))


@cache
def family_of(name: str) -> Family:
    """Return the family of a name that an atlas gave to a head; "" without a family.

    Example:
        >>> from attnwidget.behaviors.registry import family_of
        >>> family_of("object to its verb"), family_of("rests on [CLS]")
        ('grammar', 'rests')
        >>> family_of("a behavior of your own")
        ''
    """
    for behavior in known_behaviors():
        if behavior.gives_name(name):
            return behavior.family
    return ""


def chosen_behaviors(
    chosen: Iterable[str | Behavior] | None, of_pictures: bool = False
) -> list[Behavior]:
    """Return behaviors by name or as passed; None = all behaviors of texts, or of pictures.

    Raises:
        ValueError: An unknown name, no behavior, or a name that occurs twice.
        TypeError: Neither a name nor a behavior.
    """
    known = {behavior.name: behavior for behavior in known_behaviors()}
    if chosen is None:
        other = "texts" if of_pictures else "pictures"
        return [behavior for behavior in known.values() if behavior.reads != other]
    if isinstance(chosen, (str, Behavior)):
        chosen = [chosen]
    behaviors = []
    for item in chosen:
        if isinstance(item, str):
            if item not in known:
                raise ValueError(f"there is no behavior {item!r}: {among(item, known)}")
            item = known[item]
        if not isinstance(item, Behavior):
            raise TypeError(
                f"a behavior is a name or a Behavior, such as a LinkBehavior of your own; got "
                f"{item!r:.80}"
            )
        behaviors.append(item)
    names = [behavior.name for behavior in behaviors]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"behaviors are one or more, each once, got {names}")
    return behaviors
