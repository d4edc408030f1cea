"""One widget drawn on a page, and as a picture without one; and how far the two are apart."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page

from attnwidget.drawing.engine import ThemeName
from attnwidget.drawing.png import png
from attnwidget.drawing.svg import svg
from attnwidget.widgets.shared.head_widget import HeadWidget

# A picture has no scroll bars. On the page they keep their room, and everything its place.
UNSEEN_SCROLL_BARS = "* { scrollbar-color: transparent transparent !important }"

FONTS = Path(__file__).parents[2] / "js" / "node_modules" / "@fontsource" / "arimo" / "files"
STATIC = Path(__file__).parents[2] / "attnwidget" / "widgets" / "static"
GROUND = {"light": "#ffffff", "dark": "#111111"}
# The texts that canvases were told to write, with their boxes, since each was last cleared.
RECORD = """
for (const name of ["width", "height"]) {
  const own = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, name);
  Object.defineProperty(HTMLCanvasElement.prototype, name, {
    get() { return own.get.call(this); },
    set(value) { this.texts = []; own.set.call(this, value); },
  });
}
const { reset } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.reset = function () {
  this.canvas.texts = [];
  reset.call(this);
};
for (const name of ["fillText", "strokeText"]) {
  const own = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (text, x, y) {
    const { width, fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } =
      this.measureText(text);
    const left = { center: width / 2, right: width, end: width }[this.textAlign] ?? 0;
    const now = this.getTransform();
    const corners = [[x - left, y - up], [x - left + width, y - up], [x - left, y + down],
      [x - left + width, y + down]].map(([a, b]) => now.transformPoint({ x: a, y: b }));
    const [xs, ys] = [corners.map((p) => p.x), corners.map((p) => p.y)];
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    if (text.trim()) (this.canvas.texts ??= []).push([text, ...box]);
    return own.call(this, text, x, y);
  };
}
"""
START = """
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const revive = (value) => {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== "object" || value === null) return value;
  if ("$bytes" in value) return new DataView(bytes(value.$bytes).buffer);
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, revive(v)]));
};
const state = revive(JSON.parse(document.getElementById("state").textContent));
const model = {
  get: (name) => state[name],
  set() {}, save_changes() {}, on() {}, off() {}, send() {},
};
const code = new Blob([document.getElementById("code").textContent], { type: "text/javascript" });
const { default: widget } = await import(URL.createObjectURL(code));
const el = document.getElementById("el");
widget().render({ model, el, signal: new AbortController().signal });
"""
BOXES = """(root) => {
  const { left, top } = root.getBoundingClientRect();
  const found = [];
  for (const canvas of root.querySelectorAll("canvas")) {
    const at = canvas.getBoundingClientRect();
    const scale = canvas.width / at.width || 1;
    for (const [text, x0, y0, x1, y1] of canvas.texts ?? [])
      found.push([text, at.left - left + x0 / scale, at.top - top + y0 / scale,
        at.left - left + x1 / scale, at.top - top + y1 / scale]);
  }
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const hidden = (node) => node.closest(".attnw-unseen, [hidden], title, desc");
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.textContent.trim() || hidden(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      found.push([node.textContent.trim(), box.left - left, box.top - top, box.right - left,
        box.bottom - top]);
  }
  return found;
}"""
WRITTEN = """(svg) => {
  document.body.innerHTML = svg;
  const root = document.querySelector("svg");
  const at = root.getBoundingClientRect();
  return [...root.querySelectorAll("text")].map((text) => {
    const { left, top, right, bottom } = text.getBoundingClientRect();
    const box = [left - at.left, top - at.top, right - at.left, bottom - at.top];
    return [text.textContent.trim(), ...box];
  });
}"""
FONTS_LOADED = """() => Promise.all(["", "700 "].map((weight) =>
  document.fonts.load(`${weight}12px 'Liberation Sans'`)))"""
# What is drawn in the next frame is there in the one after it; a new width is noticed in a frame.
LOOK = """async ([width, theme, ground]) => {
  document.documentElement.style.colorScheme = theme;
  document.body.style.background = ground;
  Object.assign(document.getElementById("el").style, { width: `${width}px`, background: ground });
  for (let i = 0; i < 5; i++) await new Promise((done) => requestAnimationFrame(done));
}"""
Box = tuple[str, float, float, float, float]


@dataclass(frozen=True)
class Twice:
    """A figure on a page and in a picture: pixels [rows, columns, 3] and the boxes of its texts."""

    on_page: NDArray[np.uint8]
    in_picture: NDArray[np.uint8]
    page_texts: list[Box]
    picture_texts: list[Box]
    page_caption: str
    picture_caption: str

    def apart(self, *, by: int = 16) -> float:
        """The share of pixels outside text that differ by more than `by` of 255."""
        assert self.on_page.shape == self.in_picture.shape
        away = np.abs(self.on_page.astype(int) - self.in_picture.astype(int)).max(axis=-1)
        counts = np.ones(away.shape, bool)
        for _, x0, y0, x1, y1 in (*self.page_texts, *self.picture_texts):
            rows = slice(max(0, int(y0) - 2), max(0, int(y1) + 3))
            counts[rows, max(0, int(x0) - 2) : max(0, int(x1) + 3)] = False
        return float((away > by)[counts].mean()) if counts.any() else 0.0

    def texts_apart(self) -> list[str]:
        """The texts that only one has, or that both have more than two pixels from each other."""
        found = []
        left = list(self.page_texts)
        for text, *box in self.picture_texts:
            same = [other for other in left if other[0] == text]
            near = min(same, key=lambda other: _distance(box, other[1:]), default=None)
            if near is None or _distance(box, near[1:]) > 2:
                found.append(f"{text!r} at {_said(box)}, on the page at {near and _said(near[1:])}")
            if near is not None:
                left.remove(near)
        return found + [f"{text!r} on the page alone at {_said(box)}" for text, *box in left]


def _distance(a: Any, b: Any) -> float:
    """Of the middles and of the sides: line boxes are higher than letters."""
    sides = max(abs(a[0] - b[0]), abs(a[2] - b[2]))
    return max(sides, abs((a[1] + a[3]) / 2 - (b[1] + b[3]) / 2) - 2)


def _said(box: Any) -> str:
    return ", ".join(f"{side:.0f}" for side in box)


@dataclass(frozen=True)
class Desk:
    """Two pages side by side: one runs widgets, the other holds their pictures.

    Attributes:
        screen: the page that runs widgets.
        paper: the page that holds their pictures.
        whole: whether figures are compared at every width in every theme; otherwise each is
            compared at every width and in every theme, but not in every combination.
        turns: numbers of the figures, which decide about the combinations.
    """

    screen: Page
    paper: Page
    whole: bool
    turns: Iterator[int]

    def looks(self, widths: tuple[int, ...]) -> list[tuple[int, ThemeName]]:
        """The combinations of a width and a theme at which the next figure is compared."""
        themes: tuple[ThemeName, ThemeName] = ("light", "dark")
        if self.whole:
            return [(width, theme) for width in widths for theme in themes]
        turn = next(self.turns)
        return [(width, themes[(turn + i) % 2]) for i, width in enumerate(widths)]

    def lay(self) -> None:
        """Make the paper ready: its fonts are loaded once."""
        if not self.paper.evaluate("document.fonts.size"):
            self.paper.set_content(f"<style>{_fonts()}</style><body style='margin:0'></body>")
        self.paper.evaluate(FONTS_LOADED)


def drawn_twice(desk: Desk, widget: HeadWidget, *, width: int, theme: ThemeName) -> list[Twice]:
    """Each figure of the widget that is shown, on the screen at this width and in a picture."""
    page = desk.screen
    page.evaluate(LOOK, [width, theme, GROUND[theme]])
    picture = widget.figure(width=width, theme=theme)
    drawing = picture.drawn(density=1, dense=True)
    image = np.asarray(
        Image.open(io.BytesIO(png(drawing, pixels=round(drawing.width), scale=1))).convert("RGB")
    )
    parts = page.locator(".attnw-drawn:visible").all()
    assert len(parts) == len(drawing.figures), "each figure is drawn on both"
    caption = page.locator("[data-caption]").text_content() or ""
    shots = _shots(page, [part.bounding_box() for part in parts])
    boxes = [part.evaluate(BOXES) for part in parts]
    written = desk.paper.evaluate(WRITTEN, svg(drawing, density=1, named=False))
    found = []
    for (x, y, wide, high), shot, on_page in zip(drawing.figures, shots, boxes, strict=True):
        rows = min(round(high), shot.shape[0])
        columns = min(round(wide), shot.shape[1])
        left = round(x)
        top = round(y)
        inside = [
            (text, x0 - x, y0 - y, x1 - x, y1 - y)
            for text, x0, y0, x1, y1 in written
            if text
            and x - 1 <= (x0 + x1) / 2 <= x + columns + 1
            and y - 1 <= (y0 + y1) / 2 <= y + rows + 1
        ]
        found.append(
            Twice(
                shot[:rows, :columns],
                image[top : top + rows, left : left + columns],
                [tuple(box) for box in on_page if _inside(box, columns, rows)],
                inside,
                caption,
                drawing.caption.text(),
            )
        )
    return found


def assert_all_alike(
    desk: Desk, widget: HeadWidget, *, widths: tuple[int, ...] = (480, 1200), by: int = 16
) -> None:
    show(desk.screen, widget)
    for width, theme in desk.looks(widths):
        assert_alike(desk, widget, width, theme, by=by)
    widget.close()


def assert_alike(
    desk: Desk, widget: HeadWidget, width: int, theme: ThemeName, *, by: int = 16
) -> None:
    for twice in drawn_twice(desk, widget, width=width, theme=theme):
        where = f"{width} px, {theme}"
        assert twice.texts_apart() == [], where
        # Engines smooth the edges of lines that are thinner than a pixel in different ways.
        assert twice.apart(by=by) <= 0.015, where
        assert twice.page_caption == twice.picture_caption, where


def _inside(box: Any, columns: float, rows: float) -> bool:
    x = (box[1] + box[3]) / 2
    y = (box[2] + box[4]) / 2
    return bool(-1 <= x <= columns + 1 and -1 <= y <= rows + 1)


def _shots(page: Page, boxes: list[Any]) -> list[NDArray[np.uint8]]:
    """The pixels in each of the boxes, of one screenshot."""
    corners = [
        (left, top, left + round(box["width"]), top + round(box["height"]))
        for box in boxes
        for left, top in [(round(box["x"]), round(box["y"]))]
    ]
    x0, y0 = (min(corner[k] for corner in corners) for k in (0, 1))
    x1, y1 = (max(corner[k] for corner in corners) for k in (2, 3))
    clip = {"x": float(x0), "y": float(y0), "width": float(x1 - x0), "height": float(y1 - y0)}
    data = page.screenshot(
        clip=clip,  # type: ignore[arg-type]
        animations="disabled",
        style=UNSEEN_SCROLL_BARS,
    )
    whole = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    return [
        whole[top - y0 : bottom - y0, left - x0 : right - x0]
        for left, top, right, bottom in corners
    ]


def show(page: Page, widget: HeadWidget) -> None:
    """The widget alone on a page, from the state that its picture is drawn from."""
    kind = widget.kind
    code = (STATIC / f"{kind}.js").read_text("utf-8")
    css = (STATIC / f"{kind}.css").read_text("utf-8")
    drawn = widget._drawn_state()
    if kind == "head_grid":
        # The line under the stepped layer is the page's alone: below the last one there is none.
        drawn |= {"layer": 1000}
    state = json.dumps(_embedded(drawn)).replace("<", "\\u003c")
    page.goto("about:blank")
    page.evaluate(f"() => {{ {RECORD} }}")
    page.set_content(
        f"<style>{_fonts()}{css}:root {{ --jp-ui-font-family: 'Liberation Sans', Arial }}"
        " body { margin: 0 }</style><div id='el'></div>"
        "<script type='text/plain' id='code'></script>"
        f"<script type='text/plain' id='state'>{state}</script>"
    )
    page.evaluate("code => { document.getElementById('code').textContent = code; }", code)
    # A canvas measures with what is loaded; it does not wait for it.
    page.evaluate(FONTS_LOADED)
    page.evaluate(f"async () => {{ {START} }}")


@cache
def _fonts() -> str:
    """Arimo has the letters of Liberation Sans: pictures are set in one, pages in the other."""
    files = {weight: FONTS / f"arimo-latin-{weight}-normal.woff2" for weight in (400, 700)}
    data = {weight: base64.b64encode(file.read_bytes()).decode() for weight, file in files.items()}
    face = "@font-face { font-family: 'Liberation Sans'; font-weight: %d; %s }"
    return "".join(
        face % (weight, f"src: url(data:font/woff2;base64,{font})")
        # Arimo's files have no arrow: DejaVu's, made as wide as Liberation's.
        + face % (weight, "src: local('DejaVu Sans'); unicode-range: U+2192; size-adjust: 119.35%")
        for weight, font in data.items()
    )


def _embedded(value: Any) -> Any:
    if isinstance(value, (bytes, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, Mapping):
        return {str(name): _embedded(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_embedded(item) for item in value]
    return value
