"""Report on a model: the results of its studies in the order of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnwidget.hidden_frames import hides_frames
from attnwidget.paper_report.report_entry import ReportEntry
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.given_paths import refuse_no_parent
from attnwidget.text.near_names import among

if TYPE_CHECKING:
    import pandas as pd

#: File endings of a page.
_PAGES = (".html", ".htm")


@dataclass(frozen=True)
class PaperReport:
    """Figures of the papers for one model, with the papers' numbers. Made by `report`.

    `report[study]` is the result of a study, such as `report["classes"]`.

    Attributes:
        entries: Entries in the order of the page.
        model_name: Name of the model.
        lead: Model and texts in one or two sentences.

    Example:
        >>> from attnwidget import load_model, report
        >>> texts = ["The cat sat on the mat.", "It slept there all day."] * 4
        >>> found = report(load_model(), texts, treebank=(), documents=(), progress=False)
        >>> found["position"].heads()["next token"].shape
        (6, 12)
        >>> found.to_frame().columns.tolist()
        ['paper', 'figure', 'finding', 'in the paper']
    """

    entries: tuple[ReportEntry, ...]
    model_name: str
    lead: str

    # The class of the result depends on the study.
    def __getitem__(self, study: str) -> Any:
        by_study = {entry.study: entry for entry in self.entries}
        if study not in by_study:
            raise KeyError(f"the report has no study {study!r}: {among(study, by_study)}")
        result = by_study[study].result
        if result is None:
            raise KeyError(f"{study!r} was not measured: {by_study[study].reason}")
        return result

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry: paper, figure, finding, and what is in the paper.

        The finding of an entry without a result is the reason for its absence.
        """
        import pandas as pd

        columns = ["paper", "figure", "finding", "in the paper"]
        rows = [(entry.paper, entry.figure, entry.finding, entry.value) for entry in self.entries]
        frame = pd.DataFrame(rows, columns=columns)
        frame.attrs["model"] = self.model_name
        return frame

    @hides_frames
    def save(self, path: str | Path) -> Path:
        """Write the report as one HTML page without scripts, and return its path.

        The page has the figures in light and dark colors, and fetches nothing.

        Args:
            path: File that ends in .html. An existing file is replaced.

        Raises:
            ValueError: If the file has another ending.
            FileNotFoundError: If the folder does not exist.
            OSError: If the file cannot be written.
        """
        from attnwidget.paper_report.report_page import report_page

        path = Path(path)
        if path.suffix.lower() not in _PAGES:
            raise ValueError(
                f"a report must be an HTML file such as report.html, got {path.name!r}"
            )
        refuse_no_parent(path, "the report")
        title = f"What the heads of {self.model_name} look at"
        write_whole(path, report_page(title, self.lead, self.entries).encode("utf-8"))
        return path

    def _repr_html_(self) -> str:
        """Return the table of findings."""
        return str(self.to_frame().to_html(index=False, border=0, escape=True))

    def __repr__(self) -> str:
        measured = [entry.study for entry in self.entries if entry.result is not None]
        missing = [entry.study for entry in self.entries if entry.result is None]
        without = f"; without {', '.join(missing)}" if missing else ""
        return f"PaperReport({self.model_name}: {', '.join(measured)}{without})"
