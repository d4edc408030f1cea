"""What a displayed widget leaves to readers that cannot run it."""

from __future__ import annotations

import base64
import io
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import ipywidgets
import numpy as np
import pandas as pd
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display, update_display
from PIL import Image

from attnwidget import Attention, AttentionModel, HeadGrid, explore
from attnwidget.drawing.caption import Caption
from attnwidget.drawing.engine import Drawing, draw
from attnwidget.drawing.figure_html import figure_html
from attnwidget.text.atomic_file import write_whole
from attnwidget.widgets.shared import engine_start, exporting
from attnwidget.widgets.shared.session_options import options
from fixtures.recording import from_page, on_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

VIEW = "application/vnd.jupyter.widget-view+json"
HOSTILE = "</table><script>alert(1)</script>"


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    options.static_fallback = True
    exporting._warned.clear()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The figures that are drawn, by the folders of their widgets."""
    drawn: list[str] = []

    def counted(figure: str, *state: Any, **how: Any) -> Drawing:
        drawn.append(figure)
        return draw(figure, *state, **how)

    monkeypatch.setattr("attnwidget.drawing.picture.draw", counted)
    return drawn


def grid_of(title: str) -> HeadGrid:
    """A grid of 2 x 3 heads with a metric."""
    attention = Attention.from_weights(np.full((2, 3, 4, 4), 0.25), list("abcd"))
    metrics = {title: np.arange(6.0).reshape(2, 3)}
    return HeadGrid(attention, metrics=metrics, metric=title, selected=[(1, 2)])


@pytest.fixture
def grid() -> HeadGrid:
    return grid_of(HOSTILE)


def picture(data: dict[str, Any]) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data["image/png"])))


def pixels_of(width: int, height: int) -> tuple[int, int]:
    """Two for each of the figure's in either direction, of a large one about 300,000 in all."""
    density = min(2, (300_000 / (width * height)) ** 0.5)
    sides = (pytest.approx(side * density, abs=2) for side in (width, height))
    return tuple(sides)  # type: ignore[return-value]


def test_a_small_picture_is_sharp_on_a_dense_screen() -> None:
    figure = HeadGrid(Attention.from_weights(np.ones((1, 1, 1, 1)), ["a"])).static()
    with Image.open(io.BytesIO(figure.png)) as png:
        assert png.size == (2 * figure.width, 2 * figure.height)


def test_a_notebook_gets_the_live_view_a_picture_and_a_table(grid: HeadGrid) -> None:
    data, metadata = DisplayFormatter().format(grid)
    assert set(data) == {VIEW, "image/png", "text/html", "text/plain"}
    assert data[VIEW]["model_id"] == grid.model_id and data["text/plain"] == repr(grid)
    about = metadata["image/png"]
    assert about["alt"] == grid.caption.text()
    with picture(data) as png:
        assert png.size == pixels_of(about["width"], about["height"])
        # Drawn, and not blank: the letters of the title.
        assert min(np.asarray(png.convert("L")).ravel()) < 60


def test_the_table_is_one_that_can_be_read_aloud(grid: HeadGrid) -> None:
    html = DisplayFormatter().format(grid)[0]["text/html"]
    assert "<caption" in html and '<th scope="col"' in html
    assert ">&lt;/table&gt;&lt;script&gt;" in html and ">L1 H2" in html
    assert "<script" not in html.lower() and "L1 H2" in html
    assert 'alt="All heads, self-attention · weights · L1 H2 ' in html


def test_the_hosts_own_metadata_are_kept(grid: HeadGrid, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in Colab, where they enable the manager of widgets.
    url = {"colab": {"custom_widget_manager": {"url": "x"}}}
    monkeypatch.setattr("anywidget._util.get_repr_metadata", lambda: {VIEW: url})
    data, metadata = grid._repr_mimebundle_()
    assert metadata[VIEW] == url and "image/png" in metadata and VIEW in data


def test_the_picture_follows_the_state(grid: HeadGrid) -> None:
    before = DisplayFormatter().format(grid)[0]
    assert DisplayFormatter().format(grid)[0] == before
    grid.selected = [(0, 1)]
    after = DisplayFormatter().format(grid)[0]
    assert after["image/png"] != before["image/png"] and "L0 H1" in after["text/html"]


def test_displaying_sends_nothing_to_the_page(grid: HeadGrid) -> None:
    sent = len(updates(grid))
    DisplayFormatter().format(grid)
    assert len(updates(grid)) == sent


def test_the_static_fallback_can_be_turned_off_and_then_costs_nothing(
    grid: HeadGrid, drawn: list[str]
) -> None:
    options.static_fallback = False
    data, metadata = DisplayFormatter().format(grid)
    assert set(data) == {VIEW, "text/plain"} and metadata == {} and drawn == []


def test_a_failing_picture_leaves_the_live_view_and_one_warning(
    grid: HeadGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*state: Any, **how: Any) -> Drawing:
        raise RuntimeError("the figure could not be drawn: no such color\n    at paint")

    monkeypatch.setattr("attnwidget.drawing.picture.draw", broken)
    parts = ("HeadGrid", "no such color", "options.static_fallback")
    with pytest.warns(RuntimeWarning, match=naming(*parts)):
        data, _ = grid._repr_mimebundle_()
    assert set(data) == {VIEW, "text/html", "text/plain"}
    assert "has no stored picture: RuntimeError: the figure could not be drawn" in data["text/html"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert VIEW in grid._repr_mimebundle_()[0]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The outputs of one cell."""
    shell = InteractiveShell.instance()
    publisher = CapturingDisplayPublisher(shell=shell)
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield publisher.outputs
    InteractiveShell.clear_instance()


def test_a_cell_shows_the_picture_and_then_the_view(
    grid: HeadGrid, notebook: list[dict[str, Any]]
) -> None:
    display(grid)
    picture, view = notebook
    assert set(view["data"]) == {VIEW, "text/html", "text/plain"} and not view["data"]["text/html"]
    assert view["data"][VIEW]["model_id"] == grid.model_id
    assert set(picture["data"]) == {"image/png", "text/html"}
    assert picture["metadata"]["image/png"]["alt"] == grid.caption.text()
    html = picture["data"]["text/html"]
    # The one is hidden by the name that the other has on the page.
    figure = on_page(grid, "figure")
    assert f':root:has([data-figure="{figure}"]) [data-kept="{figure}"]' in html
    assert html.count("<img") == 1 and "<script" not in html.lower()
    assert grid.get_state()["_figure"] == on_page(grid, "figure") != grid_of("a")._figure


def test_a_widget_as_the_last_line_has_a_picture_too(
    grid: HeadGrid, notebook: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell.instance()
    shell.user_ns["grid"] = grid
    ran = shell.run_cell("grid")
    assert ran.success and ran.result is grid and repr(grid) in capsys.readouterr().out
    (output,) = notebook
    assert set(output["data"]) == {"image/png", "text/html"}


COMPLETE = {VIEW, "image/png", "text/html", "text/plain"}


@pytest.mark.parametrize("updates", ["handle", "update_display", "display"])
def test_an_update_replaces_a_figure_as_it_replaces_any_widget(
    grid: HeadGrid, notebook: list[dict[str, Any]], updates: str
) -> None:
    other = grid_of("entropy")
    handle = display(grid, display_id=True)
    if updates == "handle":
        handle.update(other)
    elif updates == "update_display":
        update_display(other, display_id=handle.display_id)
    else:
        display(other, display_id=handle.display_id, update=True)
    first, second = notebook
    assert (first["update"], second["update"]) == (False, True)
    assert first["transient"] == second["transient"] == {"display_id": handle.display_id}
    for output, figure in [(first, grid), (second, other)]:
        assert set(output["data"]) == COMPLETE
        assert output["data"][VIEW]["model_id"] == figure.model_id
        assert output["metadata"]["image/png"]["alt"] == figure.caption.text()


def test_a_figure_takes_the_place_of_text_and_gives_it_back(
    grid: HeadGrid, notebook: list[dict[str, Any]]
) -> None:
    handle = display("Reading …", display_id="place")
    handle.update(grid)
    handle.update("Done")
    assert [output["update"] for output in notebook] == [False, True, True]
    assert [set(output["data"]) for output in notebook] == [
        {"text/plain"},
        COMPLETE,
        {"text/plain"},
    ]


def test_what_a_cell_says_about_a_display_holds_for_a_figure(
    grid: HeadGrid, notebook: list[dict[str, Any]]
) -> None:
    display(grid, metadata={"isolated": True}, exclude=["text/html"])
    (output,) = notebook
    assert output["metadata"]["isolated"] and set(output["data"]) == COMPLETE - {"text/html"}
    notebook.clear()
    display(grid, include=["image/png"])
    (output,) = notebook
    assert set(output["data"]) == {"image/png"}


def test_who_formats_a_figure_gets_all_of_it(
    grid: HeadGrid, notebook: list[dict[str, Any]]
) -> None:
    box = ipywidgets.Output()
    box.append_display_data(grid)
    (output,) = box.outputs
    assert set(output["data"]) == COMPLETE and not notebook

    class Report:
        def _repr_html_(self) -> str:
            box.append_display_data(grid)
            return "a report"

    display(Report())
    assert set(box.outputs[-1]["data"]) == COMPLETE
    assert [output["data"]["text/html"] for output in notebook] == ["a report"]


def test_a_closed_figure_is_displayed_in_words(
    grid: HeadGrid, notebook: list[dict[str, Any]]
) -> None:
    grid.close()
    display(grid)
    assert [output["data"] for output in notebook] == [{"text/plain": repr(grid)}]


def test_without_pictures_there_is_one_output(
    grid: HeadGrid, notebook: list[dict[str, Any]]
) -> None:
    options.static_fallback = False
    display(grid)
    assert [set(output["data"]) for output in notebook] == [{VIEW, "text/plain"}]


def test_a_picture_that_fails_leaves_the_view_and_the_reason(
    grid: HeadGrid, notebook: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*state: Any, **how: Any) -> Drawing:
        raise RuntimeError("no such color")

    monkeypatch.setattr("attnwidget.drawing.picture.draw", broken)
    with pytest.warns(RuntimeWarning, match=naming("HeadGrid", "without a picture")):
        display(grid)
    reason, view = notebook
    assert VIEW in view["data"] and set(reason["data"]) == {"text/html"}
    assert "has no stored picture: RuntimeError: no such color" in reason["data"]["text/html"]


def test_requests_of_the_page_are_answered_after_its_changes(grid: HeadGrid) -> None:
    before = len(grid.comm.sent)
    from_page(grid, {"selected": [[0, 1, "self"]]})
    question = {"data": {"method": "custom", "content": {"asked": 0.5}}}
    grid._handle_msg({"content": question, "buffers": []})
    sent = [data for _, data, _ in grid.comm.sent[before:]]
    assert sent[-1] == {"method": "custom", "content": {"asked": 0.5}}
    assert grid.selected[-1][:2] == (0, 1)


def test_a_static_figure_outlives_its_widget(grid: HeadGrid) -> None:
    figure = grid.static()
    grid.close()
    data, metadata = DisplayFormatter().format(figure)
    assert set(data) == {"image/png", "text/html", "text/plain"}
    assert metadata["image/png"]["alt"] == figure.caption.text()
    with picture(data) as png:
        assert png.size == pixels_of(figure.width, figure.height)
    size = f"{figure.width}×{figure.height}"
    assert (
        repr(figure) == f"StaticFigure(All heads, self-attention · weights · L1 H2 (2-3), {size})"
    )


def test_numbers_are_aligned_and_missing_ones_are_dashes() -> None:
    table = pd.DataFrame(
        {"key": ["a\x00", "b"], "weight": [0.123456, np.nan], "right": [True, None]}
    )
    html = figure_html(Caption("A head"), table)
    assert "a\ufffd" in html and ">0.1235</td>" in html and html.count(">–</td>") == 2
    assert ">yes</td>" in html and html.count("text-align: right") == 3
    assert "<img" not in html and "<details" not in html
    weights = pd.DataFrame({"weight": [0.559, 0.000598, 0.0], "size": [2e5, 1.5, 1e-9]})
    html = figure_html(Caption("A head"), weights)
    assert all(f">{text}<" in html for text in ("0.5590", "0.0006", "0.0000", "2e+05", "1e-09"))


def test_a_named_index_is_part_of_the_table() -> None:
    table = pd.DataFrame({"L0": [1]}, index=pd.Index(["H0"], name="head"))
    html = figure_html(Caption("Heads"), table)
    assert ">head</th>" in html and '<th scope="row">H0</th>' in html


@pytest.mark.parametrize("value", [1, None, "no"])
def test_an_option_takes_its_own_type(value: object) -> None:
    with pytest.raises(TypeError, match=naming("options.static_fallback", "got")):
        options.static_fallback = value  # type: ignore[assignment]
    assert options.static_fallback is True


def test_an_unknown_option_is_named_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=naming("'static_fallbck'", "'static_fallback'")):
        options.static_fallbck = False  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=naming("'color'", "static_fallback")):
        options.color  # noqa: B018
    with pytest.raises(AttributeError, match=naming("True", "deleted")):
        del options.static_fallback
    assert repr(options) == "options(static_fallback=True)" and "static_fallback" in dir(options)


def test_saving_is_refused_before_anything_is_drawn(
    grid: HeadGrid, drawn: list[str], tmp_path: Any
) -> None:
    for name, keywords, parts in [
        ("x.gif", {}, ("'x.gif'", ".svg, .pdf, .png", ".html")),
        ("x.svg", {"theme": "blue"}, ("theme", "'blue'")),
        ("x.html", {"theme": "blue"}, ("theme", "'blue'")),
        ("x.png", {"scale": 0}, ("scale", "got 0")),
    ]:
        with pytest.raises(ValueError, match=naming(*parts)):
            grid.save(tmp_path / name, **keywords)
    with pytest.raises(FileNotFoundError, match=naming("'x.html'", "folder")):
        grid.save(tmp_path / "nowhere" / "x.html")
    assert drawn == [] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "html"])
def test_a_widget_saves_in_every_format(grid: HeadGrid, tmp_path: Any, suffix: str) -> None:
    path = grid.save(tmp_path / f"grid.{suffix}")
    assert path == tmp_path / f"grid.{suffix}" and path.stat().st_size > 1000


class LiveKernel:
    """Stands for the module of a kernel that runs in this process."""

    class IPKernelApp:
        @staticmethod
        def initialized() -> bool:
            return True


def test_numbers_of_numpy_are_numbers(grid: HeadGrid, tmp_path: Any) -> None:
    path = grid.save(tmp_path / "grid.png", width=np.int64(300), scale=np.float32(0.5))
    with Image.open(path) as picture:
        assert picture.width == 150


def test_a_caption_of_ones_own_is_refused(grid: HeadGrid, tmp_path: Any) -> None:
    with pytest.raises(TypeError, match=naming("caption", "'mine'")):
        grid.save(tmp_path / "grid.svg", caption="mine")  # type: ignore[arg-type]


def test_an_unknown_theme_is_refused_by_figures_too() -> None:
    with pytest.raises(ValueError, match=naming("theme", "'drak'", "'light'")):
        grid_of("entropy").figure(theme="drak")  # type: ignore[arg-type]


def test_threads_may_save_to_one_path(grid: HeadGrid, tmp_path: Any) -> None:
    failed: list[BaseException] = []

    def save() -> None:
        try:
            for _ in range(5):
                write_whole(tmp_path / "one.svg", b"x" * 100_000)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and [path.name for path in tmp_path.iterdir()] == ["one.svg"]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_live_notebook_starts_to_draw_ahead(
    monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    started = threading.Event()
    monkeypatch.setattr(engine_start, "_draw_nothing", started.set)
    options.static_fallback = wanted
    engine_start.warm_up.cache_clear()
    grid_of("entropy").close()
    assert not started.wait(0.2), "nobody looks at a widget of a script"
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", LiveKernel)
    engine_start.warm_up.cache_clear()
    grid_of("entropy").close()
    assert started.wait(60 if wanted else 0.2) == wanted
    engine_start.warm_up.cache_clear()


def pictures(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs with a picture; a slow machine says first that it reads the text."""
    return [output for output in outputs if "data-kept" in output["data"].get("text/html", "")]


@pytest.mark.slow
def test_the_picture_in_a_notebook_is_renewed_when_all_is_measured(
    model: AttentionModel, notebook: list[dict[str, Any]]
) -> None:
    explorer = explore(model, "The cat sat on the mat.", treebank=False, tab="head_scatter")
    display(explorer)
    assert explorer.wait(120)
    first, *renewed = pictures(notebook)
    assert [output["update"] for output in renewed] == [True]
    assert renewed[0]["transient"] == first["transient"] != {}
    assert "not measured yet" not in renewed[0]["data"]["text/html"]
    assert "not measured yet: map of heads" in first["data"]["text/html"]
    name = f'data-kept="{on_page(explorer, "figure")}"'
    assert all(name in output["data"]["text/html"] for output in (first, *renewed))
    explorer.close()


@pytest.mark.slow
def test_nothing_is_put_out_of_an_explorer_that_was_not_displayed(
    model: AttentionModel, notebook: list[dict[str, Any]]
) -> None:
    explorer = explore(model, "The cat sat on the mat.", treebank=False)
    assert explorer.wait(120) and pictures(notebook) == []
    explorer.close()
