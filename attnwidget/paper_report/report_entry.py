"""One figure of a report, with the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attnwidget.capture.result import Result


@dataclass(frozen=True)
class ReportEntry:
    """Figure or table of a paper for the model of a report.

    Attributes:
        study: Name of the study, such as "classes".
        paper: Authors and year of the paper, or "" for a study without a paper.
        figure: Figure, table or section of the paper.
        value: What the paper reports for its own model.
        result: Result of the study; None if the model or the data do not allow it.
        data: Texts of the study, with their number.
        caveat: Most important limit of the comparison with the paper.
        reason: Reason why there is no result, with the next step; "" if there is one.
        chart_options: Options of the result's `chart` on the page, besides the width.

    Example:
        >>> from attnwidget import load_model, report
        >>> texts = ["The cat sat."]
        >>> found = report(load_model(), texts, treebank=(), documents=(), progress=False)
        >>> entry = found.entries[0]
        >>> entry.study, entry.paper, entry.figure
        ('classes', 'Clark et al. 2019', 'Figure 2')
        >>> {entry.study: entry.reason for entry in found.entries}["relations"]
        'relations need annotated sentences: pass treebank=load_treebank(path)'
    """

    study: str
    paper: str
    figure: str
    value: str
    result: Result | None
    data: str = ""
    caveat: str = ""
    reason: str = ""
    chart_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finding(self) -> str:
        """Main finding in one sentence, or the reason why there is none."""
        return self.reason if self.result is None else self.result.finding
