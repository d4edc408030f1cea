"""Regular expressions take linear time for texts of users, however long these are."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

ROOT = Path(__file__).parents[2]
#: Characters that stand for what users write.
PROBES = " \t\na0_([<\"'.:;-|`é中"
#: Rows that count for a repetition in a repetition, which takes exponential time.
NESTED = 10


def degree(pattern: re.Pattern[str]) -> int:
    """Return the largest number of repetitions among which a pattern may divide equal characters.

    A pattern with two such repetitions takes quadratic time for a long row of the character, with
    three it takes cubic time.
    """
    items = list(parser.parse(pattern.pattern, pattern.flags))
    return max(_longest(items, probe, pattern.flags) for probe in PROBES)


def _longest(items: list[Any], probe: str, flags: int) -> int:
    """Return the number of repetitions among which some adjacent items divide a row."""
    longest = run = 0
    for item in items:
        repetitions = _repetitions(item, probe, flags)
        run = 0 if repetitions is None else run + repetitions
        inner = (_longest(part, probe, flags) for part in _parts(item))
        longest = max(longest, run, *inner)
    return longest


def _repetitions(item: Any, probe: str, flags: int) -> int | None:
    """Return the number of repetitions in an item; None if it matches no row of the probe."""
    operator, argument = item
    name = str(operator)
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return 0
    if name in SINGLE:
        return 0 if _matches(name, argument, probe, flags) else None
    of_parts = [_of_all(part, probe, flags) for part in _parts(item)]
    most_of_parts = max((number for number in of_parts if number is not None), default=None)
    if name not in ("MAX_REPEAT", "MIN_REPEAT"):
        return most_of_parts
    least, most, _ = argument
    if most_of_parts is None:
        return 0 if least == 0 else None
    if most is not constants.MAXREPEAT:
        return most_of_parts
    return NESTED if most_of_parts else 1


def _of_all(items: list[Any], probe: str, flags: int) -> int | None:
    numbers = [_repetitions(item, probe, flags) for item in items]
    return None if None in numbers else sum(number or 0 for number in numbers)


def _parts(item: Any) -> list[list[Any]]:
    """Return the sequences of items inside of an item."""
    operator, argument = item
    name = str(operator)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "SUBPATTERN"):
        return [list(argument[-1])]
    return [list(branch) for branch in argument[1]] if name == "BRANCH" else []


SINGLE = ("LITERAL", "NOT_LITERAL", "IN", "ANY")


def _matches(name: str, argument: Any, probe: str, flags: int) -> bool:
    if name == "ANY":
        return probe != "\n" or bool(flags & re.DOTALL)
    if name == "IN":
        return _is_in(argument, probe)
    return (argument == ord(probe)) is (name == "LITERAL")


def _is_in(members: list[Any], probe: str) -> bool:
    classes = {"CATEGORY_SPACE": r"\s", "CATEGORY_DIGIT": r"\d", "CATEGORY_WORD": r"\w"}
    negated = found = False
    for operator, argument in members:
        name = str(operator)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            found |= argument == ord(probe)
        elif name == "RANGE":
            found |= argument[0] <= ord(probe) <= argument[1]
        elif name == "CATEGORY":
            category = str(argument)
            positive = category.replace("_NOT", "")
            matches = re.fullmatch(classes[positive], probe) is not None
            found |= matches is (positive == category)
    return found is not negated


def python_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the regular expressions in calls of `re`, with their places."""
    for path in sorted((ROOT / "attnwidget").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")):
                continue
            flags = re.DOTALL if "DOTALL" in ast.unparse(node) else 0
            with suppress(ValueError):
                pattern = ast.literal_eval(node.args[0])
                yield f"{path.name}:{node.lineno}", re.compile(pattern, flags)


#: A regular expression after a sign after which no division can stand.
LITERAL = re.compile(
    r"(?<=[=(,:!&|?\[;])\s*/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+)/([dgimsuvy]*)"
)


def typescript_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the regular expressions of the page, as Python writes them."""
    for path in sorted((ROOT / "js" / "src").rglob("*.ts")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            code = line.strip()
            if code.startswith(("//", "*", "/*")):
                continue
            for literal, flags in LITERAL.findall(line):
                pattern = re.sub(r"\\p\{\w+\}", r"\\w", literal)
                pattern = re.sub(r"\\u\{(\w+)\}", lambda m: f"\\U{m[1]:0>8}", pattern)
                pattern = pattern.replace("(?<", "(?P<").replace("(?P<!", "(?<!")
                pattern = pattern.replace("(?P<=", "(?<=")
                python_flags = re.DOTALL if "s" in flags else 0
                yield f"{path.name}:{number}", re.compile(pattern, python_flags)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\s+", 1),
        (r"a\s*b\s*", 1),
        (r"\s*x?\s*(?::\s*(\S+))?\s*", 3),
        (r"\s*(a )?\s*", 2),
        (r"(\w+)*", NESTED),
        (r"(?:b|a+)+", NESTED),
        (r"[^()]*(?:\([^()]*\)[^()]*)*", 1),
    ],
)
def test_the_degree_of_a_pattern(pattern: str, expected: int) -> None:
    assert degree(re.compile(pattern)) == expected


@pytest.mark.parametrize(("patterns", "count"), [(python_patterns, 40), (typescript_patterns, 40)])
def test_no_pattern_divides_a_long_row_in_many_ways(
    patterns: Callable[[], Iterator[tuple[str, re.Pattern[str]]]], count: int
) -> None:
    found = list(patterns())
    assert len(found) >= count
    assert {place: pattern.pattern for place, pattern in found if degree(pattern) > 1} == {}
