"""Table files: LaTeX, Markdown, and CSV and TSV without spreadsheet formulas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.paper_table import as_latex, as_markdown

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Formats for papers and notes: the method of results, and the function for a DataFrame.
_TEXTS = {".tex": ("to_latex", as_latex), ".md": ("to_markdown", as_markdown)}
# Spreadsheets read a cell that begins with one of these characters as a formula, even if the cell
# is quoted. The last four are the fullwidth forms of East Asian keyboards.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


@hides_frames
def save_table(table: Any, path: str | Path, *, digits: int = 3) -> Path:
    r"""Save a table as .csv, .tsv, .tex or .md, and return the path of the file.

    LaTeX (.tex) and Markdown (.md) files contain the output of the results' `to_latex` and
    `to_markdown`, with `digits` significant digits. Files of the types .csv and .tsv are safe to
    open in a spreadsheet. Tokens such as "=", "-" and "@" would begin a formula, and a hostile text
    could run a command. Texts that begin with = + - @, a tab or a line break therefore get a
    leading apostrophe, which marks a text. Texts that begin with apostrophes followed by one of
    these characters get one more apostrophe. To restore such texts, remove their first apostrophe.
    Numbers remain numbers: -0.5 has no apostrophe.

    The file is UTF-8 and is written completely or not at all. The index of a table is saved if it
    has names or texts.

    Args:
        table: A DataFrame, or a result, an attention or predictions with `to_frame()`.
        path: File to write; its folder must exist.
        digits: Significant digits of numbers that are not integers, in .tex and .md files; .csv and
            .tsv files keep all digits.

    Raises:
        ValueError: The file name has another ending, or `digits` is below 1.
        TypeError: `table` is not a table and has no `to_frame()`.
        OSError: The file cannot be written; an earlier file remains.

    Example:
        >>> import tempfile
        >>> import pandas as pd
        >>> from attnwidget import save_table
        >>> table = pd.DataFrame({"token": ["cat", "=1+1"], "change": [-0.5, 2]})
        >>> save_table(table, tempfile.mkdtemp() + "/tokens.csv").read_bytes()
        b"token,change\r\ncat,-0.5\r\n'=1+1,2.0\r\n"
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in _TEXTS:
        text = _as_paper(table, suffix, digits)
    elif suffix in _SEPARATORS:
        # pandas quotes cells with "\r" or "\n" only if the rows end with both characters.
        frame = _without_formulas(_frame_of(table))
        text = frame.to_csv(sep=_SEPARATORS[suffix], index=False, lineterminator="\r\n")
    else:
        raise ValueError(f"a table is saved as .csv, .tsv, .tex or .md, not as {path.name!r}")
    write_whole(path, text.encode("utf-8", "backslashreplace"))
    return path


def _as_paper(table: Any, suffix: str, digits: int) -> str:
    """Return the text of a .tex or .md file."""
    import pandas as pd

    method, format_table = _TEXTS[suffix]
    if hasattr(table, method) and not isinstance(table, pd.DataFrame):
        text: str = getattr(table, method)(digits=digits)
        return text
    return format_table(_frame_of(table), digits)


def _frame_of(table: Any) -> pd.DataFrame:
    """Return a table, or the table of a result, as a DataFrame."""
    import pandas as pd

    if callable(getattr(table, "to_frame", None)):
        table = table.to_frame()
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"save_table takes a DataFrame or a result with to_frame(), got {type(table).__name__}"
        )
    return table


def _without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its index as columns, and with texts that a spreadsheet does not run."""
    import pandas as pd

    # An unnamed integer index, for example after sorting or selecting rows, has no meaning.
    is_named = any(name is not None for name in table.index.names)
    if is_named or not pd.api.types.is_integer_dtype(table.index.dtype):
        frame = table.reset_index(allow_duplicates=True)
    else:
        frame = table.copy()
    for position, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            frame.isetitem(
                position, [_as_text(cell) for cell in frame.iloc[:, position].astype(object)]
            )
    frame.columns = frame.columns.map(_heading)
    return frame


def _heading(name: Any) -> Any:
    return tuple(map(_as_text, name)) if isinstance(name, tuple) else _as_text(name)


def _as_text(cell: Any) -> Any:
    """Return a cell with an apostrophe in front if a spreadsheet would run its text."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
