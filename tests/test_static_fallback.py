"""What a displayed widget leaves to readers that cannot run it."""

from __future__ import annotations

import base64
import io
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import comm
import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter
from PIL import Image

from attnwidget.figures.accessible import figure_html
from attnwidget.figures.caption import Caption
from attnwidget.figures.heads import head_heatmap
from attnwidget.figures.whole_file import write_whole
from attnwidget.widgets import exporting, warm
from attnwidget.widgets.metric_strip import MetricStrip
from attnwidget.widgets.options import options
from recording import RecordingComm, updates

VIEW = "application/vnd.jupyter.widget-view+json"
HOSTILE = "</table><script>alert(1)</script>"


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comm, "create_comm", lambda *args, **keys: RecordingComm(*args, **keys))


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    options.static_fallback = True
    exporting._warned.clear()


class Strip(MetricStrip):
    """A widget whose figure is a heat map of its first metric, without the selected head."""

    drawn = 0

    def figure(self, *, width: int | None = None, theme: str = "light") -> Any:
        self.drawn += 1
        values = next(iter(self.metrics["self"].values())).copy()
        if self.head:
            values[self.head[:2]] = np.nan
        return head_heatmap(values, title="Heads", value_title="entropy")

    @property
    def caption(self) -> Caption:
        return Caption("Metrics of a head", head=str(self.head), notes=(HOSTILE,))

    def _table(self) -> pd.DataFrame:
        return self.to_frame()


@pytest.fixture
def strip() -> Strip:
    return Strip({HOSTILE: np.arange(6.0).reshape(2, 3)}, selected=[(1, 2)])


def picture(data: dict[str, Any]) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data["image/png"])))


def test_a_notebook_gets_the_live_view_a_picture_and_a_table(strip: Strip) -> None:
    data, metadata = DisplayFormatter().format(strip)
    assert set(data) == {VIEW, "image/png", "text/html", "text/plain"}
    assert data[VIEW]["model_id"] == strip.model_id and data["text/plain"] == repr(strip)
    about = metadata["image/png"]
    assert about["alt"] == strip.caption.text()
    with picture(data) as png:
        assert png.size == (2 * about["width"], 2 * about["height"])
        # Drawn, and not blank: the darkest head of the map.
        assert min(np.asarray(png.convert("L")).ravel()) < 60


def test_the_table_is_one_that_can_be_read_aloud(strip: Strip) -> None:
    html = DisplayFormatter().format(strip)[0]["text/html"]
    assert "<caption" in html and '<th scope="col"' in html
    assert '<th scope="row">&lt;/table&gt;&lt;script&gt;' in html and ">100</td>" in html
    assert "<script" not in html.lower() and "L1 H2" in html
    assert 'alt="Metrics of a head · L1 H2 ' in html


def test_the_hosts_own_metadata_are_kept(strip: Strip, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in Colab, where they enable the manager of widgets.
    url = {"colab": {"custom_widget_manager": {"url": "x"}}}
    monkeypatch.setattr("anywidget._util.get_repr_metadata", lambda: {VIEW: url})
    data, metadata = strip._repr_mimebundle_()
    assert metadata[VIEW] == url and "image/png" in metadata and VIEW in data


def test_the_picture_follows_the_state(strip: Strip) -> None:
    before = DisplayFormatter().format(strip)[0]
    assert DisplayFormatter().format(strip)[0] == before
    strip.selected = [(0, 1)]
    after = DisplayFormatter().format(strip)[0]
    assert after["image/png"] != before["image/png"] and "L0 H1" in after["text/html"]


def test_displaying_sends_nothing_to_the_page(strip: Strip) -> None:
    sent = len(updates(strip))
    DisplayFormatter().format(strip)
    assert len(updates(strip)) == sent


def test_it_can_be_turned_off_and_then_costs_nothing(strip: Strip) -> None:
    options.static_fallback = False
    data, metadata = DisplayFormatter().format(strip)
    assert set(data) == {VIEW, "text/plain"} and metadata == {} and strip.drawn == 0


def test_a_picture_that_fails_leaves_the_live_view_and_one_warning(
    strip: Strip, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Strip, **options: Any) -> Any:
        raise ValueError("no such colour")

    monkeypatch.setattr(Strip, "figure", broken)
    with pytest.warns(RuntimeWarning, match=r"Strip is shown without .*no such colour.*options"):
        data, _ = strip._repr_mimebundle_()
    assert set(data) == {VIEW, "text/plain"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(strip._repr_mimebundle_()[0]) == {VIEW, "text/plain"}


def test_a_static_figure_outlives_its_widget(strip: Strip) -> None:
    figure = strip.static()
    strip.close()
    data, metadata = DisplayFormatter().format(figure)
    assert set(data) == {"image/png", "text/html", "text/plain"}
    assert metadata["image/png"]["alt"] == figure.caption.text()
    with picture(data) as png:
        assert png.width == 2 * figure.width
    size = f"{figure.width}×{figure.height}"
    assert repr(figure) == f"StaticFigure(Metrics of a head · L1 H2, {size})"


def test_numbers_are_aligned_and_missing_ones_are_dashes() -> None:
    table = pd.DataFrame(
        {"key": ["a\x00", "b"], "weight": [0.123456, np.nan], "right": [True, None]}
    )
    html = figure_html(Caption("A head"), table)
    assert "a\ufffd" in html and ">0.1235</td>" in html and html.count(">–</td>") == 2
    assert ">yes</td>" in html and html.count("text-align: right") == 3
    assert "<img" not in html and "<details" not in html


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


def test_saving_is_refused_before_anything_is_drawn(strip: Strip, tmp_path: Any) -> None:
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
    assert strip.drawn == 0 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "html"])
def test_a_widget_saves_in_every_format(strip: Strip, tmp_path: Any, suffix: str) -> None:
    path = strip.save(tmp_path / f"strip.{suffix}")
    assert path == tmp_path / f"strip.{suffix}" and path.stat().st_size > 1000


class LiveKernel:
    """Stands for the module of a kernel that runs in this process."""

    class IPKernelApp:
        @staticmethod
        def initialized() -> bool:
            return True


def test_numbers_of_numpy_are_numbers(strip: Strip, tmp_path: Any) -> None:
    path = strip.save(tmp_path / "strip.png", width=np.int64(300), scale=np.float32(0.5))
    with Image.open(path) as picture:
        assert picture.width == 150


def test_a_caption_of_ones_own_is_refused(strip: Strip, tmp_path: Any) -> None:
    with pytest.raises(TypeError, match=r"caption is True or False, .*got 'mine'"):
        strip.save(tmp_path / "strip.svg", caption="mine")  # type: ignore[arg-type]


def test_an_unknown_theme_is_refused_by_figures_too() -> None:
    with pytest.raises(ValueError, match="theme is one of 'light', 'dark', got 'drak'"):
        MetricStrip({"entropy": np.ones((2, 2))}).figure(theme="drak")  # type: ignore[arg-type]


def test_threads_may_save_to_one_path(strip: Strip, tmp_path: Any) -> None:
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
    monkeypatch.setattr(warm, "_draw_nothing", started.set)
    options.static_fallback = wanted
    metrics = {"entropy": np.ones((2, 2))}
    warm.warm_up.cache_clear()
    MetricStrip(metrics).close()
    assert not started.wait(0.2), "nobody looks at a widget of a script"
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", LiveKernel)
    warm.warm_up.cache_clear()
    MetricStrip(metrics).close()
    assert started.wait(10 if wanted else 0.2) == wanted
    warm.warm_up.cache_clear()
