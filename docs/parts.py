"""What the site shows beside text: run notebooks, figures of the analyses, a page to try.

`python docs/parts.py` writes them to build/docs-parts, two at a time, and leaves out what was made
from the same sources before.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "build" / "docs-parts"
ANALYSES = ROOT / "docs" / "pages" / "analyses"
NOTEBOOKS = ROOT / "notebooks"


def jobs() -> dict[str, tuple[list[Path], list[str]]]:
    """By name: the sources beside the package, and the command that makes the part."""
    figures = ROOT / "docs" / "figures.py"
    made = {"figures": ([figures, *sorted(ANALYSES.glob("*.md"))], [str(figures), str(PARTS)])}
    # The longest first, so that none is left running alone.
    longest_first = sorted(NOTEBOOKS.glob("*.ipynb"), key=lambda path: -path.stat().st_size)
    for source in longest_first:
        run = [str(NOTEBOOKS / "execute.py"), str(source), str(PARTS / "notebooks")]
        made[f"{source.stem} (notebook)"] = ([source], run)
    return made


def package_digest() -> str:
    """Of everything that decides what the package shows."""
    return _digest(
        path
        for path in sorted((ROOT / "attnwidget").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    )


def _digest(paths: object) -> str:
    total = hashlib.blake2b(digest_size=16)
    for path in paths:  # type: ignore[attr-defined]
        total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _make(name: str, sources: list[Path], command: list[str], package: str) -> str:
    stamp = PARTS / "made" / f"{name.partition(' ')[0]}.txt"
    wanted = package + _digest(sources)
    if stamp.is_file() and stamp.read_text() == wanted:
        return f"{name}: as before"
    start = time.perf_counter()
    one_thread = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, *command], env=os.environ | one_thread, capture_output=True, text=True
    )
    if run.returncode:
        raise RuntimeError(f"{name} failed:\n{run.stdout[-2000:]}{run.stderr[-4000:]}")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)
    return f"{name}: {time.perf_counter() - start:.0f} s"


def main() -> None:
    package = package_digest()
    todo = jobs()
    with ThreadPoolExecutor(2) as two:
        running = [two.submit(_make, name, *job, package) for name, job in todo.items()]
        for one in running:
            print(one.result(), flush=True)


if __name__ == "__main__":
    main()
