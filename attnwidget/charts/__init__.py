"""Results as Altair charts, without models and widgets."""

from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import in_dark

__all__ = ["in_dark", "offline"]
