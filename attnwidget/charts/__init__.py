"""Results as Altair charts, without models and widgets.

Every function of this folder that draws a figure returns an Altair chart that displays without
network; `chart.save("figure.svg")` writes it. A function that takes a `frame` raises a TypeError
for anything but a pandas DataFrame.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.charts import in_dark
    >>> chart = load_model().predict("The woman washed [MASK] hands.").chart()
    >>> in_dark(chart).to_dict()["config"]["background"]
    '#111111'
"""

from typing import TYPE_CHECKING

# This module loads Altair first, and explains if Altair cannot be loaded.
from attnwidget.charts.offline_chart import offline

# isort: split
from attnwidget.charts.head_heatmap import head_heatmap
from attnwidget.charts.pattern_sets import pattern_sets
from attnwidget.charts.theme import in_dark
from attnwidget.public_names import refuse_names

# Type checkers know all names, and would accept any name beside a function of this kind.
if not TYPE_CHECKING:
    __getattr__ = refuse_names(__name__)

__all__ = ["head_heatmap", "in_dark", "offline", "pattern_sets"]
