"""Panels and result of `head_gallery`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.text.counted import counted
from attnwidget.text.place_of_token import TokenName

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

TIMES_EVEN = 1.5
"""Smallest weight of a drawn link, in multiples of the even share."""
Side = Literal["query", "key"]


@dataclass(frozen=True)
class HeadPanel:
    r"""One head of a `head_gallery`, with its texts and the chosen words of each text.

    Args:
        head: Head: "L2 H8", (2, 8) or a `Head`.
        attentions: Attention of each text.
        words: Chosen words of each text: a word that occurs once, ("he", 2) for the second "he", or
            a position in `attention.words`; a single word or a list.
        name: What the head does, for the heading; "" = no name.
        side: Whether the chosen words attend ("query") or are attended to ("key").
        accuracy: Share of correct links, 0 to 1; None = not measured.
        baseline: The same share of a baseline, 0 to 1.
        offset: Fixed offset of the baseline in words; None = another baseline.
        n_words: Number of words behind the accuracy.
        scored_on: Texts behind the accuracy, for the subtitle.
        partners: Words at the other end of the chosen links, for each text. Only links between the
            chosen words and their partners are red. None = all links of the chosen words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.results import HeadPanel
        >>> attention = load_model().attend("The captain told his men that he would wait.")
        >>> HeadPanel("L1 H3", [attention], [["his", "he"]], accuracy=0.84).label
        '84\xa0%'
    """

    head: HeadName
    attentions: Sequence[Attention] = field(repr=False)
    words: Sequence[TokenName | Iterable[TokenName]]
    name: str = ""
    side: Side = "query"
    accuracy: float | None = None
    baseline: float | None = None
    offset: int | None = None
    n_words: int | None = None
    scored_on: str = ""
    partners: Sequence[TokenName | Iterable[TokenName]] | None = None

    @property
    def label(self) -> str:
        """Accuracy with its baseline and number of words, for the heading; "" without one."""
        if self.accuracy is None:
            return ""
        label = f"{100 * self.accuracy:.0f}\xa0%"
        if self.n_words is not None:
            label += f" of\xa0{self.n_words:,}"
        if self.baseline is not None:
            name = "baseline" if self.offset is None else f"offset\xa0{self.offset:+d}"
            label += f" ({name}: {100 * self.baseline:.0f}\xa0%)"
        return label.replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, eq=False)
class GalleryText:
    """Words and map of one text in a `HeadGallery`.

    Attributes:
        queries: Attending words.
        keys: Attended words.
        special_queries: Whether an attending word is a special token.
        special_keys: Whether an attended word is a special token.
        chosen: Positions of the chosen words on their side.
        weights: Weights between words, float32 [Q, K].
        least: Smallest weight of a drawn link for each attending word, float64 [Q].
        chosen_partners: Positions of the words at the other end of the chosen links; None = the
            chosen words have no chosen partners.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    special_queries: tuple[bool, ...]
    special_keys: tuple[bool, ...]
    chosen: tuple[int, ...]
    weights: NDArray[np.float32]
    least: NDArray[np.float64]
    chosen_partners: tuple[int, ...] | None = None

    def is_chosen(self, query: int, key: int, side: Side) -> bool:
        """Return whether a link belongs to the chosen words and their partners."""
        word, partner = (query, key) if side == "query" else (key, query)
        return word in self.chosen and (
            self.chosen_partners is None or partner in self.chosen_partners
        )

    def partners(self, side: Side) -> set[int]:
        """Return the chosen partners.

        Without chosen partners, this is the word with the largest weight for each chosen word, if
        its link is drawn. Special tokens are then no partners.
        """
        if self.chosen_partners is not None:
            return set(self.chosen_partners)
        weights = np.where(self.weights >= self.least[:, None], self.weights, 0)
        weights = np.where(np.array(self.special_keys), 0, weights)
        weights = np.where(np.array(self.special_queries)[:, None], 0, weights)
        rows = weights if side == "query" else weights.T
        return {int(rows[i].argmax()) for i in self.chosen if rows[i].any()}


@dataclass(frozen=True, eq=False, repr=False)
class HeadGallery(Result):
    """Links of several heads, each with texts and chosen words of its own.

    Attributes:
        heads: Heads in drawing order.
        names: What each head does, or "".
        labels: Accuracy of each head with its baseline, or "".
        sides: Side of the chosen words of each head, "query" or "key".
        texts: Words and maps of each head.
        min_weight: Smallest weight of a drawn link.
        scored_on: Texts behind the accuracies.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import head_gallery
        >>> from attnwidget.results import HeadPanel
        >>> attention = load_model().attend("The captain told his men that he would wait.")
        >>> gallery = head_gallery([HeadPanel("L1 H3", [attention], ["he"])])
        >>> gallery
        HeadGallery(small BERT (in the package), 1 head: L1 H3)
        >>> gallery.to_frame().columns.tolist()
        ['head', 'name', 'text', 'query', 'key', 'from', 'to', 'weight', 'kind']
    """

    heads: tuple[Head, ...]
    names: tuple[str, ...]
    labels: tuple[str, ...]
    sides: tuple[Side, ...]
    texts: tuple[tuple[GalleryText, ...], ...]
    min_weight: float
    scored_on: tuple[str, ...]

    @property
    def finding(self) -> str:
        """What each head does, with its accuracy."""
        heads = zip(self.heads, self.names, self.labels, strict=True)
        return "; ".join(
            f"{head} {f'({name}) ' if name else ''}{label}".rstrip() for head, name, label in heads
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per drawn link.

        Columns: head, name, text (from 0), query and key (positions of words), from and to (words),
        weight, and kind: "chosen" for links of the chosen words, "special" for links to or from
        special tokens, otherwise "other".
        """
        return self._links().drop(columns="panel")

    def _links(self) -> pd.DataFrame:
        import pandas as pd

        rows = []
        for panel, (head, name, side, texts) in enumerate(
            zip(self.heads, self.names, self.sides, self.texts, strict=True)
        ):
            for number, text in enumerate(texts):
                for query, key in np.argwhere(text.weights >= text.least[:, None]).tolist():
                    kind = "chosen" if text.is_chosen(query, key, side) else ""
                    if text.special_queries[query] or text.special_keys[key]:
                        kind = "special"
                    rows.append(
                        (
                            panel,
                            str(head),
                            name,
                            number,
                            query,
                            key,
                            text.queries[query],
                            text.keys[key],
                            float(text.weights[query, key]),
                            kind or "other",
                        )
                    )
        columns = "panel head name text query key from to weight kind"
        return pd.DataFrame(rows, columns=columns.split())

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw two columns of words for each text, with lines between them.

        This is the form of Clark et al. (2019), Figure 5. The thickness of a line is linear in the
        weight. Chosen words, their lines and the word with their largest weight are red. Lines of
        special tokens are light gray.

        Args:
            width: Width of the whole figure in pixels. A text needs about 150 pixels; the texts of
                a head stand beside each other if the figure is lower that way.
        """
        import pandas as pd

        from attnwidget.charts.gallery_lines import gallery_lines

        links = self._links()
        links["name"] = [
            f"{row['from']} → {row['to']}: {100 * row['weight']:.0f} %"
            for row in links.to_dict("records")
        ]
        headings = pd.DataFrame(
            {
                "panel": range(len(self.heads)),
                "heading": [f"{head} ({head.paper_name})" for head in self.heads],
                "name": list(self.names),
                "remark": list(self.labels),
            }
        )
        least = f"{100 * self.min_weight:g}\xa0%"
        parts = [
            self.model_name,
            f"a line is as thick as its weight; links below {least} or {TIMES_EVEN} times the even "
            "share are left out",
            self._red,
            "gray: links of special tokens",
            *(f"accuracy on {texts}" for texts in self.scored_on),
        ]
        title = f"{counted(len(self.heads), 'head')} and the words that they link"
        return gallery_lines(
            self._words(), links, headings, title=f"{title}\n{'; '.join(parts)}", width=width
        )

    @property
    def _red(self) -> str:
        """Meaning of the red words and lines."""
        if any(text.chosen_partners is not None for texts in self.texts for text in texts):
            return "red: the chosen links and their words"
        return "red: the chosen words, their links, and the word with their largest weight"

    def _words(self) -> pd.DataFrame:
        import pandas as pd

        rows = []
        for panel, (side, texts) in enumerate(zip(self.sides, self.texts, strict=True)):
            for number, text in enumerate(texts):
                marked = {"query": set(text.chosen), "key": text.partners(side)}
                if side == "key":
                    marked = {"query": marked["key"], "key": marked["query"]}
                for axis, words, special in (
                    ("query", text.queries, text.special_queries),
                    ("key", text.keys, text.special_keys),
                ):
                    for position, word in enumerate(words):
                        kind = "special" if special[position] else "other"
                        kind = "chosen" if position in marked[axis] else kind
                        rows.append((panel, number, axis, position, word, kind))
        return pd.DataFrame(rows, columns=["panel", "text", "side", "position", "word", "kind"])

    def __repr__(self) -> str:
        heads = ", ".join(map(str, self.heads))
        return f"HeadGallery({self.model_name}, {counted(len(self.heads), 'head')}: {heads})"
