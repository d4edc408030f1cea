"""PredictionView live in JupyterLab: a switch in a linked grid, and the keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.figures import SETUP
from browser.notebook import OpenNotebook
from browser.reader_numbers import in_per_cent, in_points

pytestmark = pytest.mark.browser

VIEW = """
from attnwidget import PredictionView, load_model
attention = load_model().attend("The woman washed [MASK] hands.")
predictions, grid = PredictionView(attention), HeadGrid(attention)
both = link_figures(predictions, grid)
predictions
"""


@pytest.mark.slow
def test_a_switch_in_a_linked_grid_changes_the_bars(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + VIEW, "grid", "grid.disabled = [(1, 8), (5, 8)]"])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    answers = root.get_by_role("list", name="answers").locator("li")
    expect(answers.first).to_have_text(f"her: {in_per_cent(0.824)}")
    notebook.run_cell(1)
    notebook.run_cell(2)
    expect(answers.first).to_contain_text(f"her: {in_per_cent(0.824)}, ")
    after, change = notebook.value(
        "[float(predictions.to_frame()[name][0]) for name in ('after', 'change')]"
    )
    expect(answers.first).to_have_text(
        f"her: {in_per_cent(0.824)}, {in_per_cent(after)}, {in_points(change)}"
    )
    assert after < 0.8
    expect(root.locator(".attnw-prediction-caption")).to_contain_text("L1 H8, L5 H8 (uniform)")
    expect(root.get_by_role("grid")).to_have_attribute("aria-busy", "false")
    assert notebook.value("predictions.is_estimate") is False


@pytest.mark.slow
def test_the_keyboard_alone_chooses_a_token_and_switches_a_head(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + VIEW])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    title = root.locator(".attnw-prediction-title")
    expect(title).to_have_text("What stands at “[MASK]” (token 4)?")
    press = notebook.page.keyboard.press
    root.get_by_role("checkbox", name="answer after each layer").focus()
    press("Space")
    notebook.wait_for_value("predictions.lens and predictions._lens is not None", True)
    press("Tab")
    press("Tab")
    expect(root.get_by_role("button", name="[MASK]")).to_be_focused()
    press("ArrowRight")
    expect(title).to_contain_text("token 4")
    press("Enter")
    expect(title).to_have_text("What stands at “hands” (token 5), when it is masked?")
    notebook.wait_for_value("predictions.position", 5)
    expect(root.get_by_role("button", name="hands")).to_have_attribute("aria-pressed", "true")
    press("Tab")
    expect(root.get_by_role("grid")).to_be_focused()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        press(key)
    notebook.wait_for_value("[tuple(head[:2]) for head in grid.selected]", [(1, 1)])
    press("x")
    notebook.wait_for_value("[tuple(head[:2]) for head in grid.disabled]", [(1, 1)])
    expect(root.locator(".attnw-prediction-caption")).to_contain_text("without L1 H1 (uniform)")
    press("x")
    notebook.wait_for_value("len(grid.disabled)", 0)
    # The answers to choose from differ while a head is off.
    expect(root.locator(".attnw-prediction-caption")).not_to_contain_text("without")
    root.get_by_role("combobox", name="effects on").select_option(index=2)
    wanted = notebook.value("predictions.to_frame()['token'][1]")
    notebook.wait_for_value("predictions.answer", wanted)
    root.get_by_role("combobox", name="effects", exact=True).select_option("direct")
    expect(root).to_contain_text("No effects of heads: the logits of BertForMaskedLM")


@pytest.mark.slow
def test_a_second_text_is_patched_and_refusals_stand_on_the_figure(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + VIEW])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    second = root.get_by_role("textbox", name="second text")
    expect(second).to_be_hidden()
    root.get_by_role("combobox", name="effects", exact=True).select_option("patch")
    expect(root).to_contain_text("No effects of heads: patching compares with a second text")
    second.fill("The man [MASK] hands.")
    second.press("Enter")
    expect(root).to_contain_text("the second text has 7 tokens and this text has 8")
    second.fill("The man washed [MASK] hands.")
    second.press("Enter")
    notebook.wait_for_value("predictions.corrupted", "The man washed [MASK] hands.")
    caption = root.locator(".attnw-prediction-caption")
    expect(caption).to_contain_text("put into the text “[CLS] the man washed [MASK] hands . [SEP]”")
    expect(root.get_by_role("grid")).to_have_attribute("aria-busy", "false")
