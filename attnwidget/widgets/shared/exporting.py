"""Export of a figure as a picture, a table or a file, for viewers that cannot run widgets."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from attnwidget.corpus.notebook_outputs import output_of
from attnwidget.drawing.engine import ThemeName
from attnwidget.hidden_frames import hides_frames, warn_caller
from attnwidget.text.missing_names import MissingNames
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


class Exporting(MissingNames):
    """Mixin for widgets that draws the page's picture without a page."""

    #: Name of the figure's folder, in Python and in TypeScript.
    kind: ClassVar[str]
    _other_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "display": "the figure as the last line of a cell, or display(figure) of IPython",
            "plot": "the figure as the last line of a cell, or display(figure) of IPython",
            "savefig": "save(path)",
            "show": "the figure as the last line of a cell, or display(figure) of IPython",
            "to_file": "save(path)",
            "to_html": "save('page.html'), or static() for a picture in HTML",
            "to_image": "figure()",
            "to_png": "save('figure.png')",
            "to_svg": "save('figure.svg')",
            "write_html": "save('page.html')",
            "write_image": "save(path)",
        }
    )

    _lock: ThreadLock
    # Names of notebook outputs with a picture of this figure.
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

    @hides_frames
    def figure(
        self, *, width: float | None = None, theme: ThemeName = "light", title: bool = True
    ) -> Picture:
        """Return the current state of the widget as a picture, even if no page shows the widget.

        Lines, arcs, cells and text are vector graphics; many cells become one sharp image. For a
        long input, the picture shows the visible part, and the caption says so.

        Args:
            width: Width of the layout in pixels; default: the figure's own width.
            theme: "light" or "dark".
            title: Whether to draw the title; False is useful for papers, which have captions.

        Raises:
            ValueError: If `width` is not above 0, or if `theme` is unknown.
            TypeError: If `title` is not a bool.
            RuntimeError: If Python runs in a browser, where pictures cannot be drawn.

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
        """Return the current state of the widget without its scripts."""
        state: dict[str, Any] = self.get_state()  # type: ignore[attr-defined]
        return {name: value for name, value in state.items() if name not in ("_esm", "_css")}

    @property
    def caption(self) -> Caption:
        """Caption of the figure in its current state."""
        return self.figure().caption

    @hides_frames
    def save(
        self,
        path: str | Path,
        *,
        width: float | None = None,
        scale: float | None = None,
        dpi: float | None = None,
        theme: ThemeName | None = None,
        caption: bool = False,
        title: bool = True,
        limit_mb: float = 20.0,
    ) -> Path:
        """Save the current state of the widget to a file and return its path.

        The suffix determines the format. .svg, .pdf and .png are pictures, which are drawn even if
        no page shows the widget. Text, lines and arcs are vector graphics in SVG and PDF, and each
        file contains the caption as metadata. .html is an interactive page that needs no kernel and
        no network. An existing file is replaced atomically. The same state gives the same bytes.

        Args:
            path: File path; its folder must exist.
            width: Width of the figure, in pixels for SVG and points (1/72 inch) for PDF; a PNG is
                round(width * scale) pixels wide. The height follows from the layout. Default: the
                figure's own width, or for a page the width of the window.
            scale: Pixels of a PNG per pixel of `width`; default 2. Other formats ignore the scale.
            dpi: Pixels of a PNG per inch, in place of `scale`: 300 is a scale of 300/96.
            theme: "light" or "dark"; default: light for pictures, the reader's theme for pages.
            caption: Whether to draw the caption under a picture; pages always have a caption.
            title: Whether to draw the title above a picture. Pages always have a title, so False
                is an error for pages.
            limit_mb: Maximum size of a page in megabytes (10^6 bytes).

        Raises:
            ValueError: If the suffix or the theme is unknown, `width`, `scale` or `dpi` is not
                above 0, both `scale` and `dpi` are passed, a PNG would have more than 100 million
                pixels, or a page would exceed `limit_mb` or have no title.
            TypeError: If `title` or `caption` is not a bool.
            FileNotFoundError: If the folder does not exist.

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
        check_file(path, width=width, scale=scale, dpi=dpi, page=page)
        if page and not title:
            raise ValueError(
                f"{path.name!r} is a page, which always has a heading: title=False goes with "
                ".svg, .pdf and .png"
            )
        self._warn_of_misspelled_options()
        self._before_saving(page)
        if page:
            from attnwidget.widgets.pages.write_page import write_page

            with self._lock:
                return write_page(self, path, limit_mb=limit_mb, theme=theme)
        picture = self.figure(width=width, theme=drawn_theme, title=title)
        return (captioned(picture) if caption else picture).save(path, scale=scale, dpi=dpi)

    def _before_saving(self, page: bool) -> None:
        """Wait for computations whose results belong into the file, a page or a picture."""

    @hides_frames
    def static(self) -> StaticFigure:
        """Return the current state as a picture and a table, which remain after the widget closes.

        Display the result instead of the widget if the kernel will be stopped.

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
        """Return the live view, with picture and table for viewers that cannot run it.

        A host shows one format of an output. JupyterLab chooses the view even if its model is gone,
        and then shows an error. In a notebook the picture is therefore a separate output, which the
        live view hides. An output with a name contains both, so that an update replaces both. An
        output with explicitly chosen formats contains both too.
        """
        self._warn_of_misspelled_options()
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
        # Viewers that cannot run the view show the next format, so this format is empty.
        return {**data, _HTML: ""}, metadata

    def _hint(self, name: str) -> str:
        """Return the hint about a name that is no option; "" if no option is near."""
        raise NotImplementedError

    def _warn_of_misspelled_options(self) -> None:
        """Warn of attributes that readers take for options: Python accepts any assignment."""
        for name in vars(self):
            if not name.startswith("_") and (hint := self._hint(name)):
                warn_caller(
                    f"{type(self).__name__} has no option {name!r}, so its assignment had no "
                    f"effect; {hint}"
                )

    def _publish_picture(self, picture: _Bundle, display_id: str, *, update: bool) -> None:
        """Display a picture as a new output, or update the output with this name."""
        from IPython.display import publish_display_data

        from attnwidget.drawing.static_figure import kept_picture

        data, metadata = picture
        html = kept_picture(data[_HTML], self._figure)  # type: ignore[attr-defined]
        publish_display_data(
            {**data, _HTML: html}, metadata, transient={"display_id": display_id}, update=update
        )
        if not update:
            self._kept_pictures = (*self._kept_pictures, display_id)

    def _renew_kept_pictures(self) -> None:
        """Redraw this figure's pictures in notebooks, with all current measurements."""
        if self._kept_pictures and (picture := self._fallback(brief=False)) is not None:
            for display_id in self._kept_pictures:
                self._publish_picture(picture, display_id, update=True)

    def _fallback(self, *, brief: bool = True) -> _Bundle | None:
        """Return picture and table as a notebook output; None if the option is off.

        If the picture cannot be drawn, the output is the reason.
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
    # The converter appends a long stack trace to its error messages.
    first_line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__


def _warn_once(kind: str, reason: str) -> None:
    """Warn that a figure has no picture. The live figure is displayed anyway."""
    if (kind, reason) not in _warned:
        _warned.add((kind, reason))
        warn_caller(
            f"{kind} is shown without a picture for saved notebooks, which could not be drawn "
            f"({reason}). Set attnwidget.options.static_fallback = False to do without it.",
            RuntimeWarning,
        )
