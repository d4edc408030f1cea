"""What the surface studies find, and their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.layers import layer_curves
from attnwidget.studies.results import HeadMetrics, Result, heads_frame

if TYPE_CHECKING:
    import altair as alt

PerHead = NDArray[np.float64]

# Series that one figure can tell apart by colour.
_CURVES = 6
_OFFSETS = {-1: "previous token", 0: "current token", 1: "next token"}


@dataclass(frozen=True, eq=False, repr=False)
class SurfaceResult(Result):
    """What all results of surface studies have.

    Attributes:
        model_name: what was measured.
        n_documents: segments that the numbers are means over.
    """

    model_name: str
    n_documents: int

    def _curves(
        self,
        heads: HeadMetrics,
        title: str,
        value_title: str = "mean attention",
        reference: Mapping[str, float] | None = None,
    ) -> alt.LayerChart:
        return layer_curves(
            heads_frame(heads).rename(columns={"metric": "series"}),
            title=f"{title}: {self.model_name}, {self.n_documents} segments",
            value_title=value_title,
            reference=reference,
        )


@dataclass(frozen=True, eq=False, repr=False)
class PositionResult(SurfaceResult):
    """Attention by relative position.

    Attributes:
        offsets: K places after the query, as they were asked for.
        mass: [K, L, H], mean attention to the token at each offset.
        signed_distance: [L, H], mean of key minus query, in tokens; negative = looking back.
        distance: [L, H], mean of |key minus query|, in tokens.
    """

    offsets: tuple[int, ...]
    mass: NDArray[np.float64]
    signed_distance: PerHead
    distance: PerHead

    def heads(self) -> HeadMetrics:
        titles = [_OFFSETS.get(offset, f"offset {offset:+d}") for offset in self.offsets]
        return dict(zip(titles, self.mass, strict=True)) | {
            "mean distance": self.distance,
            "mean signed distance": self.signed_distance,
        }

    def chart(self) -> alt.TopLevelMixin:
        """Mean attention to each offset over the layers (Clark et al. 2019, section 3.1).

        Of more offsets than a figure can tell apart the nearest ones are drawn, and it says so.
        """
        by_offset = dict(zip(self.offsets, self.heads().items(), strict=False))
        near = sorted(sorted(self.offsets, key=abs)[:_CURVES])
        left_out = len(self.offsets) - len(near)
        title = "Attention by relative position"
        title += f" ({left_out} farther offsets left out)" if left_out else ""
        return self._curves(dict(by_offset[offset] for offset in near), title)


@dataclass(frozen=True, eq=False, repr=False)
class ClassesResult(SurfaceResult):
    """Attention to classes of tokens.

    Attributes:
        names: C classes.
        mass: [C, L, H], mean attention to all tokens of a class together.
        sep_to_sep: [L, H], mean attention from a [SEP] to all [SEP]; NaN where there are none.
        other_to_sep: [L, H], the same from all other tokens.
        with_class: by class, the documents that have a token of it.
    """

    names: tuple[str, ...]
    mass: NDArray[np.float64]
    sep_to_sep: PerHead
    other_to_sep: PerHead
    with_class: Mapping[str, int]

    def heads(self) -> HeadMetrics:
        """As for all results; classes of which no document has a token are left out."""
        heads = {
            f"to {name}": mass
            for name, mass in zip(self.names, self.mass, strict=True)
            if self.with_class[name]
        }
        if self.with_class["[SEP]"]:
            heads |= {"[SEP] to [SEP]": self.sep_to_sep, "other to [SEP]": self.other_to_sep}
        return heads

    def chart(self, names: Sequence[str] | None = None) -> alt.TopLevelMixin:
        """Mean attention to each class over the layers (Clark et al. 2019, Figure 2, top).

        `names` are the classes to draw; all that documents have by default.
        """
        heads = self.heads()
        if names is None:
            names = [name for name in self.names if self.with_class[name]]
            if "[CLS]" in names and np.array_equal(heads["to [CLS]"], heads["to first token"]):
                names.remove("first token")
        shown = {f"to {name}": heads[f"to {name}"] for name in names}
        return self._curves(shown, "Attention to classes of tokens")

    def sep_chart(self) -> alt.TopLevelMixin:
        """Attention to [SEP] from [SEP] and from others (Clark et al. 2019, Figure 2, bottom).

        Raises:
            ValueError: no document has a [SEP].
        """
        heads = {title: v for title, v in self.heads().items() if title.endswith(" to [SEP]")}
        if not heads:
            raise ValueError("no document has a [SEP], so that nothing attends to one")
        return self._curves(heads, "Attention to [SEP]")


@dataclass(frozen=True, eq=False, repr=False)
class EntropyResult(SurfaceResult):
    """Entropy of attention, in nats.

    Attributes:
        entropy: [L, H], over all queries.
        entropy_from_first: [L, H], of the first query alone.
        uniform: entropy of attention to all tokens alike.
        first: what the first token is: "[CLS]", or "first token".
    """

    entropy: PerHead
    entropy_from_first: PerHead
    uniform: float
    first: str

    def heads(self) -> HeadMetrics:
        return {"entropy": self.entropy, f"entropy from {self.first}": self.entropy_from_first}

    def chart(self) -> alt.TopLevelMixin:
        """Entropy over the layers beside the uniform one (Clark et al. 2019, Figure 4)."""
        series = {"all tokens": self.entropy, f"from {self.first}": self.entropy_from_first}
        return self._curves(
            series, "Entropy of attention", "entropy (nats)", {"uniform": self.uniform}
        )


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceResult(SurfaceResult):
    """Mean largest weight.

    Attributes:
        confidence: [L, H].
        excluded: token classes that did not count as keys.
    """

    confidence: PerHead
    excluded: tuple[str, ...]

    def heads(self) -> HeadMetrics:
        return {"confidence": self.confidence}

    def chart(self) -> alt.TopLevelMixin:
        """Confidence over the layers (Voita et al. 2019, section 5.1)."""
        without = f" without {', '.join(self.excluded)}" if self.excluded else ""
        return self._curves(self.heads(), f"Confidence{without}", "mean largest weight")
