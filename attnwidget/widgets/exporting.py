"""What a widget gives to readers that cannot run it: a picture, a table, a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from attnwidget.widgets.options import options

if TYPE_CHECKING:
    import threading

    import pandas as pd

    from attnwidget.figures.caption import Caption
    from attnwidget.widgets.heads import HeadWidget
    from attnwidget.widgets.static_figure import StaticFigure

ThemeName = Literal["light", "dark"]


class Exporting:
    """The part of a widget that shows, without a page, what it shows on one."""

    _lock: threading.RLock

    def figure(self, *, width: int | None = None, theme: ThemeName = "light") -> Any:
        """What the widget shows now as an Altair chart, `width` pixels wide; each has its own."""
        raise NotImplementedError

    @property
    def caption(self) -> Caption:
        """What the widget shows now, in words; each has its own."""
        raise NotImplementedError

    def _table(self) -> pd.DataFrame:
        """What the widget shows now as a table of at most 20 rows; each has its own."""
        raise NotImplementedError

    def save(
        self,
        path: str | Path,
        *,
        width: float | None = None,
        scale: float | None = None,
        theme: ThemeName | None = None,
        caption: bool = False,
        limit_mb: float = 20.0,
    ) -> Path:
        """Save what the widget shows now, by the suffix of `path`; returns its path.

        .svg, .pdf and .png are drawn from the current state, whether or not a page shows it. Text,
        lines and arcs are vector in SVG and PDF; the caption is in each file as metadata. .html is
        an interactive page that needs no kernel and no network. The file is replaced at once, or
        not at all; the same state gives the same bytes.

        Args:
            path: the file; its folder must exist.
            width: of the whole figure: pixels of an SVG, points (1/72 inch) of a PDF; a PNG has
                round(width * scale) pixels. The figure is laid out for it, and its height follows.
                The figure's own width without one. A page has the width of its window.
            scale: pixels of a PNG for each of `width`, 2 without one; nothing else has pixels.
            theme: "light" or "dark"; without one pictures are light and pages follow the reader's.
            caption: whether a picture has its caption drawn under it; pages always have theirs.
            limit_mb: the most that a page may have, in megabytes (10^6 bytes).

        Raises:
            ValueError: another suffix or theme; a width or scale that is not above 0; a PNG of
                more than 100 million pixels; a page over `limit_mb`.
            FileNotFoundError: the folder does not exist.

        Example:
            >>> import tempfile
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> view.save(tempfile.mkdtemp() + "/cat.pdf", width=480).name
            'cat.pdf'
        """
        from attnwidget.figures.export import PAGE_FORMATS, check_export, write_chart

        if not isinstance(caption, bool):
            raise TypeError(
                f"caption is True or False, whether the figure's own is drawn, got {caption!r}"
            )
        path = Path(path)
        page = path.suffix.lower() in PAGE_FORMATS
        drawn_theme: ThemeName = theme if theme is not None else "light"
        check_export(path, width=width, scale=scale, theme=drawn_theme, page=page)
        if page:
            from attnwidget.widgets.pages import write_page

            with self._lock:
                return write_page(cast("HeadWidget", self), path, limit_mb=limit_mb, theme=theme)
        with self._lock:
            chart = self.figure(width=None if width is None else round(width), theme=drawn_theme)
            said = self.caption
        return write_chart(
            chart,
            path,
            caption=said,
            width=width,
            scale=scale,
            theme=drawn_theme,
            drawn_caption=caption,
        )

    def static(self) -> StaticFigure:
        """What the widget shows now as a picture and a table, which stay when it is closed.

        Show it in place of the widget where the kernel will be stopped.

        Example:
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> figure = view.static()
            >>> view.close()
            >>> figure.png[1:4]
            b'PNG'
        """
        from attnwidget.widgets.static_figure import static_figure

        with self._lock:
            chart, caption, table = self.figure(), self.caption, self._table()
        return static_figure(chart, caption, table)

    def _saved_with_notebook(self) -> StaticFigure:
        """What a notebook keeps of each display: drawn every time, so that it has to be quick."""
        return self.static()

    def _repr_mimebundle_(self, **keywords: Any) -> Any:
        """The live view, and for readers that cannot run it the picture and the table."""
        bundle = super()._repr_mimebundle_(**keywords)  # type: ignore[misc]
        if bundle is None or not options.static_fallback:
            return bundle
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        try:
            picture, about = self._saved_with_notebook().fallback()
        except Exception as error:
            _warn_once(type(self).__name__, error)
            return data, metadata
        return {**data, **picture}, {**metadata, **about}


_warned: set[tuple[str, str]] = set()


def _warn_once(kind: str, error: Exception) -> None:
    """A figure that cannot be drawn is no reason not to show the live one."""
    # The converter's own errors go on with pages of its stack.
    said = str(error).partition("\n")[0]
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if (kind, reason) not in _warned:
        _warned.add((kind, reason))
        warnings.warn(
            f"{kind} is shown without a picture for saved notebooks, which could not be drawn "
            f"({reason}). Set attnwidget.options.static_fallback = False to do without it.",
            RuntimeWarning,
            stacklevel=3,
        )
