"""An explorer in Shiny: each session makes its own."""

from typing import Any

from shiny import App, ui
from shinywidgets import output_widget, render_widget

from attnwidget import Explorer, explore


def server(inputs: Any, outputs: Any, session: Any) -> None:
    @render_widget
    def explorer() -> Explorer:
        return explore()


# By default an output of a widget is 400 pixels high.
page = ui.page_fluid(output_widget("explorer", height="auto", fill=False, fillable=False))
app = App(page, server)
