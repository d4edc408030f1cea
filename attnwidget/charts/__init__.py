"""Results as Altair charts, without models and widgets.

Every drawing function of this folder returns an Altair chart that can be displayed without a
network; `chart.save("figure.svg")` saves it. A function with a `frame` argument raises a TypeError
if the frame is not a pandas DataFrame.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.charts import in_dark
    >>> chart = load_model().predict("The woman washed [MASK] hands.").chart()
    >>> in_dark(chart).to_dict()["config"]["background"]
    '#111111'
"""

from typing import TYPE_CHECKING

# Import this module first: it loads Altair and explains why if Altair cannot be loaded.
from attnwidget.charts.offline_chart import offline

# isort: split
from attnwidget.charts.head_heatmap import head_heatmap
from attnwidget.charts.pattern_sets import pattern_sets
from attnwidget.charts.theme import in_dark
from attnwidget.public_names import refuse_names

# Type checkers know all public names. With a module-level __getattr__ they would accept any name.
if not TYPE_CHECKING:
    __getattr__ = refuse_names(__name__)

__all__ = ["head_heatmap", "in_dark", "offline", "pattern_sets"]
