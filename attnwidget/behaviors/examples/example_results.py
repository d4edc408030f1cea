"""Result of `head_examples`: example links of every head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.examples.example_link import ExampleLink, links_in
from attnwidget.behaviors.examples.place_priorities import NEVER
from attnwidget.capture.tapping.head import HeadName, head_of_result, takes_head
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.counted import counted
from attnwidget.text.places import Box, Span
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

ExampleKind = Literal["strongest", "heaviest", "top tenth", "middle", "right", "wrong", "missed"]
#: Kinds of examples that need a rule.
OF_RULE: tuple[ExampleKind, ...] = ("right", "wrong", "missed")
KINDS: tuple[ExampleKind, ...] = get_args(ExampleKind)
"""Kinds of examples of a head."""
# Ranges of the sample, sorted from the strongest link, from which links are drawn.
_PARTS = {"top tenth": (0.0, 0.1), "middle": (0.45, 0.55)}


@dataclass(frozen=True, eq=False, repr=False)
class HeadExamples(HeadResult):
    """Example links of every head. Made by `head_examples`.

    Attributes:
        arrays: Positions, weights and strengths of the lists of links, by name. `of` uses these
            arrays.
        texts: Tokens of the texts with examples, by their number in the corpus.
        n_examples: Largest number of examples of each kind.
        seed: Seed of the random examples.
        rules: Names of the rules whose right, wrong and missed links are among the examples; empty
            if there are no rules.
        no_strength: Reason why the model has no strengths, or "". Without strengths, the strongest
            links are the heaviest links.
        n_segments: Number of texts that were processed.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model, make_segments
        >>> from attnwidget.behaviors import head_examples
        >>> model = load_model()
        >>> segments = make_segments(["The captain told his men to wait."], model)
        >>> found = head_examples(model, segments, n_examples=2, progress=False)
        >>> len(found.links(1, 3, "strongest")), len(found.texts)
        (2, 1)
    """

    arrays: Mapping[str, NDArray[Any]]
    texts: Mapping[int, Tokens]
    n_examples: int
    seed: int
    rules: tuple[str, ...]
    no_strength: str
    n_segments: int

    @overload
    def links(self, head: HeadName, kind: ExampleKind = "strongest") -> list[ExampleLink]: ...

    @overload
    def links(
        self, layer: int, head: int, kind: ExampleKind = "strongest"
    ) -> list[ExampleLink]: ...

    @takes_head
    def links(
        self, layer: int | HeadName, head: int | None, kind: ExampleKind = "strongest"
    ) -> list[ExampleLink]:
        """Return at most `n_examples` examples of one head.

        Args:
            layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
            head: Number of the head within the layer; not needed if `layer` is a head.
            kind: Kind of examples. "strongest": the links with the largest weight times ||f(x)||,
                strongest first. "heaviest": the links with the largest weights. "top tenth": links
                drawn at random from the strongest tenth of a random sample of all links. "middle":
                links drawn at random from the middle tenth of the sample. "right" and "wrong":
                random queries with a predicted link. A right query attends most to a predicted
                key, a wrong query to another key; [CLS] and [SEP] do not count as other keys.
                "missed": random queries whose predicted keys together get less weight than under
                even attention.

        Raises:
            ValueError: If the kind is unknown or needs a rule, or if there is no such head.
        """
        one_of("kind", kind, KINDS)
        if kind in OF_RULE and not self.rules:
            raise ValueError(f"{kind} links are links of a rule: head_examples(…, rule=…)")
        layer, head, _ = head_of_result(layer, head, self.arrays["heaviest rank"].shape)
        if kind in _PARTS:
            position, weight, strength = self._drawn(layer, head, kind)
        else:
            position = self.arrays[f"{kind} place"][layer, head]
            is_link = position[:, 0] >= 0
            weight = self.arrays[f"{kind} weight"][layer, head]
            strength = self.arrays[f"{kind} strength"][layer, head]
            position, weight, strength = position[is_link], weight[is_link], strength[is_link]
        return links_in(self.texts, position, weight, None if self.no_strength else strength)

    def _drawn(
        self, layer: int, head: int, kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
        """Return positions, weights and strengths of links drawn from a part of the sample."""
        size = int((self.arrays["sample rank"] < NEVER).sum())
        strength = self.arrays["sample strength"][layer, head, :size]
        first, last = (round(share * size) for share in _PARTS[kind])
        part = np.argsort(-strength, kind="stable")[first : max(last, first + 1)]
        draw = np.random.default_rng([self.seed, layer, head, KINDS.index(kind)])
        sample = draw.choice(part, min(self.n_examples, len(part)), replace=False)
        sample = sample[np.argsort(-strength[sample], kind="stable")]
        weight = self.arrays["sample weight"][layer, head]
        return self.arrays["sample place"][sample], weight[sample], strength[sample]

    @property
    def missed_share(self) -> Float64Array:
        """Share of queries that miss their predicted link, [L, H]; NaN without a rule."""
        predicted = self.arrays["missed predicted"]
        missed = self.arrays["missed queries"]
        return np.divide(
            missed, predicted, out=np.full(predicted.shape, np.nan), where=predicted > 0
        )

    def heads(self) -> HeadMetrics:
        """Return the mean weight of the k heaviest links, and the mean strength of the strongest.

        With a rule, "missed links" is the share of queries that miss a predicted link.
        """
        names = {"weight of the heaviest links": "heaviest weight"}
        if not self.no_strength:
            names["strength of the strongest links"] = "strongest strength"
        heads = {
            title: self.arrays[name].mean(-1, dtype=np.float64) for title, name in names.items()
        }
        return heads | ({"missed links": self.missed_share} if self.rules else {})

    def to_frame(self) -> pd.DataFrame:
        """Return one row per example.

        Columns: layer, head, kind, number (from 0), segment, query, key (token indices), from and
        to (tokens), weight, strength. For pictures, the columns left, top, right and bottom have
        the box of the key in pixels. For sounds, start and end have the time span of the key in
        seconds. They are empty for keys without a region. `attrs["model"]` is the name of the
        model.
        """
        import pandas as pd

        kinds = [kind for kind in KINDS if kind not in OF_RULE or self.rules]
        shape = self.arrays["heaviest rank"].shape[:2]
        edges = _edges(self.texts.values())
        rows = [
            (
                layer,
                head,
                kind,
                number,
                example.segment,
                example.query,
                example.key,
                example.tokens.text[example.query],
                example.tokens.text[example.key],
                example.weight,
                example.strength,
                *(getattr(example.key_place, edge, np.nan) for edge in edges),
            )
            for layer, head in np.ndindex(*shape)
            for kind in kinds
            for number, example in enumerate(self.links(layer, head, kind))
        ]
        names = "layer head kind number segment query key from to weight strength"
        return pd.DataFrame(rows, columns=[*names.split(), *edges])

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the mean weight of the k heaviest links of every head; `width` in pixels."""
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap

        title = f"The {counted(self.n_examples, 'heaviest link')} of each head\n{self.model_name}"
        return head_heatmap(
            self.heads()["weight of the heaviest links"],
            title=answer_title(
                f"{title}; {counted(self.n_segments, 'segment')}",
                self.heads()["weight of the heaviest links"],
            ),
            value_title="mean weight",
            width=width,
        )


def _edges(texts: Iterable[Tokens]) -> tuple[str, ...]:
    """Return the column names for the edges of all regions; none for texts."""
    regions = [region for tokens in texts for region in tokens.places]
    boxes = ("left", "top", "right", "bottom")
    spans = ("start", "end")
    return (
        *(boxes if any(isinstance(region, Box) for region in regions) else ()),
        *(spans if any(isinstance(region, Span) for region in regions) else ()),
    )
