"""Figures as one HTML file that needs no kernel, no server and no network. Knows none of them.

A page holds answers, and computes none. It has the traits of its figures, and no trait that is
tagged `live` or `page_chooses`. A figure whose page answers questions adds the answers
(`page_part`): a grid its drawn thumbnails, its metrics, and the maps with the row of each word.
`widgets/pages` writes these data into one HTML file of limited size, without knowledge of any
figure. The page chooses among the answers: by head, layer, stack, unit and locked word.

An option whose other values need a computation is fixed. The metadata of the computed traits tell
which options these are: the traits depend on them, and the page does not choose by them. The model
of the page refuses to change fixed options, and their controls are disabled with the reason as a
hint.

`Atlas.save` writes a page with an `AtlasView`, but `behaviors` is below the figures and imports
none of them. `attnwidget/__init__.py` is above all folders. It sets the figure of an atlas in
`behaviors/head_atlas/atlas_figure.py`, as a function that loads `AtlasView` when a page is saved.
The page has the cards of all heads, and a figure in a notebook has the card of the selected head.

The scripts of a page are in the page, and the policy lists the hash of each. A page imports no
module: the module of each figure stores its export in `globalThis.attnwFigures`.
"""
