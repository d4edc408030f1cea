"""Whether a cell has outputs of its own."""

from __future__ import annotations


def in_notebook() -> bool:
    """Return whether IPython shows outputs, of which a cell may have several.

    Example:
        >>> from attnwidget.corpus.notebook_outputs import in_notebook
        >>> in_notebook()
        False
    """
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell is not None and type(shell.display_pub) is not DisplayPublisher
