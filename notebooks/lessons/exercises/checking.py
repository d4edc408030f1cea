"""Check an answer: right, not yet with a hint, or of another type than expected.

Right answers are computed, by the code of the lesson's file in this folder. A lesson therefore
holds no answer, and an answer follows the model if the model changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

_HEAD = re.compile(r"\s*L(\d+) ?H(\d+)\s*", re.IGNORECASE)
# The wrong answers to each exercise so far: another wrong answer brings the next hint.
_tried: dict[str, list[str]] = {}


@dataclass(frozen=True)
class Kind:
    """A type of answers.

    Attributes:
        expects: The expected type in words, for example "a number, such as 0.25".
        read: Takes an answer, returns it in one form. Raises TypeError for another type.
        same: Whether two answers in this form agree.
    """

    expects: str
    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Exercise:
    """A question of a lesson.

    Attributes:
        kind: The type of the answer.
        solve: Computes the right answer.
        hints: From a first nudge to almost the answer.
        right: A sentence for a reader who is right.
        mistakes: Frequent wrong answers: a function that computes the answer, and what to say.
    """

    kind: Kind
    solve: Callable[[], Any]
    hints: Sequence[str]
    right: str
    mistakes: Sequence[tuple[Callable[[], Any], str]] = ()


def number(tolerance: float = 0.01) -> Kind:
    """A number that may differ from the right number by `tolerance`."""

    def read(answer: Any) -> float:
        if isinstance(answer, np.ndarray) and answer.size == 1:
            answer = answer.item()
        if isinstance(answer, bool) or not isinstance(answer, Real):
            raise TypeError
        return float(answer)

    return Kind("a number, such as 0.25", read, lambda a, b: bool(abs(a - b) <= tolerance))


def count() -> Kind:
    """A whole number."""

    def read(answer: Any) -> int:
        if isinstance(answer, bool) or not isinstance(answer, (Integral, np.integer)):
            raise TypeError
        return int(answer)

    return Kind("a whole number, such as 7", read, lambda a, b: bool(a == b))


def numbers(size: int, tolerance: float = 0.01) -> Kind:
    """An array of `size` numbers, each of which may differ by `tolerance`."""

    def read(answer: Any) -> np.ndarray:
        try:
            array = np.asarray(answer, dtype=float)
        except (TypeError, ValueError):
            raise TypeError from None
        if array.shape != (size,):
            raise TypeError
        return array

    def same(a: np.ndarray, b: np.ndarray) -> bool:
        return bool(np.allclose(a, b, rtol=0, atol=tolerance))

    return Kind(f"an array of {size} numbers", read, same)


def head() -> Kind:
    """A head, as (layer, head) or "L1 H3"."""

    def read(answer: Any) -> tuple[int, int]:
        if isinstance(answer, str) and (found := _HEAD.fullmatch(answer)):
            return int(found[1]), int(found[2])
        if isinstance(answer, (tuple, list, np.ndarray)) and len(answer) in (2, 3):
            layer, number = answer[:2]
            if all(isinstance(part, (Integral, np.integer)) for part in (layer, number)):
                return int(layer), int(number)
        raise TypeError

    return Kind('a head, such as (2, 8) or "L2 H8"', read, lambda a, b: bool(a == b))


def word() -> Kind:
    """A word; capitals make no difference."""

    def read(answer: Any) -> str:
        if not isinstance(answer, str):
            raise TypeError
        return answer.strip().lower()

    return Kind('a word in quotes, such as "captain"', read, lambda a, b: bool(a == b))


def check(name: str, answer: object) -> None:
    """Print whether an answer is right, and a hint if it is not.

    Each further wrong answer brings the next hint. The last hint is said again.

    Args:
        name: The exercise, for example "1.2": lesson 1, exercise 2.
        answer: The answer. `...` stands for no answer yet.

    Raises:
        ValueError: There is no such exercise.
    """
    exercise = exercises(name)[name]
    kind = exercise.kind
    if answer is ...:
        print(f"Exercise {name} expects {kind.expects}. Write it in the place of the dots.")
        return
    try:
        given = kind.read(answer)
    except TypeError:
        print(f"Exercise {name} expects {kind.expects}, got {_told(answer)}.")
        return
    if kind.same(given, kind.read(exercise.solve())):
        _tried.pop(name, None)
        print(f"Exercise {name}: right. {exercise.right}")
        return
    tried = _tried.setdefault(name, [])
    if repr(given) not in tried:
        tried.append(repr(given))
    for solve, said in exercise.mistakes:
        if kind.same(given, kind.read(solve())):
            print(f"Exercise {name}: not yet. {said}")
            return
    place = min(tried.index(repr(given)), len(exercise.hints) - 1)
    hints = len(exercise.hints)
    print(f"Exercise {name}: not yet. Hint {place + 1} of {hints}: {exercise.hints[place]}")


def exercises(name: str) -> dict[str, Exercise]:
    """Return the exercises of the lesson that an exercise belongs to.

    Raises:
        ValueError: There is no such exercise.
    """
    lesson = str(name).partition(".")[0]
    try:
        module = import_module(f"exercises.lesson_{lesson}")
    except ModuleNotFoundError:
        raise ValueError(f'exercises are named "1.1" to "6.4", got {name!r}') from None
    found: dict[str, Exercise] = module.EXERCISES
    if name not in found:
        raise ValueError(f"lesson {lesson} has the exercises {', '.join(found)}, got {name!r}")
    return found


def _told(answer: object) -> str:
    """An answer of a wrong type, in words."""
    if isinstance(answer, np.ndarray):
        return f"an array of shape {answer.shape}"
    if isinstance(answer, (list, tuple)):
        return f"a {type(answer).__name__} of {len(answer)}"
    text = repr(answer)
    return f"the {type(answer).__name__} {text if len(text) <= 40 else text[:40] + '…'}"
