"""The exercises of the lessons: `check(name, answer)` says whether an answer is right."""

from exercises.checking import check

__all__ = ["check"]
