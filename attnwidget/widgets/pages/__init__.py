"""Saved pages: figures in one HTML file that needs no kernel, no server and no network.

A saved page contains answers and computes none. It has the traits of its figures, except traits
that are tagged `live` or `page_chooses`. Each figure declares the data its page needs
(`page_part`): for example, a grid adds its thumbnails, its metrics and its maps. `widgets/pages`
writes that data into one HTML file of limited size, and imports no figure. The page chooses among
the answers by head, layer, stack, unit and locked token.

An option whose other values need a computation is fixed. The metadata of the computed traits
determine these options: the traits depend on them, and the page does not choose by them. The page's
model refuses to change fixed options, and their controls are disabled with the reason as a hint.

`Atlas.save` writes a page with an `AtlasView`, but `behaviors` is below the figures and imports
none of them. `attnwidget/__init__.py` is above all folders. It sets the figure of an atlas in
`behaviors/head_atlas/atlas_figure.py`, as a function that loads `AtlasView` when a page is saved.
The page has the cards of all heads, whereas a figure in a notebook has the card of the selected
head.

The scripts of a page are inside the page, and its content security policy lists their hashes. A
page imports no modules: the module of each figure stores its export in `globalThis.attnwFigures`.
"""
