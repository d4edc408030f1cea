"""Checks of study arguments before any computation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from attnwidget.inputs.input_list import each_of
from attnwidget.text.loaded import Loaded, left_out_of
from attnwidget.text.near_names import did_you_mean

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

T = TypeVar("T")

#: Advice in errors about sentences, for which a plain text is not enough.
SENTENCES = (
    "this study needs annotated sentences: read them with load_treebank(path), or parse texts with "
    "spaCy for sentences_from_spacy(docs)"
)
#: Advice in errors about documents, for which a plain text is not enough.
DOCUMENTS = "this study needs documents with mentions: read them with load_coreference(path)"


def refuse_no_model(model: AttentionModel) -> None:
    """Raise TypeError unless `model` comes from `load_model`.

    Args:
        model: Argument of a study.
    """
    from attnwidget.capture.model import AttentionModel

    if not isinstance(model, AttentionModel):
        raise TypeError(
            f"a study reads a model, got {type(model).__name__}: load one with load_model()"
        )


def all_of(kind: type[T], given: Iterable[T], how: str) -> Loaded[T]:
    """Return the items as a list; raise TypeError if one has another type.

    The list preserves the reasons why sentences or documents were left out at loading.

    Args:
        kind: Required type.
        given: Items.
        how: Advice for the message.

    Example:
        >>> from attnwidget.corpus.argument_checks import all_of
        >>> all_of(int, (1, 2), "count")
        [1, 2]
        >>> all_of(int, "12", "count")
        Traceback (most recent call last):
        TypeError: expected a list, got '12': count
    """
    items = Loaded(each_of(given, how), left_out_of(given))
    for index, item in enumerate(items):
        if not isinstance(item, kind):
            raise TypeError(
                f"expected a list of {kind.__name__}, got {type(item).__name__} at {index}: {how}"
            )
    return items


def each_once(name: str, values: Iterable[T]) -> list[T]:
    """Return the values as a list; raise ValueError if there are none or one is repeated.

    Args:
        name: Name of the argument, for the message.
        values: Values of the argument.
    """
    value_list = list(values)
    if not value_list or len(set(value_list)) < len(value_list):
        raise ValueError(f"{name} must be one or more, each once, got {value_list}")
    return value_list


def one_of(name: str, value: object, allowed: Sequence[object]) -> None:
    """Raise ValueError if an argument is not an allowed value.

    Args:
        name: Name of the argument, for the message.
        value: Value of the argument.
        allowed: Allowed values.

    Example:
        >>> from attnwidget.corpus.argument_checks import one_of
        >>> one_of("pairing", "any", ("zip", "all"))
        Traceback (most recent call last):
        ValueError: pairing must be 'zip' or 'all', got 'any'
    """
    if value not in allowed:
        quoted_choices = [repr(choice) for choice in allowed]
        choices = (
            " or ".join(quoted_choices)
            if len(quoted_choices) == 2
            else f"one of {', '.join(quoted_choices)}"
        )
        suggestion = did_you_mean(value, allowed)
        advice = f": {suggestion}" if suggestion else ""
        raise ValueError(f"{name} must be {choices}, got {value!r}{advice}")
