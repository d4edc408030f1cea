"""Output for readers that cannot run a widget: a picture, a table, a file."""

from __future__ import annotations

import secrets
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from attnwidget.corpus.notebook_outputs import output_of
from attnwidget.drawing.engine import ThemeName
from attnwidget.hidden_frames import hides_frames, warn_caller
from attnwidget.widgets.shared.displayed_figures import displayed_figures
from attnwidget.widgets.shared.session_options import options

if TYPE_CHECKING:
    from attnwidget.drawing.caption import Caption
    from attnwidget.drawing.picture import Picture
    from attnwidget.drawing.static_figure import StaticFigure
    from attnwidget.text.thread_lock import ThreadLock


_HTML = "text/html"
#: Data and metadata of an output, by format.
_Bundle = tuple[dict[str, Any], dict[str, Any]]


class Exporting:
    """The part of a widget that draws the page's picture without a page."""

    #: The folder of the figure, on both sides.
    kind: ClassVar[str]

    _lock: ThreadLock
    # Names of the outputs that keep a picture of this figure in a notebook.
    _kept_pictures: tuple[str, ...] = ()

    def __reduce_ex__(self, protocol: object) -> str:
        raise self._no_copies()

    def __copy__(self) -> Any:
        raise self._no_copies()

    def __deepcopy__(self, memo: object) -> Any:
        raise self._no_copies()

    def _no_copies(self) -> TypeError:
        name = type(self).__name__
        return TypeError(
            f"a {name} cannot be pickled or copied, because it belongs to its page and kernel: "
            f"make a second {name}, pickle the attention or result that it shows, or keep "
            'static(), code() or save("page.html")'
        )

    def figure(
        self, *, width: float | None = None, theme: ThemeName = "light", title: bool = True
    ) -> Picture:
        """What the widget shows now as a picture, whether or not a page shows it.

        Lines, arcs, cells and text are vector; many cells are one crisp image. A long input shows
        as much as the widget has in sight, and the caption says so.

        Args:
            width: pixels of the whole figure, which is laid out for it; its own without one.
            theme: "light" or "dark".
            title: Whether the title is drawn; papers have their own titles.

        Raises:
            ValueError: a width that is not above 0, another theme.
            TypeError: a title other than True and False.
            RuntimeError: Python runs in a browser, where nothing draws pictures.

        Example:
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> view.figure(width=480).save("head.svg")  # doctest: +SKIP
        """
        from attnwidget.drawing.picture import Picture

        if sys.platform == "emscripten":
            raise RuntimeError(
                "Python in a browser cannot draw pictures: save a page (.html), which has the "
                "live figure"
            )
        with self._lock:
            return Picture(self.kind, self._drawn_state(), width, theme, drawn_title=title)

    def _drawn_state(self) -> dict[str, Any]:
        """What the page has of the widget, as it is now."""
        state: dict[str, Any] = self.get_state()  # type: ignore[attr-defined]
        return {name: value for name, value in state.items() if name not in ("_esm", "_css")}

    @property
    def caption(self) -> Caption:
        """What the widget shows now, in words."""
        return self.figure().caption

    @hides_frames
    def save(
        self,
        path: str | Path,
        *,
        width: float | None = None,
        scale: float | None = None,
        theme: ThemeName | None = None,
        caption: bool = False,
        title: bool = True,
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
                round(width * scale) pixels. The figure is laid out for this width, and the height
                follows. Default: the figure's own width, or for a page the width of its window.
            scale: pixels of a PNG for each of `width`, 2 without one; nothing else has pixels.
            theme: "light" or "dark"; without one pictures are light and pages follow the reader's.
            caption: whether a picture has its caption drawn under it; pages always have theirs.
            title: whether a picture has its title drawn above it. A page has a heading: False is an
                error there.
            limit_mb: the most that a page may have, in megabytes (10^6 bytes).

        Raises:
            ValueError: another suffix or theme; a width or scale that is not above 0; a PNG of
                more than 100 million pixels; a page over `limit_mb`, or without its title.
            TypeError: a title or caption other than True and False.
            FileNotFoundError: the folder does not exist.

        Example:
            >>> import tempfile
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> view.save(tempfile.mkdtemp() + "/cat.pdf", width=480).name
            'cat.pdf'
        """
        from attnwidget.drawing.picture import (
            PAGE_FORMATS,
            captioned,
            check_drawn,
            check_file,
            check_theme,
        )

        check_drawn("caption", caption)
        check_drawn("title", title)
        path = Path(path)
        page = path.suffix.lower() in PAGE_FORMATS
        drawn_theme: ThemeName = theme if theme is not None else "light"
        check_theme(drawn_theme)
        check_file(path, width=width, scale=scale, page=page)
        if page and not title:
            raise ValueError(
                f"{path.name!r} is a page, which always has a heading: title=False goes with "
                ".svg, .pdf and .png"
            )
        self._before_saving(page)
        if page:
            from attnwidget.widgets.pages.write_page import write_page

            with self._lock:
                return write_page(self, path, limit_mb=limit_mb, theme=theme)
        picture = self.figure(width=width, theme=drawn_theme, title=title)
        return (captioned(picture) if caption else picture).save(path, scale=scale)

    def _before_saving(self, page: bool) -> None:
        """Wait for what is being computed and belongs into the file; `page`: a whole page."""

    def static(self) -> StaticFigure:
        """Return the current state as a picture and a table, which outlive the widget.

        Show it in place of the widget where the kernel will be stopped.

        Example:
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> figure = view.static()
            >>> view.close()
            >>> figure.png[1:4]
            b'PNG'
        """
        from attnwidget.drawing.static_figure import static_figure

        return static_figure(self.figure())

    def _repr_mimebundle_(self, **keywords: Any) -> Any:
        """The live view, and for readers that cannot run it the picture and the table.

        A host shows one format of an output. JupyterLab takes the view even if its model is gone,
        and shows an error in its place. In a notebook the picture therefore gets an output of its
        own, which the live view hides. An output with a name has the view and the picture, so that
        an update replaces the view and the picture. An output of chosen formats has both too.
        """
        output = output_of(self)
        if output is not None:
            displayed_figures.add(self, output)  # type: ignore[arg-type]
        bundle = super()._repr_mimebundle_(**keywords)  # type: ignore[misc]
        picture = self._fallback() if bundle is not None else None
        if picture is None:
            return bundle
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if output is None or output.name or not output.has_all_formats:
            return {**data, **picture[0]}, {**metadata, **picture[1]}
        self._publish_picture(picture, secrets.token_hex(8), update=False)
        # Readers that cannot run the view show the next format, which is empty, under the picture.
        return {**data, _HTML: ""}, metadata

    def _publish_picture(self, picture: _Bundle, display_id: str, *, update: bool) -> None:
        """Display a picture as a new output, or in place of the output with this name."""
        from IPython.display import publish_display_data

        from attnwidget.drawing.static_figure import kept_picture

        shown, about = picture
        html = kept_picture(shown[_HTML], self._figure)  # type: ignore[attr-defined]
        publish_display_data(
            {**shown, _HTML: html}, about, transient={"display_id": display_id}, update=update
        )
        if not update:
            self._kept_pictures = (*self._kept_pictures, display_id)

    def _renew_kept_pictures(self) -> None:
        """Draw the pictures anew that notebooks keep of this figure, with all that is measured."""
        if self._kept_pictures and (picture := self._fallback(brief=False)) is not None:
            for display_id in self._kept_pictures:
                self._publish_picture(picture, display_id, update=True)

    def _fallback(self, *, brief: bool = True) -> _Bundle | None:
        """Return picture and table in the form of notebooks, or None where these are not wanted.

        If the picture cannot be drawn, the reason stands in its place.
        """
        if not options.static_fallback:
            return None
        try:
            from attnwidget.drawing.static_figure import static_figure

            return static_figure(self.figure(), brief=brief).fallback()
        except Exception as error:
            reason = _reason(error)
            _warn_once(type(self).__name__, reason)
            return {
                _HTML: f"<p>{escape(repr(self))} has no stored picture: {escape(reason)}</p>"
            }, {}


_warned: set[tuple[str, str]] = set()


def _reason(error: Exception) -> str:
    # The converter's own errors go on with pages of its stack.
    says = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {says}" if says else type(error).__name__


def _warn_once(kind: str, reason: str) -> None:
    """Warn that a figure has no picture, which is no reason not to show the live figure."""
    if (kind, reason) not in _warned:
        _warned.add((kind, reason))
        warn_caller(
            f"{kind} is shown without a picture for saved notebooks, which could not be drawn "
            f"({reason}). Set attnwidget.options.static_fallback = False to do without it.",
            RuntimeWarning,
        )
