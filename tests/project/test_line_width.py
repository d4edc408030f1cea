"""Lines of the pages and of TypeScript fit the width that ruff enforces in Python."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIDTH = 100
TYPESCRIPT = sorted((ROOT / "js" / "src").rglob("*.ts"))


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
