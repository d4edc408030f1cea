"""An explorer in Panel: `panel serve` runs this file for each page."""

import panel as pn

from attnwidget import explore

pn.extension("ipywidgets")
pn.pane.IPyWidget(explore(), width=1150).servable()
