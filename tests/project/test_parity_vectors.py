"""The committed cases of what Python and the pages both compute are what Python computes."""

from __future__ import annotations

from parity_vectors import FOLDER, vectors


def test_the_cases_are_current() -> None:
    found = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    expected = vectors()
    stale = sorted(name for name in found | expected if found.get(name) != expected.get(name))
    assert stale == [], "run `python tests/parity_vectors.py`"
    assert sum(map(len, found.values())) < 200_000
