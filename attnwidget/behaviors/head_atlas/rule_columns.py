"""Columns of an atlas table about rules in the place of heads, and about shares of attention."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnwidget.behaviors.effects.rule_effects import MeasuredRule
from attnwidget.words.explained_attention_result import FACTORS

_COVERAGE = ("coverage", "where_applied", "applied")
_RECOVERED = ("recovered", "recovered_low", "recovered_high")
# Prefixes of the columns of both groups of predictions, in the order of `MeasuredRule.effects`.
_PREFIXES = ("", "others_")


def rule_columns(rule: MeasuredRule | None) -> dict[str, float | str]:
    """Return coverage and recovered shares of a head; NaN and "" without a measured rule."""
    columns: dict[str, float | str] = {
        name: np.nan if rule is None else float(getattr(rule.coverage, name)) for name in _COVERAGE
    }
    for number, prefix in enumerate(_PREFIXES):
        effect = None if rule is None else rule.effects[number]
        columns[f"{prefix}work"] = "" if effect is None else effect.work
        for name in _RECOVERED:
            columns[prefix + name] = np.nan if effect is None else float(getattr(effect, name))
    return columns


def share_columns(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of attention that each factor explains; NaN if they were not measured."""
    return {factor.replace(" ", "_"): shares.get(factor, np.nan) for factor in FACTORS}
