"""Saved pages whose data is damaged, and pages that someone has put code into."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from attnwidget import Attention, HeadGrid, HeadView, load_model, save_page
from browser.figures import GridOnPage
from browser.pages import Watched

pytestmark = pytest.mark.browser

_DATA = re.compile(r'(<script type="application/json" id="attnw-data">)(.*?)(</script>)', re.DOTALL)
SEED = 20
N_MUTATIONS = 40
SAID = re.compile("is damaged|cannot be (shown|drawn)")
ODD_VALUES: list[Any] = [
    None,
    -1,
    0,
    1e9,
    0.5,
    "",
    "x",
    "%%%",
    "AAAA",
    [],
    {},
    [None],
    True,
    {"shape": [2, -2]},
    [100_000, 1000, 8, 8],
    "__proto__",
]
READY = """() => {
  const shown = [...document.querySelectorAll('canvas, [role=alert]')]
  return shown.some((one) => !one.hidden && one.getBoundingClientRect().height > 0)
}"""


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend("The cat sat on the mat.")


@pytest.fixture(scope="module")
def pages(attention: Attention, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Whole pages of several figures, as text."""
    folder = tmp_path_factory.mktemp("whole")
    save_page(attention, folder / "grid and view.html")
    HeadView(attention, 1, 3).save(folder / "view.html")
    HeadGrid(attention, tokens=[("query", 2)]).save(folder / "word.html")
    HeadGrid(attention, selected=[(2, 1)]).save(folder / "grid.html")
    return {path.stem: path.read_text("utf-8") for path in folder.iterdir()}


def changed(page: str, change: Callable[[Any], Any]) -> str:
    """A page after a change of its data; what `change` returns takes the place of all data."""
    found = _DATA.search(page)
    assert found is not None
    data = json.loads(found[2])
    given = change(data)
    text = json.dumps(data if given is None else given).replace("<", "\\u003c")
    return page[: found.start(2)] + text + page[found.end(2) :]


def check(seen: Watched, path: Path, page: str, what: object) -> None:
    """Open a page; it shows something, raises nothing and asks for nothing."""
    path.write_text(page, "utf-8")
    seen.page.goto(path.as_uri(), wait_until="domcontentloaded")
    try:
        seen.page.wait_for_function(READY)
    except Exception as error:
        raise AssertionError(f"blank or hanging after {what}") from error
    assert seen.errors == [], what
    assert seen.outside == [], what
    assert seen.dialogs == [], what


def alert(seen: Watched) -> Locator:
    """The first sentence about damage."""
    return seen.page.locator("[role=alert]:visible").first


def at(*path: str | int, put: Any) -> Callable[[Any], None]:
    """A change that puts a value in a place of the data."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = put

    return change


def without(*path: str | int) -> Callable[[Any], None]:
    """A change that takes a place out of the data."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return change


BY_HAND: dict[str, Callable[[Any], Any]] = {
    "values that are no base64": at("held", "maps", 0, "values", put="%%%"),
    "a buffer cut in half": at("held", "maps", 0, "values", put="AAAA"),
    "a negative shape": at("held", "maps", 0, "shape", put=[-1, 12, 8, 8]),
    "a huge shape": at("held", "maps", 0, "shape", put=[100_000, 1000, 8, 8]),
    "a shape of text": at("held", "maps", 0, "shape", put="large"),
    "missing maxima": without("held", "maps", 0, "maxima"),
    "maxima of another length": at("held", "maps", 0, "maxima", put=[1]),
    "another quantity": at("held", "maps", 0, "quantity", put=7),
    "no axes": without("held", "maps", 0, "axes"),
    "axes without text": without("held", "maps", 0, "axes", "query", "text"),
    "an axis that is too short": at("held", "maps", 0, "axes", "key", put={"text": ["a"]}),
    "maps that are a number": at("held", "maps", put=3),
    "no maps": without("held", "maps"),
    "thumbnails that are no base64": at(
        "held", "thumbnails", 0, "thumbnails", "values", "view", put="%%%"
    ),
    "thumbnails of a huge shape": at(
        "held", "thumbnails", 0, "thumbnails", "values", "shape", put=[100_000, 1000, 8, 8]
    ),
    "no thumbnails": without("held", "thumbnails"),
    "no thumbnails of the unit": at("held", "thumbnails", put=[]),
    "nothing held": without("held"),
    "held that is a list": at("held", put=[]),
    "a figure of another name": at("figures", 0, "name", put="x"),
    "a figure named by a prototype": at("figures", 0, "name", put="__proto__"),
    "a figure without state": without("figures", 0, "state"),
    "a state that is null": at("figures", 0, "state", put=None),
    "figures that are text": at("figures", put="none"),
    "no figures": at("figures", put=[]),
    "data that is a list": lambda data: [1, 2],
    "data that is a number": lambda data: 0,
}


@pytest.mark.slow
def test_damage_by_hand_is_said(pages: dict[str, str], seen: Watched, tmp_path: Path) -> None:
    page = pages["grid and view"]
    for what, change in BY_HAND.items():
        check(seen, tmp_path / "damaged.html", changed(page, change), what)
        expect(alert(seen)).to_contain_text(SAID)
    cut = page[: page.index('id="attnw-data">') + 900] + "</script></body></html>"
    check(seen, tmp_path / "damaged.html", cut + page[page.index('<script type="module"') :], "cut")
    expect(alert(seen)).to_contain_text(SAID)


@pytest.mark.slow
def test_random_damage_leaves_no_page_blank(
    pages: dict[str, str], seen: Watched, tmp_path: Path
) -> None:
    for number in range(N_MUTATIONS):
        source = random.Random(SEED + number)
        name = source.choice(sorted(pages))

        def mutate(data: Any, source: random.Random = source) -> None:
            for _ in range(source.randint(1, 3)):
                parent, key = source.choice(places(data))
                if source.random() < 0.2:
                    del parent[key]
                else:
                    parent[key] = source.choice(ODD_VALUES)

        check(seen, tmp_path / "damaged.html", changed(pages[name], mutate), (name, number))


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every place in nested data, as its parent and its key."""
    found: list[tuple[Any, Any]] = []
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        found.append((data, key))
        if isinstance(value, (dict, list)):
            found += places(value)
    return found


def test_a_whole_figure_beside_a_damaged_one_answers(
    pages: dict[str, str], seen: Watched, tmp_path: Path
) -> None:
    def damage_the_view(data: Any) -> None:
        (view,) = (one for one in data["figures"] if one["name"] == "head_view")
        view["state"] = None

    path = tmp_path / "half.html"
    check(seen, path, changed(pages["grid and view"], damage_the_view), "the view")
    expect(seen.page.locator("[data-figure=head_view], section")).not_to_have_count(0)
    expect(alert(seen)).to_contain_text(SAID)
    grid = GridOnPage(seen.page.locator("body"))
    grid.click(3, 5)
    expect(seen.page.locator(".attnw-grid-caption")).to_contain_text("L3 H5")


INSERTED = """
<script>globalThis.ran = "inline"</script>
<script src="https://example.org/code.js"></script>
<script src="data:text/javascript,globalThis.ran='data'"></script>
<img src="https://example.org/picture.png" onerror="globalThis.ran = 'handler'">
<iframe src="https://example.org/frame"></iframe>
<form id="form" action="https://example.org/form"><input name="a" value="b"></form>
"""
# What code of the page itself would do: the console of the test is not under the policy's hashes.
ASKS = """async (kinds) => {
  const blocked = new Set()
  const all = new Promise((done) =>
    document.addEventListener('securitypolicyviolation', (event) => {
      blocked.add(event.effectiveDirective)
      if (kinds.every((kind) => blocked.has(kind))) done()
    }))
  const failed = await fetch('https://example.org/data').then(() => false, () => true)
  try { new Worker(URL.createObjectURL(new Blob(['1']))) } catch {}
  const script = document.createElement('script')
  script.textContent = 'globalThis.ran = "late"'
  document.body.append(script)
  await import('data:text/javascript,globalThis.ran="import"').catch(() => {})
  document.getElementById('form').submit()
  await all
  return { failed, ran: globalThis.ran ?? null }
}"""


@pytest.mark.slow
def test_only_the_pages_own_scripts_run(
    pages: dict[str, str], seen: Watched, tmp_path: Path
) -> None:
    page = pages["grid and view"].replace("<main>", f"{INSERTED}<main>", 1)
    path = tmp_path / "inserted.html"
    path.write_text(page, "utf-8")
    seen.page.goto(path.as_uri())
    GridOnPage(seen.page.locator("body")).click(3, 5)
    expect(seen.page.locator(".attnw-grid-caption")).to_contain_text("L3 H5")
    # It answers when each of these kinds has been blocked.
    kinds = ["connect-src", "worker-src", "script-src-elem", "form-action"]
    answer = seen.page.evaluate(ASKS, kinds)
    assert answer["failed"] is True
    assert answer["ran"] is None
    assert seen.outside == []
    seen.errors.clear()  # each thing that was blocked is logged by the browser


def test_a_changed_script_does_not_run(
    pages: dict[str, str], seen: Watched, tmp_path: Path
) -> None:
    opening = '<script type="module" id="attnw-head_view">'
    page = pages["view"].replace(opening, f"{opening}globalThis.ran = 'changed';", 1)
    path = tmp_path / "changed.html"
    path.write_text(page, "utf-8")
    seen.page.goto(path.as_uri())
    expect(alert(seen)).to_contain_text(SAID)
    assert seen.page.evaluate("globalThis.ran ?? null") is None
    seen.errors.clear()
