"""Base class of all results: a table and a figure, with the model name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from attnwidget.text.missing_names import MissingNames
from attnwidget.text.paper_table import as_latex, as_markdown

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(MissingNames, ABC):
    """Result with a table and a figure, as returned by every study, probe and prediction.

    Results with numbers per head are `HeadResult`s.

    Attributes:
        complete: Whether the work finished; False if it was interrupted.
        note: Remark that readers need to understand the numbers, or ""; also
            `to_frame().attrs["note"]`.
        cut: Remark about truncated inputs, with the number of tokens that were read; included in
            `note`, and shown by `repr` and the chart title. "" if all inputs were read in full.
        model_name: Name of the model, which is also `to_frame().attrs["model"]`.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.results import Result
        >>> entropy = measure_attention(load_model().attend("The cat sat."), ["entropy"])["entropy"]
        >>> isinstance(entropy, Result), entropy.to_frame().columns.tolist()
        (True, ['layer', 'head', 'metric', 'value'])
        >>> entropy.complete, entropy.model_name
        (True, 'small BERT (in the package)')
    """

    _other_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"figure": "chart()", "plot": "chart()", "show": "chart()"}
    )

    complete: bool = True
    note: str = ""
    model_name: str = ""
    cut: str = field(init=False, default="")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        attributes = vars(cls)
        if (to_frame := attributes.get("to_frame")) is not None:
            cls.to_frame = _with_names(to_frame)  # type: ignore[method-assign]
        if (chart := attributes.get("chart")) is not None:
            cls.chart = _with_cut_in_title(chart)  # type: ignore[method-assign]
        if (own_repr := attributes.get("__repr__")) is not None:
            cls.__repr__ = _with_cut(own_repr)  # type: ignore[method-assign]

    def add_cut(self, remark: str) -> None:
        """Add a remark about truncated inputs to a new result."""
        if remark in self.cut:
            return
        for name in ("cut", "note"):
            text = ", ".join(filter(None, [getattr(self, name), remark]))
            object.__setattr__(self, name, text)

    @property
    def finding(self) -> str:
        """Main finding in one sentence, computed from the numbers; "" for results without one.

        The sentence is a heading of `report`.
        """
        return ""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a table. `attrs["model"]` is the name of the model."""

    def to_latex(self, *, digits: int = 3) -> str:
        r"""Return the result's table in LaTeX, with rules of the booktabs package.

        This is `table()` for results with a paper table, otherwise `to_frame()`. `save_table`
        writes any table to a file.

        Args:
            digits: Number of significant digits for non-integers.

        Raises:
            ValueError: `digits` is below 1.

        Example:
            >>> from attnwidget import load_model
            >>> answers = load_model().predict("The woman washed [MASK] hands.", top=1)
            >>> print(answers.to_latex().splitlines()[2])
            question & position & answer & token & id & probability & log\_probability \\
        """
        return as_latex(self._paper_frame(), digits)

    def to_markdown(self, *, digits: int = 3) -> str:
        """Return the table of `to_latex` in Markdown.

        Args:
            digits: Number of significant digits for non-integers.

        Raises:
            ValueError: `digits` is below 1.

        Example:
            >>> from attnwidget import load_model
            >>> answers = load_model().predict("The woman washed [MASK] hands.", top=1)
            >>> print(answers.to_markdown().splitlines()[1])
            | ---: | ---: | --- | --- | ---: | ---: | ---: |
        """
        return as_markdown(self._paper_frame(), digits)

    def _paper_frame(self) -> pd.DataFrame:
        """Return the table that `to_latex` and `to_markdown` write."""
        return self.to_frame()

    @abstractmethod
    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the figure; needs no network.

        Args:
            width: Width of the whole figure, in pixels.
        """

    def __repr__(self) -> str:
        about = ", ".join(filter(None, [self.model_name, self.cut]))
        return f"{type(self).__name__}({about})"


def _with_names(to_frame: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """Add the model name and the note to the tables that a method returns."""

    @wraps(to_frame)
    def named(self: Result, *arguments: Any, **options: Any) -> pd.DataFrame:
        frame = to_frame(self, *arguments, **options)
        frame.attrs["model"] = self.model_name
        if self.note:
            frame.attrs["note"] = self.note
        return frame

    return named


def _with_cut_in_title(chart: Callable[..., Any]) -> Callable[..., Any]:
    """Add the remark about truncated inputs to the title of a chart."""

    @wraps(chart)
    def titled(self: Result, *arguments: Any, **options: Any) -> Any:
        if not self.cut:
            return chart(self, *arguments, **options)
        from attnwidget.charts.theme import added_to_titles

        with added_to_titles(self.cut):
            return chart(self, *arguments, **options)

    return titled


def _with_cut(shown: Callable[[Any], str]) -> Callable[[Any], str]:
    """Add the remark about truncated inputs to the `repr` of a result."""

    @wraps(shown)
    def said(self: Result) -> str:
        text = shown(self)
        if not self.cut or self.cut in text:
            return text
        return f"{text[:-1]}; {self.cut})" if text.endswith(")") else f"{text}; {self.cut}"

    return said
