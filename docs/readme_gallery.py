"""Draw the pictures of the README's gallery: `python docs/readme_gallery.py`.

Writes docs/images/*.png. `docs/readme_picture.py` makes the picture of the explorer.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from attnwidget import (
    DependencyArcs,
    HeadGrid,
    HeadView,
    LinkView,
    PredictionView,
    RelationTable,
    join_figures,
    load_model,
)
from attnwidget.demo import demo_texts, demo_treebank
from attnwidget.words import probe_relations

IMAGES = Path(__file__).parent / "images"
TEXT = "The captain told his men that he would not leave the ship."
MASKED = "The woman washed [MASK] hands."
# Different sentences, as many as the embedded model reads.
LONG = " ".join(demo.text for demo in list(demo_texts().values()) * 3)
HEAD = (1, 3)
OFF = [(5, 3), (5, 8)]
COLORS = 256


def main() -> None:
    """Write all pictures but the explorer's."""
    model = load_model()
    attention = model.attend(TEXT)
    grid = HeadGrid(attention, selected=[HEAD])
    view = HeadView(attention, selected=[HEAD], hidden=["cls", "sep"], tokens=[("query", 7)])
    save("grid-and-lines", [grid, view])
    sentences = demo_treebank()
    relations = probe_relations(model, sentences, progress=False)
    table = RelationTable(relations, relation="det", min_count=100)
    arcs = DependencyArcs(model, sentences, relations, relation="det")
    save("relations-and-arcs", [table, arcs])
    masked = model.attend(MASKED)
    answers = PredictionView(masked, disabled=OFF)
    answers.wait()  # for the exact effect of every head
    save("head-off", [answers, HeadGrid(masked, disabled=OFF)])
    tuned = load_model("attnwidget/genre").attend(TEXT)
    compared = HeadView(attention, versus=tuned, selected=[(5, 8)], hidden=["cls", "sep"])
    save("two-models", [compared.figure(width=1000)])
    long = model.attend(LONG, long=True, truncate=True)
    link = LinkView(attention, *HEAD, query=7, key=2, hidden=["cls", "sep"])
    save("why-a-link", [link.figure(width=1000)])
    save("long-input", [HeadView(long, selected=[(4, 9)], window=(100, 260, 100, 260))])


def save(name: str, figures: list[object]) -> None:
    """Write a picture with several figures side by side, in few colors."""
    path = IMAGES / f"{name}.png"
    several = len(figures) > 1
    join_figures(figures, columns=2 if several else 1, labels=several).save(path)
    with Image.open(path) as picture:
        quantized = picture.convert("RGB").quantize(
            COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        quantized.save(path, optimize=True)


if __name__ == "__main__":
    main()
