"""Altair charts that notebooks can display without a network; global settings do not change."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from PIL import Image

from attnwidget.drawing.conversion import CHART_FORMATS, ChartFormat, chart_scripts, draw_chart
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.given_paths import refuse_no_parent
from attnwidget.text.xml_text import xml_texts

try:
    import altair as alt
    from altair.utils.html import INLINE_HTML_TEMPLATE
except AttributeError as error:
    raise ImportError(
        f"Altair, which draws charts, cannot be loaded: {error}; run Python without -OO, which "
        "removes the docstrings that Altair reads"
    ) from error

C = TypeVar("C", bound=alt.TopLevelMixin)

# JupyterLab 4, Notebook 7 and VS Code ship Vega-Lite 5, which draws this MIME type.
_MIME = "application/vnd.vegalite.v5+json"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_SCALE = 2.0
# Altair's default resolution of a PNG, in pixels per inch.
_PPI = 72
# Vega-Lite version of pictures and pages, in the format of vl-convert: "v6.1" for "v6.1.0".
_VEGA_LITE = alt.SCHEMA_VERSION.rpartition(".")[0]


class _Escaped(json.JSONEncoder):
    """JSON encoder that escapes "<", so that no text of a chart can end the page's script."""

    def iterencode(self, o: Any, _one_shot: bool = False) -> Iterator[str]:
        return (part.replace("<", "\\u003c") for part in super().iterencode(o, _one_shot))

    def encode(self, o: Any) -> str:
        return "".join(self.iterencode(o))


class _PageWithScripts:
    """Altair's page template with inline scripts, which the drawing engine supplies."""

    def render(self, **parts: Any) -> str:
        scripts = chart_scripts(_VEGA_LITE)
        return INLINE_HTML_TEMPLATE.render(vegaembed_script=scripts, **parts)


_JSON: dict[str, Any] = {"cls": _Escaped}


def _page(options: dict[str, Any]) -> dict[str, Any]:
    """Return Altair's options for a page, which needs no network by default."""
    if not options.pop("inline", True):
        return {"json_kwds": _JSON, **options}
    return {"json_kwds": _JSON, "template": _PageWithScripts(), **options}


class _Offline:
    """Methods in which an offline chart differs from an Altair chart.

    The drawing engine converts charts in a separate process, because the converter's JavaScript can
    crash its process, for example if the address space is limited.
    """

    def to_dict(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return Altair's `to_dict` without characters that XML forbids: they crash the converter.

        Args:
            args: Arguments of Altair's `to_dict`.
            kwargs: Keyword arguments of Altair's `to_dict`.
        """
        spec: dict[str, Any] = xml_texts(super().to_dict(*args, **kwargs))  # type: ignore[misc]
        return spec

    def _repr_mimebundle_(self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the chart for hosts that draw Vega-Lite, and a picture for other hosts."""
        spec = self.to_dict()
        png = draw_chart(spec, "png", vl_version=_VEGA_LITE, scale=_SCALE)
        with Image.open(io.BytesIO(png)) as picture:
            size = {
                "width": round(picture.width / _SCALE),
                "height": round(picture.height / _SCALE),
            }
            data = {
                _MIME: spec | {"$schema": _SCHEMA},
                "image/png": base64.b64encode(_small_png(picture)).decode("ascii"),
                "text/plain": repr(self),
            }
        return data, {"image/png": size | {"alt": spec.get("description", "A chart")}}

    def save(
        self: Any,
        fp: str | Path | IO[Any],
        format: str | None = None,
        *,
        scale: float | None = None,
        **kwargs: Any,
    ) -> None:
        """Save the chart like Altair's `save`; a page contains its scripts unless `inline=False`.

        Args:
            fp: Path of the file, or an open file.
            format: File format; None = the suffix of the path.
            scale: Pixels of a PNG per pixel of the figure; None = 2. Other formats ignore the
                scale.
            kwargs: Further options of Altair's `save`.

        Raises:
            ValueError: If `scale` is not above 0, or if `scale_factor` is given too.
            FileNotFoundError: If the folder of the file does not exist.
        """
        if isinstance(fp, (str, Path)):
            refuse_no_parent(fp, "the figure")
        kind = format or str(fp).rpartition(".")[-1]
        if scale is not None:
            _check_scale(scale, kwargs)
        if kind == "png":
            kwargs.setdefault("scale_factor", scale or _SCALE)
        if kind in CHART_FORMATS:
            chart_format = cast("ChartFormat", kind)
            with alt.data_transformers.enable("default"), alt.data_transformers.disable_max_rows():
                file = draw_chart(self.to_dict(), chart_format, **_options(chart_format, kwargs))
            _write(fp, file, text=kind == "svg")
        else:
            super().save(fp, format, **_page(kwargs) if kind == "html" else kwargs)  # type: ignore[misc]

    def to_html(self: Any, *args: Any, **kwargs: Any) -> str:
        """Return Altair's `to_html` with all scripts in the page, unless `inline=False`."""
        return super().to_html(*args, **_page(kwargs))  # type: ignore[misc]


def _check_scale(scale: float, options: dict[str, Any]) -> None:
    """Raise a ValueError if the scale is not above 0 or `scale_factor` is given too."""
    if isinstance(scale, bool) or not math.isfinite(scale) or scale <= 0:
        raise ValueError(
            f"scale must be a number above 0 (PNG pixels per pixel of the figure), got {scale!r}"
        )
    if "scale_factor" in options:
        raise ValueError("scale= and scale_factor= are the same option: pass one of them")


def _options(kind: ChartFormat, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the converter's options for the options of Altair's `save`."""
    embed = kwargs.get("embed_options") or alt.renderers.options.get("embed_options") or {}
    options = {
        "vl_version": _VEGA_LITE,
        "format_locale": embed.get("formatLocale"),
        "time_format_locale": embed.get("timeFormatLocale"),
    }
    if kind != "svg":
        options["scale"] = kwargs.get("scale_factor", 1)
    if kind == "png":
        options["ppi"] = kwargs.get("ppi", _PPI)
    return options


def _write(fp: str | Path | IO[Any], data: bytes, *, text: bool) -> None:
    if isinstance(fp, (str, Path)):
        Path(fp).write_bytes(data)
    else:  # Like Altair, write an SVG to a text file and other formats to a binary file.
        fp.write(data.decode() if text else data)


def _small_png(picture: Image.Image) -> bytes:
    """Return the picture with at most 256 colors, which saves five sixths of its size."""
    if picture.getchannel("A").getextrema() == (255, 255):
        # Pillow's default, the median cut, gives rare colors of a scale another hue.
        quantized = picture.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    else:  # This is the only method that supports pictures with transparent parts.
        quantized = picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    file = io.BytesIO()
    quantized.save(file, "PNG", optimize=True)
    return file.getvalue()


@cache
def _offline_class(kind: type[Any]) -> type[Any]:
    return type(kind.__name__, (_Offline, kind), {"__module__": kind.__module__})


@hides_frames
def offline(chart: C) -> C:
    """Return a chart that can be displayed and saved without a network.

    JupyterLab, Notebook and VS Code draw the chart with tooltips. nbconvert and other programs show
    a picture. Altair's renderer, its theme and all other charts do not change. A combination of
    offline charts (`a | b`) is an ordinary chart, so pass it to `offline` again.

    Args:
        chart: Altair chart. Notebooks draw it with Vega-Lite 5, pictures use Vega-Lite 6.

    Raises:
        TypeError: If `chart` is not an Altair chart.

    Example:
        >>> import altair as alt
        >>> from attnwidget.charts import offline
        >>> chart = offline(alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q"))
        >>> data, metadata = chart._repr_mimebundle_()
        >>> list(data)
        ['application/vnd.vegalite.v5+json', 'image/png', 'text/plain']
    """
    if not isinstance(chart, alt.TopLevelMixin):
        raise TypeError(f"offline takes an Altair chart, not {type(chart).__name__}")
    kind: Any = type(chart)
    if issubclass(kind, _Offline):
        return chart
    copy: C = chart.copy()  # type: ignore[attr-defined]
    # Altair's __setattr__ would set a property of the chart instead.
    object.__setattr__(copy, "__class__", _offline_class(kind))
    return copy
