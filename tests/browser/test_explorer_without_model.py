"""The explorer of an attention that comes without a model, live in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.notebook import OpenNotebook
from browser.settled import settle

pytestmark = pytest.mark.browser

SETUP = """
import torch
from attnwidget import explore, watch_attention
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
encoder = torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
with watch_attention(encoder) as watched, torch.no_grad():
    encoder(2 * torch.randn(1, 6, 16))
"""
SHOWN = 'explorer = explore(watched.attention("The cat sat on the mat".split()))\nexplorer'


def test_only_what_works_without_a_model_is_offered(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP, SHOWN])
    notebook.page.set_viewport_size({"width": 1400, "height": 1400})
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.run_in_kernel("explorer.wait()")
    root = notebook.output(1).locator(".attnw-ex-root")
    settle(notebook.page)
    expect(root.locator(".attnw-ex-guess")).to_contain_text("comes without its model")
    for name in ("switch off", "edit the text", "Run"):
        expect(root.get_by_role("button", name=name)).to_have_count(0)
    expect(root.locator(".attnw-alert:visible, .attnw-problem:visible")).to_have_count(0)
    root.get_by_role("button", name="more").click()
    expect(root.get_by_role("tab")).to_have_text(["map of heads", "why"])
    root.get_by_role("tab", name="why").click()
    expect(root.locator('[data-panel="why"] .attnw-root')).to_be_visible()
