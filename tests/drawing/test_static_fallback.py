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

from attnwidget import AttentionModel, explore
from attnwidget.drawing.caption import Caption
from attnwidget.drawing.engine import Drawing, draw
from attnwidget.drawing.figure_html import figure_html
from attnwidget.text.atomic_file import write_whole
from attnwidget.widgets.metric_strip import MetricStrip
from attnwidget.widgets.shared import engine_start, exporting
from attnwidget.widgets.shared.session_options import options
from fixtures.recording import from_page, on_page, updates

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


@pytest.fixture
def strip() -> MetricStrip:
    return MetricStrip({HOSTILE: np.arange(6.0).reshape(2, 3)}, selected=[(1, 2)])


def picture(data: dict[str, Any]) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data["image/png"])))


def pixels_of(width: int, height: int) -> tuple[int, int]:
    """Two for each of the figure's in either direction, of a large one about 300,000 in all."""
    density = min(2, (300_000 / (width * height)) ** 0.5)
    return round(width * density), pytest.approx(height * density, abs=1)  # type: ignore[return-value]


def test_a_small_picture_is_sharp_on_a_dense_screen(strip: MetricStrip) -> None:
    strip.selected = []
    figure = strip.static()
    with Image.open(io.BytesIO(figure.png)) as png:
        assert png.size == (2 * figure.width, 2 * figure.height)


def test_a_notebook_gets_the_live_view_a_picture_and_a_table(strip: MetricStrip) -> None:
    data, metadata = DisplayFormatter().format(strip)
    assert set(data) == {VIEW, "image/png", "text/html", "text/plain"}
    assert data[VIEW]["model_id"] == strip.model_id and data["text/plain"] == repr(strip)
    about = metadata["image/png"]
    assert about["alt"] == strip.caption.text()
    with picture(data) as png:
        assert png.size == pixels_of(about["width"], about["height"])
        # Drawn, and not blank: the letters of the title.
        assert min(np.asarray(png.convert("L")).ravel()) < 60


def test_the_table_is_one_that_can_be_read_aloud(strip: MetricStrip) -> None:
    html = DisplayFormatter().format(strip)[0]["text/html"]
    assert "<caption" in html and '<th scope="col"' in html
    assert '<th scope="row">&lt;/table&gt;&lt;script&gt;' in html and ">100</td>" in html
    assert "<script" not in html.lower() and "L1 H2" in html
    assert 'alt="Metrics of one head · L1 H2 ' in html


def test_the_hosts_own_metadata_are_kept(
    strip: MetricStrip, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in Colab, where they enable the manager of widgets.
    url = {"colab": {"custom_widget_manager": {"url": "x"}}}
    monkeypatch.setattr("anywidget._util.get_repr_metadata", lambda: {VIEW: url})
    data, metadata = strip._repr_mimebundle_()
    assert metadata[VIEW] == url and "image/png" in metadata and VIEW in data


def test_the_picture_follows_the_state(strip: MetricStrip) -> None:
    before = DisplayFormatter().format(strip)[0]
    assert DisplayFormatter().format(strip)[0] == before
    strip.selected = [(0, 1)]
    after = DisplayFormatter().format(strip)[0]
    assert after["image/png"] != before["image/png"] and "L0 H1" in after["text/html"]


def test_displaying_sends_nothing_to_the_page(strip: MetricStrip) -> None:
    sent = len(updates(strip))
    DisplayFormatter().format(strip)
    assert len(updates(strip)) == sent


def test_the_static_fallback_can_be_turned_off_and_then_costs_nothing(
    strip: MetricStrip, drawn: list[str]
) -> None:
    options.static_fallback = False
    data, metadata = DisplayFormatter().format(strip)
    assert set(data) == {VIEW, "text/plain"} and metadata == {} and drawn == []


def test_a_failing_picture_leaves_the_live_view_and_one_warning(
    strip: MetricStrip, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*state: Any, **how: Any) -> Drawing:
        raise RuntimeError("the figure could not be drawn: no such colour\n    at paint")

    monkeypatch.setattr("attnwidget.drawing.picture.draw", broken)
    says = r"MetricStrip is shown without .*no such colour\).*options"
    with pytest.warns(RuntimeWarning, match=says):
        data, _ = strip._repr_mimebundle_()
    assert set(data) == {VIEW, "text/html", "text/plain"}
    assert "has no stored picture: RuntimeError: the figure could not be drawn" in data["text/html"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert VIEW in strip._repr_mimebundle_()[0]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The outputs of one cell."""
    shell = InteractiveShell.instance()
    publisher = CapturingDisplayPublisher(shell=shell)
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield publisher.outputs
    InteractiveShell.clear_instance()


def test_a_cell_shows_the_picture_and_then_the_view(
    strip: MetricStrip, notebook: list[dict[str, Any]]
) -> None:
    display(strip)
    picture, view = notebook
    assert set(view["data"]) == {VIEW, "text/html", "text/plain"} and not view["data"]["text/html"]
    assert view["data"][VIEW]["model_id"] == strip.model_id
    assert set(picture["data"]) == {"image/png", "text/html"}
    assert picture["metadata"]["image/png"]["alt"] == strip.caption.text()
    html = picture["data"]["text/html"]
    # The one is hidden by the name that the other has on the page.
    figure = on_page(strip, "figure")
    assert f':root:has([data-figure="{figure}"]) [data-kept="{figure}"]' in html
    assert html.count("<img") == 1 and "<script" not in html.lower()
    assert (
        strip.get_state()["_figure"]
        == on_page(strip, "figure")
        != MetricStrip({"a": np.ones((2, 2))})._figure
    )


def test_a_widget_as_the_last_line_has_a_picture_too(
    strip: MetricStrip, notebook: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell.instance()
    shell.user_ns["strip"] = strip
    ran = shell.run_cell("strip")
    assert ran.success and ran.result is strip and repr(strip) in capsys.readouterr().out
    (output,) = notebook
    assert set(output["data"]) == {"image/png", "text/html"}


COMPLETE = {VIEW, "image/png", "text/html", "text/plain"}


@pytest.mark.parametrize("updates", ["handle", "update_display", "display"])
def test_an_update_replaces_a_figure_as_it_replaces_any_widget(
    strip: MetricStrip, notebook: list[dict[str, Any]], updates: str
) -> None:
    other = MetricStrip({"entropy": np.ones((2, 2))}, selected=[(0, 1)])
    handle = display(strip, display_id=True)
    if updates == "handle":
        handle.update(other)
    elif updates == "update_display":
        update_display(other, display_id=handle.display_id)
    else:
        display(other, display_id=handle.display_id, update=True)
    first, second = notebook
    assert (first["update"], second["update"]) == (False, True)
    assert first["transient"] == second["transient"] == {"display_id": handle.display_id}
    for output, figure in [(first, strip), (second, other)]:
        assert set(output["data"]) == COMPLETE
        assert output["data"][VIEW]["model_id"] == figure.model_id
        assert output["metadata"]["image/png"]["alt"] == figure.caption.text()


def test_a_figure_takes_the_place_of_text_and_gives_it_back(
    strip: MetricStrip, notebook: list[dict[str, Any]]
) -> None:
    handle = display("Reading …", display_id="place")
    handle.update(strip)
    handle.update("Done")
    assert [output["update"] for output in notebook] == [False, True, True]
    assert [set(output["data"]) for output in notebook] == [
        {"text/plain"},
        COMPLETE,
        {"text/plain"},
    ]


def test_what_a_cell_says_about_a_display_holds_for_a_figure(
    strip: MetricStrip, notebook: list[dict[str, Any]]
) -> None:
    display(strip, metadata={"isolated": True}, exclude=["text/html"])
    (output,) = notebook
    assert output["metadata"]["isolated"] and set(output["data"]) == COMPLETE - {"text/html"}
    notebook.clear()
    display(strip, include=["image/png"])
    (output,) = notebook
    assert set(output["data"]) == {"image/png"}


def test_who_formats_a_figure_gets_all_of_it(
    strip: MetricStrip, notebook: list[dict[str, Any]]
) -> None:
    box = ipywidgets.Output()
    box.append_display_data(strip)
    (output,) = box.outputs
    assert set(output["data"]) == COMPLETE and not notebook

    class Report:
        def _repr_html_(self) -> str:
            box.append_display_data(strip)
            return "a report"

    display(Report())
    assert set(box.outputs[-1]["data"]) == COMPLETE
    assert [output["data"]["text/html"] for output in notebook] == ["a report"]


def test_a_closed_figure_is_displayed_in_words(
    strip: MetricStrip, notebook: list[dict[str, Any]]
) -> None:
    strip.close()
    display(strip)
    assert [output["data"] for output in notebook] == [{"text/plain": repr(strip)}]


def test_without_pictures_there_is_one_output(
    strip: MetricStrip, notebook: list[dict[str, Any]]
) -> None:
    options.static_fallback = False
    display(strip)
    assert [set(output["data"]) for output in notebook] == [{VIEW, "text/plain"}]


def test_a_picture_that_fails_leaves_the_view_and_the_reason(
    strip: MetricStrip, notebook: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*state: Any, **how: Any) -> Drawing:
        raise RuntimeError("no such colour")

    monkeypatch.setattr("attnwidget.drawing.picture.draw", broken)
    with pytest.warns(RuntimeWarning, match="is shown without a picture"):
        display(strip)
    reason, view = notebook
    assert VIEW in view["data"] and set(reason["data"]) == {"text/html"}
    assert "has no stored picture: RuntimeError: no such colour" in reason["data"]["text/html"]


def test_requests_of_the_page_are_answered_after_its_changes(strip: MetricStrip) -> None:
    before = len(strip.comm.sent)
    from_page(strip, {"selected": [[0, 1, "self"]]})
    question = {"data": {"method": "custom", "content": {"asked": 0.5}}}
    strip._handle_msg({"content": question, "buffers": []})
    sent = [data for _, data, _ in strip.comm.sent[before:]]
    assert sent[-1] == {"method": "custom", "content": {"asked": 0.5}}
    assert strip.selected[-1][:2] == (0, 1)


def test_a_static_figure_outlives_its_widget(strip: MetricStrip) -> None:
    figure = strip.static()
    strip.close()
    data, metadata = DisplayFormatter().format(figure)
    assert set(data) == {"image/png", "text/html", "text/plain"}
    assert metadata["image/png"]["alt"] == figure.caption.text()
    with picture(data) as png:
        assert png.size == pixels_of(figure.width, figure.height)
    size = f"{figure.width}×{figure.height}"
    assert repr(figure) == f"StaticFigure(Metrics of one head · L1 H2 (2-3), {size})"


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
    with pytest.raises(TypeError, match=r"options\.static_fallback is True or False, got"):
        options.static_fallback = value  # type: ignore[assignment]
    assert options.static_fallback is True


def test_an_unknown_option_is_named_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'static_fallback'"):
        options.static_fallbck = False  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="options: static_fallback"):
        options.colour  # noqa: B018
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del options.static_fallback
    assert repr(options) == "options(static_fallback=True)" and "static_fallback" in dir(options)


def test_saving_is_refused_before_anything_is_drawn(
    strip: MetricStrip, drawn: list[str], tmp_path: Any
) -> None:
    for name, keywords, says in [
        ("x.gif", {}, "one of .svg, .pdf, .png; a widget as .html"),
        ("x.svg", {"theme": "blue"}, "theme is one of"),
        ("x.html", {"theme": "blue"}, "theme is one of"),
        ("x.png", {"scale": 0}, "scale is a number above 0"),
    ]:
        with pytest.raises(ValueError, match=says):
            strip.save(tmp_path / name, **keywords)
    with pytest.raises(FileNotFoundError, match="make it first"):
        strip.save(tmp_path / "nowhere" / "x.html")
    assert drawn == [] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "html"])
def test_a_widget_saves_in_every_format(strip: MetricStrip, tmp_path: Any, suffix: str) -> None:
    path = strip.save(tmp_path / f"strip.{suffix}")
    assert path == tmp_path / f"strip.{suffix}" and path.stat().st_size > 1000


class LiveKernel:
    """Stands for the module of a kernel that runs in this process."""

    class IPKernelApp:
        @staticmethod
        def initialized() -> bool:
            return True


def test_numbers_of_numpy_are_numbers(strip: MetricStrip, tmp_path: Any) -> None:
    path = strip.save(tmp_path / "strip.png", width=np.int64(300), scale=np.float32(0.5))
    with Image.open(path) as picture:
        assert picture.width == 150


def test_a_caption_of_ones_own_is_refused(strip: MetricStrip, tmp_path: Any) -> None:
    with pytest.raises(TypeError, match=r"caption is True or False, .*got 'mine'"):
        strip.save(tmp_path / "strip.svg", caption="mine")  # type: ignore[arg-type]


def test_an_unknown_theme_is_refused_by_figures_too() -> None:
    with pytest.raises(ValueError, match="theme is one of 'light', 'dark', got 'drak'"):
        MetricStrip({"entropy": np.ones((2, 2))}).figure(theme="drak")  # type: ignore[arg-type]


def test_threads_may_save_to_one_path(strip: MetricStrip, tmp_path: Any) -> None:
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
    metrics = {"entropy": np.ones((2, 2))}
    engine_start.warm_up.cache_clear()
    MetricStrip(metrics).close()
    assert not started.wait(0.2), "nobody looks at a widget of a script"
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", LiveKernel)
    engine_start.warm_up.cache_clear()
    MetricStrip(metrics).close()
    assert started.wait(60 if wanted else 0.2) == wanted
    engine_start.warm_up.cache_clear()


def pictures(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs with a picture; a slow machine says first that it reads the text."""
    return [output for output in outputs if "data-kept" in output["data"].get("text/html", "")]


@pytest.mark.slow
def test_the_picture_in_a_notebook_is_renewed_when_all_is_measured(
    model: AttentionModel, notebook: list[dict[str, Any]]
) -> None:
    explorer = explore(model, "The cat sat on the mat.", treebank=False, tab="strip")
    display(explorer)
    assert explorer.wait(120)
    first, *renewed = pictures(notebook)
    assert [output["update"] for output in renewed] == [True]
    assert renewed[0]["transient"] == first["transient"] != {}
    assert "percentile" in renewed[0]["data"]["text/html"]
    assert "percentile" not in first["data"]["text/html"]
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
