"""Rules of heads in one text, whose weights can replace those of the heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.tapping.head import Head


@dataclass(frozen=True, eq=False)
class HeadRule:
    """Links that a rule predicts for one head in one text.

    Attributes:
        name: Name of the rule.
        links: Predicted links, bool [n, n]; rows are queries.
    """

    name: str
    links: NDArray[np.bool_]

    def weights(self) -> NDArray[np.float64]:
        """Return equal weights over the links of each query, [n, n]; 0 for a query without links.

        Example:
            >>> import numpy as np
            >>> from attnwidget.capture.tapping.head_rule import HeadRule
            >>> HeadRule("all before", np.tri(3, k=-1, dtype=bool)).weights().tolist()
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
        """
        weights: NDArray[np.float64] = self.links / np.maximum(self.links.sum(-1, keepdims=True), 1)
        return weights


@dataclass(eq=False)
class TextRules:
    """Rules of the heads in one text.

    Attributes:
        by_head: Rule of each head that has one; None until the rules are known.
    """

    by_head: Mapping[Head, HeadRule] | None = None

    def of_heads(self, heads: list[Head] | tuple[Head, ...]) -> dict[Head, HeadRule]:
        """Return the rules of some heads.

        Raises:
            ValueError: If a head has no rule in this text.
        """
        known = self.by_head or {}
        for head in heads:
            if head not in known:
                listed = ", ".join(map(str, sorted(known))) or "none"
                raise ValueError(
                    f"{head} has no rule in this text, which could be in its place (heads with a "
                    f"rule: {listed}): choose another method, or pass a rule, "
                    f"with_rules(attention, {{{str(head)!r}: 'previous token'}})"
                )
        return {head: known[head] for head in heads}
