"""No context manager holds a lock during its caller's block: Ctrl-C could leave the lock taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "attnwidget"
#: Locks, and conditions, which are entered in Python.
LOCK = re.compile(r"(^|[._])lock$|\.in_turn\(\)$|_changed$")


def held_over_yields(source: str) -> Iterator[str]:
    """Yield the locks that context managers hold while they yield."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        if "contextmanager" not in {ast.unparse(one) for one in function.decorator_list}:
            continue
        for block in ast.walk(function):
            if isinstance(block, ast.With) and any(
                isinstance(part, ast.Yield) for part in ast.walk(block)
            ):
                names = [ast.unparse(item.context_expr) for item in block.items]
                yield from (f"{function.name}: {name}" for name in names if LOCK.search(name))


def test_a_lock_over_a_yield_is_found() -> None:
    source = """
@contextmanager
def reading(self):
    with self.lock.in_turn(), plain():
        yield
    with self._lock:
        pass
"""
    assert list(held_over_yields(source)) == ["reading: self.lock.in_turn()"]


def test_no_context_manager_holds_a_lock() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in held_over_yields(path.read_text("utf-8"))
    ]
    assert found == []


def test_no_block_enters_a_condition() -> None:
    """The lock of a condition is entered itself, because `threading.Condition` is Python."""
    found = [
        f"{path.relative_to(PACKAGE)}:{block.lineno}"
        for path in PACKAGE.rglob("*.py")
        for block in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(block, ast.With)
        and any(ast.unparse(item.context_expr).endswith("_changed") for item in block.items)
    ]
    assert found == []


def test_locks_are_renewed_in_forks() -> None:
    """Other locks than `ThreadLock` stay taken in a fork, if a thread of the parent held them."""
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"threading\.(R?Lock|Event|Semaphore)\(", path.read_text("utf-8"))
    }
    # The line of a model's lock is renewed with the lock. A timer that reports progress ends.
    assert found == {"capture/model_lock.py", "corpus/progress_bar.py", "text/thread_lock.py"}
