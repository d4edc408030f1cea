"""The README: short, with links and pictures that exist and code that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
LINKS = re.findall(r"\]\((?!https?:)([^)#\s]+)", README)
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


@pytest.mark.parametrize("target", sorted(set(LINKS)))
def test_its_links_resolve(target: str) -> None:
    assert (ROOT / target).exists()


@pytest.mark.parametrize("code", BLOCKS)
def test_its_code_runs_on_the_embedded_model(code: str) -> None:
    names: dict[str, object] = {}
    exec(code.replace('"bert-base-uncased"', "None"), names)
    for name in ("explorer", "grid", "view"):
        if name in names:
            names[name].close()  # type: ignore[attr-defined]
