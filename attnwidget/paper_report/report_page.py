"""HTML page of a report, which fetches nothing and runs no script."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from attnwidget.paper_report.report_entry import ReportEntry
from attnwidget.text.xml_text import xml_text

#: Width of a chart in pixels. The page scales it down to the width of its column.
_WIDTH = 640
_STYLE = """
:root { color-scheme: light dark;
  --ink: #1a1a1a; --muted: #5c5c5c; --line: #d4d4d4; --ground: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --muted: #a3a3a3; --line: #3a3a3a; --ground: #111; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1220px; padding: 24px 20px 48px; color: var(--ink);
  background: var(--ground); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 36px 0 0; padding-bottom: 6px; border-bottom: 1px solid var(--line); }
.lead, .figure, dt, .caveat { color: var(--muted); }
.lead { margin: 0; max-width: 75ch; }
.entries { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 540px), 1fr));
  gap: 28px 32px; margin-top: 20px; }
article { min-width: 0; break-inside: avoid; }
h3 { font-size: 17px; line-height: 1.3; margin: 2px 0 10px; }
.figure, .caveat { font-size: 13px; margin: 0; }
img { display: block; width: 100%; height: auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px 3px 0; text-align: left; border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 10px 0 4px;
  font-size: 14px; }
dd { margin: 0; }
.missing { color: var(--muted); margin: 0; }
.missing::first-letter { text-transform: uppercase; }
"""


def report_page(title: str, lead: str, entries: Sequence[ReportEntry]) -> str:
    """Return a report as HTML.

    Args:
        title: Heading of the page.
        lead: Model and texts, in one or two sentences.
        entries: Entries in the order of the page; those of one paper follow each other.
    """
    sections = "".join(
        f"<section><h2>{_escaped(paper or 'Names')}</h2>"
        f'<div class="entries">{"".join(map(_article, of_paper))}</div></section>'
        for paper, of_paper in groupby(entries, lambda entry: entry.paper)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data:; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_escaped(title)}</title><style>{_STYLE}</style></head>\n"
        f'<body><main><h1>{_escaped(title)}</h1><p class="lead">{_escaped(lead)}</p>'
        f"{sections}</main></body></html>\n"
    )


def _article(entry: ReportEntry) -> str:
    figure = f'<p class="figure">{_escaped(entry.figure)}</p>' if entry.figure else ""
    if entry.result is None:
        return f'<article>{figure}<p class="missing">{_escaped(entry.reason)}.</p></article>\n'
    rows = [("texts", entry.data), ("in the paper", entry.value), ("note", entry.result.note)]
    about = "".join(f"<dt>{name}</dt><dd>{_escaped(text)}</dd>" for name, text in rows if text)
    caveat = f'<p class="caveat">{_escaped(entry.caveat)}</p>' if entry.caveat else ""
    return (
        f"<article>{figure}<h3>{_escaped(entry.finding)}</h3>{_figure(entry)}{_table(entry)}"
        f"<dl>{about}</dl>{caveat}</article>\n"
    )


def _figure(entry: ReportEntry) -> str:
    """Return the chart as two pictures, of which the browser shows the one for its theme."""
    from attnwidget.charts.theme import in_dark

    assert entry.result is not None
    chart: Any = entry.result.chart(width=_WIDTH, **entry.chart_options)
    light, dark = _picture(chart), _picture(in_dark(chart))
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{_escaped(_description(chart, entry))}"></picture>'
    )


def _description(chart: Any, entry: ReportEntry) -> str:
    described = chart.to_dict().get("description")
    return described if isinstance(described, str) else f"Chart: {entry.finding}"


def _picture(chart: Any) -> str:
    from attnwidget.charts.offline_chart import offline

    # Browsers draw the texts of an SVG picture in fonts of other widths, and would cut titles. This
    # is the small PNG that notebooks store.
    data, _ = offline(chart)._repr_mimebundle_()
    return f"data:image/png;base64,{data['image/png']}"


def _table(entry: ReportEntry) -> str:
    """Return the table in the form of the paper, for results that have one."""
    import pandas as pd

    paper_table = getattr(entry.result, "paper_table", None)
    table = paper_table or getattr(entry.result, "table", None)
    if not callable(table):
        return ""
    frame = table()
    is_numbered = frame.index.equals(pd.RangeIndex(len(frame)))
    if all(kind.kind == "f" for kind in frame.dtypes):
        frame = (100 * frame).round(1).rename_axis(None)
    rows = frame.to_html(border=0, index=not is_numbered, na_rep="–", escape=True)
    return f'<div class="table">{xml_text(rows)}</div>'


def _escaped(text: str) -> str:
    return html.escape(xml_text(text))
