"""Pictures of a figure for every layer, as panels of one file or as frames of an animation."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from PIL import Image

from attnwidget.drawing.engine import ThemeName
from attnwidget.drawing.join_figures import join_figures
from attnwidget.drawing.picture import Picture
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.given_paths import refuse_no_parent

ANIMATIONS = {".gif": "GIF", ".webp": "WEBP"}
PANELS = (".svg", ".pdf", ".png")
_SCALE = 2.0


def save_layers(
    figure: Any,
    path: str | Path,
    *,
    columns: int,
    width: float | None,
    theme: ThemeName,
    title: bool,
    seconds: float,
) -> Path:
    """Save a picture of the figure for each layer to one file. See `HeadWidget.save_layers`."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (*PANELS, *ANIMATIONS):
        allowed = ", ".join((*PANELS, *ANIMATIONS))
        raise ValueError(f"the suffix of a file of all layers must be {allowed}, got {path.name!r}")
    if isinstance(seconds, bool) or not 0 < seconds < float("inf"):
        raise ValueError(f"seconds must be a number above 0, got {seconds!r}")
    refuse_no_parent(path, "the figure")
    if suffix in PANELS:
        pictures = layer_pictures(figure, width=None, theme=theme)
        joined = join_figures(
            pictures, columns=columns, width=width, theme=theme, labels=False, title=title
        )
        return joined.save(path)
    pictures = layer_pictures(figure, width=width, theme=theme, title=title)
    frames = frames_of_equal_size(pictures)
    options: dict[str, Any] = {"lossless": True} if suffix == ".webp" else {}
    file = io.BytesIO()
    frames[0].save(
        file,
        ANIMATIONS[suffix],
        save_all=True,
        append_images=frames[1:],
        duration=round(1000 * seconds),
        loop=0,
        **options,
    )
    write_whole(path, file.getvalue())
    return path


def layer_pictures(
    figure: Any, *, width: float | None, theme: ThemeName, title: bool = True
) -> list[Picture]:
    """Return a picture of each layer, and leave the figure as it was.

    Args:
        figure: `HeadWidget`, whose module imports this one.
        width: Width of each picture in pixels; None = the figure's own width.
        theme: Theme of the pictures.
        title: Whether to draw the titles.
    """
    with figure._lock:
        layer = figure.layer
        selected = list(figure.selected)
        stack = figure.head.stack if figure.head else next(iter(figure.shapes()))
        try:
            pictures = []
            numbers = figure._layers(stack).numbers
            # Each assignment must be a change, because a change selects the head of the layer.
            figure.layer = numbers[-1]
            for number in numbers:
                figure.layer = number
                pictures.append(figure.figure(width=width, theme=theme, title=title))
        finally:
            figure.layer = layer
            figure.selected = selected
    return pictures


def frames_of_equal_size(pictures: list[Picture]) -> list[Image.Image]:
    """Return the pictures as images of equal size: smaller pictures get a margin below and right.

    Args:
        pictures: Pictures of the layers.
    """
    images = []
    for picture in pictures:
        with Image.open(io.BytesIO(picture.png(scale=_SCALE))) as file:
            images.append(file.convert("RGB"))
    width = max(image.width for image in images)
    height = max(image.height for image in images)
    frames = []
    for image in images:
        frame = Image.new("RGB", (width, height), image.getpixel((0, 0)))
        frame.paste(image)
        frames.append(frame)
    return frames
