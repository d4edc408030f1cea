"""JSON form of the rules of an atlas, and of the shares of attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

import numpy as np

from attnwidget.behaviors.effects.rule_coverage import RuleCoverage
from attnwidget.behaviors.effects.rule_effects import (
    LossChange,
    MeasuredRule,
    RuleEffect,
    RuleWork,
)
from attnwidget.behaviors.head_atlas.atlas_json import head_to_text, plain_json, text_to_head
from attnwidget.capture.tapping.head import Head
from attnwidget.text.near_names import among
from attnwidget.words.explained_attention_result import ExplainedAttention

_CHANGES = ("off", "rule", "wrong")
_COUNTS = ("n_texts", "n_predictions")
_ARRAYS = ("shares", "control", "deviance", "on_words")
_SENTENCES = ("n_words", "n_sentences", "n_skipped")


def encoded_rules(
    rules: Mapping[Head, MeasuredRule], explained: ExplainedAttention | None, texts: str
) -> dict[str, Any]:
    """Return rules and shares as JSON; {} if neither was measured.

    Args:
        rules: Measured rules by head.
        explained: Shares of attention, or None.
        texts: Description of the texts of the shares.
    """
    parts: dict[str, Any] = {}
    if rules:
        parts["rules"] = {
            head_to_text(head): plain_json(
                {
                    "rule": rule.rule,
                    "texts": rule.texts,
                    "coverage": asdict(rule.coverage),
                    "effects": [asdict(effect) for effect in rule.effects],
                }
            )
            for head, rule in rules.items()
        }
    if explained is not None:
        parts["explained"] = {
            **{name: plain_json(getattr(explained, name).tolist()) for name in _ARRAYS},
            **{name: getattr(explained, name) for name in _SENTENCES},
            "complete": explained.complete,
            "texts": texts,
        }
    return parts


def decoded_rules(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return rules and shares by the names of their attributes, from `encoded_rules`.

    Raises:
        ValueError, KeyError, TypeError: If parts are missing or have another form.
    """
    explained = stored.get("explained")
    return {
        "rules": {
            text_to_head(name): _rule(text_to_head(name), rule)
            for name, rule in stored.get("rules", {}).items()
        },
        "explained": None if explained is None else _explained(explained, str(stored["model"])),
        "explained_texts": "" if explained is None else str(explained["texts"]),
    }


def _rule(head: Head, stored: Mapping[str, Any]) -> MeasuredRule:
    coverage: dict[str, Any] = {name: float(value) for name, value in stored["coverage"].items()}
    return MeasuredRule(
        head=head,
        rule=str(stored["rule"]),
        coverage=RuleCoverage(**(coverage | {"n_queries": int(coverage["n_queries"])})),
        effects=tuple(_effect(effect) for effect in stored["effects"]),
        texts=str(stored["texts"]),
    )


def _effect(stored: Mapping[str, Any]) -> RuleEffect:
    values: dict[str, Any] = {}
    for name, value in stored.items():
        if name in _CHANGES:
            values[name] = LossChange(**{end: float(number) for end, number in value.items()})
        elif name in _COUNTS:
            values[name] = int(value)
        else:
            values[name] = str(value) if name in ("group", "work") else float(value)
    if values["work"] not in get_args(RuleWork):
        raise ValueError(
            f"there is no work {values['work']!r} of a rule: "
            f"{among(values['work'], get_args(RuleWork))}"
        )
    return RuleEffect(**values)


def _explained(stored: Mapping[str, Any], model_name: str) -> ExplainedAttention:
    arrays: dict[str, Any] = {name: _array(stored[name]) for name in _ARRAYS}
    counts: dict[str, Any] = {name: int(stored[name]) for name in _SENTENCES}
    return ExplainedAttention(
        **arrays, **counts, model_name=model_name, complete=bool(stored["complete"])
    )


def _array(stored: Any) -> Any:
    """Return nested lists of numbers as an array; "nan" is a text in JSON."""
    return np.array(stored, dtype=object).astype(np.float64)
