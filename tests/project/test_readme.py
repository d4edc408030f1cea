"""The README: short, with links and pictures that exist and code that runs."""

from __future__ import annotations

import re
import runpy
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from attnwidget import HeadView, load_model, measure
from attnwidget.demo import drawn_shapes
from fixtures.chat_models import chat_model

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


def test_its_first_link_opens_a_saved_explorer() -> None:
    first = re.search(r"(?<!!)\[[^\]]+\]\(([^)]+)\)", README)
    assert first is not None
    page = ROOT / first[1]
    text = page.read_text("utf-8")
    assert text.lower().startswith("<!doctype html>") and "explorer" in text
    assert not re.search(r"<(script|link)[^>]+(src|href)=", text)
    assert page.stat().st_size <= 1_000_000


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


def calls_in_the_table() -> list[str]:
    """Return the calls of the table of questions."""
    _, _, table = README.partition("| question | call |\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    return [call for row in rows for call in re.findall(r"`([^`]+)`", row.split(" | ")[-1])]


def largest(weights: Any) -> Any:
    """Metric of a reader."""
    return weights.max()


# Studies of the whole model take longer than the other calls.
SLOW = ("ablate", "atlas(", "probe_relations(")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the calls of the table speak of."""
    names: dict[str, Any] = {}
    exec("from attnwidget import *", names)
    exec("from attnwidget.words import probe_relations", names)
    exec("from attnwidget.demo import demo_atlas", names)
    exec("from attnwidget.interventions import needed_links", names)
    exec("from attnwidget.mechanisms import link_factors", names)
    model = load_model(device="cpu")
    attention = model.attend("The captain told his men that he would not leave the ship.")
    return names | {
        "model": model,
        "attention": attention,
        "other_model": load_model("attnwidget/genre", device="cpu"),
        "view": HeadView(attention, "L1 H3"),
        "answers": model.predict("The woman washed [MASK] hands."),
        "metrics": measure(model, ["The cat sat."], ["entropy", "position"], progress=False),
        "texts": ["The cat sat.", "It slept."],
        "function": largest,
        "vision_model": load_model("attnwidget/shapes", device="cpu"),
        "picture": drawn_shapes(1).images[0],
        "chat_model": chat_model("chatml"),
    }


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, marks=pytest.mark.slow) if call.startswith(SLOW) else call
        for call in calls_in_the_table()
        if "(" in call or "[" in call
    ],
)
def test_calls_of_its_table_run(
    call: str, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    treebank = files("attnwidget").joinpath("demo/treebank.conllu").read_text("utf-8")
    Path("en_ewt-ud-dev.conllu").write_text(treebank, "utf-8")
    answer = eval(call, dict(names))
    assert answer is not None
    if isinstance(answer, pd.DataFrame):
        assert len(answer)


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
