"""Figures of shipped maps where Python runs in a browser: few packages, no threads, no None."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fixtures.script_answer import script_answer

LESSONS = Path(__file__).parents[2] / "notebooks" / "lessons"
SCRIPT = """
import contextlib
import io
import json
import sys
import threading
import types
from pathlib import Path

import ipywidgets
import numpy as np

ABSENT = (
    "altair", "conllu", "filelock", "huggingface_hub", "pandas", "PIL", "py_mini_racer", "pypdf",
    "safetensors", "scipy", "sklearn", "torch", "tqdm", "transformers", "vl_convert",
)


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ImportError(f"{name} is blocked")


def no_thread(self):
    raise RuntimeError("can't start new thread")


jsnull = type("JsNull", (), {})()
sys.meta_path.insert(0, Blocked())
sys.modules["pyodide"] = types.ModuleType("pyodide")
sys.modules["pyodide.ffi"] = types.ModuleType("pyodide.ffi")
sys.modules["pyodide.ffi"].jsnull = jsnull
threading.Thread.start = no_thread
sys.platform = "emscripten"

from attnwidget import Attention, HeadGrid, HeadView, link_figures, options, save_page

folder = Path(sys.argv[1])
lesson = folder / "01_what_attention_is.ipynb"
sys.path.insert(0, str(folder))
names = {}
with contextlib.redirect_stdout(io.StringIO()) as printed:
    for cell in json.loads(lesson.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
maps = np.load(folder / "maps.npy")
attention = Attention.from_weights(maps, list("abcd"))
metric = maps[..., -1].mean(axis=-1)
grid = HeadGrid(attention, metrics={"to the last": metric}, metric="to the last")
view, word = HeadView(attention, 1, 2), HeadGrid(attention, tokens=[("query", 2)])
together = link_figures(grid, view, word)


def from_page(widget, **state):
    data = {"method": "update", "state": state}
    widget._handle_msg({"content": {"data": data}})


from_page(grid, metric=jsnull, selected=[[0, 1, "self"]])
answer = {
    "metric": grid.metric,
    "checked": printed.getvalue().count("Write it in the place of the dots"),
    "lesson": [names["view"]._error, str(names["view"].head)],
    "selected": [list(map(list, widget.selected)) for widget in (grid, view, word)],
    "sent": [grid.get_state("metric")["metric"] is jsnull, None in word.get_state().values()],
    "inner": grid.get_state("_thumbnails")["_thumbnails"]["row"] is jsnull,
    "pictures": options.static_fallback,
    "errors": [widget._error for widget in (grid, view, word)],
}
view.save(folder / "view.html")
save_page(attention, folder / "page.html")
try:
    view.save(folder / "view.svg")
except RuntimeError as error:
    answer["svg"] = str(error)
print(json.dumps(answer))
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("in_browser")
    maps = np.random.default_rng(0).random((2, 3, 4, 4)).astype(np.float32)
    np.save(folder / "maps.npy", maps / maps.sum(axis=-1, keepdims=True))
    # As `docs/lite/build.py` copies the lesson.
    shutil.copy(LESSONS / "01_what_attention_is.ipynb", folder)
    (folder / "exercises").mkdir()
    for name in ("__init__.py", "checking.py", "lesson_1.py"):
        shutil.copy(LESSONS / "exercises" / name, folder / "exercises")
    return folder, script_answer(SCRIPT, folder)


def test_figures_open_and_are_linked(answer: tuple[Path, dict[str, Any]]) -> None:
    _, said = answer
    assert said["selected"] == [[[0, 1, "self"]]] * 3
    assert said["errors"] == ["", "", ""]


def test_the_first_lesson_runs_and_checks_answers(answer: tuple[Path, dict[str, Any]]) -> None:
    _, said = answer
    assert said["checked"] == 5
    assert said["lesson"] == ["", "L0 H0"]


def test_none_crosses_as_the_null_of_javascript(answer: tuple[Path, dict[str, Any]]) -> None:
    _, said = answer
    assert said["metric"] is None
    assert said["sent"] == [True, False]
    assert said["inner"]


def test_pages_are_saved_and_pictures_are_refused(answer: tuple[Path, dict[str, Any]]) -> None:
    folder, said = answer
    assert said["pictures"] is False
    assert "save a page" in said["svg"]
    assert not (folder / "view.svg").exists()
    for page in ("view.html", "page.html"):
        assert "JsNull" not in (folder / page).read_text("utf-8")
