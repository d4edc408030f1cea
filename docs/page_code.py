"""The code on hand-written pages, which tests run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# A block of Python, and the picture of its last expression if a picture follows the block.
_BLOCK = re.compile(
    r"^```python(?P<about>[^\n]*)\n(?P<code>.*?)^```$"
    r"(?:\n\n!\[(?P<alt>[^\]]*)\]\((?:[^)]*/)?(?P<figure>[\w-]+)\.svg\))?",
    re.DOTALL | re.MULTILINE,
)
NOT_RUN = 'title="Not run here'
# A block that shows a file is named by the file's path.
_FILE = re.compile(r'title="[\w/]+\.\w+"')


@dataclass(frozen=True)
class CodeBlock:
    """A block of Python on a page.

    Attributes:
        code: its lines.
        runs: Whether tests run the block. The title of a block can name a file or a missing need.
        figure: name of the picture of its last expression, or "".
        alt: what the picture shows, in words.
    """

    code: str
    runs: bool
    figure: str = ""
    alt: str = ""


def code_blocks(markdown: str) -> Iterator[CodeBlock]:
    """The blocks of Python of a page, from the top."""
    for found in _BLOCK.finditer(markdown):
        runs = NOT_RUN not in found["about"] and not _FILE.search(found["about"])
        yield CodeBlock(found["code"], runs, found["figure"] or "", found["alt"] or "")


def run_block(block: CodeBlock, names: dict[str, Any], source: str) -> Any:
    """Run a block with the variables `names`; return the value of its last expression, or None."""
    tree = ast.parse(block.code, source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, source, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), source, "eval"), names)
