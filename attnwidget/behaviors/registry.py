"""Registry of behaviors: the `BEHAVIORS` of every file in this folder."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from attnwidget import behaviors as folder
from attnwidget.behaviors.behavior import Behavior, Family
from attnwidget.text.near_names import among

#: Files in table order. Other files follow in alphabetical order.
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
    """Return every behavior of the package, in table order.

    Example:
        >>> from attnwidget.behaviors.registry import known_behaviors
        >>> [behavior.name for behavior in known_behaviors()][:3]
        ['two tokens before', 'previous token', 'current token']
    """
    modules = {module.name for module in iter_modules(folder.__path__) if not module.ispkg}
    other_names = sorted(modules - set(_FIRST))
    files = (import_module(f"attnwidget.behaviors.{name}") for name in (*_FIRST, *other_names))
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
    """Return behaviors by name or as passed; None = all behaviors for texts, or for pictures.

    Raises:
        ValueError: If a name is unknown or occurs twice, or if there is no behavior.
        TypeError: If an item is neither a name nor a behavior.
    """
    by_name = {behavior.name: behavior for behavior in known_behaviors()}
    if chosen is None:
        other = "texts" if of_pictures else "pictures"
        return [behavior for behavior in by_name.values() if behavior.reads != other]
    if isinstance(chosen, (str, Behavior)):
        chosen = [chosen]
    behaviors = []
    for item in chosen:
        if isinstance(item, str):
            if item not in by_name:
                raise ValueError(f"there is no behavior {item!r}: {among(item, by_name)}")
            item = by_name[item]
        if not isinstance(item, Behavior):
            raise TypeError(
                f"a behavior must be a name or a Behavior, such as a LinkBehavior of your own; got "
                f"{item!r:.80}"
            )
        behaviors.append(item)
    names = [behavior.name for behavior in behaviors]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"behaviors must be one or more, each once, got {names}")
    return behaviors
