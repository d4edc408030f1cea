"""One live notebook in JupyterLab or Notebook 7: run its cells, ask its kernel."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page

from browser.pages import PATIENCE_MS
from browser.servers import Server

SESSION = "window.jupyterapp.shell.currentWidget.sessionContext"
KERNEL = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
NEW_CELL = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
# Another notebook in the place of the one that is open, in a page that has loaded JupyterLab.
OPEN_HERE = """async (path) => {
  const { shell, commands } = window.jupyterapp;
  for (const open of [...shell.widgets("main")]) open.dispose();
  const { context, sessionContext } = await commands.execute("docmanager:open", { path });
  await context.ready;
  await sessionContext.ready;
  const { kernel } = sessionContext.session;
  await kernel.info;
  await kernel.requestKernelInfo();
}"""
RUN = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  let text = "";
  const future = kernel.requestExecute({ code, store_history: false });
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "stream") text += content.text;
    if (header.msg_type === "error") text += content.traceback.join("\\n");
  };
  const reply = await future.done;
  return [reply.content.status, text];
}"""
RUN_CELL = """async (index) => {
  window.jupyterapp.shell.currentWidget.content.activeCellIndex = index;
  return await window.jupyterapp.commands.execute("notebook:run-cell");
}"""


class LiveNotebook:
    """A notebook of code cells, open in `page`, with an idle kernel."""

    def __init__(self, page: Page, server: Server, route: str, name: str, cells: list[str]) -> None:
        self.page = page
        self.url = f"{server.url}/{route}/{name}.ipynb?reset"
        self._name = f"{name}.ipynb"
        self.theme = "light"
        notebook = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "cells": [
                NEW_CELL | {"id": f"c{i}", "source": source} for i, source in enumerate(cells)
            ],
        }
        (server.root / self._name).write_text(json.dumps(notebook), "utf-8")
        self._open()

    def _open(self) -> None:
        if "/lab/" in self.url and self.page.evaluate("Boolean(window.jupyterapp)"):
            self.page.evaluate(OPEN_HERE, self._name)
        else:
            self.page.goto(self.url)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        # A run asked for before the kernel is idle can be dropped.
        self.page.wait_for_function(f"{KERNEL}?.status === 'idle'")

    def run_all(self) -> None:
        """Run every cell; raises what the first failing cell printed."""
        self.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        failed = self.page.locator(".jp-OutputArea-output[data-mime-type*='error']")
        if failed.count():
            raise AssertionError(failed.first.inner_text())

    def run_cell(self, index: int) -> None:
        self.page.evaluate(RUN_CELL, index)

    def run_in_kernel(self, code: str) -> str:
        """What `code` prints in the kernel, while the notebook stays as it is."""
        status, text = self.page.evaluate(RUN, code)
        if status != "ok":
            raise AssertionError(f"the kernel failed:\n{text}")
        return str(text)

    def value(self, expression: str) -> Any:
        """The value of a Python literal expression in the kernel."""
        return ast.literal_eval(self.run_in_kernel(f"print(repr(({expression})))"))

    def wait_for_value(self, expression: str, wanted: object) -> None:
        """Wait until an expression in the kernel equals `wanted`."""
        comparison = f"(lambda got: (bool(got == {wanted!r}), repr(got)))({expression})"
        for _ in range(PATIENCE_MS // 100):
            equal, got = self.value(comparison)
            if equal:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{expression} is {got}, not {wanted!r}, after {PATIENCE_MS} ms")

    def reopen(self) -> None:
        """Save, shut the kernel down, close the page and open the notebook again."""
        self.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        self.page.evaluate(f"{SESSION}.shutdown()")
        self.page.goto("about:blank")
        self._open()

    def restart_kernel(self) -> None:
        """Another kernel, while the page stays as it is."""
        self.page.evaluate(f"{SESSION}.restartKernel()")
        self.page.wait_for_function(f"{KERNEL}?.status === 'idle'")

    def output(self, index: int) -> Locator:
        """The output area of a cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-OutputArea")

    def use_theme(self, theme: str) -> None:
        """Switch the page to "light" or "dark", as the menu does."""
        self.theme = theme
        name = f"JupyterLab {theme.title()}"
        self.page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
            name,
        )
        is_light = str(theme == "light").lower()
        body = f"body[data-jp-theme-light='{is_light}']"
        self.page.wait_for_selector(body, state="attached")

    def show_sidebar(self, shown: bool) -> None:
        """Open or close the file browser of JupyterLab."""
        if self.page.evaluate("window.jupyterapp.shell.leftCollapsed") == shown:
            command = "application:toggle-left-area"
            self.page.evaluate(f"window.jupyterapp.commands.execute('{command}')")

    def close(self) -> None:
        """Leave nothing to the next test: the server remembers a theme, a kernel holds a model."""
        if self.theme != "light":
            self.use_theme("light")
        self.page.evaluate(f"{SESSION}.shutdown()")


OpenNotebook = Callable[[list[str]], LiveNotebook]
