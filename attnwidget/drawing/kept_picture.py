"""A picture beside its live figure, shown where the live figure is not."""

from __future__ import annotations

_OUTPUT = ".jp-OutputArea-child"


def kept_picture(html: str, figure: str) -> str:
    """The HTML of a figure for the output after its live view, of which one is seen at a time.

    A style sheet decides, not a script, so that the rule also holds for copies and late outputs.
    If the style sheet is removed, as in an untrusted notebook, no live view runs.

    Args:
        html: picture and table.
        figure: what the live figure is named by, as `data-figure` on the page.

    Example:
        >>> from attnwidget.drawing.kept_picture import kept_picture
        >>> '<div data-kept="f1"><p>L0 H1</p></div>' in kept_picture("<p>L0 H1</p>", "f1")
        True
    """
    kept = f'[data-kept="{figure}"]'
    live = f':root:has([data-figure="{figure}"])'
    # An output of JupyterLab, Notebook 7 and nbconvert, and one of VS Code.
    selector = f"{_OUTPUT}:has(> * > {kept})"
    in_code = f".output_container:has(> * > * > {kept})"
    # Of a view without its model JupyterLab shows a line of text; other errors are elements.
    lost = f"{_OUTPUT}:has(+ {_OUTPUT} > * > {kept}):not(:has(> .jp-OutputArea-output > *))"
    hidden = ", ".join([f"{live} {kept}", f"{live} {selector}", f"{live} {in_code}", lost])
    return f'<style>{hidden} {{ display: none }}</style><div data-kept="{figure}">{html}</div>'
