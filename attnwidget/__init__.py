"""See and measure what every attention head of a Transformer looks at, live in the notebook."""

from __future__ import annotations

from attnwidget.behaviors.head_atlas.atlas_figure import set_figure as _set_figure_of_atlas
from attnwidget.public_names import attach_names as _attach_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _attach_names(__name__, __file__, "__version__")

# `behaviors.head_atlas` must not import a widget, so `Atlas.save` receives `AtlasView` here.
_set_figure_of_atlas(lambda atlas: __getattr__("AtlasView")(atlas))
