"""Result of `probe_alignment`: alignment error rates, and the maps of single pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.argument_checks import all_of, one_of
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.alignment_errors import word_values
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.aligned_pairs import AlignedPair
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent
from attnwidget.words.pair_attention import CROSS, PairAttention, Quantity, Row

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

ROWS: tuple[Row, ...] = ("written", "read")
_ROW_TITLES = {
    "written": "AER, row that writes the word",
    "read": "AER, row that reads the word",
}
_CHOSEN_HERE = "the best head is chosen and scored on the same pairs"


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentErrors(HeadResult):
    """Alignment error rates of the layers and heads of cross-attention. Made by `probe_alignment`.

    Q quantities, 2 rows, L layers, H heads.

    Attributes:
        quantities: "weights", "norms", or both.
        rows: "written" and "read".
        errors: Error rate of each layer, 0 to 1, with the low and high end of its 95 % interval
            (bootstrap over pairs, NaN with fewer than six), float64 [3, Q, 2, L].
        head_errors: The same for each head, float64 [3, Q, 2, L, H].
        diagonal: The same for the diagonal, float64 [3].
        n_pairs: Number of pairs.
        n_links: Number of sure links.
        model: Model for `maps`; None if it is not attached.

    Example:
        >>> import numpy as np
        >>> from attnwidget.results import AlignmentErrors
        >>> heads = np.array([[[[[0.9, 0.8]], [[0.2, 0.4]]]]] * 3)
        >>> found = AlignmentErrors(quantities=("weights",), rows=("written", "read"),
        ...     errors=heads.mean(-1), head_errors=heads, diagonal=np.full(3, 0.7), n_pairs=9,
        ...     n_links=40, model_name="BART")
        >>> found.finding
        'By weights, L0 aligns words best, from the row that reads the word: AER 30 % ...'
    """

    quantities: tuple[Quantity, ...]
    rows: tuple[Row, ...]
    errors: Float64Array
    head_errors: Float64Array
    diagonal: Float64Array
    n_pairs: int
    n_links: int
    model: AttentionModel | None = None

    def best(self, quantity: Quantity | None = None) -> tuple[Row, int]:
        """Return the row and the layer with the smallest error rate.

        Args:
            quantity: Quantity of the error rates; None = the first of `quantities`.

        Raises:
            ValueError: If the quantity was not measured.
        """
        errors = self.errors[0, self._index(quantity)]
        row, layer = np.unravel_index(int(np.nanargmin(errors)), errors.shape)
        return self.rows[int(row)], int(layer)

    def best_head(self, quantity: Quantity | None = None, row: Row | None = None) -> Head:
        """Return the head with the smallest error rate; the first one if tied.

        Args:
            quantity: Quantity of the error rates; None = the first of `quantities`.
            row: Row of the error rates; None = both rows.

        Raises:
            ValueError: If the quantity was not measured, or there is no such row.
        """
        errors = self.head_errors[0, self._index(quantity)]
        if row is not None:
            one_of("row", row, self.rows)
            errors = errors[[self.rows.index(row)]]
        _, layer, head = np.unravel_index(int(np.nanargmin(errors)), errors.shape)
        return Head(int(layer), int(head), CROSS)

    @property
    def finding(self) -> str:
        """Layer and row with the smallest error rate, for each quantity."""
        parts = []
        for quantity in self.quantities:
            row, layer = self.best(quantity)
            error = self.errors[0, self._index(quantity), self.rows.index(row), layer]
            verb = "reads" if row == "read" else "writes"
            parts.append((f"L{layer}", f"the row that {verb} the word", quantity, percent(error)))
        diagonal = f"(diagonal {percent(self.diagonal[0])})"
        layer_name, row_name, _, error_text = parts[0]
        if len(parts) == 2 and parts[0][:2] == parts[1][:2]:
            rates = f"AER {error_text} by weights and {parts[1][3]} by norms"
            return f"{layer_name} aligns words best, from {row_name}: {rates} {diagonal}"
        sentences = [
            f"{'By' if not number else 'by'} {part[2]}, {part[0]} aligns words best, from "
            f"{part[1]}: AER {part[3]}"
            for number, part in enumerate(parts)
        ]
        return f"{'; '.join(sentences)} {diagonal}"

    def table(self) -> pd.DataFrame:
        """Return the error rates as in the paper (Kobayashi et al. 2020, Table 1).

        Returns:
            Rows: the mean over layers, each layer, the best layer, the best head and the diagonal.
            Columns: each row ("written", "read") by each quantity, shares from 0 to 1. `attrs
            ["note"]` says on which pairs layers and heads were chosen.
        """
        import pandas as pd

        columns = {}
        n_layers = self.errors.shape[-1]
        names = [*(f"L{layer}" for layer in range(n_layers)), "mean of layers", "best layer"]
        for r, row in enumerate(self.rows):
            for q, quantity in enumerate(self.quantities):
                errors = self.errors[0, q, r]
                columns[f"{row}, {quantity}"] = [
                    *errors,
                    np.nanmean(errors),
                    np.nanmin(errors),
                    np.nanmin(self.head_errors[0, q, r]),
                    self.diagonal[0],
                ]
        table = pd.DataFrame(columns, index=[*names, "best head", "diagonal"])
        table.attrs["note"] = _CHOSEN_HERE
        return table

    def _paper_frame(self) -> pd.DataFrame:
        return self.table()

    def heads(self) -> HeadMetrics:
        """Return the error rate of every head by quantity and row: float64 [L, H] by title."""
        return {
            f"alignment error, {row}, {quantity}": self.head_errors[0, q, r]
            for q, quantity in enumerate(self.quantities)
            for r, row in enumerate(self.rows)
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per quantity, row, layer and head: quantity, row, layer, head, AER.

        Columns: quantity, row, layer, head, aer, low, high. The head is missing for the layer
        itself.
        """
        import pandas as pd

        joined = np.concatenate([self.errors[..., None], self.head_errors], axis=-1)
        q, r, layer, head = (index.ravel() for index in np.indices(joined.shape[1:]))
        frame = pd.DataFrame(
            {
                "quantity": np.array(self.quantities, dtype=object)[q],
                "row": np.array(self.rows, dtype=object)[r],
                "layer": layer,
                "head": pd.array(head - 1, dtype="Int64"),
            }
        )
        frame.loc[frame["head"] < 0, "head"] = pd.NA
        for name, values in zip(("aer", "low", "high"), joined, strict=True):
            frame[name] = values.ravel()
        return frame

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the error rate of the layers for both rows, with the diagonal; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.score_panels import score_panels

        frame = self.to_frame()
        frame = frame[frame["head"].isna()].drop(columns="head")
        frame = frame.rename(columns={"quantity": "series", "aer": "value"})
        frame["measure"] = frame["row"].map(_ROW_TITLES)
        inputs = f"{counted(self.n_pairs, 'pair')}, {counted(self.n_links, 'sure link')}"
        return score_panels(
            frame,
            title=f"{self.finding}\n{self.model_name}, {inputs}\n"
            "AER: alignment error rate, lower is better; 95\xa0% intervals over pairs",
            reference={
                title: {"diagonal": float(self.diagonal[0])} for title in _ROW_TITLES.values()
            },
            width=width,
        )

    @in_plain_torch
    def maps(
        self, pair: AlignedPair, *, layer: int | None = None, row: Row | None = None
    ) -> PairMaps:
        """Return the maps of one pair in a layer, by each quantity, beside the gold links.

        Args:
            pair: Sentence pair.
            layer: Layer of the cross-attention; None = the layer with the smallest error rate.
            row: "written" or "read"; None = the row with the smallest error rate.

        Raises:
            ValueError: If the layer or the row does not exist, or the model is missing.
            TypeError: If `pair` is not an `AlignedPair`.
        """
        all_of(AlignedPair, [pair], "make one with AlignedPair.from_text(source, target, links)")
        best_row, best_layer = self.best()
        layer = best_layer if layer is None else layer
        row = best_row if row is None else row
        one_of("layer", layer, range(self.errors.shape[-1]))
        one_of("row", row, self.rows)
        if self.model is None:
            raise ValueError(f"the model {self.model_name!r} is not at hand to read the pair")
        attention = PairAttention(self.model, pair)
        keys = attention.attention.stacks[CROSS].key
        special = [text for text, word in zip(keys.text, keys.words, strict=True) if word is None]
        return PairMaps(
            pair=pair,
            quantities=self.quantities,
            maps=np.stack(
                [
                    word_values(
                        attention.maps(quantity)[layer, 0],
                        attention.query_words(row),
                        attention.key_words,
                    )
                    for quantity in self.quantities
                ]
            ),
            special=tuple(special),
            layer=layer,
            row=row,
            model_name=self.model_name,
        )

    def _index(self, quantity: Quantity | None) -> int:
        if quantity is None:
            return 0
        one_of("quantity", quantity, self.quantities)
        return self.quantities.index(quantity)

    def __repr__(self) -> str:
        return f"AlignmentErrors({self.model_name}, {self.finding})"


@dataclass(frozen=True, eq=False, repr=False)
class PairMaps(Result):
    """Maps between the words of one sentence pair. Made by `AlignmentErrors.maps`.

    Attributes:
        pair: Sentence pair with its links.
        quantities: "weights", "norms", or both.
        maps: Values between the n target words and the m source words, then the s special tokens of
            the source, float64 [Q, n, m + s].
        special: Text of the special tokens.
        layer: Layer of the cross-attention.
        row: "written" or "read".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_alignments
        >>> from attnwidget.words import probe_alignment
        >>> pairs = demo_alignments(2)
        >>> found = probe_alignment(load_model("attnwidget/translation"), pairs, progress=False)
        >>> maps = found.maps(pairs[0])
        >>> maps.maps.shape[:2] == (2, len(pairs[0].target))
        True
    """

    pair: AlignedPair
    quantities: tuple[Quantity, ...]
    maps: Float64Array
    special: tuple[str, ...]
    layer: int
    row: Row

    @property
    def finding(self) -> str:
        """Number of target words whose largest value is on a gold link, for each quantity."""
        links = {*self.pair.sure, *self.pair.possible}
        linked = {target for _, target in links}
        parts = []
        for quantity, values in zip(self.quantities, self.maps, strict=True):
            best = values.argmax(-1)
            right = sum((int(best[target]), target) in links for target in linked)
            parts.append(f"{right} of {len(linked)} by {quantity}")
        return f"Linked words with the largest value on a gold link: {', '.join(parts)}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per quantity, target word and source word or special token.

        Columns: quantity, target, source, value, gold ("sure", "possible" or "").
        """
        import pandas as pd

        names = [*self.pair.source, *self.special]
        q, target, source = (index.ravel() for index in np.indices(self.maps.shape))
        gold = dict.fromkeys(self.pair.possible, "possible") | dict.fromkeys(self.pair.sure, "sure")
        links = zip(source.tolist(), target.tolist(), strict=True)
        return pd.DataFrame(
            {
                "quantity": np.array(self.quantities, dtype=object)[q],
                "target": np.array(self.pair.target, dtype=object)[target],
                "source": np.array(names, dtype=object)[source],
                "value": self.maps.ravel(),
                "gold": [gold.get(link, "") for link in links],
            }
        )

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the maps side by side, with a frame around every gold link; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.alignment_maps import alignment_maps

        verb = "reads" if self.row == "read" else "writes"
        frames = "gold links (dashed: possible)" if self.pair.possible else "gold links"
        return alignment_maps(
            self.maps,
            self.pair.target,
            [*self.pair.source, *self.special],
            self.quantities,
            sure=self.pair.sure,
            possible=self.pair.possible,
            title=f"{self.finding}\n{self.model_name}, L{self.layer}, row that {verb} the word\n"
            f"frames: {frames}; ink: share of the largest value of the map",
            width=width,
        )

    def __repr__(self) -> str:
        return f"PairMaps({self.model_name}, L{self.layer}, {self.finding})"
