"""Make the figures of the pages and the page to try, unless their sources have not changed.

`python docs/parts.py` writes both to build/docs-parts.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "build" / "docs-parts"
FIGURES = ROOT / "docs" / "figures.py"


def digest() -> str:
    """A hash of all sources that the figures depend on."""
    package = [
        path
        for path in sorted((ROOT / "attnwidget").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    pages = sorted((ROOT / "docs" / "pages").rglob("*.md"))
    total = hashlib.blake2b(digest_size=16)
    for path in [FIGURES, *pages, *package]:
        total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def main() -> None:
    stamp = PARTS / "made.txt"
    sources = digest()
    if stamp.is_file() and stamp.read_text() == sources:
        return
    offline = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(FIGURES), str(PARTS)]
    subprocess.run(command, env=os.environ | offline, check=True)
    stamp.write_text(sources)


if __name__ == "__main__":
    main()
