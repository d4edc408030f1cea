"""Charts show and save without a network, and are Altair's own in everything else."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import altair as alt
import numpy as np
import pytest
import vl_convert
from IPython.core.formatters import DisplayFormatter
from PIL import Image

from attnwidget.charts.layer_curves import layer_curves
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.token_heatmap import token_heatmap
from charts.test_figures import curve_frame
from refusals import naming

VEGA_LITE = "application/vnd.vegalite.v5+json"


def points() -> alt.Chart:
    return alt.Chart(alt.Data(values=[{"x": 1}, {"x": 2}])).mark_point().encode(x="x:Q")


@pytest.fixture(scope="module")
def chart() -> alt.LayerChart:
    return layer_curves(curve_frame(), title="Special tokens", value_title="weight")


@pytest.mark.slow
def test_a_notebook_gets_the_chart_and_a_picture_of_it(chart: alt.LayerChart) -> None:
    data, metadata = DisplayFormatter().format(chart)
    assert set(data) == {VEGA_LITE, "image/png", "text/plain"}
    assert data[VEGA_LITE]["$schema"].endswith("/v5.json")
    assert data[VEGA_LITE]["layer"] == chart.to_dict()["layer"]
    png = base64.b64decode(data["image/png"])
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width = int.from_bytes(png[16:20], "big")
    height = int.from_bytes(png[20:24], "big")
    assert metadata["image/png"] == {
        "width": width // 2, "height": height // 2, "alt": "Special tokens",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("background", "corner"), [("#fff", (255, 255, 255, 255)), ("transparent", (0, 0, 0, 0))]
)
def test_the_picture_has_a_palette_and_keeps_its_background(
    background: str, corner: tuple[int, ...]
) -> None:
    shown = offline(points().configure(background=background))
    data, _ = DisplayFormatter().format(shown)
    png = base64.b64decode(data["image/png"])
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.mode == "P"
        assert picture.convert("RGBA").getpixel((0, 0)) == corner
    assert len(png) < len(vl_convert.vegalite_to_png(shown.to_dict(), scale=2)) / 3


@pytest.mark.slow
def test_nbconvert_shows_the_picture_and_nothing_from_elsewhere(chart: alt.LayerChart) -> None:
    import nbformat  # here: they read longer than most tests take
    from nbconvert import HTMLExporter

    data, metadata = DisplayFormatter().format(chart)
    cell = nbformat.v4.new_code_cell("chart")
    cell.outputs = [nbformat.v4.new_output("display_data", data, metadata=metadata)]
    exporter = HTMLExporter(template_name="basic")
    page, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert 'alt="Special tokens"' in page and "data:image/png;base64," in page
    assert not re.search(r"<script[^>]+src=", page) and "cdn." not in page


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "json"])
def test_it_saves_as_before(chart: alt.LayerChart, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"figure.{suffix}"
    chart.save(path)
    assert path.stat().st_size > 1000
    if suffix == "svg":
        assert ">Special tokens</text>" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_saved_page_needs_no_network(chart: alt.LayerChart, tmp_path: Path) -> None:
    chart.save(tmp_path / "figure.html")
    pages = [(tmp_path / "figure.html").read_text(encoding="utf-8"), chart.to_html()]
    buffer = io.StringIO()
    chart.save(buffer, format="html")
    for page in [*pages, buffer.getvalue()]:
        assert len(page) > 100_000
        assert not re.search(r"<script[^>]+src=", page)
        assert not re.search(r"import .{0,80}https://", page)


def test_a_page_may_still_link_to_its_scripts(chart: alt.LayerChart) -> None:
    assert re.search(r"<script[^>]+src=", chart.to_html(inline=False))


def test_the_same_chart_of_the_same_kind() -> None:
    before = points()
    after = offline(before)
    assert isinstance(after, alt.Chart) and after is not before
    assert after.to_dict() == before.to_dict()
    assert offline(after) is after
    assert "text/html" in (before._repr_mimebundle_() or {}), "the one given is as it was"


@pytest.mark.parametrize(
    "changed",
    [
        lambda chart: chart.properties(width=900),
        lambda chart: chart.configure_axis(grid=False),
        lambda chart: chart.copy(),
        lambda chart: chart.interactive(),
    ],
    ids=["properties", "configure", "copy", "interactive"],
)
def test_changes_keep_it_offline(changed) -> None:
    assert VEGA_LITE in changed(offline(points()))._repr_mimebundle_()[0]


def test_combined_charts_are_wrapped_anew() -> None:
    both = offline(points()) | offline(points())
    assert VEGA_LITE in offline(both)._repr_mimebundle_()[0]


def test_only_charts_are_taken() -> None:
    with pytest.raises(TypeError, match=naming("offline", "dict")):
        offline({})  # type: ignore[type-var]


def test_a_token_that_no_markup_can_hold_ends_neither_the_figure_nor_the_process(
    tmp_path: Path,
) -> None:
    tokens = ["a\x00b", "\x1b[0m\ufffe"]
    figure = token_heatmap(np.eye(2), tokens, tokens, title="Two", value_title="weight")
    figure.save(tmp_path / "two.svg")
    assert "a\ufffdb" in (tmp_path / "two.svg").read_text("utf-8")
    assert "image/png" in figure._repr_mimebundle_()[0]


def test_the_palette_of_a_picture_keeps_rare_colors() -> None:
    # Few pixels of a scale of two hues, next to much text: the figures of changes are like this.
    n = 300
    scale = alt.Scale(domain=[-1, 0, 1], range=["#8c3305", "#e8e8e8", "#104a98"], interpolate="rgb")
    values = [{"x": i, "value": 2 * i / (n - 1) - 1, "name": f"head {i}"} for i in range(n)]
    base = alt.Chart(alt.Data(values=values)).encode(x=alt.X("x:O", axis=None))
    cells = base.mark_rect().encode(alt.Color("value:Q", scale=scale))
    names = base.mark_text(angle=90, dy=30).encode(text="name:N")
    picture = offline(alt.layer(cells, names).properties(width=900, height=40))
    data, _ = picture._repr_mimebundle_()
    small = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
    file = io.BytesIO()
    picture.save(file, "png")
    exact = Image.open(file).convert("RGB")
    assert small.size == exact.size
    assert np.abs(np.asarray(small, int) - np.asarray(exact, int)).max() <= 16
