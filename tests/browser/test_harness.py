"""The harness itself, on a widget too small to be wrong: what it must see, it sees."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from browser.notebook import OpenNotebook
from browser.pages import Watched, watched

pytestmark = pytest.mark.browser

COUNTER = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      const button = document.createElement("button");
      const draw = () => { button.textContent = `count ${model.get("n")}`; };
      button.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
      model.on("change:n", draw);
      draw();
      el.append(button);
    } };
    """
    n = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
'''


@pytest.mark.slow
def test_a_click_reaches_the_kernel_and_an_assignment_the_page(
    in_lab: OpenNotebook, lab_page: Watched
) -> None:
    notebook = in_lab([COUNTER, "print('later', counter.n)"])
    notebook.run_cell(0)
    button = lab_page.page.get_by_role("button", name="count 0")
    button.click()
    notebook.wait_for_value("counter.n", 1)
    notebook.run_in_kernel("counter.n = 5")
    lab_page.page.get_by_role("button", name="count 5").wait_for()
    notebook.run_cell(1)
    notebook.output(1).get_by_text("later 5").wait_for()
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        notebook.run_in_kernel("1 / 0")


def test_the_gate_refuses_and_remembers(browser: Browser) -> None:
    with watched(browser) as page:
        with page.page.expect_event("requestfailed"):
            page.page.set_content("<img src='https://example.org/a.png'>")
        page.page.evaluate("console.error('said')")
        page.page.evaluate("alert('asked')")
        assert page.outside == ["https://example.org/a.png"]
        assert page.errors == ["said"]
        assert page.dialogs == ["asked"]
        with pytest.raises(AssertionError, match=r"example\.org"):
            page.assert_quiet()
