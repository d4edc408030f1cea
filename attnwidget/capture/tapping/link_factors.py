"""Links whose weights an edit multiplies, and their factors in the map of a pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.pass_texts import PassTexts, Spell
from attnwidget.capture.tapping.text_positions import TextPositions
from attnwidget.text.link_ends import (
    AFTER,
    BEFORE,
    EndPositions,
    LinkName,
    end_name,
    end_positions,
    needs_tokens,
)

# Maximum number of links that a caption lists.
_LISTED = 6


@dataclass(frozen=True, eq=False)
class LinkFactors:
    """Links between tokens, and the factor of their weights.

    Two blocks with equal links are two edits, so that instances are compared by identity.

    Attributes:
        links: Pairs (query, key), as `listed_links` returns them.
        factor: Factor of the weights: 0 cuts the links, a factor above 1 strengthens them.
        keeps_sum: Whether each row keeps its sum next to an attention sink.
        said: Links in captions, as the caller named them; "" takes the names of `links`.
    """

    links: tuple[LinkName, ...]
    factor: float
    keeps_sum: bool = False
    said: str = ""
    _latest: dict[Any, Tensor] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.links, self.factor, self.keeps_sum, self.said)

    def __str__(self) -> str:
        what = "cut" if self.factor == 0 else f"× {self.factor:g}"
        kept = ", sums kept" if self.keeps_sum else ""
        return f"{self.said or links_name(self.links)} {what}{kept}"

    @property
    def key(self) -> str:
        """A string that identifies the edit in files of studies."""
        return repr((self.links, self.factor, self.keeps_sum))

    @property
    def names_tokens(self) -> bool:
        """Whether an end is looked up in the tokens of each text."""
        return any(needs_tokens(end) for link in self.links for end in link)

    def factors(
        self,
        shape: tuple[int, int, int],
        positions: TextPositions,
        texts: LinkTexts,
        like: Tensor,
        *,
        is_cross: bool,
    ) -> Tensor:
        """Return the factor of each weight in the map of a pass, [B, Q, K] or [1, Q, K].

        Args:
            shape: Numbers of inputs, queries and keys of the map.
            positions: Text positions of the queries and keys.
            texts: Texts of the queries and keys.
            like: Tensor with the device of the result; the result is float64 if `like` is.
            is_cross: Whether keys and queries belong to different sequences.

        Raises:
            ValueError: A link is outside of a text that does not grow, or the tokens are unknown.
        """
        n_inputs, n_query, n_key = shape
        offsets = texts.query.offsets, texts.key.offsets
        varies = self.names_tokens or any(offsets)
        n_rows = n_inputs if varies else 1
        # All layers of a pass need the same factors. Names belong to the texts of one generation.
        now = (n_rows, n_query, n_key, positions, is_cross, like.device, like.dtype)
        key = (*now, texts.query, texts.key) if varies else now
        latest = self._latest.get(key)
        if latest is None:
            rows = [
                self._row(row, n_query, n_key, positions, texts, is_cross) for row in range(n_rows)
            ]
            exact = torch.promote_types(like.dtype, torch.float32)
            latest = torch.from_numpy(np.stack(rows)).to(exact).to(like.device)
            self._latest.clear()
            self._latest[key] = latest
        return latest

    def _row(
        self,
        row: int,
        n_query: int,
        n_key: int,
        positions: TextPositions,
        texts: LinkTexts,
        is_cross: bool,
    ) -> NDArray[np.float64]:
        first_query, first_key, n_queries, n_tokens = positions.places_in_pass(
            n_query, n_key, is_cross=is_cross
        )
        before = [side.offsets[row] if side.offsets else 0 for side in (texts.query, texts.key)]
        queries = np.arange(first_query, first_query + n_query) - before[0]
        keys = np.arange(first_key, first_key + n_key) - before[1]
        is_scaled = np.zeros((n_query, n_key), np.bool_)
        for ends in texts.positions(self, row):
            for end, count, grows in zip(
                ends,
                (n_queries - before[0], n_tokens - before[1]),
                (positions.grows, positions.grows and not is_cross),
                strict=True,
            ):
                if not grows and not isinstance(end, str) and max(end) >= count:
                    raise _outside(ends, n_queries - before[0], n_tokens - before[1])
            cells = _members(ends[0], queries)[:, None] & _members(ends[1], keys)
            if BEFORE in ends or AFTER in ends:
                cells &= keys < queries[:, None]
            is_scaled |= cells
        return np.where(is_scaled, self.factor, 1.0)


@dataclass(frozen=True, eq=False)
class LinkTexts:
    """Texts in which the ends of links are looked up.

    Attributes:
        query: Texts of the queries.
        key: Texts of the keys: the same, or those of the encoder in cross-attention.
        spell: Function that returns the token axis of ids; None if there is no tokenizer.
    """

    query: PassTexts = field(default_factory=PassTexts)
    key: PassTexts = field(default_factory=PassTexts)
    spell: Spell | None = None

    def positions(self, scaled: LinkFactors, row: int) -> list[tuple[EndPositions, EndPositions]]:
        """Return the positions of the links in one text."""
        key = (scaled, row)
        if key not in self.query.resolved:
            tokens = [
                self._tokens(side, row) if scaled.names_tokens else None
                for side in (self.query, self.key)
            ]
            self.query.resolved[key] = [
                (end_positions("query", query, tokens[0]), end_positions("key", end, tokens[1]))
                for query, end in scaled.links
            ]
        resolved: list[tuple[EndPositions, EndPositions]] = self.query.resolved[key]
        return resolved

    def _tokens(self, texts: PassTexts, row: int) -> Any:
        ids = texts.ids_of(row) if self.spell is not None else None
        return None if ids is None or self.spell is None else self.spell(ids)


def links_name(links: tuple[LinkName, ...]) -> str:
    """Return links in captions: "he→captain".

    Example:
        >>> from attnwidget.capture.tapping.link_factors import links_name
        >>> links_name((("he", "captain"), (7, 2)))
        'he→captain, 7→2'
    """
    names = [f"{end_name(query)}→{end_name(key)}" for query, key in links[:_LISTED]]
    more = f" and {len(links) - _LISTED} more" if len(links) > _LISTED else ""
    return ", ".join(names) + more


def _members(end: EndPositions, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    if isinstance(end, str):
        return positions >= 0
    return np.isin(positions, end)


def _outside(ends: tuple[EndPositions, EndPositions], n_queries: int, n_keys: int) -> ValueError:
    named = [end if isinstance(end, str) else end[0] if len(end) == 1 else end for end in ends]
    return ValueError(
        f"link ({named[0]}, {named[1]}) is not among the {n_queries} queries and {n_keys} keys of "
        "this input: a link is (query, key), both counted from 0. Links of tokens that are not "
        "written yet need model.generate"
    )
