"""Figures as one HTML file that needs no kernel, no server and no network."""

from attnwidget.widgets.pages.save import save_page
from attnwidget.widgets.pages.write import write_page

__all__ = ["save_page", "write_page"]
