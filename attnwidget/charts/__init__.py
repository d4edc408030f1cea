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

from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import in_dark

__all__ = ["in_dark", "offline"]
