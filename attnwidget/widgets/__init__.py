"""Interactive figures: Python has the traits and computes values, the page (`js/`) draws them.

A grid receives a thumbnail of at most 64 x 64 bytes per head. Each byte is the square root of a
weight's share of the head's maximum, max-pooled. Together with the maximum, which is a float, a
byte gives the absolute weight, and its color is wrong by at most one of 256 steps. A view receives
the selected map as float32 bytes. For inputs above 1,024 tokens, the view receives an overview of
each map, and a tile of at most 256 x 256 cells for the visible part. Only one request runs at a
time, and the next request asks for the part that is visible when it starts. Until the answer
arrives, the page scales the data that it has.

A view is one figure for inputs of any length. `js/src/head_view/source/` defines the data source of
a map: a complete map answers at once, a tiled map has an overview, the latest tile and a row.
Layout, painters, lists, caption and picture read from this `MapSource`. In Python,
`widgets/head_view/map_cells.py` computes the cells between any tokens or words, for one attention,
for two attentions on common axes, or for their difference. `parted_map.py` computes the blocks,
rows and strongest links that the page shows. Panning and zooming are in `shared/window.ts` and
`head_view/gestures.ts`.

A `LinkView` splits a score difference at once, from the stored queries and keys. A background
thread runs the model for distances, outputs, words and writers. Every answer names its link, and
the page dims old answers until the answers about a new link arrive. The page has the weights at all
distances, so moving the slider needs no message.

Hovering sends no message, and a selection sends one message. If the pointer is on a head of a grid,
a page event (`shared/peek.ts`) sends the thumbnail's bytes to the linked figures. Figures that are
linked, directly or indirectly, have the same `_circle` name. An example that is opened in an
`AtlasView` goes to the figures of this circle (`widgets/shared/opened_example.py`): each model
reads the text once, and an explorer passes the attention to its panels.

An explorer consists of parts: its figures and their links (`FigureSet`), measurements on the text
(`TextMeasures`), treebank relations (`RelationPanels`), head names (`HeadNames`), heads and words
that the explorer selects itself (`OwnChoice`), and the texts next to the panels (`PanelStatus`).
The parts read and set traits of the base class `ExplorerFigure`, and no part imports `Explorer`.
Head names are computed in a separate thread, because this takes minutes.

In an explorer, the grid and the view show a new text at once. The predictions need another forward
pass, which would delay the page on a machine with few cores. While the tab "predictions" is closed,
the explorer unlinks the prediction figure. A background job then passes the new text to the
prediction figure and links it again.

If the page switches off a head of a large input, a thread reads the input again and prepares the
data that the figure draws. Until then, the figure shows the previous maps, and the page shows the
number of finished layers (`capture/maps/layer_steps.py`). The thread stops at the next layer if the
user makes another choice or closes the figure. A change from Python code waits for the maps.

Figures are canvases or SVG. Controls, lists, tables and texts are templates of the state
(lit-html): the `view` of a figure returns its template, `mount` renders the template at most once
per frame, and then the figure paints its canvases. Values enter a template as text nodes and
attributes, never as markup.

A figure declares each control once, as data (`shared/controls.ts`): its name, text, value and
position, and the effect of a change. The most important controls of a figure are in its bar, the
others in its menu "View" (`shared/figure_controls.ts`). When a figure opens, it asks the elements
around it for a host. An explorer is such a host. It lays out the shared controls of linked figures
once for all figures, and the controls of all menus (`explorer/view_menu.ts`). The figure lays out
its remaining controls. No style sheet hides a control.

After a change, the page asks whether the kernel has received the change. If the kernel finishes the
request without an answer, it does not know the figure. A busy kernel answers later.

A figure whose cell runs again is suspended (`widgets/shared/displayed_figures.py`): it leaves the
page, ipywidgets forgets it, and its computed traits are released. The figure still works in Python.
It returns to the page when its `model_id` is read, for example by a display.

Jupyter runs widget callbacks while a cell runs. Therefore a lock guards each model with its caches,
and another lock guards each figure. To change a figure from another thread, enter both blocks:
`with figure._lock, figure.together():`. Ctrl-C may interrupt Python between any two lines.
Therefore locks are written in C, and no context manager of this package holds a lock
(`text/thread_lock.py`). A flag is valid only while the function that raised it is running
(`text/thread_flag.py`). Figures do not override `__setattr__`, because Ctrl-C could then interrupt
every traitlets assignment.

Slow jobs compute in a thread of the widget (`widgets/shared/background.py`), and yield the
functions that open or change widgets. Jupyter runs these functions in the same thread. Shiny and
Panel can open a widget only in the session of its page, so the functions run in that session
(`widgets/shared/page_session.py`). `make test-hosts` runs `tests/hosts`, which has a Chromium app
for each of these hosts.

Python in a browser (JupyterLite) has no torch, no threads and no drawing engine. A figure of given
maps therefore imports only numpy, anywidget and ipywidgets (`tests/project/test_in_browser.py`).
The JupyterLite kernel loses None between Python and the page, so `widgets/wire/null_in_browser.py`
sends JavaScript's null instead. `docs/lite` builds the page: the Pyodide packages that its notebook
needs, and the wheel of this package without the models.

A `HeadView` with a second attention in `versus` has three panels side by side, on axes with the
tokens of both inputs (`text/alignment.py`). Figures that differ only in their data source share a
folder: `DependencyArcs` and `ProbeView` share a base class and the page's widget. Their arcs come
from an `Answerer`: the heads of a model, a dependency probe or a structural probe. An answerer has
a Python file, for predictions and the data of a saved page, and a TypeScript file, for captions,
tables and readouts.
"""
