"""Live figures: traits, and the values computed from them. The page (`js/`) draws.

A grid gets thumbnails of at most 64 x 64 bytes per head. Each byte is the square root of a weight's
share of the head's maximum, max-pooled. With the maximum as a float, a byte gives the absolute
weight, and its color is at most one of 256 steps off. A view gets the selected map as float32
bytes. For inputs above 1,024 tokens the view gets an overview of each drawn map, and a tile of at
most 256 x 256 cells for the visible part. One request runs at a time, and the next request is for
the part that is visible then. Meanwhile the page draws the available data at another size.

A view of any length is one figure. `js/src/head_view/source/` answers where values come from: a
whole map answers at once, a tiled map has an overview, the latest tile and a row. Layout, painters,
lists, caption and picture ask this `MapSource`. In Python `widgets/head_view/map_cells.py` computes
the cells of a map between any tokens or words, of one attention, of two on common axes, or of their
difference; `parted_map.py` makes blocks, rows and strongest links of the shown ones. What moves and
zooms a matrix is in `shared/window.ts` and `head_view/gestures.ts`.

A `LinkView` computes the parts of a difference of scores at once, from the kept queries and keys. A
background thread asks the model about distances, outputs, words and writers. Every answer names its
link, and the page dims the answers until the answers about a new link arrive. The page has the
weights at all distances, so a movement of the slider needs no message.

Hovering sends no message, and a selection takes one message. If the pointer is on a head of a grid,
an event of the page (`shared/peek.ts`) sends the thumbnail's bytes to the linked figures. `_circle`
names the figures that are linked, directly or indirectly. An example that is opened in an
`AtlasView` goes to the figures of this circle (`widgets/shared/opened_example.py`): each model
reads the text once, and an explorer gives the attention to its panels.

An explorer has parts: its figures and their links (`FigureSet`), measurements of the text
(`TextMeasures`), relations of a treebank (`RelationPanels`), names of heads (`HeadNames`), heads
and words that it chooses itself (`OwnChoice`), and the texts of the page beside the panels
(`PanelStatus`). The parts read and set the traits of the class below, `ExplorerFigure`, and no part
imports `Explorer`. Names of heads are found in a thread of their own, because this takes minutes.

In an explorer, the grid and the view show a new text at once. The predictions take another pass of
the model, which would delay the page on a machine of few cores. While the tab "predictions" is
closed, the explorer unlinks the figure of predictions. A background job then gives the new text to
the figure and links it again.

If the page switches a head of a large input off, a thread of the figure reads the input again and
prepares what the figure draws. The page says how many layers are done
(`capture/maps/layer_steps.py`), and the figure shows the maps of before. Another choice, or closing
the figure, ends the thread's work at the next layer. A change in Python waits for the maps.

Figures are canvases or SVG. Controls, lists, tables and texts are templates of the state
(lit-html): the `view` of a figure returns its template, `mount` renders the template at most once
per frame, and then the figure paints its canvases. Values enter a template as text nodes and
attributes, never as markup.

A figure declares each control once, as data (`shared/controls.ts`): name, text, value, place, and
what a change does. Controls that answer the first question about a figure stand in its bar, the
others in its menu "View" (`shared/figure_controls.ts`). When a figure opens, it asks the elements
around it for a host. An explorer answers and lays out the controls that linked figures share, once
for all figures, and the controls of all menus (`explorer/view_menu.ts`). The figure keeps the rest.
No style sheet hides a control.

After a change, the page asks whether the kernel received it. If the kernel finishes the request
without an answer, it does not know the figure. A busy kernel answers later.

A figure whose cell runs again is suspended (`widgets/shared/displayed_figures.py`): it leaves the
page, ipywidgets forgets it, and its computed traits are released. In Python it works as before, and
it returns to the page when something asks for its `model_id`, as a display does.

Jupyter runs callbacks of widgets while a cell runs. A lock therefore guards each model with its
caches, and a lock guards each figure. To change a figure from another thread, enter both blocks:
`with figure._lock, figure.together():`. Ctrl-C may come between any two lines. Locks are therefore
written in C, and no context manager of this package holds one (`text/thread_lock.py`). A flag
counts only while the function that raised the flag runs (`text/thread_flag.py`). A figure overrides
no `__setattr__`, because every assignment of traitlets would then have lines for Ctrl-C.

Slow jobs compute in a thread of the widget (`widgets/shared/background.py`), and yield the
functions that open or change widgets. Jupyter runs these functions in the thread. Shiny and Panel
open a widget only in the session of its page, so the functions run in this session
(`widgets/shared/page_session.py`). `make test-hosts` runs `tests/hosts`: an app for each of these
hosts, in Chromium.

Python in a browser (JupyterLite) has no torch, no threads and no drawing engine, so a figure of
given maps imports numpy, anywidget and ipywidgets only (`tests/project/test_in_browser.py`). The
kernel there loses None between Python and the page, and `widgets/wire/null_in_browser.py` sends
JavaScript's null in its place. `docs/lite` builds the page: a part of Pyodide with just the
packages of its notebook, and the wheel of this package without its models.

A `HeadView` whose `versus` is a second attention has three panels side by side, on axes with the
tokens of both inputs (`text/alignment.py`). Figures that differ only in their data source share a
folder: `DependencyArcs` and `ProbeView` share a base class and the page's widget.
Their arcs come from an `Answerer`: the heads of a model, a dependency probe or a structural probe.
An answerer has a file in Python, for predictions and for the data of a saved page, and a file in
TypeScript, for captions, tables and readouts.
"""
