"""The README: short, with links and pictures that exist and code that runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
LINKS = re.findall(r"\]\((?!https?:)([^)#\s]+)", README)
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_its_moving_picture_is_small_and_moves() -> None:
    path = ROOT / "docs" / "images" / "explorer.webp"
    assert path.stat().st_size <= 1_500_000
    with Image.open(path) as picture:
        assert getattr(picture, "n_frames", 1) >= 6
        assert picture.width >= 900


@pytest.mark.parametrize("target", sorted(set(LINKS)))
def test_its_links_resolve(target: str) -> None:
    assert (ROOT / target).exists()


@pytest.mark.parametrize("code", BLOCKS)
def test_its_code_runs_on_the_embedded_model(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(code.replace('"bert-base-uncased"', "None"), names)
    for name in ("explorer", "grid", "view"):
        if name in names:
            names[name].close()  # type: ignore[attr-defined]


def test_links_of_a_published_package_are_absolute() -> None:
    hook = runpy.run_path(str(ROOT / "docs" / "package_metadata.py"))
    address = hook["repository_address"](
        {
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "owner/attnwidget",
            "GITHUB_SHA": "0123abc",
        }
    )
    text = hook["absolute_links"](README, *address)
    assert hook["repository_address"]({}) is None
    assert not re.findall(r"\]\((?!https?:|#)[^)]*\)", text)
    base = "https://github.com/owner/attnwidget"
    assert f"]({base}/blob/0123abc/docs/pages/how-to/cheat-sheet.md)" in text
    assert f"]({base}/raw/0123abc/docs/images/explorer.webp)" in text
