"""Print what is in a wheel, by size: `python docs/packaging/wheel_content.py FILE.whl`."""

from __future__ import annotations

import sys
import zipfile
from collections import Counter
from pathlib import Path

#: Parts that have a line of their own if they are larger than this share of the wheel.
SMALLEST = 0.003


def part_of(name: str) -> str:
    """The part of a wheel that a file belongs to: a folder, or a large file of the demo."""
    folders = name.split("/")
    return "/".join(folders[:3] if folders[1:2] in (["demo"], ["widgets"]) else folders[:2])


def content(path: Path) -> list[tuple[str, int]]:
    """(part, compressed bytes), the largest first; small parts together as the last."""
    sizes: Counter[str] = Counter()
    with zipfile.ZipFile(path) as wheel:
        for entry in wheel.infolist():
            sizes[part_of(entry.filename)] += entry.compress_size
    limit = SMALLEST * sum(sizes.values())
    parts = [(part, size) for part, size in sizes.most_common() if size >= limit]
    small = [size for size in sizes.values() if size < limit]
    return [*parts, (f"{len(small)} smaller parts", sum(small))]


def main() -> None:
    for argument in sys.argv[1:]:
        path = Path(argument)
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}")
        for part, size in content(path):
            print(f"{size / 1e6:8.2f} MB  {part}")


if __name__ == "__main__":
    main()
