"""Figures as one HTML file that needs no kernel, no server and no network. Knows none of them.

The page of a figure has the figure's traits, and no trait that is tagged `live` or `page_computes`.
A figure whose page answers questions adds the data of the answers (`page_part`). `widgets/pages`
writes these data into one HTML file of limited size, without knowledge of any figure. The page
computes the few answers that it needs: it pools thumbnails, leaves out tokens, and links figures.
These computations exist in Python and in TypeScript. Test vectors in `tests/parity`, written by
Python and asserted on both sides, keep them equal.

`Atlas.save` writes a page with an `AtlasView`, but `behaviours` is below the figures and imports
none of them. `attnwidget/__init__.py` is above all folders. It sets the figure of an atlas in
`behaviours/head_atlas/atlas_figure.py`, as a function that loads `AtlasView` when a page is saved.
The page has the cards of all heads, and a figure in a notebook has the card of the selected head.

The scripts of a page are in the page, and the policy lists the hash of each. A page imports no
module: the module of each figure stores its export in `globalThis.attnwFigures`.
"""
