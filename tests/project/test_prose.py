"""Prose and layout of the sources: few hard sentences, short lines, no packed literals."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from prose import sentences

ROOT = Path(__file__).parents[2]
# Largest share of hard sentences. The README is short: one sentence is more than 2 % of it.
BUDGETS = {
    "attnwidget": 0.007,
    "docs/models": 0.007,
    "js/src": 0.02,
    "docs/pages": 0.015,
    "README.md": 0.03,
}
WIDTH = 100
PYTHON = sorted(
    path for part in ("attnwidget", "docs/models") for path in (ROOT / part).rglob("*.py")
)
TYPESCRIPT = sorted((ROOT / "js" / "src").rglob("*.ts"))


@pytest.mark.parametrize("part", BUDGETS)
def test_few_sentences_are_hard(part: str) -> None:
    found = list(sentences(ROOT / part))
    hard = [sentence for sentence in found if sentence.is_hard]
    listed = "\n".join(f"{one.path}:{one.line}: {one.text}" for one in hard)
    budget = BUDGETS[part] * len(found)
    assert len(hard) <= budget, f"name the nouns in some of these:\n{listed}"


def test_literals_of_typescript_are_written_out() -> None:
    packed = re.compile(r"\.\.\.\{ \w|\.\.\.\(\[[^\]]*\] as const\)")
    assert [path for path in TYPESCRIPT if packed.search(path.read_text("utf-8"))] == []


def test_arguments_and_assignments_of_python_are_written_out() -> None:
    packed = []
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Starred) and isinstance(node.value, (ast.Tuple, ast.List)):
                packed.append(f"{path}:{node.lineno}")
    assert packed == []


def test_lines_fit_the_width() -> None:
    """Tables, formulas, code and patterns may have longer lines."""
    code = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "models.md"]
    long = [
        f"{path}:{number}"
        for path in [*pages, ROOT / "README.md", ROOT / "CHANGELOG.md", *TYPESCRIPT]
        for number, line in enumerate(code.sub("", path.read_text("utf-8")).splitlines(), 1)
        if len(line) > WIDTH and not re.match(r"\s*(\||\$\$|!\[|/\^|`[^`]*`,?$)", line)
    ]
    assert long == []
