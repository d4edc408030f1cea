"""Every figure's list of keys reads as a list in hosts that style lists, and Escape hides it."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Locator, expect

from browser import test_relations
from browser.figures import SETUP
from browser.notebook import OpenNotebook

pytestmark = pytest.mark.browser

FIGURES = {
    "grid": "",
    "table": "",
    "arcs": "",
    "view": "view = HeadView(attention, layer=2, head=5, tokens=[('query', 3)])",
    "head_scatter": """
import numpy as np
from attnwidget import HeadScatter
places = np.stack(np.indices((6, 12))[::-1], -1).astype(float)
head_scatter = HeadScatter.from_positions(places, selected=[(2, 5)])""",
    "coref": """
from attnwidget import CoreferenceView, Document
from attnwidget.words import probe_coreference
document = Document.from_spans(["Ann", "said", "she", "left"], [(0, 0, 1), (2, 2, 1)])
coref = CoreferenceView(probe_coreference(model, [document], progress=False), mention=1)""",
}
CHOSEN = "repr((grid.selected, table.relation, view.tokens, head_scatter.selected, coref.mention))"
PLACES = """list => [...list.querySelectorAll("dt")].map((term) => {
  const [a, b] = [term, term.nextElementSibling].map((node) => node.getBoundingClientRect());
  return { key: [a.left, a.top, a.right, a.bottom], meaning: [b.left, b.top, b.right, b.bottom] };
})"""


def assert_reads_as_a_list(keys: Locator) -> None:
    lines = keys.evaluate(PLACES)
    assert len(lines) >= 6
    lefts = {name: {line[name][0] for line in lines} for name in ("key", "meaning")}
    assert all(len(found) == 1 for found in lefts.values()), lefts
    for line in lines:
        beside = line["meaning"][0] >= line["key"][2]
        under = line["meaning"][1] >= line["key"][3]
        assert beside or under, line
    assert keys.evaluate("list => list.scrollWidth <= list.clientWidth")
    for above, below in itertools.pairwise(lines):
        assert below["key"][1] >= max(above["key"][3], above["meaning"][3])


@pytest.mark.slow
@pytest.mark.parametrize("host", ["in_lab", "in_notebook7"])
def test_keys_stand_beside_what_they_do(host: str, request: pytest.FixtureRequest) -> None:
    open_notebook: OpenNotebook = request.getfixturevalue(host)
    cells = [f"{code}\n{name}" for name, code in FIGURES.items()]
    notebook = open_notebook([SETUP + test_relations.FIGURES, *cells])
    for index in range(len(cells) + 1):
        notebook.run_cell(index)
    before = notebook.value(CHOSEN)
    for index in range(1, len(cells) + 1):
        root = notebook.output(index).locator(".attnw-root")
        button = root.get_by_label("show the keys")
        keys = root.locator(".attnw-keys")
        button.click()
        expect(keys).to_be_visible()
        assert_reads_as_a_list(keys)
        notebook.page.keyboard.press("Escape")
        expect(keys).to_be_hidden()
        expect(button).to_have_attribute("aria-expanded", "false")
    assert notebook.value(CHOSEN) == before
