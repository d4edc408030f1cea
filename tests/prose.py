"""Find sentences that are hard to read because words stand in for nouns.

A sentence is hard with three or more stand-ins ("those", "it", "which"), or with two or more of the
rarer stand-ins ("whose", "such"). The count is a hint: a sentence can be bad without being counted.

Run it as a program to list hard sentences: python tests/prose.py FOLDER…
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ANY = re.compile(
    r"\b(those|one|ones|others?|another|what|such|none|nothing|whose|own|meanwhile|it|they|them"
    r"|that|which|there|so|each)\b",
    re.IGNORECASE,
)
_RARE = re.compile(
    r"\b(those|ones?|others?|what|such|none|nothing|whose|own|meanwhile|that of)\b", re.IGNORECASE
)
_SHORTEST = 5
_LONGEST = 60
_LEFT_OUT = {"static", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class Sentence:
    """A sentence of a file, with the line of the text that it belongs to."""

    path: Path
    line: int
    text: str

    @property
    def is_hard(self) -> bool:
        """Whether words that stand for nouns make the sentence hard to read."""
        return len(_ANY.findall(self.text)) >= 3 or len(_RARE.findall(self.text)) >= 2


def sentences(root: Path) -> Iterator[Sentence]:
    """The sentences of 5 to 60 words in a file, or in all files of a folder.

    Python files have docstrings, comments, errors and `help=` texts, TypeScript files comments,
    Markdown files and notebooks text outside of code, tables and headings.
    """
    for path in [root] if root.is_file() else sorted(root.rglob("*")):
        if _LEFT_OUT & set(path.parts) or path.suffix not in _READERS:
            continue
        for line, text in _READERS[path.suffix](path.read_text("utf-8")):
            for sentence in re.split(r"(?<=[.;:])\s+", " ".join(text.split())):
                if _SHORTEST <= len(sentence.split()) <= _LONGEST:
                    yield Sentence(path, line, sentence)


def _of_python(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if text := ast.get_docstring(node):
                yield getattr(node, "lineno", 1), text.split(">>>")[0]
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                yield node.lineno, _literal(argument)
        elif isinstance(node, ast.keyword) and node.arg == "help":
            yield node.value.lineno, _literal(node.value)
    yield from _blocks(source, r"\s*#\s(.*)")


def _literal(node: ast.expr) -> str:
    """The text of a string or an f-string, with "…" for values."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in parts)
    return ""


def _of_typescript(source: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(r"/\*\*?(.*?)\*/", source, re.DOTALL):
        text = re.sub(r"^\s*\*", " ", match[1], flags=re.MULTILINE)
        yield source.count("\n", 0, match.start()) + 1, text
    yield from _blocks(source, r"\s*//\s(.*)")


def _of_markdown(source: str) -> Iterator[tuple[int, str]]:
    prose = re.sub(r"```.*?```", lambda match: "\n" * match[0].count("\n"), source, flags=re.DOTALL)
    yield from _blocks(prose, r"(?!\s*[|#$<])\s*(\S.*)")


def _of_notebook(source: str) -> Iterator[tuple[int, str]]:
    for cell in json.loads(source)["cells"]:
        if cell["cell_type"] == "markdown":
            for _, text in _of_markdown("".join(cell["source"])):
                yield 0, text


def _blocks(source: str, pattern: str) -> Iterator[tuple[int, str]]:
    """Consecutive lines that match, joined, with the number of the first line."""
    first = 0
    lines = list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        if match := re.fullmatch(pattern, line):
            first = first if lines else number
            lines.append(match[1])
        elif lines:
            yield first, " ".join(lines)
            lines = []


_READERS = {
    ".py": _of_python,
    ".ts": _of_typescript,
    ".md": _of_markdown,
    ".ipynb": _of_notebook,
}

if __name__ == "__main__":
    for folder in sys.argv[1:]:
        found = list(sentences(Path(folder)))
        hard = [sentence for sentence in found if sentence.is_hard]
        for sentence in hard:
            print(f"{sentence.path}:{sentence.line}: {sentence.text}")
        print(f"{folder}: {len(hard)} of {len(found)} sentences are hard")
