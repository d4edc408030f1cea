"""Lessons: each exercise says right, wrong with hints, and which type of answer it expects."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import numpy as np
import pytest

from refusals import naming

LESSONS = Path(__file__).parents[2] / "notebooks" / "lessons"
SOURCES = sorted(LESSONS.glob("*.ipynb"))
CHECK = re.compile(r'^check\("(\d\.\d)", (\w+)\)$', re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Lesson 1 needs no model.
every_lesson = pytest.mark.parametrize(
    "source",
    [pytest.param(p, marks=[] if p == SOURCES[0] else pytest.mark.slow) for p in SOURCES],
    ids=[path.stem for path in SOURCES],
)


@pytest.fixture
def checking(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module that checks answers, imported as a lesson imports it."""
    monkeypatch.syspath_prepend(str(LESSONS))
    import exercises.checking

    exercises.checking._tried.clear()
    yield exercises.checking
    for name in [name for name in sys.modules if name.partition(".")[0] == "exercises"]:
        del sys.modules[name]


def code_cells(source: Path) -> list[str]:
    """The code of a lesson."""
    cells = nbformat.read(source, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def solutions(source: Path) -> dict[str, str]:
    """The code that solves each exercise of a lesson, by the exercise's name."""
    text = (LESSONS / "solutions" / f"{source.stem}.md").read_text("utf-8")
    blocks = BLOCK.findall(text)
    return {found[1]: block for block in blocks if (found := CHECK.search(block))}


def wrong_answer(right: Any) -> Any:
    """A wrong answer of the right type."""
    if isinstance(right, tuple):
        return (right[0], right[1] + 1)
    if isinstance(right, str):
        return f"{right}s"
    return right + 1000


def test_there_are_six_lessons_with_three_to_five_exercises() -> None:
    assert [source.stem[:2] for source in SOURCES] == ["01", "02", "03", "04", "05", "06"]
    for number, source in enumerate(SOURCES, 1):
        names = [name for cell in code_cells(source) for name, _ in CHECK.findall(cell)]
        assert names == [f"{number}.{i}" for i in range(1, len(names) + 1)]
        assert 3 <= len(names) <= 5
        assert list(solutions(source)) == names


@pytest.mark.timeout(1800)
@every_lesson
def test_exercises_of_a_lesson_are_answered_wrong_and_right(
    source: Path, checking: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each cell runs in order; a cell of an exercise runs with dots, wrong, and solved."""
    names: dict[str, Any] = {}
    solved = solutions(source)
    for cell in code_cells(source):
        asked = CHECK.search(cell)
        if asked is None:
            exec(cell, names)
            continue
        name, variable = asked.groups()
        assert f"{variable} = ...\n" in cell, "the cell holds no answer"
        exercise = checking.exercises(name)[name]
        kind = exercise.kind
        right = kind.read(exercise.solve())
        capsys.readouterr()

        exec(cell, names)
        assert capsys.readouterr().out.startswith(f"Exercise {name} expects {kind.expects}. Write")
        checking.check(name, object())
        assert f"expects {kind.expects}, got the object" in capsys.readouterr().out

        wrong = right
        for place, hint in enumerate(exercise.hints, 1):
            wrong = wrong_answer(wrong)
            for _ in range(2):  # the same answer again brings no new hint
                checking.check(name, wrong)
                said = f"Exercise {name}: not yet. Hint {place} of {len(exercise.hints)}: {hint}\n"
                assert capsys.readouterr().out == said
        for solve, said in exercise.mistakes:
            checking.check(name, solve())
            assert capsys.readouterr().out == f"Exercise {name}: not yet. {said}\n"

        exec(solved[name], names)
        assert capsys.readouterr().out == f"Exercise {name}: right. {exercise.right}\n"
        # What follows has the reader's answer.
        assert kind.same(kind.read(names[variable]), right)


@pytest.mark.parametrize(
    ("kind", "right", "refused"),
    [
        ("number", [0.5, np.float32(0.5), np.array([0.5]), 1], ["0.5", None, True, [0.5]]),
        ("count", [3, np.int64(3)], [3.0, "3", True]),
        ("head", [(2, 8), [2, 8], "L2 H8", "l2h8", (2, 8, "self")], ["2-8", (2.0, 8), 8, (2,)]),
        ("word", ["Ship ", "ship"], [5, ["ship"]]),
    ],
)
def test_answers_of_one_meaning_are_read_alike(
    checking: ModuleType, kind: str, right: list[Any], refused: list[Any]
) -> None:
    kind = getattr(checking, kind)()
    first = kind.read(right[0])
    assert first in (0.5, 3, (2, 8), "ship")
    for answer in refused:
        with pytest.raises(TypeError):
            kind.read(answer)
    assert [kind.read(answer) for answer in right if answer != 1] == [first] * (
        len(right) - right.count(1)
    )


def test_arrays_are_read_by_their_size(checking: ModuleType) -> None:
    kind = checking.numbers(2)
    assert kind.same(kind.read([1, 2]), kind.read(np.array([1.001, 2])))
    assert not kind.same(kind.read([1, 2]), kind.read([1, 2.5]))
    for answer in ([1], [[1, 2]], ["a", "b"], None):
        with pytest.raises(TypeError):
            kind.read(answer)


@pytest.mark.parametrize("name", ["7.1", "x", "1.9"])
def test_an_unknown_exercise_is_refused(checking: ModuleType, name: str) -> None:
    with pytest.raises(ValueError, match=naming("exercises")):
        checking.check(name, 1)
